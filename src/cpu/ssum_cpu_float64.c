/* ssum_cpu_float64.c - sum on the CPU, in float64 throughout (lanes.h). */
#include "cpu/kernels.h"
#include "cpu/lanes_reduce.h"

duo_outcome duo_ssum_cpu_float64(const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X];
    *call->operand[DUO_RESULT].address =
        duo_lanes_reduce_float64(DUO_SSUM, call->n, x->address, x->ld, NULL, 0, call->threads);
    return DUO_OK;
}
