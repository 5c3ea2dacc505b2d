/*
 * test_captured_stream.c - contexts on a stream that the program captures for a CUDA graph of its
 * own: which work becomes part of the graph, and which calls are refused. A queue of the backend
 * plays the program: the contexts are given its stream.
 */
#include <stdio.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/exact.h"
#include "support/harness.h"

enum { EDGE = 24, COUNT = EDGE * EDGE, BYTES = COUNT * sizeof(float) };

typedef struct stage {
    duo_queue *program;
    duo_context *ctx; /* on the program's stream */
    float *device[4], *pinned, a[COUNT], product[COUNT];
    float sum; /* of the product */
} stage;

static stage begin(void)
{
    stage s = {.ctx = test_context()};
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_warm_up(s.ctx));
    CHECK_STATUS(DUO_OK, duo_backend_current()->open(0, NULL, DUO_PRIORITY_NORMAL, &s.program));
    CHECK_STATUS(DUO_OK, duo_set_stream(s.ctx, duo_backend_current()->stream(s.program)));
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(DUO_OK, duo_malloc(s.ctx, BYTES, &memory));
        s.device[i] = memory;
    }
    CHECK_STATUS(DUO_OK, duo_malloc_host(s.ctx, BYTES, &memory));
    s.pinned = memory;
    return s;
}

/* New data in the first matrix. */
static void put(stage *s, int64_t seed)
{
    fill(s->a, COUNT, seed);
    multiply(EDGE, s->a, s->a, s->product);
    s->sum = sum_of(s->product, COUNT);
    CHECK_STATUS(DUO_OK, duo_copy(s->ctx, s->device[0], s->a, BYTES));
    CHECK_STATUS(DUO_OK, duo_synchronize(s->ctx)); /* simulated queues of one stream are two */
}

static void end(stage *s)
{
    for (int i = 0; i < 4; i++) CHECK_STATUS(DUO_OK, duo_free(s->ctx, s->device[i]));
    CHECK_STATUS(DUO_OK, duo_free_host(s->ctx, s->pinned));
    CHECK_STATUS(DUO_OK, duo_set_stream(s->ctx, NULL));
    CHECK_STATUS(DUO_OK, duo_backend_current()->close(s->program));
    end_without_leaks(s->ctx);
}

/* Product, sum, a sum of nothing, and copies on the device and to pinned memory. */
static void calls(stage *s)
{
    float *const *const d = s->device;
    CHECK_STATUS(DUO_OK, square(s->ctx, EDGE, d[0], d[0], 0.0f, d[1]));
    CHECK_STATUS(DUO_OK, duo_copy(s->ctx, d[2], d[1], BYTES));
    CHECK_STATUS(DUO_OK, duo_ssum(s->ctx, COUNT, d[2], 1, d[3]));
    CHECK_STATUS(DUO_OK, duo_ssum(s->ctx, 0, d[2], 1, d[3] + 1));
    CHECK_STATUS(DUO_OK, duo_copy(s->ctx, s->pinned, d[3], 2 * sizeof(float)));
}

static void captured(void)
{
    if (!test_gpu_side()) return;
    stage s = begin();
    duo_recorded *graph = NULL;
    put(&s, 1);
    CHECK_STATUS(DUO_OK, duo_prepare(s.ctx, s.device[2], BYTES));
    calls(&s); /* its kernels are there, and workspace */
    CHECK_STATUS(DUO_OK, duo_synchronize(s.ctx));
    s.pinned[0] = s.pinned[1] = test_poison();
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_begin(s.program));
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_end(s.program, &graph));
    CHECK(!(s.pinned[0] == s.sum), "it was done, not captured");
    for (int round = 0; round < 4; round++) {
        test_case("captured-stream/replay/%d", round);
        put(&s, 2 + round);
        CHECK_STATUS(DUO_OK, duo_backend_current()->replay(s.program, graph));
        CHECK_STATUS(DUO_OK, duo_backend_current()->finish(s.program));
        CHECK(s.pinned[0] == s.sum, "sum %g, expected %g", (double)s.pinned[0], (double)s.sum);
        CHECK(s.pinned[1] == 0.0f, "a sum of nothing is %g", (double)s.pinned[1]);
        check_sum(s.ctx, s.device[1], COUNT, s.sum);
        /* The packed form of an operand that the graph has written is not used. */
        CHECK_STATUS(DUO_OK, square(s.ctx, EDGE, s.device[2], s.device[2], 0.0f, s.device[3]));
        float fourth[COUNT], got[COUNT];
        multiply(EDGE, s.product, s.product, fourth);
        CHECK_STATUS(DUO_OK, duo_copy(s.ctx, got, s.device[3], BYTES));
        CHECK(memcmp(got, fourth, BYTES) == 0, "a product of what the graph wrote is wrong");
    }
    duo_backend_current()->forget(graph);
    end(&s);
}

