/*
 * test_replays.c - the work of graphs on the device, which is recorded once and replayed: how often
 * that happens, that it follows changes between launches, and that nothing is lost if it cannot be
 * recorded.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/exact.h"
#include "support/harness.h"

enum { EDGE = 24, COUNT = EDGE * EDGE, BYTES = COUNT * sizeof(float) };

/* Device memory of small integers, and its values. */
typedef struct matrix {
    float *device;
    float is[COUNT];
} matrix;

static void *allocated(duo_context *ctx, size_t bytes)
{
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, bytes, &memory));
    return memory;
}

static void put(duo_context *ctx, matrix *m, int64_t seed)
{
    fill(m->is, COUNT, seed);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, m->device, m->is, BYTES));
}

static matrix new_matrix(duo_context *ctx, int64_t seed)
{
    matrix m = {.device = allocated(ctx, BYTES)};
    put(ctx, &m, seed);
    return m;
}

static duo_work product_of(const float *a, const float *b, float *c)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SGEMM,
                      .layout = DUO_COL_MAJOR,
                      .transa = DUO_NO_TRANS,
                      .transb = DUO_NO_TRANS,
                      .m = EDGE,
                      .n = EDGE,
                      .k = EDGE,
                      .alpha = 1.0f,
                      .a = a,
                      .lda = EDGE,
                      .b = b,
                      .ldb = EDGE,
                      .c = c,
                      .ldc = EDGE};
}

static duo_work copy_of(void *dst, const void *src, size_t bytes)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_COPY,
                      .dst = dst,
                      .src = src,
                      .width = bytes,
                      .height = 1};
}

/* A graph of these works, each after the one before. */
static duo_graph *chain(duo_context *ctx, const duo_work *works, int count, duo_node *node)
{
    duo_graph *graph = NULL;
    CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
    for (int i = 0; i < count; i++)
        CHECK_STATUS(DUO_OK,
                     duo_graph_add(graph, &works[i], i > 0 ? &node[i - 1] : NULL, i > 0, &node[i]));
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    return graph;
}

static void check_product(duo_context *ctx, const float *a, const float *b, const float *device)
{
    float right[COUNT], got[COUNT];
    multiply(EDGE, a, b, right);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, got, device, BYTES));
    CHECK(memcmp(right, got, BYTES) == 0, "a wrong product");
}

static void free_all(duo_context *ctx, float *const *memory, int count)
{
    for (int i = 0; i < count; i++) CHECK_STATUS(DUO_OK, duo_free(ctx, memory[i]));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    test_context_end(ctx);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    if (test_on_sim()) CHECK(sim_violations() == 0, "%d violations", sim_violations());
}

/* ---- Replays ---- */

/* A launch is one replay, and no launch of a kernel, until something is updated. */
static void once_each(void)
{
    duo_context *const ctx = test_context();
    matrix a = new_matrix(ctx, 1), b = new_matrix(ctx, 2);
    float *const c = allocated(ctx, BYTES), *const d = allocated(ctx, BYTES);
    const duo_work works[] = {product_of(a.device, b.device, c), copy_of(d, c, BYTES),
                              product_of(b.device, a.device, c)};
    duo_node node[3];
    duo_graph *const graph = chain(ctx, works, 2, node);
    for (int round = 0; round < 6; round++) {
        test_case("replays/once-each/%d", round);
        if (round == 4) CHECK_STATUS(DUO_OK, duo_graph_update(graph, node[0], &works[2]));
        if (round == 5) CHECK_STATUS(DUO_OK, duo_graph_update(graph, node[0], &works[0]));
        put(ctx, &a, 3 + round);
        const uint64_t replays = sim_count(SIM_REPLAY), launches = sim_count(SIM_LAUNCH);
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        if (test_on_sim()) {
            const uint64_t more = sim_count(SIM_LAUNCH) - launches;
            CHECK(sim_count(SIM_REPLAY) == replays + 1, "it was not replayed once");
            CHECK(more == (round >= 4 ? 1 : 0), "%d launches of kernels", (int)more);
        }
        if (round == 4)
            check_product(ctx, b.is, a.is, d);
        else
            check_product(ctx, a.is, b.is, d);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    free_all(ctx, (float *[]){a.device, b.device, c, d}, 4);
}

/* From pinned memory, and back: all of it is one replay, and there when the launch returns. */
static void pinned_copies(void)
{
    duo_context *const ctx = test_context();
    float *const d[] = {allocated(ctx, BYTES), allocated(ctx, BYTES)};
    float right[COUNT], *host = NULL;
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, 2 * BYTES, &memory));
    host = memory;
    const duo_work works[] = {copy_of(d[0], host, BYTES), product_of(d[0], d[0], d[1]),
                              copy_of(host + COUNT, d[1], BYTES)};
    duo_node node[3];
    duo_graph *const graph = chain(ctx, works, 3, node);
    for (int round = 0; round < 5; round++) {
        test_case("replays/pinned/%d", round);
        fill(host, COUNT, round);
        multiply(EDGE, host, host, right);
        const uint64_t replays = sim_count(SIM_REPLAY);
        if (test_on_sim()) sim_set_delay(200);
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK(memcmp(right, host + COUNT, BYTES) == 0, "a wrong product");
        if (test_on_sim()) CHECK(sim_count(SIM_REPLAY) == replays + 1, "not one replay");
    }
    if (test_on_sim()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, host));
    free_all(ctx, d, 2);
}

