/*
 * test_sgemm_batched.c - batches of products: each against the oracle, with operands in every
 * place, and nothing written between them.
 */
#include <stdlib.h>
#include <string.h>

#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/oracle.h"

enum { MOST = 40 }; /* products */

/* Memory of one operand of all products: its place for the library, and the values expected
 * there. */
typedef enum place { HOST, PINNED, FOREIGN, KEPT, DEVICE, PLACES } place;
static const char *const place_names[PLACES] = {"host", "pinned", "pinned elsewhere", "kept",
                                                "device"};

typedef struct array {
    place place;
    int64_t floats;
    float *host; /* data; for KEPT the library sees it */
    float *seen; /* by the library */
} array;

typedef struct batch {
    duo_context *ctx;
    duo_layout layout;
    duo_transpose transa, transb;
    int64_t m, n, k, lda, ldb, ldc, count;
    int64_t stride[3];
    float alpha, beta;
    array a, b, c;
    int64_t order[MOST]; /* of lists */
    bool list;
} batch;

static void *must(void *p)
{
    if (p == NULL) abort();
    return p;
}

static array new_array(duo_context *ctx, test_rng *rng, place where, int64_t floats)
{
    if (where == FOREIGN && !test_gpu_side()) where = HOST;
    array x = {.place = where, .floats = floats};
    const size_t bytes = (size_t)floats * sizeof(float);
    void *memory = NULL;
    x.host = must(malloc(bytes));
    test_fill(rng, DATA_SIGNED, x.host, floats);
    if (where == PINNED) CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, bytes, &memory));
    if (where == FOREIGN) CHECK_STATUS(DUO_OK, duo_backend_current()->pin(0, bytes, &memory));
    if (where == DEVICE) CHECK_STATUS(DUO_OK, duo_malloc(ctx, bytes, &memory));
    if (where == KEPT) CHECK_STATUS(DUO_OK, duo_keep(ctx, x.host, bytes));
    x.seen = memory != NULL ? memory : x.host;
    return x;
}

/* Copies `host` to the memory that the library sees, or the other way about. */
static void to_library(duo_context *ctx, const array *x)
{
    const size_t bytes = (size_t)x->floats * sizeof(float);
    if (x->place == KEPT) CHECK_STATUS(DUO_OK, duo_changed(ctx, x->host, bytes));
    if (x->seen != x->host) CHECK_STATUS(DUO_OK, duo_copy(ctx, x->seen, x->host, bytes));
}

static void from_library(duo_context *ctx, const array *x)
{
    const size_t bytes = (size_t)x->floats * sizeof(float);
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    if (x->place == KEPT) CHECK_STATUS(DUO_OK, duo_fetch(ctx, x->host, bytes));
    if (x->seen != x->host) CHECK_STATUS(DUO_OK, duo_copy(ctx, x->host, x->seen, bytes));
}

static void end_array(duo_context *ctx, array *x)
{
    if (x->place == KEPT) CHECK_STATUS(DUO_OK, duo_release(ctx, x->host));
    if (x->place == PINNED) CHECK_STATUS(DUO_OK, duo_free_host(ctx, x->seen));
    if (x->place == FOREIGN) CHECK_STATUS(DUO_OK, duo_backend_current()->unpin(x->seen));
    if (x->place == DEVICE) CHECK_STATUS(DUO_OK, duo_free(ctx, x->seen));
    free(x->host);
}

static int64_t span(duo_layout layout, int64_t rows, int64_t columns, int64_t ld)
{
    const int64_t runs = layout == DUO_COL_MAJOR ? columns : rows;
    const int64_t run = layout == DUO_COL_MAJOR ? rows : columns;
    return runs == 0 ? 0 : (runs - 1) * ld + run;
}

static int64_t some_ld(test_rng *rng, duo_layout layout, int64_t rows, int64_t columns)
{
    const int64_t least = layout == DUO_COL_MAJOR ? rows : columns;
    return (least > 0 ? least : 1) + (test_random(rng) % 2 ? 0 : test_between(rng, 1, 5));
}

/* Where operand `which` of product p begins. */
static int64_t begin_of(const batch *b, int which, int64_t p)
{
    return (b->list ? b->order[p] : p) * b->stride[which];
}

static duo_status run(const batch *b)
{
    const float *a[MOST], *bs[MOST];
    float *c[MOST];
    if (!b->list)
        return duo_sgemm_strided_batched(b->ctx, b->layout, b->transa, b->transb, b->m, b->n, b->k,
                                         b->alpha, b->a.seen, b->lda, b->stride[0], b->b.seen,
                                         b->ldb, b->stride[1], b->beta, b->c.seen, b->ldc,
                                         b->stride[2], b->count);
    for (int64_t p = 0; p < b->count; p++) {
        a[p] = b->a.seen + begin_of(b, 0, p);
        bs[p] = b->b.seen + begin_of(b, 1, p);
        c[p] = b->c.seen + begin_of(b, 2, p);
    }
    return duo_sgemm_batched(b->ctx, b->layout, b->transa, b->transb, b->m, b->n, b->k, b->alpha, a,
                             b->lda, bs, b->ldb, b->beta, c, b->ldc, b->count);
}

