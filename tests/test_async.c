/*
 * test_async.c - results that come after their calls return (duo_set_async): when they are there,
 * which calls deliver them, and what happens to them when a device is lost.
 *
 * A held simulated device shows that calls return before their work is done. On a GPU, and without
 * one, the same calls have to give the same bits.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/adapt.h"
#include "call/context.h"
#include "gpu/backend/devices.h"
#include "host/clock.h"
#include "support/child.h"
#include "support/exact.h"

enum { N = 4096, CALLS = 200 };

static const float untouched = -77.0f;

/* A context with results that may come later, and a vector on its device. */
typedef struct caller {
    duo_context *ctx;
    float *x;
} caller;

static caller new_caller(int device)
{
    caller c = {.ctx = test_context()};
    void *memory = NULL;
    float *const host = new_floats(N);
    for (int i = 0; i < N; i++) host[i] = (float)((i * 37 + 11) % 1009) / 64.0f - 7.0f;
    if (test_on_sim()) CHECK_STATUS(DUO_OK, duo_set_device(c.ctx, device));
    CHECK_STATUS(DUO_OK, duo_malloc(c.ctx, N * sizeof *host, &memory));
    CHECK_STATUS(DUO_OK, duo_copy(c.ctx, memory, host, N * sizeof *host));
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK_STATUS(DUO_OK, duo_set_async(c.ctx, 1));
    c.x = memory;
    free(host);
    return c;
}

static void end_caller(caller *c)
{
    CHECK_STATUS(DUO_OK, duo_free(c->ctx, c->x));
    test_context_end(c->ctx);
}

static void check_no_leaks(void)
{
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* Call number i: an operation and a length of its own. */
static void reduce(duo_context *ctx, const float *x, int i, float *result)
{
    const int64_t n = N - 13 * (i % 101) - i % 7;
    switch (i % 3) {
    case 0:
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, n, x + i % 5, 1, result));
        break;
    case 1:
        CHECK_STATUS(DUO_OK, duo_sasum(ctx, n / 2, x, 2, result));
        break;
    default:
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, n, x, 1, x + i % 3, 1, result));
    }
}

/* The results of calls 0 .. count - 1, each waited for; and the same floats untouched. */
static void expect(float *expected, float *result, int count)
{
    caller c = new_caller(0);
    CHECK_STATUS(DUO_OK, duo_set_async(c.ctx, 0));
    for (int i = 0; i < count; i++) {
        reduce(c.ctx, c.x, i, &expected[i]);
        result[i] = untouched;
    }
    end_caller(&c);
}

static bool same_bits(const float *x, const float *y, int count)
{
    return memcmp(x, y, (size_t)count * sizeof *x) == 0;
}

static bool all_untouched(const float *x, int count)
{
    bool all = true;
    for (int i = 0; i < count; i++) all = all && x[i] == untouched;
    return all;
}

static bool awaits(duo_context *ctx)
{
    return duo_deferred_awaited(duo_context_of(ctx)->resources.deferred).of != NULL;
}

/* ---- Which results are there, and when ---- */

static void arguments(void)
{
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_async(ctx, 0));
    CHECK_STATUS(DUO_OK, duo_set_async(ctx, 1));
    CHECK_STATUS(DUO_OK, duo_set_async(ctx, 2));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_set_async(ctx, 0));
    CHECK_STATUS(DUO_OK, duo_set_async(NULL, 1));
    end_without_leaks(ctx);
}

/* The bits equal those of calls that wait; calls that wait may come between. */
static void results(void)
{
    float expected[CALLS], got[CALLS], host[N];
    expect(expected, got, CALLS);
    caller c = new_caller(0);
    CHECK_STATUS(DUO_OK, duo_copy(c.ctx, host, c.x, sizeof host));
    if (test_on_sim()) sim_set_delay(50);
    for (int i = 0; i < CALLS; i++) {
        reduce(c.ctx, i % 11 == 0 ? host : c.x, i, &got[i]);
        if (i % 70 == 69) {
            CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
            CHECK(same_bits(got, expected, i + 1), "wrong bits after %d calls", i + 1);
        }
    }
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK(same_bits(got, expected, CALLS), "wrong bits");
    if (test_on_sim()) sim_set_delay(0);
    end_caller(&c);
    check_no_leaks();
}