/* ---- Order ---- */

/* A product of two that were made side by side. Then another context changes their operands, and
 * the next launch follows that without a wait of the host. */
static void in_order(void)
{
    enum { ROUNDS = 12 };
    duo_context *const ctx = test_context(), *const other = test_context();
    static matrix a[ROUNDS];
    float right[COUNT], third[COUNT], got[COUNT], *const x = allocated(ctx, 4 * BYTES);
    float *const results = allocated(ctx, ROUNDS * BYTES);
    for (int i = 0; i < ROUNDS; i++) a[i] = new_matrix(ctx, i);
    const duo_work works[] = {product_of(x, x, x + COUNT), copy_of(x + 2 * COUNT, x, BYTES),
                              product_of(x + COUNT, x + 2 * COUNT, x + 3 * COUNT)};
    duo_graph *graph = NULL;
    duo_node node[3];
    CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(DUO_OK, duo_graph_add(graph, &works[i], node, i == 2 ? 2 : 0, &node[i]));
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    if (test_on_sim()) sim_set_delay(500);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_STATUS(DUO_OK, duo_copy(other, x, a[i].device, BYTES));
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_copy(other, results + i * COUNT, x + 3 * COUNT, BYTES));
    }
    for (int i = 0; i < ROUNDS; i++) {
        test_case("replays/in-order/%d", i);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, got, results + i * COUNT, BYTES));
        multiply(EDGE, a[i].is, a[i].is, right);
        multiply(EDGE, right, a[i].is, third);
        CHECK(memcmp(third, got, BYTES) == 0, "a wrong product");
        CHECK_STATUS(DUO_OK, duo_free(ctx, a[i].device));
    }
    if (test_on_sim()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    test_context_end(other);
    free_all(ctx, (float *[]){x, results}, 2);
}

/* A launch's copies from pageable memory are done when its context has been waited for. */
static void copied_from_host(void)
{
    duo_context *const ctx = test_context();
    float host[COUNT], got[COUNT], *const d = allocated(ctx, BYTES);
    const duo_work up = copy_of(d, host, BYTES);
    duo_node node;
    duo_graph *const graph = chain(ctx, &up, 1, &node);
    if (test_on_sim()) sim_set_delay(2000);
    for (int round = 0; round < 8 && test_on_sim(); round++) {
        test_case("replays/copied-from-host/%d", round);
        fill(host, COUNT, round);
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
        sim_read(got, d, BYTES);
        CHECK(memcmp(host, got, BYTES) == 0, "not there");
    }
    if (test_on_sim()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    free_all(ctx, (float *[]){d}, 1);
}

/* As many nodes as there are. */
static void many(void)
{
    enum { NODES = 5000 };
    duo_context *const ctx = test_context();
    matrix a = new_matrix(ctx, 1);
    float *const c = allocated(ctx, BYTES), got[COUNT];
    duo_work *const works = calloc(NODES, sizeof *works);
    duo_node *const node = calloc(NODES, sizeof *node);
    for (int i = 0; i < NODES; i++) works[i] = copy_of(c + i % COUNT, a.device + i % COUNT, 4);
    duo_graph *const graph = chain(ctx, works, NODES, node);
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, got, c, BYTES));
    CHECK(memcmp(a.is, got, BYTES) == 0, "not copied");
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    free(works);
    free(node);
    free_all(ctx, (float *[]){a.device, c}, 2);
}

