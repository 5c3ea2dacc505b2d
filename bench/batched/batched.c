/*
 * batched.c - `duoblas bench batched`: batches of small products beside the same products as calls,
 * cuBLAS's batches, and on the CPU OpenBLAS called product by product.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "batch.h"
#include "bench/experiments/experiments.h"
#include "bench/graphs/buffers.h"
#include "bench/peers/cublas_batched.h"
#include "bench/peers/openblas.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

enum { A, B, C, ARRAYS, WAYS = 5, CHECKED = 5 };

static const struct {
    int edge, count;
} shapes[] = {{8, 100000}, {16, 40000}, {32, 10000}, {48, 5000},
              {64, 4000},  {100, 2000}, {128, 1000}, {256, 200}};

typedef struct batched batched;

/* One way of doing a batch. */
typedef struct way {
    const batched *of;
    const char *name;
    bool (*all)(const batched *b); /* does, or queues, all of it */
    bool (*finish)(const batched *b);
    bool peer; /* ratios are to this one */
} way;

struct batched {
    const duo_bench *bench;
    duo_side side;
    int64_t n, count;
    duo_buffers buffers;
    float **host_list[ARRAYS], **device_list[ARRAYS];
    duo_call call;
    duo_batch strides, lists;
    duo_blas_instance *blas;
};

/* ---- Ways ---- */

static bool strided(const batched *b)
{
    const int64_t n = b->n, area = n * n;
    return duo_sgemm_strided_batched(b->buffers.context, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS,
                                     n, n, n, 1.0f, b->buffers.at[A], n, area, b->buffers.at[B], n,
                                     area, 0.0f, b->buffers.at[C], n, area, b->count) == DUO_OK;
}

static bool by_lists(const batched *b)
{
    const int64_t n = b->n;
    return duo_sgemm_batched(b->buffers.context, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n,
                             1.0f, (const float *const *)b->host_list[A], n,
                             (const float *const *)b->host_list[B], n, 0.0f, b->host_list[C], n,
                             b->count) == DUO_OK;
}

static bool calls(const batched *b)
{
    const int64_t n = b->n;
    bool good = true;
    for (int64_t p = 0; p < b->count && good; p++)
        good = duo_sgemm(b->buffers.context, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n,
                         1.0f, b->host_list[A][p], n, b->host_list[B][p], n, 0.0f,
                         b->host_list[C][p], n) == DUO_OK;
    return good;
}

static bool finish_ours(const batched *b) { return duo_synchronize(b->buffers.context) == DUO_OK; }

static bool cublas_strided(const batched *b)
{
    return duo_peer_cublas_batch(&b->call, &b->strides);
}
static bool cublas_lists(const batched *b) { return duo_peer_cublas_batch(&b->call, &b->lists); }

static bool finish_cublas(const batched *b)
{
    (void)b;
    return duo_peer_cublas_finish();
}

static bool openblas(const batched *b)
{
    const duo_cblas_gemm gemm = duo_peer_cblas_gemm();
    const int before = duo_blas_instance_begin(b->blas, b->bench->threads);
    const int n = (int)b->n;
    for (int64_t p = 0; p < b->count; p++)
        gemm(102, 111, 111, n, n, n, 1.0f, b->host_list[A][p], n, b->host_list[B][p], n, 0.0f,
             b->host_list[C][p], n);
    duo_blas_instance_end(b->blas, before);
    return true;
}

static bool run(void *user, int64_t times)
{
    const way *const w = user;
    bool good = true;
    for (int64_t t = 0; t < times && good; t++) good = w->all(w->of);
    return w->finish(w->of) && good;
}

/* ---- Errors ---- */

/* The largest |error| / |A||B| in 2^-24, of some products; negative: they cannot be read. */
static double largest_error(const batched *b)
{
    double largest = 0.0;
    float *x[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) x[i] = duo_buffers_read(&b->buffers, i);
    const bool read = x[A] != NULL && x[B] != NULL && x[C] != NULL;
    for (int64_t c = 0; c < CHECKED && read; c++) {
        const int64_t at = c * (b->count - 1) / (CHECKED - 1) * b->n * b->n, n = b->n;
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < n; i++) {
                double sum = 0.0, size = 0.0;
                for (int64_t l = 0; l < n; l++) {
                    const double term = (double)x[A][at + i + l * n] * (double)x[B][at + l + j * n];
                    sum += term;
                    size += fabs(term);
                }
                const double error = fabs((double)x[C][at + i + j * n] - sum) / size * 0x1p24;
                if (!(error <= largest)) largest = error; /* NaN, too */
            }
    }
    for (int i = 0; i < ARRAYS; i++) free(x[i]);
    return read ? largest : -1.0;
}

/* ---- A batch ---- */

static void close_batch(batched *b)
{
    for (int i = 0; i < ARRAYS; i++) {
        free(b->host_list[i]);
        if (b->device_list[i] != NULL)
            (void)duo_free(b->buffers.context, (void *)b->device_list[i]);
    }
    duo_buffers_close(&b->buffers);
}

static bool make_list(batched *b, int i)
{
    const size_t bytes = (size_t)b->count * sizeof(float *);
    void *device = NULL;
    b->host_list[i] = malloc(bytes);
    if (b->host_list[i] == NULL) return false;
    for (int64_t p = 0; p < b->count; p++) { /* neighbours change places: no equal distances */
        const int64_t other = (p ^ 1) < b->count ? p ^ 1 : p;
        b->host_list[i][p] = b->buffers.at[i] + other * b->n * b->n;
    }
    if (b->side == DUO_SIDE_CPU) return true;
    if (duo_malloc(b->buffers.context, bytes, &device) != DUO_OK) return false;
    b->device_list[i] = device;
    return duo_copy(b->buffers.context, device, (const void *)b->host_list[i], bytes) == DUO_OK;
}