/* Checks every product, with C as in `before`, and the memory between them. */
static void check_all(const batch *b, const float *before)
{
    const int64_t elements = b->m * b->n;
    double *const want = must(calloc((size_t)elements + 1, sizeof *want));
    double *const bound = must(calloc((size_t)elements + 1, sizeof *bound));
    bool *const written = must(calloc((size_t)b->c.floats + 1, sizeof *written));
    bool close = true, untouched = true;
    for (int64_t p = 0; p < b->count; p++) {
        const int64_t at = begin_of(b, 2, p);
        const oracle_product product = {.layout = b->layout,
                                        .transa = b->transa,
                                        .transb = b->transb,
                                        .m = b->m,
                                        .n = b->n,
                                        .k = b->k,
                                        .alpha = b->alpha,
                                        .beta = b->beta,
                                        .a = b->a.host + begin_of(b, 0, p),
                                        .lda = b->lda,
                                        .b = b->b.host + begin_of(b, 1, p),
                                        .ldb = b->ldb,
                                        .c = before + at,
                                        .ldc = b->ldc};
        oracle_sgemm(&product, want, bound);
        for (int64_t j = 0; j < b->n; j++)
            for (int64_t i = 0; i < b->m; i++) {
                const int64_t e = at + oracle_index(b->layout, i, j, b->ldc);
                close &= oracle_close(want[i * b->n + j], bound[i * b->n + j], b->c.host[e]);
                written[e] = true;
            }
    }
    for (int64_t e = 0; e < b->c.floats; e++)
        untouched &= written[e] || test_bits(b->c.host[e]) == test_bits(before[e]);
    CHECK(close, "a product is wrong");
    CHECK(untouched, "something between the products was written");
    free(want);
    free(bound);
    free(written);
}

static void shuffle(test_rng *rng, int64_t *order, int64_t count)
{
    for (int64_t p = count - 1; p > 0; p--) {
        const int64_t q = test_between(rng, 0, p), was = order[p];
        order[p] = order[q];
        order[q] = was;
    }
}

static int64_t some_size(test_rng *rng)
{
    switch (test_random(rng) % 4) {
    case 0:
        return test_between(rng, 1, 8);
    case 1:
        return 4 * test_between(rng, 1, 20);
    case 2:
        return test_between(rng, 30, 70);
    default:
        return test_between(rng, 1, 140);
    }
}

static float some_factor(test_rng *rng)
{
    const int which = (int)(test_random(rng) % 4);
    return which == 0 ? 0.0f : which == 1 ? 1.0f : (float)(4.0 * test_unit(rng) - 2.0);
}

static batch new_batch(duo_context *ctx, test_rng *rng, place a, place b, place c)
{
    batch x = {.ctx = ctx,
               .layout = test_random(rng) % 2 ? DUO_COL_MAJOR : DUO_ROW_MAJOR,
               .transa = test_random(rng) % 2 ? DUO_TRANS : DUO_NO_TRANS,
               .transb = test_random(rng) % 2 ? DUO_TRANS : DUO_NO_TRANS,
               .m = some_size(rng),
               .n = some_size(rng),
               .k = some_size(rng),
               .count = test_between(rng, 1, MOST),
               .alpha = some_factor(rng),
               .beta = some_factor(rng),
               .list = test_random(rng) % 2};
    const bool ta = x.transa != DUO_NO_TRANS, tb = x.transb != DUO_NO_TRANS;
    const int64_t a_rows = ta ? x.k : x.m, a_columns = ta ? x.m : x.k;
    const int64_t b_rows = tb ? x.n : x.k, b_columns = tb ? x.k : x.n;
    x.lda = some_ld(rng, x.layout, a_rows, a_columns);
    x.ldb = some_ld(rng, x.layout, b_rows, b_columns);
    x.ldc = some_ld(rng, x.layout, x.m, x.n);
    const int64_t one[3] = {span(x.layout, a_rows, a_columns, x.lda),
                            span(x.layout, b_rows, b_columns, x.ldb),
                            span(x.layout, x.m, x.n, x.ldc)};
    for (int i = 0; i < 3; i++) x.stride[i] = one[i] + (int64_t)(test_random(rng) % 3) * 3;
    if (test_random(rng) % 4 == 0) x.stride[test_random(rng) % 2] = 0; /* one A, or B, for all */
    for (int64_t p = 0; p < x.count; p++) x.order[p] = p;
    if (test_random(rng) % 4 != 0) shuffle(rng, x.order, x.count);
    x.a = new_array(ctx, rng, a, (x.count - 1) * x.stride[0] + one[0]);
    x.b = new_array(ctx, rng, b, (x.count - 1) * x.stride[1] + one[1]);
    x.c = new_array(ctx, rng, c, (x.count - 1) * x.stride[2] + one[2]);
    return x;
}

