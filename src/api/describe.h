/*
 * describe.h - checks and describes a call of a public function without making it: for the nodes of
 * graphs.
 */
#ifndef DUO_DESCRIBE_H
#define DUO_DESCRIBE_H

#include "call.h"

/* Describes the call of the function of that name with these arguments; operands that it would not
 * touch are untouched. Returns that function's status for bad arguments. */
duo_status duo_sgemm_describe(duo_call *call, duo_layout layout, duo_transpose transa,
                              duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                              const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                              float *c, int64_t ldc);
/* The reverse: the product as work for a node, in the caller's layout. */
duo_work duo_sgemm_work(const duo_call *call, duo_math math);
duo_status duo_reduce_describe(duo_call *call, duo_operation operation, int64_t n, const float *x,
                               int64_t incx, const float *y, int64_t incy, float *result);

#endif
