/* ladder_print.c - the ladder as a table that people read, or as CSV. */
#include <inttypes.h>

#include "ladder.h"

static const char *side_name(const duo_line *line)
{
    return line->contender.side == DUO_SIDE_CPU ? "cpu" : "gpu";
}

void duo_ladder_head(const duo_bench *b)
{
    duo_bench_head(b);
    if (b->csv)
        printf("# data  uniform in (-1, 1), seed %" PRIu64 ", %" PRId64
               " floats behind a boundary; caches %s\n# GPU   data resident, %s\n",
               b->seed, b->offset_floats, b->cold ? "cold" : "warm",
               b->wait ? "the host waits for each call" : "queue busy");
    if (b->csv)
        printf("operation,m,n,k,side,row,threads,seconds_median,seconds_min,gflops,"
               "gbytes_per_second,times_peer,error_u,percent_of_read\n");
}

static void print_csv(const duo_problem *problem, const duo_line *l)
{
    const int64_t *const s = problem->shape;
    const bool matrix = problem->operation == DUO_SGEMM;
    const double seconds = l->task.median_seconds;
    printf("%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%d,%.4e,%.4e,%.5g,%.5g,",
           duo_operation_name(problem->operation), matrix ? s[0] : 1, matrix ? s[1] : s[0],
           matrix ? s[2] : 0, side_name(l), l->contender.name, l->contender.threads, seconds,
           l->task.minimum_seconds, duo_problem_flops(problem) / seconds * 1e-9,
           duo_problem_bytes(problem) / seconds * 1e-9);
    if (l->times_peer > 0.0) printf("%.4g", l->times_peer);
    printf(",");
    if (l->error >= 0.0) printf("%.4g", l->error);
    printf(",");
    if (l->read_share > 0.0) printf("%.4g", 100.0 * l->read_share);
    printf("\n");
}

static void print_line(const duo_problem *problem, const duo_line *l)
{
    char median[DUO_TEXT], minimum[DUO_TEXT], threads[16] = "-", ratio[16] = "-", share[16] = "-",
                                              error[16] = "-";
    const duo_contender *const c = &l->contender;
    const double seconds = l->task.median_seconds;
    if (l->task.failed) {
        printf("  %-20s %-4s  cannot do it\n", c->name, side_name(l));
        return;
    }
    const double rate = (problem->operation == DUO_SGEMM ? duo_problem_flops(problem)
                                                         : duo_problem_bytes(problem)) /
                        seconds * 1e-9;
    if (c->threads > 0) snprintf(threads, sizeof threads, "%d", c->threads);
    if (l->times_peer > 0.0) snprintf(ratio, sizeof ratio, "%.2f", l->times_peer);
    if (l->read_share > 0.0) snprintf(share, sizeof share, "%.1f", 100.0 * l->read_share);
    if (l->error >= 0.0) snprintf(error, sizeof error, "%.3g", l->error);
    printf("  %-20s %-4s %7s  %s  %s  %9.1f  %7s  %7s  %9s%s\n", c->name, side_name(l), threads,
           duo_text_seconds(seconds, median), duo_text_seconds(l->task.minimum_seconds, minimum),
           rate, share, ratio, error, c->other_operation ? "  (cuBLAS has no sum)" : "");
}

void duo_ladder_print(const duo_bench *b, const duo_ladder *ladder)
{
    const duo_problem *const problem = &ladder->problem;
    char shape[DUO_TEXT];
    if (!b->csv)
        printf("\n%s %s\n  %-20s %-4s %7s %10s %10s  %9s  %7s  %7s  %9s\n",
               duo_operation_name(problem->operation),
               duo_text_shape(problem->operation, problem->shape, shape), "row", "side", "threads",
               "median  ", "least   ", problem->operation == DUO_SGEMM ? "GFLOP/s" : "GB/s",
               "% read", "x peer", "error/u");
    for (int i = 0; i < ladder->count; i++) {
        if (ladder->line[i].hidden && !b->reads) continue;
        if (!b->csv)
            print_line(problem, &ladder->line[i]);
        else if (!ladder->line[i].task.failed)
            print_csv(problem, &ladder->line[i]);
    }
    fflush(stdout);
}

void duo_ladder_foot(const duo_bench *b)
{
    if (b->csv) return;
    printf(
        "\n%% read: of the rate at which the same side only reads the operands, the fastest way.\n"
        "x peer: the peer's time / ours, OpenBLAS for the CPU and cuBLAS for the GPU.\n"
        "error/u: against float64, the largest error over the sum of |terms|, in 2^-24.\n"
        "%s%s\n",
        b->cold ? "Caches cold: every call on other data."
                : "Caches warm: every call on the same data.",
        !b->gpu   ? ""
        : b->wait ? " GPU: data resident; the host waits for each call, and of \"duo API\" and "
                    "the peers has the result."
                  : " GPU: data resident, queue busy.");
}
