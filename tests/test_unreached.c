/*
 * test_unreached.c - the words of a summary about calls that did not come: the test program runs
 * itself as `duoblas run` would, with plug-ins that call a useless BLAS.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/child.h"
#include "support/harness.h"

/* ---- The program ---- */

/* The answer of a plug-in, opened in this way, for 2 times 3: 6 by the drop-in. */
static double call_plug(const char *file, int how)
{
    double (*plug)(double, double);
    void *const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | how);
    void *const address = handle != NULL ? dlsym(handle, "plug") : NULL;
    if (address == NULL) return -1.0;
    memcpy(&plug, &address, sizeof plug);
    return plug(2.0, 3.0);
}

/* A child that calls, and tells of it when it ends by exit. */
static void fork_a_worker(int calls, bool tells)
{
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < calls; i++) (void)call_plug(TEST_PLUG, 0);
        if (tells) exit(0);
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
}

/* As the summary will tell of. */
static int be_program(const char *task)
{
    float sum = 0.0f;
    if (strcmp(task, "itself") == 0)
        return duo_sasum(NULL, 1, &(const float){3.0f}, 1, &sum) == DUO_OK && sum == 3.0f ? 0 : 1;
    if (strcmp(task, "linked") == 0) return 0;
    if (strcmp(task, "plug") == 0) return call_plug(TEST_PLUG, 0) == 6.0 ? 0 : 1;
    if (strcmp(task, "deep") == 0) return call_plug(TEST_PLUG, RTLD_DEEPBIND) == 0.0 ? 0 : 1;
    if (strcmp(task, "late") == 0) return call_plug(TEST_PLUG, 0) == 0.0 ? 0 : 1;
    if (strcmp(task, "double") == 0) return call_plug(TEST_PLUG_DOUBLE, 0) >= 0.0 ? 0 : 1;
    if (strcmp(task, "both") == 0)
        return call_plug(TEST_PLUG, 0) == 6.0 && call_plug(TEST_PLUG_DOUBLE, 0) >= 0.0 ? 0 : 1;
    if (strcmp(task, "many") == 0) {
        for (int i = 0; i < 9; i++)
            if (call_plug(TEST_PLUG, 0) != 6.0) return 1;
        return call_plug(TEST_PLUG_DOUBLE, 0) >= 0.0 ? 0 : 1;
    }
    fork_a_worker(2, false);
    fork_a_worker(5, true);
    fork_a_worker(0, false);
    return call_plug(TEST_PLUG, 0) == 6.0 ? 0 : 1;
}

static int run(char *task)
{
    char process[24];
    char *const arguments[] = {"/proc/self/exe", "child", task, NULL};
    snprintf(process, sizeof process, "%ld", (long)getpid());
    if (setenv("DUOBLAS_RUN", process, 1) != 0) return 1;
    if (setenv("DUOBLAS_SUMMARY", "stderr", 1) != 0) return 1;
    const char *preloaded = TEST_DROP_IN;
    if (strcmp(task, "late") == 0) preloaded = TEST_OWN_BLAS ":" TEST_DROP_IN;
    if (strcmp(task, "linked") == 0) preloaded = TEST_DROP_IN ":" TEST_PLUG_LINKED;
    if (setenv("LD_PRELOAD", preloaded, 1) != 0) return 1;
    execv("/proc/self/exe", arguments);
    return 1;
}

/* ---- The test ---- */

static const char *summary_of(const char *task)
{
    static test_child child;
    char whole[32];
    test_case("unreached/%s", task);
    snprintf(whole, sizeof whole, "run %s", task);
    test_child_run(whole, (const char *const[]){"DUOBLAS_PATH=cpu", NULL}, 60, &child);
    CHECK(child.exit_status == 0, "exit status %d, \"%s\"", child.exit_status, child.err);
    return child.err;
}

static void lacks(const char *text, const char *what)
{
    CHECK(strstr(text, what) == NULL, "\"%s\" in \"%s\"", what, text);
}

static void reasons(void)
{
    const char *said = summary_of("itself");
    test_contains(said, "no BLAS call of process");
    test_contains(said, "exe calls DuoBLAS itself (duo_s");
    lacks(said, "has loaded no BLAS");
    lacks(said, "libduoblas");

    said = summary_of("plug");
    test_contains(said, "  sgemm           1          1");
    lacks(said, "float64");
    lacks(said, "forked");

    /* The loader ends it before the drop-in, which must not begin it again: its status tells. */
    said = summary_of("linked");
    test_contains(said, "no BLAS call of process");
    test_contains(said, "plug_linked.so would call sgemm_ here, and did not");

    said = summary_of("deep");
    test_contains(said, "no BLAS call of process");
    test_contains(said, "plug.so got sgemm_ of libown_blas.so from the loader: it was opened with "
                        "RTLD_DEEPBIND\n");
    lacks(said, "would call");
    lacks(said, "for which no loaded object asks");

    said = summary_of("late");
    test_contains(said, "plug.so got sgemm_ of libown_blas.so from the loader: that library stands "
                        "before the drop-in\n");
    lacks(said, "RTLD_DEEPBIND");

    said = summary_of("double");
    test_contains(said, "no BLAS call of process");
    test_contains(said, "plug_double.so asks for dgemm_, which is float64 and is not served");
    lacks(said, "for which no loaded object asks");

    said = summary_of("both");
    test_contains(said, "  sgemm           1          1");
    test_contains(said, "plug_double.so asks for dgemm_, which is float64 and is not served");

    said = summary_of("many"); /* then the program's own work is known */
    test_contains(said, "  sgemm           9          9");
    lacks(said, "float64");

    said = summary_of("forks");
    test_contains(said, "  sgemm           5          5"); /* by the child itself */
    test_contains(said, "what 1 forked child of process");
    test_contains(said, "  sgemm           2          2");
    lacks(said, "are not counted");
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"reasons", reasons},
        {NULL, NULL},
    };
    const char *const task = test_child_task(argc, argv);
    if (task != NULL && strncmp(task, "run ", 4) == 0) return run(argv[2] + 4);
    if (task != NULL) return be_program(task);
    return test_main(argc, argv, "unreached", tests);
}
