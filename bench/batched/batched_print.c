/* batched_print.c - prints the table of `duoblas bench batched`. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "bench/batched/batched.h"
#include "bench/experiments/shapes.h"
#include "bench/tool/table.h"

/* The least seconds on an H100: 3.0 TB/s of all operands, and 200 TFLOP/s as accurate as fp32's,
 * which is cuBLAS's rate of fp16 over three. */
static double roof_seconds(const duo_batched *b)
{
    const double bytes_per_second = 3.0e12, flops_per_second = 2.0e14;
    const duo_problem *const p = &b->problem.product;
    const double of_c = p->beta != 0.0f ? 2.0 : 1.0;
    const double m = (double)p->shape[0], n = (double)p->shape[1], k = (double)p->shape[2];
    return (double)b->problem.count * fmax(4.0 * (m * k + k * n + of_c * m * n) / bytes_per_second,
                                           duo_problem_flops(p) / flops_per_second);
}

/* The least seconds of the link: A and B go up, with beta C too, and C comes home. */
static double link_seconds(const duo_batched *b)
{
    const duo_problem *const p = &b->problem.product;
    const double m = (double)p->shape[0], n = (double)p->shape[1], k = (double)p->shape[2];
    const double of_c = p->beta != 0.0f ? 1.0 : 0.0, count = 4.0 * (double)b->problem.count;
    const double up = count * (m * k + k * n + of_c * m * n), down = count * m * n;
    return fmax(fmax(up / b->link->up, down / b->link->down), (up + down) / b->link->both);
}

static double least_seconds(const duo_batched *b)
{
    if (b->link != NULL) return link_seconds(b);
    return b->buffers->side == DUO_SIDE_GPU ? roof_seconds(b) : (double)NAN;
}

static void print_row(duo_table *t, const duo_batched *b, const duo_batched_way *way,
                      const duo_benchmark *m, double peer, double error)
{
    char products[2 * DUO_TEXT], shape[DUO_TEXT], layout[DUO_TEXT];
    const duo_problem *const p = &b->problem.product;
    const int64_t *const s = p->shape, *const gap = b->problem.gap;
    const double seconds = m->median_seconds;
    snprintf(products, sizeof products, "%.50s %.50s x %" PRId64,
             duo_text_shape(DUO_SGEMM, s, shape), duo_shapes_layout(p, layout), b->problem.count);
    duo_cell_word(t, "side", "side", -4, duo_text_side(b->buffers->side));
    duo_cell_count(t, "m", NULL, 0, s[0]);
    duo_cell_count(t, "n", NULL, 0, s[1]);
    duo_cell_count(t, "k", NULL, 0, s[2]);
    duo_cell_word(t, "transposes", NULL, 0, duo_text_transposes(p->transa, p->transb));
    duo_cell_number(t, "beta", NULL, 0, 0, (double)p->beta);
    duo_cell_count(t, "count", NULL, 0, b->problem.count);
    duo_cell_word(t, NULL, "products", b->bench->random > 0 ? -34 : -26, products);
    duo_cell_word(t, "way", "way", -16, way->name);
    duo_cell_count(t, "rounds", NULL, 0, m->rounds);
    duo_cell_seconds(t, "seconds_median", "median", seconds);
    duo_cell_seconds(t, "seconds_min", NULL, m->minimum_seconds);
    duo_cell_number(t, NULL, "GFLOP/s", 9, 1,
                    duo_problem_flops(p) * (double)b->problem.count / seconds * 1e-9);
    if (b->link != NULL) duo_cell_seconds(t, "link_seconds", "link", least_seconds(b));
    duo_cell_number(t, "of_roof", b->link != NULL ? "of link" : "of roof", 7, 2,
                    least_seconds(b) / seconds);
    duo_cell_number(t, "x_peer", "x peer", 6, 2, peer > 0.0 ? peer / seconds : (double)NAN);
    duo_cell_number(t, "error_u", "error/u", 7, -1, error);
    duo_cell_count(t, "gap_a", NULL, 0, p->gap[0]);
    duo_cell_count(t, "gap_b", NULL, 0, p->gap[1]);
    duo_cell_count(t, "gap_c", NULL, 0, p->gap[2]);
    duo_cell_count(t, "product_gap_a", NULL, 0, gap[0]);
    duo_cell_count(t, "product_gap_b", NULL, 0, gap[1]);
    duo_cell_count(t, "product_gap_c", NULL, 0, gap[2]);
    duo_row_end(t);
}

void duo_batched_print_head(const duo_bench *b, const duo_host_rates *link)
{
    const duo_buffers buffers = {.side = DUO_SIDE_CPU};
    const duo_batched none = {.bench = b, .buffers = &buffers, .link = link};
    duo_table table = duo_table_open(b->csv);
    duo_bench_head(b);
    if (link != NULL)
        printf("%s%s memory; link %.1f GB/s up, %.1f down, %.1f both ways at once\n",
               b->csv ? "# " : "", (b->csv ? duo_place_names : duo_place_titles)[b->memory],
               1e-9 * link->up, 1e-9 * link->down, 1e-9 * link->both);
    if (b->random > 0)
        printf("%s%d random batches, seed %" PRIu64 "; + gaps between columns of A, B and C\n",
               b->csv ? "# " : "\n", b->random, b->seed);
    else if (!b->csv)
        printf("\n");
    print_row(&table, &none, &(duo_batched_way){.of = &none}, &(duo_benchmark){.rounds = 0}, 0.0,
              0.0);
}

void duo_batched_print_row(const duo_batched *b, const duo_batched_way *way, const duo_benchmark *m,
                           double peer, double error)
{
    duo_table table = duo_table_open(b->bench->csv);
    table.titles = false;
    print_row(&table, b, way, m, peer, error);
    fflush(stdout);
}

void duo_batched_print_foot(const duo_bench *b)
{
    if (b->csv) return;
    printf("\n%s"
           "x peer: time of cuBLAS strided, or of the CPU's BLAS by calls, over the row's.\n"
           "error/u: against float64, the largest |error| / (|A||B| + |beta C|) of %d products, in "
           "2^-24.\n"
           "%s",
           b->memory < 0
               ? "of roof: the least time that an H100 needs (3.0 TB/s, 200 TFLOP/s), over the "
                 "row's.\n"
               : "link: the least time, all bytes over the link; of link: that over the row's.\n",
           DUO_BATCHED_CHECKED,
           b->memory < 0
               ? "GPU: data on the GPU; lists are in host memory; those that are \"there\", "
                 "and cuBLAS's, in the device's.\n"
               : "");
}
