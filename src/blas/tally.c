/* tally.c - the sentences of a summary (tally.h). */
#include "blas/tally.h"

#include <math.h>

/* What a gain is: less than this part of the time. What often is: more than this part of all bytes
 * that were sent. */
static const double kWorth = 0.9, kAgain = 0.1;

/* Prints what is not sure about the prediction for the GPU's path. */
static void print_condition(FILE *file, const tally *all)
{
    if (all->calls[DUO_SIDE_GPU] > 0) return;
    fprintf(file, ", if there is a GPU: ");
    if (all->missed > 0)
        fprintf(file, "it was not open yet, as that takes %.2f s (DUOBLAS_OPEN)",
                all->open_seconds);
    else
        fprintf(file, "no call has asked for one");
}

static void print_other_setting(FILE *file, duo_side side, const tally *all)
{
    const char *const setting = side == DUO_SIDE_CPU ? "cpu" : "gpu";
    const double saved = all->chosen_seconds - all->expected_seconds[side];
    if (all->calls[DUO_SIDE_CPU] + all->calls[DUO_SIDE_GPU] == all->calls[side])
        fprintf(file, "  DUOBLAS_PATH=%s: the same, every call ran there\n", setting);
    else if (side == DUO_SIDE_GPU && all->no_gpu > 0 && all->calls[side] == 0)
        fprintf(file, "  DUOBLAS_PATH=gpu: no GPU can be used here\n");
    else if (all->without[side] > 0)
        fprintf(file, "  DUOBLAS_PATH=%s: cannot do %lld of the calls\n", setting,
                (long long)all->without[side]);
    else {
        fprintf(file, "  DUOBLAS_PATH=%s: about %.3f s %s", setting, fabs(saved),
                saved < 0.0 ? "more" : "less");
        if (side == DUO_SIDE_GPU) print_condition(file, all);
        fprintf(file, "\n");
    }
}

void duo_blas_tell_sides(FILE *file, const tally *all)
{
    print_other_setting(file, DUO_SIDE_CPU, all);
    print_other_setting(file, DUO_SIDE_GPU, all);
}

void duo_blas_tell_missing_gpu(FILE *file, const tally *all)
{
    const double took =
        all->seconds[DUO_SIDE_CPU] + all->seconds[DUO_SIDE_GPU] + all->seconds[NOWHERE];
    const double would = took - all->missed_seconds + all->gpu_seconds + all->open_seconds;
    if (all->small > 0 && all->small == all->calls[DUO_SIDE_CPU] && all->calls[DUO_SIDE_GPU] == 0)
        fprintf(file, "  no call would be faster on a GPU: all are too small for the way there\n");
    else if (all->no_gpu > 0 && all->calls[DUO_SIDE_GPU] == 0 && would < kWorth * took)
        fprintf(file,
                "  on an H100 these calls would take %.3f s instead of %.3f s, with the %.2f s of "
                "opening it\n",
                would, took, all->open_seconds);
}

void duo_blas_tell_remembered(FILE *file, const tally *all)
{
    if (all->same_bytes > 0.0)
        fprintf(file,
                "  not sent again, as they were the same: %.1f MB; to see that, %.1f MB were read; "
                "about %.3f s %s\n",
                all->same_bytes * 1e-6, all->checked_bytes * 1e-6, fabs(all->spared_seconds),
                all->spared_seconds > -0.5e-3 ? "won" : "lost");
    if (all->again_bytes > kAgain * all->sent_bytes)
        fprintf(file,
                "  %.1f MB came again from the same addresses: DUOBLAS_REMEMBER=bytes sends only "
                "what has changed\n",
                all->again_bytes * 1e-6);
}

void duo_blas_tell_learned(FILE *file, const tally *all)
{
    const double took = all->seconds[DUO_SIDE_CPU] + all->seconds[DUO_SIDE_GPU];
    if (!(fabs(all->chosen_seconds - all->profile_seconds) > 1e-3 * all->profile_seconds)) return;
    fprintf(file, "  learned: predicted %.3f s, by the profile alone %.3f s; took %.3f s\n",
            all->chosen_seconds, all->profile_seconds, took);
}
