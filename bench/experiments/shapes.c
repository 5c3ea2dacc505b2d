/*
 * shapes.c - `duoblas bench shapes`: over many shapes and all layouts, the algorithm that dispatch
 * chooses for resident operands beside cuBLAS with the same arguments; without a GPU, or with
 * --side cpu, the CPU's choice beside OpenBLAS with threads of its own. --algorithms: what each
 * other algorithm would have given, in the order of the predictions, as a multiple of the peer too.
 *
 * On the CPU both sides' idle threads stay awake for a while, so that each sample begins with a
 * pause, in which those of the other fall asleep, and a warm-up, which wakes its own.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/experiments/experiments.h"
#include "bench/experiments/policy.h"
#include "bench/experiments/shapes_list.h"
#include "bench/peers/blas_instance.h"
#include "bench/peers/cublas.h"
#include "bench/peers/openblas.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

/* Below this share of the peer's rate a shape is a failure. */
static double least_ratio(duo_side side) { return side == DUO_SIDE_CPU ? 0.95 : 0.9; }

/* The peer, the algorithm that was chosen, and with --algorithms all the others. */
enum { LAYOUTS = 4, PEER = 0, CHOSEN = 1, MOST = 1 + DUO_CANDIDATES };

typedef struct group {
    int cases, low;
    double logarithms, least;
    duo_problem worst;
} group;

typedef struct summary {
    group all, by_algorithm[DUO_ALGORITHMS]; /* by the algorithm that was chosen */
    int failed;
    double lost; /* logarithms of: chosen algorithm's time / fastest algorithm's */
} summary;

/* All that is timed of one case. */
typedef struct comparison {
    duo_implementation implementation[MOST];
    duo_benchmark benchmark[MOST];
    int count;
} comparison;

/* Some 0.1 s for each implementation of each case; on the CPU, where others disturb, a second. */
static duo_effort effort_on(const duo_bench *b, duo_side side)
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

/* ---- Who takes part ---- */

/* False: there is no algorithm for it, or no peer. */
static bool list(const duo_bench *b, const duo_problem *problem, duo_side side, comparison *c)
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
           (gpu ? duo_peer_cublas(&c->implementation[PEER], DUO_SGEMM, stock, b->wait)
                : duo_peer_openblas(&c->implementation[PEER], DUO_SGEMM, b->threads, stock));
}

/* ---- One case ---- */

static double ratio_of(const comparison *c, int i)
{
    return c->benchmark[PEER].median_seconds / c->benchmark[i].median_seconds;
}

static int fastest(const comparison *c)
{
    int best = CHOSEN;
    for (int i = CHOSEN + 1; i < c->count; i++)
        if (!c->benchmark[i].failed && ratio_of(c, i) > ratio_of(c, best)) best = i;
    return best;
}

static void print_case(const duo_bench *b, const duo_problem *problem, const comparison *c)
{
    char shape[DUO_TEXT], ours[DUO_TEXT], peer[DUO_TEXT];
    const int64_t *const s = problem->shape;
    const char *const layout = duo_text_transposes(problem->transa, problem->transb);
    const char *const algorithm = c->implementation[CHOSEN].name;
    const double seconds = c->benchmark[CHOSEN].median_seconds;
    const double peer_seconds = c->benchmark[PEER].median_seconds;
    const double ratio = ratio_of(c, CHOSEN);
    const int best = fastest(c);
    if (b->csv) {
        printf("%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%.4e,%.4e,%.4g,%s,%.4g\n", s[0], s[1],
               s[2], layout, algorithm, seconds, peer_seconds, ratio, c->implementation[best].name,
               ratio_of(c, best));
    } else {
        printf("  %-24s %s  %-20s %s  %s  %9.1f  %6.2f%s", duo_text_shape(DUO_SGEMM, s, shape),
               layout, algorithm, duo_text_seconds(seconds, ours),
               duo_text_seconds(peer_seconds, peer), duo_problem_flops(problem) / seconds * 1e-9,
               ratio, ratio < least_ratio(c->implementation[PEER].side) ? "  <-" : "    ");
        for (int i = CHOSEN + 1; i < c->count; i++)
            if (!c->benchmark[i].failed)
                printf("  %s %.2f", c->implementation[i].name, ratio_of(c, i));
        printf("\n");
    }
    fflush(stdout);
}

static void count_case(group *g, const duo_problem *problem, double ratio, duo_side side)
{
    if (g->cases == 0 || ratio < g->least) {
        g->least = ratio;
        g->worst = *problem;
    }
    g->cases++;
    g->low += ratio < least_ratio(side);
    g->logarithms += log(ratio);
}

