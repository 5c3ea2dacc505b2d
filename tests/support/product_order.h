/*
 * product_order.h - the documented order of summation of a product (docs/reference/numerics.md),
 * one element after the other, in plain C.
 */
#ifndef PRODUCT_ORDER_H
#define PRODUCT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* Element (i, j) of alpha op(A) op(B) + beta c, with sums in float32 or in float64; c is not looked
 * at if beta is 0. */
float product_order(bool float64, bool transa, bool transb, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                    float beta, float c, int64_t i, int64_t j);

#endif
