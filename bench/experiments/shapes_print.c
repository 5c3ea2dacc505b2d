/* shapes_print.c - prints the table of `duoblas bench shapes` and its summary. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "bench/experiments/shapes.h"
#include "bench/peers/openblas.h"
#include "bench/tool/table.h"

/* ---- One case ---- */

const char *duo_shapes_layout(const duo_problem *p, char text[DUO_TEXT])
{
    const char *const beta = p->beta == 0.0f ? "" : p->beta == 1.0f ? " b=1" : " b=.5";
    const char *const transposes = duo_text_transposes(p->transa, p->transb);
    if (p->gap[0] + p->gap[1] + p->gap[2] == 0)
        snprintf(text, DUO_TEXT, "%s%s", transposes, beta);
    else
        snprintf(text, DUO_TEXT, "%s +%d,%d,%d%s", transposes, (int)p->gap[0], (int)p->gap[1],
                 (int)p->gap[2], beta);
    return text;
}

/* Marks a failure, and gives every other algorithm's speed. */
static void add_note(const duo_comparison *c, char *text, size_t size)
{
    const duo_side side = c->implementation[DUO_SHAPES_PEER].side;
    const bool low = duo_shapes_ratio(c, DUO_SHAPES_CHOSEN) < duo_shapes_least_ratio(side);
    size_t length = (size_t)snprintf(text, size, low ? "<-" : "");
    for (int i = DUO_SHAPES_CHOSEN + 1; i < c->count && length < size; i++)
        if (!c->benchmark[i].failed)
            length += (size_t)snprintf(text + length, size - length, "  %s %.2f",
                                       c->implementation[i].name, duo_shapes_ratio(c, i));
}

static void print_row(duo_table *t, const duo_problem *p, const duo_comparison *c)
{
    char shape[DUO_TEXT], layout[DUO_TEXT], note[512];
    const int64_t *const s = p->shape;
    const int best = duo_shapes_fastest(c);
    const double seconds = c->benchmark[DUO_SHAPES_CHOSEN].median_seconds;
    add_note(c, note, sizeof note);
    duo_cell_word(t, NULL, "m x n x k", -21, duo_text_shape(DUO_SGEMM, s, shape));
    duo_cell_count(t, "m", NULL, 0, s[0]);
    duo_cell_count(t, "n", NULL, 0, s[1]);
    duo_cell_count(t, "k", NULL, 0, s[2]);
    duo_cell_word(t, NULL, "op", -14, duo_shapes_layout(p, layout));
    duo_cell_word(t, "transposes", NULL, 0, duo_text_transposes(p->transa, p->transb));
    duo_cell_word(t, "algorithm", "algorithm", -20, c->implementation[DUO_SHAPES_CHOSEN].name);
    duo_cell_seconds(t, "seconds", "ours", seconds);
    duo_cell_seconds(t, "peer_seconds", "peer", c->benchmark[DUO_SHAPES_PEER].median_seconds);
    duo_cell_number(t, NULL, "GFLOP/s", 9, 1, duo_problem_flops(p) / seconds * 1e-9);
    duo_cell_number(t, "times_peer", "x peer", 6, 2, duo_shapes_ratio(c, DUO_SHAPES_CHOSEN));
    duo_cell_word(t, "fastest_algorithm", NULL, 0, c->implementation[best].name);
    duo_cell_number(t, "fastest_times_peer", NULL, 0, 0, duo_shapes_ratio(c, best));
    duo_cell_count(t, "gap_a", NULL, 0, p->gap[0]);
    duo_cell_count(t, "gap_b", NULL, 0, p->gap[1]);
    duo_cell_count(t, "gap_c", NULL, 0, p->gap[2]);
    duo_cell_number(t, "beta", NULL, 0, 0, (double)p->beta);
    duo_cell_word(t, NULL, "", 0, note);
    duo_row_end(t);
}

void duo_shapes_print_case(const duo_bench *b, const duo_problem *problem, const duo_comparison *c)
{
    duo_table table = duo_table_open(b->csv);
    table.titles = false;
    print_row(&table, problem, c);
    fflush(stdout);
}

/* ---- Head ---- */

/* The CPU's peer. */
static void print_peer(const duo_bench *b)
{
    char text[384];
    const duo_blas_instance *const peer = duo_blas_instance_get();
    if (peer == NULL) return;
    printf("%sPeer  %s, with %d thread%s\n", b->csv ? "# " : "",
           duo_text_blas_says(peer->config, peer->core, text, sizeof text), b->threads,
           b->threads == 1 ? "" : "s");
}

void duo_shapes_print_head(const duo_bench *b, duo_side side)
{
    static const duo_comparison none;
    const char *const mark = b->csv ? "# " : "";
    duo_table table = duo_table_open(b->csv);
    duo_bench_head(b);
    if (side == DUO_SIDE_CPU) print_peer(b);
    printf("%s%ssgemm, the algorithm that the %s\n", b->csv ? "" : "\n", mark,
           side == DUO_SIDE_GPU ? "GPU side chooses beside cuBLAS; operands on the GPU, queue busy"
                                : "CPU side chooses beside OpenBLAS");
    if (b->random > 0)
        printf("%s%d random products, seed %" PRIu64 "; + gaps between columns of A, B and C\n",
               mark, b->random, b->seed);
    print_row(&table, &(duo_problem){.operation = DUO_SGEMM}, &none);
}

/* ---- Summary ---- */

void duo_shapes_print_group(const duo_bench *b, const char *name, const duo_shapes_group *g,
                            duo_side side)
{
    char shape[DUO_TEXT];
    if (g->cases == 0) return;
    printf("%s%-20s geometric mean of peer's time / ours %.3f, least %.3f (%s %s); %d of %d below "
           "%.2g\n",
           b->csv ? "# " : "", name, exp(g->logarithms / g->cases), g->least,
           duo_text_shape(DUO_SGEMM, g->worst.shape, shape),
           duo_text_transposes(g->worst.transa, g->worst.transb), g->low, g->cases,
           duo_shapes_least_ratio(side));
}

static void print_worst(const duo_bench *b, const duo_shapes_summary *s)
{
    char shape[DUO_TEXT], layout[DUO_TEXT];
    const char *const mark = b->csv ? "# " : "  ";
    printf("%sThe worst; what is marked above counts by the median of three more times:\n",
           b->csv ? "# " : "\n");
    for (int i = 0; i < s->worst_cases; i++)
        printf("%s%-21s %-14s %-18s  %6.2f\n", mark,
               duo_text_shape(DUO_SGEMM, s->worst[i].problem.shape, shape),
               duo_shapes_layout(&s->worst[i].problem, layout), s->worst[i].algorithm,
               s->worst[i].ratio);
}

void duo_shapes_print_summary(const duo_bench *b, const duo_shapes_summary *s, duo_side side,
                              double seconds)
{
    const char *const mark = b->csv ? "# " : "";
    if (b->random > 0) print_worst(b, s);
    if (!b->csv) printf("\n");
    for (int algorithm = 0; algorithm < DUO_ALGORITHMS; algorithm++)
        duo_shapes_print_group(b, duo_algorithm_name((duo_algorithm_id)algorithm),
                               &s->by_algorithm[algorithm], side);
    duo_shapes_print_group(b, "all", &s->all, side);
    if (b->algorithms && s->all.cases > 0)
        printf("%sthe algorithms that were chosen take %.3f times as long as the fastest ones, in "
               "geometric mean\n",
               mark, exp(s->lost / s->all.cases));
    printf("%s%d cases in %.0f s\n", mark, s->all.cases, seconds);
}
