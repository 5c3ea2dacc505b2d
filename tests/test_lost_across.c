/*
 * test_lost_across.c - one of two devices is lost while a context of the one works on memory of the
 * other: data that did not arrive are never taken for right.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/exact.h"
#include "support/graph_works.h"
#include "support/harness.h"
#include "support/mishaps.h"

enum { FLOATS = 900, EDGE = 30, BYTES = FLOATS * sizeof(float), ROOM = 1 << 20 };

/* Context i is of device i. */
typedef struct pair {
    duo_context *ctx[2];
    float *on[2]; /* of FLOATS on each device: 1, 1, ... and 2, 2, ... */
    float host[FLOATS];
} pair;

static void begin(pair *p, const char *name)
{
    begin_case(name);
    test_reset();
    sim_set_devices(2);
    sim_set_memory(ROOM);
    for (int i = 0; i < 2; i++) {
        void *memory = NULL;
        CHECK_STATUS(DUO_OK, duo_create(&p->ctx[i]));
        CHECK_STATUS(DUO_OK, duo_set_device(p->ctx[i], i));
        CHECK_STATUS(DUO_OK, duo_set_path(p->ctx[i], DUO_PATH_GPU));
        CHECK_STATUS(DUO_OK, duo_malloc(p->ctx[i], BYTES, &memory));
        p->on[i] = memory;
        for (int j = 0; j < FLOATS; j++) p->host[j] = (float)(i + 1);
        CHECK_STATUS(DUO_OK, duo_copy(p->ctx[i], memory, p->host, BYTES));
        CHECK_STATUS(DUO_OK, duo_synchronize(p->ctx[i]));
    }
    test_fill_poison(p->host, FLOATS);
}

static void end(pair *p)
{
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(DUO_OK, duo_free(p->ctx[i], p->on[i]));
        (void)duo_destroy(p->ctx[i]);
    }
    alarm(0);
}

/* ---- A loss in the middle of a call ---- */

typedef struct call {
    duo_context *ctx;
    void *dst;
    const void *src; /* NULL: fetches dst */
    duo_status status;
} call;

static void *do_call(void *given)
{
    call *const c = given;
    c->status =
        c->src != NULL ? duo_copy(c->ctx, c->dst, c->src, BYTES) : duo_fetch(c->ctx, c->dst, BYTES);
    return NULL;
}

/* Makes the call, and loses the device when its first copy is queued. */
static duo_status lose_in(call c, int device)
{
    pthread_t thread;
    const uint64_t before = sim_count(SIM_COPY);
    sim_hold(true);
    if (pthread_create(&thread, NULL, do_call, &c) != 0) abort();
    while (sim_count(SIM_COPY) == before) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    sim_lose(device);
    sim_hold(false);
    pthread_join(thread, NULL);
    return c.status;
}

static bool all_are(const float *x, float value)
{
    bool all = true;
    for (int i = 0; i < FLOATS; i++) all &= x[i] == value;
    return all;
}

static void downloads(void)
{
    pair p;
    begin(&p, "lost_across/download");
    CHECK_STATUS(DUO_ERR_LOST, lose_in((call){p.ctx[0], p.host, p.on[1], DUO_OK}, 1));
    CHECK(duo_device_usable(0) && !duo_device_usable(1), "which is lost?");
    CHECK_STATUS(DUO_OK, duo_copy(p.ctx[0], p.host, p.on[0], BYTES));
    CHECK(all_are(p.host, 1.0f), "%g", (double)p.host[0]);
    end(&p);

    begin(&p, "lost_across/download from a lost device");
    CHECK_STATUS(DUO_OK, duo_destroy(p.ctx[1])); /* no work of it to follow */
    sim_lose(1);
    CHECK_STATUS(DUO_ERR_LOST, duo_copy(p.ctx[0], p.host, p.on[1], BYTES));
    CHECK(duo_device_usable(0) && !duo_device_usable(1), "which is lost?");
    CHECK_STATUS(DUO_OK, duo_create(&p.ctx[1]));
    CHECK_STATUS(DUO_OK, duo_copy(p.ctx[0], p.host, p.on[0], BYTES));
    CHECK(all_are(p.host, 1.0f), "%g", (double)p.host[0]);
    end(&p);

    begin(&p, "lost_across/download, own device");
    CHECK_STATUS(DUO_OK, lose_in((call){p.ctx[0], p.host, p.on[1], DUO_OK}, 0));
    CHECK(all_are(p.host, 2.0f), "%g", (double)p.host[0]);
    end(&p);
}

