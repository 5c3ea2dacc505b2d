/* cpu_loops.h - reductions on the CPU by loops, for the best of its instruction sets. */
#ifndef DUO_CPU_LOOPS_H
#define DUO_CPU_LOOPS_H

#include "bench/measure/implementation.h"

/* OpenMP's simd loop, as users write it, and the bare read; one variant of each. False: there are
 * no more variants. */
bool duo_peer_openmp_simd(duo_implementation *peer, int variant, int threads,
                          const duo_stock *stock);
bool duo_bare_read_cpu(duo_implementation *read, int variant, int threads, const duo_stock *stock);

#endif