static void returns_early(void)
{
    enum { HELD = 40 };
    float expected[HELD], got[HELD];
    int done = 1;
    if (!test_on_sim()) return;
    expect(expected, got, HELD);
    caller c = new_caller(0);
    duo_event *event = NULL;
    CHECK_STATUS(DUO_OK, duo_event_create(&event));
    sim_hold(true);
    for (int i = 0; i < HELD / 2; i++) reduce(c.ctx, c.x, i, &got[i]);
    CHECK_STATUS(DUO_OK, duo_event_record(c.ctx, event));
    for (int i = HELD / 2; i < HELD; i++) reduce(c.ctx, c.x, i, &got[i]);
    CHECK_STATUS(DUO_OK, duo_event_query(event, &done));
    CHECK(done == 0, "reached, and nothing has run");
    CHECK(all_untouched(got, HELD), "there is a result, and nothing has run");
    sim_hold(false);
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    CHECK(same_bits(got, expected, HELD / 2), "not there at the event");
    CHECK(all_untouched(got + HELD / 2, HELD / 2), "more was delivered than waited for");
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK(same_bits(got, expected, HELD), "wrong bits");
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    end_caller(&c);
    check_no_leaks();
}

/* A caller that asks often enough gets the results without waiting. */
static void asking(void)
{
    float expected[CALLS], got[CALLS];
    expect(expected, got, CALLS);
    caller c = new_caller(0);
    duo_event *event = NULL;
    CHECK_STATUS(DUO_OK, duo_event_create(&event));
    for (int i = 0; i < CALLS; i++) {
        int done = 0;
        reduce(c.ctx, c.x, i, &got[i]);
        CHECK_STATUS(DUO_OK, duo_event_record(c.ctx, event));
        while (done == 0) CHECK_STATUS(DUO_OK, duo_event_query(event, &done));
        CHECK(same_bits(got, expected, i + 1), "not there at the event");
    }
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    end_caller(&c);
    check_no_leaks();
}

/* More calls than there is room for: the oldest are waited for. */
static void overflow(void)
{
    float expected[CALLS], got[CALLS];
    if (!test_gpu_side()) return;
    expect(expected, got, CALLS);
    caller c = new_caller(0);
    if (test_on_sim()) sim_set_delay(100);
    for (int i = 0; i < CALLS; i++) {
        reduce(c.ctx, c.x, i, &got[i]);
        CHECK(awaits(c.ctx), "none is awaited");
    }
    CHECK(same_bits(got, expected, CALLS - DUO_DEFERRED), "an old one is not there");
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK(same_bits(got, expected, CALLS), "wrong bits");
    CHECK(!awaits(c.ctx), "some are awaited");
    if (test_on_sim()) sim_set_delay(0);
    end_caller(&c);
    check_no_leaks();
}

/* There is no room, and waiting for the oldest result fails: the CPU computes the new one. */
static void overflow_fails(void)
{
    float expected[CALLS], got[CALLS];
    if (!test_on_sim()) return;
    expect(expected, got, DUO_DEFERRED + 1);
    caller c = new_caller(0);
    float *const host = new_floats(N);
    CHECK_STATUS(DUO_OK, duo_copy(c.ctx, host, c.x, N * sizeof *host));
    sim_hold(true);
    for (int i = 0; i < DUO_DEFERRED; i++) reduce(c.ctx, c.x, i, &got[i]);
    sim_fail(SIM_IDLE, 1, DUO_ERR_DEVICE, 1);
    reduce(c.ctx, host, DUO_DEFERRED, &got[DUO_DEFERRED]);
    CHECK(same_bits(&got[DUO_DEFERRED], &expected[DUO_DEFERRED], 1), "the new one is not there");
    CHECK(all_untouched(got, DUO_DEFERRED), "there is a result, and nothing has run");
    test_contains(duo_error_detail(c.ctx), "wait for a result");
    sim_hold(false);
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK(same_bits(got, expected, DUO_DEFERRED + 1), "wrong bits");
    free(host);
    end_caller(&c);
    check_no_leaks();
}

