/*
 * test_statuses.c - every status that a function returns is documented, and every documented one is
 * returned. Scenarios call each function: with wrong arguments, and with good ones while a call of
 * the backend or an allocation fails, or a device is lost. Their statuses are compared with the
 * header's text (support/documented.h).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "data/checked.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/documented.h"
#include "support/failing_memory.h"
#include "support/harness.h"

enum { N = 1024, EDGE = 32, BYTES = N * sizeof(float) };

/* ---- The world of a scenario ---- */

static duo_context *ctx;       /* of the calls, on device 0 */
static duo_context *there;     /* on device 1 */
static duo_context *in_graph;  /* a graph is captured in it */
static duo_context *in_stream; /* it is on a stream that the program captures */
static duo_queue *program;
static float *x, *y, *far, *pinned; /* x, y: device 0; far: device 1; pinned: host */
static float kept[N], plain[N], result;
static duo_event *event, *captured_event, *awaited_event;
static duo_graph *graph, *built;
static duo_node node, built_node;
static duo_graph *captured_graph;
static void *foreign;

static float *on_device(duo_context *c)
{
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(c, BYTES, &memory));
    CHECK_STATUS(DUO_OK, duo_copy(c, memory, plain, BYTES));
    return memory;
}

static duo_work a_sum(const float *from, float *to)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SSUM,
                      .n = N,
                      .x = from,
                      .incx = 1,
                      .result = to};
}

static duo_work a_copy(void *to, const void *from)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_COPY,
                      .dst = to,
                      .src = from,
                      .width = BYTES,
                      .height = 1};
}

static void make_graphs(void)
{
    const duo_work sum = a_sum(x, y), home = a_copy(plain, y), host = a_sum(plain, &result);
    duo_node other;
    CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &sum, NULL, 0, &node));
    CHECK_STATUS(DUO_OK, duo_graph_create(&built));
    CHECK_STATUS(DUO_OK, duo_graph_add(built, &sum, NULL, 0, &built_node));
    CHECK_STATUS(DUO_OK, duo_graph_add(built, &home, &built_node, 1, &other));
    CHECK_STATUS(DUO_OK, duo_graph_add(built, &host, NULL, 0, NULL));
    CHECK_STATUS(DUO_OK, duo_graph_build(built, ctx));
}

static void capture(void)
{
    CHECK_STATUS(DUO_OK, duo_graph_begin(in_graph));
    CHECK_STATUS(DUO_OK, duo_event_record(in_graph, captured_event));
    CHECK_STATUS(DUO_OK, duo_warm_up(in_stream));
    CHECK_STATUS(DUO_OK, duo_backend_current()->open(0, NULL, DUO_PRIORITY_NORMAL, &program));
    CHECK_STATUS(DUO_OK, duo_set_stream(in_stream, duo_backend_current()->stream(program)));
    CHECK_STATUS(DUO_OK, duo_ssum(in_stream, N, plain, 1, &result));
    CHECK_STATUS(DUO_OK, duo_synchronize(in_stream));
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_begin(program));
}

static duo_context *dead;
static duo_event *dead_event;
static duo_graph *dead_graph;

/* Until others are made: their handles may be used again. */
static void make_dead(void)
{
    dead = test_dead_context();
    CHECK_STATUS(DUO_OK, duo_event_create(&dead_event));
    CHECK_STATUS(DUO_OK, duo_event_destroy(dead_event));
    CHECK_STATUS(DUO_OK, duo_graph_create(&dead_graph));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(dead_graph));
}

/* Device 1 has the newest bytes of half a kept array; device 0 has work under way. */
static void begin(void)
{
    void *memory = NULL;
    test_reset();
    sim_set_devices(2);
    ctx = test_context();
    there = test_context();
    in_graph = test_context();
    in_stream = test_context();
    CHECK_STATUS(DUO_OK, duo_set_device(there, 1));
    for (int i = 0; i < N; i++) plain[i] = kept[i] = 1.0f;
    x = on_device(ctx);
    y = on_device(ctx);
    far = on_device(there);
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, BYTES, &memory));
    pinned = memory;
    memcpy(pinned, plain, BYTES);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, kept, BYTES));
    CHECK_STATUS(DUO_OK, duo_event_create(&event));
    CHECK_STATUS(DUO_OK, duo_event_create(&captured_event));
    CHECK_STATUS(DUO_OK, duo_event_create(&awaited_event));
    make_graphs();
    capture();
    foreign = sim_foreign_malloc(0, BYTES);
    CHECK_STATUS(DUO_OK, duo_set_async(ctx, 1));
    CHECK_STATUS(DUO_OK,
                 duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE / 2, EDGE / 2,
                           EDGE / 2, 1.0f, x, EDGE, x, EDGE, 0.0f, kept, EDGE / 2));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &result));
    CHECK_STATUS(DUO_OK, duo_event_record(ctx, event));
    CHECK_STATUS(DUO_OK, duo_ssum(there, N, far, 1, far));
    CHECK_STATUS(DUO_OK, duo_event_record(there, awaited_event));
    make_dead();
}

