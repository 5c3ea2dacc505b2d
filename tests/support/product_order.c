/* product_order.c - a product's order (product_order.h). It shares no code with src. */
#include "support/product_order.h"

#include <math.h>
#include <string.h>

enum { SEGMENT = 256, MOST_CHAINS = 8 };

/* sum + x y, rounded once: the product of two floats is exact in float64. */
static double add_product(bool float64, double sum, float x, float y)
{
    return float64 ? sum + (double)x * (double)y : (double)fmaf(x, y, (float)sum);
}

static double add(bool float64, double x, double y)
{
    return float64 ? x + y : (double)((float)x + (float)y);
}

static float one_nan(void)
{
    const uint32_t bits = 0x7FC00000;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float end(bool float64, double total, float alpha, float beta, float c)
{
    if (!float64) return beta == 0.0f ? alpha * (float)total : fmaf(alpha, (float)total, beta * c);
    const double product = (double)alpha * total;
    return (float)(beta == 0.0f ? product : fma((double)beta, (double)c, product));
}

float product_order(bool float64, bool transa, bool transb, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                    float beta, float c, int64_t i, int64_t j)
{
    if (k == 0 || alpha == 0.0f) { /* C is only scaled */
        const float x = beta == 0.0f ? 0.0f : beta * c;
        return isnan(x) ? one_nan() : x;
    }
    const bool vector = m == 1 || n == 1 || (m * n <= 16 && k >= 64);
    double total = 0.0;
    for (int64_t first = 0; first < k; first += SEGMENT) {
        double chain[MOST_CHAINS] = {0.0};
        for (int64_t l = first; l < first + SEGMENT && l < k; l++) {
            double *const sum = &chain[vector ? l % MOST_CHAINS : 0];
            *sum = add_product(float64, *sum, transa ? a[l + i * lda] : a[i + l * lda],
                               transb ? b[j + l * ldb] : b[l + j * ldb]);
        }
        for (int half = MOST_CHAINS / 2; half > 0 && vector; half /= 2)
            for (int z = 0; z < half; z++) chain[z] = add(float64, chain[z], chain[z + half]);
        total = first == 0 ? chain[0] : add(float64, total, chain[0]);
    }
    const float x = end(float64, total, alpha, beta, c);
    return isnan(x) ? one_nan() : x;
}
