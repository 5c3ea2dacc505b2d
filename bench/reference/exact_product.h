/*
 * exact_product.h - products in float64 on the GPU.
 *
 * exact_product_none.c stands in for builds without CUDA.
 */
#ifndef DUO_EXACT_PRODUCT_H
#define DUO_EXACT_PRODUCT_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Computes op(A) op(B) and |op(A)| |op(B)| of operands on device 0 to host memory, and waits. Only
 * `columns` columns are computed, evenly spread (see duo_product_column). False: CUDA, or this
 * code, cannot do it.
 */
bool duo_exact_product(const duo_call *call, int64_t columns, double *product, double *magnitude,
                       void *stream);

#ifdef __cplusplus
}
#endif

#endif
