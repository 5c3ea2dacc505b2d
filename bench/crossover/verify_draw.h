/*
 * verify_draw.h - random calls for `duoblas crossover --verify`: every operation, math, layout and
 * place of the operands, at sizes that no ladder has.
 *
 * A seed and a number give the same call on every machine. A machine passes over calls that would
 * take too long. Without a GPU all operands are in plain host memory.
 */
#ifndef DUO_VERIFY_DRAW_H
#define DUO_VERIFY_DRAW_H

#include "bench/measure/problem.h"

typedef struct duo_drawn {
    int64_t number; /* from 0 */
    duo_shape_class shape_class;
    duo_math math;
    duo_problem problem;
    float alpha;                    /* sgemm */
    int64_t ld[DUO_OPERANDS];       /* sgemm: leading dimensions; reductions: increments */
    duo_residence at[DUO_OPERANDS]; /* outputs are not kept and not stale */
} duo_drawn;

duo_drawn duo_draw(uint64_t seed, int64_t number);

/* The same call with all its operands in one place. */
duo_drawn duo_drawn_at(const duo_drawn *drawn, duo_residence place);

/* Floats from an operand's first to its last, gaps included; 0: the call has no such operand. */
int64_t duo_drawn_floats(const duo_drawn *drawn, int operand);

/* The call, with operands in their drawn places but without addresses. */
duo_call duo_drawn_call(const duo_drawn *drawn);

/* "sgemm 100x200x300 tn ld 105,300,100 a=1 b=0.5 tf32" */
enum { DUO_DRAWN_TEXT = 160 };
const char *duo_drawn_text(const duo_drawn *drawn, char text[DUO_DRAWN_TEXT]);
/* "plain, on the GPU, pinned": the places of its operands. */
const char *duo_drawn_places(const duo_drawn *drawn, char text[DUO_DRAWN_TEXT]);

#endif
