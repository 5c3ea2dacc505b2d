/* files.c - see files.h */
#include "bench/crossover/files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/figures.h"
#include "bench/measure/benchmark.h"
#include "bench/tool/output.h"
#include "bench/tool/profile_write.h"
#include "bench/tool/progress.h"
#include "choice/profile.h"
#include "choice/profile_files.h"
#include "choice/profile_in_use.h"

enum { PATH = 4096 };

/* ---- Places of the files ---- */

bool duo_files_find_profile(duo_files *files, const duo_crossover *x)
{
    static char path[PATH];
    if (files->no_profile || files->profile != NULL) return true;
    if (duo_profile_user_path(x->gpu ? x->gpu_name : "none", path, sizeof path)) {
        files->profile = path;
        return true;
    }
    fprintf(stderr, "duoblas: no home folder for the profile: give --profile FILE or "
                    "--no-profile\n");
    return false;
}

bool duo_files_profile_possible(const duo_files *files)
{
    if (files->no_profile) return true;
    if (duo_profile_make_folders(files->profile)) return duo_output_possible(files->profile);
    fprintf(stderr, "duoblas: cannot write the profile %s: %s\n", files->profile, strerror(errno));
    return false;
}

bool duo_files_is_svg(const char *path)
{
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

static bool possible(const char *path) { return path == NULL || duo_output_possible(path); }

bool duo_files_possible(const duo_files *files)
{
    return possible(files->plot) && possible(files->csv) && possible(files->json) &&
           possible(files->report) && possible(files->markdown);
}

bool duo_files_beside(const char *profile, const char *ending, char *path, size_t size)
{
    const size_t length = strlen(profile);
    const bool ini = length > 4 && strcmp(profile + length - 4, ".ini") == 0;
    const int stem = (int)(ini ? length - 4 : length);
    return (size_t)snprintf(path, size, "%.*s%s", stem, profile, ending) < size;
}

/* The named file, or the one beside the profile; NULL: there is none. */
static const char *named_or_beside(const duo_files *files, const char *named, const char *ending,
                                   char path[PATH])
{
    if (named != NULL) return named;
    const bool beside = !files->no_profile && !files->no_files;
    return beside && duo_files_beside(files->profile, ending, path, PATH) ? path : NULL;
}

/* ---- Writing ---- */

static bool write_profile(const duo_profile *profile, const char *path, FILE *told)
{
    char why[256];
    const bool good = duo_profile_write(profile, path, why, sizeof why);
    if (!good)
        fprintf(stderr, "duoblas: cannot write the profile %s: %s\n", path, why);
    else
        fprintf(told, "Profile: %s%s\n", path,
                profile->upload_pageable > 0.0 ? "" : " (without a GPU part)");
    return good;
}

/* Leaves an idle machine's profile untouched. Programs do not look for a noisy one. */
static bool write_noisy_profile(const duo_profile *profile, const char *path, const char *place,
                                FILE *told)
{
    if (!write_profile(profile, path, told)) return false;
    fprintf(told,
            "It is not used, for the machine was NOISY: run this again when it is idle, or with\n"
            "--ignore-noise to write %s\n",
            place);
    return true;
}

static bool write_one(const duo_crossover *x, const char *name, const char *path,
                      bool (*write)(const duo_crossover *x, const char *path), FILE *told)
{
    if (path == NULL) return true;
    const bool good = write(x, path);
    if (good) fprintf(told, "%s: %s\n", name, path);
    return good;
}

bool duo_files_write(const duo_crossover *x, const duo_files *all, const duo_profile *profile)
{
    char noisy[PATH], csv[PATH], plot[PATH];
    duo_files to = *all;
    const duo_files *const files = &to;
    FILE *const told = files->json_alone ? stderr : stdout;
    const bool beside = duo_crossover_distrusted(x) && !files->no_profile &&
                        duo_files_beside(files->profile, ".noisy", noisy, sizeof noisy);
    if (beside) to.profile = noisy;
    duo_interrupt_hold();
    /* These come first: writing them makes the folder for the others. */
    bool good = files->no_profile || duo_figures_write(x, files->figures);
    if (beside)
        good = write_noisy_profile(profile, noisy, all->profile, told);
    else if (!files->no_profile)
        good = write_profile(profile, files->profile, told) && good;
    good = write_one(x, "CSV", named_or_beside(files, files->csv, ".csv", csv), duo_crossover_csv,
                     told) &&
           good;
    good = write_one(x, "Plot", named_or_beside(files, files->plot, ".svg", plot),
                     duo_crossover_plot, told) &&
           good;
    good = write_one(x, "JSON", files->json, duo_crossover_json, told) && good;
    good = write_one(x, "Report", files->report, duo_crossover_report, told) && good;
    good = write_one(x, "Markdown", files->markdown, duo_crossover_markdown, told) && good;
    duo_interrupt_allow();
    return good;
}

/* ---- Figures while they are measured ---- */

/* Is it a full profile? A noisy one does not count: it is no loss. */
static bool is_full(const duo_crossover *x, const duo_profile *profile)
{
    if (duo_profile_noise(profile) > duo_quiet_error && !x->ignore_noise) return false;
    for (int i = 0; i < DUO_OPERATIONS; i++)
        if (x->wanted[i] && strcmp(profile->measured[i].effort, "full") == 0) return true;
    return false;
}

/* A file from a full run of a wanted operation, if this run would replace or hide it; else NULL. */
static const char *full_before(const duo_files *files, const duo_crossover *x)
{
    static duo_profile profile;
    char why[256];
    const duo_profile *const in_use = duo_profile_measured();
    if (x->full_before > 0) return files->figures;
    if (duo_profile_read(files->profile, &profile, why, sizeof why) &&
        duo_profile_fits(&profile, why, sizeof why) && is_full(x, &profile))
        return files->profile;
    return !files->named && in_use != NULL && is_full(x, in_use) ? in_use->origin : NULL;
}

/* A quick run does not replace a full one by accident. False: it would, which was said on
 * stderr. */
static bool may_replace(const duo_checkpoint *checkpoint, const duo_crossover *x)
{
    const char *const full = x->quick && !checkpoint->update && !checkpoint->force
                                 ? full_before(checkpoint->files, x)
                                 : NULL;
    if (full == NULL) return true;
    fprintf(stderr,
            "duoblas: %s is of a full run, which a quick one would replace.\n"
            "Give --update to keep what is there, --force to replace it, --profile FILE to write\n"
            "another file, or --no-profile.\n",
            full);
    return false;
}

bool duo_checkpoint_begin(duo_checkpoint *checkpoint, duo_crossover *x)
{
    char why[256];
    duo_files *const files = checkpoint->files;
    if (files->no_profile) return true;
    if (!duo_files_beside(files->profile, ".figures.csv", files->figures, sizeof files->figures)) {
        fprintf(stderr, "duoblas: the path is too long: %s\n", files->profile);
        return false;
    }
    if (!duo_figures_read(x, checkpoint->update, files->figures, why, sizeof why))
        fprintf(stderr, "duoblas: %s is measured anew: %s\n", files->figures, why);
    return may_replace(checkpoint, x);
}

void duo_checkpoint_write(duo_crossover *x, void *user)
{
    duo_checkpoint *const checkpoint = user;
    const double now = duo_now_seconds();
    if (checkpoint->files->no_profile || now < checkpoint->next) return;
    duo_interrupt_hold();
    duo_crossover_judge(x);
    const bool kept = duo_figures_write(x, checkpoint->files->figures);
    if (kept)
        duo_interrupt_allow_with("what was measured so far is kept: add --update to go on with it");
    else
        duo_interrupt_allow_with("no file was written");
    checkpoint->next = kept ? now + 1.0 : (double)INFINITY; /* the reason was printed */
}
