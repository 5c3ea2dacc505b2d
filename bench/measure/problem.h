/*
 * problem.h - what is measured: an operation at a shape, on random data in one kind of memory.
 */
#ifndef DUO_PROBLEM_H
#define DUO_PROBLEM_H

#include "call.h"

typedef struct duo_problem {
    duo_operation operation;
    int64_t shape[3];    /* m, n, k; reductions: n, 1, 1 */
    bool transa, transb; /* sgemm */
} duo_problem;

double duo_problem_flops(const duo_problem *problem);
double duo_problem_bytes(const duo_problem *problem);  /* every operand once */
bool duo_problem_fits(const duo_problem *problem);     /* has the machine so much memory? */
double duo_problem_size(const duo_problem *problem);   /* as curves count: n, or the cube's edge */
double duo_problem_growth(const duo_problem *problem); /* seconds grow with size^this */

typedef enum duo_place {
    DUO_PLACE_PAGEABLE,
    DUO_PLACE_PINNED,
    DUO_PLACE_DEVICE,
    DUO_PLACES
} duo_place;

extern const char *const duo_place_names[DUO_PLACES];

/*
 * A stock: random floats to read and room to write, allocated once. Problems take their operands
 * from its start, so that nothing is allocated between measurements. With `rotate`, successive
 * calls take them from places further on, until so many bytes have been touched that no cache still
 * holds the first.
 */
typedef struct duo_stock {
    duo_place place;
    duo_context *context;
    float *input, *output;
    size_t input_floats, output_floats;
    size_t rotate_bytes;  /* 0: every call on the same data */
    size_t offset_floats; /* every operand begins so far behind a boundary; at most DUO_OFFSETS */
} duo_stock;

/* An input or output that is to take offsets has so many floats more than its problems. */
enum { DUO_OFFSETS = 64 };

/* Floats that the problem reads and writes, each operand on a boundary of its own. */
size_t duo_problem_input_floats(const duo_problem *problem);
size_t duo_problem_output_floats(const duo_problem *problem);

/* The device's and pinned stocks get the data of `source`; a pageable one has source NULL. */
bool duo_stock_open(duo_stock *stock, duo_context *context, duo_place place, size_t input_floats,
                    size_t output_floats, uint64_t seed, const duo_stock *source);
void duo_stock_close(duo_stock *stock);

/* In how many places the problem fits; 0: it is too large. */
int64_t duo_stock_slots(const duo_stock *stock, const duo_problem *problem);

/*
 * The call on the slot's data: column-major, no gaps, C := op(A)*op(B), as the rows take it. The
 * result of a reduction goes to the stock's output.
 */
duo_call duo_problem_call(const duo_problem *problem, const duo_stock *stock, int64_t slot);

#endif
