/* verify.c - draws problems, times their candidates, and judges dispatch (verify.h). */
#include "bench/crossover/verify.h"

#include <math.h>
#include <stdlib.h>

#include "bench/crossover/verify_trial.h"
#include "bench/measure/stock.h"
#include "bench/tool/progress.h"
#include "call/context.h"
#include "gpu/backend/devices.h"
#include "host/machine.h"

/* Problems are passed over if the better side takes longer than this, or if they take more than
 * this share of the free memory. */
static const double kLongestCall = 0.1, kMemoryShare = 0.5;

typedef struct verifier {
    const duo_verify_options *options;
    duo_verification *v;
    duo_verify_arrays arrays;
    duo_context *alone; /* verify_trial.h: the pace */
    duo_drawn *drawn;
    duo_verified *problem;
    int count;
} verifier;

static duo_effort effort_of(const duo_verify_options *options)
{
    return options->quick
               ? (duo_effort){.sample_seconds = 0.001, .rounds = 5, .budget_seconds = 0.1}
               : (duo_effort){.sample_seconds = 0.003, .rounds = 9, .budget_seconds = 0.3};
}

/* ---- Noise ---- */

/* Takes samples of a product on all threads of the CPU. */
static void sample_product(duo_context *context)
{
    const duo_effort effort = {.sample_seconds = 0.003, .rounds = 40, .budget_seconds = 1.0};
    duo_benchmark b = {.run = duo_verify_product, .user = context};
    if (duo_set_path(context, DUO_PATH_CPU) == DUO_OK) duo_measure(&b, 1, &effort);
    (void)duo_set_path(context, DUO_PATH_AUTO);
}

static void judge_noise(verifier *w)
{
    w->v->noise = duo_noise_told(duo_machine_threads());
    w->v->judged = !w->v->noise.noisy || w->options->ignore_noise;
}

/* Looks for noise before any measuring, so that a noisy machine costs no waiting. */
static void look_for_noise(verifier *w)
{
    enum { LOOKS = 20 };
    duo_noise_begin();
    for (int i = 0; i < LOOKS; i++) duo_noise_look();
    sample_product(w->arrays.context);
    judge_noise(w);
}

/* ---- Problems ---- */

/* The most floats for one of the arrays. */
static double most_floats(const verifier *w)
{
    double most = kMemoryShare * duo_available_bytes() / 4.0 /
                  (double)(DUO_OPERANDS * (w->arrays.gpu ? 2 : 1));
    duo_device_info device = {.size = sizeof device};
    if (w->arrays.gpu &&
        duo_device_describe(duo_context_of(w->arrays.context)->resources.device, &device) == DUO_OK)
        most = fmin(most, kMemoryShare * (double)device.memory_free_bytes / 4.0 /
                              (2.0 * DUO_OPERANDS)); /* since kept arrays have copies there, too */
    return most;
}

static bool suits(const verifier *w, const duo_drawn *d, double most)
{
    for (int i = 0; i < DUO_OPERANDS; i++)
        if ((double)duo_drawn_floats(d, i) > most) return false;
    return duo_verify_predict(w->arrays.context, d) <= kLongestCall;
}

static void draw_all(verifier *w)
{
    enum { MOST_DRAWS = 20 }; /* for each wanted problem; beyond that, none suits this machine */
    const int64_t draws = (int64_t)MOST_DRAWS * w->options->problems;
    const double most = most_floats(w);
    for (int64_t number = 0; number < draws && w->count < w->options->problems; number++) {
        duo_drawn d = duo_draw(w->options->seed, number);
        if (!w->options->wanted[d.problem.operation]) continue;
        if (!w->arrays.gpu) d = duo_drawn_at(&d, DUO_AT_PAGEABLE);
        if (suits(w, &d, most))
            w->drawn[w->count++] = d;
        else
            w->v->passed_over++;
    }
}

static void size_arrays(verifier *w)
{
    for (int i = 0; i < w->count; i++)
        for (int operand = 0; operand < DUO_OPERANDS; operand++) {
            const int64_t floats = duo_drawn_floats(&w->drawn[i], operand);
            if (floats > w->arrays.floats[operand]) w->arrays.floats[operand] = floats;
        }
}

/* ---- Order of work ---- */

