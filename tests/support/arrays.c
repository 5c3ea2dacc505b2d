/*
 * arrays.c - guarded memory; see arrays.h.
 */
#include "support/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZONE_BYTES = 256 };
static const unsigned char canary = 0xc5;

test_array test_array_new(int64_t length, int64_t runs, int64_t ld, int64_t offset)
{
    test_array array = {.length = length, .runs = runs, .ld = ld};
    if (length > 0 && runs > 0) array.bytes = (size_t)((runs - 1) * ld + length) * sizeof(float);
    const size_t before = ZONE_BYTES + (size_t)offset * sizeof(float);
    array.block_bytes = (before + array.bytes + ZONE_BYTES + ARRAY_ALIGNMENT - 1) & ~(size_t)63;
    array.block = aligned_alloc(ARRAY_ALIGNMENT, array.block_bytes);
    if (array.block == NULL) {
        perror("test_array_new");
        exit(EXIT_FAILURE);
    }
    memset(array.block, canary, array.block_bytes);
    array.data = (float *)(void *)(array.block + before);
    test_fill_poison(array.data, (int64_t)(array.bytes / sizeof(float)));
    return array;
}

test_array test_array_matrix(bool row_major, bool transposed, int64_t rows, int64_t columns,
                             int64_t extra, int64_t offset)
{
    const bool by_rows = row_major != transposed;
    const int64_t length = by_rows ? columns : rows, runs = by_rows ? rows : columns;
    return test_array_new(length, runs, (length > 0 ? length : 1) + extra, offset);
}

void test_array_fill(test_array *array, test_rng *rng, test_data data)
{
    for (int64_t r = 0; r < array->runs; r++)
        test_fill(rng, data, array->data + r * array->ld, array->length);
}

void test_array_set(test_array *array, float value)
{
    for (int64_t j = 0; j < array->runs; j++)
        for (int64_t i = 0; i < array->length; i++) array->data[i + j * array->ld] = value;
}

void test_array_scale(test_array *array, float factor)
{
    for (int64_t j = 0; j < array->runs; j++)
        for (int64_t i = 0; i < array->length; i++) array->data[i + j * array->ld] *= factor;
}

void test_array_spoil(test_array *array, test_rng *rng)
{
    if (array->runs == 0 || array->length == 0) return;
    for (int64_t i = test_between(rng, 1, 4); i > 0; i--)
        array->data[test_between(rng, 0, array->runs - 1) * array->ld +
                    test_between(rng, 0, array->length - 1)] = test_hostile(rng);
}

test_array test_array_copy(const test_array *array)
{
    test_array copy = *array;
    copy.block = aligned_alloc(ARRAY_ALIGNMENT, array->block_bytes);
    if (copy.block == NULL) {
        perror("test_array_copy");
        exit(EXIT_FAILURE);
    }
    memcpy(copy.block, array->block, array->block_bytes);
    copy.data = (float *)(void *)(copy.block + ((char *)array->data - array->block));
    return copy;
}

static bool is_canary(const char *low, const char *high)
{
    for (; low < high; low++)
        if ((unsigned char)*low != canary) return false;
    return true;
}

bool test_array_intact(const test_array *array)
{
    const char *data = (const char *)array->data;
    if (!is_canary(array->block, data)) return false;
    if (!is_canary(data + array->bytes, array->block + array->block_bytes)) return false;
    for (int64_t r = 0; r + 1 < array->runs && array->length > 0; r++)
        if (!test_all_poison(array->data + r * array->ld + array->length,
                             array->ld - array->length))
            return false;
    return true;
}

bool test_array_equal(const test_array *x, const test_array *y)
{
    if (x->length != y->length || x->runs != y->runs) return false;
    for (int64_t r = 0; r < x->runs && x->length > 0; r++)
        if (memcmp(x->data + r * x->ld, y->data + r * y->ld, (size_t)x->length * sizeof(float)) !=
            0)
            return false;
    return true;
}

void test_array_free(test_array *array)
{
    free(array->block);
    *array = (test_array){0};
}
