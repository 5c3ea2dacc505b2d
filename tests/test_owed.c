/*
 * test_owed.c - results lost with a device are told exactly once, by duo_synchronize or
 * duo_destroy, after all events in between; and no loss is told if the results came.
 */
#include <pthread.h>
#include <string.h>

#include "sim/sim.h"
#include "support/harness.h"

enum { N = 4096 };

static float vector[N], result, other;

/* ---- Work under way ---- */

typedef struct work {
    duo_context *ctx;
    float *x, *y; /* on device 0; y is written */
    float *kept;
} work;

static float kept_array[64 * 64];

static void begin(work *w)
{
    void *memory = NULL;
    sim_set_devices(3);
    w->ctx = test_context();
    w->kept = kept_array;
    for (int i = 0; i < N; i++) vector[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_malloc(w->ctx, sizeof vector, &memory));
    w->x = memory;
    CHECK_STATUS(DUO_OK, duo_malloc(w->ctx, sizeof vector, &memory));
    w->y = memory;
    CHECK_STATUS(DUO_OK, duo_copy(w->ctx, w->x, vector, sizeof vector));
    CHECK_STATUS(DUO_OK, duo_copy(w->ctx, w->y, vector, sizeof vector));
    CHECK_STATUS(DUO_OK, duo_keep(w->ctx, w->kept, sizeof kept_array));
    CHECK_STATUS(DUO_OK, duo_set_async(w->ctx, 1));
    CHECK_STATUS(DUO_OK, duo_synchronize(w->ctx));
}

static void end(work *w)
{
    CHECK_STATUS(DUO_OK, duo_free(NULL, w->x));
    CHECK_STATUS(DUO_OK, duo_free(NULL, w->y));
    (void)duo_release(NULL, w->kept);
    CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

static void defer(work *w) { CHECK_STATUS(DUO_OK, duo_ssum(w->ctx, N, w->x, 1, &result)); }

static void leave(work *w) { CHECK_STATUS(DUO_OK, duo_ssum(w->ctx, N, w->x, 1, w->y)); }

static void copy(work *w) { CHECK_STATUS(DUO_OK, duo_copy(w->ctx, w->y, w->x, sizeof vector)); }

static void multiply(work *w)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(w->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 64, 64, 64,
                                   1.0f, w->x, 64, w->x, 64, 0.0f, w->kept, 64));
}

/* The CPU's result goes to the device. */
static void upload(work *w)
{
    CHECK_STATUS(DUO_OK, duo_set_path(w->ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, duo_ssum(w->ctx, N, vector, 1, w->y));
    CHECK_STATUS(DUO_OK, duo_set_path(w->ctx, DUO_PATH_GPU));
}

static const struct {
    const char *name;
    void (*queue)(work *w);
} works[] = {{"a deferred result", defer},
             {"a result on the device", leave},
             {"a copy", copy},
             {"a product in a kept array", multiply},
             {"the CPU's result on the device", upload}};

/* ---- What happens in between ---- */

static void nothing(duo_context *ctx) { (void)ctx; }

static void another_device(duo_context *ctx) { CHECK_STATUS(DUO_OK, duo_set_device(ctx, 1)); }

static void several_devices(duo_context *ctx)
{
    const int devices[] = {1, 2};
    CHECK_STATUS(DUO_OK, duo_set_devices(ctx, devices, 2));
}

static void another_stream(duo_context *ctx)
{
    static int stream;
    CHECK_STATUS(DUO_OK, duo_set_stream(ctx, &stream));
}

static void another_priority(duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_set_priority(ctx, DUO_PRIORITY_HIGH));
}

static void trim(duo_context *ctx) { CHECK_STATUS(DUO_OK, duo_trim(ctx)); }

static void compute_on_host(duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, vector, 1, &other));
}

/* It moves to another device, where it queues an output that cannot be waited for at first. */
static void fail_to_wait(duo_context *ctx, duo_status failure)
{
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_set_device(ctx, 1));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof(float), &memory));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, vector, 1, memory));
    sim_fail(SIM_WAIT, 1, failure, 2);
    CHECK_STATUS(DUO_ERR_DEVICE, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
}

