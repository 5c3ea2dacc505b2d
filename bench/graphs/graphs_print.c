/* graphs_print.c - rows of `duoblas bench graphs`, as a table that people read, or as CSV. */
#include <stdio.h>

#include "bench/graphs/graphs.h"
#include "bench/tool/text.h"

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