/* A batch without gaps, one matrix behind the other, in one place. */
static batch dense_batch(duo_context *ctx, test_rng *rng, place where, int64_t m, int64_t n,
                         int64_t k, int64_t count)
{
    batch x = {.ctx = ctx,
               .layout = DUO_COL_MAJOR,
               .transa = DUO_NO_TRANS,
               .transb = DUO_NO_TRANS,
               .m = m,
               .n = n,
               .k = k,
               .lda = m,
               .ldb = k,
               .ldc = m,
               .count = count,
               .stride = {m * k, k * n, m * n},
               .alpha = 1.5f,
               .beta = 1.0f};
    x.a = new_array(ctx, rng, where, count * m * k);
    x.b = new_array(ctx, rng, where, count * k * n);
    x.c = new_array(ctx, rng, where, count * m * n);
    return x;
}

/* C as it is if beta reads it; else poisoned, like all memory between the products. */
static float *prepare(const batch *b)
{
    const size_t bytes = (size_t)b->c.floats * sizeof(float);
    float *const before = must(malloc(bytes));
    memcpy(before, b->c.host, bytes);
    test_fill_poison(b->c.host, b->c.floats);
    for (int64_t p = 0; p < b->count && b->beta != 0.0f; p++)
        for (int64_t j = 0; j < b->n; j++)
            for (int64_t i = 0; i < b->m; i++) {
                const int64_t e = begin_of(b, 2, p) + oracle_index(b->layout, i, j, b->ldc);
                b->c.host[e] = before[e];
            }
    memcpy(before, b->c.host, bytes);
    to_library(b->ctx, &b->a);
    to_library(b->ctx, &b->b);
    to_library(b->ctx, &b->c);
    return before;
}

static void name_case(const char *what, const batch *b)
{
    test_case("%s/%s/%s%s/%jdx%jdx%jd/%jd %s/a=%g,b=%g/%s,%s,%s", what,
              b->layout == DUO_COL_MAJOR ? "col" : "row", b->transa == DUO_NO_TRANS ? "n" : "t",
              b->transb == DUO_NO_TRANS ? "n" : "t", (intmax_t)b->m, (intmax_t)b->n, (intmax_t)b->k,
              (intmax_t)b->count, b->list ? "by list" : "strided", (double)b->alpha,
              (double)b->beta, place_names[b->a.place], place_names[b->b.place],
              place_names[b->c.place]);
}

static void end_batch(batch *b)
{
    end_array(b->ctx, &b->a);
    end_array(b->ctx, &b->b);
    end_array(b->ctx, &b->c);
}

/* Several products that change C. */
static bool is_launched(const batch *b)
{
    return b->count > 1 && (b->alpha != 0.0f || b->beta != 1.0f);
}

static void check_one_launch(uint64_t before)
{
    const uint64_t launches = sim_count(SIM_LAUNCH) - before;
    CHECK(launches == 1, "%ju launches", (uintmax_t)launches);
}

/* With operands in host memory it may go in pieces of several products. */
static void check_launches(const batch *b, uint64_t before)
{
    const uint64_t launches = sim_count(SIM_LAUNCH) - before;
    if (b->a.place >= KEPT && b->b.place >= KEPT && b->c.place >= KEPT)
        check_one_launch(before);
    else
        CHECK(launches >= 1 && launches <= ((uint64_t)b->count + 1) / 2, "%ju launches",
              (uintmax_t)launches);
}

