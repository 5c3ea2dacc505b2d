/*
 * test_holds.c - memory that a call has found stays until the call has used it, even if it is
 * dropped at the very moment between finding and using. The backend is the simulated one, but it
 * tells the test before the next launch, recording or packing: then all operands of the call are
 * placed and none of its work is queued.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "host/clock.h"
#include "support/exact.h"
#include "support/graph_works.h"

enum { N = 24, FLOATS = N * N, BYTES = FLOATS * (int)sizeof(float) };

/* ---- Between placing and queueing ---- */

static duo_backend watched;
static void (*meanwhile)(void); /* called before the next such call; once */

static void happen(void)
{
    void (*const what)(void) = meanwhile;
    meanwhile = NULL;
    if (what != NULL) what();
}

static duo_status launch(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                         uint64_t *pinned_result, uint32_t ticket)
{
    happen();
    return sim_backend()->launch(queue, algorithm, call, pinned_result, ticket);
}

static void (*fetching)(void); /* called before the next copy; once */

static duo_status copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                       size_t src_pitch, size_t width, size_t height)
{
    void (*const what)(void) = fetching;
    fetching = NULL;
    if (what != NULL) what();
    return sim_backend()->copy(queue, dst, dst_pitch, src, src_pitch, width, height);
}

static duo_status launch_batch(duo_queue *queue, duo_algorithm_id algorithm, const duo_group *group,
                               int64_t groups)
{
    happen();
    return sim_backend()->launch_batch(queue, algorithm, group, groups);
}

static duo_status record_begin(duo_queue *queue)
{
    happen();
    return sim_backend()->record_begin(queue);
}

static duo_status replay(duo_queue *queue, duo_recorded *recorded)
{
    happen();
    return sim_backend()->replay(queue, recorded);
}

static void watch(void)
{
    watched = *sim_backend();
    watched.launch = launch;
    watched.copy = copy;
    watched.launch_batch = launch_batch;
    watched.record_begin = record_begin;
    watched.replay = replay;
    meanwhile = fetching = NULL;
    duo_backend_install(&watched);
}

static void no_violations(void) { CHECK(sim_violations() == 0, "%d violations", sim_violations()); }

/* ---- Another thread that drops ---- */

/* The verbs that only forget memory, in the form of the verbs that free it. */
static duo_status release(duo_context *ctx, void *memory) { return duo_release(ctx, memory); }
static duo_status disown(duo_context *ctx, void *memory) { return duo_disown(ctx, memory); }

static void *dropped; /* the memory to drop */
static duo_status (*drop)(duo_context *ctx, void *memory);
static atomic_bool gone;
static pthread_t dropper;

static void *run_drop(void *ctx)
{
    const duo_status status = drop(ctx, dropped);
    atomic_store(&gone, true);
    CHECK_STATUS(DUO_OK, status);
    return NULL;
}

/* Does the other thread wait until nobody holds the region any more? */
static bool leaving(void)
{
    const uintptr_t low = (uintptr_t)dropped;
    duo_residency_lock();
    const duo_region *const region = duo_residency_first(low, low + 1);
    const bool waits = region != NULL && region->leaving;
    duo_residency_unlock();
    return waits;
}

static duo_context *other; /* of the other thread */
static duo_context *late; /* of this thread, for a call that comes while the other waits; or NULL */
static void sum_late(void);

static void start_dropping(void)
{
    enum { LIMIT = 60 }; /* seconds */
    const double begin = duo_now_seconds();
    atomic_store(&gone, false);
    if (pthread_create(&dropper, NULL, run_drop, other) != 0) abort();
    while (!atomic_load(&gone) && !leaving() && duo_now_seconds() < begin + LIMIT) sched_yield();
    CHECK(!atomic_load(&gone), "it was dropped while a call was about to use it");
    CHECK(leaving(), "nobody waits");
    if (late != NULL && leaving()) sum_late();
}

static float *values, *expected; /* and its square */

static void make_values(void)
{
    values = new_floats(FLOATS);
    expected = new_floats(FLOATS);
    fill(values, FLOATS, 3);
    multiply(N, values, values, expected);
}

/* It would make the other thread wait longer, and the next one even longer. */
static void sum_late(void)
{
    const uint64_t launches = sim_count(SIM_LAUNCH);
    check_sum(late, dropped, FLOATS, sum_of(values, FLOATS));
    CHECK(sim_count(SIM_LAUNCH) == launches, "placed in what is about to go");
}

