/*
 * test_graphs.c - graphs: what building and updating refuse, every kind of work on either side,
 * order within a graph and with its contexts, random graphs against the same work done in plain C,
 * and what becomes of a graph when its device is lost or its process forks.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/clock.h"
#include "support/child.h"
#include "support/exact.h"
#include "support/harness.h"
#include "support/sanitizers.h"

/* ---- Memory ---- */

/*
 * A world is a block of arrays in host memory, one of duo_malloc, and images of both, in which the
 * same work is done in plain C. Whole blocks are compared, so that what is written elsewhere shows.
 * Without a GPU both blocks are host memory.
 *
 * The first and the last array of a block hold poison and guard the others.
 */
enum { HOST, DEVICE, SIDES };
enum { ARRAYS = 16, LARGEST = 4 /* of the data */ };

typedef struct world {
    duo_context *ctx;
    test_rng rng;
    int64_t length; /* of each array, in floats */
    size_t bytes;   /* of each block */
    float *block[SIDES], *image[SIDES];
} world;

static float *array(const world *w, int side, int64_t i) { return w->block[side] + i * w->length; }

/* New data in the images: small integers other than 0. */
static void draw(world *w)
{
    for (int64_t i = 0; i < 2 * ARRAYS * w->length; i++) {
        const int64_t value = test_between(&w->rng, 1, LARGEST), at = i / 2, of = at / w->length;
        const float x = (float)(test_random(&w->rng) % 2 != 0 ? value : -value);
        w->image[i % 2][at] = of == 0 || of == ARRAYS - 1 ? test_poison() : x;
    }
}

/* The blocks become what the images are. */
static void send(const world *w)
{
    CHECK_STATUS(DUO_OK, duo_synchronize(w->ctx));
    memcpy(w->block[HOST], w->image[HOST], w->bytes);
    CHECK_STATUS(DUO_OK, duo_copy(w->ctx, w->block[DEVICE], w->image[DEVICE], w->bytes));
}

static world begin(const char *label, int64_t length)
{
    world w = {.ctx = test_context(), .rng = test_rng_for(label), .length = length};
    void *memory = NULL;
    w.bytes = ARRAYS * (size_t)length * sizeof(float);
    for (int side = 0; side < SIDES; side++) w.image[side] = new_floats(ARRAYS * length);
    CHECK_STATUS(DUO_OK, duo_malloc(w.ctx, w.bytes, &memory));
    w.block[DEVICE] = memory;
    w.block[HOST] = new_floats(ARRAYS * length);
    draw(&w);
    send(&w);
    return w;
}

static void free_memory(world *w)
{
    CHECK_STATUS(DUO_OK, duo_free(w->ctx, w->block[DEVICE]));
    free(w->block[HOST]);
    for (int side = 0; side < SIDES; side++) free(w->image[side]);
}

static void end(world *w)
{
    free_memory(w);
    end_without_leaks(w->ctx);
}

/* Where that is in the images. */
static void *behind(const world *w, const void *p)
{
    if (p == NULL) return NULL;
    const uintptr_t on_host = (uintptr_t)p - (uintptr_t)w->block[HOST];
    const uintptr_t on_device = (uintptr_t)p - (uintptr_t)w->block[DEVICE];
    if (on_host < w->bytes) return (char *)w->image[HOST] + on_host;
    if (on_device < w->bytes) return (char *)w->image[DEVICE] + on_device;
    abort();
}

/* Poison is as good as poison, and -0 as 0, also where its lower bytes were written since. */
static bool alike(float x, float y)
{
    return test_same(x, y) || x == y || (fabsf(x) < 1e-37f && fabsf(x) == fabsf(y));
}

static void check_world(const world *w)
{
    const int64_t count = ARRAYS * w->length;
    float *const copy = new_floats(count);
    test_fill_poison(copy, count);
    CHECK_STATUS(DUO_OK, duo_synchronize(w->ctx));
    CHECK_STATUS(DUO_OK, duo_copy(w->ctx, copy, w->block[DEVICE], w->bytes));
    for (int side = 0; side < SIDES; side++) {
        const float *const got = side == HOST ? w->block[HOST] : copy;
        const float *const right = w->image[side];
        int64_t i = 0;
        while (i < count && alike(got[i], right[i])) i++;
        CHECK(i == count, "side %d, array %d, element %d: %g, expected %g", side,
              (int)(i / w->length), (int)(i % w->length), (double)got[i % count],
              (double)right[i % count]);
    }
    free(copy);
}

/* ---- The same work in plain C ---- */

/* For functions of the host: makes `count` floats of others. */
typedef struct conversion {
    const float *from;
    float *to;
    int64_t add, count;
} conversion;

static void convert(void *user)
{
    const conversion *const c = user;
    for (int64_t i = 0; i < c->count; i++)
        c->to[i] = (float)(1 + ((int64_t)fabsf(c->from[i]) + c->add) % 5);
}

static int64_t place_of(const duo_work *v, duo_transpose trans, int64_t ld, int64_t i, int64_t j)
{
    return (v->layout == DUO_ROW_MAJOR) == (trans == DUO_NO_TRANS) ? i * ld + j : i + j * ld;
}

static void serial_product(const duo_work *v)
{
    for (int64_t i = 0; i < v->m; i++)
        for (int64_t j = 0; j < v->n; j++) {
            float sum = 0.0f, *const c = &v->c[place_of(v, DUO_NO_TRANS, v->ldc, i, j)];
            for (int64_t p = 0; p < (v->alpha != 0.0f ? v->k : 0); p++)
                sum += v->a[place_of(v, v->transa, v->lda, i, p)] *
                       v->b[place_of(v, v->transb, v->ldb, p, j)];
            *c = v->alpha * sum + (v->beta == 0.0f ? 0.0f : v->beta * *c);
        }
}

static bool reduces(duo_work_kind kind) { return kind >= DUO_WORK_SASUM && kind <= DUO_WORK_SDOT; }

static float serial_sum(const duo_work *v)
{
    const bool dot = v->kind == DUO_WORK_SDOT;
    float sum = 0.0f;
    for (int64_t i = 0; i < (dot || v->incx > 0 ? v->n : 0); i++) {
        const float x = v->x[(v->incx >= 0 ? i : i - (v->n - 1)) * v->incx];
        if (dot) sum += x * v->y[(v->incy >= 0 ? i : i - (v->n - 1)) * v->incy];
        if (!dot) sum += v->kind == DUO_WORK_SASUM ? fabsf(x) : x;
    }
    return sum;
}

/* Does this work in the images. */
static void serial(const world *w, const duo_work *work)
{
    duo_work v = *work;
    v.a = behind(w, v.a), v.b = behind(w, v.b), v.c = behind(w, v.c);
    v.x = behind(w, v.x), v.y = behind(w, v.y), v.result = behind(w, v.result);
    v.dst = behind(w, v.dst), v.src = behind(w, v.src);
    if (v.kind == DUO_WORK_SGEMM) serial_product(&v);
    if (reduces(v.kind)) *v.result = serial_sum(&v);
    for (size_t r = 0; r < (v.width > 0 ? v.height : 0); r++) {
        char *const to = (char *)v.dst + r * v.dst_pitch;
        if (v.kind == DUO_WORK_SET)
            memset(to, v.value, v.width);
        else
            memcpy(to, (const char *)v.src + r * v.src_pitch, v.width);
    }
    if (v.function == convert) {
        conversion c = *(const conversion *)v.user;
        c.from = behind(w, c.from), c.to = behind(w, c.to);
        convert(&c);
    }
}

