/* print.c - the verdict, the machine and tables, for a terminal of 80 columns. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/second.h"
#include "bench/crossover/selection.h"
#include "bench/crossover/sizes.h"
#include "bench/measure/blas_rivals.h"
#include "bench/tool/text.h"

/* ---- Above the tables ---- */

static void print_verdict(const duo_crossover *x, FILE *file)
{
    duo_sentences sentences;
    char caveat[DUO_SENTENCE];
    duo_crossover_verdict(x, &sentences);
    for (int i = 0; i < sentences.count; i++) duo_text_wrap("", sentences.text[i], file);
    if (duo_crossover_caveat(x, caveat)[0] != '\0') {
        fputc('\n', file);
        duo_text_wrap("", caveat, file);
    }
}

static void print_machine(const duo_crossover *x, FILE *file)
{
    char text[512];
    snprintf(text, sizeof text, "%s, %d thread%s", x->cpu, x->threads, x->threads == 1 ? "" : "s");
    fputc('\n', file);
    duo_text_wrap("CPU   ", text, file);
    snprintf(text, sizeof text, "its BLAS: %s", x->cpu_blas);
    duo_text_wrap("      ", text, file);
    duo_text_blas_warning("      ", file);
    if (duo_blas_rivals_text()[0] != '\0') {
        snprintf(text, sizeof text, "other BLAS: %s", duo_blas_rivals_text());
        duo_text_wrap("      ", text, file);
    }
    if (x->gpu)
        snprintf(text, sizeof text, "%s, driver for CUDA %s", x->gpu_name, x->driver);
    else
        snprintf(text, sizeof text, "none: %s", x->why);
    duo_text_wrap("GPU   ", text, file);
    duo_text_wrap("Math  ", duo_crossover_math, file);
}

/* ---- Sizes from which the GPU wins ---- */

static void print_sizes(const duo_crossover *x, bool full, FILE *file)
{
    const bool distrusted = duo_crossover_distrusted(x);
    duo_table table = {.form = DUO_AS_TEXT, .file = file};
    fputc('\n', file);
    if (!distrusted) {
        fprintf(file, "The GPU %s from n =\n", x->gpu ? "is faster" : "would be faster");
        duo_sizes_table(x, DUO_SIZES_ONE_CALL, full, &table);
    }
    if (x->wanted[DUO_SGEMM]) duo_text_wrap("", duo_crossover_terms, file);
    if (distrusted) return;
    duo_text_wrap("", duo_sizes_marks, file);
    fprintf(file, "\nPlain arrays, sent once and used so often (--calls): from n =\n");
    duo_sizes_table(x, DUO_SIZES_REUSE, false, &table);
}

/* ---- Times ---- */

static void print_family(const duo_crossover *x, duo_operation operation, const char *family,
                         bool full, FILE *file)
{
    const duo_case *at[DUO_CASES];
    const int count = duo_crossover_select(x, operation, family, full ? DUO_CASES : 12, at);
    const bool other = !x->gpu && x->outlooks > 0;
    char title[400], runs[DUO_TEXT];
    duo_table table = {.form = DUO_AS_TEXT, .file = file, .titles = true, .dense = true};
    snprintf(title, sizeof title, "%s%s%s%s%s%s", duo_operation_name(operation),
             operation == DUO_SGEMM ? ", C = A*B, m x n x k: " : "",
             operation == DUO_SGEMM ? family : "", other ? "; the GPU: as predicted for " : "",
             other ? x->outlook[0].gpu : "", duo_runs_text(x, operation, family, runs));
    fputc('\n', file);
    duo_text_wrap("", title, file);
    fprintf(file, "%15s", "");
    for (int place = 0; place < DUO_PLACES; place++)
        fprintf(file, "  %17s", duo_place_titles[place]);
    fputc('\n', file);
    duo_case_row(&table, &x->item[0]);
    for (int i = 0; i < count; i++) duo_case_row(&table, at[i]);
}

static void print_marks(const duo_crossover *x, bool full, FILE *file)
{
    char text[640];
    snprintf(text, sizeof text, "%s Caches are %s. A reduction's number comes back from the GPU.%s",
             duo_figures_marks, x->cold ? "cold" : "warm",
             full ? "" : " All sizes and shapes, and which algorithms ran: --full.");
    fputc('\n', file);
    duo_text_wrap("", text, file);
}

/* ---- Details ---- */

static void print_detail(duo_table *t, const duo_case *c, const char *where, const duo_figure *f)
{
    if (f->median_seconds > 0.0) duo_figure_row(t, c, where, DUO_SIDE_CPU, f);
}

static void print_details(const duo_crossover *x, FILE *file)
{
    duo_table table = {.form = DUO_AS_TEXT, .file = file, .titles = true, .dense = true};
    fputc('\n', file);
    duo_figure_row(&table, &x->item[0], NULL, DUO_SIDE_CPU, &(duo_figure){.threads = 0});
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        print_detail(&table, c, "CPU", duo_crossover_cpu(c));
        for (int place = 0; place < DUO_PLACES; place++)
            print_detail(&table, c, duo_place_titles[place],
                         duo_crossover_gpu(c, (duo_place)place));
    }
    fprintf(file, "\nthr: threads of the CPU. Half of the rounds took between the last two "
                  "times.\n");
}

static void print_count(int count, const char *what, FILE *file)
{
    if (count > 0) fprintf(file, "%d %s.\n", count, what);
}

static void print_how_it_went(const duo_crossover *x, FILE *file)
{
    char noise[240], line[244];
    fprintf(file, "\n%d sizes in %.0f seconds.\n", x->cases, x->seconds);
    print_count(x->refined, "sizes were added where curves meet or bend", file);
    print_count(x->kept, "figures kept from before", file);
    print_count(x->again, "figures were measured again, as somebody disturbed them", file);
    print_count(x->skipped, "figures are predicted for want of time or memory", file);
    snprintf(line, sizeof line, "%s.", duo_second_text(x, noise, sizeof noise));
    duo_text_wrap("Noise: ", line, file);
}

/* ---- The whole ---- */

void duo_crossover_print(const duo_crossover *x, bool full, FILE *file)
{
    print_verdict(x, file);
    print_machine(x, file);
    print_sizes(x, full, file);
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const char *family[DUO_CASES];
        const int families = duo_crossover_families(x, (duo_operation)operation, family);
        for (int i = 0; i < (full || families == 0 ? families : 1); i++)
            print_family(x, (duo_operation)operation, family[i], full, file);
    }
    print_marks(x, full, file);
    if (full) print_details(x, file);
    print_how_it_went(x, file);
}
