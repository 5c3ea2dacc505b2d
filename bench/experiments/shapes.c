/*
 * shapes.c - `duoblas bench shapes`: the algorithm that dispatch chooses for resident operands, in
 * many shapes and all layouts, beside cuBLAS with the same arguments. Without a GPU, or with --side
 * cpu: the CPU's choice beside a separate OpenBLAS with its own threads. --algorithms: also every
 * other algorithm's speed as a multiple of the peer's, in the order of the predictions. --random N:
 * N random products instead, each in one layout; failures are timed again.
 *
 * On the CPU the idle threads of both libraries stay awake for a while. So each sample begins with
 * a pause, in which the other's threads fall asleep, and a warm-up, which wakes its own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/shapes.h"
#include "bench/experiments/experiments.h"
#include "bench/experiments/setup.h"
#include "bench/measure/benchmark.h"
#include "bench/peers/cublas.h"
#include "bench/peers/openblas.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

double duo_shapes_least_ratio(duo_side side) { return side == DUO_SIDE_CPU ? 0.95 : 0.9; }

enum { LAYOUTS = 4, REPEATS = 3 };

/* About 0.1 s for each implementation of each case; a second on the CPU, where others disturb. */
duo_effort duo_shapes_effort(const duo_bench *b, duo_side side)
{
    const double seconds = b->quick ? 0.006 : side == DUO_SIDE_GPU ? 0.015 : 0.03;
    duo_effort effort = {.sample_seconds = seconds,
                         .warm_seconds = seconds,
                         .rounds = b->quick ? 2 : 3,
                         .budget_seconds = 0.4};
    if (side == DUO_SIDE_CPU) effort.settle_seconds = duo_peer_settle_seconds();
    if (side == DUO_SIDE_CPU && !b->quick) {
        effort.rounds = 7;
        effort.budget_seconds = 3.0;
    }
    return effort;
}

/* ---- The implementations of a case ---- */

/* Lists the implementations of a case. False: there is no algorithm for it, or no peer. */
static bool list(const duo_bench *b, const duo_problem *problem, duo_side side, duo_comparison *c)
{
    const bool gpu = side == DUO_SIDE_GPU;
    const duo_stock *const stock = gpu ? &b->resident : &b->host;
    const duo_call call = duo_problem_call(problem, stock, 0);
    duo_choice chosen[DUO_CANDIDATES];
    const int algorithms = duo_bench_choose(b, &call, side, chosen);
    c->count = 1;
    for (int i = 0; i < (b->algorithms ? algorithms : algorithms > 0); i++)
        c->implementation[c->count++] =
            gpu ? duo_gpu_implementation(chosen[i].algorithm, b->queue, stock, b->wait)
                : duo_cpu_implementation(chosen[i].algorithm, chosen[i].threads, stock);
    return algorithms > 0 &&
           (gpu ? duo_peer_cublas(&c->implementation[DUO_SHAPES_PEER], DUO_SGEMM, stock, b->wait)
                : duo_peer_openblas(&c->implementation[DUO_SHAPES_PEER], DUO_SGEMM, b->threads,
                                    stock));
}

/* ---- One case ---- */

double duo_shapes_ratio(const duo_comparison *c, int i)
{
    return c->benchmark[DUO_SHAPES_PEER].median_seconds / c->benchmark[i].median_seconds;
}

int duo_shapes_fastest(const duo_comparison *c)
{
    int best = DUO_SHAPES_CHOSEN;
    for (int i = DUO_SHAPES_CHOSEN + 1; i < c->count; i++)
        if (!c->benchmark[i].failed && duo_shapes_ratio(c, i) > duo_shapes_ratio(c, best)) best = i;
    return best;
}

void duo_shapes_count(duo_shapes_group *g, const duo_problem *problem, double ratio, duo_side side)
{
    if (g->cases == 0 || ratio < g->least) {
        g->least = ratio;
        g->worst = *problem;
    }
    g->cases++;
    g->low += ratio < duo_shapes_least_ratio(side);
    g->logarithms += log(ratio);
}

/* Inserts a case into the list of the worst, if it belongs there. */
static void keep_worst(duo_shapes_summary *s, const duo_shapes_case *kept)
{
    int at = s->worst_cases;
    while (at > 0 && s->worst[at - 1].ratio > kept->ratio) at--;
    if (at == DUO_SHAPES_WORST) return;
    if (s->worst_cases < DUO_SHAPES_WORST) s->worst_cases++;
    for (int i = s->worst_cases - 1; i > at; i--) s->worst[i] = s->worst[i - 1];
    s->worst[at] = *kept;
}