/* ---- Works and graphs ---- */

static duo_work of_kind(duo_work_kind kind)
{
    return (duo_work){.size = sizeof(duo_work), .kind = kind};
}

/* C := A * B + beta * C, square and column-major. */
static duo_work product(int64_t n, const float *a, const float *b, float beta, float *c)
{
    duo_work v = of_kind(DUO_WORK_SGEMM);
    v.layout = DUO_COL_MAJOR, v.transa = v.transb = DUO_NO_TRANS;
    v.m = v.n = v.k = v.lda = v.ldb = v.ldc = n;
    v.alpha = 1.0f, v.beta = beta;
    v.a = a, v.b = b, v.c = c;
    return v;
}

static duo_work reduction(duo_work_kind kind, int64_t n, const float *x, float *result)
{
    duo_work v = of_kind(kind);
    v.n = n, v.incx = v.incy = 1;
    v.x = x, v.y = kind == DUO_WORK_SDOT ? x : NULL, v.result = result;
    return v;
}

static duo_work copying(void *dst, const void *src, size_t bytes)
{
    return (duo_work){sizeof(duo_work), DUO_WORK_COPY,  .dst = dst,
                      .src = src,       .width = bytes, .height = 1};
}

static duo_work calling(void (*function)(void *), void *user)
{
    return (duo_work){sizeof(duo_work), DUO_WORK_HOST, .function = function, .user = user};
}

static void do_nothing(void *user) { (void)user; }

/* Sound work of each kind, in less than 400 floats; of the host's, nothing. */
static duo_work sample(duo_work_kind kind, const float *in, float *out)
{
    duo_work v = kind == DUO_WORK_SGEMM  ? product(10, in, in + 200, 1.0f, out)
                 : reduces(kind)         ? reduction(kind, 100, in, out)
                 : kind == DUO_WORK_HOST ? calling(do_nothing, NULL)
                                         : of_kind(kind);
    if (kind == DUO_WORK_SGEMM) v.lda = v.ldb = v.ldc = 20;
    if (reduces(kind)) v.incx = 2, v.incy = -2;
    if (kind == DUO_WORK_COPY || kind == DUO_WORK_SET)
        v.dst = out, v.dst_pitch = 40, v.width = 24, v.height = 3, v.value = 65;
    if (kind == DUO_WORK_COPY) v.src = in, v.src_pitch = 48;
    return v;
}

enum { KINDS = DUO_WORK_HOST + 1 };

static duo_graph *new_graph(void)
{
    duo_graph *graph = NULL;
    CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
    return graph;
}

static duo_node add(duo_graph *graph, const duo_work *work, const duo_node *after, int count)
{
    duo_node node = 0;
    const duo_work empty = of_kind(DUO_WORK_EMPTY);
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, work != NULL ? work : &empty, after, count, &node));
    CHECK(node != 0, "a node is none");
    return node;
}

/* A graph of these works, each after the one before or side by side. node: NULL, or the nodes. */
static duo_graph *built(duo_context *ctx, const duo_work *works, int count, bool chain,
                        duo_node *node)
{
    duo_graph *const graph = new_graph();
    duo_node last = 0;
    for (int i = 0; i < count; i++) {
        last = add(graph, &works[i], &last, chain && i > 0);
        if (node != NULL) node[i] = last;
    }
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    return graph;
}

/* It can be built now, and launched; and is ended. */
static void sound(duo_graph *graph, duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

/* Launches what does these works, and does them in the images. */
static void launch(const world *w, duo_graph *graph, duo_context *ctx, const duo_work *works,
                   int count)
{
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    for (int i = 0; i < count; i++) serial(w, &works[i]);
}

enum { TEXT = 4096 };

static void printed(duo_graph *graph, char text[TEXT])
{
    size_t length = 0;
    CHECK_STATUS(DUO_OK, duo_graph_print(graph, text, TEXT, &length));
    CHECK(strlen(text) == length, "%zu characters, %zu announced", strlen(text), length);
}

static void check_unchanged(duo_graph *graph, const char *before)
{
    char now[TEXT];
    printed(graph, now);
    CHECK(strcmp(before, now) == 0, "a call that failed changed\n%sto\n%s", before, now);
}

/* ---- Arguments ---- */

/* It is no graph, or none any more. */
static void is_no_graph(duo_graph *none, duo_context *ctx)
{
    const duo_work work = of_kind(DUO_WORK_EMPTY);
    duo_node node = 77;
    size_t length = 77;
    char text[8] = "as";
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_add(none, &work, NULL, 0, &node));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_alter(none, 1, &work, NULL, 0));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_build(none, ctx));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_launch(none, ctx));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_update(none, 1, &work));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_print(none, text, sizeof text, &length));
    CHECK(node == 77 && length == 77 && strcmp(text, "as") == 0, "written in spite of the error");
    CHECK(duo_graph_detail(none) != NULL, "NULL");
}

/* What duo_graph_add and duo_graph_alter refuse. alien: nodes of another graph. */
static void refused_nodes(duo_graph *graph, duo_node first, const duo_node alien[2])
{
    const duo_work good = of_kind(DUO_WORK_EMPTY), none = {.kind = DUO_WORK_EMPTY};
    const duo_work small = {.size = sizeof(duo_work) - 1}, unknown = of_kind((duo_work_kind)99);
    const duo_node after[] = {first, 0, first, alien[0], first, alien[1]};
    const struct {
        const duo_work *work;
        const duo_node *after;
        int count;
        duo_status status;
    } bad[] = {{&good, NULL, 1, DUO_ERR_NULL},      {&good, after, -2, DUO_ERR_SIZE},
               {&small, NULL, 0, DUO_ERR_SIZE},     {&none, NULL, 0, DUO_ERR_SIZE},
               {&unknown, NULL, 0, DUO_ERR_ENUM},   {&good, after, 2, DUO_ERR_NODE},
               {&good, after + 2, 2, DUO_ERR_NODE}, {&good, after + 4, 2, DUO_ERR_NODE}};
    duo_node node = 77;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const duo_work *const work = bad[i].work;
        const int count = bad[i].count;
        test_case("graphs/refused-nodes/%zu", i);
        CHECK_STATUS(bad[i].status, duo_graph_add(graph, work, bad[i].after, count, &node));
        CHECK_STATUS(bad[i].status, duo_graph_alter(graph, first, work, bad[i].after, count));
    }
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_add(graph, NULL, NULL, 0, &node));
    CHECK_STATUS(DUO_ERR_SIZE, duo_graph_add(graph, &good, &first, -1, &node));
    for (int i = 1; i < 6; i += 2)
        CHECK_STATUS(DUO_ERR_NODE, duo_graph_alter(graph, after[i], &good, NULL, 0));
    CHECK(node == 77, "written in spite of the error");
}

