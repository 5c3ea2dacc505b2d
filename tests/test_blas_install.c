/*
 * test_blas_install.c - the drop-in is opened and installed in a program that runs already:
 * plug-ins call their own, useless BLAS before and afterwards.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blas/install.h"
#include "support/harness.h"

typedef double plug_function(double, double);

static struct drop_in {
    int (*install)(int);
    void (*uninstall)(void);
    const char *(*served)(int);
    int (*counted)(int, duo_blas_calls *);
    size_t (*summary)(char *, size_t);
} drop_in;

static void *find(void *handle, const char *name)
{
    void *const address = handle != NULL ? dlsym(handle, name) : NULL;
    if (address == NULL) {
        fprintf(stderr, "test_blas_install: %s: %s\n", name, dlerror());
        exit(1);
    }
    return address;
}

static void open_drop_in(void)
{
    void *const handle = dlopen(TEST_DROP_IN, RTLD_NOW | RTLD_LOCAL);
    void *const at[] = {find(handle, "duo_blas_install"), find(handle, "duo_blas_uninstall"),
                        find(handle, "duo_blas_served"), find(handle, "duo_blas_counted"),
                        find(handle, "duo_blas_summary")};
    memcpy(&drop_in, at, sizeof at);
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

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"both_kinds", both_kinds},
        {"not_counted", not_counted},
        {"told", told},
        {"in_a_child", in_a_child},
        {"forks_meanwhile", forks_meanwhile},
        {"under_way", under_way},
        {NULL, NULL},
    };
    setenv("DUOBLAS_PATH", "cpu", 1);
    open_drop_in();
    return test_main(argc, argv, "blas_install", tests);
}
