/* report.c - the page of --report: verdict, machine, curves, tables. */
#include <stdio.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/html.h"
#include "bench/crossover/panel.h"
#include "bench/crossover/second.h"
#include "bench/crossover/selection.h"
#include "bench/crossover/sizes.h"
#include "bench/measure/blas_rivals.h"
#include "bench/tool/output.h"
#include "bench/tool/tool.h"

/* ---- Verdict and machine ---- */

static void verdict(const duo_crossover *x, FILE *file)
{
    duo_sentences sentences;
    char caveat[DUO_SENTENCE];
    duo_crossover_verdict(x, &sentences);
    if (duo_crossover_distrusted(x)) fprintf(file, "<div class=\"noisy\">\n");
    fprintf(file, "<ul class=\"verdict\">\n");
    for (int i = 0; i < sentences.count; i++) duo_html_element("li", sentences.text[i], file);
    fprintf(file, "</ul>\n");
    if (duo_crossover_distrusted(x)) fprintf(file, "</div>\n");
    if (x->wanted[DUO_SGEMM]) duo_html_element("p", duo_crossover_terms, file);
    if (duo_crossover_caveat(x, caveat)[0] != '\0') duo_html_element("p", caveat, file);
}

static void fact(const char *name, const char *value, FILE *file)
{
    duo_html_element("dt", name, file);
    duo_html_element("dd", value, file);
}

static void machine(const duo_crossover *x, FILE *file)
{
    char text[512], date[DUO_TEXT];
    duo_html_element("h2", "The machine and the run", file);
    fprintf(file, "<dl>\n");
    snprintf(text, sizeof text, "%s, %d thread%s", x->cpu, x->threads, x->threads == 1 ? "" : "s");
    fact("CPU", text, file);
    fact("Its BLAS", x->cpu_blas, file);
    if (duo_blas_rivals_text()[0] != '\0') fact("Other BLAS", duo_blas_rivals_text(), file);
    if (x->gpu)
        snprintf(text, sizeof text, "%s, driver for CUDA %s", x->gpu_name, x->driver);
    else
        snprintf(text, sizeof text, "none (%s); shown is what is predicted for %s", x->why,
                 x->gpu_name);
    fact("GPU", text, file);
    snprintf(text, sizeof text, "%s, %d sizes in %.0f seconds%s; caches %s; seed %llu",
             duo_text_date(date), x->cases, x->seconds, x->quick ? " (quick)" : "",
             x->cold ? "cold: every call on other data" : "warm", (unsigned long long)x->seed);
    fact("Run", text, file);
    fact("Math", duo_crossover_math, file);
    if (x->noise.looks > 0) fact("Noise", duo_second_text(x, text, sizeof text), file);
    snprintf(text, sizeof text, DUO_VERSION_STRING ", commit %s, %s", duo_tool_commit,
             DUO_COMPILER);
    fact("DuoBLAS", text, file);
    fprintf(file, "</dl>\n");
}

/* ---- Curves ---- */

static void legend_entry(int curve, bool predicted, const char *text, FILE *file)
{
    fprintf(file, "<li><svg viewBox=\"0 0 30 12\" aria-hidden=\"true\">");
    duo_curves_sample(curve, predicted, 0.0, 0.0, file);
    fprintf(file, "</svg>%s</li>\n", text);
}

static void curves(const duo_crossover *x, FILE *file)
{
    duo_html_element("h2", "Time and speed against size", file);
    fprintf(file, "<ul class=\"legend\">\n");
    for (int curve = 0; curve < DUO_CURVES; curve++)
        legend_entry(curve, false, duo_curve_title(curve), file);
    legend_entry(0, true, "dotted: predicted, not measured", file);
    fprintf(file, "</ul>\n");
    fprintf(file,
            "<p>%sA wide bar behind a mark spans half of its repetitions. The CPU's curve is its "
            "fastest algorithm.</p>\n",
            duo_crossover_distrusted(x) ? ""
                                        : "A ring marks where the GPU becomes faster than the CPU "
                                          "and stays so; the size stands above the curves. ");
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        if (!x->wanted[operation]) continue;
        fprintf(file, "<div class=\"plots\">\n");
        duo_curves_panel(x, (duo_operation)operation, DUO_TIME, 0.0, 0.0, file);
        duo_curves_panel(x, (duo_operation)operation, DUO_SPEED, 0.0, 0.0, file);
        fprintf(file, "</div>\n");
    }
}

/* ---- Sizes from which the GPU is faster ---- */

static void sizes(const duo_crossover *x, FILE *file)
{
    duo_table table = {.form = DUO_AS_HTML, .file = file};
    if (duo_crossover_distrusted(x)) return;
    for (int i = 0; i < DUO_SIZES; i++) {
        fprintf(file, "<section>\n"); /* one page of a print */
        duo_html_element("h2", duo_sizes_titles[i], file);
        duo_html_element("p", duo_sizes_texts[i], file);
        if (i == 0) duo_html_element("p", duo_sizes_marks, file);
        duo_sizes_table(x, (duo_sizes)i, true, &table);
        fprintf(file, "</section>\n");
    }
}

/* ---- Figures ---- */

static void figures(const duo_crossover *x, FILE *file)
{
    duo_html_element("h2", "Figures", file);
    duo_html_element("p", duo_figures_marks, file);
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        if (!x->wanted[operation]) continue;
        fprintf(file, "<details><summary>%s</summary>\n",
                duo_operation_name((duo_operation)operation));
        duo_table table = {.form = DUO_AS_HTML, .file = file, .titles = true};
        duo_case_row(&table, &x->item[0]);
        for (int i = 0; i < x->cases; i++)
            if (x->item[i].problem.operation == (duo_operation)operation)
                duo_case_row(&table, &x->item[i]);
        duo_table_close(&table);
        fprintf(file, "</details>\n");
    }
}

/* ---- The page ---- */

static void (*const sections[])(const duo_crossover *x, FILE *file) = {verdict, curves, sizes,
                                                                       machine, figures};

bool duo_crossover_report(const duo_crossover *x, const char *path)
{
    duo_output output;
    if (!duo_output_open(&output, path)) return false;
    duo_html_begin("DuoBLAS crossover", output.file);
    duo_html_element("h1", "From what size on is the GPU faster?", output.file);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) sections[i](x, output.file);
    duo_html_end(output.file);
    return duo_output_close(&output, true);
}