static void random_batches(void)
{
    test_rng rng = test_rng_for("batched");
    duo_context *const ctx = test_context();
    for (int round = 0; round < 150; round++) {
        place where[3];
        const place all = (place)(test_random(&rng) % PLACES);
        const bool mixed = test_random(&rng) % 4 == 0;
        for (int i = 0; i < 3; i++) where[i] = mixed ? (place)(test_random(&rng) % PLACES) : all;
        batch b = new_batch(ctx, &rng, where[0], where[1], where[2]);
        name_case("random", &b);
        float *const before = prepare(&b);
        const uint64_t launches = sim_count(SIM_LAUNCH);
        CHECK_STATUS(DUO_OK, run(&b));
        if (test_on_sim() && is_launched(&b)) check_launches(&b, launches);
        from_library(ctx, &b.c);
        check_all(&b, before);
        free(before);
        end_batch(&b);
    }
    test_context_end(ctx);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* Every product in memory of its own. where: places of each operand, alternating by product. */
static const struct {
    const char *name;
    place where[3][2];
    bool one_launch;
} lists[] = {
    {"device", {{DEVICE, DEVICE}, {DEVICE, DEVICE}, {DEVICE, DEVICE}}, true},
    {"host and pinned", {{HOST, PINNED}, {PINNED, PINNED}, {PINNED, HOST}}, true},
    {"device, to host", {{DEVICE, DEVICE}, {HOST, HOST}, {HOST, PINNED}}, true},
    {"host, to device", {{HOST, HOST}, {PINNED, HOST}, {DEVICE, DEVICE}}, true},
    {"host and device", {{HOST, DEVICE}, {DEVICE, DEVICE}, {HOST, DEVICE}}, false},
};
enum { LISTS = sizeof lists / sizeof lists[0] };

static void scattered(void)
{
    enum { N = 20, COUNT = 12, FLOATS = N * N };
    test_rng rng = test_rng_for("scattered");
    for (int l = 0; l < LISTS; l++) {
        duo_context *const ctx = test_context(), *const writer = test_context();
        array x[3][COUNT];
        const float *a[COUNT], *b[COUNT];
        float *c[COUNT];
        void *late[COUNT] = {NULL};
        const bool comes_late = lists[l].where[0][0] == DEVICE;
        test_case("scattered/%s", lists[l].name);
        if (test_on_sim()) sim_set_delay(300);
        for (int p = 0; p < COUNT; p++)
            for (int i = 0; i < 3; i++) {
                x[i][p] = new_array(ctx, &rng, lists[l].where[i][p % 2], FLOATS);
                to_library(writer, &x[i][p]);
            }
        /* The operands of the products come late. */
        for (int p = 0; p < COUNT && comes_late; p++) {
            void *source = NULL;
            CHECK_STATUS(DUO_OK, duo_malloc(writer, FLOATS * sizeof(float), &source));
            test_fill(&rng, DATA_SIGNED, x[0][p].host, FLOATS);
            CHECK_STATUS(DUO_OK, duo_copy(writer, source, x[0][p].host, FLOATS * sizeof(float)));
            late[p] = source;
        }
        for (int p = COUNT - 1; p >= 0 && comes_late; p--) /* the first product's comes last */
            CHECK_STATUS(DUO_OK, duo_copy(writer, x[0][p].seen, late[p], FLOATS * sizeof(float)));
        for (int p = 0; p < COUNT; p++) {
            a[p] = x[0][p].seen;
            b[p] = x[1][p].seen;
            c[p] = x[2][p].seen;
        }
        const uint64_t launches = sim_count(SIM_LAUNCH);
        CHECK_STATUS(DUO_OK, duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, N, N, N,
                                               1.5f, a, N, b, N, 0.0f, c, N, COUNT));
        if (test_on_sim() && lists[l].one_launch) check_one_launch(launches);
        for (int p = 0; p < COUNT; p++) {
            const batch one = {.ctx = ctx,
                               .layout = DUO_COL_MAJOR,
                               .transa = DUO_NO_TRANS,
                               .transb = DUO_TRANS,
                               .m = N,
                               .n = N,
                               .k = N,
                               .lda = N,
                               .ldb = N,
                               .ldc = N,
                               .count = 1,
                               .alpha = 1.5f,
                               .a = x[0][p],
                               .b = x[1][p],
                               .c = x[2][p]};
            from_library(ctx, &x[2][p]);
            check_all(&one, x[2][p].host);
        }
        for (int p = 0; p < COUNT; p++)
            for (int i = 0; i < 3; i++) end_array(ctx, &x[i][p]);
        for (int p = 0; p < COUNT && comes_late; p++) CHECK_STATUS(DUO_OK, duo_free(ctx, late[p]));
        if (test_on_sim()) sim_set_delay(0);
        test_context_end(writer);
        test_context_end(ctx);
    }
}

