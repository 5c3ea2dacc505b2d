/*
 * test_first_calls.c - the first calls of processes that have little: calls that open no BLAS;
 * limits of memory, small stacks, another malloc, no memory at all. Each
 * is a child that sets its limit and then runs as a guest (limits/guest.c), with both builds of
 * OpenBLAS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/child.h"
#include "support/harness.h"

int guest(int argc, char **argv);

/* ---- In the child ---- */

static void limit(int which, rlim_t bytes)
{
    const struct rlimit to = {bytes, bytes};
    if (setrlimit(which, &to) != 0) exit(3);
}

/* GUEST is "LIMIT NUMBER TASK SIZE STACK"; without the last on the first thread. */
static int be_guest(void)
{
    char name[20], task[20], size[20], stack[20];
    long number;
    const char *const text = getenv("GUEST");
    const int fields =
        text == NULL ? 0
                     : sscanf(text, "%19s %ld %19s %19s %19s", name, &number, task, size, stack);
    if (fields < 4) return 3;
    if (strcmp(name, "space") == 0) limit(RLIMIT_AS, (rlim_t)number << 20);
    if (strcmp(name, "data") == 0) limit(RLIMIT_DATA, (rlim_t)number << 20);
    char *const arguments[] = {name, task, size, stack, NULL};
    return guest(fields - 1, (char **)(size_t)arguments);
}

/* ---- In the test ---- */

static const char *const builds[] = {"openblas-openmp", "openblas-pthread"};

/* The guest ends well, with each build that is there. */
static void visit_with(const char *malloc_of, const char *what)
{
    for (int i = 0; i < 2; i++) {
        char blas[200], text[100], preload[600];
        test_child child;
        snprintf(blas, sizeof blas,
                 "DUOBLAS_CPU_BLAS=/usr/lib/x86_64-linux-gnu/%s/libopenblas.so.0", builds[i]);
        if (access(strchr(blas, '=') + 1, R_OK) != 0) continue;
        snprintf(text, sizeof text, "GUEST=%s", what);
        snprintf(preload, sizeof preload, "LD_PRELOAD%s%s", malloc_of != NULL ? "=" : "",
                 malloc_of != NULL ? malloc_of : "");
        test_case("first-calls/%s/%s", builds[i], what);
        test_child_run("guest",
                       (const char *const[]){blas, text, preload, "DUOBLAS_PATH=cpu", NULL}, 30,
                       &child);
        CHECK(child.exit_status == 0, "exit %d, \"%.300s%.300s\"", child.exit_status, child.out,
              child.err);
    }
}

static void visit(const char *what) { visit_with(NULL, what); }

/* Without DUOBLAS_CPU_BLAS: nobody has asked for one. */
static void unopened(void)
{
    test_child child;
    test_case("first-calls/unopened");
    test_child_run("guest",
                   (const char *const[]){"GUEST=no 0 unopened 2", "DUOBLAS_CPU_BLAS", NULL}, 30,
                   &child);
    CHECK(child.exit_status == 0, "exit %d, \"%.300s%.300s\"", child.exit_status, child.out,
          child.err);
}

static void space(void)
{
    static const int megabytes[] = {60, 100, 200, 300, 400, 500, 700, 2000};
    for (size_t i = 0; i < sizeof megabytes / sizeof *megabytes; i++) {
        char what[40];
        snprintf(what, sizeof what, "space %d product 300", megabytes[i]);
        visit(what);
    }
    visit("data 300 product 300");
    visit("space 600 callers 200");
    visit("space 1000 callers 200");
    visit("space 1000 callers 12");
}

static void stacks(void)
{
    visit("no 0 sums 4 16384");
    visit("no 0 sums 3000000 16384");
    visit("no 0 product 4 16384");
    visit("no 0 product 300 16384");
    visit("space 200 product 300 16384");
}

static void mallocs(void)
{
    visit_with(TEST_OTHER_MALLOC, "no 0 product 100");
    visit_with(TEST_OTHER_MALLOC, "no 0 starved 16");
    visit_with(TEST_OTHER_MALLOC, "no 0 starved 300");
}

static const test_entry tests[] = {
    {"unopened", unopened}, {"space", space}, {"stacks", stacks},
    {"mallocs", mallocs},   {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_child_task(argc, argv) != NULL) return be_guest();
    return test_main(argc, argv, "first_calls", tests);
}
