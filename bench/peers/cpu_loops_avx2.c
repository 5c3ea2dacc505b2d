/* cpu_loops_avx2.c - the loops of cpu_loops_body.h for AVX2 and FMA. */
#define LOOPS        duo_cpu_loops_avx2
#define VECTOR_BYTES 32
#include "bench/peers/cpu_loops_body.h"
