/*
 * test_blas_library.c - the inner BLAS: which library it is, that it is called only with as many
 * threads as a call may use, that its settings stay as the program has made them, and libraries of
 * the program. The choice depends on the environment and on the libraries that the process has
 * opened before, so each case runs in a child process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpu/blas_library.h"
#include "cpu/kernels.h"
#include "support/calls.h"
#include "support/child.h"
#include "support/folder.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/sanitizers.h"

/* ---- What is installed ---- */

/* The file in one of Debian's folders, or NULL. */
static const char *installed(const char *name)
{
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu"};
    static char path[256];
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        if (access(path, R_OK) == 0) return path;
    }
    return NULL;
}

/* DUOBLAS_CPU_BLAS=file, or NULL with a word that it is not there. */
static const char *setting_of(const char *name)
{
    static char setting[300];
    const char *const path = installed(name);
    if (path == NULL) test_skip(name);
    if (path == NULL) return NULL;
    snprintf(setting, sizeof setting, "DUOBLAS_CPU_BLAS=%s", path);
    return setting;
}

static const char *const openblas_builds[] = {"openblas-openmp/libopenblas.so.0",
                                              "openblas-pthread/libopenblas.so.0",
                                              "openblas64-openmp/libopenblas64.so.0"};
enum { OPENBLAS_BUILDS = sizeof openblas_builds / sizeof openblas_builds[0] };

/* ---- Products, of integers ---- */

enum { THREADS = 64 }; /* that a call may use: more than any library has here */

/* Is sgemm_cpu_openblas right, in all four orders of storage? */
static bool multiplies(int64_t m, int64_t n, int64_t k)
{
    float *const a = malloc((size_t)(m * k) * sizeof *a),
                 *const b = malloc((size_t)(k * n) * sizeof *b),
                 *const c = malloc((size_t)(m * n) * sizeof *c);
    if (a == NULL || b == NULL || c == NULL) abort();
    for (int64_t i = 0; i < m * k; i++) a[i] = (float)(i * 7 % 11 - 5);
    for (int64_t i = 0; i < k * n; i++) b[i] = (float)(i * 5 % 13 - 6);
    bool right = true;
    for (int order = 0; order < 4; order++) {
        const bool transa = order % 2 != 0, transb = order >= 2;
        for (int64_t i = 0; i < m * n; i++) c[i] = test_poison();
        duo_call call = test_sgemm_call(transa, transb, m, n, k, 1.0f, a, transa ? k : m, b,
                                        transb ? n : k, 0.0f, c, m);
        call.threads = THREADS;
        right = duo_sgemm_cpu_openblas(&call) == DUO_OK && right;
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                float sum = 0.0f;
                for (int64_t p = 0; p < k; p++)
                    sum += a[transa ? p + i * k : i + p * m] * b[transb ? j + p * n : p + j * k];
                right = c[i + j * m] == sum && right;
            }
    }
    free(a);
    free(b);
    free(c);
    return right;
}

static bool all_sizes(void)
{
    return multiplies(8, 8, 8) && multiplies(300, 200, 100) && multiplies(16, 12, 5000);
}

/* ---- In children ---- */

/* The library that the program itself has opened under this name. */
typedef struct own_blas {
    void *sgemm;
    int (*get_threads)(void);
    void (*set_threads)(int);
} own_blas;

static bool open_own(const char *name, own_blas *own)
{
    void *const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return false;
    own->sgemm = dlsym(handle, "sgemm_");
    void *const get = dlsym(handle, "openblas_get_num_threads"), *const set = dlsym(
                                                                     handle,
                                                                     "openblas_set_num_threads");
    memcpy(&own->get_threads, &get, sizeof get);
    memcpy(&own->set_threads, &set, sizeof set);
    return own->sgemm != NULL && get != NULL && set != NULL;
}

static bool is_ours(const own_blas *own)
{
    const duo_blas_library *const library = duo_blas_library_get();
    return library != NULL && memcmp(&library->sgemm, &own->sgemm, sizeof own->sgemm) == 0;
}

/* The program sets the number of threads, before our calls or between them, and always finds this
 * setting afterwards. */
