/*
 * bench_ladder.c - every row of an operation, from the simplest to the best, and its peers.
 *
 * CPU rows are compared with OpenBLAS, GPU rows with cuBLAS; all of one problem are timed in turns.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "baselines.h"
#include "bench.h"

enum { MOST = 16 };

/* A row that would take longer for one call is left out. */
static const double kLongestCallSeconds = 20.0;

typedef struct line {
    duo_contender contender;
    duo_trial trial;
    duo_task task;
    double error; /* negative: not known */
} line;

/* Seconds that a CPU row should take, and the threads that the library would give it. */
static double expected_seconds(const duo_bench *b, const duo_problem *problem, const duo_row *row,
                               int *threads)
{
    const duo_call call = duo_problem_call(problem, &b->host, 0);
    const duo_site site = {.profile = duo_profile_in_use(), .threads = b->threads};
    const double seconds = row->cost(&call, &site, threads);
    if (!isfinite(seconds)) *threads = b->threads; /* not in the profile */
    return isfinite(seconds) ? seconds : 0.0;
}

static int list_lines(const duo_bench *b, const duo_problem *problem, line *list)
{
    const duo_row_table table = duo_row_tables[problem->operation];
    int count = 0;
    /* The tables begin with the GPU; people read from the slow to the fast. */
    for (int i = table.count - 1; i >= 0; i--) {
        const duo_row *const row = &table.row[i];
        int threads;
        if (row->side != DUO_SIDE_CPU ||
            expected_seconds(b, problem, row, &threads) > kLongestCallSeconds)
            continue;
        list[count++].contender = duo_contender_cpu_row(row, threads, &b->host);
    }
    if (duo_baseline_openblas(&list[count].contender, problem->operation, b->threads, &b->host))
        count++;
    for (int i = 0; i < table.count && b->gpu; i++)
        if (table.row[i].side == DUO_SIDE_GPU)
            list[count++].contender =
                duo_contender_gpu_row(&table.row[i], b->queue, &b->resident, false);
    if (b->gpu && b->cublas_why == NULL &&
        duo_baseline_cublas(&list[count].contender, problem->operation, &b->resident, false))
        count++;
    return count;
}

/* One more call, on slot 0, whose output is then looked at. */
static double error_of(const duo_bench *b, const duo_problem *problem, line *l)
{
    if (l->contender.other_operation) return -1.0;
    l->trial.next = 0;
    if (!duo_trial_run(&l->trial, 1)) return -1.0;
    return duo_bench_error(b->context, problem, &b->host, l->contender.stock);
}

static double peer_seconds(const line *list, int count, duo_side side)
{
    for (int i = 0; i < count; i++)
        if (list[i].contender.peer && list[i].contender.side == side && !list[i].task.failed)
            return list[i].task.median_seconds;
    return 0.0;
}

static void print_csv(const duo_problem *problem, const line *l, double peer)
{
    const int64_t *const s = problem->shape;
    const bool matrix = problem->operation == DUO_SGEMM;
    const double seconds = l->task.median_seconds;
    printf("%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%d,%.4e,%.4e,%.5g,%.5g,",
           duo_operation_name(problem->operation), matrix ? s[0] : 1, matrix ? s[1] : s[0],
           matrix ? s[2] : 0, l->contender.side == DUO_SIDE_CPU ? "cpu" : "gpu", l->contender.name,
           l->contender.threads, seconds, l->task.minimum_seconds,
           duo_problem_flops(problem) / seconds * 1e-9,
           duo_problem_bytes(problem) / seconds * 1e-9);
    if (peer > 0.0) printf("%.4g", peer / seconds);
    printf(",");
    if (l->error >= 0.0) printf("%.4g", l->error);
    printf("\n");
}

