/*
 * test_blas_library.c - the inner BLAS: an instance of our own that nobody else in the process
 * sees, on one thread, with kernels for this CPU, and integers of 32 or 64 bits. The choice depends
 * on the environment and on the libraries that the process has opened before, so each case runs in
 * a child process.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpu/blas_kernels.h"
#include "cpu/blas_library.h"
#include "cpu/kernels.h"
#include "cpu/private_library.h"
#include "support/calls.h"
#include "support/child.h"
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

/* NAME=file, or NULL with a word that it is not there. */
static const char *set_to(const char *variable, const char *name)
{
    static char setting[300];
    const char *const path = installed(name);
    if (path == NULL) test_skip(name);
    if (path == NULL) return NULL;
    snprintf(setting, sizeof setting, "%s=%s", variable, path);
    return setting;
}

static const char *setting_of(const char *name) { return set_to("DUOBLAS_CPU_BLAS", name); }

static const char *const openblas_builds[] = {"openblas-openmp/libopenblas.so.0",
                                              "openblas-pthread/libopenblas.so.0"};
enum { OPENBLAS_BUILDS = sizeof openblas_builds / sizeof openblas_builds[0] };

/* ---- Products, of integers ---- */

/* Is this algorithm right, in all four orders of storage? */
static bool multiplies(int (*run)(const duo_call *), int64_t m, int64_t n, int64_t k)
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
        const duo_call call = test_sgemm_call(transa, transb, m, n, k, 1.0f, a, transa ? k : m, b,
                                              transb ? n : k, 0.0f, c, m);
        right = run(&call) == DUO_OK && right;
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
    return multiplies(duo_sgemm_cpu_openblas, 8, 8, 8) &&
           multiplies(duo_sgemm_cpu_openblas, 300, 200, 100) &&
           multiplies(duo_sgemm_cpu_openblas, 16, 12, 5000) &&
           multiplies(duo_sgemm_cpu_float64, 8, 8, 8) &&
           multiplies(duo_sgemm_cpu_float64, 300, 200, 100);
}

/* Threads of this process. */
static int threads_here(void)
{
    int count = 0;
    DIR *const folder = opendir("/proc/self/task");
    if (folder == NULL) return -1;
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) count += e->d_name[0] != '.';
    closedir(folder);
    return count;
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

/* The program opens the library first, sets its threads, and always finds this setting
 * afterwards. */
static int program_first(void)
{
    own_blas own;
    if (!open_own(getenv("DUOBLAS_CPU_BLAS"), &own)) return 1;
    own.set_threads(2);
    const int set = own.get_threads(), openmp = omp_get_max_threads();
    const bool right = all_sizes();
    printf("shared=%d threads=%d,%d openmp=%d,%d", is_ours(&own), set, own.get_threads(), openmp,
           omp_get_max_threads());
    return right ? 0 : 1;
}

/* The program opens the library after us, or without us, and has its usual number of threads. */
static int program_after(bool use_ours)
{
    own_blas own;
    const bool right = !use_ours || all_sizes();
    if (!open_own(getenv("DUOBLAS_CPU_BLAS"), &own)) return 1;
    printf("shared=%d threads=%d,0 openmp=0,0", use_ours && is_ours(&own), own.get_threads());
    return right && (!use_ours || all_sizes()) ? 0 : 1;
}

/* A program that asks for the library by name does not get ours. Ours is set to one thread and has
 * no others. */
static int unseen(void)
{
    const int before = threads_here();
    const duo_blas_library *const library = duo_blas_library_get();
    if (library == NULL) return 1;
    const bool right = all_sizes();
    void *const by_name = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
    void *const by_path = dlopen(library->path, RTLD_LAZY | RTLD_NOLOAD);
    void *const symbol = dlsym(RTLD_DEFAULT, "sgemm_");
    int (*set)(void);
    void *const get_threads = dlsym(library->handle, "openblas_get_num_threads");
    memcpy(&set, &get_threads, sizeof set);
    printf("by_name=%d by_path=%d symbol=%d set=%d threads=%d,%d", by_name != NULL, by_path != NULL,
           symbol != NULL, set(), before, threads_here());
    return right ? 0 : 1;
}

extern char **environ;

/* While the library is opened a variable of ours is in the environment; afterwards the environment
 * is as before. */
static int environment_kept(void)
{
    char **const before = environ;
    size_t count = 0;
    while (environ[count] != NULL) count++;
    char **const copy = malloc((count + 1) * sizeof *copy);
    if (copy == NULL) return 1;
    memcpy(copy, environ, (count + 1) * sizeof *copy);
    duo_blas_library library;
    char why[256];
    if (!duo_blas_library_open(getenv("TEST_BLAS"), "Prescott", &library, why, sizeof why))
        return 1;
    const bool told = strcasecmp(library.core, "Prescott") == 0;
    duo_blas_library_widen(&library);
    printf("told=%d same=%d", told,
           environ == before && memcmp(copy, environ, (count + 1) * sizeof *copy) == 0 &&
               getenv("OPENBLAS_CORETYPE") == NULL);
    free(copy);
    return 0;
}