static void stop_capture(void)
{
    duo_recorded *recorded = NULL;
    (void)duo_backend_current()->record_end(program, &recorded);
    if (recorded != NULL) duo_backend_current()->forget(recorded);
    (void)duo_set_stream(in_stream, NULL);
    (void)duo_backend_current()->close(program);
    if (captured_graph == NULL) (void)duo_graph_end(in_graph, &captured_graph);
    (void)duo_graph_destroy(captured_graph);
    captured_graph = NULL;
}

/* Ends every scenario. */
static void end(void)
{
    sim_fail(SIM_COUNT, 0, DUO_OK, 0);
    stop_capture();
    duo_context *const contexts[] = {ctx, there, in_graph, in_stream};
    for (int i = 0; i < 4; i++)
        if (contexts[i] != NULL)
            (void)duo_destroy(contexts[i]); /* results come before memory goes */
    (void)duo_release(NULL, kept);
    (void)duo_release(NULL, plain);
    sim_foreign_free(foreign);
    (void)duo_disown(NULL, foreign);
    float *const memory[] = {x, y, far};
    for (int i = 0; i < 3; i++) (void)duo_free(NULL, memory[i]);
    (void)duo_free_host(NULL, pinned);
    duo_graph *const graphs[] = {graph, built};
    for (int i = 0; i < 2; i++) (void)duo_graph_destroy(graphs[i]);
    duo_event *const events[] = {event, captured_event, awaited_event};
    for (int i = 0; i < 3; i++) (void)duo_event_destroy(events[i]);
}

/* ---- Scenarios ---- */

static duo_status product(duo_context *c, const float *a, const float *b, float beta, float *out)
{
    return duo_sgemm(c, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE, EDGE, EDGE, 1.0f, a, EDGE, b,
                     EDGE, beta, out, EDGE);
}

static duo_status products(duo_context *c, const float *a, float *out)
{
    const float *const list[] = {a, a};
    float *const outs[] = {out, out + EDGE};
    return duo_sgemm_batched(c, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE / 2, 2, 2, 1.0f, list,
                             EDGE, list, EDGE, 1.0f, outs, EDGE / 2, 2);
}

/* Of two products and of one. */
static duo_status groups(duo_context *c, const float *a, float *out)
{
    static const duo_transpose plainly[] = {DUO_NO_TRANS, DUO_NO_TRANS},
                               turned[] = {DUO_TRANS, DUO_TRANS};
    static const int64_t m[] = {EDGE / 2, EDGE / 4}, two[] = {2, 2}, ld[] = {EDGE, EDGE},
                         size[] = {2, 1};
    static const float one[] = {1.0f, 1.0f};
    const float *const list[] = {a, a, a};
    float *const outs[] = {out, out + EDGE, out + 2 * EDGE};
    return duo_sgemm_grouped(c, DUO_COL_MAJOR, 2, plainly, turned, m, two, two, one, list, ld, list,
                             ld, one, outs, m, size);
}

/* One group, with arguments that may be wrong. */
static duo_status group(duo_context *c, int layout, int64_t m, const float *const list[],
                        int64_t lda, float *const outs[], int64_t size)
{
    static const duo_transpose plainly[] = {DUO_NO_TRANS};
    static const int64_t two[] = {2};
    static const float one[] = {1.0f};
    return duo_sgemm_grouped(c, (duo_layout)layout, 1, plainly, plainly, &m, two, two, one, list,
                             &lda, list, two, one, outs, two, &size);
}