/* A call that closes the queue or ends the context delivers first. */
static void closing(void)
{
    enum { HELD = 30, WAYS = 7 };
    static const char *const ways[WAYS] = {"synchronize", "off",    "priority", "device",
                                           "devices",     "stream", "destroy"};
    float expected[HELD], got[HELD], stream;
    expect(expected, got, HELD);
    for (int way = 0; way < WAYS; way++) {
        const bool needs_sim = way >= 3 && way <= 5;
        if (needs_sim && !test_on_sim()) continue;
        test_case("async/closing/%s", ways[way]);
        if (test_on_sim()) {
            sim_reset();
            sim_set_devices(2);
            duo_backend_install(sim_backend());
            sim_set_delay(100);
        }
        for (int i = 0; i < HELD; i++) got[i] = untouched;
        caller c = new_caller(0);
        const int both[] = {1, 0};
        for (int i = 0; i < HELD; i++) reduce(c.ctx, c.x, i, &got[i]);
        if (way == 0) CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
        if (way == 1) CHECK_STATUS(DUO_OK, duo_set_async(c.ctx, 0));
        if (way == 2) CHECK_STATUS(DUO_OK, duo_set_priority(c.ctx, DUO_PRIORITY_HIGH));
        if (way == 3) CHECK_STATUS(DUO_OK, duo_set_device(c.ctx, 1));
        if (way == 4) CHECK_STATUS(DUO_OK, duo_set_devices(c.ctx, both, 2));
        if (way == 5) CHECK_STATUS(DUO_OK, duo_set_stream(c.ctx, &stream));
        if (way == 6) CHECK_STATUS(DUO_OK, duo_destroy(c.ctx));
        CHECK(same_bits(got, expected, HELD), "not there");
        if (way == 6) c.ctx = test_context();
        end_caller(&c);
        check_no_leaks();
    }
}

/* A context that takes the place of an ended one waits for its results. */
static void off_again(void)
{
    float expected[3], got[3];
    if (!test_on_sim()) return;
    expect(expected, got, 3);
    caller c = new_caller(0);
    reduce(c.ctx, c.x, 0, &got[0]);
    CHECK_STATUS(DUO_OK, duo_destroy(c.ctx));
    sim_set_delay(5000);
    c.ctx = test_context();
    reduce(c.ctx, c.x, 1, &got[1]);
    CHECK(same_bits(got, expected, 2), "a new context does not wait");
    CHECK_STATUS(DUO_OK, duo_set_async(c.ctx, 1));
    CHECK_STATUS(DUO_OK, duo_set_async(c.ctx, 0));
    reduce(c.ctx, c.x, 2, &got[2]);
    CHECK(same_bits(got, expected, 3), "switched off, it does not wait");
    sim_set_delay(0);
    end_caller(&c);
    check_no_leaks();
}

/* ---- Results that are waited for all the same ---- */

static void say_nothing(void *user, const char *line) { (void)user, (void)line; }

static void waited_for(void)
{
    float expected[3], got[3];
    if (!test_on_sim()) return;
    float *const kept = new_floats(8);
    expect(expected, got, 3);
    caller c = new_caller(0);
    sim_set_delay(5000);
    test_case("async/waited-for/kept");
    CHECK_STATUS(DUO_OK, duo_keep(c.ctx, kept, 4 * sizeof *kept));
    reduce(c.ctx, c.x, 0, &kept[1]);
    CHECK(!awaits(c.ctx), "a kept array's result is awaited");
    CHECK_STATUS(DUO_OK, duo_fetch(c.ctx, &kept[1], sizeof *kept));
    CHECK(same_bits(&kept[1], expected, 1), "wrong bits");
    CHECK_STATUS(DUO_OK, duo_release(c.ctx, kept));
    test_case("async/waited-for/half kept"); /* the array begins in the middle of the result */
    CHECK_STATUS(DUO_OK, duo_keep(c.ctx, (char *)&got[0] + 2, 6));
    reduce(c.ctx, c.x, 0, &got[0]);
    CHECK(!awaits(c.ctx) && same_bits(got, expected, 1), "not there");
    CHECK_STATUS(DUO_OK, duo_release(c.ctx, (char *)&got[0] + 2));
    CHECK(same_bits(got, expected, 1) && all_untouched(got + 1, 2), "wrong bits");
    test_case("async/waited-for/log");
    CHECK_STATUS(DUO_OK, duo_set_log(c.ctx, say_nothing, NULL));
    reduce(c.ctx, c.x, 1, &got[1]);
    CHECK(same_bits(&got[1], &expected[1], 1), "not there");
    CHECK_STATUS(DUO_OK, duo_set_log(c.ctx, NULL, NULL));
    test_case("async/waited-for/words");
    sim_fail(SIM_PIN, 1, DUO_ERR_MEMORY, 1); /* there are no words for results */
    reduce(c.ctx, c.x, 2, &got[2]);
    CHECK(same_bits(&got[2], &expected[2], 1), "not there");
    sim_set_delay(0);
    end_caller(&c);
    free(kept);
    check_no_leaks();
}