static void print_line(const duo_problem *problem, const line *l, double peer)
{
    char median[DUO_TEXT], minimum[DUO_TEXT], threads[16] = "-", ratio[16] = "-", error[16] = "-";
    const duo_contender *const c = &l->contender;
    const double seconds = l->task.median_seconds;
    if (l->task.failed) {
        printf("  %-20s %-4s  cannot do it\n", c->name, c->side == DUO_SIDE_CPU ? "cpu" : "gpu");
        return;
    }
    const double rate = (problem->operation == DUO_SGEMM ? duo_problem_flops(problem)
                                                         : duo_problem_bytes(problem)) /
                        seconds * 1e-9;
    if (c->threads > 0) snprintf(threads, sizeof threads, "%d", c->threads);
    if (peer > 0.0) snprintf(ratio, sizeof ratio, "%.2f", peer / seconds);
    if (l->error >= 0.0) snprintf(error, sizeof error, "%.3g", l->error);
    printf("  %-20s %-4s %7s  %s  %s  %9.1f  %7s  %9s%s\n", c->name,
           c->side == DUO_SIDE_CPU ? "cpu" : "gpu", threads, duo_text_seconds(seconds, median),
           duo_text_seconds(l->task.minimum_seconds, minimum), rate, ratio, error,
           c->other_operation ? "  (cuBLAS has no sum)" : "");
}

static void measure_problem(duo_bench *b, const duo_problem *problem)
{
    line list[MOST];
    duo_task task[MOST];
    char shape[DUO_TEXT];
    memset(list, 0, sizeof list);
    const int count = list_lines(b, problem, list);
    duo_effort effort = duo_bench_effort(b);
    effort.settle_seconds = duo_baseline_settle_seconds();
    for (int i = 0; i < count; i++) {
        const bool open = duo_trial_open(&list[i].trial, &list[i].contender, problem);
        task[i] = (duo_task){.run = duo_trial_run, .user = &list[i].trial};
        if (!open) fprintf(stderr, "duoblas: out of memory\n"), exit(DUO_EXIT_FAILURE);
    }
    duo_measure(task, count, &effort);
    for (int i = 0; i < count; i++) {
        list[i].task = task[i];
        list[i].error = task[i].failed ? -1.0 : error_of(b, problem, &list[i]);
    }
    if (!b->csv)
        printf("\n%s %s\n  %-20s %-4s %7s %10s %10s  %9s  %7s  %9s\n",
               duo_operation_name(problem->operation),
               duo_text_shape(problem->operation, problem->shape, shape), "row", "side", "threads",
               "median  ", "least   ", problem->operation == DUO_SGEMM ? "GFLOP/s" : "GB/s",
               "x peer", "error/u");
    for (int i = 0; i < count; i++) {
        const double peer = peer_seconds(list, count, list[i].contender.side);
        if (!b->csv)
            print_line(problem, &list[i], peer);
        else if (!list[i].task.failed)
            print_csv(problem, &list[i], peer);
        duo_trial_close(&list[i].trial);
    }
    fflush(stdout);
}

int duo_bench_ladder(duo_bench *b, const duo_problem *problem, int problems)
{
    if (!duo_bench_open(b, problem, problems)) {
        duo_bench_close(b);
        return DUO_EXIT_FAILURE;
    }
    duo_bench_head(b);
    if (b->csv)
        printf("operation,m,n,k,side,row,threads,seconds_median,seconds_min,gflops,"
               "gbytes_per_second,times_peer,error_u\n");
    for (int i = 0; i < problems; i++) measure_problem(b, &problem[i]);
    if (!b->csv)
        printf("\nx peer: the peer's time / ours, OpenBLAS for the CPU and cuBLAS for the GPU.\n"
               "error/u: against float64, the largest error over the sum of |terms|, in 2^-24.\n"
               "%s%s\n",
               b->cold ? "Caches cold: every call on other data."
                       : "Caches warm: every call on the same data.",
               b->gpu ? " GPU: data resident, queue busy." : "");
    duo_bench_close(b);
    return EXIT_SUCCESS;
}
