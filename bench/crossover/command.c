/*
 * command.c - finds the size from which the GPU wins on this machine: options and order of work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/compare.h"
#include "bench/crossover/crossover.h"
#include "bench/crossover/figures.h"
#include "bench/crossover/files.h"
#include "bench/crossover/second.h"
#include "bench/crossover/verify.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/blas_instance.h"
#include "bench/measure/blas_rivals.h"
#include "bench/tool/arguments.h"
#include "bench/tool/progress.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/profile.h"
#include "choice/profile_files.h"

static const char doc[] =
    "Measures sgemm, sasum, ssum and sdot over ladders of sizes, on the CPU and on the GPU with "
    "operands in plain and pinned host memory and on the GPU, and tells from what size on the GPU "
    "wins. Writes the profile by which the library chooses from then on. Without a GPU its times "
    "are predicted, and marked so."
    "\vExamples:\n"
    "  $ duoblas crossover --quick\n"
    "  $ duoblas crossover --report page.html\n"
    "  $ duoblas crossover --update  # go on where Ctrl-C ended it\n"
    "  $ duoblas crossover --compare monday.json tuesday.json\n"
    "  $ duoblas crossover --verify  # how good are the choices?";

typedef struct arguments {
    duo_crossover x;
    duo_files files;
    duo_checkpoint checkpoint;
    const char *gpu_profile;
    const char *compare, *newer; /* files of JSON; NULL: none */
    duo_run old;
    bool full;
    bool verify;
    int problems;        /* to verify with; 0: default */
    int max_seconds;     /* 0: default */
    unsigned operations; /* bits; 0: all */
} arguments;

/* ---- Options ---- */

enum { MEASURE = 1, VERIFY = 2 };

static const char *names(unsigned takers) { return takers == MEASURE ? "a profile" : "--verify"; }

static error_t parse_json(const duo_option *option, struct argp_state *state, const char *value)
{
    duo_files *const files = duo_option_target(option, state);
    files->json = value;
    files->json_alone = value == NULL;
    return 0;
}

static error_t parse_plot(const duo_option *option, struct argp_state *state, const char *value)
{
    *(const char **)duo_option_target(option, state) = value;
    return duo_files_is_svg(value) ? 0 : duo_tool_bad_value(option, state, value);
}

static error_t parse_calls(const duo_option *option, struct argp_state *state, const char *value)
{
    int64_t *const calls = duo_option_target(option, state);
    memset(calls, 0, sizeof(int64_t[DUO_CALLS]));
    const char *at = value;
    for (int i = 0; i < DUO_CALLS; i++) {
        char number[24];
        const size_t length = strcspn(at, ",");
        snprintf(number, sizeof number, "%.*s", (int)(length < 23 ? length : 23), at);
        if (!duo_tool_size(number, &calls[i])) break;
        if (at[length] == '\0') return 0;
        at += length + 1;
    }
    return duo_tool_bad_value(option, state, value);
}

static error_t parse_verify(const duo_option *option, struct argp_state *state, const char *value)
{
    duo_arguments *const a = state->input;
    ((arguments *)a->into)->verify = true;
    a->taker = VERIFY;
    a->name = "--verify";
    return value != NULL ? duo_parse_number(option, state, value) : 0;
}

