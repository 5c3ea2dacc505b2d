/* markdown.c - the tables of the terminal as Markdown, to be pasted into an issue. */
#include <stdio.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/second.h"
#include "bench/crossover/selection.h"
#include "bench/crossover/sizes.h"
#include "bench/measure/blas_rivals.h"
#include "bench/tool/output.h"
#include "bench/tool/tool.h"

static void write_verdict(const duo_crossover *x, FILE *file)
{
    duo_sentences sentences;
    char caveat[DUO_SENTENCE];
    duo_crossover_verdict(x, &sentences);
    for (int i = 0; i < sentences.count; i++) fprintf(file, "* %s\n", sentences.text[i]);
    if (duo_crossover_caveat(x, caveat)[0] != '\0') fprintf(file, "\n%s\n", caveat);
}

static void write_machine(const duo_crossover *x, FILE *file)
{
    char noise[240], date[DUO_TEXT];
    fprintf(file, "\n* CPU: %s, %d thread%s; its BLAS: %s\n", x->cpu, x->threads,
            x->threads == 1 ? "" : "s", x->cpu_blas);
    if (duo_blas_rivals_text()[0] != '\0')
        fprintf(file, "* Other BLAS: %s\n", duo_blas_rivals_text());
    if (x->gpu)
        fprintf(file, "* GPU: %s, driver for CUDA %s\n", x->gpu_name, x->driver);
    else
        fprintf(file, "* GPU: none (%s); times predicted for %s\n", x->why, x->gpu_name);
    fprintf(file, "* Noise: %s\n", duo_second_text(x, noise, sizeof noise));
    fprintf(file, "* DuoBLAS " DUO_VERSION_STRING ", commit %s, %s, %s%s%s\n", duo_tool_commit,
            DUO_COMPILER, duo_text_date(date), x->quick ? ", quick" : "",
            x->cold ? ", caches cold" : "");
}

static void write_sizes(const duo_crossover *x, FILE *file)
{
    duo_table table = {.form = DUO_AS_MARKDOWN, .file = file};
    if (duo_crossover_distrusted(x)) return;
    for (duo_sizes i = DUO_SIZES_ONE_CALL; i <= DUO_SIZES_REUSE; i++) {
        fprintf(file, "\n### %s\n\n%s\n\n", duo_sizes_titles[i], duo_sizes_texts[i]);
        duo_sizes_table(x, i, false, &table);
    }
    fprintf(file, "\n%s\n", duo_sizes_marks);
}

static void write_figures(const duo_crossover *x, FILE *file)
{
    fprintf(file, "\n### Times\n\n%s\n", duo_figures_marks);
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const duo_case *at[DUO_CASES];
        char runs[DUO_TEXT];
        const char *const family = duo_crossover_main_family((duo_operation)operation);
        const int count = duo_crossover_select(x, (duo_operation)operation, family, 12, at);
        if (count == 0) continue;
        fprintf(file, "\n%s%s\n\n", duo_operation_name((duo_operation)operation),
                duo_runs_text(x, (duo_operation)operation, family, runs));
        duo_table table = {.form = DUO_AS_MARKDOWN, .file = file, .titles = true};
        duo_case_row(&table, at[0]);
        for (int i = 0; i < count; i++) duo_case_row(&table, at[i]);
    }
}

bool duo_crossover_markdown(const duo_crossover *x, const char *path)
{
    duo_output output;
    if (!duo_output_open(&output, path)) return false;
    fprintf(output.file, "## From what size on is the GPU faster?\n\n");
    write_verdict(x, output.file);
    write_machine(x, output.file);
    write_sizes(x, output.file);
    write_figures(x, output.file);
    return duo_output_close(&output, true);
}