static bool open_batch(batched *b)
{
    const int64_t n = b->n, area = n * n;
    if (!duo_buffers_open(&b->buffers, b->bench, b->side, ARRAYS, (size_t)(b->count * area)))
        return false;
    b->call = duo_call_sgemm(false, false, n, n, n, 1.0f, 0.0f);
    b->strides = b->lists = (duo_batch){.count = b->count};
    for (int i = 0; i < ARRAYS; i++) {
        if (!make_list(b, i)) return false;
        b->call.operand[i].address = b->buffers.at[i];
        b->strides.stride[i] = area;
        b->lists.pointer[i] = (float *const *)b->device_list[i];
    }
    b->blas = b->side == DUO_SIDE_CPU ? duo_blas_instance_get() : NULL;
    return duo_synchronize(b->buffers.context) == DUO_OK;
}

static int ways_of(const batched *b, way *w)
{
    int count = 0;
    w[count++] = (way){b, "strided", strided, finish_ours, false};
    w[count++] = (way){b, "by lists", by_lists, finish_ours, false};
    if (b->side == DUO_SIDE_CPU || b->n >= 64)
        w[count++] = (way){b, "calls", calls, finish_ours, false};
    if (b->side == DUO_SIDE_CPU && b->blas != NULL && duo_peer_cblas_gemm() != NULL)
        w[count++] = (way){b, "OpenBLAS, calls", openblas, finish_ours, true};
    if (b->side == DUO_SIDE_GPU && b->bench->cublas_why == NULL) {
        w[count++] = (way){b, "cuBLAS strided", cublas_strided, finish_cublas, true};
        w[count++] = (way){b, "cuBLAS by lists", cublas_lists, finish_cublas, false};
    }
    return count;
}

static void print(const batched *b, const way *w, const duo_benchmark *m, double peer, double error)
{
    char median[DUO_TEXT], ratio[DUO_TEXT] = "", edge[DUO_TEXT];
    const double flops = 2.0 * pow((double)b->n, 3.0) * (double)b->count;
    const char *const side = duo_text_side(b->side);
    if (peer > 0.0) snprintf(ratio, sizeof ratio, "%.2f", peer / m->median_seconds);
    if (b->bench->csv) {
        printf("%s,%jd,%jd,%s,%d,%.4e,%.4e,%s,%.3g\n", side, (intmax_t)b->n, (intmax_t)b->count,
               w->name, m->rounds, m->median_seconds, m->minimum_seconds, ratio, error);
        return;
    }
    snprintf(edge, sizeof edge, "%jd^3 x %jd", (intmax_t)b->n, (intmax_t)b->count);
    printf("  %-4s %-13s %-16s %6d  %s  %9.1f  %7s  %7.3g\n", side, edge, w->name, m->rounds,
           duo_text_seconds(m->median_seconds, median), flops / m->median_seconds * 1e-9, ratio,
           error);
    fflush(stdout);
}

static bool measure(const batched *b)
{
    way w[WAYS];
    duo_benchmark benchmark[WAYS];
    double error[WAYS], peer = 0.0;
    const int count = ways_of(b, w);
    const duo_effort effort = duo_bench_effort(b->bench);
    for (int i = 0; i < count; i++) {
        benchmark[i] = (duo_benchmark){.run = run, .user = &w[i]};
        if (!duo_buffers_spoil(&b->buffers, C) || !finish_ours(b) || !run(&w[i], 1)) return false;
        error[i] = largest_error(b);
    }
    duo_measure(benchmark, count, &effort);
    for (int i = 0; i < count; i++)
        if (w[i].peer && !benchmark[i].failed) peer = benchmark[i].median_seconds;
    for (int i = 0; i < count; i++) {
        if (benchmark[i].failed || !(error[i] >= 0.0 && error[i] <= (double)b->n + 3.0))
            return false;
        print(b, &w[i], &benchmark[i], peer, error[i]);
    }
    return true;
}

static bool run_shape(const duo_bench *bench, duo_side side, int shape)
{
    batched b = {.bench = bench,
                 .side = side,
                 .n = shapes[shape].edge,
                 .count = bench->quick ? shapes[shape].count / 20 : shapes[shape].count};
    const bool good = open_batch(&b) && measure(&b);
    if (!good) fprintf(stderr, "duoblas: batched: a batch failed, or is wrong\n");
    close_batch(&b);
    return good;
}

int duo_bench_batched(duo_bench *b)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    bool good = duo_bench_open(b, &small, 1);
    if (good) duo_bench_head(b);
    if (good && b->csv)
        printf("side,n,count,way,rounds,seconds_median,seconds_min,x_peer,error_u\n");
    else if (good)
        printf("\n  %-4s %-13s %-16s %6s  %9s  %9s  %7s  %7s\n", "side", "products", "way",
               "rounds", "median ", "GFLOP/s", "x peer", "error/u");
    for (int s = 0; s < 2 && good; s++) {
        const duo_side side = s == 0 ? DUO_SIDE_GPU : DUO_SIDE_CPU;
        if (!b->sides[side] || (side == DUO_SIDE_GPU && !b->gpu)) continue;
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0] && good; i++)
            good = run_shape(b, side, (int)i);
    }
    if (good && !b->csv)
        printf("\nx peer: its time / ours: cuBLAS strided, or OpenBLAS called product by product.\n"
               "error/u: against float64, the largest |error| / |A||B| of %d products, in 2^-24.\n"
               "GPU: data resident; lists are in host memory, cuBLAS's in the device's.\n",
               CHECKED);
    duo_bench_close(b);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