static void arguments(void)
{
    const duo_work good = of_kind(DUO_WORK_EMPTY), none = {.kind = DUO_WORK_EMPTY};
    duo_node node = 77, alien[3];
    size_t length = 77;
    char text[TEXT];
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_create(NULL));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(NULL));
    is_no_graph(NULL, ctx);
    duo_graph *graph = new_graph();
    CHECK(duo_graph_detail(graph) != NULL, "NULL");
    sound(graph, ctx); /* without nodes it does nothing */
    is_no_graph(graph, ctx);
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_destroy(graph));

    duo_graph *const other = new_graph();
    graph = new_graph();
    for (int i = 0; i < 3; i++) alien[i] = add(other, NULL, alien, i);
    const duo_node first = add(graph, NULL, NULL, 0);
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &good, &first, 1, NULL));
    printed(graph, text);
    refused_nodes(graph, first, (const duo_node[]){alien[0], alien[2]});
    test_case("graphs/not-built");
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_update(graph, first, &good));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_graph_build(graph, test_dead_context()));
    CHECK_STATUS(DUO_ERR_NULL, duo_graph_print(graph, NULL, 10, &length));
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, first, NULL, NULL, -1));
    check_unchanged(graph, text);
    test_case("graphs/built");
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    printed(graph, text);
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_build(graph, ctx));
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_add(graph, &good, NULL, 0, &node));
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_alter(graph, first, &good, NULL, 0));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_graph_launch(graph, test_dead_context()));
    CHECK_STATUS(DUO_ERR_NODE, duo_graph_update(graph, 0, &good));
    CHECK_STATUS(DUO_ERR_NODE, duo_graph_update(graph, alien[2], &good));
    CHECK_STATUS(DUO_ERR_SIZE, duo_graph_update(graph, first, &none));
    CHECK(node == 77 && length == 77, "written in spite of the error");
    check_unchanged(graph, text);
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(other));
    end_without_leaks(ctx);
}

/* ---- What building refuses ---- */

/* Cycles of some nodes, between one that they follow and one that follows them. */
static void cycles(void)
{
    duo_context *const ctx = test_context();
    for (int count = 1; count <= 60; count = count == 1 ? 2 : count * 30) {
        test_case("graphs/cycle/%d", count);
        duo_graph *const graph = new_graph();
        duo_node node[64] = {add(graph, NULL, NULL, 0)};
        for (int i = 1; i <= count + 1; i++) node[i] = add(graph, NULL, &node[i - 1], 1);
        CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[1], NULL, &node[count], 1));
        for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_ERR_CYCLE, duo_graph_build(graph, ctx));
        test_contains(duo_graph_detail(graph), "node ");
        CHECK_STATUS(DUO_ERR_BUILT, duo_graph_launch(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[1], NULL, &node[0], 1));
        sound(graph, ctx);
    }
    end_without_leaks(ctx);
}

/* One field of a sample that is other than it was, and what is said of it. */
typedef struct change {
    duo_work_kind kind;
    size_t offset, bytes; /* of the field */
    int64_t value;
    duo_status status;
} change;

#define OF(kind, f, value, said)                                                                   \
    {                                                                                              \
        DUO_WORK_##kind, offsetof(duo_work, f), sizeof((duo_work){0}.f), value, DUO_ERR_##said     \
    }

/* Of a node that is added; SHAPE: of an update. */
static const change changes[] = {
    OF(SGEMM, math, 17, ENUM),     OF(SGEMM, layout, 0, ENUM),     OF(SGEMM, transa, 0, ENUM),
    OF(SGEMM, transb, 110, ENUM),  OF(SASUM, math, 17, ENUM),      OF(SSUM, math, -1, ENUM),
    OF(SDOT, math, 17, ENUM),      OF(SGEMM, m, -1, SIZE),         OF(SGEMM, n, -1, SIZE),
    OF(SGEMM, k, -1, SIZE),        OF(SSUM, n, INT64_MAX, SIZE),   OF(SDOT, incy, INT64_MAX, SIZE),
    OF(COPY, dst_pitch, 23, SIZE), OF(COPY, src_pitch, 23, SIZE),  OF(SET, dst_pitch, 0, SIZE),
    OF(SGEMM, lda, 9, LD),         OF(SGEMM, ldb, 9, LD),          OF(SGEMM, ldc, 9, LD),
    OF(SGEMM, a, 0, NULL),         OF(SGEMM, b, 0, NULL),          OF(SGEMM, c, 0, NULL),
    OF(SASUM, x, 0, NULL),         OF(SSUM, result, 0, NULL),      OF(SDOT, y, 0, NULL),
    OF(COPY, dst, 0, NULL),        OF(COPY, src, 0, NULL),         OF(SET, dst, 0, NULL),
    OF(HOST, function, 0, NULL),   OF(SGEMM, math, 1, SHAPE),      OF(SGEMM, layout, 101, SHAPE),
    OF(SGEMM, transa, 112, SHAPE), OF(SGEMM, transb, 112, SHAPE),  OF(SGEMM, m, 9, SHAPE),
    OF(SGEMM, n, 9, SHAPE),        OF(SGEMM, k, 9, SHAPE),         OF(SGEMM, lda, 19, SHAPE),
    OF(SGEMM, ldb, 19, SHAPE),     OF(SGEMM, ldc, 19, SHAPE),      OF(SASUM, math, 3, SHAPE),
    OF(SASUM, n, 99, SHAPE),       OF(SSUM, incx, 1, SHAPE),       OF(SDOT, incx, 1, SHAPE),
    OF(SDOT, incy, 2, SHAPE),      OF(COPY, dst_pitch, 44, SHAPE), OF(COPY, src_pitch, 44, SHAPE),
    OF(COPY, width, 20, SHAPE),    OF(COPY, height, 2, SHAPE),     OF(SET, dst_pitch, 44, SHAPE),
    OF(SET, width, 20, SHAPE),     OF(SET, height, 2, SHAPE)};
enum { CHANGES = sizeof changes / sizeof changes[0] };

static duo_work changed(const change *how, const float *in, float *out)
{
    duo_work v = sample(how->kind, in, out);
    const int32_t narrow = (int32_t)how->value;
    memcpy((char *)&v + how->offset,
           how->bytes == sizeof narrow ? (const void *)&narrow : &how->value, how->bytes);
    return v;
}

/* The third node of a graph is this one. It is refused, and another takes its place. */
static void third_node(const world *w, const duo_work *bad, duo_status status)
{
    const duo_work good = sample(DUO_WORK_SASUM, array(w, HOST, 4), array(w, HOST, 6));
    duo_graph *const graph = new_graph();
    duo_node node[3] = {add(graph, NULL, NULL, 0)};
    for (int i = 1; i < 3; i++) node[i] = add(graph, i == 2 ? bad : &good, node, i);
    (void)add(graph, NULL, &node[2], 1);
    CHECK_STATUS(status, duo_graph_build(graph, w->ctx));
    test_contains(duo_graph_detail(graph), "node 3");
    CHECK_STATUS(DUO_ERR_BUILT, duo_graph_launch(graph, w->ctx));
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[2], &good, NULL, -1));
    sound(graph, w->ctx);
}

