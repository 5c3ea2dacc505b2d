/*
 * test_summary.c - the advice in a summary: the test program runs itself with the drop-in before
 * it, without a GPU and on the simulated one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/child.h"
#include "support/folder.h"
#include "support/harness.h"

/* ---- The program ---- */

typedef void (*sgemm_function)(const char *, const char *, const int *, const int *, const int *,
                               const float *, const float *, const int *, const float *,
                               const int *, const float *, float *, const int *);

/* C of m x n from A, m x k, and B; all without gaps. */
static void multiply(sgemm_function sgemm, int m, int n, int k, const float *a, const float *b,
                     float *c)
{
    const float one = 1.0f, zero = 0.0f;
    sgemm("N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m);
}

enum { LENGTH = 1 << 30 }; /* of a summary's file; nearly all of it is a hole */
enum { EDGE = 2000, THIN = 16, MIDDLE = 600, SIDE = 512, SMALL = 32 };

/* What hinders the summary: a limit of the length of files, which is reached, also where its signal
 * waits already; a full device; a pipe without a reader. */
static bool hinder(const char *how)
{
    int ends[2];
    if (strcmp(how, "limit") == 0 || strcmp(how, "pending") == 0) {
        const struct rlimit most = {LENGTH, LENGTH};
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGXFSZ);
        if (*how == 'p' && (sigprocmask(SIG_BLOCK, &set, NULL) != 0 || raise(SIGXFSZ) != 0))
            return false;
        return setrlimit(RLIMIT_FSIZE, &most) == 0;
    }
    if (strcmp(how, "full") == 0) {
        const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        return full >= 0 && dup2(full, STDERR_FILENO) >= 0;
    }
    return pipe2(ends, O_CLOEXEC) == 0 && close(ends[0]) == 0 && dup2(ends[1], STDERR_FILENO) >= 0;
}

static int be_program(const char *task)
{
    sgemm_function sgemm;
    void *const address = dlsym(RTLD_DEFAULT, "sgemm_");
    float *const a = calloc(3 * EDGE * EDGE, sizeof *a), *const b = a + EDGE * EDGE,
                 *const c = b + EDGE * EDGE;
    if (address == NULL || a == NULL) return 1;
    memcpy(&sgemm, &address, sizeof sgemm);
    const bool rewritten = strcmp(task, "rewritten") == 0;
    if (strcmp(task, "heavy") == 0)
        for (int i = 0; i < 16; i++) multiply(sgemm, EDGE, EDGE, EDGE, a, b, c);
    else if (strcmp(task, "short") == 0)
        multiply(sgemm, MIDDLE, MIDDLE, MIDDLE, a, b, c);
    else if (strcmp(task, "nothing") == 0)
        multiply(sgemm, SMALL, 0, SMALL, a, b, c);
    else if (strncmp(task, "hindered ", 9) == 0) {
        multiply(sgemm, SMALL, SMALL, SMALL, a, b, c);
        if (!hinder(task + 9)) return 1;
    } else if (strcmp(task, "small") == 0)
        for (int i = 0; i < 20; i++) multiply(sgemm, SMALL, SMALL, SMALL, a, b, c);
    else
        for (int i = 0; i < 6; i++) {
            if (rewritten) multiply(sgemm, SIDE, SIDE, SIDE, c, b, a);
            multiply(sgemm, SIDE, THIN, SIDE, a, b, c);
        }
    free(a);
    return 0;
}

static int run(const char *task, const char *drop_in)
{
    char *const arguments[] = {"/proc/self/exe", "child", strdup(task), NULL};
    const char *const to = getenv("SUMMARY_TO");
    if (setenv("DUOBLAS_SUMMARY", to != NULL ? to : "stderr", 1) != 0) return 1;
    if (setenv("LD_PRELOAD", drop_in, 1) != 0) return 1;
    execv("/proc/self/exe", arguments);
    return 1;
}

/* ---- The test ---- */

/* drop_in: "run", as it is shipped, or "sim". Without a setting of the path: auto, where no GPU is
 * seen but the simulated one. */
static const char *summary_of(const char *drop_in, const char *task, const char *setting,
                              const char *another)
{
    static test_child child;
    char whole[40];
    const char *const settings[] = {
        "DUOBLAS_PROFILE=", "OMP_NUM_THREADS=1", "CUDA_VISIBLE_DEVICES=", setting, another, NULL};
    test_case("summary/%s/%s/%s", drop_in, task, setting);
    snprintf(whole, sizeof whole, "%s %s", drop_in, task);
    test_child_run(whole, settings, 600, &child);
    CHECK(child.exit_status == 0, "exit status %d, \"%s\"", child.exit_status, child.err);
    return child.err;
}