/* A variable that is added while the library starts, as by another thread, is kept. */
static int environment_grows(void)
{
    const char *const told[] = {"TEST_TOLD=yes", NULL};
    char why[256];
    bool kept = true;
    for (int i = 0; i < 3 && kept; i++) { /* in arrays of the system's, and in its own */
        (void)unsetenv("TEST_ADDED");
        if (duo_private_library_open(TEST_ADDS_VARIABLE, RTLD_NOW, told, why, sizeof why) == NULL) {
            printf("%s", why);
            return 1;
        }
        const char *const added = getenv("TEST_ADDED");
        kept = added != NULL && strcmp(added, "told") == 0;
    }
    printf("kept=%d ours=%d others=%d", kept, getenv("TEST_TOLD") != NULL,
           getenv("TEST_BLAS") != NULL);
    return 0;
}

/* A library that has chosen kernels narrower than the CPU's vectors is given wider ones; not so if
 * OPENBLAS_CORETYPE asked for the narrow ones. */
static int widen(void)
{
    duo_blas_library library;
    char why[256];
    const bool chosen = getenv("OPENBLAS_CORETYPE") != NULL;
    if (!duo_blas_library_open(getenv("TEST_BLAS"), chosen ? NULL : "Prescott", &library, why,
                               sizeof why))
        return 1;
    const int narrow = (int)duo_width_of_kernels(library.core);
    duo_blas_library_widen(&library);
    printf("narrow=%d now=%d cpu=%d note=%s", narrow, (int)duo_width_of_kernels(library.core),
           (int)duo_width_of_cpu(), library.note);
    return 0;
}

/* The library in use, with its note; are products right? */
static int in_use(void)
{
    const duo_blas_library *const library = duo_blas_library_get();
    const char *const asked = getenv("DUOBLAS_CPU_BLAS");
    const bool right = library != NULL && all_sizes();
    printf("asked=%d right=%d note=%s", library != NULL && strcmp(library->path, asked) == 0, right,
           library != NULL ? library->note : duo_blas_library_why());
    return 0;
}

typedef struct multiplied {
    bool right;
    int threads; /* of the process, before GNU's threads for this one end */
} multiplied;

static void *multiply_here(void *result)
{
    multiplied *const m = result;
    m->right = all_sizes() && multiplies(duo_sgemm_cpu_openblas, 600, 600, 600);
    m->threads = threads_here();
    return NULL;
}

/* This program uses LLVM's OpenMP, the inner BLAS GNU's. Neither makes threads for our products,
 * also not where the calling thread is new to GNU's. */
static int with_libomp(void)
{
    if (dlsym(RTLD_DEFAULT, "__kmpc_global_thread_num") == NULL) {
        printf("libomp=0");
        return 0;
    }
    const int before = threads_here(), most = omp_get_max_threads();
    multiplied here = {false, 0}, there = {false, 0};
    pthread_t thread;
    multiply_here(&here);
    if (pthread_create(&thread, NULL, multiply_here, &there) != 0) return 1;
    pthread_join(thread, NULL);
    printf("libomp=1 threads=%d,%d,%d openmp=%d,%d", before, here.threads, there.threads - 1, most,
           omp_get_max_threads());
    return here.right && there.right ? 0 : 1;
}

/* Without room for the file in memory its kind is known all the same. */
static int looked_into(void)
{
    unsigned long pages = 0;
    FILE *const statm = fopen("/proc/self/statm", "re");
    if (statm == NULL || fscanf(statm, "%lu", &pages) != 1) return 2;
    (void)fclose(statm);
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (4 << 20);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) != 0) return 2;
    const char *const path = getenv("LOOKED_INTO");
    return duo_library_mentions(path, "openblas_get_config") &&
                   !duo_library_mentions(path, "no library has this text")
               ? 0
               : 1;
}

