/*
 * command.c - from what size on does the GPU win on this machine? Options and order of work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/figures.h"
#include "bench/crossover/files.h"
#include "bench/crossover/verify.h"
#include "bench/measure/benchmark.h"
#include "bench/tool/options.h"
#include "bench/tool/progress.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/profile_file.h"
#include "choice/profile_parts.h"

static const char doc[] =
    "Measures sgemm, sasum, ssum and sdot over ladders of sizes, on the CPU and on the GPU with "
    "operands in pageable, pinned and device memory, and tells from what size on the GPU wins. "
    "Writes the profile by which the library chooses from then on. Without a GPU its times are "
    "predicted, and marked so."
    "\vExamples:\n"
    "  $ duoblas crossover --quick\n"
    "  $ duoblas crossover --report page.html\n"
    "  $ duoblas crossover --update  # go on where Ctrl-C ended it\n"
    "  $ duoblas crossover --verify  # how good are the choices?";

enum {
    OPTION_CSV = 256,
    OPTION_PLOT,
    OPTION_PROFILE,
    OPTION_NO_PROFILE,
    OPTION_OPERATIONS,
    OPTION_SEED,
    OPTION_MAX_SECONDS,
    OPTION_COLD,
    OPTION_UPDATE,
    OPTION_FORCE,
    OPTION_FULL,
    OPTION_JSON,
    OPTION_REPORT,
    OPTION_NO_FILES,
    OPTION_GPU_PROFILE,
    OPTION_VERIFY,
    OPTION_IGNORE_NOISE
};

static const struct argp_option options[] = {
    {"quick", 'q', NULL, 0, "Fewer sizes and rounds, in half a minute", 0},
    {"operations", OPTION_OPERATIONS, "sgemm|sasum|ssum|sdot[,...]", 0, "These alone", 0},
    {"full", OPTION_FULL, NULL, 0, "Print all sizes and shapes, who did them and quartiles", 0},
    {"report", OPTION_REPORT, "FILE", 0, "Write a page of HTML: verdict, curves, tables", 0},
    {"json", OPTION_JSON, "FILE", OPTION_ARG_OPTIONAL,
     "Write everything for programs, to stdout alone without FILE", 0},
    {"csv", OPTION_CSV, "FILE", 0, "Write every figure to FILE, not beside the profile", 0},
    {"plot", OPTION_PLOT, "FILE.svg", 0, "Draw the curves there, not beside the profile", 0},
    {"no-files", OPTION_NO_FILES, NULL, 0, "No CSV and no plot beside the profile", 0},
    {"gpu-profile", OPTION_GPU_PROFILE, "FILE", 0,
     "Tell what the GPU of this profile would bring to this machine", 0},
    {"profile", OPTION_PROFILE, "FILE", 0, "Write the profile to FILE, not to the user's own", 0},
    {"no-profile", OPTION_NO_PROFILE, NULL, 0, "Write no profile, and nothing beside it", 0},
    {"max-seconds", OPTION_MAX_SECONDS, "N", 0,
     "Be done in N seconds (default 300, quick 30); what does not fit is predicted", 0},
    {"update", OPTION_UPDATE, NULL, 0,
     "Go on with an interrupted run, or measure only what is missing or stale", 0},
    {"force", OPTION_FORCE, NULL, 0, "Let a quick run replace what a full run has measured", 0},
    {"cold", OPTION_COLD, NULL, 0, "Every call on other data, so that none comes from a cache", 0},
    {"seed", OPTION_SEED, "N", 0, "Seed of the random data (default 1)", 0},
    {"verify", OPTION_VERIFY, "N", OPTION_ARG_OPTIONAL,
     "Measure no profile: draw N random calls (default 200, quick 60) by --seed, time every "
     "algorithm on each, and tell how far dispatch is from the best",
     0},
    {"ignore-noise", OPTION_IGNORE_NOISE, NULL, 0,
     "Give a verdict and write the profile, or judge, on a noisy machine, too", 0},
    {0},
};

typedef struct arguments {
    duo_crossover *x;
    duo_files files;
    duo_checkpoint checkpoint;
    const char *gpu_profile;
    bool full;
    bool verify;
    int64_t problems; /* to verify by; 0: the usual number */
} arguments;

