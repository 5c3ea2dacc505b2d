/*
 * test_wherever.c - a program needs one code path only: memory of duo_malloc behaves alike in every
 * place. Each verb x place of its operands x duo_set_async on and off x call or graph: the same
 * values, and the same statuses. duo_malloc gives host memory for three reasons: the device is
 * full, the context's path is the CPU, the context's device is lost. Without a GPU it always does,
 * with the same statuses.
 */
#include <string.h>

#include "sim/sim.h"
#include "support/harness.h"

enum { EDGE = 8, SIZE = EDGE * EDGE, PRODUCTS = 4, N = PRODUCTS * SIZE, BYTES = N * sizeof(float) };

/* ---- Places ---- */

typedef enum place { DEVICE, FULL, ON_CPU, LOST_DEVICE, KEPT, PINNED, PLAIN, PLACES } place;

static const char *const name_of[PLACES] = {"device", "full",   "path cpu", "device lost",
                                            "kept",   "pinned", "plain"};

static bool is_malloc(place p) { return p <= LOST_DEVICE; }

/* The context of the calls, one with the path to the CPU, and one with a lost device. */
static duo_context *ctx, *on_cpu, *without_device;

static float plain[4][N];

static void begin(void)
{
    if (test_on_sim()) sim_set_devices(2);
    ctx = test_context();
    on_cpu = test_context();
    without_device = test_context();
    CHECK_STATUS(DUO_OK, duo_set_path(on_cpu, DUO_PATH_CPU));
    if (!test_on_sim()) return;
    CHECK_STATUS(DUO_OK, duo_set_device(without_device, 1));
    CHECK_STATUS(DUO_OK, duo_warm_up(without_device));
    sim_lose(1);
}

static void end(void)
{
    CHECK_STATUS(DUO_OK, duo_destroy(without_device));
    test_context_end(on_cpu);
    test_context_end(ctx);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* Memory for operand i in this place, with these floats. */
static float *put(place p, int i, const float *values)
{
    void *memory = plain[i];
    if (p == PINNED) CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, BYTES, &memory));
    if (p == KEPT) CHECK_STATUS(DUO_OK, duo_keep(ctx, memory, BYTES));
    if (is_malloc(p)) {
        if (p == FULL && test_on_sim()) sim_fail(SIM_ALLOCATE, 1, DUO_ERR_MEMORY, -1);
        CHECK_STATUS(DUO_OK, duo_malloc(p == ON_CPU        ? on_cpu
                                        : p == LOST_DEVICE ? without_device
                                                           : ctx,
                                        BYTES, &memory));
        if (p == FULL && test_on_sim()) sim_fail(SIM_ALLOCATE, 0, DUO_OK, 0);
        if (test_on_sim())
            CHECK(sim_is_device(memory) == (p == DEVICE), "%s lies elsewhere", name_of[p]);
    }
    CHECK_STATUS(DUO_OK, duo_copy(ctx, memory, values, BYTES));
    return memory;
}

static void take(place p, float *memory)
{
    if (is_malloc(p)) CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
    if (p == PINNED) CHECK_STATUS(DUO_OK, duo_free_host(ctx, memory));
    if (p == KEPT) CHECK_STATUS(DUO_OK, duo_release(ctx, memory));
}

/* ---- Verbs ---- */

static duo_status gemm(const float *a, const float *b, float *c)
{
    return duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f, a,
                     EDGE, b, EDGE, 1.0f, c, EDGE);
}

static duo_status gemm_list(const float *a, const float *b, float *c)
{
    const float *as[PRODUCTS], *bs[PRODUCTS];
    float *cs[PRODUCTS];
    for (int i = 0; i < PRODUCTS; i++) {
        as[i] = a + (PRODUCTS - 1 - i) * SIZE;
        bs[i] = b + i * SIZE;
        cs[i] = c + i * SIZE;
    }
    return duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f,
                             as, EDGE, bs, EDGE, 1.0f, cs, EDGE, PRODUCTS);
}

static duo_status gemm_strided(const float *a, const float *b, float *c)
{
    return duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE,
                                     EDGE, 1.0f, a, EDGE, SIZE, b, EDGE, SIZE, 1.0f, c, EDGE, SIZE,
                                     PRODUCTS);
}

static duo_status dot(const float *x, const float *y, float *result)
{
    return duo_sdot(ctx, N, x, 1, y, 1, result);
}

static duo_status asum(const float *x, const float *y, float *result)
{
    (void)y;
    return duo_sasum(ctx, N, x, 1, result);
}

static duo_status sum(const float *x, const float *y, float *result)
{
    (void)y;
    return duo_ssum(ctx, N, x, 1, result);
}

