/* product_order.c - a product's order (product_order.h). It shares no code with src. */
#include "support/product_order.h"

#include <math.h>

enum { SEGMENT = 512, MOST_CHAINS = 8 };

float product_order(bool transa, bool transb, int64_t m, int64_t n, int64_t k, float alpha,
                    const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float c,
                    int64_t i, int64_t j)
{
    const bool vector = m == 1 || n == 1 || (m * n <= 16 && k >= 64);
    float total = 0.0f;
    for (int64_t first = 0; first < k; first += SEGMENT) {
        float chain[MOST_CHAINS] = {0.0f};
        for (int64_t l = first; l < first + SEGMENT && l < k; l++) {
            float *const sum = &chain[vector ? l % MOST_CHAINS : 0];
            *sum = fmaf(transa ? a[l + i * lda] : a[i + l * lda],
                        transb ? b[j + l * ldb] : b[l + j * ldb], *sum);
        }
        for (int half = MOST_CHAINS / 2; half > 0 && vector; half /= 2)
            for (int z = 0; z < half; z++) chain[z] += chain[z + half];
        total = first == 0 ? chain[0] : total + chain[0];
    }
    return beta == 0.0f ? alpha * total : fmaf(alpha, total, beta * c);
}