static void measure_case(const duo_bench *b, const duo_problem *problem, duo_side side, summary *s)
{
    comparison c = {.count = 0};
    const duo_effort effort = effort_on(b, side);
    bool good = list(b, problem, side, &c);
    for (int i = 0; i < c.count && good; i++)
        if (!duo_benchmark_open(&c.benchmark[i], &c.implementation[i], problem))
            exit(DUO_EXIT_FAILURE);
    if (good) {
        duo_measure(c.benchmark, c.count, &effort);
        good = !c.benchmark[CHOSEN].failed && !c.benchmark[PEER].failed;
    }
    for (int i = 0; i < c.count; i++) duo_benchmark_close(&c.benchmark[i]);
    if (good) {
        print_case(b, problem, &c);
        const duo_algorithm *const algorithm = c.implementation[CHOSEN].algorithm;
        count_case(&s->all, problem, ratio_of(&c, CHOSEN), side);
        count_case(&s->by_algorithm[algorithm->id], problem, ratio_of(&c, CHOSEN), side);
        s->lost += log(ratio_of(&c, fastest(&c)) / ratio_of(&c, CHOSEN));
    } else {
        char shape[DUO_TEXT];
        s->failed++;
        printf("%s%s %s: no algorithm, or no peer, can do it\n", b->csv ? "# " : "  ",
               duo_text_shape(DUO_SGEMM, problem->shape, shape),
               duo_text_transposes(problem->transa, problem->transb));
    }
}

/* ---- Table ---- */

/* The CPU's: its kernels are ours, its threads its own. */
static void print_peer(const duo_bench *b)
{
    char text[384];
    const duo_blas_instance *const peer = duo_blas_instance_get();
    if (peer == NULL) return;
    printf("%sPeer  %s, in an instance of its own with %d thread%s\n", b->csv ? "# " : "",
           duo_text_blas_says(peer->config, peer->core, text, sizeof text), b->threads,
           b->threads == 1 ? "" : "s");
}

static void print_head(const duo_bench *b, duo_side side)
{
    const char *const peer = side == DUO_SIDE_GPU ? "cuBLAS" : "OpenBLAS";
    duo_bench_head(b);
    if (side == DUO_SIDE_CPU) print_peer(b);
    if (b->csv)
        printf("m,n,k,transposes,algorithm,seconds,peer_seconds,times_peer,fastest_algorithm,"
               "fastest_times_"
               "peer\n");
    else
        printf("\nsgemm, the algorithm that the %s side chooses beside %s%s\n"
               "  %-24s %s  %-20s %10s %10s  %9s  %6s\n",
               side == DUO_SIDE_GPU ? "GPU" : "CPU", peer,
               side == DUO_SIDE_GPU ? "; operands resident, queue busy" : "", "m x n x k", "op",
               "algorithm", "ours   ", peer, "GFLOP/s", "x peer");
}

static void print_group(const duo_bench *b, const char *name, const group *g, duo_side side)
{
    char shape[DUO_TEXT];
    if (g->cases == 0) return;
    printf("%s%-20s geometric mean of peer's time / ours %.3f, least %.3f (%s %s); %d of %d below "
           "%.2g\n",
           b->csv ? "# " : "", name, exp(g->logarithms / g->cases), g->least,
           duo_text_shape(DUO_SGEMM, g->worst.shape, shape),
           duo_text_transposes(g->worst.transa, g->worst.transb), g->low, g->cases,
           least_ratio(side));
}

static void print_summary(const duo_bench *b, const summary *s, duo_side side, double seconds)
{
    const char *const mark = b->csv ? "# " : "";
    if (!b->csv) printf("\n");
    for (int algorithm = 0; algorithm < DUO_ALGORITHMS; algorithm++)
        print_group(b, duo_algorithm_name((duo_algorithm_id)algorithm), &s->by_algorithm[algorithm],
                    side);
    print_group(b, "all", &s->all, side);
    if (b->algorithms && s->all.cases > 0)
        printf("%sthe algorithms that were chosen take %.3f times as long as the fastest ones, in "
               "geometric mean\n",
               mark, exp(s->lost / s->all.cases));
    printf("%s%d cases in %.0f s\n", mark, s->all.cases, seconds);
}

int duo_bench_shapes(duo_bench *b, const duo_problem *problem, int problems)
{
    duo_problem usual[DUO_SHAPES];
    summary s = {0};
    for (int i = 0; i < DUO_SHAPES && problems == 0; i++)
        usual[i] = (duo_problem){.operation = DUO_SGEMM,
                                 .shape = {duo_shapes[i][0], duo_shapes[i][1], duo_shapes[i][2]}};
    if (problems == 0) {
        problem = usual;
        problems = DUO_SHAPES;
    }
    const bool opened = duo_bench_open(b, problem, problems);
    const duo_side side = b->gpu && b->sides[DUO_SIDE_GPU] ? DUO_SIDE_GPU : DUO_SIDE_CPU;
    const double began = duo_now_seconds();
    if (opened) print_head(b, side);
    for (int i = 0; i < problems && opened; i++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            if (b->layout >= 0 && layout != b->layout) continue;
            duo_problem p = problem[i];
            p.transa = layout / 2 != 0;
            p.transb = layout % 2 != 0;
            measure_case(b, &p, side, &s);
        }
    if (opened) print_summary(b, &s, side, duo_now_seconds() - began);
    duo_bench_close(b);
    return opened && s.failed == 0 ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