static int run_task(const char *task)
{
    static const struct {
        const char *name;
        int (*body)(void);
    } tasks[] = {
        {"first", program_first},
        {"unseen", unseen},
        {"kept", environment_kept},
        {"grows", environment_grows},
        {"widen", widen},
        {"in_use", in_use},
        {"with_libomp", with_libomp},
        {"looked_into", looked_into},
    };
    if (strcmp(task, "after") == 0) return program_after(true);
    if (strcmp(task, "alone") == 0) return program_after(false);
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
        int shared = -1, set = -1, now = -1, openmp = -1, openmp_now = -2;
        const char *const said = "shared=%d threads=%d,%d openmp=%d,%d";
        test_case("programs-own/first/%s", openblas_builds[i]);
        run_child("first", setting, "OMP_NUM_THREADS=3", &child);
        CHECK(sscanf(child.out, said, &shared, &set, &now, &openmp, &openmp_now) == 5, "%s",
              child.out);
        CHECK(shared == 0, "it is the program's instance");
        CHECK(set == 2 && now == 2, "%d threads, and %d after our calls", set, now);
        CHECK(openmp == openmp_now, "OpenMP: %d threads, and %d after our calls", openmp,
              openmp_now);

        int alone = -1;
        test_case("programs-own/after/%s", openblas_builds[i]);
        run_child("alone", setting, NULL, &child);
        CHECK(sscanf(child.out, said, &shared, &alone, &now, &openmp, &openmp_now) == 5, "%s",
              child.out);
        run_child("after", setting, NULL, &child);
        CHECK(sscanf(child.out, said, &shared, &set, &now, &openmp, &openmp_now) == 5, "%s",
              child.out);
        CHECK(shared == 0, "the program is given our instance");
        CHECK(set == alone, "%d threads, without us %d", set, alone);
    }
}

static void nobody_sees_it(void)
{
    for (int i = 0; i < OPENBLAS_BUILDS; i++) {
        const char *const setting = setting_of(openblas_builds[i]);
        if (setting == NULL) continue;
        test_case("nobody-sees-it/%s", openblas_builds[i]);
        test_child child;
        int by_name = -1, by_path = -1, symbol = -1, set = -1, before = -1, after = -1;
        run_child("unseen", setting, "OMP_NUM_THREADS=3", &child);
        CHECK(sscanf(child.out, "by_name=%d by_path=%d symbol=%d set=%d threads=%d,%d", &by_name,
                     &by_path, &symbol, &set, &before, &after) == 6,
              "%s", child.out);
        CHECK(by_name == 0, "dlopen by its name finds it");
        CHECK(by_path == 0, "dlopen by its path finds it");
        CHECK(symbol == 0, "its functions are the program's");
        CHECK(set == 1, "set to %d threads", set);
        CHECK(before == after, "%d threads, before %d", after, before);
    }
}

static void environment(void)
{
    for (int i = 0; i < OPENBLAS_BUILDS; i++) {
        const char *const setting = set_to("TEST_BLAS", openblas_builds[i]);
        if (setting == NULL) continue;
        test_child child;
        int told = -1, same = -1, kept = -1, ours = -1, others = -1;
        test_case("environment/kept/%s", openblas_builds[i]);
        run_child("kept", setting, "OPENBLAS_CORETYPE", &child);
        CHECK(sscanf(child.out, "told=%d same=%d", &told, &same) == 2, "%s", child.out);
        CHECK(told == 1, "it did not take the kernels that it was told to");
        CHECK(same == 1, "the environment has changed");
        test_case("environment/grows/%s", openblas_builds[i]);
        run_child("grows", setting, NULL, &child);
        CHECK(sscanf(child.out, "kept=%d ours=%d others=%d", &kept, &ours, &others) == 3, "%s",
              child.out);
        CHECK(kept == 1, "a variable that was added is lost");
        CHECK(ours == 0, "our variable stays");
        CHECK(others == 1, "the program's are lost");
    }
}

