/*
 * test_wipe.c - DUOBLAS_WIPE: memory of a device, and pinned memory, holds no data when it is given
 * back, nor when another thread gets it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/exact.h"
#include "support/harness.h"

enum { EDGE = 300, N = EDGE * EDGE };

static float a[N], b[N], c[N];

/* ---- In a child, on the simulated device ---- */

static bool on_sim(int devices)
{
    sim_reset();
    sim_set_devices(devices);
    sim_set_delay(200);
    sim_count_unwiped();
    duo_backend_install(sim_backend());
    fill(a, N, 1);
    fill(b, N, 2);
    return true;
}

static bool use(duo_context *ctx)
{
    float sum;
    return duo_set_path(ctx, DUO_PATH_GPU) == DUO_OK && duo_ssum(ctx, N, a, 1, &sum) == DUO_OK &&
           sum == sum_of(a, N) && square(ctx, EDGE, a, b, 0.0f, c) == DUO_OK;
}

static bool blocks(duo_context *ctx)
{
    void *device = NULL, *pinned = NULL;
    return duo_malloc(ctx, sizeof a, &device) == DUO_OK &&
           duo_malloc_host(ctx, sizeof a, &pinned) == DUO_OK &&
           duo_copy(ctx, device, a, sizeof a) == DUO_OK &&
           duo_copy(ctx, pinned, device, sizeof a) == DUO_OK && memcmp(pinned, a, sizeof a) == 0 &&
           duo_free_host(ctx, pinned) == DUO_OK && duo_free(ctx, device) == DUO_OK;
}

static bool kept(duo_context *ctx)
{
    return duo_keep(ctx, a, sizeof a) == DUO_OK && duo_keep(ctx, c, sizeof c) == DUO_OK &&
           duo_prepare(ctx, a, sizeof a) == DUO_OK && use(ctx) && duo_release(ctx, a) == DUO_OK &&
           duo_release(ctx, c) == DUO_OK;
}

static bool remembered(duo_context *ctx)
{
    return duo_set_remember(ctx, DUO_REMEMBER_BYTES) == DUO_OK && use(ctx) && use(ctx);
}

static bool deferred(duo_context *ctx)
{
    float sum = 0.0f;
    return duo_set_path(ctx, DUO_PATH_GPU) == DUO_OK && duo_set_async(ctx, 1) == DUO_OK &&
           duo_ssum(ctx, N, a, 1, &sum) == DUO_OK && duo_synchronize(ctx) == DUO_OK &&
           sum == sum_of(a, N);
}

static bool (*const uses[])(duo_context *) = {use, blocks, kept, remembered, deferred};
static const char *const names[] = {"use", "blocks", "kept", "remembered", "deferred"};
enum { USES = sizeof uses / sizeof uses[0] };

/* Uses a context of its own, and tells how many bytes were not zero when they were given back. */
static int run_use(const char *task)
{
    int i = 0;
    duo_context *ctx = NULL;
    while (i < USES && strcmp(names[i], task) != 0) i++;
    bool ok = i < USES && on_sim(2) && duo_create(&ctx) == DUO_OK && uses[i](ctx);
    ok = ok && duo_destroy(ctx) == DUO_OK;
    (void)duo_trim(NULL);
    printf("unwiped=%ju given=%ju", (uintmax_t)sim_unwiped_bytes(),
           (uintmax_t)(sim_count(SIM_RELEASE) + sim_count(SIM_UNPIN)));
    return ok && sim_violations() == 0 ? 0 : 1;
}

static void *use_default(void *ok)
{
    *(bool *)ok = use(NULL);
    return NULL;
}

static void *sum_by_default(void *ok)
{
    float sum;
    *(bool *)ok = duo_ssum(NULL, N, a, 1, &sum) == DUO_OK;
    return NULL;
}

/* A thread ends; the next one gets its default context, but none of its data. */
static int next_thread(void)
{
    pthread_t thread;
    bool ok = false, next = false;
    if (!on_sim(1) || pthread_create(&thread, NULL, use_default, &ok) != 0) return 1;
    pthread_join(thread, NULL);
    const uint64_t before = sim_count(SIM_UNPIN);
    if (pthread_create(&thread, NULL, sum_by_default, &next) != 0) return 1;
    pthread_join(thread, NULL);
    printf("unwiped=%ju given=%ju", (uintmax_t)sim_unwiped_bytes(),
           (uintmax_t)(sim_count(SIM_UNPIN) - before));
    return ok && next && sim_violations() == 0 ? 0 : 1;
}