/* ---- Changes between launches ---- */

/* An operand under duo_prepare is packed once, and again when it has changed; never where the graph
 * itself writes it. */
static void prepared(void)
{
    duo_context *const ctx = test_context();
    matrix a = new_matrix(ctx, 1), b = new_matrix(ctx, 2);
    float *const c = allocated(ctx, BYTES), *const d = allocated(ctx, BYTES);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, a.device, BYTES));
    const duo_work works[] = {product_of(a.device, b.device, c), copy_of(a.device, b.device, BYTES),
                              product_of(a.device, b.device, d)};
    duo_node node[3];
    duo_graph *const reads = chain(ctx, works, 1, node);
    for (int round = 0; round < 8; round++) {
        test_case("replays/prepared/%d", round);
        const uint64_t packs = sim_count(SIM_PACK);
        if (round == 4) put(ctx, &a, 7);
        put(ctx, &b, 20 + round);
        CHECK_STATUS(DUO_OK, duo_graph_launch(reads, ctx));
        check_product(ctx, a.is, b.is, c);
        if (test_on_sim())
            CHECK(sim_count(SIM_PACK) - packs == (round == 4), "packed %d times",
                  (int)(sim_count(SIM_PACK) - packs));
    }
    test_case("replays/prepared/written");
    duo_graph *const writes = chain(ctx, works, 3, node);
    for (int round = 0; round < 3; round++) {
        put(ctx, &a, 30 + round);
        CHECK_STATUS(DUO_OK, duo_graph_launch(reads, ctx)); /* which packs it */
        CHECK_STATUS(DUO_OK, duo_graph_launch(writes, ctx));
        check_product(ctx, a.is, b.is, c);
        check_product(ctx, b.is, b.is, d);
        CHECK_STATUS(DUO_OK, duo_graph_launch(reads, ctx)); /* a is b now, and was packed before */
        check_product(ctx, b.is, b.is, c);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(reads));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(writes));
    free_all(ctx, (float *[]){a.device, b.device, c, d}, 4);
}

/* The memory of a packed operand is given to another one: the graph's is packed again. */
static void packed_elsewhere(void)
{
    sim_give_again();
    duo_context *const ctx = test_context();
    float *const x = allocated(ctx, 2 * BYTES), *const c = allocated(ctx, 2 * BYTES);
    matrix first = {.device = x}, second = {.device = x + COUNT};
    matrix b = new_matrix(ctx, 3);
    put(ctx, &first, 1);
    put(ctx, &second, 2);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, 2 * BYTES));
    const duo_work work = product_of(first.device, b.device, c);
    duo_node node;
    duo_graph *const graph = chain(ctx, &work, 1, &node);
    for (int round = 0; round < 3; round++) {
        test_case("replays/packed-elsewhere/%d", round);
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        check_product(ctx, first.is, b.is, c);
        CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, 0));
        CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, 2 * BYTES));
        sim_give_again();
        CHECK_STATUS(DUO_OK, square(ctx, EDGE, second.device, b.device, 0.0f, c + COUNT));
        check_product(ctx, second.is, b.is, c + COUNT);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    free_all(ctx, (float *[]){x, c, b.device}, 3);
}

/* Another thread reads the graph's operand again and again while the graph is recorded. */
typedef struct reader {
    duo_context *ctx;
    const matrix *a;
    float *c;
    atomic_bool done;
} reader;

static void *read_along(void *argument)
{
    reader *const r = argument;
    do {
        CHECK_STATUS(DUO_OK, square(r->ctx, EDGE, r->a->device, r->a->device, 0.0f, r->c));
        CHECK_STATUS(DUO_OK, duo_synchronize(r->ctx));
    } while (!atomic_load(&r->done));
    return NULL;
}