static duo_status nothing(const float *x, const float *y, float *result)
{
    (void)y;
    return duo_ssum(ctx, 0, x, 1, result);
}

static duo_status copy(const float *src, const float *y, float *dst)
{
    (void)y;
    return duo_copy(ctx, dst, src, BYTES);
}

/* Whole numbers so small that every sum is exact. */
static void multiply(const float *a, const float *b, float *c)
{
    for (int j = 0; j < EDGE; j++)
        for (int p = 0; p < EDGE; p++)
            for (int i = 0; i < EDGE; i++) c[i + j * EDGE] += a[i + p * EDGE] * b[p + j * EDGE];
}

static void want_list(const float *a, const float *b, float *c)
{
    for (int i = 0; i < PRODUCTS; i++)
        multiply(a + (PRODUCTS - 1 - i) * SIZE, b + i * SIZE, c + i * SIZE);
}

static void want_strided(const float *a, const float *b, float *c)
{
    for (int i = 0; i < PRODUCTS; i++) multiply(a + i * SIZE, b + i * SIZE, c + i * SIZE);
}

static void want_dot(const float *x, const float *y, float *c)
{
    c[0] = 0.0f;
    for (int i = 0; i < N; i++) c[0] += x[i] * y[i];
}

static void want_asum(const float *x, const float *y, float *c)
{
    (void)y;
    c[0] = 0.0f;
    for (int i = 0; i < N; i++) c[0] += x[i] < 0.0f ? -x[i] : x[i];
}

static void want_sum(const float *x, const float *y, float *c)
{
    (void)y;
    c[0] = 0.0f;
    for (int i = 0; i < N; i++) c[0] += x[i];
}

static void want_nothing(const float *x, const float *y, float *c)
{
    (void)x;
    (void)y;
    c[0] = 0.0f;
}

static void want_copy(const float *x, const float *y, float *c)
{
    (void)y;
    memcpy(c, x, BYTES);
}

typedef struct verb {
    const char *name;
    int inputs; /* that it reads beside its output */
    duo_status (*run)(const float *x, const float *y, float *out);
    void (*want)(const float *x, const float *y, float *out);
    bool copies; /* between any two places, in a graph too */
} verb;

static const verb verbs[] = {{"sgemm", 2, gemm, multiply, false},
                             {"sgemm_batched", 2, gemm_list, want_list, false},
                             {"sgemm_strided_batched", 2, gemm_strided, want_strided, false},
                             {"sdot", 2, dot, want_dot, false},
                             {"sasum", 1, asum, want_asum, false},
                             {"ssum", 1, sum, want_sum, false},
                             {"ssum of nothing", 0, nothing, want_nothing, false},
                             {"copy", 1, copy, want_copy, true}};

/* ---- A case ---- */

typedef struct test {
    const verb *v;
    place at[3]; /* of x, y and the output */
    float value[3][N], want[N];
    float *memory[3];
    float seen[N]; /* in a graph the last node copies the output here */
} test;

static void make(test *t, const verb *v, const place at[3])
{
    t->v = v;
    for (int o = 0; o < 3; o++) {
        t->at[o] = at[o];
        for (int i = 0; i < N; i++) t->value[o][i] = (float)((i * (3 + 2 * o) + o) % 7 - 3);
        t->memory[o] = put(at[o], o, t->value[o]);
    }
    memcpy(t->want, t->value[2], BYTES);
    v->want(t->value[0], t->value[1], t->want);
}

static void drop(test *t)
{
    for (int o = 0; o < 3; o++) take(t->at[o], t->memory[o]);
}

static bool uses(const verb *v, int operand) { return operand == 2 || operand < v->inputs; }

static duo_status run(test *t) { return t->v->run(t->memory[0], t->memory[1], t->memory[2]); }

/* Checks that all of the output is right. */
static void check_values(const test *t, const float *got)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += !(got[i] == t->want[i]);
    CHECK(wrong == 0, "%d floats are wrong, the first is %g, not %g", wrong, (double)got[0],
          (double)t->want[0]);
}

/* Uses an output as the program may: it reads host memory after a wait; of device memory, as it
 * calls it, and of kept arrays, the library's next call has the newest bytes. */
static void check_output(const test *t)
{
    float got[N], one = 1.0f, first = 0.0f;
    if (t->at[2] == PINNED || t->at[2] == PLAIN) {
        CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
        check_values(t, t->memory[2]);
        return;
    }
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 1, t->memory[2], 1, &one, 1, &first));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, got, t->memory[2], BYTES));
    check_values(t, got);
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK(first == t->want[0], "the next call read %g, not %g", (double)first, (double)t->want[0]);
    CHECK_STATUS(DUO_OK, duo_changed(ctx, t->memory[2], BYTES));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, t->memory[2], BYTES));
    if (t->at[2] == KEPT) check_values(t, t->memory[2]);
}

