/* graphs.c - the run of `duoblas bench graphs`: part by part, the GPU first. */
#include "bench/graphs/graphs.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/experiments/experiments.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

static const struct {
    const char *name;
    bool gpu; /* it is for a GPU alone */
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
    duo_graphs_columns(g);
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
    if (b->csv)
        printf("part,side,what,way,rounds,seconds_median,seconds_min,seconds_max,ratio,running\n");
}

void duo_graphs_title(const duo_graphs *g, const char *what)
{
    char label[DUO_TEXT];
    if (g->bench->csv) return;
    printf("\n");
    snprintf(label, sizeof label, "%s: ", g->part);
    duo_text_wrap(label, what, stdout);
}

void duo_graphs_columns(const duo_graphs *g)
{
    if (g->bench->csv) return;
    printf("  %-4s %-16s %-16s %6s  %9s  %9s  ratio\n", "side", "what", "way", "rounds", "median ",
           "least  ");
}

static void print_csv(const duo_graphs *g, const duo_graphs_row *row)
{
    printf("%s,%s,%s,%s,%d,%.4e,%.4e,", g->part, duo_text_side(row->side), row->what, row->way,
           row->rounds, row->median, row->least);
    if (row->most > 0.0) printf("%.4e", row->most);
    printf(",");
    if (row->ratio > 0.0) printf("%.4g", row->ratio);
    printf(",%s\n", row->running != NULL ? row->running : "");
}

void duo_graphs_print(const duo_graphs *g, const duo_graphs_row *row)
{
    char median[DUO_TEXT], least[DUO_TEXT], ratio[DUO_TEXT] = "";
    if (row->ratio > 0.0) snprintf(ratio, sizeof ratio, "%7.2f", row->ratio);
    if (g->bench->csv)
        print_csv(g, row);
    else
        printf("  %-4s %-16s %-16s %6d  %s  %s%s\n", duo_text_side(row->side), row->what, row->way,
               row->rounds, duo_text_seconds(row->median, median),
               duo_text_seconds(row->least, least), ratio);
    fflush(stdout);
}

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
