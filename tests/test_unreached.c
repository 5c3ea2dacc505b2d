/*
 * test_unreached.c - the words of a summary about calls that did not come: the test program runs
 * itself as `duoblas run` would, with plug-ins that call a useless BLAS.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/child.h"
#include "support/folder.h"
#include "support/harness.h"

enum { MANY = 10, ROOM = 256 }; /* libraries; children whose counts are kept */

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

/* Workers that end by _exit after some calls each. */
static int be_parent(int workers, int calls)
{
    for (int i = 0; i < workers; i++) fork_a_worker(calls, false);
    return call_plug(TEST_PLUG, 0) == 6.0 ? 0 : 1;
}

/* Calls are counted also after the drop-in was undone where it was never installed. */
static int uninstall(void)
{
    void (*uninstalled)(void);
    void *const address = dlsym(RTLD_DEFAULT, "duo_blas_uninstall");
    if (address == NULL) return 1;
    memcpy(&uninstalled, &address, sizeof uninstalled);
    uninstalled();
    return call_plug(TEST_PLUG, 0) == 6.0 ? 0 : 1;
}

/* Two libraries of each kind. */
static int open_twice(void)
{
    static const char *const files[] = {TEST_PLUG, TEST_PLUG_DOUBLE};
    if (call_plug(TEST_PLUG_ODD, 0) < 0.0) return 1; /* it calls DuoBLAS, as this program does */
    for (int i = 0; i < 2; i++)
        if (call_plug(files[i], 0) < 0.0 ||
            call_plug(getenv(i == 0 ? "TWIN_0" : "TWIN_1"), 0) < 0.0)
            return 1;
    return 0;
}

/* Libraries with an sgemm that is not served, in files numbered from 0. */
static int open_many(void)
{
    char path[500];
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "%s/many%d.so", getenv("MANY_IN"), i);
        if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL) return 1;
    }
    return 0;
}

/* As the summary will tell of. */
static int be_program(const char *task)
{
    float sum = 0.0f;
    if (strcmp(task, "itself") == 0)
        return duo_sasum(NULL, 1, &(const float){3.0f}, 1, &sum) == DUO_OK && sum == 3.0f ? 0 : 1;
    if (strcmp(task, "linked") == 0) return 0;
    if (strcmp(task, "beside") == 0) return call_plug(TEST_PLUG, 0) == 6.0 ? 0 : 1;
    if (strcmp(task, "wide") == 0) return call_plug(TEST_PLUG, 0) == 0.0 ? 0 : 1;
    if (strcmp(task, "workers") == 0) return be_parent(2, 1);
    if (strcmp(task, "crowd") == 0) return be_parent(ROOM + 2, 0);
    if (strcmp(task, "uninstalled") == 0) return uninstall();
    if (strcmp(task, "twice") == 0) return open_twice();
    if (strcmp(task, "libraries") == 0) return open_many();
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
    char more[2000];
    if (getenv("BESIDE") != NULL) {
        snprintf(more, sizeof more, "%s:%s", TEST_DROP_IN, getenv("BESIDE"));
        preloaded = more;
    }
    if (strcmp(task, "late") == 0) preloaded = TEST_OWN_BLAS ":" TEST_DROP_IN;
    if (strcmp(task, "linked") == 0) preloaded = TEST_DROP_IN ":" TEST_PLUG_LINKED;
    if (setenv("LD_PRELOAD", preloaded, 1) != 0) return 1;
    execv("/proc/self/exe", arguments);
    return 1;
}

/* ---- The test ---- */

static const char *summary_with(const char *task, const char *setting, const char *another)
{
    static test_child child;
    char whole[32];
    test_case("unreached/%s", task);
    snprintf(whole, sizeof whole, "run %s", task);
    test_child_run(whole, (const char *const[]){"DUOBLAS_PATH=cpu", setting, another, NULL}, 60,
                   &child);
    CHECK(child.exit_status == 0, "exit status %d, \"%s\"", child.exit_status, child.err);
    return child.err;
}

static const char *summary_of(const char *task) { return summary_with(task, NULL, NULL); }

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

