/* exact_product_none.c - stands in for exact_product.cu in builds without CUDA. */
#include "bench/reference/exact_product.h"

bool duo_exact_product(const duo_call *call, int64_t columns, double *product, double *magnitude,
                       void *stream)
{
    (void)call;
    (void)columns;
    (void)product;
    (void)magnitude;
    (void)stream;
    return false;
}