static duo_status strided(duo_context *c, const float *a, float *out)
{
    return duo_sgemm_strided_batched(c, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE / 2, 2, 2,
                                     1.0f, a, EDGE, 2, a, EDGE, 2, 1.0f, out, EDGE / 2, EDGE, 2);
}

#define GEMM(c, layout, m, a, lda, out)                                                            \
    duo_sgemm(c, layout, DUO_NO_TRANS, DUO_NO_TRANS, m, 2, 2, 1.0f, a, lda, a, 2, 0.0f, out, 2)
#define BATCH(c, layout, m, a, lda, out, count)                                                    \
    duo_sgemm_batched(c, layout, DUO_NO_TRANS, DUO_NO_TRANS, m, 2, 2, 1.0f, a, lda, a, 2, 0.0f,    \
                      out, 2, count)
#define STRIDED(c, layout, m, a, lda, out, stride, count)                                          \
    duo_sgemm_strided_batched(c, layout, DUO_NO_TRANS, DUO_NO_TRANS, m, 2, 2, 1.0f, a, lda, 0, a,  \
                              2, 0, 0.0f, out, 2, stride, count)

static const float *const list_of_plain[] = {plain, plain};
static float *const list_of_kept[] = {kept, kept + 4};
static void *got;
static const int devices_twice[] = {1, 1};
static duo_device_info info;
static duo_decision decision;
static duo_node found;
static int device_count, threads;
static int64_t numbers[2];

static void no_log(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static duo_status describe(int device, size_t size)
{
    info.size = size;
    return duo_device_describe(device, &info);
}

static duo_status explain(duo_context *c, size_t size)
{
    decision.size = size;
    return duo_explain_last(c, &decision);
}

static duo_status asynchronous_capture(void)
{
    CHECK_STATUS(DUO_OK, duo_set_async(in_stream, 1));
    return duo_set_async(in_stream, 0);
}

/* More than wait in the pool. */
enum { MANY = 200 };

static duo_status create(void)
{
    duo_context *made[MANY] = {NULL};
    duo_status status = DUO_OK;
    for (int i = 0; i < MANY && status == DUO_OK; i++) status = duo_create(&made[i]);
    for (int i = 0; i < MANY; i++) (void)duo_destroy(made[i]);
    return status;
}

static duo_status destroy(void)
{
    duo_context *const ended = ctx;
    ctx = NULL;
    return duo_destroy(ended);
}

static duo_status destroy_unwaited(void)
{
    sim_fail(SIM_WAIT, 1, DUO_ERR_DEVICE, -1);
    sim_fail(SIM_CLOSE, 1, DUO_ERR_DEVICE, -1);
    const duo_status status = destroy();
    sim_fail(SIM_WAIT, 0, DUO_OK, 0);
    sim_fail(SIM_CLOSE, 0, DUO_OK, 0);
    return status;
}

static duo_status allocate(duo_status (*take)(duo_context *, size_t, void **),
                           duo_status (*give)(duo_context *, void *))
{
    const duo_status status = take(ctx, BYTES, &got);
    (void)give(NULL, got);
    return status;
}

static duo_status free_x(void)
{
    float *const freed = x;
    x = NULL;
    return duo_free(there, freed);
}

static duo_status free_pinned(void)
{
    float *const freed = pinned;
    pinned = NULL;
    return duo_free_host(ctx, freed);
}

static duo_status create_event(void)
{
    duo_event *made[MANY] = {NULL};
    duo_status status = DUO_OK;
    for (int i = 0; i < MANY && status == DUO_OK; i++) status = duo_event_create(&made[i]);
    for (int i = 0; i < MANY; i++) (void)duo_event_destroy(made[i]);
    return status;
}

static duo_status destroy_event(void)
{
    duo_event *const ended = event;
    event = NULL;
    return duo_event_destroy(ended);
}

/* The device cannot follow it, and the host cannot wait for it. */
static duo_status wait_in_vain(void)
{
    sim_fail(SIM_AFTER, 1, DUO_ERR_DEVICE, -1);
    sim_fail(SIM_WAIT, 1, DUO_ERR_MEMORY, -1);
    const duo_status status = duo_event_wait(ctx, awaited_event);
    sim_fail(SIM_AFTER, 0, DUO_OK, 0);
    sim_fail(SIM_WAIT, 0, DUO_OK, 0);
    return status;
}

static duo_status query(duo_event *e)
{
    int done;
    return duo_event_query(e, &done);
}

static duo_status create_graph(void)
{
    duo_graph *made[MANY] = {NULL};
    duo_status status = DUO_OK;
    for (int i = 0; i < MANY && status == DUO_OK; i++) status = duo_graph_create(&made[i]);
    for (int i = 0; i < MANY; i++) (void)duo_graph_destroy(made[i]);
    return status;
}

static duo_status destroy_graph(void)
{
    duo_graph *const ended = built;
    built = NULL;
    return duo_graph_destroy(ended);
}

static duo_status add(duo_graph *g, duo_work work, const duo_node *after, int count)
{
    return duo_graph_add(g, &work, after, count, NULL);
}

static duo_status alter(duo_graph *g, duo_node n, duo_work work, const duo_node *after, int count)
{
    return duo_graph_alter(g, n, &work, after, count);
}

static duo_work sized(duo_work work, size_t size)
{
    work.size = size;
    return work;
}

static duo_work of_kind(duo_work work, int kind)
{
    work.kind = (duo_work_kind)kind;
    return work;
}

static struct {
    duo_work known;
    char more[8];
} later;

static const duo_work *later_work(void)
{
    later.known = sized(a_sum(x, y), sizeof later);
    later.more[0] = 1;
    return &later.known;
}

static const duo_node no_node = 77;

/* A built graph with this node beside nothing. */
static duo_status build(duo_work work, duo_context *c)
{
    duo_graph *g = NULL;
    duo_status status = duo_graph_create(&g);
    if (status == DUO_OK) status = duo_graph_add(g, &work, NULL, 0, NULL);
    if (status == DUO_OK) status = duo_graph_build(g, c);
    (void)duo_graph_destroy(g);
    return status;
}

static duo_work a_product(int layout, int64_t m, const float *a, int64_t lda)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SGEMM,
                      .layout = (duo_layout)layout,
                      .transa = DUO_NO_TRANS,
                      .transb = DUO_NO_TRANS,
                      .m = m,
                      .n = 2,
                      .k = 2,
                      .alpha = 1.0f,
                      .a = a,
                      .lda = lda,
                      .b = a,
                      .ldb = 2,
                      .c = kept + N / 2,
                      .ldc = 2};
}

