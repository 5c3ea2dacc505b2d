/* files.c - see files.h */
#include "bench/crossover/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/figures.h"
#include "bench/tool/output.h"
#include "bench/tool/progress.h"
#include "choice/profile_file.h"
#include "choice/profile_paths.h"

enum { PATH = 4096 };

/* ---- Where ---- */

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
           possible(files->report);
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

/* What an idle machine gave stays; programs do not look for this one. */
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
    duo_interrupt_allow();
    return good;
}
