/*
 * reference_order.c - the documented order of summation, one addition at a time.
 *
 * Compile with -ffp-contract=off: a fused multiply-add would change the bits.
 */
#include "support/reference_order.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "every operation must be rounded to its own type");

enum { BLOCK = 8192, QUARTER = 2048, LANES = 16 };

typedef struct vectors {
    duo_operation operation;
    int64_t n;
    const float *x, *y;
    int64_t incx, incy;
    bool float64; /* every block in float64 */
} vectors;

/* In float64, or with both operands and the result rounded to float32. */
static double add(bool float64, double a, double b)
{
    return float64 ? a + b : (double)((float)a + (float)b);
}

static double leaf(const vectors *v, bool float64, int64_t i)
{
    if (i >= v->n) return 0.0;
    const float x = v->x[i * v->incx];
    if (v->operation == DUO_SASUM) return fabsf(x);
    if (v->operation == DUO_SSUM) return x;
    const float y = v->y[i * v->incy];
    return float64 ? (double)x * (double)y : (double)(x * y);
}

/* V of lane l of the quarter that begins at element `first`. */
static double quarter(const vectors *v, bool float64, int64_t first, int l)
{
    double g[8];
    for (int q = 0; q < 8; q++) {
        double t[2];
        for (int h = 0; h < 2; h++) {
            double a[4];
            for (int r = 0; r < 4; r++) {
                const int64_t i = first + 256 * q + 128 * h + 16 * r + l;
                a[r] = add(float64, leaf(v, float64, i), leaf(v, float64, i + 64));
            }
            t[h] = add(float64, add(float64, a[0], a[2]), add(float64, a[1], a[3]));
        }
        g[q] = add(float64, t[0], t[1]);
    }
    for (int step = 1; step < 8; step *= 2)
        for (int q = 0; q < 8; q += 2 * step) g[q] = add(float64, g[q], g[q + step]);
    return g[0];
}

/* Block of the elements from `first` on: in float32 up to quarters of lanes, or in float64
 * throughout. */
static double block(const vectors *v, bool float64, int64_t first)
{
    double d[LANES];
    for (int l = 0; l < LANES; l++) {
        d[l] = quarter(v, float64, first, l);
        for (int p = 1; p < 4; p++) d[l] = d[l] + quarter(v, float64, first + QUARTER * p, l);
    }
    for (int step = LANES / 2; step >= 1; step /= 2)
        for (int l = 0; l < step; l++) d[l] = d[l] + d[l + step];
    return d[0];
}

/*
 * Sum of `count` blocks from block `first` on. Adding neighbours level by level, where an odd one
 * moves up unchanged, splits the blocks at the largest power of two below their number.
 */
static double add_blocks(const vectors *v, int64_t first, int64_t count)
{
    if (count == 1) {
        const double sum = block(v, v->float64, first * BLOCK);
        return v->float64 || isfinite(sum) ? sum : block(v, true, first * BLOCK);
    }
    int64_t half = 1;
    while (2 * half < count) half *= 2;
    return add_blocks(v, first, half) + add_blocks(v, first + half, count - half);
}

static double all_blocks(const vectors *v)
{
    return v->n > 0 ? add_blocks(v, 0, v->n / BLOCK + (v->n % BLOCK != 0)) : 0.0;
}

static float reduce(const vectors *v)
{
    const double sum = all_blocks(v) + 0.0; /* -0 becomes +0 */
    float result = (float)sum;
    if (isnan(result)) {
        const uint32_t canonical_nan = 0x7FC00000u;
        memcpy(&result, &canonical_nan, sizeof result);
    }
    return result;
}

float reference_order(duo_operation operation, int64_t n, const float *x, int64_t incx,
                      const float *y, int64_t incy)
{
    return reduce(&(vectors){operation, n, x, y, incx, incy, false});
}

float reference_order_float64(duo_operation operation, int64_t n, const float *x, int64_t incx,
                              const float *y, int64_t incy)
{
    return reduce(&(vectors){operation, n, x, y, incx, incy, true});
}

double reference_order_unrounded(duo_operation operation, int64_t n, const float *x, int64_t incx,
                                 const float *y, int64_t incy, bool float64)
{
    return all_blocks(&(vectors){operation, n, x, y, incx, incy, float64});
}
