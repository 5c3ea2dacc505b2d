/* call.c - calls of an operation with all operands in plain host memory (call.h). */
#include "call.h"

/* An operand in plain host memory, without an address. Neither read nor written: not touched. */
static duo_operand plain(int64_t rows, int64_t columns, bool read, bool written)
{
    const bool touched = read || written;
    return (duo_operand){.rows = rows,
                         .columns = columns,
                         .ld = rows,
                         .read = read,
                         .written = written,
                         .on_host = touched,
                         .residence = touched ? DUO_AT_PAGEABLE : DUO_AT_UNUSED};
}

const char *const duo_residence_names[] = {[DUO_AT_UNUSED] = "-",
                                           [DUO_AT_PAGEABLE] = "pageable",
                                           [DUO_AT_PINNED] = "pinned",
                                           [DUO_AT_KEPT] = "kept",
                                           [DUO_AT_STALE] = "stale",
                                           [DUO_AT_DEVICE] = "device",
                                           [DUO_AT_REMEMBERED] = "remembered"};

void duo_call_set_sizes(duo_call *call, int64_t m, int64_t n, int64_t k)
{
    const int64_t extent[DUO_OPERANDS] = {[DUO_A] = m, [DUO_B] = n, [DUO_C] = m};
    const int64_t other[DUO_OPERANDS] = {[DUO_A] = k, [DUO_B] = k, [DUO_C] = n};
    call->m = m;
    call->n = n;
    call->k = k;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const bool along_k = duo_call_along_k(call, i);
        call->operand[i].rows = along_k ? other[i] : extent[i];
        call->operand[i].columns = along_k ? extent[i] : other[i];
    }
}

duo_call duo_call_part(const duo_call *call, int64_t m, int64_t n, int64_t k)
{
    duo_call part = *call;
    part.part = duo_call_is_vector(call) ? DUO_PART_OF_VECTOR : DUO_PART_OF_OTHER;
    duo_call_set_sizes(&part, m, n, k);
    return part;
}

duo_call duo_call_sgemm(bool transa, bool transb, int64_t m, int64_t n, int64_t k, float alpha,
                        float beta)
{
    const bool reads = k > 0 && alpha != 0.0f;
    duo_call call = {.operation = DUO_SGEMM,
                     .transa = transa,
                     .transb = transb,
                     .m = m,
                     .n = n,
                     .k = k,
                     .alpha = alpha,
                     .beta = beta,
                     .threads = 1};
    call.operand[DUO_A] = plain(transa ? k : m, transa ? m : k, reads, false);
    call.operand[DUO_B] = plain(transb ? n : k, transb ? k : n, reads, false);
    call.operand[DUO_C] = plain(m, n, beta != 0.0f, true);
    return call;
}

duo_call duo_call_reduction(duo_operation operation, int64_t n)
{
    duo_call call = {.operation = operation, .m = 1, .n = n, .threads = 1};
    call.operand[DUO_X] = plain(1, n, true, false);
    call.operand[DUO_Y] = plain(1, n, operation == DUO_SDOT, false);
    call.operand[DUO_RESULT] = plain(1, 1, false, true);
    return call;
}