static void recorded_beside(void)
{
    enum { NODES = 1000 };
    duo_context *const ctx = test_context();
    matrix a = new_matrix(ctx, 1);
    float *const c = allocated(ctx, 2 * BYTES);
    reader r = {.ctx = test_context(), .a = &a, .c = c + COUNT};
    duo_work works[NODES];
    duo_node node[NODES];
    pthread_t thread;
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, a.device, BYTES));
    works[0] = product_of(a.device, a.device, c);
    for (int i = 1; i < NODES; i++) works[i] = copy_of(c, c + 1, 4);
    works[NODES - 1] = works[0];
    duo_graph *const graph = chain(ctx, works, NODES, node);
    CHECK(pthread_create(&thread, NULL, read_along, &r) == 0, "no thread");
    for (int round = 0; round < 30; round++) {
        CHECK_STATUS(DUO_OK, duo_graph_update(graph, node[0], &works[0]));
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    }
    atomic_store(&r.done, true);
    pthread_join(thread, NULL);
    check_product(r.ctx, a.is, a.is, c + COUNT);
    check_product(ctx, a.is, a.is, c);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    test_context_end(r.ctx);
    free_all(ctx, (float *[]){a.device, c}, 2);
}

/* Memory comes and goes, the graph's own too. */
static void moved(void)
{
    duo_context *const ctx = test_context();
    matrix a = new_matrix(ctx, 1);
    float *c = allocated(ctx, BYTES), s = 0.0f;
    duo_work work = product_of(a.device, a.device, c);
    const duo_work sum = {.size = sizeof(duo_work),
                          .kind = DUO_WORK_SSUM,
                          .n = COUNT,
                          .x = a.is,
                          .incx = 1,
                          .result = &s};
    duo_node node[2];
    duo_graph *const graph = chain(ctx, (duo_work[]){work, sum}, 2, node);
    for (int round = 0; round < 6; round++) {
        test_case("replays/moved/%d", round);
        void *other = NULL;
        if (round % 2 == 0) {
            CHECK_STATUS(DUO_OK, duo_malloc(ctx, 1000, &other));
        } else {
            float *const before = c;
            c = allocated(ctx, BYTES);
            CHECK_STATUS(DUO_OK, duo_free(ctx, before));
            work.c = c;
            CHECK_STATUS(DUO_OK, duo_graph_update(graph, node[0], &work));
        }
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        check_product(ctx, a.is, a.is, c);
        CHECK(s == sum_of(a.is, COUNT), "%g", (double)s);
        if (other != NULL) CHECK_STATUS(DUO_OK, duo_free(ctx, other));
        if (round == 3) { /* the host's operand is kept now: the host still reads it */
            CHECK_STATUS(DUO_OK, duo_keep(ctx, a.is, BYTES));
            CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
            CHECK_STATUS(DUO_OK, duo_release(ctx, a.is));
        }
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    free_all(ctx, (float *[]){a.device, c}, 2);
}

/* The host only stores a 0 in a kept array: the device's copy of the rest is newer. */
static void kept_since(void)
{
    duo_context *const ctx = test_context();
    float host[COUNT], right[COUNT];
    matrix a = new_matrix(ctx, 1);
    const duo_work nothing = {.size = sizeof(duo_work), .kind = DUO_WORK_SSUM, .result = host};
    duo_node node;
    duo_graph *const graph = chain(ctx, &nothing, 1, &node);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, host, BYTES));
    CHECK_STATUS(DUO_OK, square(ctx, EDGE, a.device, a.device, 0.0f, host));
    multiply(EDGE, a.is, a.is, right);
    right[0] = 0.0f;
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_release(ctx, host));
    CHECK(memcmp(host, right, BYTES) == 0, "element 0 is %g, 1 is %g", (double)host[0],
          (double)host[1]);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    free_all(ctx, (float *[]){a.device}, 1);
}

/* ---- What goes wrong ---- */

