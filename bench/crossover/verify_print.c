/* verify_print.c - prints the results of a verification: for people, as CSV, and as a page. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>

#include "bench/crossover/html.h"
#include "bench/crossover/verify.h"
#include "bench/tool/output.h"
#include "bench/tool/table.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "call.h"
#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/machine.h"

/* ---- Tables of text and HTML ---- */

static void begin(duo_table *t, const char *title, const char *text)
{
    t->titles = true;
    if (t->form == DUO_AS_HTML) {
        duo_html_element("h2", title, t->file);
        duo_html_element("p", text, t->file);
    } else {
        fprintf(t->file, "\n%s: %s\n", title, text);
    }
}

static void regret_row(duo_table *t, const char *name, const duo_regrets *r)
{
    duo_cell_word(t, NULL, "choice of", -22, name);
    duo_cell_number(t, NULL, "median", 6, 1, 100.0 * r->median);
    duo_cell_number(t, NULL, "p95", 6, 1, 100.0 * r->p95);
    duo_cell_number(t, NULL, "p99", 6, 1, 100.0 * r->p99);
    duo_cell_number(t, NULL, "worst", 6, 1, 100.0 * r->worst);
    duo_cell_count(t, NULL, "> 5 %", 6, r->above_5_percent);
    duo_cell_count(t, NULL, "> 20 %", 6, r->above_20_percent);
    duo_row_end(t);
}

static void regrets(const duo_verification *v, duo_table *t)
{
    begin(t, "Regret", "how much longer the chosen takes than the best, percent");
    regret_row(t, NULL, &v->algorithm);
    regret_row(t, "algorithm, threads", &v->algorithm);
    regret_row(t, "  noise included", &v->algorithm_raw);
    if (v->side.problems > 0) regret_row(t, "side", &v->side);
    if (v->side.problems > 0) regret_row(t, "  noise included", &v->side_raw);
    duo_table_close(t);
}

static void sum_row(duo_table *t, const char *name, double seconds, double best)
{
    duo_cell_word(t, NULL, "rule", -28, name);
    duo_cell_seconds(t, NULL, "time", seconds);
    duo_cell_number(t, NULL, "/ best", 7, 3, seconds / best);
    duo_row_end(t);
}

static void sums(const duo_verification *v, duo_table *t)
{
    const double best = v->best_seconds;
    begin(t, "Sum of times", "all calls, beside fixed rules");
    sum_row(t, NULL, best, best);
    sum_row(t, "best", best, best);
    sum_row(t, "chosen", v->chosen_seconds, best);
    sum_row(t, "the public functions", v->api_seconds, best);
    for (int i = 0; i < DUO_FIXED_POLICIES && v->gpu; i++)
        sum_row(t, duo_fixed_policy_names[i], v->policy_seconds[i], best);
    duo_table_close(t);
}

static void ratio_row(duo_table *t, const char *name, const duo_prediction_errors *r)
{
    if (r->pairs == 0 && !t->titles) return;
    duo_cell_word(t, NULL, "of", -22, name);
    duo_cell_count(t, NULL, "pairs", 6, r->pairs);
    duo_cell_number(t, NULL, "% in 1.25 x", 11, 0, 100.0 * r->close / r->pairs);
    duo_cell_number(t, NULL, "p5", 6, 2, r->low);
    duo_cell_number(t, NULL, "median", 6, 2, r->median);
    duo_cell_number(t, NULL, "p95", 6, 2, r->high);
    duo_row_end(t);
}

static void predictions(const duo_verification *v, duo_table *t)
{
    begin(t, "Real / predicted", "of times above 20 us");
    ratio_row(t, NULL, &v->ratios);
    ratio_row(t, "all", &v->ratios);
    ratio_row(t, "  by the CPU's pace", &v->by_pace);
    ratio_row(t, "  the CPU's pace itself", &v->pace);
    for (int i = 0; i < DUO_ALGORITHMS; i++)
        ratio_row(t, duo_algorithm_name((duo_algorithm_id)i), &v->by_algorithm[i]);
    for (int i = 0; i < DUO_SHAPE_CLASSES; i++)
        ratio_row(t, duo_shape_class_names[i], &v->by_class[i]);
    duo_table_close(t);
}

/* ---- For people, in 80 columns ---- */

/* "  chosen  sgemm_gpu_tiled         predicted  12.3 us, took  45.6 us" */
static void print_candidate(const char *role, const duo_timed *c, FILE *file)
{
    char predicted[DUO_TEXT], took[DUO_TEXT], threads[24] = "";
    if (c->threads > 0) snprintf(threads, sizeof threads, ", %d thr", c->threads);
    fprintf(file, "      %-7s %-18s%-8s  predicted %s, took %s\n", role, c->algorithm->name,
            threads,
            duo_text_seconds(c->predicted_seconds > 0.0 ? c->predicted_seconds : -1.0, predicted),
            duo_text_seconds(c->median_seconds, took));
}

