/*
 * test_blas_install.c - the drop-in is opened and installed in a program that runs already:
 * plug-ins call their own, useless BLAS before and afterwards.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blas/install.h"
#include "support/failing_memory.h"
#include "support/folder.h"
#include "support/harness.h"

typedef double plug_function(double, double);

typedef struct drop_in_functions {
    int (*install)(int);
    void (*uninstall)(void);
    const char *(*served)(int);
    int (*counted)(int, duo_blas_calls *);
    size_t (*summary)(char *, size_t);
} drop_in_functions;

static drop_in_functions drop_in;

static void *find(void *handle, const char *name)
{
    void *const address = handle != NULL ? dlsym(handle, name) : NULL;
    if (address == NULL) {
        fprintf(stderr, "test_blas_install: %s: %s\n", name, dlerror());
        exit(1);
    }
    return address;
}

static drop_in_functions open_drop_in(const char *file)
{
    drop_in_functions functions;
    void *const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    void *const at[] = {find(handle, "duo_blas_install"), find(handle, "duo_blas_uninstall"),
                        find(handle, "duo_blas_served"), find(handle, "duo_blas_counted"),
                        find(handle, "duo_blas_summary")};
    memcpy(&functions, at, sizeof at);
    return functions;
}

/* A plug-in's product: 6 for 2 and 3 by the drop-in, 0 by its own BLAS. */
static plug_function *plug_of(const char *file)
{
    plug_function *plug;
    void *const address = find(dlopen(file, RTLD_NOW | RTLD_LOCAL), "plug");
    memcpy(&plug, &address, sizeof plug);
    return plug;
}

static int64_t sgemm_calls(void)
{
    duo_blas_calls calls;
    CHECK(drop_in.counted(0, &calls) == 1 && strcmp(calls.operation, "sgemm") == 0, "sgemm");
    return calls.on_cpu + calls.on_gpu;
}

static bool is_served(const char *file)
{
    const char *path;
    for (int i = 0; (path = drop_in.served(i)) != NULL; i++)
        if (strstr(path, file) != NULL) return true;
    return false;
}

/* Bound when it is loaded, in memory that the loader then seals; or at its first call. */
static void both_kinds(void)
{
    const char *const files[] = {TEST_PLUG, TEST_PLUG_LAZY};
    for (int f = 0; f < 2; f++) {
        test_case("blas_install/%s", strrchr(files[f], '/') + 1);
        plug_function *const plug = plug_of(files[f]);
        CHECK(!is_served(files[f]), "before");
        for (int again = 0; again < 2; again++) {
            CHECK(again == 1 || f == 1 || plug(2.0, 3.0) == 0.0, "%g before", plug(2.0, 3.0));
            const int64_t before = sgemm_calls();
            CHECK(drop_in.install(1) > f, "no object leads there");
            CHECK(drop_in.install(1) > f, "the second time none does");
            CHECK(is_served(files[f]), "it is not said to lead there");
            CHECK(plug(2.0, 3.0) == 6.0, "%g with it", plug(2.0, 3.0));
            CHECK(sgemm_calls() > before, "no call was counted");
            drop_in.uninstall();
            CHECK(!is_served(files[f]), "afterwards it is said to lead there");
            CHECK(plug(2.0, 3.0) == 0.0, "%g afterwards", plug(2.0, 3.0));
            const int64_t after = sgemm_calls();
            (void)plug(2.0, 3.0);
            CHECK(sgemm_calls() == after, "a call was counted");
        }
    }
}

static void not_counted(void)
{
    test_case("blas_install/not counted");
    plug_function *const plug = plug_of(TEST_PLUG);
    const int64_t before = sgemm_calls();
    CHECK(drop_in.install(0) > 0, "no object leads there");
    CHECK(plug(2.0, 3.0) == 6.0, "%g", plug(2.0, 3.0));
    CHECK(sgemm_calls() == before, "a call was counted");
    drop_in.uninstall();
}

