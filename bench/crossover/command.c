/*
 * command.c - from what size on does the GPU win on this machine? Options and order of work.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/figures.h"
#include "bench/tool/interrupt.h"
#include "bench/tool/options.h"
#include "bench/tool/output.h"
#include "bench/tool/picture.h"
#include "bench/tool/progress.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/profile_file.h"
#include "choice/profile_in_use.h"
#include "choice/profile_paths.h"

static const char doc[] =
    "Measures sgemm, sasum, ssum and sdot over ladders of sizes, on the CPU and on the GPU with "
    "operands in pageable, pinned and device memory, and tells from what size on the GPU wins. "
    "Writes the profile by which the library chooses from then on. Without a GPU its times are "
    "predicted, and marked so.";

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
    OPTION_FORCE
};

static const struct argp_option options[] = {
    {"quick", 'q', NULL, 0, "Fewer sizes and rounds, in half a minute", 0},
    {"operations", OPTION_OPERATIONS, "LIST", 0, "Only these, as in ssum,sgemm", 0},
    {"csv", OPTION_CSV, "FILE", 0, "Write every figure to FILE", 0},
    {"plot", OPTION_PLOT, "FILE", 0, "Draw the curves: .svg or .png by gnuplot, .gp for it", 0},
    {"profile", OPTION_PROFILE, "FILE", 0, "Write the profile to FILE, not to the user's own", 0},
    {"no-profile", OPTION_NO_PROFILE, NULL, 0, "Write no profile", 0},
    {"max-seconds", OPTION_MAX_SECONDS, "N", 0,
     "Be done in N seconds (default 300, quick 30); what does not fit is predicted", 0},
    {"update", OPTION_UPDATE, NULL, 0,
     "Go on with an interrupted run, or measure only what is missing or stale", 0},
    {"force", OPTION_FORCE, NULL, 0, "Let a quick run replace what a full run has measured", 0},
    {"cold", OPTION_COLD, NULL, 0, "Every call on other data, so that none comes from a cache", 0},
    {"seed", OPTION_SEED, "N", 0, "Seed of the random data (default 1)", 0},
    {0},
};

typedef struct arguments {
    duo_crossover *x;
    const char *csv, *plot, *profile;
    bool no_profile, update, force;
    bool named;         /* the profile, by --profile */
    char figures[4096]; /* the file of the figures */
    double keep_next;   /* by duo_now_seconds: not before then they are kept again */
} arguments;

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
        a->csv = value;
        return 0;
    case OPTION_PLOT:
        a->plot = value;
        return 0;
    case OPTION_PROFILE:
        a->profile = value;
        a->named = true;
        return 0;
    case OPTION_NO_PROFILE:
        a->no_profile = true;
        return 0;
    case OPTION_MAX_SECONDS:
        refused = duo_tool_number_option(state, "--max-seconds", value, 1, 1000000, &number);
        a->x->most_seconds = (double)number;
        return refused;
    case OPTION_COLD:
        a->x->cold = true;
        return 0;
    case OPTION_UPDATE:
        a->update = true;
        return 0;
    case OPTION_FORCE:
        a->force = true;
        return 0;
    case OPTION_SEED:
        refused = duo_tool_number_option(state, "--seed", value, 0, INT64_MAX, &number);
        a->x->seed = (uint64_t)number;
        return refused;
    case ARGP_KEY_ARG:
        return duo_tool_refuse(state, "unexpected argument", value);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {options, parse, NULL, doc, duo_tool_help, NULL, NULL};

/* ---- Files ---- */

/* Where the profile goes, if one is wanted. False, and said on stderr: there is no such place. */
static bool find_profile(arguments *a)
{
    static char path[4096];
    if (a->no_profile || a->profile != NULL) return true;
    if (duo_profile_user_path(a->x->gpu ? a->x->gpu_name : "none", path, sizeof path)) {
        a->profile = path;
        return true;
    }
    fprintf(stderr, "duoblas: no home folder for the profile: give --profile FILE or "
                    "--no-profile\n");
    return false;
}

/* What would fail after minutes of measuring should fail now. */
static bool outputs_possible(const arguments *a)
{
    return (a->plot == NULL || duo_picture_possible(a->plot)) &&
           (a->csv == NULL || duo_output_possible(a->csv));
}

static bool is_full(const duo_crossover *x, const duo_profile *profile)
{
    for (int i = 0; i < DUO_OPERATIONS; i++)
        if (x->wanted[i] && strcmp(profile->measured[i].effort, "full") == 0) return true;
    return false;
}

/* The file of a full run of a wanted operation that this one would replace, or hide; NULL: none. */
static const char *full_before(const arguments *a)
{
    static duo_profile profile;
    char why[256];
    const duo_profile *const in_use = duo_profile_measured();
    if (a->x->full_before > 0) return a->figures;
    if (duo_profile_read(a->profile, &profile, why, sizeof why) &&
        duo_profile_fits(&profile, why, sizeof why) && is_full(a->x, &profile))
        return a->profile;
    return !a->named && in_use != NULL && is_full(a->x, in_use) ? in_use->origin : NULL;
}