/* The drop-in gives results as values; so a default context waits. */
static void default_context(void)
{
    float expected, got;
    expect(&expected, &got, 1);
    caller c = new_caller(0);
    CHECK_STATUS(DUO_OK, duo_set_async(NULL, 1));
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    if (test_on_sim()) sim_set_delay(5000);
    reduce(NULL, c.x, 0, &got);
    CHECK(same_bits(&got, &expected, 1), "not there");
    if (test_on_sim()) sim_set_delay(0);
    end_caller(&c);
}

/* duo_warm_up keeps its own result, and leaves nothing to pin. */
static void warm_up(void)
{
    float expected, got;
    expect(&expected, &got, 1);
    caller c = new_caller(0);
    CHECK_STATUS(DUO_OK, duo_set_threads(c.ctx, 1)); /* it makes no others */
    CHECK_STATUS(DUO_OK, duo_warm_up(c.ctx));
    CHECK(!awaits(c.ctx), "some are awaited");
    const uint64_t pinned = test_on_sim() ? sim_count(SIM_PIN) : 0;
    reduce(c.ctx, c.x, 0, &got);
    if (test_on_sim()) CHECK(sim_count(SIM_PIN) == pinned, "something was pinned");
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK(same_bits(&got, &expected, 1), "wrong bits");
    end_caller(&c);
    check_no_leaks();
}

static int clock_reads;

static double counted_clock(void)
{
    clock_reads++;
    return duo_now_seconds();
}

/* Nothing is learned from a call that returns early, or from one that waits for it. */
static void learning(void)
{
    enum { SIDE = 32 };
    float got[2], a[SIDE * SIDE], b[SIDE * SIDE];
    if (!test_on_sim()) return;
    fill(a, SIDE * SIDE, 1);
    caller c = new_caller(0);
    duo_adapt_clock = counted_clock;
    CHECK_STATUS(DUO_OK, duo_set_adapt(c.ctx, 1));
    clock_reads = 0;
    reduce(c.ctx, c.x, 0, &got[0]);
    CHECK(clock_reads == 0, "a call that returns early is timed");
    CHECK_STATUS(DUO_OK, square(c.ctx, SIDE, a, a, 0.0f, b));
    CHECK(clock_reads == 0, "a call that waits for others is timed");
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK_STATUS(DUO_OK, square(c.ctx, SIDE, a, a, 0.0f, b));
    CHECK(clock_reads > 0, "a product is not timed");
    CHECK_STATUS(DUO_OK, duo_set_async(c.ctx, 0));
    clock_reads = 0;
    reduce(c.ctx, c.x, 1, &got[1]);
    CHECK(clock_reads > 0, "a call that waits is not timed");
    duo_adapt_clock = duo_now_seconds;
    end_caller(&c);
    check_no_leaks();
}

/* ---- Several threads ---- */

enum { ROUNDS = 40, EACH = 9 };

typedef struct rounds {
    duo_event *event[ROUNDS];
    float expected[EACH], got[ROUNDS][EACH];
    sem_t recorded;
} rounds;

static void *wait_for_rounds(void *argument)
{
    rounds *const r = argument;
    for (int round = 0; round < ROUNDS; round++) {
        (void)sem_wait(&r->recorded);
        CHECK_STATUS(DUO_OK, duo_event_synchronize(r->event[round]));
        CHECK(same_bits(r->got[round], r->expected, EACH), "round %d is not there", round);
    }
    return NULL;
}

/* A thread waits for events while another one gives the context more work. */
static void other_thread(void)
{
    static rounds r;
    pthread_t thread;
    expect(r.expected, r.got[0], EACH);
    caller c = new_caller(0);
    if (test_on_sim()) sim_set_delay(50);
    (void)sem_init(&r.recorded, 0, 0);
    CHECK(pthread_create(&thread, NULL, wait_for_rounds, &r) == 0, "no thread");
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_STATUS(DUO_OK, duo_event_create(&r.event[round]));
        for (int i = 0; i < EACH; i++) reduce(c.ctx, c.x, i, &r.got[round][i]);
        CHECK_STATUS(DUO_OK, duo_event_record(c.ctx, r.event[round]));
        (void)sem_post(&r.recorded);
        if (round % 16 == 15) CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    }
    if (test_on_sim()) sim_set_delay(0);
    end_caller(&c); /* perhaps before the other thread comes to the last events */
    pthread_join(thread, NULL);
    for (int round = 0; round < ROUNDS; round++)
        CHECK_STATUS(DUO_OK, duo_event_destroy(r.event[round]));
    (void)sem_destroy(&r.recorded);
    check_no_leaks();
}

