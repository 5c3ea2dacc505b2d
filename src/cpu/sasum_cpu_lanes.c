/* sasum_cpu_lanes.c - sum of absolute values on the CPU, in the documented order of summation
 * (lanes.h). */
#include "cpu/kernels.h"
#include "cpu/lanes_reduce.h"

duo_outcome duo_sasum_cpu_lanes(const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X];
    *call->operand[DUO_RESULT].address =
        duo_lanes_reduce(DUO_SASUM, call->n, x->address, x->ld, NULL, 0, call->threads);
    return DUO_OK;
}