static float *new_device(duo_context *ctx, size_t bytes)
{
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, bytes, &memory));
    return memory;
}

static float *new_on_device(duo_context *ctx)
{
    float *const x = new_device(ctx, BYTES);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, x, values, BYTES));
    return x;
}

static void check_values(const float *x, const float *wanted)
{
    CHECK(memcmp(x, wanted, BYTES) == 0, "wrong values");
}

static void end_values(void)
{
    free(values);
    free(expected);
}

/* Each use of an array, kept or on the device, while another thread drops it. */
typedef void use(duo_context *ctx, float *x);

static void use_sum(duo_context *ctx, float *x)
{
    check_sum(ctx, x, FLOATS, sum_of(values, FLOATS));
}

static void use_product(duo_context *ctx, float *x)
{
    float *const c = new_floats(FLOATS);
    CHECK_STATUS(DUO_OK, square(ctx, N, x, x, 0.0f, c));
    check_values(c, expected);
    free(c);
}

static void use_streamed(duo_context *ctx, float *x)
{
    float *const c = new_floats(FLOATS), *const b = new_floats(FLOATS);
    memcpy(b, values, BYTES);
    CHECK_STATUS(DUO_OK, square(ctx, N, x, b, 0.0f, c));
    check_values(c, expected);
    free(b);
    free(c);
}

static void use_batch(duo_context *ctx, float *x)
{
    float *const c = new_device(ctx, 2 * BYTES), *const home = new_floats(2 * FLOATS);
    CHECK_STATUS(DUO_OK,
                 duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, N, N,
                                           1.0f, x, N, 0, x, N, 0, 0.0f, c, N, FLOATS, 2));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, home, c, 2 * BYTES));
    check_values(home, expected);
    check_values(home + FLOATS, expected);
    CHECK_STATUS(DUO_OK, duo_free(ctx, c));
    free(home);
}

/* Lists that lead to several arrays of the device. */
static void use_list(duo_context *ctx, float *x)
{
    float *const c = new_device(ctx, BYTES), *const y = new_on_device(ctx);
    float *const home = new_floats(FLOATS), *const d = new_device(ctx, BYTES);
    const float *const a[] = {y, x};
    float *const out[] = {d, c};
    CHECK_STATUS(DUO_OK, duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, N, N,
                                           1.0f, a, N, a, N, 0.0f, out, N, 2));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, home, c, BYTES));
    check_values(home, expected);
    CHECK_STATUS(DUO_OK, duo_free(ctx, c));
    CHECK_STATUS(DUO_OK, duo_free(ctx, d));
    CHECK_STATUS(DUO_OK, duo_free(ctx, y));
    free(home);
}

/* Writes all of the array; the caller checks where it is in the end. */
static void use_written(duo_context *ctx, float *x)
{
    CHECK_STATUS(DUO_OK, square(ctx, N, values, values, 0.0f, x));
}

static void drop_beside(const char *what, use *uses, bool kept,
                        duo_status (*how)(duo_context *, void *))
{
    watch();
    make_values();
    duo_context *const ctx = test_context();
    other = test_context();
    float *const host = new_floats(FLOATS);
    memcpy(host, values, BYTES);
    float *const x = kept ? host : new_on_device(ctx);
    if (kept) CHECK_STATUS(DUO_OK, duo_keep(ctx, x, BYTES));
    test_case("holds/%s/%s", kept ? "kept" : "device", what);
    dropped = x;
    drop = how;
    meanwhile = start_dropping;
    uses(ctx, x);
    CHECK(meanwhile == NULL, "nothing was launched");
    pthread_join(dropper, NULL);
    if (kept) check_values(host, uses == use_written ? expected : values);
    CHECK_STATUS(DUO_ERR_RANGE, kept ? duo_release(ctx, x) : duo_free(ctx, x));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    no_violations();
    test_context_end(ctx);
    test_context_end(other);
    free(host);
    end_values();
}

static void placed(void)
{
    late = test_context();
    drop_beside("sum", use_sum, true, release);
    test_context_end(late);
    late = NULL;
    drop_beside("product", use_product, true, release);
    drop_beside("streamed", use_streamed, true, release);
    drop_beside("batch", use_batch, true, release);
    drop_beside("written", use_written, true, release);
    drop_beside("sum", use_sum, false, duo_free);
    drop_beside("batch", use_batch, false, duo_free);
    drop_beside("list", use_list, false, duo_free);
}

