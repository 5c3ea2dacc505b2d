/* tally.c - the counts of a summary, and its sentences (tally.h). */
#include "blas/tally.h"

#include <math.h>
#include <stddef.h>

/* ---- Counts ---- */

void duo_blas_tally_add(tally *to, const tally *t)
{
    for (int place = 0; place < PLACES; place++) {
        to->calls[place] += t->calls[place];
        to->seconds[place] += t->seconds[place];
    }
    for (int side = 0; side < 2; side++) {
        to->expected_seconds[side] += t->expected_seconds[side];
        to->without[side] += t->without[side];
    }
    to->bytes += t->bytes;
    to->sent_bytes += t->sent_bytes;
    to->same_bytes += t->same_bytes;
    to->chosen_seconds += t->chosen_seconds;
    to->profile_seconds += t->profile_seconds;
    to->small += t->small;
    to->no_gpu += t->no_gpu;
    to->missed += t->missed;
    to->missed_seconds += t->missed_seconds;
    to->gpu_seconds += t->gpu_seconds;
    to->checked_bytes += t->checked_bytes;
    to->spared_seconds += t->spared_seconds;
    to->open_seconds = fmax(to->open_seconds, t->open_seconds);
    to->again_bytes += t->again_bytes;
}

static bool on_host(duo_residence residence)
{
    return residence == DUO_AT_PAGEABLE || residence == DUO_AT_PINNED || residence == DUO_AT_STALE;
}

/* Where factors were that were sent last, by their addresses: of two in one place the last one. */
typedef struct factor {
    const float *address;
    double bytes;
} factor;

static factor *place_of(const float *address)
{
    static factor sent[1 << 8];
    const uint64_t mixed = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    return &sent[mixed >> (64 - 8)];
}

/* A product has run. The bytes of its factors that were sent from the same address before, and were
 * not written by a product since. */
static double sent_again(const duo_decision *d, const double bytes[3], const float *const at[3])
{
    const double least = 0x1p20; /* smaller factors are not remembered */
    double again = 0.0;
    for (int i = 0; i < 2 && d->side == DUO_SIDE_GPU; i++) {
        factor *const f = place_of(at[i]);
        if (at[i] == NULL || d->residence[i] != DUO_AT_PAGEABLE || bytes[i] < least) continue;
        if (f->address == at[i] && f->bytes == bytes[i]) again += bytes[i];
        *f = (factor){at[i], bytes[i]};
    }
    factor *const c = place_of(at[2]);
    if (c->address == at[2]) *c = (factor){NULL, 0.0};
    return again;
}

/* Adds what the profile says of both sides. */
static void add_predictions(tally *t, const duo_decision *d)
{
    double best[2] = {-1.0, -1.0};
    for (int i = 0; i < d->candidates; i++) {
        const duo_candidate *const c = &d->candidate[i];
        if (c->accepts && (best[c->side] < 0.0 || c->predicted_seconds < best[c->side]))
            best[c->side] = c->predicted_seconds;
    }
    const bool unopened = d->gpu == 0 && d->gpu_seconds >= 0.0 && isfinite(d->gpu_seconds);
    if (best[DUO_SIDE_GPU] < 0.0 && unopened) best[DUO_SIDE_GPU] = d->gpu_seconds;
    for (int side = 0; side < 2; side++) {
        t->without[side] += best[side] < 0.0;
        t->expected_seconds[side] += best[side] < 0.0 ? 0.0 : best[side];
    }
    t->chosen_seconds += d->predicted_seconds;
    t->profile_seconds += d->profile_seconds;
}

/* Adds what a GPU would have done faster, if none was open. */
static void add_missed(tally *t, const duo_decision *d, double seconds, bool forked)
{
    t->no_gpu += d->gpu < 0 && !forked; /* a child uses none, even if there is one */
    if (!(d->gpu_seconds >= 0.0)) return;
    t->open_seconds = d->open_seconds;
    if (isinf(d->gpu_seconds)) {
        t->small++;
        return;
    }
    if (d->gpu > 0) return; /* it was open, and the program or a trial chose the CPU */
    t->missed++;
    t->missed_seconds += seconds;
    t->gpu_seconds += d->gpu_seconds;
}

static void add_transfers(tally *t, const duo_decision *d, const double bytes[3])
{
    for (int i = 0; i < 3; i++) {
        if (on_host(d->residence[i])) t->sent_bytes += bytes[i];
        if (d->residence[i] == DUO_AT_REMEMBERED) t->same_bytes += bytes[i];
    }
    t->checked_bytes += d->checked_bytes;
    t->spared_seconds += d->spared_seconds;
}

void duo_blas_tally_call(tally *t, const duo_decision *d, double seconds, const double bytes[3],
                         const float *const at[3], bool forked)
{
    const int place = d->algorithm == NULL ? NOWHERE : (int)d->side;
    t->calls[place]++;
    t->seconds[place] += seconds;
    for (int i = 0; i < 3; i++) t->bytes += bytes[i];
    if (d->algorithm == NULL) return;
    add_predictions(t, d);
    add_missed(t, d, seconds, forked);
    if (d->side == DUO_SIDE_GPU) add_transfers(t, d, bytes);
    if (at != NULL) t->again_bytes += sent_again(d, bytes, at);
}

/* ---- Sentences ---- */

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

void duo_blas_tell_checked(FILE *file)
{
    int64_t checked = 0, wrong = 0;
    (void)duo_get_verified(&checked, &wrong);
    if (checked == 0) return;
    fprintf(file, "  checked: %lld results; %lld of them were wrong\n", (long long)checked,
            (long long)wrong);
}