/* What would have no effect is refused. */
static error_t check_options(const arguments *a, struct argp_state *state)
{
    const duo_files *const f = &a->files;
    const struct {
        const char *name;
        bool given;
    } measuring[] = {{"--full", a->full},
                     {"--json", f->json != NULL || f->json_alone},
                     {"--plot", f->plot != NULL},
                     {"--profile", f->named},
                     {"--gpu-profile", a->gpu_profile != NULL},
                     {"--cold", a->x->cold},
                     {"--update", a->checkpoint.update},
                     {"--force", a->checkpoint.force}};
    for (size_t i = 0; i < sizeof measuring / sizeof *measuring && a->verify; i++)
        if (measuring[i].given)
            return duo_tool_refuse(state, "it does not go with --verify", measuring[i].name);
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *const a = state->input;
    int64_t number = 0;
    error_t refused = 0;
    switch (key) {
    case 'q':
        a->x->quick = true;
        return 0;
    case OPTION_OPERATIONS:
        return duo_tool_operations(value, a->x->wanted)
                   ? 0
                   : duo_tool_bad_value(state, "--operations", value);
    case OPTION_CSV:
        a->files.csv = value;
        return 0;
    case OPTION_PLOT:
        a->files.plot = value;
        return duo_files_is_svg(value) ? 0 : duo_tool_bad_value(state, "--plot", value);
    case OPTION_PROFILE:
        a->files.profile = value;
        a->files.named = true;
        return 0;
    case OPTION_NO_PROFILE:
        a->files.no_profile = true;
        return 0;
    case OPTION_MAX_SECONDS:
        refused = duo_tool_number_option(state, "--max-seconds", value, 1, 1000000, &number);
        a->x->most_seconds = (double)number;
        return refused;
    case OPTION_COLD:
        a->x->cold = true;
        return 0;
    case OPTION_UPDATE:
        a->checkpoint.update = true;
        return 0;
    case OPTION_FORCE:
        a->checkpoint.force = true;
        return 0;
    case OPTION_SEED:
        refused = duo_tool_number_option(state, "--seed", value, 0, INT64_MAX, &number);
        a->x->seed = (uint64_t)number;
        return refused;
    case OPTION_FULL:
        a->full = true;
        return 0;
    case OPTION_REPORT:
        a->files.report = value;
        return 0;
    case OPTION_JSON:
        a->files.json = value;
        a->files.json_alone = value == NULL;
        return 0;
    case OPTION_NO_FILES:
        a->files.no_files = true;
        return 0;
    case OPTION_GPU_PROFILE:
        a->gpu_profile = value;
        return 0;
    case OPTION_VERIFY:
        a->verify = true;
        if (value == NULL) return 0;
        return duo_tool_number_option(state, "--verify", value, 1, 100000, &a->problems);
    case OPTION_IGNORE_NOISE:
        a->x->ignore_noise = true;
        return 0;
    case ARGP_KEY_ARG:
        return duo_tool_refuse(state, "unexpected argument", value);
    case ARGP_KEY_END:
        return check_options(a, state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {options, parse, NULL, doc, duo_tool_help, NULL, NULL};

/* The profile of another GPU. False, and said on stderr: it cannot serve. */
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

/* This run, as the figures and the profile tell of it. */
static void begin_session(duo_crossover *x)
{
    char date[DUO_TEXT];
    duo_session *const s = &x->session[0];
    snprintf(s->date, sizeof s->date, "%.20s", duo_text_date(date));
    snprintf(s->commit, sizeof s->commit, "%.40s", duo_tool_commit);
    s->quick = x->quick;
    x->sessions = 1;
}

/* It needs measurements of its own. */
static void make_profile(const duo_crossover *x, duo_profile *profile)
{
    duo_progress_begin(x->began + x->most_seconds - duo_now_seconds());
    duo_progress_step(0.0, "threads, link, other shapes");
    duo_crossover_profile(x, profile);
    duo_progress_end();
}

static bool run(arguments *a)
{
    static duo_profile profile;
    duo_crossover *const x = a->x;
    duo_interrupt_watch();
    duo_crossover_plan(x);
    if (!duo_crossover_open(x) || !duo_files_find_profile(&a->files, x) ||
        !duo_files_profile_possible(&a->files))
        return false;
    begin_session(x);
    if (!duo_checkpoint_begin(&a->checkpoint, x)) return false;
    duo_crossover_measure(x, duo_checkpoint_write, &a->checkpoint);
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
    fflush(stdout);
    return duo_files_write(x, &a->files, &profile) && good;
}

/* Judges the profile in use, and writes none. */
static bool verify(const arguments *a)
{
    const duo_crossover *const x = a->x;
    duo_verify_options o = {.problems = (int)a->problems,
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
    const bool good = (a->gpu_profile == NULL || read_gpu_profile(a->gpu_profile, a->x)) && run(a);
    duo_crossover_close(a->x);
    return good;
}

int duo_tool_crossover(int argc, char **argv)
{
    duo_crossover *const x = calloc(1, sizeof *x);
    if (x == NULL) return DUO_EXIT_FAILURE;
    arguments a = {.x = x, .checkpoint.files = &a.files};
    x->began = duo_now_seconds();
    x->seed = 1;
    for (int i = 0; i < DUO_OPERATIONS; i++) x->wanted[i] = true;
    int status = duo_tool_parse(&argp, argc, argv, &a);
    if (x->most_seconds <= 0.0)
        x->most_seconds = (x->quick ? 30.0 : 300.0) * (a.verify ? 2.0 : 1.0);
    if (status == 0) {
        const bool good = duo_files_possible(&a.files) && (a.verify ? verify(&a) : measure(&a));
        status = good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
    }
    free(x);
    return status;
}
