/*
 * bench_shapes.c - `duoblas bench shapes`: over many shapes and all layouts, the row that dispatch
 * chooses for resident operands beside cuBLAS with the same arguments; without a GPU, or with
 * --side cpu, the CPU's choice beside OpenBLAS.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "baselines.h"
#include "bench.h"
#include "shapes.h"

/* Below this share of the peer's rate a shape is a failure. */
static const double kLeastRatio = 0.9;

enum { LAYOUTS = 4, OURS = 0, PEER = 1 };

typedef struct summary {
    int cases, low, failed;
    double logarithms, least;
    duo_problem worst;
} summary;

/* Some 0.1 s for each contender of each case. */
static duo_effort short_effort(const duo_bench *b)
{
    const double seconds = b->quick ? 0.006 : 0.015;
    return (duo_effort){.sample_seconds = seconds,
                        .warm_seconds = seconds,
                        .rounds = b->quick ? 2 : 3,
                        .budget_seconds = 0.4};
}

/* The row that this side would run the call on, if no other were chosen before it. */
static bool choose(const duo_bench *b, const duo_call *call, duo_side side, duo_choice *chosen)
{
    const duo_site site = {.profile = duo_profile_in_use(),
                           .path = side == DUO_SIDE_GPU ? DUO_PATH_GPU : DUO_PATH_CPU,
                           .math = b->math >= 0 ? (duo_math)b->math : DUO_MATH_ACCURATE,
                           .threads = b->threads,
                           .gpu = side == DUO_SIDE_GPU,
                           .capability = duo_bench_capability(b),
                           .device_memory_bytes = (double)INFINITY};
    duo_choice choice[DUO_CANDIDATES];
    const int count = duo_predict(call, &site, choice);
    for (int i = 0; i < count; i++) choice[i].declined = choice[i].row->side != side;
    const int best = duo_select(choice, count, &site);
    if (best >= 0) *chosen = choice[best];
    return best >= 0;
}

static bool open_contenders(const duo_bench *b, const duo_problem *problem, duo_side side,
                            duo_contender contender[2])
{
    const duo_stock *const stock = side == DUO_SIDE_GPU ? &b->resident : &b->host;
    const duo_call call = duo_problem_call(problem, stock, 0);
    duo_choice chosen;
    if (!choose(b, &call, side, &chosen)) return false;
    if (side == DUO_SIDE_CPU) {
        contender[OURS] = duo_contender_cpu_row(chosen.row, chosen.threads, stock);
        return duo_baseline_openblas(&contender[PEER], DUO_SGEMM, b->threads, stock);
    }
    contender[OURS] = duo_contender_gpu_row(chosen.row, b->queue, stock, b->wait);
    return duo_baseline_cublas(&contender[PEER], DUO_SGEMM, stock, b->wait);
}

static void print_case(const duo_bench *b, const duo_problem *problem, const char *row,
                       const duo_task task[2])
{
    char shape[DUO_TEXT], ours[DUO_TEXT], peer[DUO_TEXT];
    const int64_t *const s = problem->shape;
    const char *const layout = duo_text_transposes(problem->transa, problem->transb);
    const double seconds = task[OURS].median_seconds, peer_seconds = task[PEER].median_seconds;
    const double ratio = peer_seconds / seconds;
    if (b->csv)
        printf("%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%.4e,%.4e,%.4g\n", s[0], s[1], s[2],
               layout, row, seconds, peer_seconds, ratio);
    else
        printf("  %-24s %s  %-20s %s  %s  %9.1f  %6.2f%s\n", duo_text_shape(DUO_SGEMM, s, shape),
               layout, row, duo_text_seconds(seconds, ours), duo_text_seconds(peer_seconds, peer),
               duo_problem_flops(problem) / seconds * 1e-9, ratio,
               ratio < kLeastRatio ? "  <-" : "");
    fflush(stdout);
}

static void count_case(summary *s, const duo_problem *problem, const duo_task task[2])
{
    const double ratio = task[PEER].median_seconds / task[OURS].median_seconds;
    if (s->cases == 0 || ratio < s->least) {
        s->least = ratio;
        s->worst = *problem;
    }
    s->cases++;
    s->low += ratio < kLeastRatio;
    s->logarithms += log(ratio);
}

static void measure_case(const duo_bench *b, const duo_problem *problem, duo_side side, summary *s)
{
    duo_contender contender[2];
    duo_trial trial[2];
    duo_task task[2];
    duo_effort effort = short_effort(b);
    if (side == DUO_SIDE_CPU) effort.settle_seconds = duo_baseline_settle_seconds();
    bool good = open_contenders(b, problem, side, contender);
    for (int i = 0; i < 2 && good; i++) {
        if (!duo_trial_open(&trial[i], &contender[i], problem)) exit(DUO_EXIT_FAILURE);
        task[i] = (duo_task){.run = duo_trial_run, .user = &trial[i]};
    }
    if (good) {
        duo_measure(task, 2, &effort);
        good = !task[OURS].failed && !task[PEER].failed;
        for (int i = 0; i < 2; i++) duo_trial_close(&trial[i]);
    }
    if (good) {
        print_case(b, problem, contender[OURS].name, task);
        count_case(s, problem, task);
    } else {
        char shape[DUO_TEXT];
        s->failed++;
        printf("%s%s %s: no row, or no peer, can do it\n", b->csv ? "# " : "  ",
               duo_text_shape(DUO_SGEMM, problem->shape, shape),
               duo_text_transposes(problem->transa, problem->transb));
    }
}

static void print_head(const duo_bench *b, duo_side side)
{
    const char *const peer = side == DUO_SIDE_GPU ? "cuBLAS" : "OpenBLAS";
    duo_bench_head(b);
    if (b->csv)
        printf("m,n,k,transposes,row,seconds,peer_seconds,times_peer\n");
    else
        printf("\nsgemm, the row that the %s side chooses beside %s%s\n"
               "  %-24s %s  %-20s %10s %10s  %9s  %6s\n",
               side == DUO_SIDE_GPU ? "GPU" : "CPU", peer,
               side == DUO_SIDE_GPU ? "; operands resident, queue busy" : "", "m x n x k", "op",
               "row", "ours   ", peer, "GFLOP/s", "x peer");
}

static void print_summary(const duo_bench *b, const summary *s)
{
    char shape[DUO_TEXT];
    if (s->cases == 0) return;
    printf("%sgeometric mean of peer's time / ours %.3f, least %.3f (%s %s); %d of %d below %.1f\n",
           b->csv ? "# " : "\n", exp(s->logarithms / s->cases), s->least,
           duo_text_shape(DUO_SGEMM, s->worst.shape, shape),
           duo_text_transposes(s->worst.transa, s->worst.transb), s->low, s->cases, kLeastRatio);
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
    if (opened) print_head(b, side);
    for (int i = 0; i < problems && opened; i++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            duo_problem p = problem[i];
            p.transa = layout / 2 != 0;
            p.transb = layout % 2 != 0;
            measure_case(b, &p, side, &s);
        }
    if (opened) print_summary(b, &s);
    duo_bench_close(b);
    return opened && s.failed == 0 ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