/* A quick run does not replace a full one by accident. False, and said on stderr: it would. */
static bool may_replace(const arguments *a)
{
    const char *const full = a->x->quick && !a->update && !a->force ? full_before(a) : NULL;
    if (full == NULL) return true;
    fprintf(stderr,
            "duoblas: %s is of a full run, which a quick one would replace.\n"
            "Give --update to keep what is there, --force to replace it, --profile FILE to write\n"
            "another file, or --no-profile.\n",
            full);
    return false;
}

/* Where the figures are kept, and those of an earlier run. False, and said on stderr: they cannot
 * be, or this run would replace what it should not. */
static bool find_figures(arguments *a)
{
    char why[256];
    if (a->no_profile) return true;
    if (!duo_figures_path(a->profile, a->figures, sizeof a->figures)) {
        fprintf(stderr, "duoblas: the path is too long: %s\n", a->profile);
        return false;
    }
    if (!duo_figures_read(a->x, a->update, a->figures, why, sizeof why))
        fprintf(stderr, "duoblas: %s is measured anew: %s\n", a->figures, why);
    return may_replace(a);
}

/* What was measured so far is kept, at most once a second. */
static void keep_figures(duo_crossover *x, void *user)
{
    arguments *const a = user;
    const double now = duo_now_seconds();
    if (a->no_profile || now < a->keep_next) return;
    duo_interrupt_hold();
    const bool kept = duo_figures_write(x, a->figures);
    if (kept)
        duo_interrupt_allow_with("what was measured so far is kept: add --update to go on with it");
    else
        duo_interrupt_allow_with("no file was written");
    a->keep_next = kept ? now + 1.0 : (double)INFINITY; /* it was said why not */
}

static bool write_profile(const duo_profile *profile, const char *path)
{
    char why[256];
    bool good = duo_profile_write(profile, path, why, sizeof why);
    if (!good)
        fprintf(stderr, "duoblas: cannot write the profile %s: %s\n", path, why);
    else
        printf("Profile: %s%s\n", path,
               profile->upload_pageable > 0.0 ? "" : " (without a GPU part)");
    return good;
}

static bool write_files(const arguments *a, const duo_profile *profile)
{
    duo_interrupt_hold();
    const bool listed = a->csv == NULL || duo_crossover_csv(a->x, a->csv);
    if (a->csv != NULL && listed) printf("CSV: %s\n", a->csv);
    const bool drawn = a->plot == NULL || duo_crossover_plot(a->x, a->plot);
    if (a->plot != NULL && drawn) printf("Plot: %s\n", a->plot);
    const bool kept = a->no_profile ||
                      (write_profile(profile, a->profile) && duo_figures_write(a->x, a->figures));
    duo_interrupt_allow();
    return listed && drawn && kept;
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

static void print_count(int count, const char *what)
{
    if (count > 0) printf("%d %s.\n", count, what);
}

static void print_how_it_went(const duo_crossover *x)
{
    char text[160];
    printf("\n%d sizes in %.0f seconds.\n", x->cases, x->seconds);
    print_count(x->refined, "sizes were added where curves meet or bend");
    print_count(x->kept, "figures kept from before");
    print_count(x->again, "figures were measured again, as somebody disturbed them");
    print_count(x->skipped, "figures are predicted for want of time or memory");
    printf("Noise: %s.\n", duo_noise_text(&x->noise, text, sizeof text));
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
    if (!duo_crossover_open(x) || !find_profile(a)) return false;
    begin_session(x);
    if (!find_figures(a)) return false;
    duo_crossover_head(x, stdout);
    fflush(stdout);
    duo_crossover_measure(x, keep_figures, a);
    if (!a->no_profile) make_profile(x, &profile);
    x->seconds = duo_now_seconds() - x->began;
    duo_crossover_print(x, stdout);
    print_how_it_went(x);
    fflush(stdout);
    return write_files(a, &profile);
}

int duo_tool_crossover(int argc, char **argv)
{
    duo_crossover *const x = calloc(1, sizeof *x);
    if (x == NULL) return DUO_EXIT_FAILURE;
    arguments a = {.x = x};
    x->began = duo_now_seconds();
    x->seed = 1;
    for (int i = 0; i < DUO_OPERATIONS; i++) x->wanted[i] = true;
    int status = duo_tool_parse(&argp, argc, argv, &a);
    if (x->most_seconds <= 0.0) x->most_seconds = x->quick ? 30.0 : 300.0;
    if (status == 0 && !outputs_possible(&a)) status = DUO_EXIT_FAILURE;
    if (status == 0) {
        status = run(&a) ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
        duo_crossover_close(x);
    }
    free(x);
    return status;
}