/* If wiping fails the memory stays; on a lost device the host wipes what is pinned. */
static int failing(bool lost)
{
    duo_context *ctx = NULL;
    bool ok = on_sim(1) && duo_create(&ctx) == DUO_OK && use(ctx);
    if (lost)
        sim_lose(0);
    else
        sim_fail(SIM_WIPE, 1, DUO_ERR_DEVICE, -1);
    ok = ok && duo_destroy(ctx) == DUO_OK;
    printf("unwiped=%ju given=%ju", (uintmax_t)sim_unwiped_bytes(),
           (uintmax_t)sim_count(SIM_UNPIN));
    return ok && sim_violations() == 0 ? 0 : 1;
}

/* ---- In a child, on a GPU ---- */

/* New memory at an old address: does it hold what was freed? A product that reads and writes the
 * memory is still under way when it is freed. */
static int again(void)
{
    duo_context *ctx = NULL;
    void *first = NULL, *second = NULL;
    static float zeros[N];
    fill(a, N, 1);
    bool ok = duo_create(&ctx) == DUO_OK && duo_set_path(ctx, DUO_PATH_GPU) == DUO_OK;
    ok = ok && duo_malloc(ctx, sizeof a, &first) == DUO_OK;
    ok = ok && duo_copy(ctx, first, a, sizeof a) == DUO_OK;
    for (int i = 0; i < 20; i++)
        ok = ok && square(ctx, EDGE, first, first, 0.0f, first == NULL ? NULL : c) == DUO_OK;
    ok = ok && duo_free(ctx, first) == DUO_OK;
    ok = ok && duo_malloc(ctx, sizeof a, &second) == DUO_OK;
    ok = ok && duo_copy(ctx, c, second, sizeof c) == DUO_OK;
    printf("same=%d zeros=%d", first == second, memcmp(c, zeros, sizeof c) == 0);
    return ok && duo_free(ctx, second) == DUO_OK && duo_destroy(ctx) == DUO_OK ? 0 : 1;
}

/* ---- The tests ---- */

static void run_child(const char *task, bool wipe, test_child *child)
{
    const char *const settings[] = {wipe ? "DUOBLAS_WIPE=1" : "DUOBLAS_WIPE=0", NULL};
    test_case("wipe/%s/%d", task, wipe);
    test_child_run(task, settings, 60, child);
    CHECK(child->exit_status == 0, "exit %d: %.300s", child->exit_status, child->err);
}

/* Runs the task on the simulated device. */
static void check(const char *task, bool wipe, bool unwiped)
{
    test_child child;
    uintmax_t bytes = 0, given = 0;
    run_child(task, wipe, &child);
    CHECK(sscanf(child.out, "unwiped=%ju given=%ju", &bytes, &given) == 2, "%.100s", child.out);
    CHECK((bytes > 0) == unwiped, "%ju bytes were not zero", bytes);
    CHECK(given > 0, "nothing was given back");
}

static void given_back(void)
{
    for (int i = 0; i < USES && test_on_sim(); i++) {
        check(names[i], true, false);
        check(names[i], false, true);
    }
}

static void to_the_next_thread(void)
{
    test_child child;
    if (!test_on_sim()) return;
    check("next_thread", true, false);
    run_child("next_thread", false, &child);
    test_contains(child.out, "given=0"); /* it keeps what the other thread had */
}

static void in_vain(void)
{
    test_child child;
    if (!test_on_sim()) return;
    run_child("failing", true, &child);
    test_contains(child.out, "unwiped=0 given=0");
    check("lost", true, false);
}

static void at_the_same_address(void)
{
    test_child child;
    if (test_on_sim()) return;
    run_child("again", true, &child);
    test_contains(child.out, "zeros=1");
    run_child("again", false, &child); /* so that the test could fail */
    test_contains(child.out, "same=1 zeros=0");
}

static const test_entry tests[] = {
    {"given_back", given_back},
    {"to_the_next_thread", to_the_next_thread},
    {"in_vain", in_vain},
    {"at_the_same_address", at_the_same_address},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task == NULL) return test_main(argc, argv, "wipe", tests);
    if (strcmp(task, "next_thread") == 0) return next_thread();
    if (strcmp(task, "again") == 0) return again();
    if (strcmp(task, "failing") == 0) return failing(false);
    if (strcmp(task, "lost") == 0) return failing(true);
    return run_use(task);
}
