/*
 * calls.c - calls as algorithms get them; see calls.h.
 */
#include "support/calls.h"

static duo_operand operand(const float *address, int64_t rows, int64_t columns, int64_t ld,
                           bool read, bool written)
{
    return (duo_operand){.address = (float *)(uintptr_t)address,
                         .rows = rows,
                         .columns = columns,
                         .ld = ld,
                         .read = read,
                         .written = written,
                         .residence = read || written ? DUO_AT_PAGEABLE : DUO_AT_UNUSED,
                         .on_host = true};
}

duo_call test_sgemm_call(bool transa, bool transb, int64_t m, int64_t n, int64_t k, float alpha,
                         const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                         float *c, int64_t ldc)
{
    const bool product = alpha != 0.0f && k > 0;
    return (duo_call){
        .operation = DUO_SGEMM,
        .transa = transa,
        .transb = transb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = alpha,
        .beta = beta,
        .operand = {operand(a, transa ? k : m, transa ? m : k, lda, product, false),
                    operand(b, transb ? n : k, transb ? k : n, ldb, product, false),
                    operand(c, m, n, ldc, beta != 0.0f, true)},
        .threads = 1,
    };
}

/* The logical first element of a vector that is passed by its first address. */
static const float *first_element(const float *x, int64_t n, int64_t inc)
{
    return inc < 0 && n > 0 ? x - (n - 1) * inc : x;
}

duo_call test_reduce_call(duo_operation operation, int64_t n, const float *x, int64_t incx,
                          const float *y, int64_t incy, float *result)
{
    const bool two = operation == DUO_SDOT;
    duo_call call = {.operation = operation, .m = 1, .n = n, .k = 0, .alpha = 1.0f, .threads = 1};
    call.operand[DUO_X] = operand(first_element(x, n, incx), 1, n, incx, n > 0, false);
    if (two) call.operand[DUO_Y] = operand(first_element(y, n, incy), 1, n, incy, n > 0, false);
    call.operand[DUO_RESULT] = operand(result, 1, 1, 1, false, true);
    return call;
}