static int never_asked(void *user, const duo_decision *decision, int chosen)
{
    (void)user;
    CHECK(false, "asked about %s", decision->operation);
    return chosen;
}

/* A call that would have to wait, allocate or bring data is refused, and the capture goes on. */
static void refused(void)
{
    if (!test_gpu_side()) return;
    stage s = begin();
    float *const *const d = s.device;
    float host[COUNT], kept[COUNT], sum = 7.0f;
    duo_recorded *recorded = NULL;
    duo_event *event = NULL;
    duo_graph *graph = NULL;
    void *memory;
    put(&s, 1);
    fill(host, COUNT, 1);
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_synchronize(s.ctx));
    CHECK_STATUS(DUO_OK, duo_event_create(&event));
    CHECK_STATUS(DUO_OK, duo_keep(s.ctx, kept, sizeof kept));
    fill(kept, COUNT, 1);
    CHECK_STATUS(DUO_OK, square(s.ctx, EDGE, kept, d[0], 0.0f, d[1])); /* has a device copy now */
    CHECK_STATUS(DUO_OK, duo_synchronize(s.ctx));
    CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_begin(s.program));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_ssum(s.ctx, COUNT, d[0], 1, &sum));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_ssum(s.ctx, 0, d[0], 1, &sum));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_ssum(s.ctx, 3, host, 1, &sum));
    CHECK_STATUS(DUO_ERR_CAPTURE, square(s.ctx, EDGE, d[0], host, 0.0f, d[1]));
    CHECK_STATUS(DUO_ERR_CAPTURE, square(s.ctx, EDGE, kept, d[0], 0.0f, d[1]));
    CHECK_STATUS(DUO_ERR_CAPTURE, square(s.ctx, 2, host, host, 0.0f, host + 8));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_copy(s.ctx, d[0], host, BYTES));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_copy(s.ctx, host, d[0], BYTES));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_copy(s.ctx, host, host + 8, 8));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_copy(s.ctx, s.pinned, s.pinned + 8, 8));
    CHECK_STATUS(DUO_OK, duo_set_adapt(s.ctx, 1)); /* there is nothing to try, or to ask about */
    CHECK_STATUS(DUO_ERR_CAPTURE, square(s.ctx, EDGE, d[0], host, 0.0f, d[1]));
    CHECK_STATUS(DUO_OK, duo_set_adapt(s.ctx, 0));
    CHECK_STATUS(DUO_OK, duo_set_decide(s.ctx, never_asked, NULL));
    CHECK_STATUS(DUO_ERR_CAPTURE, square(s.ctx, EDGE, d[0], host, 0.0f, d[1]));
    CHECK_STATUS(DUO_OK, duo_set_decide(s.ctx, NULL, NULL));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_synchronize(s.ctx));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_warm_up(s.ctx));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_trim(s.ctx));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_set_stream(s.ctx, NULL));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_set_priority(s.ctx, DUO_PRIORITY_HIGH));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_destroy(s.ctx));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_fetch(s.ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_changed(s.ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_release(s.ctx, kept));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_malloc(s.ctx, BYTES, &memory));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_malloc_host(s.ctx, BYTES, &memory));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_free(s.ctx, d[0]));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_free_host(s.ctx, s.pinned));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_record(s.ctx, event));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_event_wait(s.ctx, event));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_graph_begin(s.ctx));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_graph_build(graph, s.ctx));
    CHECK_STATUS(DUO_ERR_SIZE, square(s.ctx, -1, d[0], d[0], 0.0f, d[1]));
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_end(s.program, &recorded));
    CHECK_STATUS(DUO_OK, duo_release(s.ctx, kept));
    CHECK(sum == 7.0f, "a result was written");
    CHECK_STATUS(DUO_OK, duo_backend_current()->replay(s.program, recorded));
    CHECK_STATUS(DUO_OK, duo_backend_current()->finish(s.program));
    CHECK(s.pinned[0] == s.sum, "sum %g, expected %g", (double)s.pinned[0], (double)s.sum);
    duo_backend_current()->forget(recorded);
    recorded = NULL;
    test_case("captured-stream/not-open");
    CHECK_STATUS(DUO_OK, duo_set_stream(s.ctx, NULL));
    CHECK_STATUS(DUO_OK, duo_set_stream(s.ctx, duo_backend_current()->stream(s.program)));
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_begin(s.program));
    CHECK_STATUS(DUO_ERR_CAPTURE, square(s.ctx, EDGE, d[0], d[0], 0.0f, d[1]));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_copy(s.ctx, d[1], d[0], BYTES));
    CHECK_STATUS(DUO_ERR_CAPTURE, duo_ssum(s.ctx, 0, d[0], 1, d[1]));
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_end(s.program, &recorded));
    duo_backend_current()->forget(recorded);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    end(&s);
}