static int programs_settings(void)
{
    own_blas own;
    if (!open_own(getenv("DUOBLAS_CPU_BLAS"), &own)) return 1;
    const int openmp = omp_get_max_threads();
    bool right = true, kept = true;
    for (int threads = 1; threads <= 2; threads++) {
        own.set_threads(threads);
        const int set = omp_get_max_threads();
        right = right && all_sizes();
        kept = kept && own.get_threads() == threads && omp_get_max_threads() == set;
        omp_set_num_threads(openmp);
    }
    printf("shared=%d right=%d kept=%d", is_ours(&own), right, kept);
    return 0;
}

/* Calls that may use fewer threads than the library has are declined, and nothing is written; also
 * if OpenMP's number for the thread is another than the library's. */
static int fewer_threads(void)
{
    enum { EDGE = 64 };
    static float a[EDGE * EDGE], c[EDGE * EDGE];
    own_blas own;
    if (!open_own(getenv("DUOBLAS_CPU_BLAS"), &own)) return 1;
    own.set_threads(2);
    const duo_blas_library *const library = duo_blas_library_get();
    if (library == NULL) return 1;
    c[0] = 77.0f;
    duo_call call =
        test_sgemm_call(false, false, EDGE, EDGE, EDGE, 1.0f, a, EDGE, a, EDGE, 0.0f, c, EDGE);
    printf("threads=%d", duo_blas_library_threads(library));
    for (call.threads = 1; call.threads <= 2; call.threads++) {
        const int outcome = duo_sgemm_cpu_openblas(&call);
        printf(" %s", outcome == DUO_OK ? "ok" : "declined");
        if (call.threads == 1 && c[0] != 77.0f) return 1;
    }
    if (library->openmp_threads == NULL) return 0;
    void (*set)(int);
    if (!duo_blas_function(library->handle, "omp_set_num_threads", &set)) return 1;
    set(3);
    const bool declines = duo_blas_library_threads(library) == INT_MAX;
    set(1);
    printf(" other=%d one=%d library=%d", declines, duo_blas_library_threads(library),
           own.get_threads());
    return 0;
}

/* The library in use; are products right? */
static int in_use(void)
{
    const duo_blas_library *const library = duo_blas_library_get();
    const char *const warning = duo_blas_library_warning();
    printf("right=%d name=%s path=%s warning=%s", library != NULL && all_sizes(),
           library != NULL ? library->name : "none", library != NULL ? library->path : "none",
           warning != NULL ? warning : "none");
    return 0;
}

/* This program uses LLVM's OpenMP. The inner BLAS uses GNU's: GNU's number of threads counts. */
static int with_libomp(void)
{
    if (dlsym(RTLD_DEFAULT, "__kmpc_global_thread_num") == NULL) {
        printf("libomp=0");
        return 0;
    }
    omp_set_num_threads(1);
    const duo_blas_library *const library = duo_blas_library_get();
    if (library == NULL || library->openmp_threads == NULL) return 1;
    printf("libomp=1 threads=%d right=%d openmp=%d", duo_blas_library_threads(library), all_sizes(),
           omp_get_max_threads());
    return 0;
}

/* A library of the program: known by its function, once, and never one that is ours. */
static int of_program(void)
{
    own_blas own;
    duo_fortran_sgemm sgemm, drop_in;
    if (!open_own(getenv("TEST_BLAS"), &own)) return 1;
    memcpy(&sgemm, &own.sgemm, sizeof sgemm);
    void *const ours = (void *)(uintptr_t)&duo_blas_library_of;
    memcpy(&drop_in, &ours, sizeof drop_in);
    const duo_blas_library *const library = duo_blas_library_of(sgemm);
    if (library == NULL) return 1;
    printf("name=%s same=%d threads=%d ours=%d none=%d looked=%d", library->name,
           duo_blas_library_of(sgemm) == library && library->sgemm == sgemm,
           duo_blas_library_threads(library) == own.get_threads(),
           duo_blas_library_of(drop_in) != NULL, duo_blas_library_of(NULL) != NULL,
           duo_blas_library_looked());
    return 0;
}

