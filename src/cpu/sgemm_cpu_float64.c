/*
 * sgemm_cpu_float64.c - sgemm with products and sums in float64, rounded to float32 at the end.
 *
 * Accepts   everything
 * Threads   the team's (ffma.c); k is not shared out
 * Order     as in sgemm_cpu_ffma, in float64 (ffma.h and numerics.md). Products of floats are
 *           exact, so no processor needs a fused multiply-add for the same bits
 * Error     u |result| + (k+2) 2^-53 (|alpha||A||B| + |beta C|): beta C is exact, too; k - 1
 *           additions, alpha's product and the last addition round in float64
 * Memory    parts of A and B, packed as float64, from host/scratch.h. Without it, slower
 *
 * Nothing overflows on the way.
 */
#include "cpu/ffma.h"
#include "cpu/kernels.h"

duo_outcome duo_sgemm_cpu_float64(const duo_call *call)
{
    if (!call->operand[DUO_A].read) return duo_sgemm_scale(call);
    duo_ffma_share(duo_ffma_current()->float64, call);
    return DUO_OK;
}
