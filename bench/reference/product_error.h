/*
 * product_error.h - a product in float64, of all its columns or of a sample, and how far a float32
 * one is from it.
 */
#ifndef DUO_PRODUCT_ERROR_H
#define DUO_PRODUCT_ERROR_H

#include "call.h"

/* op(A) op(B) and |op(A)| |op(B)|, columns one behind the other; a sample is spread evenly. */
typedef struct duo_product_exact {
    int64_t m, n, k, columns;
    double *product, *magnitude;
} duo_product_exact;

/*
 * By the device where `device` and its stream are there (exact_product.h), else by the CPU: `host`
 * has the same operands. False: it is out of memory, or the device failed.
 */
bool duo_product_exact_open(duo_product_exact *exact, const duo_call *host, const duo_call *device,
                            void *stream);
void duo_product_exact_close(duo_product_exact *exact);

/* Column j of the sample is this column of the product. */
static inline int64_t duo_product_column(int64_t j, int64_t columns, int64_t n)
{
    return j * n / columns;
}

typedef struct duo_product_errors {
    double frobenius; /* norm of the error / norm of the product */
    double largest;   /* |error| / |A||B|, in units of 2^-24 */
    double share;     /* |error| / ((k+3) 2^-24 |A||B| + (k+2) 2^-149), the bound and underflow */
    int64_t unequal;  /* entries that are not the product itself, rounded */
    int64_t wrong;    /* entries that are Inf or NaN and should not be, or the other way round */
} duo_product_errors;

/* Of C := op(A) op(B), where it is. False: it could not be fetched. */
bool duo_product_error(duo_context *context, const duo_product_exact *exact, const duo_operand *c,
                       duo_product_errors *errors);

#endif