static void refused(void)
{
    world w = begin("graphs/refused", 400);
    for (int i = 0; i < 2 * CHANGES; i++) {
        const change *const how = &changes[i / 2];
        if (how->status == DUO_ERR_SHAPE) continue;
        test_case("graphs/refused/%d, side %d", i / 2, i % 2);
        const duo_work bad = changed(how, array(&w, i % 2, 4), array(&w, i % 2, 6));
        third_node(&w, &bad, how->status);
    }
    end(&w);
}

/* Operands that would have to be copied first, or that are not there. */
static void hidden(void)
{
    if (!test_gpu_side()) return;
    world w = begin("graphs/hidden", 400);
    duo_work bad;
    for (int i = 0; i < 12; i++) { /* three operands on two sides in all ways, but all on one */
        const int dot = i % 2, mix = i / 2 + 1;
        test_case("graphs/hidden/%s/%d", dot ? "sdot" : "sgemm", mix);
        bad = sample(dot ? DUO_WORK_SDOT : DUO_WORK_SGEMM, array(&w, mix & 1, 4),
                     array(&w, mix >> 2, 6));
        *(dot ? &bad.y : &bad.b) = array(&w, mix >> 1 & 1, 5);
        third_node(&w, &bad, DUO_ERR_HIDDEN);
    }
    float *const kept = new_floats(400);
    fill(kept, 400, 1);
    CHECK_STATUS(DUO_OK, duo_keep(w.ctx, kept, 400 * sizeof *kept));
    for (int i = 0; i < 4; i++) {
        test_case("graphs/hidden/kept/%d", i);
        bad = i < 2 ? sample(DUO_WORK_SASUM, kept, array(&w, i, 6))
                    : sample(DUO_WORK_SGEMM, array(&w, i - 2, 4), kept);
        third_node(&w, &bad, DUO_ERR_HIDDEN);
    }
    test_case("graphs/hidden/behind-the-end");
    bad = reduction(DUO_WORK_SSUM, 401, array(&w, DEVICE, ARRAYS - 1), array(&w, DEVICE, 3));
    third_node(&w, &bad, DUO_ERR_RANGE);
    bad = copying(array(&w, HOST, 1), array(&w, DEVICE, ARRAYS - 1), 400 * sizeof(float) + 1);
    third_node(&w, &bad, DUO_ERR_RANGE);
    CHECK_STATUS(DUO_OK, duo_release(w.ctx, kept));
    free(kept);
    end(&w);
}

/* ---- Random graphs ---- */

/* Values are bounded so that all sums are exact, and factors so that they are exact in whatever
 * format products are done. What is no integer any more is not computed with. */
enum { STEPS = 60, MOST = 1 << 22, NO_NUMBER, FACTOR = 100 };

/* Array i of side s is slot s * ARRAYS + i, and bit of that number in sets of arrays. */
enum { FIRST_CONSTANT = 4, FIRST_WRITTEN = 6, LAST_WRITTEN = 14, SLOTS = SIDES * ARRAYS };

typedef struct step {
    duo_work work[2]; /* between these two, updates go to and fro */
    conversion user[2];
    int now, to; /* of the two; the slot that is written */
    uint64_t reads;
    uint64_t before; /* the steps that it depends on, directly or not */
    duo_node node;
} step;

typedef struct program {
    world *w;
    int64_t edge; /* of its matrices */
    duo_graph *graph;
    int count;
    step step[STEPS];
    int64_t bound[SLOTS]; /* of the values behind the steps so far */
} program;

static float *slot(const program *p, int i) { return array(p->w, i / ARRAYS, i % ARRAYS); }

static uint64_t bit(int i) { return (uint64_t)1 << i; }

/* But not slot `but`. */
static int pick(test_rng *rng, int side, int first, int last, int but)
{
    const int i = side * ARRAYS + (int)test_between(rng, first, last);
    return i != but ? i : pick(rng, side, first, last, but);
}

/* Kind and sizes, of 0 too; those of a copy are in units of 1 or 4 bytes. */
static duo_work random_shape(test_rng *rng, duo_work_kind kind, int64_t edge, int64_t unit)
{
    duo_work v = of_kind(kind);
    const int64_t width = test_between(rng, 0, edge);
    v.math = (duo_math)test_between(rng, 0, 3);
    if (kind == DUO_WORK_SGEMM) {
        v.layout = (duo_layout)test_between(rng, DUO_ROW_MAJOR, DUO_COL_MAJOR);
        v.transa = (duo_transpose)test_between(rng, DUO_NO_TRANS, DUO_CONJ_TRANS);
        v.transb = (duo_transpose)test_between(rng, DUO_NO_TRANS, DUO_CONJ_TRANS);
        v.m = width, v.n = test_between(rng, 0, edge), v.k = test_between(rng, 0, edge);
        v.lda = v.ldb = v.ldc = edge;
    } else if (reduces(kind)) {
        v.incx = test_between(rng, kind == DUO_WORK_SDOT ? -3 : 0, 3);
        v.incy = test_between(rng, -3, 3), v.n = test_between(rng, 0, edge * edge / 3);
    } else if (kind == DUO_WORK_COPY || kind == DUO_WORK_SET) {
        v.height = (size_t)test_between(rng, 0, edge), v.width = (size_t)(unit * width);
        v.dst_pitch = (size_t)(unit * test_between(rng, width, edge));
        v.src_pitch = (size_t)(unit * test_between(rng, width, edge));
        if (unit == sizeof(float) && test_between(rng, 0, 1) == 0) /* all in one run */
            v.height = 1, v.width = (size_t)(unit * edge * edge), v.dst_pitch = v.src_pitch = 0;
    }
    return v;
}

/* Where so many runs fit into a slot. */
static void *somewhere(const program *p, int i, size_t pitch, const duo_work *v, int64_t unit)
{
    const size_t taken = v->height > 0 ? (v->height - 1) * pitch + v->width : 0;
    const int64_t room = p->w->length * (int64_t)sizeof(float) - (int64_t)taken;
    return (char *)slot(p, i) + unit * test_between(&p->w->rng, 0, room / unit);
}

/* Chooses operands and scalars of one of both works. Returns the bound of what is written, or -1:
 * not with these. */
