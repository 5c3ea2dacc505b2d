/* ladder_print.c - prints the ladder as a table for people, or as CSV. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "bench/experiments/ladder.h"
#include "bench/tool/table.h"
#include "bench/tool/text.h"

void duo_ladder_head(const duo_bench *b)
{
    duo_bench_head(b);
    if (b->csv)
        printf("# data  uniform in (-1, 1), seed %" PRIu64 ", %d"
               " floats behind a boundary; caches %s\n# GPU   data there, %s\n",
               b->seed, b->offset_floats, b->cold ? "cold" : "warm",
               b->wait ? "the host waits for each call" : "queue busy");
}

/* A remark at the end of a line. */
static const char *note_of(const duo_problem *problem, const duo_measurement *m)
{
    if (m->benchmark.failed) return "cannot do it";
    if (m->implementation.other_operation) return "(cuBLAS has no sum)";
    if (m->problem.transa == problem->transa && m->problem.transb == problem->transb) return NULL;
    return duo_text_transposes(m->problem.transa, m->problem.transb);
}

static double if_known(double value) { return value > 0.0 ? value : (double)NAN; }

static void print_row(duo_table *t, const duo_problem *problem, const duo_measurement *m)
{
    const bool matrix = problem->operation == DUO_SGEMM;
    const duo_implementation *const c = &m->implementation;
    const double seconds = if_known(m->benchmark.median_seconds);
    duo_bench_problem_cells(t, problem);
    duo_cell_word(t, "side", "side", -4, duo_text_side(c->side));
    duo_cell_word(t, "algorithm", "algorithm", -20, c->name);
    duo_cell_count(t, "threads", "threads", 7, c->threads > 0 ? c->threads : -1);
    duo_cell_seconds(t, "seconds_median", "median", seconds);
    duo_cell_seconds(t, "seconds_min", "least", if_known(m->benchmark.minimum_seconds));
    duo_cell_number(t, "gflops", matrix ? "GFLOP/s" : NULL, 9, 1,
                    duo_problem_flops(problem) / seconds * 1e-9);
    duo_cell_number(t, "gbytes_per_second", matrix ? NULL : "GB/s", 9, 1,
                    duo_problem_bytes(problem) / seconds * 1e-9);
    duo_cell_number(t, "times_peer", "x peer", 6, 2, if_known(m->times_peer));
    duo_cell_number(t, "error_u", "error/u", 8, -1, m->error < 0.0 ? (double)NAN : m->error);
    duo_cell_number(t, "percent_of_read", matrix ? NULL : "% read", 6, 1,
                    if_known(100.0 * m->read_share));
    duo_cell_word(t, "transposes", NULL, 0,
                  matrix ? duo_text_transposes(m->problem.transa, m->problem.transb) : NULL);
    duo_cell_number(t, "frobenius", matrix ? "frobenius" : NULL, 9, -1,
                    matrix && m->error >= 0.0 ? m->frobenius : (double)NAN);
    duo_cell_number(t, "percent_of_peak", matrix ? "% peak" : NULL, 6, 1,
                    if_known(100.0 * m->peak_share));
    duo_cell_word(t, NULL, "", 0, note_of(problem, m));
    duo_row_end(t);
}

static void print_titles(duo_table *t, const duo_problem *problem)
{
    const duo_measurement none = {.error = -1.0};
    char shape[DUO_TEXT];
    const bool matrix = problem->operation == DUO_SGEMM;
    if (t->form == DUO_AS_TEXT)
        printf("\n%s %s%s%s\n", duo_operation_name(problem->operation),
               duo_text_shape(problem->operation, problem->shape, shape), matrix ? " " : "",
               matrix ? duo_text_transposes(problem->transa, problem->transb) : "");
    t->titles = true;
    print_row(t, problem, &none);
}

void duo_ladder_print(const duo_bench *b, const duo_ladder *ladder, bool first)
{
    duo_table table = duo_table_open(b->csv);
    if (first || !b->csv) print_titles(&table, &ladder->problem);
    table.titles = false;
    for (int i = 0; i < ladder->count; i++) {
        const duo_measurement *const m = &ladder->measurement[i];
        if ((!m->hidden || b->reads) && !(b->csv && m->benchmark.failed))
            print_row(&table, &ladder->problem, m);
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
           : b->wait ? " GPU: data there; the host waits for each call, and of \"duo API\" and "
                       "the peers has the result."
                     : " GPU: data there, queue busy.");
}