#define AT(field) offsetof(arguments, field)
static const duo_option options[] = {
    {"quick", 'q', NULL, 0, duo_parse_flag, AT(x.quick), 0, 0,
     "Fewer sizes and rounds, in half a minute"},
    {"operations", 0, "sgemm|sasum|ssum|sdot[,...]", 0, duo_parse_choices, AT(operations), 0, 0,
     "Only these"},
    {"full", 0, NULL, MEASURE, duo_parse_flag, AT(full), 0, 0,
     "Print all sizes and shapes, who did them and quartiles"},
    {"report", 0, "FILE", 0, duo_parse_text, AT(files.report), 0, 0,
     "Write a page of HTML: verdict, curves, tables"},
    {"markdown", 0, "FILE", MEASURE, duo_parse_text, AT(files.markdown), 0, 0,
     "Write verdict and tables as Markdown, for an issue"},
    {"calls", 0, "N[,...]", MEASURE, parse_calls, AT(x.calls), 0, 0,
     "Show from what size on the GPU pays for this many calls on the same arrays, at most four "
     "numbers (default 1,10,100,1000)"},
    {"compare", 0, "OLD.json", MEASURE, duo_parse_text, AT(compare), 0, 0,
     "Show this run beside an older one: ratios, and whether they differ by more than the noise. "
     "With NEW.json nothing is measured: the two files are compared"},
    {"json", 0, "?FILE", MEASURE, parse_json, AT(files), 0, 0,
     "Write everything for programs; without FILE to stdout, and nothing else there"},
    {"csv", 0, "FILE", 0, duo_parse_text, AT(files.csv), 0, 0,
     "Write every figure to FILE, not beside the profile"},
    {"plot", 0, "FILE.svg", MEASURE, parse_plot, AT(files.plot), 0, 0,
     "Draw the curves there, not beside the profile"},
    {"no-files", 0, NULL, 0, duo_parse_flag, AT(files.no_files), 0, 0,
     "No CSV and no plot beside the profile"},
    {"gpu-profile", 0, "FILE", MEASURE, duo_parse_text, AT(gpu_profile), 0, 0,
     "Tell what the GPU of this profile would bring to this machine"},
    {"profile", 0, "FILE", MEASURE, duo_parse_text, AT(files.profile), 0, 0,
     "Write the profile to FILE, not to the user's own"},
    {"no-profile", 0, NULL, 0, duo_parse_flag, AT(files.no_profile), 0, 0,
     "Write no profile, and nothing beside it"},
    {"max-seconds", 0, "N", 0, duo_parse_number, AT(max_seconds), 1, 1000000,
     "Be done in N seconds (default 300, quick 30); what does not fit is predicted"},
    {"update", 0, NULL, MEASURE, duo_parse_flag, AT(checkpoint.update), 0, 0,
     "Go on with an interrupted run, or measure only what is missing or stale"},
    {"force", 0, NULL, MEASURE, duo_parse_flag, AT(checkpoint.force), 0, 0,
     "Let a quick run replace what a full run has measured"},
    {"cold", 0, NULL, MEASURE, duo_parse_flag, AT(x.cold), 0, 0,
     "Every call on other data, so that none comes from a cache"},
    {"seed", 0, "N", 0, duo_parse_seed, AT(x.seed), 0, 0, "Seed of the random data (default 1)"},
    {"verify", 0, "?N", 0, parse_verify, AT(problems), 1, 100000,
     "Measure no profile: draw N random calls (default 200, quick 60) by --seed, time every "
     "algorithm on each, and tell how far dispatch is from the best"},
    {"ignore-noise", 0, NULL, 0, duo_parse_flag, AT(x.ignore_noise), 0, 0,
     "Give a verdict and write the profile, or judge, on a noisy machine, too"},
    {.name = NULL},
};

/* The only word is the newer file of --compare. */
static error_t parse_word(void *into, struct argp_state *state, const char *value)
{
    arguments *const a = into;
    if (a->newer != NULL) return duo_tool_refuse(state, "one file too many", value);
    a->newer = value;
    return 0;
}

static error_t parse_end(void *into, struct argp_state *state)
{
    const arguments *const a = into;
    if (a->newer != NULL && a->compare == NULL)
        return duo_tool_refuse(state, "only --compare OLD.json takes a file", a->newer);
    if (a->compare != NULL && a->files.json_alone)
        return duo_tool_refuse(state, "--compare prints tables: without", "--json");
    return 0;
}

/* Reads the profile of another GPU. False: it cannot serve, which was said on stderr. */
static bool read_gpu_profile(const char *path, duo_crossover *x)
{
    static duo_profile profile;
    char why[256] = "it has no GPU part";
    bool good = duo_profile_read(path, &profile, why, sizeof why) && profile.upload_pageable > 0.0;
    if (good && duo_profile_noise(&profile) > duo_quiet_error && !x->ignore_noise) {
        snprintf(why, sizeof why, "its machine was NOISY; --ignore-noise takes it all the same");
        good = false;
    }
    if (good)
        x->gpu_profile = &profile;
    else
        fprintf(stderr, "duoblas: cannot use the profile %s: %s\n", path, why);
    return good;
}

/* ---- Command ---- */

/* Describes this run, for the figures and the profile. */
static void begin_session(duo_crossover *x)
{
    char date[DUO_TEXT];
    duo_session *const s = &x->session[0];
    snprintf(s->date, sizeof s->date, "%.20s", duo_text_date(date));
    snprintf(s->commit, sizeof s->commit, "%.40s", duo_tool_commit);
    s->quick = x->quick;
    x->sessions = 1;
}

