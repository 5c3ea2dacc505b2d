/* sgemm.c - duo_sgemm: check arguments, take the quick returns, hand over. */
#include <string.h>

#include "context.h"

static bool valid_transpose(duo_transpose t)
{
    return t == DUO_NO_TRANS || t == DUO_TRANS || t == DUO_CONJ_TRANS;
}

/* Does a matrix of `columns` runs of `rows` floats, ld apart, fit the address space? */
static bool addressable(int64_t rows, int64_t columns, int64_t ld)
{
    int64_t floats;
    if (rows == 0 || columns == 0) return true;
    return !__builtin_mul_overflow(columns - 1, ld, &floats) &&
           !__builtin_add_overflow(floats, rows, &floats) && floats <= PTRDIFF_MAX / 4;
}

static int64_t at_least_1(int64_t size) { return size > 1 ? size : 1; }

/* An operand's place in the call; `address` loses its const, `written` says whether that matters.
 */
static duo_operand operand(const float *address, int64_t rows, int64_t columns, int64_t ld,
                           bool read, bool written)
{
    return (duo_operand){.address = (float *)(uintptr_t)address,
                         .rows = rows,
                         .columns = columns,
                         .ld = ld,
                         .read = read,
                         .written = written};
}

static bool near_registered(const duo_call *call)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        uintptr_t low, high;
        if (!call->operand[i].read && !call->operand[i].written) continue;
        duo_operand_span(&call->operand[i], &low, &high);
        if (duo_residency_near(low, high)) return true;
    }
    return false;
}

duo_status duo_sgemm(duo_context *given, duo_layout layout, duo_transpose transa,
                     duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                     const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                     int64_t ldc)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return given == NULL ? DUO_ERR_MEMORY : DUO_ERR_CONTEXT;
    if ((layout != DUO_COL_MAJOR && layout != DUO_ROW_MAJOR) || !valid_transpose(transa) ||
        !valid_transpose(transb))
        return DUO_ERR_ENUM;
    if (m < 0 || n < 0 || k < 0) return DUO_ERR_SIZE;

    /* Row-major storage of a matrix is column-major storage of its transpose: C' = op(B)' op(A)'.
     */
    const bool swapped = layout == DUO_ROW_MAJOR;
    duo_call call = {.operation = DUO_SGEMM, .swapped = swapped, .threads = 1};
    call.transa = (swapped ? transb : transa) != DUO_NO_TRANS;
    call.transb = (swapped ? transa : transb) != DUO_NO_TRANS;
    call.m = swapped ? n : m;
    call.n = swapped ? m : n;
    call.k = k;
    call.alpha = alpha;
    call.beta = beta;
    const bool product = k > 0 && alpha != 0.0f;
    const float *const left = swapped ? b : a, *const right = swapped ? a : b;
    const int64_t left_ld = swapped ? ldb : lda, right_ld = swapped ? lda : ldb;
    const int64_t left_rows = call.transa ? k : call.m, left_columns = call.transa ? call.m : k;
    const int64_t right_rows = call.transb ? call.n : k, right_columns = call.transb ? k : call.n;

    if (left_ld < at_least_1(left_rows) || right_ld < at_least_1(right_rows) ||
        ldc < at_least_1(call.m))
        return DUO_ERR_LD;
    if (!addressable(left_rows, left_columns, left_ld) ||
        !addressable(right_rows, right_columns, right_ld) || !addressable(call.m, call.n, ldc))
        return DUO_ERR_SIZE;
    const bool nothing = m == 0 || n == 0;
    if (!nothing && (c == NULL || (product && (a == NULL || b == NULL)))) return DUO_ERR_NULL;

    call.operand[DUO_A] = operand(left, left_rows, left_columns, left_ld, product, false);
    call.operand[DUO_B] = operand(right, right_rows, right_columns, right_ld, product, false);
    call.operand[DUO_C] = operand(c, call.m, call.n, ldc, beta != 0.0f, true);
    if (nothing || (!product && beta == 1.0f)) {
        duo_execute_nothing(ctx, &call);
        return DUO_OK;
    }
    const int64_t tiny = ctx->tiny[DUO_SGEMM];
    if (m <= tiny && n <= tiny && k <= tiny && !near_registered(&call) &&
        duo_context_run(ctx, ctx->tiny_row[DUO_SGEMM], &call) == DUO_OK) {
        ctx->last_tiny = true;
        ctx->last_call = call;
        ctx->last_row = ctx->tiny_row[DUO_SGEMM];
        return DUO_OK;
    }
    return duo_execute(ctx, &call);
}