static int64_t aim(const program *p, step *s, int version, int from, int64_t unit)
{
    test_rng *const rng = &p->w->rng;
    duo_work *const v = &s->work[version];
    /* Bytes are copied from constants: results are right with either sign of a zero. */
    const bool bytes = v->kind == DUO_WORK_COPY && unit == 1;
    const int i = pick(rng, from, FIRST_CONSTANT, bytes ? FIRST_WRITTEN - 1 : LAST_WRITTEN, s->to);
    const int j = pick(rng, from, FIRST_CONSTANT, LAST_WRITTEN, s->to);
    const int64_t x = p->bound[i], y = p->bound[j];
    const bool dot = v->kind == DUO_WORK_SDOT;
    s->reads |= bit(i) | bit(j);
    v->value = (int)test_between(rng, -300, 300);
    switch (v->kind) {
    case DUO_WORK_SGEMM:
        v->a = slot(p, i), v->b = slot(p, j), v->c = slot(p, s->to);
        v->alpha = (float)test_between(rng, -1, 2);
        v->beta = (float)test_between(rng, -1, 1);
        if (v->beta != 0.0f) s->reads |= bit(s->to);
        return x > FACTOR || y > FACTOR ? -1 : 2 * v->k * x * y + p->bound[s->to];
    case DUO_WORK_SASUM:
    case DUO_WORK_SSUM:
    case DUO_WORK_SDOT:
        v->x = slot(p, i), v->y = dot ? slot(p, j) : NULL;
        v->result = slot(p, s->to) + test_between(rng, 0, p->w->length - 1);
        return x > MOST || y > MOST ? -1 : v->n * x * (dot ? y : 1);
    case DUO_WORK_COPY:
        v->src = somewhere(p, i, v->src_pitch, v, unit);
        v->dst = somewhere(p, s->to, v->dst_pitch, v, unit);
        return bytes ? NO_NUMBER : x;
    case DUO_WORK_SET:
        v->dst = somewhere(p, s->to, v->dst_pitch, v, unit);
        return NO_NUMBER;
    case DUO_WORK_HOST:
        s->user[version] = (conversion){slot(p, i), slot(p, s->to), v->value + 300, p->w->length};
        *v = calling(convert, &s->user[version]);
        return x > MOST ? -1 : 5;
    default:
        return 0;
    }
}

/* kind < 0: any. */
static void random_step(program *p, step *s, int kind)
{
    test_rng *const rng = &p->w->rng;
    for (;;) {
        const int of = kind >= 0 ? kind : (int)test_between(rng, 0, KINDS - 1);
        const int side = of == DUO_WORK_HOST ? HOST : (int)test_between(rng, HOST, DEVICE);
        const int from = of == DUO_WORK_COPY ? (int)test_between(rng, HOST, DEVICE) : side;
        const int64_t unit = of == DUO_WORK_SET || test_between(rng, 0, 2) == 0 ? 1 : sizeof(float);
        *s = (step){.to = pick(rng, side, FIRST_WRITTEN, LAST_WRITTEN, -1)};
        s->work[0] = s->work[1] = random_shape(rng, (duo_work_kind)of, p->edge, unit);
        const int64_t one = aim(p, s, 0, from, unit), two = aim(p, s, 1, from, unit);
        const int64_t most = one > two ? one : two;
        const bool number = most <= MOST || of == DUO_WORK_COPY || of == DUO_WORK_SET;
        if (one < 0 || two < 0 || !number) continue;
        const bool whole = of == DUO_WORK_HOST || s->work[0].width == (size_t)p->w->length * 4;
        if (whole || most > p->bound[s->to]) p->bound[s->to] = most;
        return;
    }
}

/* Step i comes behind those before it that touch what it writes, or write what it reads: it need
 * not depend on each directly. Some more are thrown in, and some named twice. */
static int dependencies(program *p, int i, duo_node *after)
{
    test_rng *const rng = &p->w->rng;
    step *const s = &p->step[i];
    int count = 0;
    for (int j = i - 1; j >= 0; j--) {
        const step *const t = &p->step[j];
        const bool conflict =
            s->to == t->to || ((s->reads & bit(t->to)) | (t->reads & bit(s->to))) != 0;
        const bool needed = conflict && (s->before & bit(j)) == 0;
        if (!needed && test_between(rng, 0, 15) != 0) continue;
        s->before |= t->before | bit(j);
        after[count++] = t->node;
        if (test_between(rng, 0, 7) == 0) after[count++] = t->node;
    }
    return count;
}

/* Adds the steps in their order; or empty nodes in any, which become the steps. */
static void assemble(program *p)
{
    const bool shuffled = test_between(&p->w->rng, 0, 1) == 0;
    int order[STEPS];
    duo_node after[2 * STEPS];
    for (int i = 0; i < p->count; i++) { /* a random permutation */
        const int j = (int)test_between(&p->w->rng, 0, i);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; shuffled && i < p->count; i++)
        p->step[order[i]].node = add(p->graph, NULL, NULL, 0);
    for (int i = 0; i < p->count; i++) {
        step *const s = &p->step[i];
        const int count = dependencies(p, i, after);
        if (!shuffled) {
            s->node = add(p->graph, &s->work[0], after, count);
        } else { /* at once, or one after the other */
            const duo_work *const now = i % 2 == 0 ? &s->work[0] : NULL;
            CHECK_STATUS(DUO_OK, duo_graph_alter(p->graph, s->node, now, after, count));
            CHECK_STATUS(DUO_OK, duo_graph_alter(p->graph, s->node, &s->work[0], NULL, -1));
        }
    }
}

/* A random graph of so many nodes is right at each launch, with some nodes updated in between. A
 * single node writes into poison. */
static void run_random(world *w, int64_t edge, int count, int launches, int kind)
{
    program *const p = calloc(1, sizeof *p);
    if (p == NULL) abort();
    p->w = w, p->edge = edge, p->count = count, p->graph = new_graph();
    for (int i = 0; i < SLOTS; i++) p->bound[i] = LARGEST;
    for (int i = 0; i < count; i++) random_step(p, &p->step[i], kind);
    assemble(p);
    CHECK_STATUS(DUO_OK, duo_graph_build(p->graph, w->ctx));
    for (int round = 0; round < launches; round++) {
        const step *const only = &p->step[0];
        draw(w);
        if (count == 1 && (only->reads & bit(only->to)) == 0)
            test_fill_poison(behind(w, slot(p, only->to)), w->length);
        send(w);
        for (int i = 0; round > 0 && i < count; i++) {
            step *const s = &p->step[i];
            if (test_between(&w->rng, 0, 2) != 0) continue;
            s->now = 1 - s->now;
            CHECK_STATUS(DUO_OK, duo_graph_update(p->graph, s->node, &s->work[s->now]));
        }
        const uint64_t moved = sim_uploaded_bytes() + sim_downloaded_bytes();
        CHECK_STATUS(DUO_OK, duo_graph_launch(p->graph, w->ctx));
        if (count == 1 && test_on_sim() && only->to < ARRAYS && only->work[0].kind != DUO_WORK_COPY)
            CHECK(sim_uploaded_bytes() + sim_downloaded_bytes() == moved, "operands were copied");
        for (int i = 0; i < count; i++) serial(w, &p->step[i].work[p->step[i].now]);
        check_world(w);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(p->graph));
    free(p);
}

static void random_graphs(void)
{
    world w = begin("graphs/random", 8 * 8);
    for (int i = 0; i < 150; i++) {
        const int count = (int)test_between(&w.rng, 1, STEPS);
        test_case("graphs/random/%d/%d nodes", i, count);
        CHECK_STATUS(DUO_OK, duo_set_threads(w.ctx, i % 4));
        if (test_on_sim()) sim_set_delay(i % 3 == 0 ? 20 : 0);
        run_random(&w, 8, count, 3, -1);
    }
    if (test_on_sim()) sim_set_delay(0);
    end(&w);
}