/* Makes the profile; some of its entries are measured here. */
static void make_profile(const duo_crossover *x, duo_profile *profile)
{
    duo_progress_begin(x->began + x->most_seconds - duo_now_seconds());
    duo_progress_step(0.0, "threads, link, other shapes");
    duo_crossover_profile(x, profile);
    duo_progress_end();
}

/* Shows this run beside the older one. */
static bool compare_with(const arguments *a)
{
    duo_run new;
    if (!duo_run_of(&new, &a->x)) return false;
    fprintf(stdout, "\nCompared with %s\n", a->compare);
    duo_compare_print(&a->old, &new, a->full, stdout);
    duo_run_free(&new);
    return true;
}

static bool run(arguments *a)
{
    static duo_profile profile;
    duo_crossover *const x = &a->x;
    duo_interrupt_watch();
    if (x->wanted[DUO_SGEMM]) duo_blas_rivals_look();
    duo_crossover_plan(x);
    if (!duo_crossover_open(x) || !duo_files_find_profile(&a->files, x) ||
        !duo_files_profile_possible(&a->files))
        return false;
    begin_session(x);
    if (!duo_checkpoint_begin(&a->checkpoint, x)) return false;
    duo_crossover_measure(x, duo_checkpoint_write, &a->checkpoint);
    duo_second_run(x);
    if (!a->files.no_profile) make_profile(x, &profile);
    duo_crossover_judge(x);
    duo_crossover_sessions(x, &profile);
    x->seconds = duo_now_seconds() - x->began;
    duo_crossover_outlook(x);
    bool good = true;
    if (a->files.json_alone)
        good = duo_crossover_json(x, NULL);
    else
        duo_crossover_print(x, a->full, stdout);
    if (a->compare != NULL) good = compare_with(a) && good;
    fflush(stdout);
    return duo_files_write(x, &a->files, &profile) && good;
}

/* Judges the profile in use; writes no profile. */
static bool verify(const arguments *a)
{
    const duo_crossover *const x = &a->x;
    duo_verify_options o = {.problems = a->problems,
                            .seed = x->seed,
                            .quick = x->quick,
                            .ignore_noise = x->ignore_noise,
                            .most_seconds = x->most_seconds};
    memcpy(o.wanted, x->wanted, sizeof o.wanted);
    if (o.problems == 0) o.problems = x->quick ? 60 : 200;
    return duo_verify_run(&o, a->files.csv, a->files.report);
}

/* Measures, and writes the profile. */
static bool measure(arguments *a)
{
    const bool good = (a->gpu_profile == NULL || read_gpu_profile(a->gpu_profile, &a->x)) &&
                      (a->compare == NULL || duo_run_read(&a->old, a->compare)) && run(a);
    duo_run_free(&a->old);
    duo_crossover_close(&a->x);
    return good;
}

/* Compares two files; measures nothing. */
static bool compare_files(const arguments *a)
{
    duo_run old, new;
    if (!duo_run_read(&old, a->compare)) return false;
    const bool good = duo_run_read(&new, a->newer);
    if (good) duo_compare_print(&old, &new, a->full, stdout);
    duo_run_free(&old);
    duo_run_free(&new);
    return good;
}

/* Fills in values that follow from the options. */
static void complete(arguments *a)
{
    duo_crossover *const x = &a->x;
    for (int i = 0; i < DUO_OPERATIONS; i++)
        x->wanted[i] = a->operations == 0 || (a->operations >> i & 1u);
    x->most_seconds =
        a->max_seconds > 0 ? a->max_seconds : (x->quick ? 30.0 : 300.0) * (a->verify ? 2.0 : 1.0);
    a->files.named = a->files.profile != NULL;
    a->checkpoint.files = &a->files;
}

int duo_tool_crossover(int argc, char **argv)
{
    arguments *const a = calloc(1, sizeof *a);
    if (a == NULL) return DUO_EXIT_FAILURE;
    duo_arguments command = {.words = "[NEW.json]",
                             .doc = doc,
                             .option = options,
                             .into = a,
                             .taker = MEASURE | VERIFY,
                             .names = names,
                             .word = parse_word,
                             .end = parse_end};
    a->x.began = duo_now_seconds();
    duo_blas_instance_prepare();
    a->x.seed = 1;
    int status = duo_tool_parse(&command, argc, argv);
    if (status == 0) {
        complete(a);
        const bool good = duo_files_possible(&a->files) && (a->newer != NULL ? compare_files(a)
                                                            : a->verify      ? verify(a)
                                                                             : measure(a));
        status = good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
    }
    free(a);
    return status;
}