static void counted_children(void)
{
    const char *said = summary_of("workers");
    test_contains(said, "what 2 forked children of process");
    test_contains(said, "  sgemm           2          2");
    lacks(said, "are not counted");

    said = summary_of("crowd");
    test_contains(said, "it forked 2 times: children that ended by _exit");
    lacks(said, "forked child");

    said = summary_of("uninstalled");
    test_contains(said, "  sgemm           1          1");
}

/* ---- Libraries under other names ---- */

/* In the test's folder; returns its path. */
static const char *copy(const char *file, const char *name)
{
    static char path[2][500];
    static int last;
    char bytes[4096];
    ssize_t got;
    bool good = true;
    last = 1 - last;
    snprintf(path[last], sizeof path[last], "%s/%s", test_folder(), name);
    const int from = open(file, O_RDONLY | O_CLOEXEC);
    const int to = open(path[last], O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    while ((got = read(from, bytes, sizeof bytes)) > 0)
        good = good && write(to, bytes, (size_t)got) == got;
    CHECK(good && got == 0, "%s was not copied", file);
    (void)close(from);
    (void)close(to);
    return path[last];
}

static void several_of_a_kind(void)
{
    char one[520], two[520];
    test_folder_begin();
    snprintf(one, sizeof one, "TWIN_0=%s", copy(TEST_PLUG, "another.so"));
    snprintf(two, sizeof two, "TWIN_1=%s", copy(TEST_PLUG_DOUBLE, "libmkl_twin.so"));
    const char *said = summary_with("twice", one, two);
    test_contains(said, "  sgemm           3          3");
    test_contains(said, "  plug_double.so asks for dgemm_");
    test_contains(said, "  libmkl_twin.so has MKL, which calls its own sgemm\n");
    test_contains(said, "  exe calls DuoBLAS itself (duo_sasum)");
    lacks(said, "another");
    lacks(said, "plug_odd.so calls");

    snprintf(one, sizeof one, "MANY_IN=%s", test_folder());
    for (int i = 0; i < MANY; i++) {
        char name[20];
        snprintf(name, sizeof name, "many%d.so", i);
        (void)copy(TEST_HANDLERS, name);
    }
    said = summary_with("libraries", one, NULL);
    for (int i = 0; i < 8; i++) {
        char line[80];
        snprintf(line, sizeof line, "  many%d.so has handlers_sgemm, a name that is not served", i);
        test_contains(said, line);
    }
    lacks(said, "many8"); /* enough is enough */
    test_folder_end();
}

/* A BLAS with 64-bit integers under plain names serves itself, unless one with 32 bits is there. */
static void wide_libraries(void)
{
    static const struct {
        const char *wide, *narrow;
        bool serves;
        const char *file;
    } cases[] = {
        {"libblas64.so.3", NULL, true, TEST_OWN_BLAS},
        {"libopenblas64.so.0", NULL, true, TEST_OWN_BLAS},
        {"libblas64.so.3", "libblas.so.3", false, TEST_OWN_BLAS},
        {"libblas64.so.3", "libcblas.so.3", false, TEST_OWN_BLAS},
        {"libblas64.so.3", "libopenblas.so.0", false, TEST_OWN_BLAS},
        {"libopenblas64_.so.0", NULL, false, TEST_HANDLERS}, /* without sgemm_ */
    };
    test_folder_begin();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char beside[1100];
        const char *const wide = copy(cases[i].file, cases[i].wide);
        const char *const narrow =
            cases[i].narrow != NULL ? copy(TEST_OWN_BLAS, cases[i].narrow) : wide;
        snprintf(beside, sizeof beside, "BESIDE=%s:%s", wide, narrow);
        const char *const said = summary_with(cases[i].serves ? "wide" : "beside", beside, NULL);
        test_case("unreached/%s and %s", cases[i].wide, cases[i].narrow);
        if (cases[i].serves)
            test_contains(said, "has 64-bit integers under the same names: it serves itself");
        else
            lacks(said, "64-bit");
    }
    test_folder_end();
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"reasons", reasons},
        {"counted_children", counted_children},
        {"several_of_a_kind", several_of_a_kind},
        {"wide_libraries", wide_libraries},
        {NULL, NULL},
    };
    const char *const task = test_child_task(argc, argv);
    if (task != NULL && strncmp(task, "run ", 4) == 0) return run(argv[2] + 4);
    if (task != NULL) return be_program(task);
    return test_main(argc, argv, "unreached", tests);
}