/* Runs the batch as a graph. */
static void run_captured(const batch *b)
{
    duo_graph *graph = NULL;
    CHECK_STATUS(DUO_OK, duo_graph_begin(b->ctx));
    CHECK_STATUS(DUO_OK, run(b));
    CHECK_STATUS(DUO_OK, duo_graph_end(b->ctx, &graph));
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, b->ctx));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, b->ctx));
    CHECK_STATUS(DUO_OK, duo_synchronize(b->ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

/* With one C for all, the bits of a call for each product, the first with beta and the others with
 * 1; also in a graph. */
static void added_up(void)
{
    test_rng rng = test_rng_for("sum");
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    for (int round = 0; round < 40; round++) {
        const bool captures = round % 4 == 3;
        place where[3];
        for (int i = 0; i < 3; i++)
            where[i] = !captures         ? (place)(test_random(&rng) % PLACES)
                       : test_gpu_side() ? DEVICE
                                         : HOST;
        batch b = new_batch(ctx, &rng, where[0], where[1], where[2]);
        b.list = false;
        b.stride[2] = 0;
        if (round % 8 == 7) b.alpha = 0.0f;
        name_case("sum", &b);
        float *const before = prepare(&b);
        const size_t bytes = (size_t)b.c.floats * sizeof(float);
        float *const expected = must(malloc(bytes));
        for (int64_t p = 0; p < b.count; p++)
            CHECK_STATUS(DUO_OK, duo_sgemm(ctx, b.layout, b.transa, b.transb, b.m, b.n, b.k,
                                           b.alpha, b.a.seen + begin_of(&b, 0, p), b.lda,
                                           b.b.seen + begin_of(&b, 1, p), b.ldb,
                                           p == 0 ? b.beta : 1.0f, b.c.seen, b.ldc));
        from_library(ctx, &b.c);
        memcpy(expected, b.c.host, bytes);
        memcpy(b.c.host, before, bytes);
        to_library(ctx, &b.c);
        if (captures)
            run_captured(&b);
        else
            CHECK_STATUS(DUO_OK, run(&b));
        from_library(ctx, &b.c);
        CHECK(memcmp(expected, b.c.host, bytes) == 0, "other bits than by calls");
        free(expected);
        free(before);
        end_batch(&b);
    }
    test_context_end(ctx);
}

static duo_status strided(duo_context *ctx, duo_transpose transa, int64_t m, const float *a,
                          int64_t lda, int64_t stride_a, float *c, int64_t ldc, int64_t stride_c,
                          int64_t count)
{
    return duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, transa, DUO_NO_TRANS, m, 4, 4, 1.0f, a,
                                     lda, stride_a, a, 4, 0, 0.0f, c, ldc, stride_c, count);
}

static void arguments(void)
{
    enum { FLOATS = 200 };
    duo_context *const ctx = test_context();
    float a[FLOATS] = {0}, c[FLOATS];
    const float *list[3] = {a, NULL, a};
    float *out[3] = {c, c + 16, c + 32};
    test_case("batched/arguments");
    test_fill_poison(c, FLOATS);
    CHECK_STATUS(DUO_ERR_CONTEXT,
                 strided(test_dead_context(), DUO_NO_TRANS, 4, a, 4, 16, c, 4, 16, 3));
    CHECK_STATUS(DUO_ERR_ENUM, strided(ctx, (duo_transpose)99, 4, a, 4, 16, c, 4, 16, 3));
    CHECK_STATUS(DUO_ERR_SIZE, strided(ctx, DUO_NO_TRANS, -1, a, 4, 16, c, 4, 16, 3));
    CHECK_STATUS(DUO_ERR_SIZE, strided(ctx, DUO_NO_TRANS, 4, a, 4, 16, c, 4, 16, -1));
    CHECK_STATUS(DUO_ERR_SIZE, strided(ctx, DUO_NO_TRANS, 4, a, 4, INT64_MAX / 2, c, 4, 16, 3));
    static const int64_t far[] = {INT64_MAX, INT64_MIN, INT64_MAX / 8 + 1, -(INT64_MAX / 8) - 1};
    for (int i = 0; i < 4; i++)
        for (int operand = 0; operand < 3; operand++)
            for (int64_t count = 2; count <= 3; count++) {
                const int64_t stride[3] = {operand == 0 ? far[i] : 16, operand == 1 ? far[i] : 16,
                                           operand == 2 ? far[i] : 16};
                const duo_status status = duo_sgemm_strided_batched(
                    ctx, DUO_ROW_MAJOR, DUO_NO_TRANS, DUO_TRANS, 4, 4, 4, 1.0f, a, 4, stride[0], a,
                    4, stride[1], 0.0f, c, 4, stride[2], count);
                CHECK(status == DUO_ERR_SIZE, "operand %d, stride %jd: %d", operand,
                      (intmax_t)far[i], (int)status);
            }
    CHECK_STATUS(DUO_ERR_LD, strided(ctx, DUO_NO_TRANS, 4, a, 3, 16, c, 4, 16, 3));
    CHECK_STATUS(DUO_ERR_LD, strided(ctx, DUO_NO_TRANS, 4, a, 4, 16, c, 4, 15, 3));
    CHECK_STATUS(DUO_ERR_LD, strided(ctx, DUO_NO_TRANS, 4, a, 4, 16, c + 64, 7, -4, 2));
    CHECK_STATUS(DUO_ERR_NULL, strided(ctx, DUO_NO_TRANS, 4, NULL, 4, 16, c, 4, 16, 3));
    CHECK_STATUS(DUO_ERR_NULL, strided(ctx, DUO_NO_TRANS, 4, a, 4, 16, NULL, 4, 16, 3));
    CHECK_STATUS(DUO_ERR_NULL, duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 4,
                                                 4, 4, 1.0f, list, 4, list, 4, 0.0f, out, 4, 3));
    CHECK_STATUS(DUO_ERR_NULL, duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 4,
                                                 4, 4, 1.0f, NULL, 4, list, 4, 0.0f, out, 4, 1));
    CHECK(test_all_poison(c, FLOATS), "a bad call wrote something");
    test_case("batched/nothing");
    CHECK_STATUS(DUO_OK, strided(ctx, DUO_NO_TRANS, 4, NULL, 4, 16, NULL, 4, 16, 0));
    CHECK_STATUS(DUO_OK, strided(ctx, DUO_NO_TRANS, 0, NULL, 4, 16, NULL, 4, 16, 3));
    CHECK_STATUS(DUO_OK, duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 4, 4, 4,
                                           1.0f, NULL, 4, NULL, 4, 0.0f, NULL, 4, 0));
    CHECK_STATUS(DUO_OK, duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 0, 4, 4,
                                           1.0f, NULL, 4, NULL, 4, 0.0f, NULL, 4, 3));
    CHECK(test_all_poison(c, FLOATS), "nothing wrote something");
    test_case("batched/between-columns"); /* columns of each C between columns of the others */
    CHECK_STATUS(DUO_OK, strided(ctx, DUO_NO_TRANS, 4, a, 4, 16, c, 12, 4, 3));
    for (int e = 0; e < 48; e++) CHECK(c[e] == 0.0f, "element %d", e);
    CHECK(test_all_poison(c + 48, FLOATS - 48), "wrote behind");
    test_case("batched/added up");
    for (int e = 0; e < FLOATS; e++) a[e] = 1.0f;
    CHECK_STATUS(DUO_OK, strided(ctx, DUO_NO_TRANS, 4, a, 4, 16, c, 4, 0, 3));
    for (int e = 0; e < 16; e++) CHECK(c[e] == 12.0f, "element %d: %g", e, (double)c[e]);
    CHECK(c[16] == 0.0f, "wrote behind");
    test_case("batched/backwards");
    CHECK_STATUS(DUO_OK, strided(ctx, DUO_NO_TRANS, 4, a + 32, 4, -16, c + 150, 4, -20, 3));
    test_context_end(ctx);
}