static void by_call(test *t)
{
    CHECK_STATUS(DUO_OK, run(t));
    check_output(t);
}

/* Kept arrays are no operands of graphs; operations have all theirs on one side. */
static duo_status build_status(const test *t)
{
    bool device = false, host = false;
    for (int o = 0; o < 3; o++) {
        if (!uses(t->v, o)) continue;
        if (t->at[o] == KEPT) return DUO_ERR_HIDDEN;
        device |= is_malloc(t->at[o]);
        host |= !is_malloc(t->at[o]);
    }
    return device && host && !t->v->copies ? DUO_ERR_HIDDEN : DUO_OK;
}

static void by_graph(test *t)
{
    duo_graph *graph = NULL;
    CHECK_STATUS(DUO_OK, duo_graph_begin(ctx));
    CHECK_STATUS(DUO_OK, run(t));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, t->seen, t->memory[2], BYTES));
    CHECK_STATUS(DUO_OK, duo_graph_end(ctx, &graph));
    const duo_status built = duo_graph_build(graph, ctx);
    CHECK_STATUS(build_status(t), built);
    for (int launch = 0; launch < 2 && built == DUO_OK; launch++) {
        if (launch > 0) t->v->want(t->value[0], t->value[1], t->want); /* products add */
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        check_values(t, t->seen);
        check_output(t);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

static void check_case(const verb *v, const place at[3], bool async, bool graph)
{
    test t;
    if (graph && v->inputs == 0 && is_malloc(at[0]) != is_malloc(at[2]))
        return; /* x says nothing */
    test_case("%s/%s,%s,%s/async %d/%s", v->name, name_of[at[0]], name_of[at[1]], name_of[at[2]],
              async, graph ? "graph" : "call");
    CHECK_STATUS(DUO_OK, duo_set_async(ctx, async));
    make(&t, v, at);
    (graph ? by_graph : by_call)(&t);
    drop(&t);
}

static void check_everywhere(bool graph)
{
    enum { VERBS = sizeof verbs / sizeof verbs[0] };
    begin();
    for (int v = 0; v < VERBS; v++)
        for (int async = 0; async <= 1; async++)
            for (int i = 0; i < PLACES * PLACES * PLACES; i++) {
                const place at[3] = {i % PLACES, i / PLACES % PLACES, i / PLACES / PLACES};
                bool same = true; /* operands that the verb lacks are at the output's place */
                for (int o = 0; o < 2; o++) same &= uses(&verbs[v], o) || at[o] == at[2];
                if (same) check_case(&verbs[v], at, async != 0, graph);
            }
    end();
}

static void calls(void) { check_everywhere(false); }
static void graphs(void) { check_everywhere(true); }

/* ---- A graph with changing memory ---- */

static duo_work sum_of(const float *x, float *result)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SSUM,
                      .n = N,
                      .x = x,
                      .incx = 1,
                      .result = result};
}

/* An update takes pointers of the same side: device memory, as the program has called it, or
 * not. */
static void updates(void)
{
    float values[N], got;
    for (int i = 0; i < N; i++) values[i] = 1.0f;
    begin();
    for (int i = 0; i < PLACES * PLACES * PLACES; i++) {
        const place from = i % PLACES, x = i / PLACES % PLACES, result = i / PLACES / PLACES;
        if (from == KEPT || x == KEPT || result == KEPT) continue;
        test_case("%s to %s,%s", name_of[from], name_of[x], name_of[result]);
        duo_graph *graph = NULL;
        duo_node node, last;
        float *const before[2] = {put(from, 0, values), put(from, 1, values)};
        float *const after[2] = {put(x, 2, values), put(result, 3, values)};
        const duo_work first = sum_of(before[0], before[1]), next = sum_of(after[0], after[1]);
        duo_work see = {sizeof see,       DUO_WORK_COPY,       .dst = &got,
                        .src = before[1], .width = sizeof got, .height = 1};
        CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
        CHECK_STATUS(DUO_OK, duo_graph_add(graph, &first, NULL, 0, &node));
        CHECK_STATUS(DUO_OK, duo_graph_add(graph, &see, &node, 1, &last));
        CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK(got == (float)N, "%g", (double)got);
        const bool mixed = is_malloc(x) != is_malloc(result);
        const duo_status status = mixed                             ? DUO_ERR_HIDDEN
                                  : is_malloc(x) != is_malloc(from) ? DUO_ERR_SHAPE
                                                                    : DUO_OK;
        CHECK_STATUS(status, duo_graph_update(graph, node, &next));
        if (status == DUO_OK) {
            see.src = after[1];
            CHECK_STATUS(DUO_OK, duo_graph_update(graph, last, &see));
        }
        got = 0.0f;
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK(got == (float)N, "%g", (double)got);
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
        take(from, before[0]);
        take(from, before[1]);
        take(x, after[0]);
        take(result, after[1]);
    }
    end();
}

