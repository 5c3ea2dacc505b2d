/* mixed_print.c - prints the cost of turns, as a table for people or as CSV. */
#include <math.h>
#include <stdio.h>

#include "bench/measure/benchmark.h"
#include "bench/studies/mixed.h"
#include "bench/tool/table.h"
#include "bench/tool/text.h"

static const char *const way_names[DUO_WAYS] = {
    [DUO_ALONE] = "alone",
    [DUO_ALONE_ONE] = "alone one thread",
    [DUO_BY_TURNS] = "by turns",
    [DUO_BY_TURNS_ONE] = "by turns one thread",
};

typedef struct times {
    int calls;
    double median, p90, most;
} times;

static times times_of(duo_member *m, duo_way how)
{
    const int calls = m->calls[how];
    if (calls == 0) return (times){0, 0.0, 0.0, 0.0};
    return (times){calls, duo_median(m->seconds[how], calls),
                   duo_high_quantile(m->seconds[how], calls), m->seconds[how][calls - 1]};
}

void duo_mixed_head(const duo_bench *b, const duo_mix *x)
{
    char text[384];
    const char *const mark = b->csv ? "# " : "";
    duo_bench_head(b);
    printf("%sPath cpu, plain host arrays; in each way at most %d calls, in %d rounds\n", mark,
           x->rounds * x->calls, x->rounds);
    if (b->beside != NULL)
        printf("%sTheir sgemm, before each of our turns: %s, %s\n", mark, b->beside,
               duo_text_blas_says(x->beside.config, x->beside.core, text, sizeof text));
}

static double ratio(double p90, double reference)
{
    return reference > 0.0 ? p90 / reference : (double)NAN;
}

static void print_row(duo_table *table, const duo_member *m, const times t[DUO_WAYS], int how,
                      const char *name, int neighbours)
{
    char shape[DUO_TEXT];
    const int64_t *const s = m->problem.shape;
    const bool matrix = m->problem.operation == DUO_SGEMM, first = how == 0;
    const double p90 = t[how].p90;
    duo_text_shape(m->problem.operation, s, shape);
    duo_cell_count(table, "neighbours", NULL, 0, neighbours);
    duo_cell_word(table, "operation", NULL, 0, name);
    duo_cell_word(table, NULL, "", -11, first ? name : NULL);
    duo_cell_word(table, NULL, "", -15, first ? shape : NULL);
    duo_cell_count(table, "m", NULL, 0, matrix ? s[0] : 1);
    duo_cell_count(table, "n", NULL, 0, matrix ? s[1] : s[0]);
    duo_cell_count(table, "k", NULL, 0, matrix ? s[2] : 0);
    duo_cell_word(table, "way", "", -19, way_names[how]);
    duo_cell_count(table, "calls", "calls", 5, t[how].calls);
    duo_cell_seconds(table, "median", "median", t[how].median);
    duo_cell_seconds(table, "p90", "p90", p90);
    duo_cell_seconds(table, "max", "most", t[how].most);
    duo_cell_number(table, "p90_over_alone_median", "alone", 8, 2, ratio(p90, t[DUO_ALONE].median));
    duo_cell_number(table, "p90_over_one_median", "one", 8, 2, ratio(p90, t[DUO_ALONE_ONE].median));
    duo_cell_number(table, "p90_over_one_p90", "one p90", 8, 2, ratio(p90, t[DUO_ALONE_ONE].p90));
    duo_cell_number(table, "p90_over_one_by_turns_p90", "by turns", 8, 2,
                    ratio(p90, t[DUO_BY_TURNS_ONE].p90));
    duo_row_end(table);
}

static void print_member(duo_table *table, duo_member *m, const char *name, int neighbours)
{
    times t[DUO_WAYS];
    for (int how = 0; how < DUO_WAYS; how++) t[how] = times_of(m, (duo_way)how);
    if (table->titles) print_row(table, m, t, 0, name, neighbours);
    for (int how = 0; how < DUO_WAYS; how++)
        if (t[how].calls > 0) print_row(table, m, t, how, name, neighbours);
}

void duo_mixed_print(const duo_bench *b, duo_mix *x, int neighbours)
{
    duo_table table = duo_table_open(b->csv);
    table.titles = !b->csv || neighbours == 0;
    if (!b->csv && neighbours == 0)
        printf("\nNo neighbours%79s p90, in times:\n", "");
    else if (!b->csv)
        printf("\n%4d busy neighbour%-1s%72s p90, in times:\n", neighbours,
               neighbours == 1 ? "" : "s", "");
    for (int i = 0; i < x->members; i++) {
        duo_member *const m = &x->member[i];
        print_member(&table, m,
                     i == DUO_THEIRS ? "their sgemm" : duo_operation_name(m->problem.operation),
                     neighbours);
    }
    fflush(stdout);
}

void duo_mixed_foot(const duo_bench *b)
{
    if (!b->csv)
        printf("\np90, in times: of the median alone; of the median, and of the p90, of one thread "
               "alone;\nof the p90 of one thread by turns, whose caches hold the others' data as "
               "well.\n");
}