static void print_offender(const duo_verification *v, const duo_offender *o, FILE *file)
{
    char text[DUO_DRAWN_TEXT], places[DUO_DRAWN_TEXT];
    const duo_verified *const p = &v->problem[o->problem];
    fprintf(file, "  %+.0f %%  %s\n", 100.0 * o->regret, duo_drawn_text(&p->drawn, text));
    fprintf(file, "      no %" PRId64 ", %s; %s; wrong: %s of the %s\n", p->drawn.number,
            duo_shape_class_names[p->drawn.shape_class], duo_drawn_places(&p->drawn, places),
            duo_part_names[o->part], o->chosen_erred ? "chosen" : "best");
    print_candidate("chosen", &p->candidate[p->chosen], file);
    print_candidate("best", &p->candidate[o->best], file);
}

static void print_verdict(const duo_verification *v, FILE *file)
{
    char text[160];
    const duo_regrets *const r = &v->algorithm;
    if (v->noise.noisy) fprintf(file, "%s.\n", duo_noise_text(&v->noise, text, sizeof text));
    fprintf(file,
            "Of %d calls that were not measured before (seed %" PRIu64 "), %d took more than 5 %%\n"
            "longer than the best algorithm would have; all together %.1f %%.\n",
            r->problems, v->seed, r->above_5_percent,
            100.0 * (v->chosen_seconds / v->best_seconds - 1.0));
    if (!v->noise.noisy)
        fprintf(file, "Machine %s.\n", duo_noise_text(&v->noise, text, sizeof text));
    if (v->pace.pairs > 0)
        fprintf(file, "The CPU's pace: %.2f times as long as in the profile (p5 %.2f, p95 %.2f).\n",
                v->pace.median, v->pace.low, v->pace.high);
}

static void print_end(const duo_verification *v, FILE *file)
{
    fprintf(file, "\n%d problems in %.0f s", v->problems, v->seconds);
    if (v->passed_over > 0)
        fprintf(file, "; %d more were drawn, but are too large here", v->passed_over);
    fprintf(file, ".\n");
    if (v->left_out > 0)
        fprintf(file, "Not timed, as predicted to be far slower and long: %d candidates.\n",
                v->left_out);
    if (v->problems < v->wanted)
        fprintf(file, "%d were asked for: there was no time, or none of a size that fits.\n",
                v->wanted);
}

void duo_verification_print(const duo_verification *v, FILE *file)
{
    char text[160];
    duo_table table = {.form = DUO_AS_TEXT, .file = file};
    if (!v->judged) {
        fprintf(file,
                "Not judged. Try again when nothing else runs, or with --ignore-noise.\n"
                "Machine %s.\n",
                duo_noise_text(&v->noise, text, sizeof text));
        return;
    }
    print_verdict(v, file);
    regrets(v, &table);
    sums(v, &table);
    predictions(v, &table);
    if (v->offenders > 0) fprintf(file, "\nThe worst\n");
    for (int i = 0; i < v->offenders; i++) print_offender(v, &v->offender[i], file);
    print_end(v, file);
}

/* ---- The machine and the profile ---- */

static void print_gpu(const char *mark, FILE *file)
{
    const char *why = "";
    duo_device_info device = {.size = sizeof device};
    if (duo_devices(&why) > 0 &&
        duo_device_describe(duo_environment_get()->device, &device) == DUO_OK)
        fprintf(file, "%sGPU      %s, driver for CUDA %d.%d\n", mark, device.name,
                device.driver_version / 1000, device.driver_version % 1000 / 10);
    else
        fprintf(file, "%sGPU      none: %s\n", mark, why);
}

void duo_verification_head(const duo_verify_options *options, const char *mark, FILE *file)
{
    char blas[384], date[DUO_TEXT];
    const int threads = duo_machine_threads();
    fprintf(file, "%sDuoBLAS  " DUO_VERSION_STRING ", commit %s, %s, %s\n", mark, duo_tool_commit,
            DUO_COMPILER, duo_text_date(date));
    fprintf(file, "%sCPU      %s, %d thread%s\n%sBLAS     %s\n", mark, duo_machine_cpu(), threads,
            threads == 1 ? "" : "s", mark, duo_text_blas(blas, sizeof blas));
    print_gpu(mark, file);
    fprintf(file, "%sProfile  %s\n%sSeed     %" PRIu64 "\n", mark, duo_profile_in_use()->origin,
            mark, options->seed);
}

/* ---- Every candidate of every problem, as comma-separated values ---- */

