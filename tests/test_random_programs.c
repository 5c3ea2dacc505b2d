/*
 * test_random_programs.c - random programs over the whole API (support/random_program.h), each in a
 * process of its own, as a lost device stays lost. Under ctest there are some dozens, with
 * DUOBLAS_TEST_LONG=0, as under sanitizers, fewer; with 1 they go on for two million calls, or for
 * DUOBLAS_TEST_CALLS. -seed is the number of the first one. A failure tells a program's number, by
 * which it runs alone:
 *
 *     DUOBLAS_CPU_BLAS=/none test_random_programs child NUMBER
 *
 * The order of work in several threads differs each time.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/remembered.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/harness.h"
#include "support/random_program.h"

enum { PROGRAMS = 40, PATIENCE_SECONDS = 120, LONG_CALLS = 2000000 };

/* ---- A program ---- */

static program *running; /* for the alarm */

static void bark(int number)
{
    (void)number;
    fprintf(stderr, "HANGS: program %" PRIu64 "\n", running->seed);
    for (int i = 0; i < running->actors; i++) tell_calls(&running->actor[i]);
    abort();
}

static int run_program(uint64_t seed)
{
    static program p;
    p.seed = seed;
    running = &p;
    signal(SIGALRM, bark);
    alarm(PATIENCE_SECONDS - 10);
    const uint64_t calls = random_program(&p);
    printf("%" PRIu64 " calls, %s\n", calls, atomic_load(&p.wrong) ? "WRONG" : "right");
    fflush(stdout);
    if (atomic_load(&p.wrong)) _exit(1); /* other threads may go on */
    return 0;
}

/* ---- All ---- */

static uint64_t number_in(const char *name, uint64_t otherwise)
{
    const char *const text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void random_programs(void)
{
    const char *const archer = getenv("OMP_TOOL_LIBRARIES");
    const bool longer = test_amount(0, 0, 1) == 1;
    const int programs = test_amount(PROGRAMS / 4, PROGRAMS, PROGRAMS);
    const uint64_t most = number_in("DUOBLAS_TEST_CALLS", LONG_CALLS);
    uint64_t calls = 0, first = test_seed();
    int count = 0, failed = 0;
    char tool[400];
    snprintf(tool, sizeof tool, "OMP_TOOL_LIBRARIES%s%s", archer != NULL ? "=" : "",
             archer != NULL ? archer : "");
    /* The plain loops are as good as a BLAS here, and a process begins sooner without. */
    const char *const settings[] = {"DUOBLAS_CPU_BLAS=/none", tool, NULL};
    for (; longer ? calls < most : count < programs; count++) {
        static test_child child;
        char seed[24];
        uintmax_t made = 0;
        snprintf(seed, sizeof seed, "%" PRIu64, first + (uint64_t)count);
        test_case("random_programs/child %s", seed);
        test_child_run(seed, settings, PATIENCE_SECONDS, &child);
        const bool right = child.exit_status == 0 && sscanf(child.out, "%ju", &made) == 1;
        CHECK(right, "exit %d", child.exit_status);
        if (!right) fprintf(stderr, "%s\n", child.err);
        calls += made;
        failed += !right;
        if (longer && count % 50 == 49)
            fprintf(stderr, "%d programs, %" PRIu64 " calls, %d failed\n", count + 1, calls,
                    failed);
    }
    printf("    %d programs, %" PRIu64 " calls, %d failed\n", count, calls, failed);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"random_programs", random_programs}, {NULL, NULL}};
    const char *const task = test_child_task(argc, argv);
    duo_remembered_least = 1024;
    if (task != NULL) return run_program(strtoull(task, NULL, 10));
    return test_main(argc, argv, "random_programs", tests);
}