/* What it says, whole and cut off. */
static void told(void)
{
    char text[4096], start[16];
    duo_blas_calls calls;
    test_case("blas_install/told");
    CHECK(drop_in.install(1) > 0, "no object leads there");
    (void)plug_of(TEST_PLUG)(2.0, 3.0);
    const size_t length = drop_in.summary(text, sizeof text);
    CHECK(length == strlen(text), "%zu characters", length);
    test_contains(text, "what process");
    test_contains(text, "  sgemm ");
    CHECK(drop_in.summary(start, sizeof start) == length, "cut off it has another length");
    CHECK(strlen(start) == sizeof start - 1 && strncmp(start, text, strlen(start)) == 0, "%s",
          start);
    CHECK(drop_in.summary(NULL, 0) == length, "without room it has another length");
    CHECK(drop_in.counted(-1, &calls) == 0 && drop_in.counted(4, &calls) == 0, "four operations");
    CHECK(drop_in.served(-1) == NULL, "object -1");
    drop_in.uninstall();
}

/* A child has it installed, and counts its own calls. */
static void in_a_child(void)
{
    int status;
    test_case("blas_install/fork");
    plug_function *const plug = plug_of(TEST_PLUG);
    CHECK(drop_in.install(1) > 0, "no object leads there");
    (void)plug(2.0, 3.0);
    const pid_t child = fork();
    if (child == 0) {
        const bool good = plug(2.0, 3.0) == 6.0 && sgemm_calls() == 1;
        drop_in.uninstall();
        _exit(good && plug(2.0, 3.0) == 0.0 ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "status %d", status);
    drop_in.uninstall();
}

/* While a thread installs it and undoes that, children are made, and do the same. */
static void *install_again(void *user)
{
    atomic_bool *const stop = user;
    while (!atomic_load(stop)) {
        (void)drop_in.install(1);
        drop_in.uninstall();
    }
    return NULL;
}

static void forks_meanwhile(void)
{
    enum { FORKS = 100 };
    atomic_bool stop = false;
    pthread_t thread;
    int bad = 0;
    test_case("blas_install/forks meanwhile");
    plug_function *const plug = plug_of(TEST_PLUG);
    pthread_create(&thread, NULL, install_again, &stop);
    for (int i = 0; i < FORKS; i++) {
        int status = 1;
        const pid_t child = fork();
        if (child == 0) {
            alarm(20); /* if it waits for ever */
            const bool good = drop_in.install(1) > 0 && plug(2.0, 3.0) == 6.0;
            drop_in.uninstall();
            _exit(good && plug(2.0, 3.0) == 0.0 ? 0 : 1);
        }
        (void)waitpid(child, &status, 0);
        bad += status != 0;
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    CHECK(bad == 0, "%d of %d children", bad, FORKS);
}

/* Calls of other threads meanwhile go to one of the two. */
typedef struct caller {
    plug_function *plug;
    atomic_bool stop;
    atomic_int wrong, served;
} caller;

static void *call(void *user)
{
    caller *const c = user;
    while (!atomic_load(&c->stop)) {
        const double x = c->plug(2.0, 3.0);
        atomic_fetch_add(&c->wrong, x != 0.0 && x != 6.0);
        atomic_fetch_add(&c->served, x == 6.0);
    }
    return NULL;
}

static void under_way(void)
{
    test_case("blas_install/threads");
    caller c = {.plug = plug_of(TEST_PLUG)};
    pthread_t thread[2];
    int in_vain = 0;
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, call, &c);
    for (int i = 0; i < 200 || (i < 100000 && atomic_load(&c.served) == 0); i++) {
        in_vain += drop_in.install(1) <= 0;
        in_vain += c.plug(2.0, 3.0) != 6.0;
        drop_in.uninstall();
        in_vain += c.plug(2.0, 3.0) != 0.0;
    }
    atomic_store(&c.stop, true);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    CHECK(in_vain == 0, "%d in vain", in_vain);
    CHECK(atomic_load(&c.wrong) == 0, "%d wrong", atomic_load(&c.wrong));
    CHECK(atomic_load(&c.served) > 0, "none served");
}

/* ---- Odd objects ---- */

static int copy(const char *from, int to)
{
    char bytes[4096];
    ssize_t got;
    bool good = to >= 0;
    const int file = open(from, O_RDONLY | O_CLOEXEC);
    while ((got = read(file, bytes, sizeof bytes)) > 0)
        good = good && write(to, bytes, (size_t)got) == got;
    close(file);
    return good && got == 0 ? to : -1;
}

/* Names that are not served, and places that are not to be written to, stay as they are; a name
 * that nobody had is served. Before that it tells why no call comes. */
static void odd_addresses(void)
{
    bool (*is_left_alone)(void);
    float (*sum)(float, float);
    char text[4096];
    test_case("blas_install/odd addresses");
    void *const handle = dlopen(TEST_PLUG_ODD, RTLD_NOW | RTLD_LOCAL);
    plug_function *const plug = plug_of(TEST_PLUG_ODD);
    void *const at[] = {find(handle, "plug_is_left_alone"), find(handle, "plug_sum")};
    memcpy(&is_left_alone, &at[0], sizeof is_left_alone);
    memcpy(&sum, &at[1], sizeof sum);
    CHECK(plug(2.0, 3.0) == 0.0 && is_left_alone() && sum(2.0f, 3.0f) == -1.0f, "before");
    CHECK(drop_in.install(0) >= 0, "not installed");
    drop_in.uninstall();
    (void)drop_in.summary(text, sizeof text);
    test_contains(text, "plug_odd.so got sgemm_ of libown_blas.so from the loader: "
                        "duo_blas_install has not been called since\n");
    CHECK(drop_in.install(1) > 0 && is_served(TEST_PLUG_ODD), "it does not lead there");
    CHECK(plug(2.0, 3.0) == 6.0, "%g with it", plug(2.0, 3.0));
    CHECK(sum(2.0f, 3.0f) == 5.0f, "%g is the sum", (double)sum(2.0f, 3.0f));
    CHECK(is_left_alone(), "an address was changed");
    drop_in.uninstall();
    CHECK(plug(2.0, 3.0) == 0.0 && is_left_alone() && sum(2.0f, 3.0f) == -1.0f, "afterwards");
    (void)dlclose(handle);
}

/* An object in a copy in memory; it is closed by its handle. */
static void *open_in_memory(const char *name, char path[64])
{
    const int memory = copy(TEST_PLUG, memfd_create(name, MFD_CLOEXEC));
    snprintf(path, 64, "/proc/self/fd/%d", memory);
    void *const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(memory >= 0 && handle != NULL, "%s", dlerror());
    return handle;
}

static void close_in_memory(void *handle, const char *path)
{
    (void)dlclose(handle);
    (void)close(atoi(strrchr(path, '/') + 1));
}

/* A private copy of a BLAS calls itself. After any object was unloaded, all are looked at again. */
static void looked_at_again(void)
{
    static const char *const names[] = {"duoblas-copy", "another"};
    plug_function *const plug = plug_of(TEST_PLUG);
    for (int i = 0; i < 2; i++) {
        char path[64];
        test_case("blas_install/%s", names[i]);
        void *const handle = open_in_memory(names[i], path);
        const int leading = drop_in.install(1);
        const double want = i == 0 ? 0.0 : 6.0;
        CHECK(leading > 0 && is_served(path) == (i == 1), "%d lead there", leading);
        CHECK(plug_of(path)(2.0, 3.0) == want, "it does not give %g", want);
        (void)dlclose(handle); /* of plug_of */
        close_in_memory(handle, path);
        const int again = drop_in.install(1);
        CHECK(again == leading, "%d the second time, %d at first", again, leading);
        CHECK(plug(2.0, 3.0) == 6.0, "%g with it", plug(2.0, 3.0));
        drop_in.uninstall();
        CHECK(plug(2.0, 3.0) == 0.0, "%g afterwards", plug(2.0, 3.0));
    }
}

/* Where memory runs out nothing is changed and -1 is returned, or all is done. */
static void no_memory(void)
{
    enum { MOST = 3000 };
    int n = 1, leading = -1, wrong = 0;
    if (!fail_memory_at(0)) {
        test_skip("there is no way to run out of memory");
        return;
    }
    plug_function *const plug = plug_of(TEST_PLUG), *const lazy = plug_of(TEST_PLUG_LAZY);
    for (; n < MOST && leading < 0; n++) {
        test_case("blas_install/no memory at %d", n);
        (void)fail_memory_at(n);
        leading = drop_in.install(1);
        (void)fail_memory_at(0);
        const double want = leading < 0 ? 0.0 : 6.0;
        wrong += plug(2.0, 3.0) != want || lazy(2.0, 3.0) != want;
        wrong += leading != -1 && leading < 2;
    }
    CHECK(wrong == 0 && leading >= 2, "%d wrong, %d lead there", wrong, leading);
    CHECK(n > 10, "only %d allocations", n);
    drop_in.uninstall();
    CHECK(plug(2.0, 3.0) == 0.0 && lazy(2.0, 3.0) == 0.0, "afterwards");
}

/* Then there is no summary, or a shorter one. */
static void no_memory_to_tell(void)
{
    char text[4096];
    int empty = 0, wrong = 0;
    test_case("blas_install/no memory to tell");
    if (!fail_memory_at(0)) return;
    (void)plug_of(TEST_PLUG_ODD)(2.0, 3.0);
    const size_t whole = drop_in.summary(text, sizeof text);
    for (int n = 1; n < 300; n++) {
        (void)fail_memory_at(n);
        const size_t length = drop_in.summary(text, sizeof text);
        (void)fail_memory_at(0);
        wrong += length > whole || length != strlen(text);
        empty += length == 0;
    }
    CHECK(wrong == 0 && empty > 0, "%d wrong, %d empty", wrong, empty);
    CHECK(drop_in.summary(text, sizeof text) == whole, "afterwards");
}

/* A second drop-in, in another file: the one that was installed last is called, and each leaves
 * alone what the other one has changed since. */
static void two_drop_ins(void)
{
    char file[500], path[64];
    test_case("blas_install/two drop-ins");
    test_folder_begin();
    snprintf(file, sizeof file, "%s/second.so", test_folder());
    CHECK(close(copy(TEST_DROP_IN, open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0700))) == 0, "copy");
    plug_function *const plug = plug_of(TEST_PLUG);
    const drop_in_functions second = open_drop_in(file);
    CHECK(drop_in.install(1) > 0 && second.install(1) > 0, "no object leads there");
    int64_t before = sgemm_calls();
    CHECK(plug(2.0, 3.0) == 6.0 && sgemm_calls() == before, "the second one is not called");
    close_in_memory(open_in_memory("another", path), path);
    CHECK(drop_in.install(1) > 0, "again none leads there");
    before = sgemm_calls();
    CHECK(plug(2.0, 3.0) == 6.0 && sgemm_calls() == before + 1, "the first one is not called");
    second.uninstall();
    CHECK(plug(2.0, 3.0) == 6.0 && sgemm_calls() == before + 2, "the second one has changed it");
    drop_in.uninstall();
    CHECK(plug(2.0, 3.0) == 0.0, "%g afterwards", plug(2.0, 3.0));
    test_folder_end();
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"odd_addresses", odd_addresses}, /* while hardly any call came, it tells why */
        {"no_memory_to_tell", no_memory_to_tell},
        {"both_kinds", both_kinds},
        {"not_counted", not_counted},
        {"told", told},
        {"in_a_child", in_a_child},
        {"forks_meanwhile", forks_meanwhile},
        {"under_way", under_way},
        {"looked_at_again", looked_at_again},
        {"no_memory", no_memory},
        {"two_drop_ins", two_drop_ins},
        {NULL, NULL},
    };
    setenv("DUOBLAS_PATH", "cpu", 1);
    drop_in = open_drop_in(TEST_DROP_IN);
    return test_main(argc, argv, "blas_install", tests);
}