/* If the device's data are newer, only data that have arrived are fetched. */
static void fetches(void)
{
    pair p;
    static float ones[FLOATS], product[FLOATS];
    for (int i = 0; i < FLOATS; i++) ones[i] = 1.0f;
    for (int lost = 0; lost < 2; lost++) {
        begin(&p, lost == 1 ? "lost_across/fetch" : "lost_across/fetch, own device");
        test_fill_poison(product, FLOATS);
        CHECK_STATUS(DUO_OK, duo_keep(p.ctx[1], product, BYTES));
        CHECK_STATUS(DUO_OK, square(p.ctx[1], EDGE, ones, ones, 0.0f, product));
        CHECK_STATUS(DUO_OK, duo_synchronize(p.ctx[1]));
        const duo_status expected = lost == 1 ? DUO_ERR_LOST : DUO_OK;
        CHECK_STATUS(expected, lose_in((call){p.ctx[0], product, NULL, DUO_OK}, lost));
        CHECK(lost == 1 || all_are(product, (float)EDGE), "%g", (double)product[0]);
        CHECK_STATUS(expected, duo_release(p.ctx[0], product));
        end(&p);
    }
}

/* Data that did not arrive on a device that goes on are told, or sent again. */
static void uploads(void)
{
    pair p;
    float threes[FLOATS];
    for (int i = 0; i < FLOATS; i++) threes[i] = 3.0f;
    begin(&p, "lost_across/upload");
    const duo_work work = work_copying(p.host, p.on[1], BYTES);
    duo_graph *const graph = graph_built(p.ctx[1], &work, 1, false, NULL);
    CHECK_STATUS(DUO_OK, lose_in((call){p.ctx[0], p.on[1], threes, DUO_OK}, 0));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, p.ctx[1]));
    CHECK(all_are(p.host, 3.0f), "%g", (double)p.host[0]);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    end(&p);
}

static void between_devices(void)
{
    pair p;
    void *more = NULL;
    begin(&p, "lost_across/from the lost device");
    CHECK_STATUS(DUO_ERR_LOST, lose_in((call){p.ctx[1], p.on[1], p.on[0], DUO_OK}, 0));
    end(&p);

    begin(&p, "lost_across/within another device");
    CHECK_STATUS(DUO_OK, duo_malloc(p.ctx[1], BYTES, &more));
    CHECK_STATUS(DUO_OK, duo_copy(p.ctx[0], more, p.on[1], BYTES));
    CHECK_STATUS(DUO_OK, duo_copy(p.ctx[1], p.host, more, BYTES));
    CHECK(all_are(p.host, 2.0f), "%g", (double)p.host[0]);
    CHECK_STATUS(DUO_OK, lose_in((call){p.ctx[0], p.on[1], more, DUO_OK}, 0));
    CHECK_STATUS(DUO_OK, duo_copy(p.ctx[1], p.host, p.on[1], BYTES));
    CHECK(all_are(p.host, 2.0f), "%g", (double)p.host[0]);
    CHECK_STATUS(DUO_OK, duo_free(p.ctx[1], more));
    end(&p);
}

/* The CPU computes with memory of another device than the context's, and writes there. */
static void on_the_host(void)
{
    pair p;
    float sum = test_poison();
    begin(&p, "lost_across/on the host");
    sim_fail(SIM_COPY, 1, DUO_ERR_LOST, 1); /* device 0: its queue transfers */
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[0], FLOATS, p.on[1], 1, &sum));
    CHECK(sum == 2.0f * FLOATS, "%g", (double)sum);
    CHECK(!duo_device_usable(0) && duo_device_usable(1), "which is lost?");
    end(&p);

    begin(&p, "lost_across/on the host, behind others");
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[1], FLOATS, p.on[1], 1, p.on[1]));
    sim_lose(0); /* which is found by following the other's queue */
    sum = test_poison();
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[0], 1, p.on[1], 1, &sum));
    CHECK(sum == 2.0f * FLOATS, "%g", (double)sum);
    end(&p);

    begin(&p, "lost_across/result of the host");
    sim_fail(SIM_COPY, 2, DUO_ERR_LOST, 1);
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[0], FLOATS, p.on[1], 1, p.on[1]));
    CHECK_STATUS(DUO_OK, duo_copy(p.ctx[1], &sum, p.on[1], sizeof sum));
    CHECK(sum == 2.0f * FLOATS, "%g", (double)sum);
    end(&p);
}