/* ---- Each kind of work ---- */

static void kinds(void)
{
    enum { EDGE = 32 };
    world w = begin("graphs/kinds", EDGE * EDGE);
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < (kind == DUO_WORK_SGEMM ? 150 : 50); i++) {
            test_case("graphs/kinds/%d/%d", kind, i);
            run_random(&w, EDGE, 1, 2, kind);
        }
    end(&w);
}

/* The bits of sums that are not exact are those of plain calls, in every math. */
static void bits(void)
{
    enum { COUNT = 6000 };
    world w = begin("graphs/bits", COUNT);
    for (int side = 0; side < SIDES; side++)
        test_fill(&w.rng, DATA_WIDE, w.image[side] + 6 * COUNT, 2 * COUNT);
    send(&w);
    for (int i = 0; i < 24; i++) {
        const float *const x = array(&w, i / 12, 6), *const y = array(&w, i / 12, 7);
        duo_work v =
            reduction((duo_work_kind)(DUO_WORK_SASUM + i % 3), COUNT - i, x, array(&w, i / 12, 8));
        v.math = (duo_math)(i / 3 % 4);
        if (v.kind == DUO_WORK_SDOT) v.y = y;
        test_case("graphs/bits/side %d/kind %d/math %d", i / 12, (int)v.kind, (int)v.math);
        float right = 0.0f, got = test_poison();
        CHECK_STATUS(DUO_OK, duo_set_math(w.ctx, v.math));
        CHECK_STATUS(DUO_OK, v.kind == DUO_WORK_SASUM  ? duo_sasum(w.ctx, v.n, x, 1, &right)
                             : v.kind == DUO_WORK_SSUM ? duo_ssum(w.ctx, v.n, x, 1, &right)
                                                       : duo_sdot(w.ctx, v.n, x, 1, y, 1, &right));
        CHECK_STATUS(DUO_OK, duo_set_math(w.ctx, DUO_MATH_ACCURATE)); /* the node's own counts */
        duo_graph *const graph = built(w.ctx, &v, 1, false, NULL);
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, w.ctx));
        CHECK_STATUS(DUO_OK, duo_copy(w.ctx, &got, v.result, sizeof got));
        CHECK(test_same(got, right), "%a, expected %a", (double)got, (double)right);
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    }
    end(&w);
}

/* ---- Order ---- */

typedef struct branch {
    atomic_int *taken;
    int rank;
} branch;

static void take_rank(void *user)
{
    branch *const b = user;
    b->rank = atomic_fetch_add(b->taken, 1);
}

/* One function, then three, and a sum of what another made, side by side; then one. All is there
 * when the launch returns. */
static void fork_join(void)
{
    enum { COUNT = 256 };
    float x[COUNT], y[COUNT], right[COUNT], sum = 0.0f;
    atomic_int taken;
    branch b[5];
    conversion made = {x, y, 0, COUNT}, again = {x, right, 0, COUNT};
    duo_node node[7];
    duo_context *const ctx = test_context();
    duo_graph *const graph = new_graph();
    const duo_work works[7] = {calling(take_rank, &b[0]), calling(take_rank, &b[1]),
                               calling(take_rank, &b[2]), calling(take_rank, &b[3]),
                               calling(convert, &made),   reduction(DUO_WORK_SSUM, COUNT, y, &sum),
                               calling(take_rank, &b[4])};
    for (int i = 0; i < 7; i++) {
        const duo_node *const after = i < 5 ? node : i == 5 ? &node[4] : &node[1];
        node[i] = add(graph, &works[i], after, i == 0 ? 0 : i < 6 ? 1 : 5);
    }
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    for (int round = 0; round < 50; round++) {
        test_case("graphs/fork-join/%d", round);
        fill(x, COUNT, round);
        convert(&again);
        test_fill_poison(y, COUNT);
        sum = test_poison();
        atomic_store(&taken, 0);
        for (int i = 0; i < 5; i++) b[i] = (branch){&taken, -1};
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK(same_floats(y, right, COUNT), "wrong values");
        CHECK(sum == sum_of(right, COUNT), "sum %g", (double)sum);
        CHECK(b[0].rank == 0 && b[4].rank == 4, "ranks %d and %d", b[0].rank, b[4].rank);
        for (int i = 1; i < 4; i++) CHECK(b[i].rank > 0 && b[i].rank < 4, "rank %d", b[i].rank);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    end_without_leaks(ctx);
}

/* Many nodes side by side; and as many in a chain, where each copies what the last one copied. */
static void many(void)
{
    enum { MANY = 300 };
    static duo_work works[MANY];
    world w = begin("graphs/many", 10 * MANY);
    for (int i = 0; i < 4; i++) {
        const int side = i % 2;
        const bool chain = i / 2 == 1;
        test_case("graphs/many/%s/side %d", chain ? "chain" : "wide", side);
        for (int j = 0; j < MANY; j++) {
            const float *const in = array(&w, side, 4) + 10 * (int64_t)j;
            float *const out = array(&w, side, 6) + j;
            works[j] = chain ? copying(out + 1, out, sizeof *out)
                             : reduction((duo_work_kind)(DUO_WORK_SASUM + j % 3), 10, in, out);
        }
        duo_graph *const graph = built(w.ctx, works, MANY, chain, NULL);
        for (int round = 0; round < 3; round++) {
            draw(&w);
            send(&w);
            launch(&w, graph, w.ctx, works, MANY);
            check_world(&w);
        }
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    }
    end(&w);
}

/* On the device: a product, a graph that reads it, by way of the host too, and a product of what
 * the graph made. */
static void contexts(void)
{
    enum { EDGE = 8, SIZE = EDGE * EDGE };
    duo_context *const builder = test_context(), *const other = test_context();
    world w = begin("graphs/contexts", SIZE);
    float *d[6], *const h[] = {array(&w, HOST, 6), array(&w, HOST, 7)};
    for (int i = 0; i < 6; i++) d[i] = array(&w, DEVICE, 4 + i);
    conversion c = {h[0], h[1], 1, SIZE};
    const duo_work before = product(EDGE, d[0], d[0], 0.0f, d[1]);
    const duo_work behind_it = product(EDGE, d[3], d[0], 0.0f, d[1]);
    const duo_work works[] = {product(EDGE, d[1], d[0], 0.0f, d[2]),
                              product(EDGE, d[2], d[0], 1.0f, d[3]),
                              copying(h[0], d[2], SIZE * sizeof *c.to), calling(convert, &c),
                              copying(d[4], h[1], SIZE * sizeof *c.to)};
    duo_graph *const graph = built(builder, works, 5, true, NULL);
    test_context_end(builder); /* what the graph has of it is the graph's */
    for (int round = 0; round < 20; round++) {
        test_case("graphs/contexts/%d", round);
        draw(&w);
        send(&w);
        if (test_on_sim()) sim_set_delay(200);
        CHECK_STATUS(DUO_OK, square(w.ctx, EDGE, d[0], d[0], 0.0f, d[1]));
        serial(&w, &before);
        launch(&w, graph, w.ctx, works, 5);
        if (round % 2 == 0) launch(&w, graph, w.ctx, works, 5); /* in a row */
        if (round % 3 != 0) launch(&w, graph, other, works, 5); /* in another context */
        CHECK_STATUS(DUO_OK, square(round % 3 == 1 ? other : w.ctx, EDGE, d[3], d[0], 0.0f, d[1]));
        serial(&w, &behind_it);
        check_world(&w);
        if (test_on_sim()) sim_set_delay(0);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    test_context_end(other);
    end(&w);
}

static void note_clock(void *user) { *(uint64_t *)user = sim_clock_host(); }

/* Of this kind, in the order of queueing; none: as if at the beginning of time. */
static sim_operation logged(sim_operation_kind kind, int nth)
{
    const sim_operation *log;
    const size_t count = sim_log(&log);
    for (size_t i = 0; i < count; i++)
        if (log[i].kind == kind && nth-- == 0) return log[i];
    CHECK(false, "it did not run");
    return (sim_operation){.kind = kind};
}

/* Order where no data ask for it, by the clock of the simulated device: behind a product of the
 * context, and before its copy, a graph of a product, which takes long, a copy, and a function or
 * another copy. Each has memory of its own, as calls on the same memory of duo_malloc follow each
 * other anyhow. */
static void clocks(void)
{
    enum { EDGE = 64, APART, CHAIN, JOIN, SHAPES };
    float from[EDGE * EDGE];
    if (!test_on_sim()) return;
    duo_context *const ctx = test_context();
    void *d[6];
    fill(from, EDGE * EDGE, 1);
    for (int i = 0; i < 6; i++) CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof from, &d[i]));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, d[0], from, sizeof from));
    sim_set_rates(55000, 55000, 390000, 10); /* a product takes 52 ms */
    for (int shape = APART; shape < SHAPES; shape++) {
        test_case("graphs/clocks/%d", shape - APART);
        uint64_t called = UINT64_MAX;
        const duo_work works[] = {
            product(EDGE, d[0], d[0], 0.0f, d[1]), copying(d[2], from, sizeof from),
            shape == JOIN ? copying(d[5], from, sizeof from) : calling(note_clock, &called)};
        duo_graph *const graph = new_graph();
        duo_node node[3];
        for (int i = 0; i < 3; i++)
            node[i] =
                add(graph, &works[i], node, shape == CHAIN || (shape == JOIN && i == 2) ? i : 0);
        CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
        sim_log_reset();
        CHECK_STATUS(DUO_OK, square(ctx, EDGE, d[0], d[0], 0.0f, d[3]));
        CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
        CHECK_STATUS(DUO_OK, duo_copy(ctx, d[4], from, sizeof from));
        const uint64_t before = logged(SIM_COMPUTE, 0).end, slow = logged(SIM_COMPUTE, 1).end;
        const uint64_t up = logged(SIM_UP, 0).start, next = logged(SIM_UP, 1).start;
        CHECK(up >= before && called >= before, "does not follow the context");
        CHECK(logged(SIM_UP, shape == JOIN ? 2 : 1).start >= slow, "the context does not follow");
        CHECK((up >= slow) == (shape == CHAIN), "the copy, at %ju", (uintmax_t)up);
        CHECK((called >= slow) == (shape != APART), "the function, at %ju", (uintmax_t)called);
        CHECK(next >= slow, "the second copy, at %ju", (uintmax_t)next);
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    }
    for (int i = 0; i < 6; i++) CHECK_STATUS(DUO_OK, duo_free(ctx, d[i]));
    end_without_leaks(ctx);
}