/* A call on the CPU is fetching the array from the device. */
static void fetched(void)
{
    watch();
    make_values();
    duo_context *const ctx = test_context();
    other = test_context();
    test_case("holds/fetched");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    float *const x = new_on_device(other);
    dropped = x;
    drop = duo_free;
    fetching = start_dropping;
    use_sum(ctx, x);
    CHECK(fetching == NULL, "nothing was fetched");
    pthread_join(dropper, NULL);
    CHECK_STATUS(DUO_ERR_RANGE, duo_free(ctx, x));
    no_violations();
    test_context_end(ctx);
    test_context_end(other);
    end_values();
}

/* Two at once: one of them releases. The test cannot see that both wait, so it tries some times,
 * with a moment for the second one. */
static atomic_int releasing;

static void *run_release(void *ctx)
{
    atomic_fetch_add(&releasing, 1);
    return (void *)(intptr_t)duo_release(ctx, dropped);
}

static pthread_t releasers[2];

static void release_twice(void)
{
    enum { TURNS = 200 };
    atomic_store(&releasing, 0);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&releasers[i], NULL, run_release, other) != 0) abort();
    while (atomic_load(&releasing) < 2 || !leaving()) sched_yield();
    for (int i = 0; i < TURNS; i++) sched_yield();
}

static void dropped_twice(void)
{
    enum { ROUNDS = 20 };
    watch();
    make_values();
    duo_context *const ctx = test_context();
    other = NULL; /* each thread's default one */
    float *const x = new_floats(FLOATS);
    memcpy(x, values, BYTES);
    int done = 0, refused = 0;
    test_case("holds/released-twice");
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_STATUS(DUO_OK, duo_keep(ctx, x, BYTES));
        dropped = x;
        meanwhile = release_twice;
        use_sum(ctx, x);
        for (int i = 0; i < 2; i++) {
            void *status = NULL;
            pthread_join(releasers[i], &status);
            done += (intptr_t)status == DUO_OK;
            refused += (intptr_t)status == DUO_ERR_RANGE;
        }
    }
    CHECK(done == ROUNDS && refused == ROUNDS, "%d released it, %d found it gone", done, refused);
    no_violations();
    test_context_end(ctx);
    free(x);
    end_values();
}

/* ---- Between finding and placing ---- */

static duo_context *deciding; /* another one than the call's */

/* The program is asked when the operands are found and not placed: drops, and leaves the choice. */
static int drop_and_decide(void *user, const duo_decision *decision, int chosen)
{
    (void)user;
    (void)decision;
    if (dropped != NULL) CHECK_STATUS(DUO_OK, drop(deciding, dropped));
    dropped = NULL;
    return chosen;
}

static void found(void)
{
    watch();
    make_values();
    duo_context *const ctx = test_context();
    deciding = test_context();
    CHECK_STATUS(DUO_OK, duo_set_decide(ctx, drop_and_decide, NULL));
    for (int written = 0; written < 2; written++)
        for (int cpu = 0; cpu < 2; cpu++) {
            test_case("holds/found/%s/%s", written ? "written" : "read", cpu ? "cpu" : "gpu");
            CHECK_STATUS(DUO_OK, duo_set_path(ctx, cpu ? DUO_PATH_CPU : DUO_PATH_GPU));
            float *const x = new_floats(FLOATS);
            memcpy(x, values, BYTES);
            CHECK_STATUS(DUO_OK, duo_keep(ctx, x, BYTES));
            dropped = x;
            drop = release;
            (written ? use_written : use_sum)(ctx, x);
            CHECK(dropped == NULL, "nobody was asked");
            CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
            check_values(x, written ? expected : values);
            CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, x));
            free(x);
        }
    test_case("holds/found/disowned");
    float sum = test_poison();
    void *const x = sim_foreign_malloc(0, BYTES);
    sim_write(x, values, BYTES);
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, duo_adopt(deciding, x, BYTES));
    dropped = x;
    drop = disown;
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_ssum(ctx, FLOATS, x, 1, &sum));
    CHECK(sum != sum, "a result was written: %g", (double)sum);
    sim_foreign_free(x);
    no_violations();
    test_context_end(ctx);
    test_context_end(deciding);
    end_values();
}

/* ---- Packed operands ---- */

static uint64_t bytes_packed; /* more on the device during the call than the test has */
static uint64_t bytes_before;

static void end_promise(void)
{
    const uint64_t held = sim_allocated_bytes(0);
    CHECK_STATUS(DUO_OK, duo_prepare(other, dropped, 0));
    CHECK(sim_allocated_bytes(0) == held, "packed operands went while a call was to read them");
    bytes_packed = held - bytes_before;
}

