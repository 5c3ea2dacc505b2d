/* batched_print.c - the table of `duoblas bench batched`. */
#include <inttypes.h>
#include <stdio.h>

#include "bench/batched/batched.h"
#include "bench/experiments/shapes.h"

void duo_batched_print_head(const duo_bench *b)
{
    duo_bench_head(b);
    if (b->random > 0)
        printf("%s%d random batches, seed %" PRIu64 "; + gaps between columns of A, B and C\n",
               b->csv ? "# " : "\n", b->random, b->seed);
    if (b->csv)
        printf("side,m,n,k,transposes,beta,count,way,rounds,seconds_median,seconds_min,x_peer,"
               "error_u,gap_a,gap_b,gap_c,product_gap_a,product_gap_b,product_gap_c\n");
    else if (b->random > 0)
        printf("  %-4s %-15s %-14s %6s  %-15s  %9s  %6s  %7s\n", "side", "m x n x k", "op", "count",
               "way", "median ", "x peer", "error/u");
    else
        printf("\n  %-4s %-13s %-16s %6s  %9s  %9s  %7s  %7s\n", "side", "products", "way",
               "rounds", "median ", "GFLOP/s", "x peer", "error/u");
}

static void print_csv(const duo_batched *b, const duo_batched_way *way, const duo_benchmark *m,
                      const char *ratio, double error)
{
    const duo_problem *const p = &b->problem.product;
    const int64_t *const s = p->shape, *const gap = b->problem.gap;
    printf("%s,%jd,%jd,%jd,%s,%g,%jd,\"%s\",%d,%.4e,%.4e,%s,%.3g,%jd,%jd,%jd,%jd,%jd,%jd\n",
           duo_text_side(b->buffers->side), (intmax_t)s[0], (intmax_t)s[1], (intmax_t)s[2],
           duo_text_transposes(p->transa, p->transb), (double)p->beta, (intmax_t)b->problem.count,
           way->name, m->rounds, m->median_seconds, m->minimum_seconds, ratio, error,
           (intmax_t)p->gap[0], (intmax_t)p->gap[1], (intmax_t)p->gap[2], (intmax_t)gap[0],
           (intmax_t)gap[1], (intmax_t)gap[2]);
}

void duo_batched_print_row(const duo_batched *b, const duo_batched_way *way, const duo_benchmark *m,
                           double peer, double error)
{
    char shape[DUO_TEXT], layout[DUO_TEXT], median[DUO_TEXT], ratio[DUO_TEXT] = "";
    const duo_problem *const p = &b->problem.product;
    const char *const side = duo_text_side(b->buffers->side);
    const intmax_t count = b->problem.count;
    const double rate = duo_problem_flops(p) * (double)count / m->median_seconds * 1e-9;
    if (peer > 0.0) snprintf(ratio, sizeof ratio, "%.2f", peer / m->median_seconds);
    duo_text_seconds(m->median_seconds, median);
    if (b->bench->csv) {
        print_csv(b, way, m, ratio, error);
    } else if (b->bench->random > 0) {
        printf("  %-4s %-15s %-14s %6jd  %-15s  %s  %6s  %7.3g\n", side,
               duo_text_shape(DUO_SGEMM, p->shape, shape), duo_shapes_layout(p, layout), count,
               way->name, median, ratio, error);
    } else {
        snprintf(shape, sizeof shape, "%jd^3 x %jd", (intmax_t)p->shape[0], count);
        printf("  %-4s %-13s %-16s %6d  %s  %9.1f  %7s  %7.3g\n", side, shape, way->name, m->rounds,
               median, rate, ratio, error);
    }
    fflush(stdout);
}

void duo_batched_print_foot(const duo_bench *b)
{
    if (b->csv) return;
    printf("\nx peer: time of cuBLAS strided, or of the CPU's BLAS by calls, over the row's.\n"
           "error/u: against float64, the largest |error| / (|A||B| + |beta C|) of %d products, in "
           "2^-24.\n"
           "GPU: data resident; lists are in host memory, cuBLAS's in the device's.\n",
           DUO_BATCHED_CHECKED);
}
