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

static float leaf_float(const vectors *v, int64_t i)
{
    if (i >= v->n) return 0.0f;
    const float x = v->x[i * v->incx];
    if (v->operation == DUO_SASUM) return fabsf(x);
    if (v->operation == DUO_SSUM) return x;
    return x * v->y[i * v->incy];
}

static double leaf_double(const vectors *v, int64_t i)
{
    if (i >= v->n) return 0.0;
    const double x = v->x[i * v->incx];
    if (v->operation == DUO_SASUM) return fabs(x);
    if (v->operation == DUO_SSUM) return x;
    return x * (double)v->y[i * v->incy];
}

/* Sum of 16 lanes by halving. */
static double add_lanes(double d[LANES])
{
    for (int step = LANES / 2; step >= 1; step /= 2)
        for (int l = 0; l < step; l++) d[l] = d[l] + d[l + step];
    return d[0];
}

/* Block of the elements from `first` on: 8192 of them, in float32 up to quarters of lanes. */
static double block_float(const vectors *v, int64_t first)
{
    double lane[LANES];
    for (int l = 0; l < LANES; l++) {
        double sum[4];
        for (int p = 0; p < 4; p++) {
            float g[8];
            for (int q = 0; q < 8; q++) {
                float t[2];
                for (int h = 0; h < 2; h++) {
                    float a[4];
                    for (int r = 0; r < 4; r++) {
                        const int64_t i = first + QUARTER * p + 256 * q + 128 * h + 16 * r + l;
                        a[r] = leaf_float(v, i) + leaf_float(v, i + 64);
                    }
                    t[h] = (a[0] + a[2]) + (a[1] + a[3]);
                }
                g[q] = t[0] + t[1];
            }
            sum[p] = ((g[0] + g[1]) + (g[2] + g[3])) + ((g[4] + g[5]) + (g[6] + g[7]));
        }
        lane[l] = ((sum[0] + sum[1]) + sum[2]) + sum[3];
    }
    return add_lanes(lane);
}

/* The same shape in float64 throughout. */
static double block_double(const vectors *v, int64_t first)
{
    double lane[LANES];
    for (int l = 0; l < LANES; l++) {
        double sum[4];
        for (int p = 0; p < 4; p++) {
            double g[8];
            for (int q = 0; q < 8; q++) {
                double t[2];
                for (int h = 0; h < 2; h++) {
                    double a[4];
                    for (int r = 0; r < 4; r++) {
                        const int64_t i = first + QUARTER * p + 256 * q + 128 * h + 16 * r + l;
                        a[r] = leaf_double(v, i) + leaf_double(v, i + 64);
                    }
                    t[h] = (a[0] + a[2]) + (a[1] + a[3]);
                }
                g[q] = t[0] + t[1];
            }
            sum[p] = ((g[0] + g[1]) + (g[2] + g[3])) + ((g[4] + g[5]) + (g[6] + g[7]));
        }
        lane[l] = ((sum[0] + sum[1]) + sum[2]) + sum[3];
    }
    return add_lanes(lane);
}

/*
 * Sum of `count` blocks from block `first` on. Adding neighbours level by level, where an odd one
 * moves up unchanged, splits the blocks at the largest power of two below their number.
 */
static double add_blocks(const vectors *v, int64_t first, int64_t count)
{
    if (count == 1) {
        const double sum = block_float(v, first * BLOCK);
        return !v->float64 && isfinite(sum) ? sum : block_double(v, first * BLOCK);
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