/* A call uses no more threads than were set, and no more than the program lets its BLAS use. */
static int limits(void)
{
    enum { EDGE = 700 };
    static const int theirs[] = {1, 1, 2, 3};
    static float a[EDGE * EDGE], c[EDGE * EDGE];
    own_blas own;
    void (*sgemm)(void);
    if (!open_own(getenv("TEST_BLAS"), &own) || duo_set_threads(NULL, 2) != DUO_OK ||
        duo_set_math(NULL, DUO_MATH_IEEE) != DUO_OK) /* by no other library */
        return 1;
    memcpy(&sgemm, &own.sgemm, sizeof sgemm);
    for (int set = 0; set < 4; set++) {
        duo_decision d = {.size = sizeof d};
        own.set_threads(theirs[set]);
        if (set == 1 && duo_set_cpu_sgemm(NULL, sgemm) != DUO_OK) return 1;
        const duo_status status = duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE,
                                            EDGE, EDGE, 1.0f, a, EDGE, a, EDGE, 0.0f, c, EDGE);
        if (status != DUO_OK || duo_explain_last(NULL, &d) != DUO_OK) return 1;
        printf("%d ", d.threads);
    }
    return 0;
}

static int run_task(const char *task)
{
    static const struct {
        const char *name;
        int (*body)(void);
    } tasks[] = {
        {"settings", programs_settings}, {"fewer", fewer_threads},   {"in_use", in_use},
        {"with_libomp", with_libomp},    {"of_program", of_program}, {"limits", limits},
    };
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        if (strcmp(tasks[i].name, task) == 0) return tasks[i].body();
    return 2;
}

/* ---- The tests ---- */

/* Runs a task with these settings; its exit status has to be 0. */
static void run_child(const char *task, const char *one, const char *two, test_child *child)
{
    test_child_run(task, (const char *const[]){one, two, NULL}, 60, child);
    CHECK(child->exit_status == 0, "exit %d, said \"%.200s\" \"%.300s\"", child->exit_status,
          child->out, child->err);
}

/* The program's own use of the same file. */
static void programs_own(void)
{
    for (int i = 0; i < OPENBLAS_BUILDS; i++) {
        const char *const setting = setting_of(openblas_builds[i]);
        if (setting == NULL) continue;
        test_child child;
        test_case("programs-own/settings/%s", openblas_builds[i]);
        run_child("settings", setting, "OMP_NUM_THREADS=2", &child);
        CHECK(strcmp(child.out, "shared=1 right=1 kept=1") == 0, "%s", child.out);
        test_case("programs-own/fewer/%s", openblas_builds[i]);
        run_child("fewer", setting, "OMP_NUM_THREADS=2", &child);
        const char *const first = "threads=2 declined ok", *const openmp =
                                                               " other=1 one=1 library=2";
        CHECK(strncmp(child.out, first, strlen(first)) == 0, "%s", child.out);
        CHECK(strcmp(child.out + strlen(first), openmp) == 0 || child.out[strlen(first)] == '\0',
              "%s", child.out);
        CHECK((strstr(openblas_builds[i], "openmp") != NULL) == (strstr(child.out, openmp) != NULL),
              "%s", child.out);
        char program[300];
        snprintf(program, sizeof program, "TEST_BLAS=%s", strchr(setting, '=') + 1);
        test_case("programs-own/of-program/%s", openblas_builds[i]);
        run_child("of_program", program, NULL, &child);
        CHECK(strncmp(child.out, "name=OpenBLAS ", 14) == 0, "%s", child.out);
        CHECK(strstr(child.out, " same=1 threads=1 ours=0 none=0 looked=0") != NULL, "%s",
              child.out);
        test_case("programs-own/limits/%s", openblas_builds[i]);
        run_child("limits", program, "DUOBLAS_PATH=cpu", &child);
        CHECK(strcmp(child.out, "2 1 2 2 ") == 0, "%s", child.out);
    }
}

static const char ignored[] =
    "right=0 name=none path=none warning=WARNING: DUOBLAS_CPU_BLAS is ignored: ";