/* Any one call of the driver fails while the graph is built or launched: the work is done. */
static void failures(void)
{
    static const sim_kind kinds[] = {SIM_RECORD, SIM_REPLAY, SIM_LAUNCH, SIM_COPY,    SIM_OPEN,
                                     SIM_MARK,   SIM_AFTER,  SIM_PACK,   SIM_ALLOCATE};
    if (!test_on_sim()) return;
    duo_context *const ctx = test_context();
    matrix a = new_matrix(ctx, 1), b = new_matrix(ctx, 2);
    float *const c = allocated(ctx, 3 * BYTES);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, a.device, BYTES));
    const duo_work works[] = {product_of(a.device, b.device, c),
                              product_of(b.device, a.device, c + COUNT),
                              copy_of(c + 2 * COUNT, c, BYTES)};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int nth = 1; nth < 12; nth++) {
            test_case("replays/failures/%d/%d", (int)kinds[k], nth);
            duo_graph *graph = NULL;
            duo_node node[3];
            CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
            for (int i = 0; i < 3; i++)
                CHECK_STATUS(DUO_OK,
                             duo_graph_add(graph, &works[i], node, i == 2 ? 2 : 0, &node[i]));
            sim_fail(kinds[k], nth, DUO_ERR_DEVICE, 1);
            CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
            for (int round = 0; round < 3; round++) {
                sim_fail(kinds[k], round == 1 ? nth : 0, DUO_ERR_DEVICE, 1);
                put(ctx, &b, nth + round);
                const duo_status status = duo_graph_launch(graph, ctx);
                sim_fail(kinds[k], 0, DUO_ERR_DEVICE, 1);
                CHECK_STATUS(DUO_OK, status);
                check_product(ctx, a.is, b.is, c + 2 * COUNT);
                check_product(ctx, b.is, a.is, c + COUNT);
            }
            CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
        }
    free_all(ctx, (float *[]){a.device, b.device, c}, 3);
}

/* The device is lost by a replay, or before it. */
static void lost(void)
{
    for (int before = 0; before < 2 && test_on_sim(); before++) {
        test_reset();
        test_case("replays/lost/%d", before);
        duo_context *const ctx = test_context();
        matrix a = new_matrix(ctx, 1);
        float *const c = allocated(ctx, BYTES);
        const duo_work work = product_of(a.device, a.device, c);
        duo_node node;
        duo_graph *const graph = chain(ctx, &work, 1, &node);
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        if (before != 0)
            sim_lose(0);
        else
            sim_fail(SIM_REPLAY, 1, DUO_ERR_LOST, 1);
        for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_ERR_LOST, duo_graph_launch(graph, ctx));
        (void)duo_graph_destroy(graph);
        (void)duo_free(ctx, a.device);
        (void)duo_free(ctx, c);
        (void)duo_destroy(ctx);
    }
}

/* Copies to the host that never came are no success, also of a context's first work. */
static void lost_on_the_way(void)
{
    for (int nth = 1; nth <= 2 && test_on_sim(); nth++) {
        test_reset();
        test_case("replays/lost-on-the-way/%d", nth);
        duo_context *const ctx = test_context(), *const other = test_context();
        matrix a = new_matrix(ctx, 1);
        void *pinned = NULL;
        CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, BYTES, &pinned));
        CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
        float *const c = allocated(ctx, BYTES);
        const duo_work works[] = {copy_of(c, a.device, BYTES), copy_of(pinned, c, BYTES)};
        duo_node node[2];
        duo_graph *const graph = chain(ctx, works, 2, node);
        sim_fail_async(nth, true);
        CHECK_STATUS(DUO_ERR_LOST, duo_graph_launch(graph, other));
        (void)duo_graph_destroy(graph);
        (void)duo_free(ctx, a.device);
        (void)duo_free(ctx, c);
        (void)duo_free_host(ctx, pinned);
        (void)duo_destroy(other);
        (void)duo_destroy(ctx);
    }
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"once_each", once_each},
                                       {"pinned_copies", pinned_copies},
                                       {"in_order", in_order},
                                       {"copied_from_host", copied_from_host},
                                       {"many", many},
                                       {"prepared", prepared},
                                       {"packed_elsewhere", packed_elsewhere},
                                       {"recorded_beside", recorded_beside},
                                       {"moved", moved},
                                       {"kept_since", kept_since},
                                       {"failures", failures},
                                       {"lost", lost},
                                       {"lost_on_the_way", lost_on_the_way},
                                       {NULL, NULL}};
    return test_main(argc, argv, "replays", tests);
}