/* A product has the same bits in every batch: on the CPU the bits of duo_sgemm; in one launch the
 * bits of any other launch. */
static void same_bits(void)
{
    test_rng rng = test_rng_for("bits");
    duo_context *const ctx = test_context();
    /* On the CPU a batch may take another algorithm than its products, but for this math. */
    if (!test_gpu_side()) CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    for (int round = 0; round < 12; round++) {
        const place where = test_gpu_side() ? DEVICE : HOST;
        batch b = new_batch(ctx, &rng, where, where, where);
        name_case("bits", &b);
        float *const before = prepare(&b);
        CHECK_STATUS(DUO_OK, run(&b));
        from_library(ctx, &b.c);
        const size_t bytes = (size_t)b.c.floats * sizeof(float);
        float *const got = must(malloc(bytes));
        memcpy(got, b.c.host, bytes);
        memcpy(b.c.host, before, bytes);
        to_library(ctx, &b.c);
        if (test_gpu_side()) { /* in two batches */
            batch half = b;
            half.count = b.count / 2;
            CHECK_STATUS(DUO_OK, run(&half));
            for (int i = 0; i < 3; i++) half.stride[i] = b.stride[i];
            half.count = b.count - b.count / 2;
            for (int64_t p = 0; p < half.count; p++) half.order[p] = b.order[p + b.count / 2];
            if (!b.list) {
                half.a.seen += b.count / 2 * b.stride[0];
                half.b.seen += b.count / 2 * b.stride[1];
                half.c.seen += b.count / 2 * b.stride[2];
            }
            CHECK_STATUS(DUO_OK, run(&half));
        } else {
            for (int64_t p = 0; p < b.count; p++)
                CHECK_STATUS(DUO_OK, duo_sgemm(ctx, b.layout, b.transa, b.transb, b.m, b.n, b.k,
                                               b.alpha, b.a.seen + begin_of(&b, 0, p), b.lda,
                                               b.b.seen + begin_of(&b, 1, p), b.ldb, b.beta,
                                               b.c.seen + begin_of(&b, 2, p), b.ldc));
        }
        from_library(ctx, &b.c);
        /* A half of one product is a call of its own, with another algorithm. */
        if (!test_gpu_side() || b.count / 2 > 1)
            CHECK(memcmp(got, b.c.host, bytes) == 0, "other bits");
        free(got);
        free(before);
        end_batch(&b);
    }
    test_context_end(ctx);
}

/* Matrices that are larger than one transfer. */
static void long_k(void)
{
    enum { N = 4, K = 600000, COUNT = 3 };
    test_rng rng = test_rng_for("long k");
    duo_context *const ctx = test_context();
    batch b = dense_batch(ctx, &rng, HOST, N, N, K, COUNT);
    b.stride[1] = 0;
    name_case("long", &b);
    float *const before = prepare(&b);
    const uint64_t launches = sim_count(SIM_LAUNCH);
    CHECK_STATUS(DUO_OK, run(&b));
    if (test_on_sim()) check_one_launch(launches);
    check_all(&b, before);
    free(before);
    end_batch(&b);
    test_context_end(ctx);
}

static double predicted_seconds(duo_context *ctx, place where)
{
    test_rng rng = test_rng_for("predicted");
    batch b = dense_batch(ctx, &rng, where, 40, 30, 20, MOST);
    duo_decision d = {.size = sizeof d};
    name_case("predicted", &b);
    to_library(ctx, &b.a);
    to_library(ctx, &b.b);
    to_library(ctx, &b.c);
    CHECK_STATUS(DUO_OK, run(&b));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    end_batch(&b);
    return d.predicted_seconds;
}