static void asked_for(void)
{
    static const char *const names[] = {
        "openblas-openmp/libopenblas.so.0",
        "openblas-pthread/libopenblas.so.0",
        "openblas-openmp/libblas.so.3",
        "openblas-pthread/libblas.so.3",
        "blas/libblas.so.3",
        "blas64/libblas64.so.3",
        "openblas64-openmp/libopenblas64.so.0",
        "openblas64-pthread/libopenblas64.so.0",
        "openblas64-openmp/libblas64.so.3",
    };
    test_child child;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *const setting = setting_of(names[i]);
        if (setting == NULL) continue;
        char path[300];
        snprintf(path, sizeof path, " path=%s warning=none", strchr(setting, '=') + 1);
        test_case("asked-for/%s", names[i]);
        run_child("in_use", setting, NULL, &child);
        CHECK(strncmp(child.out, "right=1 ", 8) == 0, "wrong products: %s", child.out);
        CHECK(strstr(child.out, path) != NULL, "another one serves: %s", child.out);
    }
    static const char *const wheels[] = {TEST_WHEELS_BLAS, TEST_WHEELS_BLAS_64};
    for (size_t i = 0; i < sizeof wheels / sizeof wheels[0]; i++) {
        char setting[600];
        snprintf(setting, sizeof setting, "DUOBLAS_CPU_BLAS=%s", wheels[i]);
        test_case("asked-for/wheels/%zu", i);
        run_child("in_use", setting, NULL, &child);
        CHECK(strncmp(child.out, "right=1 name=", 13) == 0, "%s", child.out);
        CHECK(strstr(child.out, wheels[i]) != NULL, "%s", child.out);
    }
    static const char *const bad[] = {"DUOBLAS_CPU_BLAS=/no/such/library.so",
                                      "DUOBLAS_CPU_BLAS=/etc/hostname",
                                      "DUOBLAS_CPU_BLAS=libm.so.6"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        test_case("asked-for/%s", bad[i]);
        run_child("in_use", bad[i], NULL, &child);
        CHECK(strncmp(child.out, ignored, strlen(ignored)) == 0, "%s", child.out);
    }
}

/* A FIFO that nobody writes to. */
static void endless_file(void)
{
    char fifo[1024], setting[1100];
    test_child child;
    test_folder_begin();
    snprintf(fifo, sizeof fifo, "%s/fifo", test_folder());
    if (mkfifo(fifo, 0600) != 0) abort();
    snprintf(setting, sizeof setting, "DUOBLAS_CPU_BLAS=%s", fifo);
    test_case("asked-for/fifo");
    run_child("in_use", setting, NULL, &child);
    CHECK(strncmp(child.out, ignored, strlen(ignored)) == 0, "%s", child.out);
    test_folder_end();
}

static void other_openmp(void)
{
    if (UNDER_SANITIZER) {
        test_skip("a sanitizer has to come first");
        return;
    }
    for (int i = 0; i < OPENBLAS_BUILDS; i++) {
        const char *const setting = setting_of(openblas_builds[i]);
        if (setting == NULL) continue;
        if (strstr(openblas_builds[i], "openmp") == NULL) continue;
        test_case("other-openmp/%s", openblas_builds[i]);
        test_child child;
        test_child_run("with_libomp",
                       (const char *const[]){setting, "LD_PRELOAD=libomp.so.5", "OMP_NUM_THREADS=2",
                                             "OPENBLAS_NUM_THREADS", NULL},
                       60, &child);
        CHECK(child.exit_status == 0, "exit %d, said \"%.200s\" \"%.300s\"", child.exit_status,
              child.out, child.err);
        if (strcmp(child.out, "libomp=0") == 0) {
            test_skip("no libomp.so.5");
            return;
        }
        CHECK(strcmp(child.out, "libomp=1 threads=2 right=1 openmp=1") == 0, "%s", child.out);
    }
}

static const test_entry tests[] = {
    {"programs_own", programs_own},
    {"asked_for", asked_for},
    {"endless_file", endless_file},
    {"other_openmp", other_openmp},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL) return run_task(task);
    return test_main(argc, argv, "blas_library", tests);
}
