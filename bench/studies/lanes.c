/*
 * lanes.c - `duoblas bench lanes`: a picture of when products ran, by the device's clock: in eight
 * contexts, each with a thread and a row; and below them as many products in one context.
 *
 * A product is drawn from the time when the device reached it until it was done. Stamps between
 * products take a little time, too.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/graphs/graphs.h"
#include "bench/graphs/works.h"
#include "bench/studies/studies.h"
#include "bench/tool/output.h"
#include "bench/tool/tool.h"
#include "call/context.h"
#include "gpu/backend/devices.h"

enum { EACH = 6, PRODUCTS = DUO_OVERLAPPING * EACH };

typedef struct interval {
    double begin, end; /* seconds since the first began */
} interval;

static duo_queue *queue_of(duo_context *context)
{
    return duo_context_of(context)->resources.queue;
}

/* Queues the products of context `one`. Product i is in context i % contexts, between two of that
 * context's stamps. */
static bool queue_products_of(duo_context *const *context, int contexts, int one,
                              const duo_work *work)
{
    const duo_backend *const backend = duo_backend_current();
    bool good = true;
    for (int i = one; i < PRODUCTS && good; i += contexts) {
        const int stamp = 2 * (i / contexts);
        good = backend->stamp(queue_of(context[one]), stamp) == DUO_OK &&
               duo_work_call(context[one], &work[i % DUO_OVERLAPPING]) == DUO_OK &&
               backend->stamp(queue_of(context[one]), stamp + 1) == DUO_OK;
    }
    return good;
}

/* Queues all products, by a thread for each context. */
static bool queue_products(duo_context *const *context, int contexts, const duo_work *work)
{
    int failed = 0;
#pragma omp parallel for num_threads(contexts) schedule(static) reduction(+ : failed)
    for (int i = 0; i < contexts; i++) failed += !queue_products_of(context, contexts, i, work);
    for (int i = 0; i < contexts; i++) failed += duo_synchronize(context[i]) != DUO_OK;
    return failed == 0;
}

static bool record(duo_context *const *context, int contexts, const duo_work *work,
                   interval ran[PRODUCTS])
{
    const duo_backend *const backend = duo_backend_current();
    /* The first run makes the stamps. */
    bool good = queue_products(context, contexts, work) && queue_products(context, contexts, work);
    for (int i = 0; i < PRODUCTS && good; i++) {
        duo_queue *const queue = queue_of(context[i % contexts]), *const first =
                                                                      queue_of(context[0]);
        const int stamp = 2 * (i / contexts);
        good = backend->stamp_seconds(queue, stamp, first, 0, &ran[i].begin) == DUO_OK &&
               backend->stamp_seconds(queue, stamp + 1, first, 0, &ran[i].end) == DUO_OK;
    }
    double earliest = 0.0; /* another context may have begun before the first */
    for (int i = 0; i < PRODUCTS && good; i++) earliest = fmin(earliest, ran[i].begin);
    for (int i = 0; i < PRODUCTS && good; i++) {
        ran[i].begin -= earliest;
        ran[i].end -= earliest;
    }
    return good;
}

/* Sends the boxes of some contexts. Rows count from the bottom; the lowest is the single
 * context's. */
static void send(FILE *file, const char *name, const interval ran[PRODUCTS], int contexts)
{
    fprintf(file, "$%s << EOD\n", name);
    for (int i = 0; i < PRODUCTS; i++) {
        const double begin = 1e6 * ran[i].begin, end = 1e6 * ran[i].end;
        const int row = contexts == 1 ? 1 : 1 + DUO_OVERLAPPING - i % contexts;
        fprintf(file, "%.6g %d %.6g %.6g %.1f %.1f\n", 0.5 * (begin + end), row, begin, end,
                row - 0.4, row + 0.4);
    }
    fprintf(file, "EOD\n");
}

static bool draw(const duo_bench *b, int edge, const interval eight[PRODUCTS],
                 const interval one[PRODUCTS])
{
    duo_picture picture;
    if (!duo_picture_open(&picture, b->plot, 1100, 320)) return false;
    FILE *const file = picture.gnuplot;
    send(file, "eight", eight, DUO_OVERLAPPING);
    send(file, "one", one, 1);
    fprintf(file, "set ytics (");
    for (int i = 1; i <= DUO_OVERLAPPING; i++)
        fprintf(file, "'context %d' %d, ", i, 1 + DUO_OVERLAPPING - i + 1);
    fprintf(file,
            "'one context' 1)\nset yrange [0.3:%.1f]\nset xrange [0:]\nset xlabel 'us'\n"
            "set title '%d products %d x %d x %d' font ',11'\nset grid x lc rgb '#dddddd' lt 1\n"
            "set border 3 lc rgb '#808080'\nset tics nomirror out scale 0.5\nunset key\n"
            "set style fill solid 1.0 border rgb '#ffffff'\n"
            "plot $eight using 1:2:3:4:5:6 with boxxyerror lc rgb '#0072B2', "
            "$one using 1:2:3:4:5:6 with boxxyerror lc rgb '#E69F00'\n",
            DUO_OVERLAPPING + 1.7, PRODUCTS, edge, edge, edge);
    return duo_picture_close(&picture);
}

static bool run(const duo_bench *b, duo_buffers buffers[DUO_OVERLAPPING])
{
    enum { A, B, C, ARRAYS };
    duo_work work[DUO_OVERLAPPING];
    duo_context *context[DUO_OVERLAPPING];
    interval eight[PRODUCTS], one[PRODUCTS];
    const int n = duo_graphs_of(b).edge;
    for (int i = 0; i < DUO_OVERLAPPING; i++) {
        duo_buffers *const own = &buffers[i];
        if (!duo_buffers_open(own, b, DUO_SIDE_GPU, ARRAYS, (size_t)n * (size_t)n)) return false;
        context[i] = own->context;
        work[i] = duo_work_product(n, n, n, 1.0f, own->at[A], own->at[B], own->at[C]);
    }
    if (record(context, DUO_OVERLAPPING, work, eight) && record(context, 1, work, one))
        return draw(b, n, eight, one);
    fprintf(stderr, "duoblas: no picture: the device's times could not be had\n");
    return false;
}

int duo_bench_lanes(duo_bench *b)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    duo_buffers buffers[DUO_OVERLAPPING] = {{.count = 0}};
    bool good = duo_bench_open(b, &small, 1);
    if (good && !b->gpu) fprintf(stderr, "duoblas: lanes needs a GPU\n");
    good = good && b->gpu && run(b, buffers);
    for (int i = 0; i < DUO_OVERLAPPING; i++) duo_buffers_close(&buffers[i]);
    duo_bench_close(b);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