static duo_status update(duo_graph *g, duo_node n, duo_work work)
{
    return duo_graph_update(g, n, &work);
}

static duo_status cycle(void)
{
    const duo_node itself[] = {node};
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node, NULL, itself, 1));
    return duo_graph_build(graph, ctx);
}

/* To and from pageable memory. */
static duo_status launch_copies(void)
{
    const duo_work there_and[] = {a_copy(x, plain), a_copy(plain, x)};
    duo_graph *g = NULL;
    duo_node before = 0;
    duo_status status = duo_graph_create(&g);
    for (int i = 0; i < 2 && status == DUO_OK; i++)
        status = duo_graph_add(g, &there_and[i], &before, i, &before);
    if (status == DUO_OK) status = duo_graph_build(g, ctx);
    if (status == DUO_OK) status = duo_graph_launch(g, ctx);
    (void)duo_graph_destroy(g);
    return status;
}

static duo_status destroy_launched(void)
{
    CHECK_STATUS(DUO_OK, duo_graph_launch(built, ctx));
    sim_fail(SIM_WAIT, 1, DUO_ERR_DEVICE, -1);
    const duo_status status = destroy_graph();
    sim_fail(SIM_WAIT, 0, DUO_OK, 0);
    return status;
}

static duo_status destroy_lost(void)
{
    CHECK_STATUS(DUO_OK, duo_graph_launch(built, ctx));
    sim_lose(0);
    return destroy_graph();
}

/* Some of these contexts never had results that come later. */
static duo_status asynchronous_without_memory(void)
{
    duo_context *made[MANY] = {NULL};
    duo_status status = DUO_OK;
    for (int i = 0; i < MANY; i++) CHECK_STATUS(DUO_OK, duo_create(&made[i]));
    (void)fail_memory_at(1);
    for (int i = 0; i < MANY && status == DUO_OK; i++) status = duo_set_async(made[i], 1);
    (void)fail_memory_at(0);
    for (int i = 0; i < MANY; i++) (void)duo_destroy(made[i]);
    return status;
}

