/* shapes_print.c - the table of `duoblas bench shapes`, and what follows from it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "bench/experiments/shapes.h"
#include "bench/peers/openblas.h"

/* ---- Head ---- */

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

static void print_title(const duo_bench *b, duo_side side, const char *peer)
{
    printf("\nsgemm, the algorithm that the %s side chooses beside %s%s\n",
           side == DUO_SIDE_GPU ? "GPU" : "CPU", peer,
           side == DUO_SIDE_GPU ? "; operands resident, queue busy" : "");
    if (b->random > 0)
        printf("%d random products, seed %" PRIu64 "; + gaps between columns of A, B and C\n"
               "  %-21s %-14s %-18s %10s  %6s\n",
               b->random, b->seed, "m x n x k", "op", "algorithm", "ours   ", "x peer");
    else
        printf("  %-24s %s  %-20s %10s %10s  %9s  %6s\n", "m x n x k", "op", "algorithm", "ours   ",
               peer, "GFLOP/s", "x peer");
}

void duo_shapes_print_head(const duo_bench *b, duo_side side)
{
    duo_bench_head(b);
    if (side == DUO_SIDE_CPU) print_peer(b);
    if (b->csv && b->random > 0)
        printf("# %d random products, seed %" PRIu64 "\n", b->random, b->seed);
    if (b->csv)
        printf("m,n,k,transposes,algorithm,seconds,peer_seconds,times_peer,fastest_algorithm,"
               "fastest_times_peer,gap_a,gap_b,gap_c,beta\n");
    else
        print_title(b, side, side == DUO_SIDE_GPU ? "cuBLAS" : "OpenBLAS");
}

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

static void print_csv(const duo_problem *p, const duo_comparison *c)
{
    const int64_t *const s = p->shape;
    const int best = duo_shapes_fastest(c);
    printf("%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%.4e,%.4e,%.4g,%s,%.4g,%" PRId64 ",%" PRId64
           ",%" PRId64 ",%g\n",
           s[0], s[1], s[2], duo_text_transposes(p->transa, p->transb),
           c->implementation[DUO_SHAPES_CHOSEN].name,
           c->benchmark[DUO_SHAPES_CHOSEN].median_seconds,
           c->benchmark[DUO_SHAPES_PEER].median_seconds, duo_shapes_ratio(c, DUO_SHAPES_CHOSEN),
           c->implementation[best].name, duo_shapes_ratio(c, best), p->gap[0], p->gap[1], p->gap[2],
           (double)p->beta);
}

/* Marks a failure, and tells what each other algorithm would have given. */
static void print_others(const duo_comparison *c)
{
    const duo_side side = c->implementation[DUO_SHAPES_PEER].side;
    const bool low = duo_shapes_ratio(c, DUO_SHAPES_CHOSEN) < duo_shapes_least_ratio(side);
    if (low || c->count > DUO_SHAPES_CHOSEN + 1) printf(low ? "  <-" : "    ");
    for (int i = DUO_SHAPES_CHOSEN + 1; i < c->count; i++)
        if (!c->benchmark[i].failed)
            printf("  %s %.2f", c->implementation[i].name, duo_shapes_ratio(c, i));
    printf("\n");
}

void duo_shapes_print_case(const duo_bench *b, const duo_problem *problem, const duo_comparison *c)
{
    char shape[DUO_TEXT], layout[DUO_TEXT], ours[DUO_TEXT], peer[DUO_TEXT];
    const char *const algorithm = c->implementation[DUO_SHAPES_CHOSEN].name;
    const double seconds = c->benchmark[DUO_SHAPES_CHOSEN].median_seconds;
    const double ratio = duo_shapes_ratio(c, DUO_SHAPES_CHOSEN);
    duo_text_shape(DUO_SGEMM, problem->shape, shape);
    duo_text_seconds(seconds, ours);
    duo_shapes_layout(problem, layout);
    if (b->csv) {
        print_csv(problem, c);
    } else if (b->random > 0) {
        printf("  %-21s %-14s %-18s %s  %6.2f", shape, layout, algorithm, ours, ratio);
        print_others(c);
    } else {
        duo_text_seconds(c->benchmark[DUO_SHAPES_PEER].median_seconds, peer);
        printf("  %-24s %s  %-20s %s  %s  %9.1f  %6.2f", shape, layout, algorithm, ours, peer,
               duo_problem_flops(problem) / seconds * 1e-9, ratio);
        print_others(c);
    }
    fflush(stdout);
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