/* A promise ends while a call is about to use the packed operands: they go after the call. */
static void unprepared(void)
{
    watch();
    make_values();
    duo_context *const ctx = test_context();
    other = test_context();
    test_case("holds/unprepared");
    float *const x = new_on_device(ctx), *const c = new_device(ctx, BYTES);
    CHECK_STATUS(DUO_OK, square(ctx, N, x, x, 0.0f, c)); /* makes the workspace */
    bytes_before = sim_allocated_bytes(0);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, BYTES));
    dropped = x;
    meanwhile = end_promise;
    CHECK_STATUS(DUO_OK, square(ctx, N, x, x, 0.0f, c));
    CHECK(meanwhile == NULL && bytes_packed > 0, "nothing was packed");
    CHECK(sim_allocated_bytes(0) == bytes_before, "packed operands stay without a promise");
    float *const home = new_floats(FLOATS);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, home, c, BYTES));
    check_values(home, expected);
    no_violations();
    CHECK_STATUS(DUO_OK, duo_free(ctx, x));
    CHECK_STATUS(DUO_OK, duo_free(ctx, c));
    test_context_end(ctx);
    test_context_end(other);
    free(home);
    end_values();
}

/* ---- Eviction ---- */

enum { MEMORY = 4 << 20 };

/* Asks for more than is free: only eviction could give it. */
static void squeeze(void)
{
    void *memory = NULL;
    const size_t more = MEMORY - (size_t)sim_allocated_bytes(0) + 256;
    CHECK_STATUS(DUO_OK, duo_malloc(other, more, &memory));
    CHECK(!sim_is_device(memory), "what a call was about to use made room");
    CHECK_STATUS(DUO_OK, duo_free(other, memory));
}

/* A graph with a packed operand, which another context would evict before it is recorded, or before
 * it is replayed. */
static void packed_in_graph(void)
{
    watch();
    make_values();
    sim_set_memory(MEMORY);
    duo_context *const ctx = test_context();
    other = test_context();
    CHECK_STATUS(DUO_OK, duo_set_path(other, DUO_PATH_AUTO));
    float *const x = new_on_device(ctx), *const c = new_device(ctx, BYTES);
    float *const home = new_floats(FLOATS);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, BYTES));
    test_case("holds/evicted/recorded");
    meanwhile = squeeze;
    const duo_work work = work_product(N, x, x, 0.0f, c);
    duo_graph *const graph = graph_built(ctx, &work, 1, false, NULL);
    CHECK(meanwhile == NULL, "nothing was recorded");
    for (int round = 0; round < 2; round++) {
        test_case("holds/evicted/replayed");
        meanwhile = squeeze;
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK(meanwhile == NULL, "nothing was replayed");
        CHECK_STATUS(DUO_OK, duo_copy(ctx, home, c, BYTES));
        check_values(home, expected);
    }
    no_violations();
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_free(ctx, x));
    CHECK_STATUS(DUO_OK, duo_free(ctx, c));
    test_context_end(ctx);
    test_context_end(other);
    free(home);
    end_values();
}

static void kept_in_call(void)
{
    watch();
    make_values();
    sim_set_memory(MEMORY);
    duo_context *const ctx = test_context();
    other = test_context();
    float *const x = new_floats(FLOATS);
    memcpy(x, values, BYTES);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, BYTES));
    test_case("holds/evicted/kept");
    meanwhile = squeeze;
    use_sum(ctx, x);
    CHECK(meanwhile == NULL, "nothing was launched");
    no_violations();
    CHECK_STATUS(DUO_OK, duo_release(ctx, x));
    test_context_end(ctx);
    test_context_end(other);
    free(x);
    end_values();
}

/* ---- A device that counts as lost ---- */

/* The device goes on with its work, so it would read freed memory. The next taker of the lock notes
 * the loss. */
static void lose(void)
{
    const uint64_t before = sim_allocated_bytes(0);
    duo_device_lose(0, "the test");
    duo_residency_lock();
    duo_residency_unlock();
    CHECK(sim_allocated_bytes(0) == before, "memory went while a call was about to use it");
}

static void use_packed(duo_context *ctx, float *x)
{
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, BYTES));
    use_streamed(ctx, x);
}

/* The host has the lost data, and the CPU does the device's work. The first round makes the memory
 * that the context needs. */