/* A product that touches nothing may be anywhere. */
static void touches_nothing(void)
{
    float values[N] = {1.0f};
    begin();
    float *const memory = put(DEVICE, 0, values);
    duo_graph *graph = NULL;
    duo_node node;
    duo_work work = {.size = sizeof work,
                     .kind = DUO_WORK_SGEMM,
                     .layout = DUO_COL_MAJOR,
                     .transa = DUO_NO_TRANS,
                     .transb = DUO_NO_TRANS,
                     .m = EDGE,
                     .n = EDGE,
                     .k = EDGE,
                     .alpha = 1.0f,
                     .a = memory,
                     .lda = EDGE,
                     .b = memory,
                     .ldb = EDGE,
                     .c = memory + SIZE,
                     .ldc = EDGE};
    CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &work, NULL, 0, &node));
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    work.alpha = 0.0f;
    work.beta = 1.0f;
    work.a = work.b = work.c = values;
    CHECK_STATUS(DUO_OK, duo_graph_update(graph, node, &work));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    take(DEVICE, memory);
    end();
}

/* ---- Refusals ---- */

static void refusals(void)
{
    const float values[N] = {0.0f};
    float got[N];
    begin();
    for (place p = DEVICE; p <= LOST_DEVICE; p++) {
        test_case("%s", name_of[p]);
        float *const x = put(p, 0, values);
        CHECK_STATUS(DUO_ERR_RANGE, duo_ssum(ctx, N, x + 1, 1, got));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, values, 1, x + N - 1));
        CHECK_STATUS(DUO_ERR_RANGE, duo_copy(ctx, got, x + 1, BYTES));
        CHECK_STATUS(DUO_ERR_RANGE, duo_copy(ctx, x + 1, got, BYTES));
        CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, x, BYTES));
        CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, x));
        CHECK_STATUS(DUO_ERR_RANGE, duo_free_host(ctx, x));
        CHECK_STATUS(DUO_ERR_RANGE, duo_adopt(ctx, x, BYTES));
        CHECK_STATUS(DUO_ERR_RANGE, duo_disown(ctx, x));
        CHECK_STATUS(DUO_ERR_RANGE, duo_prepare(ctx, x, BYTES + 1));
        CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, BYTES));
        CHECK_STATUS(DUO_OK, duo_changed(ctx, x, BYTES));
        CHECK_STATUS(DUO_OK, duo_fetch(ctx, x, BYTES));
        CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, 0));
        duo_graph *graph = NULL;
        const duo_work over = sum_of(x + 1, x);
        CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
        CHECK_STATUS(DUO_OK, duo_graph_add(graph, &over, NULL, 0, NULL));
        CHECK_STATUS(DUO_ERR_RANGE, duo_graph_build(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
        take(p, x);
    }
    end();
}

/* A kept array that is larger than the device is only in host memory. It still is a kept array: a
 * context of duo_set_async waits for its results. */
static void refused_kept(void)
{
    enum { LARGE = 1 << 20 };
    static float x[LARGE];
    float got;
    if (!test_on_sim()) return test_skip("needs the simulated device");
    sim_set_memory(LARGE);
    ctx = test_context();
    for (int i = 0; i < N; i++) x[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, sizeof x));
    CHECK_STATUS(DUO_OK, duo_set_async(ctx, 1));
    for (int i = 0; i < 2; i++) { /* the first call finds out */
        x[LARGE - 1] = -1.0f;
        CHECK_STATUS(DUO_OK, duo_changed(ctx, x, sizeof x));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &x[LARGE - 1]));
        CHECK_STATUS(DUO_OK, duo_copy(ctx, &got, &x[LARGE - 1], sizeof got));
        CHECK(got == (float)N, "%g", (double)got);
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, x));
    test_context_end(ctx);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"calls", calls},
                                       {"graphs", graphs},
                                       {"updates", updates},
                                       {"touches_nothing", touches_nothing},
                                       {"refusals", refusals},
                                       {"refused_kept", refused_kept},
                                       {NULL, NULL}};
    return test_main(argc, argv, "wherever", tests);
}