/* Measures a case. False: the chosen algorithm or the peer failed. */
static bool measure(duo_comparison *c, const duo_effort *effort)
{
    duo_measure(c->benchmark, c->count, effort);
    return !c->benchmark[DUO_SHAPES_CHOSEN].failed && !c->benchmark[DUO_SHAPES_PEER].failed;
}

/* Measures a failed random product again, as the first time may be noise. *ratio: the median of
 * REPEATS measurements. */
static bool measure_again(duo_comparison *c, const duo_effort *effort, double *ratio)
{
    double repeat[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        if (!measure(c, effort)) return false;
        repeat[i] = duo_shapes_ratio(c, DUO_SHAPES_CHOSEN);
    }
    *ratio = duo_median(repeat, REPEATS);
    return true;
}

static void sum_up(duo_shapes_summary *s, const duo_problem *problem, const duo_comparison *c,
                   double ratio, duo_side side)
{
    const duo_implementation *const chosen = &c->implementation[DUO_SHAPES_CHOSEN];
    const duo_shapes_case one = {.problem = *problem, .algorithm = chosen->name, .ratio = ratio};
    duo_shapes_count(&s->all, problem, ratio, side);
    duo_shapes_count(&s->by_algorithm[chosen->algorithm->id], problem, ratio, side);
    s->lost +=
        log(duo_shapes_ratio(c, duo_shapes_fastest(c)) / duo_shapes_ratio(c, DUO_SHAPES_CHOSEN));
    keep_worst(s, &one);
}

static void say_failed(const duo_bench *b, const duo_problem *problem)
{
    char shape[DUO_TEXT];
    printf("%s%s %s: no algorithm, or no peer, can do it\n", b->csv ? "# " : "  ",
           duo_text_shape(DUO_SGEMM, problem->shape, shape),
           duo_text_transposes(problem->transa, problem->transb));
}

static void measure_case(const duo_bench *b, const duo_problem *problem, duo_side side,
                         duo_shapes_summary *s)
{
    duo_comparison c = {.count = 0};
    const duo_effort effort = duo_shapes_effort(b, side);
    double ratio = 0.0;
    bool good = list(b, problem, side, &c);
    for (int i = 0; i < c.count && good; i++)
        if (!duo_benchmark_open(&c.benchmark[i], &c.implementation[i], problem))
            exit(DUO_EXIT_FAILURE);
    good = good && measure(&c, &effort);
    if (good) {
        ratio = duo_shapes_ratio(&c, DUO_SHAPES_CHOSEN);
        duo_shapes_print_case(b, problem, &c);
    }
    if (good && b->random > 0 && ratio < duo_shapes_least_ratio(side))
        good = measure_again(&c, &effort, &ratio);
    for (int i = 0; i < c.count; i++) duo_benchmark_close(&c.benchmark[i]);
    s->failed += !good;
    if (good)
        sum_up(s, problem, &c, ratio, side);
    else
        say_failed(b, problem);
}

/* ---- All cases ---- */

static void measure_layouts(const duo_bench *b, const duo_problem *problem, duo_side side,
                            duo_shapes_summary *s)
{
    for (int layout = 0; layout < LAYOUTS; layout++) {
        if (b->layout >= 0 && layout != b->layout) continue;
        duo_problem p = *problem;
        p.transa = layout / 2 != 0;
        p.transb = layout % 2 != 0;
        measure_case(b, &p, side, s);
    }
}

static int run(duo_bench *b, const duo_problem *problem, int problems)
{
    duo_shapes_summary s = {.failed = 0};
    const bool opened = duo_bench_open(b, problem, problems);
    const duo_side side = b->gpu && b->sides[DUO_SIDE_GPU] ? DUO_SIDE_GPU : DUO_SIDE_CPU;
    const double began = duo_now_seconds();
    if (opened) duo_shapes_print_head(b, side);
    for (int i = 0; i < problems && opened; i++)
        (b->random > 0 ? measure_case : measure_layouts)(b, &problem[i], side, &s);
    if (opened) duo_shapes_print_summary(b, &s, side, duo_now_seconds() - began);
    duo_bench_close(b);
    return opened && s.failed == 0 ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}

static int run_random(duo_bench *b)
{
    duo_problem *const problem = calloc((size_t)b->random, sizeof *problem);
    if (problem == NULL) return DUO_EXIT_FAILURE;
    duo_shapes_draw(b, problem);
    const int status = run(b, problem, b->random);
    free(problem);
    return status;
}

int duo_bench_shapes(duo_bench *b)
{
    duo_problem problem[DUO_MOST_PROBLEMS];
    if (b->random > 0) return run_random(b);
    if (b->sizes + b->shapes == 0) {
        b->shapes = DUO_SHAPES;
        memcpy(b->shape, duo_shapes, sizeof duo_shapes);
    }
    return run(b, problem, duo_bench_problems(b, DUO_SGEMM, problem));
}
