/*
 * test_opening.c - duo_set_open: calls do not wait until the GPU is open, and it is opened when
 * that pays; also when the process ends or forks meanwhile.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "call/opening.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/harness.h"
#include "support/made_machine.h"
#include "support/sanitizers.h"

/* ---- A device that takes long to open ---- */

static duo_backend slow; /* the simulated one, but: */
static atomic_int counted, loaded;
static _Atomic bool held, held_loading; /* counting waits, or loading the kernels */
static int seconds_hundredths;

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

static duo_status count_slowly(int *count)
{
    counted++;
    while (held) nap();
    for (int i = 0; i < 10 * seconds_hundredths; i++) nap();
    return sim_backend()->count(count);
}

static duo_status load_slowly(int device)
{
    loaded++;
    while (held_loading) nap();
    return sim_backend()->load(device);
}

/* A product takes 10 ms on the CPU and nothing on the GPU; to open it takes 320 ms. */
static duo_context *slow_machine(duo_open open)
{
    slow = *sim_backend();
    slow.count = count_slowly;
    slow.load = load_slowly;
    duo_backend_install(&slow);
    counted = loaded = 0;
    seconds_hundredths = 0;
    new_machine(10e-3, 0.0);
    free_link();
    machine.open_seconds = 0.32;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_open(ctx, open));
    return ctx;
}

static duo_side side_of_next(duo_context *ctx)
{
    multiply_ones(ctx);
    return last_decision(ctx).side;
}

static void await_opening(void)
{
    for (int i = 0; i < 5000 && duo_opening_goes_on(); i++) nap();
    CHECK(!duo_opening_goes_on(), "it was not opened in 5 s");
}

/* ---- Tests ---- */

static void the_first_call_opens(void)
{
    test_case("first");
    duo_context *const ctx = slow_machine(DUO_OPEN_FIRST);
    CHECK(counted == 0, "opened before a call");
    CHECK(side_of_next(ctx) == DUO_SIDE_GPU && counted == 1, "not opened");
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_open(ctx, (duo_open)5));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_open(test_dead_context(), DUO_OPEN_FIRST));
    test_context_end(ctx);
}

/* A call that is to run on the GPU waits for it. */
static void the_path_opens(void)
{
    test_case("path");
    duo_context *const ctx = slow_machine(DUO_OPEN_BACKGROUND);
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    CHECK(side_of_next(ctx) == DUO_SIDE_GPU && counted == 1, "not opened");
    CHECK(!duo_opening_goes_on(), "opened in the background");
    test_context_end(ctx);
}

static void opens_when_it_pays(void)
{
    test_case("background");
    duo_context *const ctx = slow_machine(DUO_OPEN_BACKGROUND);
    held = true;
    CHECK(side_of_next(ctx) == DUO_SIDE_CPU, "the first call waited");
    CHECK(!duo_opening_goes_on() && counted == 0, "opened for 10 ms");
    test_contains(last_decision(ctx).reason, "the GPU is not open yet");
    for (int call = 0; call < 20; call++)
        CHECK(side_of_next(ctx) == DUO_SIDE_CPU, "call %d waited", call);
    CHECK(duo_opening_goes_on(), "not opened after 200 ms were lost");
    held_loading = true;
    held = false;
    for (int i = 0; i < 5000 && loaded == 0; i++) nap();
    CHECK(side_of_next(ctx) == DUO_SIDE_CPU, "a call met a device that is not open yet");
    held_loading = false;
    await_opening();
    CHECK(counted == 1 && loaded == 1, "counted %d, loaded %d times", counted, loaded);
    CHECK(side_of_next(ctx) == DUO_SIDE_GPU, "the GPU is not used");
    CHECK(counted == 1, "opened again");
    test_context_end(ctx);
}

static void *let_go_later(void *unused)
{
    for (int i = 0; i < 50; i++) nap();
    held = false;
    return unused;
}

/* Memory on the device, and the path gpu, wait. */
static void others_wait(void)
{
    for (int what = 0; what < 2; what++) {
        test_case("background/waits/%d", what);
        duo_context *const ctx = slow_machine(DUO_OPEN_BACKGROUND);
        pthread_t thread;
        held = true;
        for (int call = 0; call < 4; call++) (void)side_of_next(ctx);
        CHECK(duo_opening_goes_on(), "not begun");
        CHECK(pthread_create(&thread, NULL, let_go_later, NULL) == 0, "no thread");
        if (what == 0) {
            void *memory = NULL;
            CHECK_STATUS(DUO_OK, duo_malloc(ctx, 1000, &memory));
            CHECK(sim_is_device(memory), "not on the device");
            CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
        } else {
            CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
            CHECK(side_of_next(ctx) == DUO_SIDE_GPU, "not on the GPU");
        }
        (void)pthread_join(thread, NULL);
        await_opening();
        test_context_end(ctx);
    }
}

static void there_is_no_device(void)
{
    test_case("background/none");
    duo_context *const ctx = slow_machine(DUO_OPEN_BACKGROUND);
    sim_fail(SIM_COUNT, 1, DUO_OK, -1);
    for (int call = 0; call < 4; call++) CHECK(side_of_next(ctx) == DUO_SIDE_CPU, "%d", call);
    await_opening();
    CHECK(side_of_next(ctx) == DUO_SIDE_CPU && counted == 1 && loaded == 0, "counted %d times",
          counted);
    test_context_end(ctx);
}

static void check_at_exit(void)
{
    if (duo_opening_goes_on()) _exit(5);
}

/* In a child: the process ends, or forks, while the GPU is opened. */
static int meanwhile(const char *task)
{
    (void)atexit(check_at_exit); /* runs after what is registered later */
    test_reset();
    duo_context *const ctx = slow_machine(DUO_OPEN_BACKGROUND);
    seconds_hundredths = 20;
    for (int call = 0; call < 4; call++) (void)side_of_next(ctx);
    if (!duo_opening_goes_on()) return 2;
    if (strcmp(task, "exit") == 0) exit(0);
    if (strcmp(task, "quick_exit") == 0) _exit(0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        multiply_ones(ctx);
        const int status = product[0] == (float)EDGE && !duo_opening_goes_on() ? 0 : 1;
        if (UNDER_TSAN) _exit(status); /* Archer fails at the end of a child's exit() */
        exit(status);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) return 3;
    await_opening();
    return side_of_next(ctx) == DUO_SIDE_GPU ? 0 : 4;
}

static void processes(void)
{
    static const char *const tasks[] = {"exit", "quick_exit", "fork"};
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        test_child child;
        test_case("meanwhile/%s", tasks[i]);
        test_child_run(tasks[i], (const char *const[]){"DUOBLAS_CPU_BLAS=", NULL}, 30, &child);
        CHECK(child.exit_status == 0, "exit %d: %.300s", child.exit_status, child.err);
    }
}

static const test_entry tests[] = {
    {"the_first_call_opens", the_first_call_opens},
    {"the_path_opens", the_path_opens},
    {"opens_when_it_pays", opens_when_it_pays},
    {"others_wait", others_wait},
    {"there_is_no_device", there_is_no_device},
    {"processes", processes},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    (void)duo_blas_library_get(); /* a made machine is measured with it */
    for (int i = 0; i < MOST_EDGE * MOST_EDGE; i++) ones[i] = 1.0f;
    const char *const task = test_child_task(argc, argv);
    if (task != NULL) return meanwhile(task);
    return test_main(argc, argv, "opening", tests);
}