typedef struct lines {
    int count;
    char last[1024];
} lines;

static void take_line(void *user, const char *line)
{
    lines *const l = user;
    l->count++;
    (void)snprintf(l->last, sizeof l->last, "%s", line);
}

/* A call that is recorded explains itself as any other, and leaves a line. */
static void explained(void)
{
    if (!test_gpu_side()) return;
    stage s = begin();
    lines l = {0};
    duo_recorded *recorded = NULL;
    duo_decision d = {.size = sizeof d};
    put(&s, 1);
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_synchronize(s.ctx));
    CHECK_STATUS(DUO_OK, duo_set_log(s.ctx, take_line, &l));
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_begin(s.program));
    for (int batch = 0; batch < 2; batch++) {
        test_case("captured-stream/explained/%s", batch ? "batch" : "product");
        const int before = l.count;
        if (batch)
            CHECK_STATUS(DUO_OK,
                         duo_sgemm_strided_batched(s.ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS,
                                                   8, 8, 8, 1.0f, s.device[0], 8, 64, s.device[0],
                                                   8, 64, 0.0f, s.device[1], 8, 64, COUNT / 64));
        else
            CHECK_STATUS(DUO_OK, square(s.ctx, EDGE, s.device[0], s.device[0], 0.0f, s.device[1]));
        CHECK_STATUS(DUO_OK, duo_explain_last(s.ctx, &d));
        CHECK(d.count == (batch ? COUNT / 64 : 1), "%jd products", (intmax_t)d.count);
        CHECK(d.ran >= 0 && d.candidates > 0, "candidate %d of %d ran", d.ran, d.candidates);
        if (d.ran < 0) continue;
        CHECK(d.algorithm == d.candidate[d.ran].algorithm, "another one ran");
        CHECK(strcmp(d.route[d.ran], batch ? "one-by-one" : "recorded") == 0, "route %s",
              d.route[d.ran]);
        CHECK(d.predicted_seconds > 0.0, "predicted %g s", d.predicted_seconds);
        for (int i = 0; i < d.candidates; i++)
            CHECK(d.candidate[i].side == DUO_SIDE_GPU || !d.candidate[i].accepts,
                  "%s can be recorded", d.candidate[i].algorithm);
        test_contains(d.reason, " on the GPU");
        CHECK(l.count == before + 1, "%d lines", l.count - before);
        test_contains(l.last, d.algorithm);
    }
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_end(s.program, &recorded));
    CHECK_STATUS(DUO_OK, duo_set_log(s.ctx, NULL, NULL));
    duo_backend_current()->forget(recorded);
    end(&s);
}

/* Other contexts use the same memory meanwhile, and do not become part of the graph. */
static void beside(void)
{
    if (!test_gpu_side()) return;
    stage s = begin();
    duo_context *const other = test_context();
    duo_recorded *graph = NULL;
    float got;
    put(&s, 1);
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_synchronize(s.ctx));
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_begin(s.program));
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_ssum(other, COUNT, s.device[1], 1, &got));
    CHECK(got == s.sum, "sum %g, expected %g", (double)got, (double)s.sum);
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_end(s.program, &graph));
    duo_backend_current()->forget(graph);
    graph = NULL;
    test_case("captured-stream/not-waited-for");
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_begin(s.program));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_ssum(other, COUNT, s.device[1], 1, &got));
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_end(s.program, &graph));
    duo_backend_current()->forget(graph);
    test_context_end(other);
    end(&s);
}