static void lost_beside(const char *what, use *uses, void (**when)(void))
{
    uint64_t others = 0;
    watch();
    make_values();
    duo_context *const ctx = test_context();
    float *const x = new_floats(FLOATS);
    memcpy(x, values, BYTES);
    test_case("holds/lost/%s", what);
    for (int loses = 0; loses < 2; loses++) {
        CHECK_STATUS(DUO_OK, duo_keep(ctx, x, BYTES));
        use_sum(ctx, x); /* sends it */
        *when = loses ? lose : NULL;
        uses(ctx, x);
        CHECK(*when == NULL, "nothing was queued");
        check_values(x, values);
        if (loses) CHECK(sim_allocated_bytes(0) == others, "what is on a lost device stays");
        CHECK_STATUS(DUO_OK, duo_release(ctx, x));
        others = sim_allocated_bytes(0);
    }
    no_violations();
    test_context_end(ctx);
    free(x);
    end_values();
}

/* Only the device has the result. */
static void lost_result(void)
{
    watch();
    make_values();
    duo_context *const ctx = test_context();
    float *const x = new_floats(FLOATS);
    test_case("holds/lost/result");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, BYTES));
    meanwhile = lose;
    CHECK_STATUS(DUO_OK, square(ctx, N, values, values, 0.0f, x));
    CHECK(meanwhile == NULL, "nothing was launched");
    CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(ctx));
    CHECK_STATUS(DUO_ERR_LOST, duo_release(ctx, x));
    no_violations();
    test_context_end(ctx);
    free(x);
    end_values();
}

static void lose_unnoted(void) { duo_device_lose(0, "the test"); }

/* The device is lost when the operands that the call reads are placed, and its result is not. */
static void lost_in_placing(void)
{
    watch();
    make_values();
    duo_context *const ctx = test_context();
    float *const x = new_floats(FLOATS), *const c = new_floats(FLOATS);
    memcpy(x, values, BYTES);
    test_case("holds/lost/placing");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, BYTES));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, BYTES));
    fetching = lose_unnoted;
    CHECK_STATUS(DUO_OK, square(ctx, N, x, x, 0.0f, c));
    CHECK(fetching == NULL, "nothing was sent");
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    check_values(c, expected);
    CHECK_STATUS(DUO_OK, duo_release(ctx, x));
    no_violations();
    test_context_end(ctx);
    free(x);
    free(c);
    end_values();
}

/* A graph replays packed operands. */
static void lost_in_graph(void)
{
    watch();
    make_values();
    duo_context *const ctx = test_context();
    float *const x = new_on_device(ctx), *const c = new_device(ctx, BYTES);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, BYTES));
    test_case("holds/lost/graph");
    const duo_work work = work_product(N, x, x, 0.0f, c);
    duo_graph *const graph = graph_built(ctx, &work, 1, false, NULL);
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    meanwhile = lose;
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK(meanwhile == NULL, "nothing was replayed");
    CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(ctx));
    CHECK_STATUS(DUO_ERR_LOST, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_free(ctx, x));
    CHECK_STATUS(DUO_OK, duo_free(ctx, c));
    no_violations();
    test_context_end(ctx);
    end_values();
}

static float *changed;

static void lose_and_change(void)
{
    sim_lose(0);
    duo_device_lose(0, "the test");
    *changed = 5.0f;
    CHECK_STATUS(DUO_OK, duo_changed(other, changed, sizeof *changed));
}

/* The call is about to write another part of the array than the program changes; and does not. */
static void lost_and_changed(void)
{
    enum { WRITTEN = FLOATS - N };
    watch();
    make_values();
    duo_context *const ctx = test_context();
    other = test_context();
    float *const x = new_floats(FLOATS);
    memcpy(x, values, BYTES);
    changed = x + WRITTEN;
    test_case("holds/lost/changed");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, BYTES));
    meanwhile = lose_and_change;
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, N - 1, N,
                                   1.0f, values, N, values, N, 0.0f, x, N));
    CHECK(meanwhile == NULL, "nothing was launched");
    CHECK_STATUS(DUO_OK, duo_release(ctx, x));
    CHECK(memcmp(x, expected, WRITTEN * sizeof *x) == 0 && *changed == 5.0f, "wrong values");
    no_violations();
    test_context_end(ctx);
    test_context_end(other);
    free(x);
    end_values();
}

static void lost(void)
{
    lost_beside("sum", use_sum, &meanwhile);
    lost_beside("product", use_product, &meanwhile);
    lost_beside("streamed", use_streamed, &fetching);
    lost_beside("packed", use_packed, &fetching);
    lost_result();
    lost_in_placing();
    lost_in_graph();
    lost_and_changed(); /* last: the device does not come back */
}

