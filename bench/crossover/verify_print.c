/* verify_print.c - what a verification found, for people and as comma-separated values. */
#include <inttypes.h>

#include "bench/crossover/verify.h"
#include "bench/tool/output.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/machine.h"

/* ---- What was found, in 80 columns ---- */

static void print_regrets(const char *name, const duo_regrets *r, FILE *file)
{
    fprintf(file, "  %-22s %7.1f %7.1f %7.1f %7.1f %7d %7d\n", name, 100.0 * r->median,
            100.0 * r->p95, 100.0 * r->p99, 100.0 * r->worst, r->above_5_percent,
            r->above_20_percent);
}

static void print_all_regrets(const duo_verification *v, FILE *file)
{
    fprintf(file,
            "\nRegret: how much longer the chosen takes than the best, percent\n"
            "  %-22s %7s %7s %7s %7s %7s %7s\n",
            "", "median", "p95", "p99", "worst", "> 5 %", "> 20 %");
    print_regrets("algorithm, threads", &v->algorithm, file);
    print_regrets("  noise included", &v->algorithm_raw, file);
    if (v->side.problems == 0) return;
    print_regrets("side", &v->side, file);
    print_regrets("  noise included", &v->side_raw, file);
}

static void print_sum(const char *name, double seconds, double best, FILE *file)
{
    char text[DUO_TEXT];
    fprintf(file, "  %-30s %s  %8.3f\n", name, duo_text_seconds(seconds, text), seconds / best);
}

static void print_sums(const duo_verification *v, FILE *file)
{
    fprintf(file, "\n%-32s %-9s  %8s\n", "Sum of times", "", "/ best");
    print_sum("best", v->best_seconds, v->best_seconds, file);
    print_sum("chosen", v->chosen_seconds, v->best_seconds, file);
    print_sum("the public functions", v->api_seconds, v->best_seconds, file);
    for (int i = 0; i < DUO_FIXED_POLICIES && v->gpu; i++)
        print_sum(duo_fixed_policy_names[i], v->policy_seconds[i], v->best_seconds, file);
}

static void print_ratios(const char *name, const duo_prediction_errors *r, FILE *file)
{
    if (r->pairs == 0) return;
    fprintf(file, "  %-22s %6d %8.0f %% %8.2f %8.2f %8.2f\n", name, r->pairs,
            100.0 * r->close / r->pairs, r->low, r->median, r->high);
}

static void print_predictions(const duo_verification *v, FILE *file)
{
    fprintf(file,
            "\nReal / predicted time above 20 us\n"
            "  %-22s %6s %10s %8s %8s %8s\n",
            "", "pairs", "in 1.25 x", "p5", "median", "p95");
    print_ratios("all", &v->ratios, file);
    print_ratios("  by the CPU's pace", &v->by_pace, file);
    for (int i = 0; i < DUO_ALGORITHMS; i++)
        print_ratios(duo_algorithm_name((duo_algorithm_id)i), &v->by_algorithm[i], file);
    for (int i = 0; i < DUO_SHAPE_CLASSES; i++)
        print_ratios(duo_shape_class_names[i], &v->by_class[i], file);
}

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
    if (!v->judged) {
        fprintf(file,
                "Not judged. Try again when nothing else runs, or with --ignore-noise.\n"
                "Machine %s.\n",
                duo_noise_text(&v->noise, text, sizeof text));
        return;
    }
    print_verdict(v, file);
    print_all_regrets(v, file);
    print_sums(v, file);
    print_predictions(v, file);
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

static void write_candidate(FILE *file, const duo_verified *p, int i, int best)
{
    const duo_drawn *const d = &p->drawn;
    const duo_timed *const c = &p->candidate[i];
    const int64_t *const s = d->problem.shape;
    fprintf(file,
            "%" PRId64 ",%s,%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%" PRId64 ",%" PRId64
            ",%" PRId64 ",%g,%g,%s,%s,%s,%.3f,",
            d->number, duo_shape_class_names[d->shape_class],
            duo_operation_name(d->problem.operation), duo_math_names[d->math], s[0], s[1], s[2],
            duo_text_transposes(d->problem.transa, d->problem.transb), d->ld[0], d->ld[1], d->ld[2],
            (double)d->alpha, (double)d->problem.beta, duo_residence_names[d->at[0]],
            duo_residence_names[d->at[1]], duo_residence_names[d->at[2]], p->pace);
    fprintf(file, "%s,%s,%d,%.4e,%.4e,%.4e,%.4e,%.4e,%d,%d\n", duo_text_side(c->algorithm->side),
            c->algorithm->name, c->threads, c->predicted_seconds, c->minimum_seconds,
            c->median_seconds, c->low_seconds, c->high_seconds, i == p->chosen, i == best);
}

bool duo_verification_csv(const duo_verification *v, const duo_verify_options *options,
                          const char *path)
{
    duo_output output;
    char text[160];
    if (!duo_output_open(&output, path)) return false;
    FILE *const file = output.file;
    duo_verification_head(options, "# ", file);
    fprintf(file,
            "# Noise    %s\n"
            "number,class,operation,math,m,n,k,transposes,ld1,ld2,ld3,alpha,beta,at1,at2,at3,pace,"
            "side,algorithm,threads,predicted_seconds,minimum_seconds,median_seconds,low_seconds,"
            "high_seconds,chosen,best\n",
            duo_noise_text(&v->noise, text, sizeof text));
    for (int i = 0; i < v->problems; i++) {
        const int best = duo_verified_best(&v->problem[i]);
        for (int j = 0; j < v->problem[i].count; j++)
            if (v->problem[i].candidate[j].median_seconds > 0.0)
                write_candidate(file, &v->problem[i], j, best);
    }
    return duo_output_close(&output, true);
}
