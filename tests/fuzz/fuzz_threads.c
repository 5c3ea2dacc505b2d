/*
 * fuzz_threads.c - OpenMP's and OpenBLAS's variables, as the library reads them, against any text:
 * a line each for OMP_NUM_THREADS, OPENBLAS_NUM_THREADS and OMP_WAIT_POLICY.
 */
#define _GNU_SOURCE
#include <stdlib.h>

static char *value_of(const char *name);
#define secure_getenv value_of
#include "host/machine.c"

#include "fuzz/fuzz.h"

static char *line[3];

static char *value_of(const char *name)
{
    return line[name[1] == 'P' ? 1 : strcmp(name, "OMP_WAIT_POLICY") == 0 ? 2 : 0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const text = text_of(data, size), *rest = text;
    for (int i = 0; i < 3; i++) line[i] = next_line(&rest);
    const int openmp = openmp_threads(), openblas = openblas_threads();
    require(openmp >= 0 && openblas >= 0, "numbers of threads");
    require(openmp == 0 || (line[0] != NULL && strpbrk(line[0], "123456789") != NULL), "a number");
    require(!asks_for_sleep() || (line[2] != NULL && strcasestr(line[2], "passive") != NULL),
            "a policy");
    free(text);
    return 0;
}
