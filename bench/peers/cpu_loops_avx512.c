/* cpu_loops_avx512.c - the loops of cpu_loops_body.h for AVX-512. */
#define LOOPS        duo_cpu_loops_avx512
#define VECTOR_BYTES 64
#include "bench/peers/cpu_loops_body.h"
