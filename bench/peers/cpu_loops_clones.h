/*
 * cpu_loops_clones.h - OpenMP's simd loop, as a user writes it, and a bare read of the operands:
 * compiled from cpu_loops_body.h once for each instruction set.
 */
#ifndef DUO_CPU_LOOPS_CLONES_H
#define DUO_CPU_LOOPS_CLONES_H

#include <stdint.h>

#include "call.h"

enum { DUO_CPU_SIMDS = 2, DUO_CPU_READS = 2 };

typedef struct duo_cpu_loops {
    /* With one sum, or with four. y: of sdot alone. threads == 1: no parallel region. */
    float (*reduce[DUO_OPERATIONS][DUO_CPU_SIMDS])(int64_t n, const float *x, const float *y,
                                                   int threads);
    /* All words of x, and of y if it is not NULL, ORed together: in one stream, or in four. */
    uint32_t (*read[DUO_CPU_READS])(int64_t n, const float *x, const float *y, int threads);
} duo_cpu_loops;

extern const duo_cpu_loops duo_cpu_loops_portable, duo_cpu_loops_avx2, duo_cpu_loops_avx512;

#endif