/* The price has the bytes sent and fetched, at the rates of the link. */
static void predicted(void)
{
    if (!test_gpu_side()) {
        test_skip("needs a device");
        return;
    }
    const double sent = 4.0 * MOST * (40 * 20 + 20 * 30 + 40 * 30), c = 4.0 * MOST * 40 * 30;
    duo_context *const ctx = test_context();
    const double there = predicted_seconds(ctx, DEVICE);
    const double pageable = predicted_seconds(ctx, HOST) - there;
    const double pinned = predicted_seconds(ctx, PINNED) - there;
    const duo_profile *const p = duo_profile_in_use();
    const double least = sent / p->upload_pageable + c / p->download_pageable;
    const double ends = 4.0 * p->copy_seconds + p->round_trip_seconds;
    CHECK(pageable >= least && pageable <= 2.0 * least + ends, "%g s", pageable);
    CHECK(pinned >= sent / p->upload_pinned && pinned <= pageable, "%g s", pinned);
    CHECK(test_close(predicted_seconds(ctx, FOREIGN), there + pinned, 1e-9),
          "the driver was not asked");
    test_context_end(ctx);
}

/* The first products of C are in a kept array, one is partly, and the others are not. */
static void crossing(void)
{
    enum { N = 20, COUNT = 12, KEPT_FLOATS = 5 * N * N / 2 };
    const size_t kept_bytes = KEPT_FLOATS * sizeof(float);
    test_rng rng = test_rng_for("crossing");
    duo_context *const ctx = test_context();
    batch b = dense_batch(ctx, &rng, HOST, N, N, N, COUNT);
    test_case("crossing");
    float *const before = prepare(&b), *const copy = must(malloc(kept_bytes));
    float kept_sum, sum;
    CHECK_STATUS(DUO_OK, duo_keep(ctx, b.c.host, kept_bytes));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, KEPT_FLOATS, b.c.host, 1, &kept_sum)); /* it is sent */
    const uint64_t launches = sim_count(SIM_LAUNCH);
    CHECK_STATUS(DUO_OK, run(&b));
    if (test_on_sim()) check_one_launch(launches);
    check_all(&b, before);
    memcpy(copy, b.c.host, kept_bytes);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, KEPT_FLOATS, b.c.host, 1, &kept_sum));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, KEPT_FLOATS, copy, 1, &sum));
    CHECK(test_bits(sum) == test_bits(kept_sum), "the device has what C was");
    CHECK_STATUS(DUO_OK, duo_release(ctx, b.c.host));
    free(copy);
    free(before);
    end_batch(&b);
    test_context_end(ctx);
}

/* While a graph is captured the products become its nodes. */
static void captured(void)
{
    test_rng rng = test_rng_for("captured");
    duo_context *const ctx = test_context();
    const place where = test_gpu_side() ? DEVICE : HOST;
    batch b = new_batch(ctx, &rng, where, where, where);
    name_case("captured", &b);
    float *const before = prepare(&b);
    run_captured(&b);
    from_library(ctx, &b.c);
    check_all(&b, before);
    free(before);
    end_batch(&b);
    test_context_end(ctx);
}

/* A launch that fails leaves the work to calls of their own. */
static void refused(void)
{
    if (!test_on_sim()) {
        test_skip("needs a device that refuses");
        return;
    }
    test_rng rng = test_rng_for("refused");
    duo_context *const ctx = test_context();
    for (int i = 0; i < 2; i++) {
        batch b = new_batch(ctx, &rng, DEVICE, DEVICE, DEVICE);
        name_case("refused", &b);
        float *const before = prepare(&b);
        sim_fail(SIM_LAUNCH, 1, i == 0 ? DUO_ERR_DEVICE : DUO_ERR_MEMORY, 1);
        CHECK_STATUS(DUO_OK, run(&b));
        from_library(ctx, &b.c);
        check_all(&b, before);
        free(before);
        end_batch(&b);
    }
    test_context_end(ctx);
}

/* Bytes on the device that a launch needs for operands in host memory. */
static uint64_t sent_bytes(const batch *b)
{
    const int64_t floats[3] = {b->m * b->k, b->k * b->n, b->m * b->n};
    const place where[3] = {b->a.place, b->b.place, b->c.place};
    int64_t all = 0;
    for (int i = 0; i < 3; i++)
        if (where[i] == HOST || where[i] == PINNED)
            all += floats[i] * (b->stride[i] == 0 ? 1 : b->count);
    return (uint64_t)all * sizeof(float);
}

/* The device has memory only for a part of the operands in host memory. This is known, or others
 * have taken the memory since, or the device at first refuses to give more. */
