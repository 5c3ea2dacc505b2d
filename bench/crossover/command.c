/*
 * command.c - from what size on does the GPU win on this machine? Options and order of work.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/crossover/crossover.h"
#include "bench/tool/interrupt.h"
#include "bench/tool/options.h"
#include "bench/tool/output.h"
#include "bench/tool/picture.h"
#include "bench/tool/tool.h"
#include "choice/profile_file.h"
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
    OPTION_COLD
};

static const struct argp_option options[] = {
    {"quick", 'q', NULL, 0, "Fewer sizes and rounds: half a minute at most", 0},
    {"operations", OPTION_OPERATIONS, "LIST", 0, "Only these, as in ssum,sgemm", 0},
    {"csv", OPTION_CSV, "FILE", 0, "Write every figure to FILE", 0},
    {"plot", OPTION_PLOT, "FILE", 0, "Draw the curves: .svg or .png by gnuplot, .gp for it", 0},
    {"profile", OPTION_PROFILE, "FILE", 0, "Write the profile to FILE, not to the user's own", 0},
    {"no-profile", OPTION_NO_PROFILE, NULL, 0, "Write no profile", 0},
    {"max-seconds", OPTION_MAX_SECONDS, "N", 0,
     "Predict what does not fit in N seconds (default 600, quick 16)", 0},
    {"cold", OPTION_COLD, NULL, 0, "Every call on other data, so that none comes from a cache", 0},
    {"seed", OPTION_SEED, "N", 0, "Seed of the random data (default 1)", 0},
    {0},
};

typedef struct arguments {
    duo_crossover *x;
    const char *csv, *plot, *profile;
    bool no_profile;
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
    if (duo_profile_user_path("none", path, sizeof path)) {
        a->profile = path;
        return true;
    }
    fprintf(stderr, "duoblas: no home folder for the profile: give --profile FILE or "
                    "--no-profile\n");
    return false;
}

/* What would fail after minutes of measuring should fail now. */
static bool outputs_possible(arguments *a)
{
    return (a->plot == NULL || duo_picture_possible(a->plot)) &&
           (a->csv == NULL || duo_output_possible(a->csv)) && find_profile(a);
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
    const bool kept = a->no_profile || write_profile(profile, a->profile);
    duo_interrupt_allow();
    return listed && drawn && kept;
}

/* ---- Command ---- */

static bool run(const arguments *a)
{
    static duo_profile profile;
    duo_crossover *const x = a->x;
    duo_interrupt_watch();
    duo_crossover_plan(x);
    if (!duo_crossover_open(x)) return false;
    duo_crossover_measure(x);
    if (!a->no_profile) duo_crossover_profile(x, &profile);
    duo_crossover_outlook(x);
    duo_crossover_print(x, false, stdout);
    fflush(stdout);
    return write_files(a, &profile);
}

int duo_tool_crossover(int argc, char **argv)
{
    duo_crossover *const x = calloc(1, sizeof *x);
    if (x == NULL) return DUO_EXIT_FAILURE;
    arguments a = {.x = x};
    x->seed = 1;
    for (int i = 0; i < DUO_OPERATIONS; i++) x->wanted[i] = true;
    int status = duo_tool_parse(&argp, argc, argv, &a);
    if (x->most_seconds <= 0.0) x->most_seconds = x->quick ? 16.0 : 600.0;
    if (status == 0 && !outputs_possible(&a)) status = DUO_EXIT_FAILURE;
    if (status == 0) {
        status = run(&a) ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
        duo_crossover_close(x);
    }
    free(x);
    return status;
}
