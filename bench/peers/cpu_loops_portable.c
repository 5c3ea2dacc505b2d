/* cpu_loops_portable.c - the loops of cpu_loops_body.h for any machine (x86-64: SSE2). */
#define LOOPS        duo_cpu_loops_portable
#define VECTOR_BYTES 16
#include "bench/peers/cpu_loops_body.h"
