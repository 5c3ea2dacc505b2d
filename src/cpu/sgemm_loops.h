/* sgemm_loops.h - a tiny product by loops of our own: no other library, no memory, no threads. */
#ifndef DUO_SGEMM_LOOPS_H
#define DUO_SGEMM_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

/* The largest size. With each up to 8 the loops take 0.6 to 0.9 of the time of OpenBLAS 0.3.21 with
 * its AVX-512 kernels (Zen 4, compiled for SSE2); with all of 10 they take 1.4 times as long. */
enum { DUO_SGEMM_LOOPS_EDGE = 8 };

static inline bool duo_sgemm_suits_loops(int64_t m, int64_t n, int64_t k)
{
    return m <= DUO_SGEMM_LOOPS_EDGE && n <= DUO_SGEMM_LOOPS_EDGE && k <= DUO_SGEMM_LOOPS_EDGE;
}

/* The arguments of a column-major sgemm that reads A and B, of sizes that suit. Each element gets
 * the same bits as from the tiles of sgemm_cpu_plain. */
void duo_sgemm_loops(bool transa, bool transb, int64_t m, int64_t n, int64_t k, float alpha,
                     const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                     int64_t ldc);

#endif