static void fail_by_device(duo_context *ctx) { fail_to_wait(ctx, DUO_ERR_DEVICE); }
static void fail_by_memory(duo_context *ctx) { fail_to_wait(ctx, DUO_ERR_MEMORY); }

/* Memory of another device is reached by a queue there. */
static void reach(duo_context *ctx)
{
    duo_context *const there = test_context();
    void *memory = NULL;
    float got = 0.0f;
    CHECK_STATUS(DUO_OK, duo_set_device(there, 1));
    CHECK_STATUS(DUO_OK, duo_malloc(there, sizeof(float), &memory));
    CHECK_STATUS(DUO_OK, duo_copy(there, memory, &vector[0], sizeof got));
    test_context_end(there);
    compute_on_host(ctx); /* it finds that its device is lost */
    CHECK_STATUS(DUO_OK, duo_copy(ctx, &got, memory, sizeof got));
    CHECK(got == 1.0f, "%g", (double)got);
    CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
}

static void ask_event(duo_context *ctx)
{
    duo_event *event = NULL;
    int done = 0;
    CHECK_STATUS(DUO_OK, duo_event_create(&event));
    CHECK_STATUS(DUO_OK, duo_event_record(ctx, event));
    CHECK_STATUS(DUO_ERR_LOST, duo_event_synchronize(event));
    CHECK_STATUS(DUO_ERR_LOST, duo_event_query(event, &done));
    CHECK(done == 1, "it is not done");
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
}

static void ask_event_there(duo_context *ctx)
{
    another_device(ctx);
    ask_event(ctx);
}

static void several(duo_context *ctx)
{
    another_priority(ctx);
    another_device(ctx);
    compute_on_host(ctx);
    another_stream(ctx);
}

static const struct {
    const char *name;
    void (*happens)(duo_context *ctx);
} between[] = {{"nothing", nothing},
               {"duo_set_device", another_device},
               {"duo_set_devices", several_devices},
               {"duo_set_stream", another_stream},
               {"duo_set_priority", another_priority},
               {"duo_trim", trim},
               {"a call", compute_on_host},
               {"a failed wait", fail_by_device},
               {"a failed wait, out of memory", fail_by_memory},
               {"another device reached", reach},
               {"an event", ask_event},
               {"an event on another device", ask_event_there},
               {"several setters", several}};

enum { WORKS = sizeof works / sizeof works[0], BETWEEN = sizeof between / sizeof between[0] };

static void told_once(void)
{
    for (int i = 0; i < 2 * WORKS * BETWEEN; i++) {
        work w;
        const bool destroy = i % 2 != 0;
        const int queued = i / 2 % WORKS, happens = i / 2 / WORKS;
        test_reset();
        test_case("%s/%s/%s", works[queued].name, between[happens].name,
                  destroy ? "duo_destroy" : "duo_synchronize");
        begin(&w);
        works[queued].queue(&w);
        sim_lose(0);
        between[happens].happens(w.ctx);
        if (!destroy) {
            CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(w.ctx));
            CHECK_STATUS(DUO_OK, duo_synchronize(w.ctx));
        }
        CHECK_STATUS(destroy ? DUO_ERR_LOST : DUO_OK, duo_destroy(w.ctx));
        end(&w);
    }
}

/* ---- Results that came ---- */

/* A reduction's result in a kept array is in host memory when the call returns. */
static void not_lost(void)
{
    work w;
    begin(&w);
    test_case("a result in a kept array");
    CHECK_STATUS(DUO_OK, duo_changed(w.ctx, w.kept, sizeof kept_array));
    CHECK_STATUS(DUO_OK, duo_ssum(w.ctx, N, w.x, 1, w.kept));
    sim_lose(0);
    CHECK_STATUS(DUO_OK, duo_synchronize(w.ctx));
    CHECK_STATUS(DUO_OK, duo_fetch(w.ctx, w.kept, sizeof kept_array));
    CHECK(w.kept[0] == (float)N, "%g", (double)w.kept[0]);
    CHECK_STATUS(DUO_OK, duo_destroy(w.ctx));
    end(&w);
}

static void check_event(duo_event *event, duo_status status)
{
    int done = 0;
    CHECK_STATUS(status, duo_event_query(event, &done));
    CHECK(done == 1, "it is not done");
    CHECK_STATUS(status, duo_event_synchronize(event));
}

