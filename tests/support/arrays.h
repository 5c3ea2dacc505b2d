/* arrays.h - matrices and vectors in guarded memory: a write outside of them shows. */
#ifndef DUO_TESTS_ARRAYS_H
#define DUO_TESTS_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/data.h"

enum { ARRAY_ALIGNMENT = 64 }; /* an array's at offset 0 */

/* A matrix of `runs` runs of `length` floats, ld apart, between two canary zones; the gaps between
 * the runs hold poison. A vector is runs of length 1. */
typedef struct test_array {
    float *data;
    int64_t length, runs, ld;
    size_t bytes; /* from data to the end of the last run; 0 if it has none */
    char *block;  /* as allocated */
    size_t block_bytes;
} test_array;

/* Elements start as poison. offset: floats past a 64-byte boundary. Ends the program if there is no
 * memory. */
test_array test_array_new(int64_t length, int64_t runs, int64_t ld, int64_t offset);
/* The stored matrix X for an op(X) of rows x columns; its leading dimension exceeds the least one
 * by `extra`. */
test_array test_array_matrix(bool row_major, bool transposed, int64_t rows, int64_t columns,
                             int64_t extra, int64_t offset);
void test_array_fill(test_array *array, test_rng *rng, test_data data);
void test_array_set(test_array *array, float value);    /* every element */
void test_array_scale(test_array *array, float factor); /* every element, by a power of two */
/* Makes a few elements hostile (data.h). */
void test_array_spoil(test_array *array, test_rng *rng);
test_array test_array_copy(const test_array *array); /* same offset, same content */
bool test_array_intact(const test_array *array);     /* are canaries and gaps unchanged? */
bool test_array_equal(const test_array *x, const test_array *y); /* have all the same bits? */
void test_array_free(test_array *array);

#endif