/* A node that depends on two branches begins behind the longer one, though it goes on in the lane
 * of the other, and their memory is not its own. */
static void joins(void)
{
    enum { EDGE = 64, SHORT = 8 };
    float from[EDGE * EDGE];
    if (!test_on_sim()) return;
    duo_context *const ctx = test_context();
    void *d[4];
    duo_node before[2];
    fill(from, EDGE * EDGE, 1);
    for (int i = 0; i < 4; i++) CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof from, &d[i]));
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_copy(ctx, d[i], from, sizeof from));
    sim_set_rates(55000, 55000, 390000, 10);
    duo_graph *const graph = new_graph();
    const duo_work works[] = {product(SHORT, d[0], d[0], 0.0f, (float *)d[0] + SHORT * SHORT),
                              product(EDGE, d[1], d[1], 0.0f, d[2]),
                              copying(d[3], from, sizeof from)};
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &works[0], NULL, 0, &before[0]));
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &works[1], NULL, 0, &before[1]));
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &works[2], before, 2, NULL));
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    sim_log_reset();
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    const sim_operation first = logged(SIM_COMPUTE, 0), second = logged(SIM_COMPUTE, 1);
    const sim_operation up = logged(SIM_UP, 0);
    CHECK(up.start >= first.end && up.start >= second.end, "the copy begins at %ju, before %ju",
          (uintmax_t)up.start, (uintmax_t)second.end);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    for (int i = 0; i < 4; i++) CHECK_STATUS(DUO_OK, duo_free(ctx, d[i]));
    end_without_leaks(ctx);
}

/* ---- Updates ---- */

