/*
 * batched.c - `duoblas bench batched`: batches of small products beside the same products as calls,
 * and beside cuBLAS's batches; on the CPU beside OpenBLAS, product by product and, if it has one,
 * by its own batch. Squares, a transformer's attention, and on the GPU products of many shapes
 * (grouped.c). --random N: N random batches instead, ours only by strides. --memory: batches in
 * host memory, on the GPU, beside the time that the link needs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/batched/batched.h"
#include "bench/experiments/experiments.h"
#include "bench/experiments/shapes.h"
#include "bench/host/host.h"
#include "bench/measure/problem.h"
#include "bench/tool/tool.h"
#include "host/environment.h"

/* The batches of a side: each peer's time, as a multiple of ours. */
typedef struct summary {
    char name[DUO_BATCHED_WAYS][DUO_BATCHED_NAME];
    duo_shapes_group group[DUO_BATCHED_WAYS]; /* no cases: not a peer */
    int batches;
    double seconds;
} summary;

/* ---- Which batches ---- */

static duo_batch_problem square(int64_t n, int64_t count)
{
    return (duo_batch_problem){.product = {.operation = DUO_SGEMM, .shape = {n, n, n}},
                               .count = count};
}

static int64_t quick_count(int64_t count)
{
    enum { SHARE = 20, FEWEST = 2 };
    return count / SHARE > FEWEST ? count / SHARE : FEWEST;
}

/* How many squares of an edge: an operand then has 2^26 floats. There are at most 2^18. On the CPU
 * there are a sixteenth. */
static int64_t square_count(int64_t edge, duo_side side)
{
    const int64_t floats = 1 << 26, most = 1 << 18, cpu_share = 16;
    const int64_t count = floats / (edge * edge) < most ? floats / (edge * edge) : most;
    return side == DUO_SIDE_CPU ? count / cpu_share : count;
}

/* A transformer's attention: the scores, of the transposed keys, or their products with the
 * values. */
static duo_batch_problem attention(int64_t length, int64_t width, bool scores, int64_t heads)
{
    return (duo_batch_problem){
        .product = {.operation = DUO_SGEMM,
                    .shape = {scores ? length : width, length, scores ? width : length},
                    .transa = scores},
        .count = heads};
}

enum { SQUARES = 15, ATTENTIONS = 6 };

static duo_batch_problem listed(int i, duo_side side)
{
    static const int squares[SQUARES] = {8,   16,  24,  32,  48,  64,  96, 110,
                                         128, 160, 192, 250, 256, 384, 512};
    static const struct {
        int length, width, heads;
    } of[ATTENTIONS / 2] = {{128, 64, 64}, {512, 64, 12}, {512, 64, 96}};
    if (i < SQUARES) return square(squares[i], square_count(squares[i], side));
    i -= SQUARES;
    return attention(of[i / 2].length, of[i / 2].width, i % 2 == 0, of[i / 2].heads);
}

/* Makes the list of a side's batches, for free(). */
static duo_batch_problem *list(const duo_bench *b, duo_side side, int *count)
{
    uint64_t random = b->seed;
    *count = b->random > 0 ? b->random : SQUARES + ATTENTIONS;
    duo_batch_problem *const batch = calloc((size_t)*count, sizeof *batch);
    for (int i = 0; i < *count && batch != NULL; i++) {
        batch[i] = b->random > 0 ? duo_random_batch(&random) : listed(i, side);
        if (b->quick) batch[i].count = quick_count(batch[i].count);
    }
    return batch;
}

/* Floats of the largest operand of any batch. */
static size_t largest_floats(const duo_batch_problem *batch, int count)
{
    int64_t largest = 0;
    for (int b = 0; b < count; b++)
        for (int i = 0; i < DUO_OPERANDS; i++) {
            const int64_t floats = batch[b].count * duo_batch_problem_stride(&batch[b], i);
            if (floats > largest) largest = floats;
        }
    return (size_t)largest;
}

/* ---- A batch ---- */

static bool check(const duo_batched *b, duo_batched_way *way, double *error)
{
    char shape[DUO_TEXT], layout[DUO_TEXT];
    const duo_problem *const p = &b->problem.product;
    if (duo_batched_prepare(b) && duo_batched_run(way, 1) && duo_batched_check(b, error))
        return true;
    fprintf(stderr, "duoblas: batched: %s %s %s x %jd, %s: it failed, or is wrong\n",
            duo_text_side(b->buffers->side), duo_text_shape(DUO_SGEMM, p->shape, shape),
            duo_shapes_layout(p, layout), (intmax_t)b->problem.count, way->name);
    return false;
}

