/* cpu_loops.h - reductions on the CPU by loops, for its best instruction set. */
#ifndef DUO_CPU_LOOPS_H
#define DUO_CPU_LOOPS_H

#include <stdint.h>

#include "bench/measure/implementation.h"
#include "call.h"

/* A variant of OpenMP's simd loop, as users write it; and of the bare read. False: there are no
 * more variants. */
bool duo_peer_openmp_simd(duo_implementation *peer, int variant, int threads,
                          const duo_stock *stock);
bool duo_bare_read_cpu(duo_implementation *read, int variant, int threads, const duo_stock *stock);

/* ---- The loops ---- */

/* OpenMP's simd loop, and a bare read of the operands: compiled from cpu_loops_body.h once for each
 * instruction set. */

enum { DUO_CPU_SIMDS = 2, DUO_CPU_READS = 2 };

typedef struct duo_cpu_loops {
    /* With one sum, or with four. y: only for sdot. threads == 1: no parallel region. */
    float (*reduce[DUO_OPERATIONS][DUO_CPU_SIMDS])(int64_t n, const float *x, const float *y,
                                                   int threads);
    /* The OR of all words of x, and of y if it is not NULL: in one stream, or in four. */
    uint32_t (*read[DUO_CPU_READS])(int64_t n, const float *x, const float *y, int threads);
} duo_cpu_loops;

extern const duo_cpu_loops duo_cpu_loops_portable, duo_cpu_loops_avx2, duo_cpu_loops_avx512;

#endif