static void lacks(const char *text, const char *what)
{
    CHECK(strstr(text, what) == NULL, "\"%s\" in \"%s\"", what, text);
}

static void without_gpu(void)
{
    const char *said = summary_of("run", "heavy", "DUOBLAS_PATH=auto", NULL);
    test_contains(said, "on an H100 these calls would take ");
    test_contains(said, "with the 0.28 s of opening it");
    test_contains(said, "DUOBLAS_PATH=gpu: no GPU can be used here");
    lacks(said, "too small");

    said = summary_of("run", "short", "DUOBLAS_PATH=auto", NULL);
    lacks(said, "too small"); /* test_tally.c compares its time with that of opening a GPU */

    said = summary_of("run", "small", "DUOBLAS_PATH=auto", NULL);
    test_contains(said, "no call would be faster on a GPU: all are too small");
    lacks(said, "on an H100");

    said = summary_of("run", "small", "DUOBLAS_PATH=cpu", NULL); /* that is not known */
    lacks(said, "too small");
}

static void gpu_unopened(void)
{
    const char *said = summary_of("sim", "short", "DUOBLAS_PATH=auto", NULL);
    test_contains(said, " less, if there is a GPU: it was not open yet, as that takes 0.28 s "
                        "(DUOBLAS_OPEN)\n");
    lacks(said, "on an H100");

    said = summary_of("sim", "short", "DUOBLAS_PATH=auto", "DUOBLAS_OPEN=first");
    test_contains(said, "DUOBLAS_PATH=gpu: the same, every call ran there");
    lacks(said, "if there is a GPU");
}

static void remembered(void)
{
    const char *said = summary_of("sim", "again", "DUOBLAS_PATH=gpu", NULL);
    test_contains(said, "not sent again, as they were the same: 4.2 MB; to see that, 4.2 MB were "
                        "read; about 0.000 s won");
    lacks(said, "came again");

    said = summary_of("sim", "again", "DUOBLAS_PATH=gpu", "DUOBLAS_REMEMBER=0");
    test_contains(said, "5.2 MB came again from the same addresses: DUOBLAS_REMEMBER=bytes");
    lacks(said, "not sent again");

    said = summary_of("sim", "rewritten", "DUOBLAS_PATH=gpu", "DUOBLAS_REMEMBER=0");
    test_contains(said, "5.2 MB came again"); /* B alone */

    said = summary_of("sim", "again", "DUOBLAS_PATH=gpu", "DUOBLAS_REMEMBER="); /* as not set */
    test_contains(said, "not sent again, as they were the same: 4.2 MB");
    lacks(said, "came again");
}

/* The program has no work. The summary gives no advice, and no reason why no call came. */
static void nothing_to_do(void)
{
    const char *said = summary_of("run", "nothing", "DUOBLAS_PATH=cpu", NULL);
    test_contains(said, "  sgemm           1          0          0       0.000 ");
    lacks(said, "DUOBLAS_PATH");
    lacks(said, "has loaded no BLAS");
}

static void not_wanted(void)
{
    const char *const said = summary_of("run", "small", "DUOBLAS_PATH=cpu", "SUMMARY_TO=");
    CHECK(*said == '\0', "it says \"%s\"", said);
}

/* A summary that cannot be written costs the program nothing: it ends as it would without. */
static void not_to_be_written(void)
{
    static const char *const ways[] = {"limit", "pending", "full", "pipe"};
    char file[500], to[520];
    test_folder_begin();
    snprintf(file, sizeof file, "%s/summary", test_folder());
    snprintf(to, sizeof to, "SUMMARY_TO=%s", file);
    for (int i = 0; i < 4; i++) {
        char task[30];
        snprintf(task, sizeof task, "hindered %s", ways[i]);
        const int made = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        CHECK(made >= 0 && ftruncate(made, LENGTH) == 0, "no file: %s", strerror(errno));
        (void)summary_of("run", task, "DUOBLAS_PATH=cpu", i < 2 ? to : NULL);
        CHECK(lseek(made, 0, SEEK_END) == LENGTH, "the file has another length");
        (void)close(made);
    }
    test_folder_end();
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"without_gpu", without_gpu},
        {"gpu_unopened", gpu_unopened},
        {"remembered", remembered},
        {"nothing_to_do", nothing_to_do},
        {"not_wanted", not_wanted},
        {"not_to_be_written", not_to_be_written},
        {NULL, NULL},
    };
    const char *const task = test_child_task(argc, argv);
    if (task != NULL && strncmp(task, "run ", 4) == 0) return run(task + 4, TEST_DROP_IN);
    if (task != NULL && strncmp(task, "sim ", 4) == 0) return run(task + 4, TEST_ON_SIM);
    if (task != NULL) return be_program(task);
    return test_main(argc, argv, "summary", tests);
}
