/*
 * stock.h - random data in one kind of memory, and calls on it.
 */
#ifndef DUO_STOCK_H
#define DUO_STOCK_H

#include <stddef.h>

#include "bench/measure/problem.h"

typedef enum duo_place {
    DUO_PLACE_PAGEABLE,
    DUO_PLACE_PINNED,
    DUO_PLACE_DEVICE,
    DUO_PLACES
} duo_place;

/* "pageable", "pinned", "resident": in CSV and JSON. */
extern const char *const duo_place_names[DUO_PLACES];
/* "plain", "pinned", "on the GPU": the words for places of operands in output for people. */
extern const char *const duo_place_titles[DUO_PLACES];

/*
 * A stock: random floats to read and room to write, allocated once. Problems take their operands
 * from its start, so that nothing is allocated between measurements. With rotate_bytes there are
 * more slots, one behind the other, and successive calls use successive slots: before they return
 * to the first one, they have touched more bytes than any cache holds.
 */
typedef struct duo_stock {
    duo_place place;
    duo_context *context;
    float *input, *output;
    size_t input_floats, output_floats;
    size_t rotate_bytes;  /* 0: all calls use the same data */
    size_t offset_floats; /* distance of operands from a boundary of 256 bytes; < DUO_OFFSETS */
} duo_stock;

/* A stock with an offset needs as many floats more than its problems. */
enum { DUO_OFFSETS = 64 };

/* Fills x with random numbers, uniform in (-1, 1), never zero: zeros draw less power and run
 * faster. */
void duo_fill_random(float *x, size_t count, uint64_t seed);

/* Floats that the problem reads and writes; each operand begins on its own boundary. */
size_t duo_problem_input_floats(const duo_problem *problem);
size_t duo_problem_output_floats(const duo_problem *problem);

/* Opens a stock. A pageable one has random data and `source` NULL; the others copy the data of
 * `source`. */
bool duo_stock_open(duo_stock *stock, duo_context *context, duo_place place, size_t input_floats,
                    size_t output_floats, uint64_t seed, const duo_stock *source);
void duo_stock_close(duo_stock *stock);

/* The number of slots for the problem's operands; 0: it is too large. */
int64_t duo_stock_slots(const duo_stock *stock, const duo_problem *problem);

/*
 * The call on the slot's data, for algorithms: column-major, C := op(A)*op(B) + beta*C. A
 * reduction's result goes to the stock's output.
 */
duo_call duo_problem_call(const duo_problem *problem, const duo_stock *stock, int64_t slot);

/* Free memory of the machine, or of the container if that has less. 1e300: not known. */
double duo_available_bytes(void);

#endif
