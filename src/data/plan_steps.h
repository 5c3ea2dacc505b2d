/* plan_steps.h - a plan that is being made: its steps, and each device's part of the product
 * (plan.h). */
#ifndef DUO_PLAN_STEPS_H
#define DUO_PLAN_STEPS_H

#include "data/plan.h"

/* Sizes of panels are multiples of this: tiles that every algorithm multiplies whole. */
enum { DUO_PLAN_UNIT = 256 };

/* The plan that is being made. A failure to add a step is handled once, at the end. */
typedef struct duo_plan_making {
    duo_plan *plan;
    const duo_plan_problem *of;
    bool failed; /* too many steps, or no host memory for them: no more are added */
} duo_plan_making;

/* Adds a step as it is. */
void duo_plan_add(duo_plan_making *w, duo_step step);

/* Sends rows of op(A), columns of op(B), or a tile of C, if they are in host memory; else adds
 * nothing. `where` has their range and slot, and what the SEND follows. */
void duo_plan_send(duo_plan_making *w, duo_step where, int operand);

/* Sends where[d] to each device d. Pageable memory goes in turns, one part to each device: the host
 * copies it to stages part by part, and so all links have something to do. */
void duo_plan_send_by_turns(duo_plan_making *w, duo_step where[DUO_PLAN_DEVICES], int operand);

/* Packs rows of op(A) or columns of op(B), if the algorithm multiplies packed ones; else adds
 * nothing. */
void duo_plan_pack(duo_plan_making *w, duo_step where, int operand);

/*
 * Multiplies a tile of C over [p, p + k). `where` has its range and slots, the step that it follows
 * and whether it starts. If C is in host memory it is sent before the first slab of k, and fetched
 * after the last.
 */
void duo_plan_multiply(duo_plan_making *w, duo_step where);

/* The columns [*from, *to) of C that a device has: by its share, in whole units except at the
 * end. */
void duo_plan_columns(const duo_plan_problem *of, int device, int64_t *from, int64_t *to);

/* The most columns that a device has. */
int64_t duo_plan_most_columns(const duo_plan_problem *of);

/* Bytes on the device of an element of operand i: as sent, and packed. */
double duo_plan_element_bytes(const duo_plan_problem *of, int i);

/* Bytes of device memory that the plan's slots take on each device. */
double duo_plan_bytes(const duo_plan *plan);

/* The size rounded down to whole units, but at least one. */
int64_t duo_plan_whole_units(double size);

static inline int64_t duo_plan_least(int64_t a, int64_t b) { return a < b ? a : b; }

#endif