/* On the CPU other libraries' threads have to fall asleep before each sample, as in shapes.c. */
static duo_effort effort_of(const duo_batched *b)
{
    const duo_side side = b->buffers->side;
    return b->bench->random > 0 || side == DUO_SIDE_CPU ? duo_shapes_effort(b->bench, side)
                                                        : duo_bench_effort(b->bench);
}

static void sum_up(summary *s, const duo_batched *b, const duo_batched_way *way,
                   const duo_benchmark *m, int count)
{
    s->batches++;
    for (int i = 0; i < count; i++) {
        if (!way[i].peer) continue;
        memcpy(s->name[i], way[i].name, sizeof s->name[i]);
        duo_shapes_count(&s->group[i], &b->problem.product,
                         m[i].median_seconds / m[0].median_seconds, b->buffers->side);
    }
}

static bool measure(const duo_batched *b, summary *s)
{
    duo_batched_way way[DUO_BATCHED_WAYS];
    duo_benchmark benchmark[DUO_BATCHED_WAYS];
    double error[DUO_BATCHED_WAYS], peer = 0.0;
    const int count = duo_batched_ways(b, way);
    const duo_effort effort = effort_of(b);
    for (int i = 0; i < count; i++) {
        benchmark[i] = (duo_benchmark){.run = duo_batched_run, .user = &way[i]};
        if (!check(b, &way[i], &error[i])) return false;
    }
    duo_measure(benchmark, count, &effort);
    for (int i = count - 1; i >= 0; i--) {
        if (benchmark[i].failed) return false;
        if (way[i].peer) peer = benchmark[i].median_seconds;
    }
    for (int i = 0; i < count; i++)
        duo_batched_print_row(b, &way[i], &benchmark[i], peer, error[i]);
    sum_up(s, b, way, benchmark, count);
    return true;
}

/* ---- All ---- */

/* link: of batches in host memory; else NULL. */
static bool run_batches(const duo_bench *bench, duo_side side, const duo_host_rates *link,
                        const duo_batch_problem *batch, int count, summary *s)
{
    duo_buffers buffers;
    bool good = duo_buffers_open(&buffers, bench, side, DUO_BATCHED_BUFFERS,
                                 largest_floats(batch, count)) &&
                duo_buffers_spoil(&buffers, DUO_BATCHED_NANS);
    for (int i = 0; i < count && good; i++) {
        duo_batched b;
        good = duo_batched_open(&b, bench, &buffers, &batch[i]);
        b.link = link;
        good = good && measure(&b, s);
        duo_batched_close(&b);
    }
    duo_buffers_close(&buffers);
    return good;
}

static bool run_side(const duo_bench *bench, duo_side side, const duo_host_rates *link, summary *s)
{
    const double began = duo_now_seconds();
    int count = 0;
    duo_batch_problem *const batch = list(bench, side, &count);
    const bool good = batch != NULL && run_batches(bench, side, link, batch, count, s);
    free(batch);
    s->seconds = duo_now_seconds() - began;
    return good;
}

static void print_summary(const duo_bench *b, duo_side side, const summary *s)
{
    if (s->batches == 0) return;
    for (int i = 0; i < DUO_BATCHED_WAYS; i++)
        duo_shapes_print_group(b, s->name[i], &s->group[i], side);
    printf("%s%s: %d batches in %.0f s\n", b->csv ? "# " : "", duo_text_side(side), s->batches,
           s->seconds);
}

static bool run(duo_bench *b)
{
    summary s[2] = {{.batches = 0}, {.batches = 0}};
    static const duo_side sides[] = {DUO_SIDE_GPU, DUO_SIDE_CPU};
    const duo_effort effort = duo_bench_effort(b);
    duo_host_rates rates, *const link = b->memory >= 0 && b->gpu ? &rates : NULL;
    bool good = link == NULL || duo_rates_of_link(duo_environment_get()->device, 1, &effort, link);
    duo_batched_print_head(b, link);
    for (int i = 0; i < 2 && good; i++)
        if (b->sides[sides[i]] && (sides[i] == DUO_SIDE_CPU ? b->memory < 0 : b->gpu))
            good = run_side(b, sides[i], link, &s[i]);
    if (!good) return false;
    if (b->random > 0 && !b->csv) printf("\n");
    for (int i = 0; i < 2 && b->random > 0; i++) print_summary(b, sides[i], &s[i]);
    const bool groups = b->random == 0 && b->memory < 0 && b->sides[DUO_SIDE_GPU] && b->gpu;
    if (groups && !duo_batched_groups(b)) return false;
    duo_batched_print_foot(b);
    return true;
}

int duo_bench_batched(duo_bench *b)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    const bool good = duo_bench_open(b, &small, 1) && run(b);
    duo_bench_close(b);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