static bool open_context(verifier *w)
{
    const char *why;
    if (duo_create(&w->arrays.context) != DUO_OK) return false;
    duo_context *const context = w->arrays.context;
    w->arrays.gpu = duo_devices(&why) > 0 && duo_set_path(context, DUO_PATH_GPU) == DUO_OK &&
                    duo_warm_up(context) == DUO_OK;
    w->v->gpu = w->arrays.gpu;
    return duo_set_path(context, w->arrays.gpu ? DUO_PATH_AUTO : DUO_PATH_CPU) == DUO_OK;
}

static bool open_all(verifier *w)
{
    const size_t problems = (size_t)w->options->problems + 1;
    w->drawn = calloc(problems, sizeof *w->drawn);
    w->problem = calloc(problems, sizeof *w->problem);
    w->v->problem = w->problem;
    w->alone = duo_verify_pace_open();
    if (w->drawn == NULL || w->problem == NULL || w->alone == NULL || !open_context(w))
        return false;
    look_for_noise(w);
    if (!w->v->judged) return true;
    draw_all(w);
    size_arrays(w);
    return duo_verify_arrays_open(&w->arrays);
}

static void time_all(verifier *w)
{
    const duo_effort effort = effort_of(w->options);
    const double began = duo_now_seconds(), most = w->options->most_seconds;
    char label[DUO_DRAWN_TEXT];
    duo_noise_begin();
    duo_progress_begin(most);
    for (int i = 0; i < w->count && duo_now_seconds() - began < most; i++) {
        duo_progress_step(i > 0 ? most / w->count : 0.0, duo_drawn_text(&w->drawn[i], label));
        const double pace = duo_verify_pace(w->alone);
        duo_verified *const problem = &w->problem[w->v->problems];
        w->v->problems +=
            duo_verify_time(&w->arrays, &w->drawn[i], &effort, problem, &w->v->left_out);
        problem->pace = pace;
    }
    duo_progress_end();
    w->v->seconds = duo_now_seconds() - began;
}

/* The same algorithm on one thread; NULL: not timed. */
static const duo_timed *on_one_thread(const duo_verified *p, const duo_timed *c)
{
    for (int i = 0; i < p->count; i++)
        if (p->candidate[i].algorithm == c->algorithm && p->candidate[i].threads == 1)
            return &p->candidate[i];
    return NULL;
}

/* Finds for each offender the part that was predicted wrongly. */
static void explain_offenders(verifier *w)
{
    const duo_effort effort = effort_of(w->options);
    for (int i = 0; i < w->v->offenders; i++) {
        duo_offender *const o = &w->v->offender[i];
        const duo_verified *const p = &w->problem[o->problem];
        const duo_timed *const erred = duo_offender_erred(w->v, o);
        duo_timed there;
        const bool timed =
            w->v->gpu && duo_verify_time_in_place(&w->arrays, &p->drawn, &effort, erred, &there);
        o->part = duo_part_of(erred, timed ? &there : NULL, on_one_thread(p, erred));
    }
}

static void close_all(verifier *w)
{
    duo_verify_arrays_close(&w->arrays);
    (void)duo_destroy(w->arrays.context);
    (void)duo_destroy(w->alone);
    free(w->drawn);
}

bool duo_verify(const duo_verify_options *options, duo_verification *v)
{
    *v = (duo_verification){.seed = options->seed, .wanted = options->problems};
    verifier w = {.options = options, .v = v};
    bool good = open_all(&w);
    if (good && v->judged) {
        time_all(&w);
        judge_noise(&w);
    }
    if (good && v->judged) {
        good = duo_verification_sum_up(v);
        explain_offenders(&w);
    }
    close_all(&w);
    if (!good) fprintf(stderr, "duoblas: out of memory\n");
    return good;
}

/* ---- The command ---- */

bool duo_verify_run(const duo_verify_options *options, const char *csv, const char *report)
{
    duo_verification v;
    duo_interrupt_watch();
    duo_verification_head(options, "", stdout);
    printf("\n");
    fflush(stdout);
    bool good = duo_verify(options, &v);
    if (good) duo_verification_print(&v, stdout);
    fflush(stdout);
    duo_interrupt_hold();
    /* Figures of a noisy machine are written, too, and marked as noisy. */
    if (good && csv != NULL && v.problems > 0) good = duo_verification_csv(&v, options, csv);
    if (good && v.judged && report != NULL) good = duo_verification_report(&v, options, report);
    duo_interrupt_allow();
    free((void *)v.problem);
    return good && v.judged;
}
