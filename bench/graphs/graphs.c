/* graphs.c - runs `duoblas bench graphs`: part by part, the GPU first. */
#include "bench/graphs/graphs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/experiments/experiments.h"
#include "bench/tool/table.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

static const struct {
    const char *name;
    bool gpu; /* only for a GPU */
    const char *what;
} parts[DUO_PARTS] = {
    {"overlap", true,
     "time of one of 400 products, all of which are queued before the host waits; ratio: to that "
     "in one context"},
    {"chain", false,
     "products n x n x n and reductions of n^2 elements by turns, each behind the one before, over "
     "and over; ratio: calls / graph, graph / raw"},
    {"fork-join", false,
     "an operation, three that depend on it, one that depends on these; each part is a graph, too, "
     "and these are launched by turns; ratio: graph / its parts"},
    {"launch", false,
     "time until a launch returns, of a graph of tiny sums; on the GPU behind products in the "
     "queue"},
};

duo_graphs duo_graphs_of(const duo_bench *b)
{
    const int rounds = b->rounds > 0 ? b->rounds : b->quick ? 3 : 15;
    const double seconds = b->max_seconds > 0 ? b->max_seconds : 60.0;
    return (duo_graphs){.bench = b,
                        .effort = {.sample_seconds = b->quick ? 0.002 : 0.02,
                                   .warm_seconds = b->quick ? 0.0 : 0.005,
                                   .rounds = rounds,
                                   .budget_seconds = b->quick ? 0.5 : 4.0,
                                   .until_seconds = duo_now_seconds() + seconds},
                        .edge = b->quick ? 64 : 256,
                        .long_edge = b->quick ? 128 : 1000,
                        .queued = b->quick ? 20 : 1000};
}

static bool run_side(duo_graphs *g, duo_graphs_part part, duo_side side)
{
    switch (part) {
    case DUO_PART_OVERLAP:
        return duo_graphs_overlap(g);
    case DUO_PART_CHAIN:
        return duo_graphs_chain(g, side);
    case DUO_PART_FORK_JOIN:
        return duo_graphs_fork_join(g, side);
    default:
        return duo_graphs_launch(g, side);
    }
}

static bool run_part(duo_graphs *g, duo_graphs_part part)
{
    const bool gpu = g->bench->sides[DUO_SIDE_GPU] && g->bench->gpu;
    const bool cpu = g->bench->sides[DUO_SIDE_CPU] && !parts[part].gpu;
    bool good = true;
    if (!gpu && !cpu) return true;
    g->part = parts[part].name;
    duo_graphs_title(g, parts[part].what);
    if (!g->bench->csv) duo_graphs_columns(g);
    if (gpu) good = run_side(g, part, DUO_SIDE_GPU);
    if (cpu) good = run_side(g, part, DUO_SIDE_CPU) && good;
    return good;
}

static bool run(duo_graphs *g)
{
    bool good = true;
    duo_graphs_head(g);
    for (int part = 0; part < DUO_PARTS; part++)
        if (g->bench->parts >> part & 1u) good = run_part(g, (duo_graphs_part)part) && good;
    return good;
}

int duo_bench_graphs(duo_bench *b)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    if (b->parts == 0) b->parts = (1u << DUO_PARTS) - 1u;
    duo_graphs g = duo_graphs_of(b);
    const bool good = duo_bench_open(b, &small, 1) && run(&g);
    duo_bench_close(b);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}

/* ---- Rows, as a table or as CSV ---- */

void duo_graphs_head(const duo_graphs *g)
{
    const duo_bench *const b = g->bench;
    duo_bench_head(b);
    if (b->quick)
        printf("%sQuick: products of %d x %d x %d and %d x %d x %d, of which %d make a queue.\n",
               b->csv ? "# " : "", g->edge, g->edge, g->edge, g->long_edge, g->long_edge,
               g->long_edge, g->queued);
    if (b->csv) duo_graphs_columns(g);
}

void duo_graphs_title(const duo_graphs *g, const char *what)
{
    char label[DUO_TEXT];
    if (g->bench->csv) return;
    printf("\n");
    snprintf(label, sizeof label, "%s: ", g->part);
    duo_text_wrap(label, what, stdout);
}

static void print_row(const duo_graphs *g, const duo_graphs_row *r, bool titles)
{
    duo_table t = duo_table_open(g->bench->csv);
    t.titles = titles;
    duo_cell_word(&t, "part", NULL, 0, g->part);
    duo_cell_word(&t, "side", "side", -4, duo_text_side(r->side));
    duo_cell_word(&t, "what", "what", -16, r->what);
    duo_cell_word(&t, "way", "way", -16, r->way);
    duo_cell_count(&t, "rounds", "rounds", 6, r->rounds);
    duo_cell_seconds(&t, "seconds_median", "median", r->median);
    duo_cell_seconds(&t, "seconds_min", "least", r->least);
    duo_cell_seconds(&t, "seconds_max", NULL, r->most > 0.0 ? r->most : (double)NAN);
    duo_cell_number(&t, "ratio", "ratio", 5, 2, r->ratio > 0.0 ? r->ratio : (double)NAN);
    duo_cell_word(&t, "running", NULL, 0, r->running);
    duo_row_end(&t);
    fflush(stdout);
}

void duo_graphs_columns(const duo_graphs *g) { print_row(g, &(duo_graphs_row){.rounds = 0}, true); }

void duo_graphs_print(const duo_graphs *g, const duo_graphs_row *row) { print_row(g, row, false); }

duo_graphs_row duo_graphs_row_of(duo_side side, const char *what, const char *way,
                                 const duo_benchmark *benchmark, double times)
{
    return (duo_graphs_row){.side = side,
                            .what = what,
                            .way = way,
                            .rounds = benchmark->rounds,
                            .median = benchmark->median_seconds / times,
                            .least = benchmark->minimum_seconds / times};
}