static void short_of_memory(void)
{
    enum { KNOWN, TAKEN, REFUSED, WAYS };
    static const char *const names[WAYS] = {"known", "taken", "refused"};
    if (!test_on_sim()) {
        test_skip("needs a device whose memory is short");
        return;
    }
    test_rng rng = test_rng_for("short");
    for (int round = 0; round < 45; round++) {
        const int way = round % WAYS;
        test_reset();
        duo_context *ctx = way != KNOWN ? test_context() : NULL; /* its memory is not known yet */
        batch b = new_batch(ctx, &rng, way != KNOWN && round % 4 == 0 ? DEVICE : HOST, HOST,
                            way != KNOWN && round % 2 == 0 ? PINNED : HOST);
        name_case(names[way], &b);
        float *const before = prepare(&b);
        const uint64_t there = sim_allocated_bytes(0), sent = sent_bytes(&b);
        const bool parted = b.count > 8 && sent > 1 << 14 && b.stride[0] != 0 && b.stride[1] != 0 &&
                            b.alpha != 0.0f;
        if (way == REFUSED) /* also after an attempt to evict, and without workspace */
            sim_fail(SIM_ALLOCATE, 1, DUO_ERR_MEMORY, 4);
        else
            sim_set_memory(there + sent / 2 + 1024);
        if (way == KNOWN) ctx = b.ctx = test_context();
        if (way == KNOWN) CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
        const uint64_t launches = sim_count(SIM_LAUNCH), allocations = sim_count(SIM_ALLOCATE);
        CHECK_STATUS(DUO_OK, run(&b));
        const uint64_t parts = sim_count(SIM_LAUNCH) - launches;
        CHECK(!parted || (parts >= 2 && parts <= (uint64_t)b.count), "%ju parts", (uintmax_t)parts);
        if (parted && way == KNOWN)
            CHECK(sim_count(SIM_ALLOCATE) - allocations <= 3 * parts, "tried more than there is");
        sim_fail(SIM_ALLOCATE, 0, DUO_OK, 0);
        sim_set_memory((uint64_t)1 << 30);
        from_library(ctx, &b.c);
        check_all(&b, before);
        free(before);
        end_batch(&b);
        test_context_end(ctx);
    }
}

/* Lists on the device lead to memory of duo_malloc that lies in host memory, as the device was full
 * when it was asked for. The device must not be told to go there. */
static void lists_to_host(void)
{
    enum { EDGE = 20, FLOATS = EDGE * EDGE, COUNT = 2 };
    static const int64_t edge[] = {EDGE}, size[] = {COUNT};
    static const duo_transpose plainly[] = {DUO_NO_TRANS};
    static const float one[] = {1.0f}, zero[] = {0.0f};
    float data[FLOATS], c[COUNT * FLOATS];
    void *a = NULL, *b = NULL, *out = NULL, *memory = NULL;
    if (!test_on_sim()) {
        test_skip("needs a device that is full");
        return;
    }
    test_case("lists to host");
    duo_context *const ctx = test_context();
    for (int i = 0; i < FLOATS; i++) data[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof data, &a));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof c, &out));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof(float *[3][COUNT]), &memory));
    sim_fail(SIM_ALLOCATE, 1, DUO_ERR_MEMORY, -1);
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof data, &b));
    sim_fail(SIM_ALLOCATE, 0, DUO_OK, 0);
    CHECK(!sim_is_device(b), "the device was not full");
    CHECK_STATUS(DUO_OK, duo_copy(ctx, a, data, sizeof data));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, b, data, sizeof data));
    const float *const list[3][COUNT] = {{a, a}, {b, b}, {out, (float *)out + FLOATS}};
    CHECK_STATUS(DUO_OK, duo_copy(ctx, memory, list, sizeof list));
    const float *const *const there = memory;
    float *const *const outs = (float *const *)memory + 2 * COUNT;
    for (int way = 0; way < 2; way++) {
        test_fill_poison(c, COUNT * FLOATS);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, out, c, sizeof c));
        CHECK_STATUS(DUO_OK, way == 0
                                 ? duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS,
                                                     EDGE, EDGE, EDGE, 1.0f, there, EDGE,
                                                     there + COUNT, EDGE, 0.0f, outs, EDGE, COUNT)
                                 : duo_sgemm_grouped(ctx, DUO_COL_MAJOR, 1, plainly, plainly, edge,
                                                     edge, edge, one, there, edge, there + COUNT,
                                                     edge, zero, outs, edge, size));
        CHECK_STATUS(DUO_OK, duo_copy(ctx, c, out, sizeof c));
        for (int i = 0; i < COUNT * FLOATS; i++) CHECK(c[i] == EDGE, "%g", (double)c[i]);
    }
    void *const all[] = {a, b, out, memory};
    for (int i = 0; i < 4; i++) CHECK_STATUS(DUO_OK, duo_free(ctx, all[i]));
    test_context_end(ctx);
}

static const test_entry tests[] = {
    {"added_up", added_up},
    {"arguments", arguments},
    {"random_batches", random_batches},
    {"scattered", scattered},
    {"same_bits", same_bits},
    {"long_k", long_k},
    {"predicted", predicted},
    {"crossing", crossing},
    {"captured", captured},
    {"refused", refused},
    {"short_of_memory", short_of_memory},
    {"lists_to_host", lists_to_host},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "sgemm_batched", tests); }
