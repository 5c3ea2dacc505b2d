/* verify_report.c - a verification as a page: how much longer the chosen takes than the best. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>

#include "bench/crossover/html.h"
#include "bench/crossover/verify.h"
#include "bench/tool/output.h"
#include "bench/tool/text.h"

static void percent_cell(double share, FILE *file)
{
    char text[DUO_TEXT];
    snprintf(text, sizeof text, "%.1f %%", 100.0 * share);
    duo_html_cell(text, false, file);
}

static void number_cell(const char *format, double value, FILE *file)
{
    char text[DUO_TEXT];
    snprintf(text, sizeof text, format, value);
    duo_html_cell(text, false, file);
}

static void time_cell(double seconds, FILE *file)
{
    char text[DUO_TEXT];
    duo_html_cell(duo_text_time(seconds, text), false, file);
}

static void verdict(const duo_verification *v, const duo_verify_options *options, FILE *file)
{
    char text[256];
    char *head = NULL;
    size_t size = 0;
    fprintf(file, "<ul class=\"verdict\">\n");
    if (v->noise.noisy) duo_html_element("li", duo_noise_text(&v->noise, text, sizeof text), file);
    snprintf(text, sizeof text,
             "Of %d calls that were not measured before, %d took more than 5 %% longer than the "
             "best algorithm would have; all together %.1f %%.",
             v->algorithm.problems, v->algorithm.above_5_percent,
             100.0 * (v->chosen_seconds / v->best_seconds - 1.0));
    duo_html_element("li", text, file);
    fprintf(file, "</ul>\n");
    FILE *const memory = open_memstream(&head, &size);
    if (memory == NULL) return;
    duo_verification_head(options, "", memory);
    fclose(memory);
    fprintf(file, "<div class=\"scroll\" tabindex=\"0\">");
    duo_html_element("pre", head, file);
    fprintf(file, "</div>\n");
    free(head);
}

/* ---- Regret ---- */

static void regret_row(const char *name, const duo_regrets *r, FILE *file)
{
    if (r->problems == 0) return;
    duo_html_row_begin(name, file);
    percent_cell(r->median, file);
    percent_cell(r->p95, file);
    percent_cell(r->p99, file);
    percent_cell(r->worst, file);
    number_cell("%.0f", r->above_5_percent, file);
    number_cell("%.0f", r->above_20_percent, file);
    duo_html_row_end(file);
}

static void regrets(const duo_verification *v, FILE *file)
{
    static const char *const titles[] = {"regret of", "median",    "95 of 100",  "99 of 100",
                                         "worst",     "above 5 %", "above 20 %", NULL};
    duo_html_element("h2", "Regret", file);
    duo_html_element("p",
                     "How much longer the chosen takes than the best. A difference that may be "
                     "noise counts as none, but in the rows that say so.",
                     file);
    duo_html_table_begin(titles, file);
    regret_row("algorithm and threads", &v->algorithm, file);
    regret_row("with noise", &v->algorithm_raw, file);
    regret_row("side", &v->side, file);
    regret_row("side, with noise", &v->side_raw, file);
    duo_html_table_end(file);
}

static void sum_row(const char *name, double seconds, double best, FILE *file)
{
    duo_html_row_begin(name, file);
    time_cell(seconds, file);
    number_cell("%.3f", seconds / best, file);
    duo_html_row_end(file);
}

static void sums(const duo_verification *v, FILE *file)
{
    static const char *const titles[] = {"all calls", "sum of times", "over the best", NULL};
    duo_html_element("h2", "Beside fixed rules", file);
    duo_html_table_begin(titles, file);
    sum_row("best", v->best_seconds, v->best_seconds, file);
    sum_row("chosen", v->chosen_seconds, v->best_seconds, file);
    sum_row("the public functions", v->api_seconds, v->best_seconds, file);
    for (int i = 0; i < DUO_FIXED_POLICIES && v->gpu; i++)
        sum_row(duo_fixed_policy_names[i], v->policy_seconds[i], v->best_seconds, file);
    duo_html_table_end(file);
}

/* ---- Predictions ---- */

static void ratio_row(const char *name, const duo_prediction_errors *r, FILE *file)
{
    if (r->pairs == 0) return;
    duo_html_row_begin(name, file);
    number_cell("%.0f", r->pairs, file);
    number_cell("%.0f %%", 100.0 * r->close / r->pairs, file);
    number_cell("%.2f", r->low, file);
    number_cell("%.2f", r->median, file);
    number_cell("%.2f", r->high, file);
    duo_html_row_end(file);
}

static void predictions(const duo_verification *v, FILE *file)
{
    static const char *const titles[] = {"real / predicted", "times",     "within 1.25", "5 of 100",
                                         "median",           "95 of 100", NULL};
    duo_html_element("h2", "Predictions", file);
    duo_html_table_begin(titles, file);
    ratio_row("all above 20 us", &v->ratios, file);
    ratio_row("by the CPU's pace", &v->by_pace, file);
    ratio_row("the CPU's pace itself", &v->pace, file);
    for (int i = 0; i < DUO_ALGORITHMS; i++)
        ratio_row(duo_algorithm_name((duo_algorithm_id)i), &v->by_algorithm[i], file);
    for (int i = 0; i < DUO_SHAPE_CLASSES; i++)
        ratio_row(duo_shape_class_names[i], &v->by_class[i], file);
    duo_html_table_end(file);
}

/* "sgemm_cpu_openblas, 2 threads", and what it took */
static void candidate_cells(const duo_timed *c, FILE *file)
{
    char text[2 * DUO_TEXT];
    if (c->threads > 0)
        snprintf(text, sizeof text, "%.60s, %d thread%s", c->algorithm->name, c->threads,
                 c->threads == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, "%.60s", c->algorithm->name);
    duo_html_cell(text, false, file);
    time_cell(c->median_seconds, file);
}

static void offender_row(const duo_verification *v, const duo_offender *o, FILE *file)
{
    char text[DUO_DRAWN_TEXT];
    const duo_verified *const p = &v->problem[o->problem];
    duo_html_row_begin(duo_drawn_text(&p->drawn, text), file);
    percent_cell(o->regret, file);
    candidate_cells(&p->candidate[p->chosen], file);
    candidate_cells(&p->candidate[o->best], file);
    duo_html_cell(duo_part_names[o->part], false, file);
    duo_html_row_end(file);
}

static void offenders(const duo_verification *v, FILE *file)
{
    static const char *const titles[] = {
        "call", "regret", "chosen", "took", "best", "took", "predicted wrongly", NULL};
    if (v->offenders == 0) return;
    duo_html_element("h2", "The worst", file);
    duo_html_table_begin(titles, file);
    for (int i = 0; i < v->offenders; i++) offender_row(v, &v->offender[i], file);
    duo_html_table_end(file);
}

bool duo_verification_report(const duo_verification *v, const duo_verify_options *options,
                             const char *path)
{
    duo_output output;
    if (!duo_output_open(&output, path)) return false;
    duo_html_begin("DuoBLAS verification", output.file);
    duo_html_element("h1", "How far is dispatch from the best?", output.file);
    verdict(v, options, output.file);
    regrets(v, output.file);
    sums(v, output.file);
    predictions(v, output.file);
    offenders(v, output.file);
    duo_html_end(output.file);
    return duo_output_close(&output, true);
}