/* A product of memory on the device gets a wrong element. */
static duo_status wrong_result(duo_status (*tells)(duo_context *))
{
    enum { FLOATS = 3 };
    duo_context *checks = NULL;
    void *on_device = NULL;
    const float ones[FLOATS] = {1.0f, 1.0f, 1.0f};
    CHECK_STATUS(DUO_OK, duo_create(&checks));
    CHECK_STATUS(DUO_OK, duo_malloc(checks, sizeof ones, &on_device));
    CHECK_STATUS(DUO_OK, duo_copy(checks, on_device, ones, sizeof ones));
    CHECK_STATUS(DUO_OK, duo_set_async(checks, 1));
    CHECK_STATUS(DUO_OK, duo_set_verify(checks, 1.0, 0));
    float *const at = on_device;
    sim_err(1);
    CHECK_STATUS(DUO_OK, duo_sgemm(checks, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 1, 1, 1, 1.0f,
                                   at, 1, at + 1, 1, 0.0f, at + 2, 1));
    const duo_status status = tells(checks);
    sim_err(0);
    duo_checked_reset();
    if (tells != duo_destroy) (void)duo_destroy(checks);
    (void)duo_free(NULL, on_device);
    return status;
}

static duo_status switch_off(duo_context *c) { return duo_set_async(c, 0); }

/* It has to make room for dependencies. */
static duo_status alter_more(void)
{
    duo_node after[4];
    const duo_work empty = {.size = sizeof empty, .kind = DUO_WORK_EMPTY};
    (void)fail_memory_at(0);
    for (int i = 0; i < 4; i++)
        CHECK_STATUS(DUO_OK, duo_graph_add(graph, &empty, NULL, 0, &after[i]));
    (void)fail_memory_at(1);
    const duo_status status = duo_graph_alter(graph, node, NULL, after, 4);
    (void)fail_memory_at(0);
    return status == DUO_OK ? duo_graph_alter(graph, node, NULL, after, 4) : status;
}

static duo_status launch_moved(void)
{
    void *memory[2] = {NULL, NULL};
    CHECK_STATUS(DUO_OK, duo_set_path(there, DUO_PATH_CPU));
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_malloc(there, BYTES, &memory[i]));
    duo_graph *g = NULL;
    duo_node n;
    const duo_work before = a_sum(x, y), after = a_sum(memory[0], memory[1]);
    CHECK_STATUS(DUO_OK, duo_graph_create(&g));
    CHECK_STATUS(DUO_OK, duo_graph_add(g, &before, NULL, 0, &n));
    CHECK_STATUS(DUO_OK, duo_graph_build(g, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_update(g, n, &after));
    const bool empty = fail_memory_at(1);
    const duo_status status = duo_graph_launch(g, ctx);
    (void)fail_memory_at(0);
    CHECK_STATUS(empty ? DUO_ERR_MEMORY : DUO_OK, status);
    CHECK_STATUS(DUO_OK, duo_graph_launch(g, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(g));
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_free(ctx, memory[i]));
    return status;
}

static duo_status end_of(duo_context *c)
{
    duo_graph *g = NULL;
    const duo_status status = duo_graph_end(c, &g);
    (void)duo_graph_destroy(g);
    return status;
}

static duo_status end_unjoined(void)
{
    CHECK_STATUS(DUO_OK, duo_event_wait(there, captured_event));
    CHECK_STATUS(DUO_OK, duo_ssum(there, N, plain, 1, &result));
    return duo_graph_end(in_graph, &captured_graph);
}

static duo_status begin_in(duo_context *c)
{
    const duo_status status = duo_graph_begin(c);
    if (status == DUO_OK) (void)end_of(c);
    return status;
}

static duo_status adopt(void *memory, size_t bytes)
{
    const duo_status status = duo_adopt(ctx, memory, bytes);
    (void)duo_disown(ctx, memory);
    return status;
}

static duo_status disown(void)
{
    (void)duo_adopt(ctx, foreign, BYTES);
    return duo_disown(there, foreign);
}

static duo_status keep_plain(void)
{
    const duo_status status = duo_keep(ctx, plain, BYTES);
    (void)duo_release(ctx, plain);
    return status;
}

/* The end of the list tells the number of its lines. */
enum { FIRST = __COUNTER__ + 1 };

typedef struct scenario {
    const char *function; /* NULL: there is none of this number */
    int with;             /* see status_scenarios.h */
    duo_status status;
} scenario;

