/* mixed_print.c - what the turns cost, as a table that people read, or as CSV. */
#include <inttypes.h>
#include <stdio.h>

#include "bench/measure/benchmark.h"
#include "bench/studies/mixed.h"
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
    if (b->csv)
        printf("neighbours,operation,m,n,k,way,calls,median,p90,max,p90_over_alone_median,"
               "p90_over_one_median,p90_over_one_p90,p90_over_one_by_turns_p90\n");
}

/* What a p90 is divided by. */
enum { REFERENCES = 4 };

static void print_ratios(const char *format, double p90, const double reference[REFERENCES])
{
    char text[DUO_TEXT];
    for (int i = 0; i < REFERENCES; i++) {
        text[0] = '\0';
        if (reference[i] > 0.0) snprintf(text, sizeof text, "%.2f", p90 / reference[i]);
        printf(format, text);
    }
    printf("\n");
}

static void print_member(const duo_bench *b, duo_member *m, const char *name, int neighbours)
{
    const int64_t *const s = m->problem.shape;
    const bool matrix = m->problem.operation == DUO_SGEMM;
    times t[DUO_WAYS];
    char shape[DUO_TEXT], text[3][DUO_TEXT];
    for (int how = 0; how < DUO_WAYS; how++) t[how] = times_of(m, (duo_way)how);
    const double reference[REFERENCES] = {t[DUO_ALONE].median, t[DUO_ALONE_ONE].median,
                                          t[DUO_ALONE_ONE].p90, t[DUO_BY_TURNS_ONE].p90};
    (void)duo_text_shape(m->problem.operation, s, shape);
    for (int how = 0; how < DUO_WAYS; how++) {
        const double median = t[how].median, p90 = t[how].p90, most = t[how].most;
        if (t[how].calls == 0) continue;
        if (b->csv)
            printf("%d,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%d,%.4e,%.4e,%.4e", neighbours,
                   name, matrix ? s[0] : 1, matrix ? s[1] : s[0], matrix ? s[2] : 0, way_names[how],
                   t[how].calls, median, p90, most);
        else
            printf("  %-11s %-17s  %-19s %5d  %s  %s  %s  ", how == 0 ? name : "",
                   how == 0 ? shape : "", way_names[how], t[how].calls,
                   duo_text_seconds(median, text[0]), duo_text_seconds(p90, text[1]),
                   duo_text_seconds(most, text[2]));
        print_ratios(b->csv ? ",%s" : " %8s", p90, reference);
    }
}

void duo_mixed_print(const duo_bench *b, duo_mix *x, int neighbours)
{
    if (!b->csv && neighbours == 0)
        printf("\nNo neighbours%55s p90, in times:\n", "");
    else if (!b->csv)
        printf("\n%4d busy neighbour%-1s%48s p90, in times:\n", neighbours,
               neighbours == 1 ? "" : "s", "");
    if (!b->csv)
        printf("  %-11s %-17s  %-19s %5s  %9s  %9s  %9s   %8s %8s %8s %8s\n", "", "", "", "calls",
               "median ", "p90   ", "most  ", "alone", "one", "one p90", "by turns");
    for (int i = 0; i < x->members; i++) {
        duo_member *const m = &x->member[i];
        print_member(b, m,
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
