/*
 * exact.h - small integers as data, so that every sum and product is exact and every wrong byte
 * shows.
 */
#ifndef DUO_TESTS_EXACT_H
#define DUO_TESTS_EXACT_H

#include <stdlib.h>

#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"

/* Bytes sent to the simulated device since its count was `before`. */
static inline uint64_t sent_since(uint64_t before) { return sim_uploaded_bytes() - before; }

static inline float *new_floats(int64_t n)
{
    float *const x = malloc((size_t)n * sizeof *x);
    if (x == NULL) abort();
    return x;
}

static inline void fill(float *x, int64_t n, int64_t seed)
{
    for (int64_t i = 0; i < n; i++) x[i] = (float)((i * 7 + seed * 13 + i / 5) % 9 - 4);
}

static inline float sum_of(const float *x, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (int64_t)x[i];
    return (float)sum;
}

static inline void check_sum(duo_context *ctx, const float *x, int64_t n, float expected)
{
    float sum = test_poison();
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, n, x, 1, &sum));
    CHECK(sum == expected, "sum %g, expected %g", (double)sum, (double)expected);
}

/* C := A * B of n x n column-major, from plain memory, on any side: the expected product. */
static inline void multiply(int64_t n, const float *a, const float *b, float *c)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            float sum = 0.0f;
            for (int64_t p = 0; p < n; p++) sum += a[i + p * n] * b[p + j * n];
            c[i + j * n] = sum;
        }
}

static inline duo_status square(duo_context *ctx, int64_t n, const float *a, const float *b,
                                float beta, float *c)
{
    return duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n, 1.0f, a, n, b, n,
                     beta, c, n);
}

static inline bool same_floats(const float *x, const float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] == y[i])) return false;
    return true;
}

/* Ends an explicit context, and checks that it gave back all that it took. */
static inline void end_without_leaks(duo_context *ctx)
{
    test_context_end(ctx);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

#endif
