/* sdot_cpu_float64.c - inner product on the CPU, in float64 throughout (lanes.h). */
#include "cpu/kernels.h"
#include "cpu/lanes_reduce.h"

duo_outcome duo_sdot_cpu_float64(const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X];
    const duo_operand *const y = &call->operand[DUO_Y];
    *call->operand[DUO_RESULT].address = duo_lanes_reduce_float64(
        DUO_SDOT, call->n, x->address, x->ld, y->address, y->ld, call->threads);
    return DUO_OK;
}
