/* cpu_loops.c - see cpu_loops.h */
#include "bench/peers/cpu_loops.h"

#include <string.h>

/* The loops for this CPU, chosen before any timing. */
static const duo_cpu_loops *loops;

static const duo_cpu_loops *best_loops(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
        return &duo_cpu_loops_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &duo_cpu_loops_avx2;
#endif
    return &duo_cpu_loops_portable;
}

static bool call_simd(const duo_implementation *self, const duo_call *call)
{
    const duo_operand *const o = call->operand;
    *o[DUO_RESULT].address = loops->reduce[call->operation][self->variant](
        call->n, o[DUO_X].address, o[DUO_Y].address, self->threads);
    return true;
}

bool duo_peer_openmp_simd(duo_implementation *peer, int variant, int threads,
                          const duo_stock *stock)
{
    static const char *const names[DUO_CPU_SIMDS] = {"openmp simd", "openmp simd 4 sums"};
    if (variant >= DUO_CPU_SIMDS) return false;
    loops = best_loops();
    *peer = (duo_implementation){.name = names[variant],
                                 .side = DUO_SIDE_CPU,
                                 .variant = variant,
                                 .threads = threads,
                                 .stock = stock,
                                 .call = call_simd};
    return true;
}

static bool call_read(const duo_implementation *self, const duo_call *call)
{
    const duo_operand *const o = call->operand;
    const uint32_t seen =
        loops->read[self->variant](call->n, o[DUO_X].address, o[DUO_Y].address, self->threads);
    memcpy(o[DUO_RESULT].address, &seen, sizeof seen);
    return true;
}

bool duo_bare_read_cpu(duo_implementation *peer, int variant, int threads, const duo_stock *stock)
{
    static const char *const names[DUO_CPU_READS] = {"read 1 stream", "read 4 streams"};
    if (variant >= DUO_CPU_READS) return false;
    loops = best_loops();
    *peer = (duo_implementation){.name = names[variant],
                                 .side = DUO_SIDE_CPU,
                                 .bare_read = true,
                                 .variant = variant,
                                 .threads = threads,
                                 .stock = stock,
                                 .call = call_read};
    return true;
}
