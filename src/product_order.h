/*
 * product_order.h - the order of summation of a product, for the CPU's kernels and the GPU's:
 * docs/reference/numerics.md defines it.
 *
 * An element of C is summed in segments of DUO_SEGMENT steps of k, the last one shorter. In most
 * products a segment is one chain of fused multiply-adds over ascending k, from +0. In a vector
 * product it is DUO_CHAINS chains side by side, chain z for the steps k = z mod DUO_CHAINS, which
 * are then added by halves: z and z + 4, then z and z + 2, then z and z + 1. The sums of the
 * segments are added in order. At the end the element is alpha sum if beta is 0, else fma(alpha,
 * sum, beta c); in float64 alpha sum + beta c, then rounded to float32. So only m, n and k of the
 * whole product decide. Each NaN becomes DUO_NAN: processors differ in its sign and payload.
 */
#ifndef DUO_PRODUCT_ORDER_H
#define DUO_PRODUCT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DUO_SEGMENT = 256,
    DUO_CHAINS = 8,
    DUO_FEW = 16,        /* elements of C: with so few, each would wait for its own chain, */
    DUO_MANY = 64,       /* if k is at least this */
    DUO_NAN = 0x7FC00000 /* bits of a NaN in C */
};

/* x; for a NaN the one that C has. */
static inline float duo_one_nan(float x)
{
    return __builtin_expect(x != x, false) ? __builtin_nanf("") : x;
}

static inline bool duo_product_is_vector(int64_t m, int64_t n, int64_t k)
{
    return m == 1 || n == 1 || (k >= DUO_MANY && m <= DUO_FEW && n <= DUO_FEW && m * n <= DUO_FEW);
}

#endif
