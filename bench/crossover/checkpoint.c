/* checkpoint.c - keeps figures as they are measured (figures.h) */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/figures.h"
#include "bench/measure/benchmark.h"
#include "bench/tool/progress.h"
#include "choice/profile_file.h"
#include "choice/profile_in_use.h"
#include "choice/profile_parts.h"

/* Of a noisy machine's there is nothing to lose. */
static bool is_full(const duo_crossover *x, const duo_profile *profile)
{
    if (duo_profile_noise(profile) > duo_quiet_error && !x->ignore_noise) return false;
    for (int i = 0; i < DUO_OPERATIONS; i++)
        if (x->wanted[i] && strcmp(profile->measured[i].effort, "full") == 0) return true;
    return false;
}

/* The file of a full run of a wanted operation that this one would replace, or hide; NULL: none. */
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

/* A quick run does not replace a full one by accident. False, and said on stderr: it would. */
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
    checkpoint->next = kept ? now + 1.0 : (double)INFINITY; /* it was said why not */
}