/* The scenario of this number; its call is made if `run` says so. */
static scenario scenario_of(int number, bool run)
{
#define CALL(name, with, call)                                                                     \
    case __COUNTER__ - FIRST:                                                                      \
        return (scenario){#name, with, run ? (call) : DUO_OK};
    switch (number) {
#include "support/status_scenarios.h"
    default:
        return (scenario){NULL, 0, DUO_OK};
    }
#undef CALL
}

/* ---- What they return ---- */

static documented function[DOCUMENTED_MOST];
static uint32_t seen[DOCUMENTED_MOST];
static int functions;

/* Makes the call of a scenario. */
static void try(int number)
{
    const scenario s = scenario_of(number, true);
    (void)fail_memory_at(0);
    int f = 0;
    while (f < functions && strcmp(function[f].name, s.function) != 0) f++;
    if (!CHECK(f < functions, "%s is not in the header", s.function)) return;
    CHECK(function[f].statuses >> -s.status & 1u, "%s returned %s (%d), which is not documented",
          s.function, duo_status_string(s.status), (int)s.status);
    seen[f] |= 1u << -s.status;
}

static const sim_kind kinds[] = {SIM_ALLOCATE, SIM_PIN,  SIM_CLASSIFY, SIM_OPEN,   SIM_COPY,
                                 SIM_LAUNCH,   SIM_PACK, SIM_MARK,     SIM_WAIT,   SIM_IDLE,
                                 SIM_AFTER,    SIM_LOAD, SIM_RECORD,   SIM_REPLAY, SIM_CLOSE};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Calls of the backend fail: all of a kind from the first on, or only the second. made: how many of
 * each kind the good call makes. */
static void with_failing_backend(int number, const uint64_t made[])
{
    static const duo_status statuses[] = {DUO_ERR_MEMORY, DUO_ERR_DEVICE, DUO_ERR_LOST};
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < 3; i++)
            for (int nth = 1; nth <= 2 && made[k] >= (uint64_t)nth; nth++) {
                begin();
                sim_fail(kinds[k], nth, statuses[i], nth == 1 ? -1 : 1);
                try(number);
                sim_fail(kinds[k], 0, DUO_OK, 0);
                end();
            }
}

static void with_empty_heap(int number)
{
    for (int nth = 1; nth <= 4; nth++) {
        begin();
        (void)fail_memory_at(nth);
        try(number);
        end();
    }
}

/* Devices are lost; the library finds it out or knows it already. */
static void with_lost_devices(int number)
{
    for (int lost = 1; lost < 8; lost++) {
        begin();
        if (lost & 1) sim_lose(0);
        if (lost & 2) sim_lose(1);
        for (int d = 0; d < 2; d++)
            if (lost & 4 && lost >> d & 1) duo_device_lose(d, "as the test says");
        try(number);
        end();
    }
}

static void provoke(void)
{
    for (int i = 0;; i++) {
        const scenario s = scenario_of(i, false);
        if (s.function == NULL) return;
        test_case("%s/%d", s.function, i);
        if (s.with > 1) with_empty_heap(i); /* first: then little waits in the pools */
        uint64_t made[KINDS];
        begin();
        for (int k = 0; k < KINDS; k++) made[k] = sim_count(kinds[k]);
        try(i);
        for (int k = 0; k < KINDS; k++) made[k] = sim_count(kinds[k]) - made[k];
        end();
        if (s.with == 0) continue;
        with_failing_backend(i, made);
        with_lost_devices(i);
    }
}

static void statuses(void)
{
    functions = documented_read(TEST_HEADER, function);
    CHECK(functions > 50, "%d functions", functions);
    provoke();
    const bool heap = fail_memory_at(0);
    for (int f = 0; f < functions; f++) {
        test_case("%s", function[f].name);
        for (int bit = 0; bit < 20; bit++) {
            const bool said = function[f].statuses >> bit & 1u, returned = seen[f] >> bit & 1u;
            if (!heap && bit == -DUO_ERR_MEMORY) continue;
            CHECK(!said || returned, "%s never returned %s (%d), which is documented",
                  function[f].name, duo_status_string((duo_status)-bit), -bit);
        }
    }
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"statuses", statuses}, {NULL, NULL}};
    return test_main(argc, argv, "statuses", tests);
}