/* ---- Behind queued work ---- */

/* `loses`: the other context's device is lost. The memory was pinned for it, and it replays
 * nothing. */
static void drop_behind_replay(const char *what, duo_status (*how)(duo_context *, void *),
                               bool loses)
{
    enum { LIMIT = 60 };
    watch();
    make_values();
    sim_set_devices(2);
    duo_context *const ctx = test_context();
    other = test_context();
    CHECK_STATUS(DUO_OK, duo_set_device(ctx, 1));
    void *pinned = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc_host(other, BYTES, &pinned));
    memcpy(pinned, values, BYTES);
    float *const x = new_device(ctx, BYTES);
    const duo_work work = work_copying(x, pinned, BYTES);
    test_case("holds/replay/%s", what);
    duo_graph *const graph = graph_built(ctx, &work, 1, false, NULL);
    CHECK_STATUS(DUO_OK, duo_warm_up(other));
    sim_hold(true);
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    if (loses) duo_device_lose(0, "the test");
    dropped = how == duo_free_host ? pinned : x;
    drop = how;
    atomic_store(&gone, false);
    const uint64_t waits = sim_count(SIM_WAIT) + sim_count(SIM_RELEASE);
    const double begin = duo_now_seconds();
    if (pthread_create(&dropper, NULL, run_drop, other) != 0) abort();
    while (!atomic_load(&gone) && sim_count(SIM_WAIT) + sim_count(SIM_RELEASE) == waits &&
           duo_now_seconds() < begin + LIMIT)
        sched_yield();
    CHECK(!atomic_load(&gone), "it was freed while the device had it to copy");
    sim_hold(false);
    pthread_join(dropper, NULL);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    no_violations();
    CHECK_STATUS(DUO_OK, how == duo_free_host ? duo_free(ctx, x) : duo_free_host(ctx, pinned));
    test_context_end(ctx);
    test_context_end(other);
    end_values();
}

static void replayed(void)
{
    drop_behind_replay("pinned", duo_free_host, false);
    drop_behind_replay("pinned/lost", duo_free_host, true);
    drop_behind_replay("device", duo_free, false);
}

/* ---- Two that write to host memory ---- */

static duo_host_write first_note; /* of the call that began first, and ends first */
static atomic_bool ends, ended;   /* relaxed: so ThreadSanitizer sees the library's order */

static void *end_first(void *unused)
{
    (void)unused;
    while (!atomic_load_explicit(&ends, memory_order_relaxed)) sched_yield();
    duo_residency_lock();
    duo_residency_host_wrote(&first_note);
    duo_residency_unlock();
    atomic_store_explicit(&ended, true, memory_order_relaxed);
    return NULL;
}

static void let_first_end(void)
{
    atomic_store_explicit(&ends, true, memory_order_relaxed);
    while (!atomic_load_explicit(&ended, memory_order_relaxed)) sched_yield();
}

/* The end of the one changes the note of the other, which copies its call for each part of it. */
static void two_write(void)
{
    static const char elsewhere[16];
    const uintptr_t low = (uintptr_t)elsewhere;
    pthread_t thread;
    watch();
    make_values();
    test_case("holds/two_write");
    duo_context *const ctx = test_context();
    float *const c = new_floats(FLOATS);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c + 1, BYTES / 2)); /* C lies in and around it */
    duo_residency_lock();
    duo_residency_host_write(&first_note, low, low + sizeof elsewhere);
    duo_residency_unlock();
    if (pthread_create(&thread, NULL, end_first, NULL) != 0) abort();
    meanwhile = let_first_end;
    CHECK_STATUS(DUO_OK, square(ctx, N, values, values, 0.0f, c));
    CHECK(meanwhile == NULL, "nothing was launched");
    pthread_join(thread, NULL);
    check_values(c, expected);
    CHECK_STATUS(DUO_OK, duo_release(ctx, c + 1));
    no_violations();
    test_context_end(ctx);
    free(c);
    end_values();
}

static const test_entry tests[] = {
    {"placed", placed},
    {"fetched", fetched},
    {"dropped_twice", dropped_twice},
    {"found", found},
    {"unprepared", unprepared},
    {"packed_in_graph", packed_in_graph},
    {"kept_in_call", kept_in_call},
    {"lost", lost},
    {"replayed", replayed},
    {"two_write", two_write},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "holds", tests); }
