/*
 * sgemm_cpu_ffma.c - sgemm by fused multiply-adds in float32, on any processor.
 *
 * Accepts   everything
 * Threads   the team's (ffma.c)
 * Order     ffma.h and docs/reference/numerics.md
 * Error     (k + 3) u |alpha||A||B| + 2 u |beta C|, and in truth less: a chain has 256 steps
 * Memory    packed parts of A and B, and sums of segments, from host/scratch.h. Without it, slower.
 *           Under duo_prepare, all of A and of B packed (data/prepared.h)
 */
#include "batch.h"
#include "cpu/ffma.h"
#include "cpu/kernels.h"

void duo_ffma_multiply(duo_product *p)
{
    p->vector = duo_product_is_vector(p->m, p->n, p->k);
    duo_ffma_current()->float32->multiply(p);
}

bool duo_ffma_is_slow(void)
{
#if defined(__x86_64__)
    return duo_ffma_current()->float32 == &duo_ffma_portable;
#else
    return false;
#endif
}

duo_outcome duo_sgemm_cpu_ffma(const duo_call *call)
{
    if (!call->operand[DUO_A].read) return duo_sgemm_scale(call);
    duo_ffma_share(duo_ffma_current()->float32, call);
    return DUO_OK;
}

void duo_sgemm_cpu_ffma_products(const duo_call *call, int64_t first, int64_t count)
{
    enum { AT_ONCE = 32 };
    const duo_ffma *const clone = duo_ffma_current()->float32;
    duo_packed_factors packed;
    const duo_product p = duo_product_of(clone, call, &packed);
    float *a[AT_ONCE], *b[AT_ONCE], *c[AT_ONCE];
    for (int64_t done = 0; done < count; done += AT_ONCE) {
        const int64_t here = count - done < AT_ONCE ? count - done : AT_ONCE;
        duo_batch_addresses(call->batch, call, DUO_A, first + done, here, a);
        duo_batch_addresses(call->batch, call, DUO_B, first + done, here, b);
        duo_batch_addresses(call->batch, call, DUO_C, first + done, here, c);
        clone->multiply_each(&p, here, (const float *const *)a, (const float *const *)b, c);
    }
}