typedef struct shared {
    duo_event *event;
    bool end; /* atomic */
} shared;

static void *wait_again_and_again(void *argument)
{
    shared *const s = argument;
    while (!__atomic_load_n(&s->end, __ATOMIC_ACQUIRE))
        CHECK_STATUS(DUO_OK, duo_event_synchronize(s->event));
    return NULL;
}

/* An event is recorded alternately in two contexts while another thread waits for it. */
static void recorded_anew(void)
{
    static float expected[CALLS], got[2][CALLS];
    shared s = {.event = NULL};
    pthread_t thread;
    expect(expected, got[0], CALLS);
    caller c[2] = {new_caller(0), new_caller(0)};
    CHECK_STATUS(DUO_OK, duo_event_create(&s.event));
    CHECK(pthread_create(&thread, NULL, wait_again_and_again, &s) == 0, "no thread");
    if (test_on_sim()) sim_set_delay(50);
    for (int i = 0; i < CALLS; i++)
        for (int k = 0; k < 2; k++) {
            reduce(c[k].ctx, c[k].x, i, &got[k][i]);
            CHECK_STATUS(DUO_OK, duo_event_record(c[k].ctx, s.event));
        }
    __atomic_store_n(&s.end, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK_STATUS(DUO_OK, duo_event_synchronize(s.event));
    CHECK(same_bits(got[1], expected, CALLS), "not there at the event");
    CHECK_STATUS(DUO_OK, duo_synchronize(c[0].ctx));
    CHECK(same_bits(got[0], expected, CALLS), "wrong bits");
    CHECK_STATUS(DUO_OK, duo_event_destroy(s.event));
    if (test_on_sim()) sim_set_delay(0);
    for (int k = 0; k < 2; k++) end_caller(&c[k]);
    check_no_leaks();
}

/* ---- What goes wrong ---- */

/* Awaited results are lost with the device, no matter who asks first; delivered ones are not. */
static void device_is_lost(void)
{
    enum { HELD = 20, WAYS = 3 };
    static const char *const first[WAYS] = {"event", "synchronize", "destroy"};
    float expected[HELD], got[HELD];
    if (!test_on_sim()) return;
    expect(expected, got, HELD);
    for (int delivered = 0; delivered < 2; delivered++)
        for (int way = 0; way < WAYS; way++) {
            const duo_status told = delivered ? DUO_OK : DUO_ERR_LOST;
            test_case("async/lost/%s/%s", delivered ? "delivered" : "awaited", first[way]);
            sim_reset();
            duo_backend_install(sim_backend());
            caller c = new_caller(0);
            duo_event *event = NULL;
            int done = 0;
            for (int i = 0; i < HELD; i++) got[i] = untouched;
            CHECK_STATUS(DUO_OK, duo_event_create(&event));
            if (!delivered) sim_hold(true);
            for (int i = 0; i < HELD; i++) reduce(c.ctx, c.x, i, &got[i]);
            CHECK_STATUS(DUO_OK, duo_event_record(c.ctx, event));
            if (delivered) CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
            sim_lose(0);
            sim_hold(false);
            if (way == 0) CHECK_STATUS(told, duo_event_synchronize(event));
            if (way < 2) {
                CHECK_STATUS(told, duo_synchronize(c.ctx));
                CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx)); /* told once */
                CHECK_STATUS(DUO_OK, duo_ssum(c.ctx, HELD, expected, 1, got));
                CHECK(got[0] != untouched, "the CPU's result is not there");
                got[0] = delivered ? expected[0] : untouched;
            }
            CHECK_STATUS(way < 2 ? DUO_OK : told, duo_destroy(c.ctx));
            CHECK_STATUS(told, duo_event_query(event, &done));
            CHECK(done == 1, "a lost device is waited for");
            CHECK_STATUS(told, duo_event_synchronize(event));
            CHECK(delivered ? same_bits(got, expected, HELD) : all_untouched(got, HELD),
                  "results of a lost device");
            CHECK_STATUS(DUO_OK, duo_event_destroy(event));
            CHECK_STATUS(DUO_OK, duo_free(NULL, c.x));
        }
}

