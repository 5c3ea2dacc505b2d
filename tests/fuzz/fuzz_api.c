/*
 * fuzz_api.c - calls of the whole API on two simulated devices. The bytes make the choices of a
 * random program (support/random_program.h), whose own oracle judges every answer.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>

#include "data/remembered.h"
#include "fuzz/fuzz.h"
#include "support/harness.h"
#include "support/random_program.h"

enum { STEPS = 300 };

static void begin(void)
{
    duo_remembered_least = 1024;
    /* The plain loops are as good as a BLAS here. */
    (void)setenv("DUOBLAS_CPU_BLAS", "/none", 1);
    (void)setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    (void)setenv("OMP_NUM_THREADS", "1", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    static program p;
    if (!begun) begin();
    begun = true;
    memset(&p, 0, offsetof(program, actor[1])); /* the other actors are many bytes, all 0 */
    p.most_actors = 1;
    p.steps = STEPS;
    p.input = data;
    p.left = size;
    if (size > 0) (void)run_random_program(&p, size);
    require(!atomic_load(&p.wrong), "a program went wrong");
    return 0;
}