/* Workspace that a captured graph uses stays in place through all later calls. */
static void memory_stays(void)
{
    /* The simulated device is slow. */
    const int64_t largest = test_on_sim() ? 200 : 1200, count = largest * largest;
    if (!test_gpu_side()) return;
    stage s = begin();
    void *large = NULL;
    duo_recorded *graph = NULL;
    float *const x = new_floats(count);
    fill(x, count, 3);
    CHECK_STATUS(DUO_OK, duo_malloc(s.ctx, 3 * (size_t)count * sizeof(float), &large));
    float *const l = large;
    CHECK_STATUS(DUO_OK, duo_copy(s.ctx, l, x, (size_t)count * sizeof(float)));
    put(&s, 1);
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_synchronize(s.ctx));
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_begin(s.program));
    for (int64_t edge = 100; edge <= largest; edge += 100)
        CHECK_STATUS(DUO_OK, square(s.ctx, edge, l, l, 0.0f, l + count));
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_backend_current()->record_end(s.program, &graph));
    for (int round = 0; round < 3; round++) {
        CHECK_STATUS(DUO_OK, square(s.ctx, largest, l, l, 0.0f, l + 2 * count));
        put(&s, 4 + round);
        CHECK_STATUS(DUO_OK, duo_backend_current()->replay(s.program, graph));
        CHECK_STATUS(DUO_OK, duo_backend_current()->finish(s.program));
        CHECK(s.pinned[0] == s.sum, "sum %g, expected %g", (double)s.pinned[0], (double)s.sum);
        float one, other;
        CHECK_STATUS(DUO_OK, duo_ssum(s.ctx, count, l + count, 1, &one));
        CHECK_STATUS(DUO_OK, duo_ssum(s.ctx, count, l + 2 * count, 1, &other));
        CHECK(one == other, "the captured product is %g, the call's %g", (double)one,
              (double)other);
    }
    duo_backend_current()->forget(graph);
    CHECK_STATUS(DUO_OK, duo_free(s.ctx, large));
    free(x);
    end(&s);
}

/* Memory of another device, or of a lost one, is refused. */
static void elsewhere(void)
{
    if (!test_on_sim()) return;
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    duo_context *const other = test_context();
    stage s = begin();
    void *far = NULL;
    duo_recorded *graph = NULL;
    CHECK_STATUS(DUO_OK, duo_set_device(other, 1));
    CHECK_STATUS(DUO_OK, duo_malloc(other, BYTES, &far));
    put(&s, 1);
    calls(&s);
    CHECK_STATUS(DUO_OK, duo_synchronize(s.ctx));
    for (int lost = 0; lost < 2; lost++) {
        test_case("captured-stream/elsewhere/%s", lost ? "lost" : "another device");
        if (lost) sim_lose(1);
        if (lost) CHECK_STATUS(DUO_ERR_LOST, duo_copy(other, far, s.a, BYTES));
        CHECK_STATUS(DUO_OK, duo_backend_current()->record_begin(s.program));
        const duo_status product = square(s.ctx, EDGE, s.device[0], far, 0.0f, s.device[1]);
        CHECK(product == (lost ? DUO_ERR_LOST : DUO_ERR_CAPTURE), "%d", (int)product);
        CHECK_STATUS(DUO_ERR_CAPTURE, duo_copy(s.ctx, s.device[1], far, BYTES));
        CHECK_STATUS(DUO_ERR_CAPTURE, duo_copy(s.ctx, far, s.device[1], BYTES));
        calls(&s);
        CHECK_STATUS(DUO_OK, duo_backend_current()->record_end(s.program, &graph));
        duo_backend_current()->forget(graph);
        graph = NULL;
    }
    CHECK_STATUS(DUO_OK, duo_free(other, far));
    (void)duo_destroy(other);
    end(&s);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"captured", captured},
                                       {"refused", refused},
                                       {"elsewhere", elsewhere},
                                       {"explained", explained},
                                       {"beside", beside},
                                       {"memory_stays", memory_stays},
                                       {NULL, NULL}};
    return test_main(argc, argv, "captured_stream", tests);
}