/* Another device takes the place of the lost one; the loss is told later. */
static void device_is_replaced(void)
{
    float expected[2], got[2], x[N];
    const int both[] = {0, 1};
    if (!test_on_sim()) return;
    expect(expected, got, 2);
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    caller c = new_caller(0);
    CHECK_STATUS(DUO_OK, duo_copy(c.ctx, x, c.x, sizeof x));
    CHECK_STATUS(DUO_OK, duo_set_devices(c.ctx, both, 2));
    sim_hold(true);
    reduce(c.ctx, c.x, 0, &got[0]);
    sim_lose(0);
    sim_hold(false);
    reduce(c.ctx, x, 1, &got[1]); /* finds the loss */
    CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(c.ctx));
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK(all_untouched(got, 1), "a result of a lost device");
    CHECK(same_bits(&got[1], &expected[1], 1), "wrong bits");
    CHECK_STATUS(DUO_OK, duo_free(c.ctx, c.x));
    CHECK_STATUS(DUO_OK, duo_destroy(c.ctx));
}

/* A device that cannot be waited for now can be later. */
static void not_waited_for(void)
{
    float expected[3], got[3];
    if (!test_on_sim()) return;
    expect(expected, got, 3);
    caller c = new_caller(0);
    sim_set_delay(1000);
    reduce(c.ctx, c.x, 0, &got[0]);
    sim_fail(SIM_WAIT, 1, DUO_ERR_DEVICE, 2); /* each wait is tried twice */
    CHECK_STATUS(DUO_ERR_DEVICE, duo_synchronize(c.ctx));
    CHECK(all_untouched(got, 1), "delivered, and nobody waited");
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK(same_bits(got, expected, 1), "not there");
    reduce(c.ctx, c.x, 1, &got[1]);
    sim_fail(SIM_WAIT, 1, DUO_ERR_DEVICE, 2);
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_async(c.ctx, 0));
    reduce(c.ctx, c.x, 2, &got[2]);
    CHECK(awaits(c.ctx), "it was switched off without waiting");
    CHECK_STATUS(DUO_OK, duo_set_async(c.ctx, 0));
    CHECK(same_bits(got, expected, 3), "not there");
    sim_set_delay(0);
    end_caller(&c);
    check_no_leaks();
}

/* A child process gets none of its parent's results. */
static void after_a_fork(void)
{
    enum { HELD = 10 };
    float expected[HELD], got[HELD];
    if (!test_on_sim()) return;
    expect(expected, got, HELD);
    caller c = new_caller(0);
    sim_set_delay(20000);
    for (int i = 0; i < HELD; i++) reduce(c.ctx, c.x, i, &got[i]);
    const pid_t child = fork();
    if (child == 0) {
        float sum = 0.0f;
        const bool good = duo_synchronize(c.ctx) == DUO_OK && all_untouched(got, HELD) &&
                          duo_ssum(c.ctx, HELD, expected, 1, &sum) == DUO_OK && sum != 0.0f &&
                          duo_set_async(c.ctx, 0) == DUO_OK && duo_destroy(c.ctx) == DUO_OK;
        _exit(good && all_untouched(got, HELD) ? 0 : 1);
    }
    CHECK(test_child_wait((int)child, 30) == 0, "the child's context is wrong");
    CHECK_STATUS(DUO_OK, duo_synchronize(c.ctx));
    CHECK(same_bits(got, expected, HELD), "wrong bits");
    sim_set_delay(0);
    end_caller(&c);
    check_no_leaks();
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"arguments", arguments},
                                       {"results", results},
                                       {"returns_early", returns_early},
                                       {"asking", asking},
                                       {"overflow", overflow},
                                       {"overflow_fails", overflow_fails},
                                       {"closing", closing},
                                       {"off_again", off_again},
                                       {"waited_for", waited_for},
                                       {"learning", learning},
                                       {"other_thread", other_thread},
                                       {"recorded_anew", recorded_anew},
                                       {"device_is_lost", device_is_lost},
                                       {"device_is_replaced", device_is_replaced},
                                       {"not_waited_for", not_waited_for},
                                       {"after_a_fork", after_a_fork},
                                       {"warm_up", warm_up},
                                       {"default_context", default_context},
                                       {NULL, NULL}};
    return test_main(argc, argv, "async", tests);
}