/* A reduction in pieces, as the vector has no room on the device, ends on the other one. */
static void in_pieces(void)
{
    enum { MANY = ROOM / sizeof(float) + 100 };
    static float many[MANY];
    pair p;
    for (int i = 0; i < MANY; i++) many[i] = 1.0f;
    for (int loses = 0; loses < 2; loses++) {
        static uint64_t copies;
        float sum = test_poison();
        begin(&p, loses == 1 ? "lost_across/in pieces, own device" : "lost_across/in pieces");
        const uint64_t before = sim_count(SIM_COPY);
        if (loses == 1) sim_fail(SIM_COPY, (int)copies, DUO_ERR_LOST, 1); /* the result's */
        CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[0], MANY, many, 1, p.on[1]));
        copies = sim_count(SIM_COPY) - before;
        CHECK(duo_device_usable(0) == (loses == 0) && duo_device_usable(1), "which is lost?");
        CHECK_STATUS(DUO_OK, duo_copy(p.ctx[1], &sum, p.on[1], sizeof sum));
        CHECK(sum == (float)MANY, "%g", (double)sum);
        end(&p);
    }
}

/* A context of the lost device launches a graph of the other one. */
static void launch(bool awaited)
{
    pair p;
    void *pinned = NULL;
    float sum = test_poison();
    begin(&p, awaited ? "lost_across/launch, with a result on the other" : "lost_across/launch");
    CHECK_STATUS(DUO_OK, duo_malloc_host(p.ctx[0], BYTES, &pinned));
    test_fill_poison(pinned, FLOATS);
    const duo_work works[] = {work_copying(pinned, p.on[0], BYTES),
                              work_reduction(DUO_WORK_SSUM, FLOATS, pinned, &sum)};
    duo_graph *const graph = graph_built(p.ctx[0], works, 2, true, NULL);
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, p.ctx[1]));
    if (awaited) CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[1], FLOATS, p.on[1], 1, p.on[1]));
    sim_lose(1);
    for (int i = 0; i < 2; i++) {
        sum = test_poison();
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, p.ctx[1]));
        CHECK(sum == (float)FLOATS, "%g", (double)sum);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_free_host(p.ctx[0], pinned));
    end(&p);
}

static void launches(void)
{
    launch(false);
    launch(true);
}

/* A result that comes later was lost with the device that the context had before. */
static void launch_with_lost_result(void)
{
    pair p;
    void *pinned = NULL;
    float sum = test_poison(), later = test_poison();
    begin(&p, "lost_across/launch, with a result that is lost");
    CHECK_STATUS(DUO_OK, duo_malloc_host(p.ctx[0], BYTES, &pinned));
    const duo_work works[] = {work_copying(pinned, p.on[0], BYTES),
                              work_reduction(DUO_WORK_SSUM, FLOATS, pinned, &sum)};
    duo_graph *const graph = graph_built(p.ctx[0], works, 2, true, NULL);
    CHECK_STATUS(DUO_OK, duo_set_async(p.ctx[1], 1));
    sim_hold(true);
    CHECK_STATUS(DUO_OK, duo_ssum(p.ctx[1], FLOATS, p.on[1], 1, &later));
    sim_lose(1);
    sim_hold(false);
    CHECK_STATUS(DUO_OK, duo_set_device(p.ctx[1], 0));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, p.ctx[1]));
    CHECK(sum == (float)FLOATS && test_is_poison(later), "%g %g", (double)sum, (double)later);
    CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(p.ctx[1]));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_free_host(p.ctx[0], pinned));
    end(&p);
}

static const test_entry tests[] = {
    {"downloads", downloads},
    {"fetches", fetches},
    {"uploads", uploads},
    {"between_devices", between_devices},
    {"on_the_host", on_the_host},
    {"in_pieces", in_pieces},
    {"launches", launches},
    {"launch_with_lost_result", launch_with_lost_result},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    watch();
    return test_main(argc, argv, "lost_across", tests);
}