static void candidate_row(duo_table *t, const duo_verified *p, int i, int best)
{
    const duo_drawn *const d = &p->drawn;
    const duo_timed *const c = &p->candidate[i];
    duo_cell_count(t, "number", NULL, 0, d->number);
    duo_cell_word(t, "class", NULL, 0, duo_shape_class_names[d->shape_class]);
    duo_cell_word(t, "operation", NULL, 0, duo_operation_name(d->problem.operation));
    duo_cell_word(t, "math", NULL, 0, duo_math_name(d->math));
    duo_cell_count(t, "m", NULL, 0, d->problem.shape[0]);
    duo_cell_count(t, "n", NULL, 0, d->problem.shape[1]);
    duo_cell_count(t, "k", NULL, 0, d->problem.shape[2]);
    duo_cell_word(t, "transposes", NULL, 0,
                  duo_text_transposes(d->problem.transa, d->problem.transb));
    duo_cell_count(t, "ld1", NULL, 0, d->ld[0]);
    duo_cell_count(t, "ld2", NULL, 0, d->ld[1]);
    duo_cell_count(t, "ld3", NULL, 0, d->ld[2]);
    duo_cell_number(t, "alpha", NULL, 0, 0, (double)d->alpha);
    duo_cell_number(t, "beta", NULL, 0, 0, (double)d->problem.beta);
    duo_cell_word(t, "at1", NULL, 0, duo_residence_names[d->at[0]]);
    duo_cell_word(t, "at2", NULL, 0, duo_residence_names[d->at[1]]);
    duo_cell_word(t, "at3", NULL, 0, duo_residence_names[d->at[2]]);
    duo_cell_number(t, "pace", NULL, 0, 0, p->pace);
    duo_cell_word(t, "side", NULL, 0, duo_text_side(c->algorithm->side));
    duo_cell_word(t, "algorithm", NULL, 0, c->algorithm->name);
    duo_cell_count(t, "threads", NULL, 0, c->threads);
    duo_cell_seconds(t, "predicted_seconds", NULL, c->predicted_seconds);
    duo_cell_seconds(t, "minimum_seconds", NULL, c->minimum_seconds);
    duo_cell_seconds(t, "median_seconds", NULL, c->median_seconds);
    duo_cell_seconds(t, "low_seconds", NULL, c->low_seconds);
    duo_cell_seconds(t, "high_seconds", NULL, c->high_seconds);
    duo_cell_count(t, "chosen", NULL, 0, i == p->chosen);
    duo_cell_count(t, "best", NULL, 0, i == best);
    duo_row_end(t);
}

bool duo_verification_csv(const duo_verification *v, const duo_verify_options *options,
                          const char *path)
{
    duo_output output;
    char text[160];
    if (!duo_output_open(&output, path)) return false;
    duo_table table = {.form = DUO_AS_CSV, .file = output.file, .titles = true};
    duo_verification_head(options, "# ", output.file);
    fprintf(output.file, "# Noise    %s\n", duo_noise_text(&v->noise, text, sizeof text));
    for (int i = 0; i < v->problems; i++) {
        const duo_verified *const p = &v->problem[i];
        const int best = duo_verified_best(p);
        for (int j = 0; j < p->count; j++) {
            if (!(p->candidate[j].median_seconds > 0.0)) continue;
            if (table.titles) candidate_row(&table, p, j, best);
            candidate_row(&table, p, j, best);
        }
    }
    return duo_output_close(&output, true);
}

/* ---- As a page ---- */

static void page_verdict(const duo_verification *v, const duo_verify_options *options, FILE *file)
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

static const char *candidate_text(const duo_timed *c, char text[2 * DUO_TEXT])
{
    snprintf(text, 2 * DUO_TEXT, c->threads > 0 ? "%.60s, threads: %d" : "%.60s",
             c->algorithm->name, c->threads);
    return text;
}

static void offender_row(duo_table *t, const duo_verification *v, const duo_offender *o)
{
    char text[DUO_DRAWN_TEXT];
    const duo_verified *const p = &v->problem[o->problem];
    const duo_timed *const chosen = &p->candidate[p->chosen], *const best = &p->candidate[o->best];
    duo_cell_word(t, NULL, "call", 0, duo_drawn_text(&p->drawn, text));
    duo_cell_number(t, NULL, "regret, percent", 0, 1, 100.0 * o->regret);
    duo_cell_word(t, NULL, "chosen", 0, candidate_text(chosen, text));
    duo_cell_seconds(t, NULL, "took", chosen->median_seconds);
    duo_cell_word(t, NULL, "best", 0, candidate_text(best, text));
    duo_cell_seconds(t, NULL, "took", best->median_seconds);
    duo_cell_word(t, NULL, "predicted wrongly", 0, duo_part_names[o->part]);
    duo_row_end(t);
}

static void offenders(const duo_verification *v, duo_table *t)
{
    if (v->offenders == 0) return;
    begin(t, "The worst", "above 5 percent");
    offender_row(t, v, &v->offender[0]);
    for (int i = 0; i < v->offenders; i++) offender_row(t, v, &v->offender[i]);
    duo_table_close(t);
}

bool duo_verification_report(const duo_verification *v, const duo_verify_options *options,
                             const char *path)
{
    duo_output output;
    if (!duo_output_open(&output, path)) return false;
    duo_table table = {.form = DUO_AS_HTML, .file = output.file};
    duo_html_begin("DuoBLAS verification", output.file);
    duo_html_element("h1", "How far is dispatch from the best?", output.file);
    page_verdict(v, options, output.file);
    regrets(v, &table);
    sums(v, &table);
    predictions(v, &table);
    offenders(v, &table);
    duo_html_end(output.file);
    return duo_output_close(&output, true);
}