static void kernels(void)
{
    for (int i = 0; i < OPENBLAS_BUILDS; i++) {
        const char *const setting = set_to("TEST_BLAS", openblas_builds[i]);
        if (setting == NULL) continue;
        test_child child;
        int narrow = -1, now = -1, cpu = -1;
        const char *const said = "narrow=%d now=%d cpu=%d";
        test_case("kernels/widened/%s", openblas_builds[i]);
        run_child("widen", setting, "OPENBLAS_CORETYPE", &child);
        CHECK(sscanf(child.out, said, &narrow, &now, &cpu) == 3, "%s", child.out);
        if (cpu <= DUO_SSE) {
            test_skip("no CPU with AVX");
            return;
        }
        CHECK(narrow == DUO_SSE, "width %d was asked for", narrow);
        CHECK(now >= cpu, "kernels of width %d, and the CPU has %d", now, cpu);
        CHECK(strstr(child.out, "it was told to take") != NULL, "%s", child.out);
        test_case("kernels/chosen/%s", openblas_builds[i]);
        run_child("widen", setting, "OPENBLAS_CORETYPE=Prescott", &child);
        CHECK(sscanf(child.out, said, &narrow, &now, &cpu) == 3, "%s", child.out);
        CHECK(narrow == DUO_SSE && now == DUO_SSE, "widths %d and %d, chosen was %d", narrow, now,
              DUO_SSE);
        CHECK(strstr(child.out, "WARNING") != NULL &&
                  strstr(child.out, "OPENBLAS_CORETYPE") != NULL,
              "%s", child.out);
    }
}

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
        int asked = -1, right = -1;
        test_case("asked-for/%s", names[i]);
        run_child("in_use", setting, NULL, &child);
        CHECK(sscanf(child.out, "asked=%d right=%d", &asked, &right) == 2, "%s", child.out);
        /* A library that calls another one is replaced by the other. */
        CHECK(asked == 1 || strstr(names[i], "/libblas") != NULL, "another one serves");
        CHECK(right == 1, "wrong products");
        CHECK(strstr(child.out, "is ignored") == NULL, "%s", child.out);
    }
    static const char *const wheels[] = {TEST_WHEELS_BLAS, TEST_WHEELS_BLAS_64};
    for (size_t i = 0; i < sizeof wheels / sizeof wheels[0]; i++) {
        char setting[600];
        snprintf(setting, sizeof setting, "DUOBLAS_CPU_BLAS=%s", wheels[i]);
        test_case("asked-for/wheels/%zu", i);
        run_child("in_use", setting, NULL, &child);
        CHECK(strcmp(child.out, "asked=1 right=1 note=") == 0, "%s", child.out);
    }
    static const char *const bad[] = {"DUOBLAS_CPU_BLAS=/no/such/library.so",
                                      "DUOBLAS_CPU_BLAS=/etc/hostname",
                                      "DUOBLAS_CPU_BLAS=libm.so.6"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        test_case("asked-for/%s", bad[i]);
        run_child("in_use", bad[i], NULL, &child);
        CHECK(strstr(child.out, "asked=0 right=1 note=WARNING: DUOBLAS_CPU_BLAS is ignored") !=
                  NULL,
              "%s", child.out);
    }
}

static void little_room(void)
{
    test_child child;
    if (UNDER_SANITIZER) { /* their shadow is larger than any limit */
        test_skip("no limit of address space");
        return;
    }
    for (int i = 0; i < OPENBLAS_BUILDS; i++) {
        const char *const setting = set_to("LOOKED_INTO", openblas_builds[i]);
        if (setting == NULL) continue;
        test_case("little-room/%s", openblas_builds[i]);
        run_child("looked_into", setting, NULL, &child);
    }
}

/* A FIFO that nobody writes to, and a file that seems to have 1 TB. */
static void endless_files(void)
{
    char folder[] = "/tmp/duoblas-test-XXXXXX", fifo[64], sparse[64];
    test_child child;
    if (mkdtemp(folder) == NULL) abort();
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    snprintf(sparse, sizeof sparse, "%s/sparse.so", folder);
    const int file = open(sparse, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (mkfifo(fifo, 0600) != 0 || file < 0) abort();
    const bool huge = ftruncate(file, (off_t)1 << 40) == 0;
    close(file);
    const char *const files[] = {fifo, sparse};
    for (int i = 0; i < (huge ? 2 : 1); i++) {
        char setting[96];
        snprintf(setting, sizeof setting, "DUOBLAS_CPU_BLAS=%s", files[i]);
        test_case("asked-for/%s", i == 0 ? "fifo" : "sparse");
        run_child("in_use", setting, NULL, &child);
        CHECK(strstr(child.out, "asked=0 right=1 note=WARNING: DUOBLAS_CPU_BLAS is ignored") !=
                  NULL,
              "%s", child.out);
    }
    (void)unlink(fifo);
    (void)unlink(sparse);
    (void)rmdir(folder);
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
        test_case("other-openmp/%s", openblas_builds[i]);
        test_child child;
        int libomp = -1, before = -1, here = -1, there = -1, openmp = -1, openmp_now = -1;
        test_child_run("with_libomp",
                       (const char *const[]){setting, "LD_PRELOAD=libomp.so.5", "OMP_NUM_THREADS=4",
                                             "OPENBLAS_NUM_THREADS", NULL},
                       60, &child);
        CHECK(child.exit_status == 0, "exit %d, said \"%.200s\" \"%.300s\"", child.exit_status,
              child.out, child.err);
        const int read = sscanf(child.out, "libomp=%d threads=%d,%d,%d openmp=%d,%d", &libomp,
                                &before, &here, &there, &openmp, &openmp_now);
        if (libomp == 0) {
            test_skip("no libomp.so.5");
            return;
        }
        CHECK(read == 6 && openmp == 4 && openmp_now == 4, "%s", child.out);
        CHECK(here == before && there == before, "%d and %d threads, before %d", here, there,
              before);
    }
}

static const test_entry tests[] = {
    {"programs_own", programs_own},
    {"nobody_sees_it", nobody_sees_it},
    {"environment", environment},
    {"kernels", kernels},
    {"asked_for", asked_for},
    {"endless_files", endless_files},
    {"little_room", little_room},
    {"other_openmp", other_openmp},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL) return run_task(task);
    return test_main(argc, argv, "blas_library", tests);
}