/* Device 0 takes a result with it, device 1 delivers one and then takes another with it. */
static void delivered_between(bool pooled)
{
    work w;
    duo_event *event[3];
    float delivered = 0.0f;
    void *memory = NULL;
    test_case("%s", pooled ? "in a context of the pool" : "in one context");
    begin(&w);
    for (int i = 0; i < 3; i++) CHECK_STATUS(DUO_OK, duo_event_create(&event[i]));
    defer(&w);
    CHECK_STATUS(DUO_OK, duo_event_record(w.ctx, event[0]));
    sim_lose(0);
    if (pooled) {
        CHECK_STATUS(DUO_ERR_LOST, duo_destroy(w.ctx));
        w.ctx = test_context();
        CHECK_STATUS(DUO_OK, duo_set_async(w.ctx, 1));
    } else {
        CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(w.ctx));
    }
    CHECK_STATUS(DUO_OK, duo_set_device(w.ctx, 1));
    CHECK_STATUS(DUO_OK, duo_malloc(w.ctx, sizeof vector, &memory));
    CHECK_STATUS(DUO_OK, duo_copy(w.ctx, memory, vector, sizeof vector));
    CHECK_STATUS(DUO_OK, duo_ssum(w.ctx, N, memory, 1, &delivered));
    CHECK_STATUS(DUO_OK, duo_event_record(w.ctx, event[1]));
    check_event(event[0], DUO_ERR_LOST);
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event[1]));
    CHECK(delivered == (float)N, "%g", (double)delivered);
    sim_hold(true);
    CHECK_STATUS(DUO_OK, duo_ssum(w.ctx, N, memory, 1, &result));
    CHECK_STATUS(DUO_OK, duo_event_record(w.ctx, event[2]));
    sim_lose(1);
    sim_hold(false);
    check_event(event[2], DUO_ERR_LOST);
    for (int i = 0; i < 2; i++) {
        check_event(event[0], DUO_ERR_LOST);
        check_event(event[1], DUO_OK);
        check_event(event[2], DUO_ERR_LOST);
        CHECK_STATUS(i == 0 ? DUO_ERR_LOST : DUO_OK, duo_synchronize(w.ctx));
    }
    for (int i = 0; i < 3; i++) CHECK_STATUS(DUO_OK, duo_event_destroy(event[i]));
    CHECK_STATUS(DUO_OK, duo_destroy(w.ctx));
    CHECK_STATUS(DUO_OK, duo_free(NULL, memory));
    end(&w);
}

static void events(void)
{
    delivered_between(false);
    test_reset();
    delivered_between(true);
}

/* ---- Default contexts ---- */

static void *leave_and_go(void *user)
{
    void *memory = NULL;
    (void)user;
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_GPU));
    CHECK_STATUS(DUO_OK, duo_set_device(NULL, 1));
    CHECK_STATUS(DUO_OK, duo_malloc(NULL, sizeof(float), &memory));
    CHECK_STATUS(DUO_OK, duo_ssum(NULL, N, vector, 1, memory));
    sim_lose(1);
    return memory;
}

static void *ask_twice(void *user)
{
    CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(NULL));
    CHECK_STATUS(DUO_OK, duo_synchronize(NULL));
    CHECK_STATUS(DUO_OK, duo_free(NULL, user));
    return NULL;
}

/* A thread ends without waiting; the next thread with its default context is told. */
static void default_contexts(void)
{
    pthread_t thread;
    void *memory = NULL;
    sim_set_devices(2);
    test_case("another thread");
    CHECK(pthread_create(&thread, NULL, leave_and_go, NULL) == 0, "no thread");
    CHECK(pthread_join(thread, &memory) == 0, "no end");
    CHECK(pthread_create(&thread, NULL, ask_twice, memory) == 0, "no thread");
    CHECK(pthread_join(thread, NULL) == 0, "no end");
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"told_once", told_once},
                                       {"not_lost", not_lost},
                                       {"events", events},
                                       {"default_contexts", default_contexts},
                                       {NULL, NULL}};
    return test_main(argc, argv, "owed", tests);
}
