/* works.c - see works.h */
#include "bench/graphs/works.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/backend/devices.h"

duo_work duo_work_product(int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                          const float *b, float *c)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SGEMM,
                      .layout = DUO_COL_MAJOR,
                      .transa = DUO_NO_TRANS,
                      .transb = DUO_NO_TRANS,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = alpha,
                      .a = a,
                      .lda = m,
                      .b = b,
                      .ldb = k,
                      .c = c,
                      .ldc = m};
}

duo_work duo_work_reduction(duo_work_kind kind, int64_t n, const float *x, const float *y,
                            float *result)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = kind,
                      .n = n,
                      .x = x,
                      .incx = 1,
                      .y = y,
                      .incy = 1,
                      .result = result};
}

duo_status duo_work_call(duo_context *context, const duo_work *w)
{
    switch (w->kind) {
    case DUO_WORK_SGEMM:
        return duo_sgemm(context, w->layout, w->transa, w->transb, w->m, w->n, w->k, w->alpha, w->a,
                         w->lda, w->b, w->ldb, w->beta, w->c, w->ldc);
    case DUO_WORK_SASUM:
        return duo_sasum(context, w->n, w->x, w->incx, w->result);
    case DUO_WORK_SSUM:
        return duo_ssum(context, w->n, w->x, w->incx, w->result);
    default:
        return duo_sdot(context, w->n, w->x, w->incx, w->y, w->incy, w->result);
    }
}

static duo_status add(duo_graph *graph, const duo_work *work, int count, duo_pattern pattern)
{
    duo_node node[DUO_MOST_WORKS];
    duo_status status = DUO_OK;
    for (int i = 0; i < count && status == DUO_OK; i++) {
        const bool join = pattern == DUO_FORK_JOIN && i == count - 1;
        const int first = pattern == DUO_CHAIN ? i - 1 : join ? 1 : 0;
        const int afters = i == 0 || pattern == DUO_SIDE_BY_SIDE ? 0 : join ? count - 2 : 1;
        status = duo_graph_add(graph, &work[i], afters > 0 ? &node[first] : NULL, afters, &node[i]);
    }
    return status;
}

duo_graph *duo_works_graph(duo_context *context, const duo_work *work, int count,
                           duo_pattern pattern)
{
    duo_graph *graph = NULL;
    duo_status status = duo_graph_create(&graph);
    if (status == DUO_OK) status = add(graph, work, count, pattern);
    if (status == DUO_OK) status = duo_graph_build(graph, context);
    if (status == DUO_OK) return graph;
    fprintf(stderr, "duoblas: no graph: %s: %s\n", duo_status_string(status),
            graph != NULL ? duo_graph_detail(graph) : "");
    (void)duo_graph_destroy(graph);
    return NULL;
}

bool duo_works_run(void *user, int64_t times)
{
    const duo_works *const w = user;
    duo_status status = DUO_OK;
    for (int64_t t = 0; t < times && status == DUO_OK; t++) {
        if (w->graph != NULL) status = duo_graph_launch(w->graph, w->context);
        for (int i = 0; w->graph == NULL && i < w->count && status == DUO_OK; i++)
            status = duo_work_call(w->context, &w->work[i]);
    }
    return (duo_synchronize(w->context) == DUO_OK) & (status == DUO_OK);
}

/* ---- Arrays ---- */

enum { LINE = 64 };

/* Tolerance, relative to the largest magnitude: far above differences by the order of sums, far
 * below a wrong element. */
static const double kRounding = 1e-3;

duo_context *duo_buffers_context(const duo_bench *bench, duo_side side)
{
    duo_context *context = NULL;
    if (duo_create(&context) == DUO_OK &&
        duo_set_path(context, side == DUO_SIDE_CPU ? DUO_PATH_CPU : DUO_PATH_GPU) == DUO_OK &&
        duo_set_threads(context, bench->threads) == DUO_OK)
        return context;
    (void)duo_destroy(context);
    return NULL;
}

/* Is it on the device? duo_malloc gives host memory if the device's is used up. */
static bool is_on_device(const void *address)
{
    duo_memory memory;
    return duo_backend_current()->classify(address, &memory) == DUO_OK &&
           memory == DUO_MEMORY_DEVICE;
}

static float *take(duo_buffers *b, uint64_t seed)
{
    void *device = NULL, *pinned = NULL;
    const size_t bytes = sizeof(float) * b->floats;
    if (b->place == DUO_PLACE_PINNED && duo_malloc_host(b->context, bytes, &pinned) != DUO_OK)
        return NULL;
    float *const host =
        pinned != NULL ? pinned : aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (host == NULL) return NULL;
    duo_fill_random(host, b->floats, seed);
    if (b->place != DUO_PLACE_DEVICE) return host;
    if (duo_malloc(b->context, bytes, &device) == DUO_OK &&
        (!is_on_device(device) || duo_copy(b->context, device, host, bytes) != DUO_OK)) {
        (void)duo_free(b->context, device);
        device = NULL;
    }
    free(host);
    return device;
}

bool duo_buffers_open(duo_buffers *b, const duo_bench *bench, duo_side side, int count,
                      size_t floats)
{
    *b = (duo_buffers){.side = side, .place = DUO_PLACE_PAGEABLE, .floats = floats};
    if (side == DUO_SIDE_GPU)
        b->place = bench->memory >= 0 ? (duo_place)bench->memory : DUO_PLACE_DEVICE;
    b->context = duo_buffers_context(bench, side);
    bool good = b->context != NULL;
    while (good && b->count < count) {
        b->at[b->count] = take(b, bench->seed + (uint64_t)b->count);
        good = b->at[b->count] != NULL;
        if (good) b->count++;
    }
    good = good && duo_synchronize(b->context) == DUO_OK;
    if (!good) fprintf(stderr, "duoblas: out of memory\n");
    if (!good) duo_buffers_close(b);
    return good;
}

void duo_buffers_close(duo_buffers *b)
{
    while (b->count > 0) {
        float *const last = b->at[--b->count];
        if (b->place == DUO_PLACE_PAGEABLE)
            free(last);
        else if (b->place == DUO_PLACE_PINNED)
            (void)duo_free_host(b->context, last);
        else
            (void)duo_free(b->context, last);
    }
    (void)duo_destroy(b->context);
    b->context = NULL;
}

float *duo_buffers_read(const duo_buffers *b, int which)
{
    float *const to = malloc(sizeof(float) * b->floats);
    if (to != NULL && duo_synchronize(b->context) == DUO_OK &&
        duo_copy(b->context, to, b->at[which], sizeof(float) * b->floats) == DUO_OK)
        return to;
    free(to);
    return NULL;
}

bool duo_buffers_spoil(const duo_buffers *b, int which)
{
    float *const from = malloc(sizeof(float) * b->floats);
    if (from == NULL) return false;
    for (size_t i = 0; i < b->floats; i++) from[i] = NAN;
    const bool good =
        duo_copy(b->context, b->at[which], from, sizeof(float) * b->floats) == DUO_OK &&
        duo_synchronize(b->context) == DUO_OK;
    free(from);
    return good;
}

bool duo_buffers_agree(const duo_buffers *b, int which, const float *expected)
{
    double largest = 0.0;
    float *const found = duo_buffers_read(b, which);
    bool good = found != NULL;
    for (size_t i = 0; i < b->floats; i++) largest = fmax(largest, fabs((double)expected[i]));
    for (size_t i = 0; i < b->floats && good; i++)
        good = fabs((double)found[i] - (double)expected[i]) <= kRounding * largest;
    free(found);
    return good;
}
