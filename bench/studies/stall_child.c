/*
 * stall_child.c - a process of stall: one context has a long queue of products, and another makes
 * calls of kinds that the process has not made before.
 */
#include <stdio.h>

#include "bench/graphs/graphs.h"
#include "bench/graphs/works.h"
#include "bench/studies/studies.h"

/* Products of different shapes use different algorithms. */
const duo_first_call duo_first_calls[DUO_FIRST_CALLS] = {
    {DUO_WORK_SGEMM, DUO_MATH_ACCURATE, 300, 300, 300},
    {DUO_WORK_SGEMM, DUO_MATH_ACCURATE, 500, 4, 500},
    {DUO_WORK_SGEMM, DUO_MATH_ACCURATE, 500, 500, 32},
    {DUO_WORK_SGEMM, DUO_MATH_IEEE, 300, 300, 300},
    {DUO_WORK_SGEMM, DUO_MATH_TF32, 300, 300, 300},
    {DUO_WORK_SGEMM, DUO_MATH_FLOAT64, 300, 300, 300},
    {DUO_WORK_SASUM, DUO_MATH_ACCURATE, 1, 100000, 1},
    {DUO_WORK_SSUM, DUO_MATH_ACCURATE, 1, 100000, 1},
    {DUO_WORK_SDOT, DUO_MATH_ACCURATE, 1, 100000, 1},
    {DUO_WORK_SASUM, DUO_MATH_FLOAT64, 1, 100000, 1},
    {DUO_WORK_SSUM, DUO_MATH_FLOAT64, 1, 100000, 1},
    {DUO_WORK_SDOT, DUO_MATH_FLOAT64, 1, 100000, 1},
};
enum { LARGEST = 500 * 500, A = 0, B, C, ARRAYS };

typedef struct stall {
    duo_buffers busy, other;
    duo_work product;
    duo_event *event; /* it follows the products */
    int queued;
} stall;

static bool open(stall *s, const duo_graphs *g, bool warm)
{
    const int n = g->long_edge;
    s->queued = g->queued;
    if (!duo_buffers_open(&s->busy, g->bench, DUO_SIDE_GPU, ARRAYS, (size_t)n * (size_t)n) ||
        !duo_buffers_open(&s->other, g->bench, DUO_SIDE_GPU, ARRAYS, LARGEST))
        return false;
    float *const *const at = s->busy.at;
    s->product = duo_work_product(n, n, n, 1.0f, at[A], at[B], at[C]);
    /* Without a warm-up, only this kind of call has been made before. */
    return (!warm ||
            (duo_warm_up(s->busy.context) == DUO_OK && duo_warm_up(s->other.context) == DUO_OK)) &&
           duo_event_create(&s->event) == DUO_OK &&
           duo_work_call(s->busy.context, &s->product) == DUO_OK &&
           duo_synchronize(s->busy.context) == DUO_OK;
}

static void close(stall *s)
{
    (void)duo_event_destroy(s->event);
    duo_buffers_close(&s->other);
    duo_buffers_close(&s->busy);
}

static bool fill_queue(const stall *s)
{
    bool good = duo_synchronize(s->busy.context) == DUO_OK;
    for (int i = 0; i < s->queued && good; i++)
        good = duo_work_call(s->busy.context, &s->product) == DUO_OK;
    return good && duo_event_record(s->busy.context, s->event) == DUO_OK;
}

/* Makes a first call. A sum is in host memory when the call returns; a product is waited for. */
static bool first_call(const stall *s, int number)
{
    const duo_first_call *const f = &duo_first_calls[number];
    float *const *const at = s->other.at;
    const bool product = f->kind == DUO_WORK_SGEMM;
    float sum;
    int done = 0;
    const duo_work work = product ? duo_work_product(f->m, f->n, f->k, 1.0f, at[A], at[B], at[C])
                                  : duo_work_reduction(f->kind, f->n, at[A], at[B], &sum);
    if (duo_set_math(s->other.context, f->math) != DUO_OK || !fill_queue(s)) return false;
    const double begin = duo_now_seconds();
    bool good = duo_work_call(s->other.context, &work) == DUO_OK;
    if (product) good = duo_synchronize(s->other.context) == DUO_OK && good;
    const double seconds = duo_now_seconds() - begin;
    good = duo_event_query(s->event, &done) == DUO_OK && good;
    printf("%d %.6e %d\n", number, seconds, !done);
    return good;
}

bool duo_stall_child(const duo_bench *b, bool warm)
{
    stall s = {0};
    const duo_graphs g = duo_graphs_of(b);
    bool good = open(&s, &g, warm);
    for (int i = 0; i < DUO_FIRST_CALLS && good; i++) good = first_call(&s, i);
    close(&s);
    return good;
}