static void updates_on(world *w, int side)
{
    atomic_int calls = 0;
    branch b = {&calls, -1};
    duo_work works[KINDS];
    duo_node node[KINDS];
    for (int i = 0; i < KINDS; i++)
        works[i] = sample((duo_work_kind)i, array(w, side, 4), array(w, side, 6 + i));
    duo_graph *const graph = built(w->ctx, works, KINDS, false, node);
    for (int i = 0; i < KINDS; i++) {
        works[i] = sample((duo_work_kind)i, array(w, side, 5), array(w, side, 6 + (i + 3) % KINDS));
        if (i == DUO_WORK_HOST) works[i] = calling(take_rank, &b);
        CHECK_STATUS(DUO_OK, duo_graph_update(graph, node[i], &works[i]));
    }
    /* What is refused changes nothing: all that follow write elsewhere. */
    for (int i = 0; i < CHANGES + KINDS; i++) {
        const change *const how = &changes[i < CHANGES ? i : 0];
        duo_work v = sample((duo_work_kind)(i % KINDS), array(w, side, 4), array(w, side, 2));
        test_case("graphs/update/%d, side %d", i, side);
        if (i >= CHANGES) { /* of another kind */
            CHECK_STATUS(DUO_ERR_SHAPE, duo_graph_update(graph, node[(i + 1) % KINDS], &v));
        } else if (how->status == DUO_ERR_SHAPE || how->status == DUO_ERR_NULL) {
            const char number[] = {'n', 'o', 'd', 'e', ' ', (char)('1' + how->kind), '\0'};
            v = changed(how, array(w, side, 4), array(w, side, 2));
            CHECK_STATUS(how->status, duo_graph_update(graph, node[how->kind], &v));
            test_contains(duo_graph_detail(graph), number);
        }
    }
    const duo_work half = sample(DUO_WORK_SSUM, array(w, side, 4), array(w, 1 - side, 2));
    if (test_gpu_side())
        CHECK(duo_graph_update(graph, node[DUO_WORK_SSUM], &half) < 0, "operands on two sides");
    draw(w);
    send(w);
    launch(w, graph, w->ctx, works, KINDS);
    check_world(w);
    CHECK(atomic_load(&calls) == 1, "%d calls", atomic_load(&calls));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

static void updates(void)
{
    world w = begin("graphs/updates", 400);
    for (int side = 0; side < SIDES; side++) updates_on(&w, side);
    end(&w);
}

/* ---- As text ---- */

static int times(const char *text, const char *what)
{
    int count = 0;
    while ((text = strstr(text, what)) != NULL) count++, text += strlen(what);
    return count;
}

static void check_text(duo_graph *graph, int nodes, int arrows)
{
    char whole[TEXT], part[TEXT];
    printed(graph, whole);
    const size_t length = strlen(whole);
    test_contains(whole, "digraph");
    CHECK(times(whole, "->") == arrows, "%d arrows, expected %d", times(whole, "->"), arrows);
    CHECK(times(whole, "\n") >= nodes, "%d lines of %d nodes", times(whole, "\n"), nodes);
    for (size_t size = 0; size <= length + 2 && size < TEXT; size++) {
        size_t told = 0;
        memset(part, '#', TEXT);
        CHECK_STATUS(DUO_OK, duo_graph_print(graph, size > 0 ? part : NULL, size, &told));
        const size_t kept = strnlen(part, size);
        CHECK(told == length && part[size] == '#', "%zu of %zu told of %zu", told, length, size);
        CHECK(size == 0 || (kept < size && strncmp(part, whole, kept) == 0), "with %zu", size);
        CHECK(size <= length || kept == length, "cut at %zu with room for %zu", kept, size);
    }
}

static void print(void)
{
    world w = begin("graphs/print", 400);
    duo_graph *const graph = new_graph();
    check_text(graph, 0, 0);
    const duo_work sum = sample(DUO_WORK_SSUM, array(&w, HOST, 4), array(&w, HOST, 6));
    duo_node node[4] = {add(graph, NULL, NULL, 0)};
    node[1] = add(graph, &sum, node, 1);
    node[2] = add(graph, NULL, (const duo_node[]){node[0], node[1], node[0]}, 3);
    node[3] = add(graph, &sum, &node[1], 2);
    check_text(graph, 4, 5);
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node[3], NULL, &node[2], 1));
    check_text(graph, 4, 4);
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, w.ctx));
    check_text(graph, 4, 4);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    end(&w);
}

/* ---- What goes wrong ---- */

/* A graph in host memory does not miss the device; of one that has its data there, what depends on
 * them is not done. */
static void device_is_lost(void)
{
    if (!test_on_sim()) return;
    world w = begin("graphs/lost", 400);
    atomic_int calls = 0;
    branch b = {&calls, 0};
    duo_graph *graph[SIDES];
    duo_work works[2] = {of_kind(DUO_WORK_EMPTY), calling(take_rank, &b)};
    for (int side = DEVICE; side >= HOST; side--) {
        works[0] = sample(DUO_WORK_SGEMM, array(&w, side, 4), array(&w, side, 6));
        graph[side] = built(w.ctx, works, 2, true, NULL);
    }
    sim_lose(0);
    for (int i = 1; i < 3; i++) {
        CHECK_STATUS(DUO_ERR_LOST, duo_graph_launch(graph[DEVICE], w.ctx));
        test_contains(duo_graph_detail(graph[DEVICE]), "node 1");
        CHECK(atomic_load(&calls) == i - 1, "what depends on lost data was done");
        launch(&w, graph[HOST], w.ctx, works, 1);
        CHECK(atomic_load(&calls) == i, "%d calls", atomic_load(&calls));
        CHECK(same_floats(works[0].c, behind(&w, works[0].c), w.length), "wrong values");
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph[HOST]));
    duo_status ended = duo_graph_destroy(graph[DEVICE]);
    CHECK(ended == DUO_OK || ended == DUO_ERR_LOST, "%d", (int)ended);
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_destroy(graph[DEVICE]));
    free_memory(&w);
    ended = duo_destroy(w.ctx);
    CHECK(ended == DUO_OK || ended == DUO_ERR_LOST, "%d", (int)ended);
}

/* ---- Several threads, and processes ---- */

static void *run_in_thread(void *name)
{
    test_case("%s", (const char *)name);
    world w = begin(name, 8 * 8);
    run_random(&w, 8, 40, 20, -1);
    free_memory(&w);
    test_context_end(w.ctx);
    return NULL;
}

static void threads(void)
{
    static char names[3][32] = {"graphs/threads/0", "graphs/threads/1", "graphs/threads/2"};
    pthread_t thread[3];
    if (test_on_sim()) sim_set_delay(50);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, run_in_thread, names[i]) == 0, "no thread");
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* A new graph, in this context: is its work done? */
static bool works_in(duo_context *ctx)
{
    float x[10], sum = 0.0f, copied = test_poison();
    fill(x, 10, 1);
    const duo_work works[] = {reduction(DUO_WORK_SSUM, 10, x, &sum),
                              copying(&copied, &sum, sizeof sum)};
    duo_graph *const graph = built(ctx, works, 2, true, NULL);
    const duo_status launched = duo_graph_launch(graph, ctx);
    return duo_graph_destroy(graph) == DUO_OK && launched == DUO_OK && copied == sum_of(x, 10);
}

/* A child can end its parent's graph, and has its own. */
static void after_a_fork(void)
{
    if (UNDER_TSAN) return; /* it does not take forks with threads */
    world w = begin("graphs/fork", 400);
    const duo_work v = sample(DUO_WORK_SGEMM, array(&w, DEVICE, 4), array(&w, DEVICE, 6));
    duo_graph *const graph = built(w.ctx, &v, 1, false, NULL);
    launch(&w, graph, w.ctx, &v, 1);
    const pid_t child = fork();
    if (child == 0) {
        const duo_status ended = duo_graph_destroy(graph);
        const bool good = (ended == DUO_OK || ended == DUO_ERR_LOST) &&
                          duo_graph_destroy(graph) == DUO_ERR_GRAPH && works_in(NULL);
        _exit(good ? 0 : 1);
    }
    CHECK(test_child_wait((int)child, 30) == 0, "the child's graphs are wrong");
    launch(&w, graph, w.ctx, &v, 1);
    check_world(&w);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    end(&w);
}

/* As in the header: in the thread's own context. That may keep its device open, so that this test
 * is the last one. */
static void default_context(void) { CHECK(works_in(NULL), "wrong"); }

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"arguments", arguments},
                                       {"cycles", cycles},
                                       {"refused", refused},
                                       {"hidden", hidden},
                                       {"random_graphs", random_graphs},
                                       {"kinds", kinds},
                                       {"bits", bits},
                                       {"fork_join", fork_join},
                                       {"many", many},
                                       {"contexts", contexts},
                                       {"clocks", clocks},
                                       {"joins", joins},
                                       {"updates", updates},
                                       {"print", print},
                                       {"device_is_lost", device_is_lost},
                                       {"threads", threads},
                                       {"after_a_fork", after_a_fork},
                                       {"default_context", default_context},
                                       {NULL, NULL}};
    return test_main(argc, argv, "graphs", tests);
}
