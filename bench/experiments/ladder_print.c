/* ladder_print.c - the ladder as a table that people read, or as CSV. */
#include <inttypes.h>
#include <stdio.h>

#include "bench/experiments/ladder.h"
#include "bench/tool/text.h"

void duo_ladder_head(const duo_bench *b)
{
    duo_bench_head(b);
    if (b->csv)
        printf("# data  uniform in (-1, 1), seed %" PRIu64 ", %d"
               " floats behind a boundary; caches %s\n# GPU   data resident, %s\n",
               b->seed, b->offset_floats, b->cold ? "cold" : "warm",
               b->wait ? "the host waits for each call" : "queue busy");
    if (b->csv)
        printf("operation,m,n,k,side,algorithm,threads,seconds_median,seconds_min,gflops,"
               "gbytes_per_second,times_peer,error_u,percent_of_read,transposes,frobenius,"
               "percent_of_peak\n");
}

static void print_csv(const duo_problem *problem, const duo_measurement *m)
{
    const int64_t *const s = problem->shape;
    const bool matrix = problem->operation == DUO_SGEMM;
    const double seconds = m->benchmark.median_seconds;
    printf("%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%d,%.4e,%.4e,%.5g,%.5g,",
           duo_operation_name(problem->operation), matrix ? s[0] : 1, matrix ? s[1] : s[0],
           matrix ? s[2] : 0, duo_text_side(m->implementation.side), m->implementation.name,
           m->implementation.threads, seconds, m->benchmark.minimum_seconds,
           duo_problem_flops(problem) / seconds * 1e-9,
           duo_problem_bytes(problem) / seconds * 1e-9);
    if (m->times_peer > 0.0) printf("%.4g", m->times_peer);
    printf(",");
    if (m->error >= 0.0) printf("%.4g", m->error);
    printf(",");
    if (m->read_share > 0.0) printf("%.4g", 100.0 * m->read_share);
    printf(",%s,", matrix ? duo_text_transposes(m->problem.transa, m->problem.transb) : "");
    if (matrix && m->error >= 0.0) printf("%.4g", m->frobenius);
    printf(",");
    if (m->peak_share > 0.0) printf("%.4g", 100.0 * m->peak_share);
    printf("\n");
}

/* What the numbers of a line do not say. */
static const char *note_of(const duo_problem *problem, const duo_measurement *m,
                           char text[DUO_TEXT])
{
    text[0] = '\0';
    if (m->implementation.other_operation) return "  (cuBLAS has no sum)";
    if (m->problem.transa != problem->transa || m->problem.transb != problem->transb)
        snprintf(text, DUO_TEXT, "  (%s)",
                 duo_text_transposes(m->problem.transa, m->problem.transb));
    return text;
}

static void print_line(const duo_problem *problem, const duo_measurement *m)
{
    char median[DUO_TEXT], minimum[DUO_TEXT], note[DUO_TEXT];
    char threads[16] = "-", ratio[16] = "-", share[16] = "-", error[16] = "-", norm[16] = "-";
    const bool matrix = problem->operation == DUO_SGEMM;
    const duo_implementation *const c = &m->implementation;
    const double seconds = m->benchmark.median_seconds;
    if (m->benchmark.failed) {
        printf("  %-20s %-4s  cannot do it\n", c->name, duo_text_side(m->implementation.side));
        return;
    }
    const double rate =
        (matrix ? duo_problem_flops(problem) : duo_problem_bytes(problem)) / seconds * 1e-9;
    const double part = matrix ? m->peak_share : m->read_share;
    if (c->threads > 0) snprintf(threads, sizeof threads, "%d", c->threads);
    if (m->times_peer > 0.0) snprintf(ratio, sizeof ratio, "%.2f", m->times_peer);
    if (part > 0.0) snprintf(share, sizeof share, "%.1f", 100.0 * part);
    if (m->error >= 0.0) snprintf(error, sizeof error, "%.3g", m->error);
    if (m->error >= 0.0) snprintf(norm, sizeof norm, "%.2e", m->frobenius);
    printf("  %-20s %-4s %7s  %s  %s  %9.1f  %7s  %7s  %9s", c->name,
           duo_text_side(m->implementation.side), threads, duo_text_seconds(seconds, median),
           duo_text_seconds(m->benchmark.minimum_seconds, minimum), rate, share, ratio, error);
    if (matrix) printf("  %9s", norm);
    printf("%s\n", note_of(problem, m, note));
}

static void print_columns(const duo_problem *problem)
{
    char shape[DUO_TEXT];
    const bool matrix = problem->operation == DUO_SGEMM;
    printf("\n%s %s%s%s\n", duo_operation_name(problem->operation),
           duo_text_shape(problem->operation, problem->shape, shape), matrix ? " " : "",
           matrix ? duo_text_transposes(problem->transa, problem->transb) : "");
    printf("  %-20s %-4s %7s %10s %10s  %9s  %7s  %7s  %9s%s\n", "algorithm", "side", "threads",
           "median  ", "least   ", matrix ? "GFLOP/s" : "GB/s", matrix ? "% peak" : "% read",
           "x peer", "error/u", matrix ? "  frobenius" : "");
}

void duo_ladder_print(const duo_bench *b, const duo_ladder *ladder)
{
    if (!b->csv) print_columns(&ladder->problem);
    for (int i = 0; i < ladder->count; i++) {
        if (ladder->measurement[i].hidden && !b->reads) continue;
        if (!b->csv)
            print_line(&ladder->problem, &ladder->measurement[i]);
        else if (!ladder->measurement[i].benchmark.failed)
            print_csv(&ladder->problem, &ladder->measurement[i]);
    }
    fflush(stdout);
}

static void print_meanings(bool matrix)
{
    if (matrix)
        printf("\n%% peak: of what the device's units can give by its data sheet, FP32 lanes or "
               "tensor cores.\n"
               "x peer: the peer's time / ours, OpenBLAS for the CPU and cuBLAS for the GPU; of a "
               "square\nproduct cuBLAS's best layout, which stands behind its line.\n"
               "error/u: against float64, the largest |error| / |A||B|, in 2^-24; frobenius: norm "
               "of the\nerror / norm of the product.\n");
    else
        printf("\n%% read: of the rate at which the same side only reads the operands, the fastest "
               "way.\n"
               "x peer: the peer's time / ours, OpenBLAS for the CPU and cuBLAS for the GPU.\n"
               "error/u: against float64, the largest error over the sum of |terms|, in 2^-24.\n");
}

void duo_ladder_foot(const duo_bench *b, bool matrix)
{
    if (b->csv) return;
    print_meanings(matrix);
    printf("%s%s\n",
           b->cold ? "Caches cold: every call on other data."
                   : "Caches warm: every call on the same data.",
           !b->gpu   ? ""
           : b->wait ? " GPU: data resident; the host waits for each call, and of \"duo API\" and "
                       "the peers has the result."
                     : " GPU: data resident, queue busy.");
}
