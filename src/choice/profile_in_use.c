/* profile_in_use.c - the built-in profiles; the profile that serves this process, and why. */
#define _GNU_SOURCE
#include "choice/profile_in_use.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice/built_in.h"
#include "choice/profile_files.h"
#include "choice/profile_text.h"
#include "host/environment.h"
#include "host/lock.h"
#include "host/machine.h"
#include "host/stack.h"

/* ---- Built-in profiles, by name and of a GPU ---- */

/* Each is made when it is first needed: an empty origin says that it is not made yet. */
static duo_profile h100, h200, generic;

static const duo_profile *make(duo_profile *profile, const duo_built_in *from, const char *origin)
{
    if (profile->origin[0] != '\0') return profile;
    for (size_t i = 0; i < from->points; i++) {
        const duo_point *const p = &from->point[i];
        duo_curve *const curve = &(p->team ? profile->team : profile->curve)[p->id];
        curve->size[curve->count] = (double)p->size;
        curve->seconds[curve->count++] =
            (double)p->picoseconds * duo_field_ranges[DUO_FIELD_PICOSECONDS].unit;
    }
    duo_profile_fill(profile, from->entry, from->entries);
    snprintf(profile->origin, sizeof profile->origin, "%s", origin);
    return profile;
}

static const duo_profile *h100s(void) { return make(&h100, &duo_built_in_h100, "built-in h100"); }

static const duo_profile *h200s(void) { return make(&h200, &duo_built_in_h200, "built-in h200"); }

/* With the H100's GPU part. */
static const duo_profile *any_hosts(void)
{
    if (generic.origin[0] != '\0') return &generic;
    (void)make(&generic, &duo_built_in_generic, "built-in generic");
    duo_profile_borrow_gpu(&generic, h100s());
    return &generic;
}

const duo_profile *duo_profile_built_in(const char *name)
{
    duo_lock(DUO_LOCK_PROFILE);
    const duo_profile *const found = strcmp(name, "h100") == 0      ? h100s()
                                     : strcmp(name, "h200") == 0    ? h200s()
                                     : strcmp(name, "generic") == 0 ? any_hosts()
                                                                    : NULL;
    duo_unlock(DUO_LOCK_PROFILE);
    return found;
}

/* The profile of this GPU; for an unknown GPU the H100's. */
static const duo_profile *built_in_of_gpu(const char *gpu)
{
    if (strcmp(gpu, h100s()->gpu) == 0) return &h100;
    return strcmp(gpu, h200s()->gpu) == 0 ? &h200 : &h100;
}

/* ---- The built-in profile of this host ---- */

/* Was the CPU part measured on a host that is like this one in all respects? */
static bool same_host(const duo_profile *p, char *problem, size_t size)
{
    if (!duo_profile_of_this_cpu(p, problem, size)) return false;
    const int threads = duo_machine_threads();
    if (p->threads == threads) return true;
    snprintf(problem, size, "measured with %d threads, not %d", p->threads, threads);
    return false;
}

/* May same_host say so of this profile? To make one that is not needed takes time. */
static bool seems_same_host(const duo_built_in *b)
{
    return strcmp(b->cpu_id, duo_machine_cpu_id()) == 0 && b->threads == duo_machine_threads();
}

/* The profile for the CPU part: this host's, with an empty `why_not`; or else the generic one, and
 * `why_not` says why none is this host's. */
static const duo_profile *built_in_of_host(char *why_not, size_t size)
{
    const duo_profile *const p = seems_same_host(&duo_built_in_h200) ? h200s() : h100s();
    why_not[0] = '\0';
    return same_host(p, why_not, size) ? p : any_hosts();
}

/* May built_in_of_host return this profile? */
static bool serves_hosts(const duo_profile *profile)
{
    return profile == &h100 || profile == &h200 || profile == &generic;
}

/* ---- The profile in use ---- */

/* A file's profile. */
typedef struct from_file {
    duo_profile measured; /* the parts that hold here */
    duo_profile whole;    /* with missing parts from built-in profiles */
} from_file;

static from_file loaded;  /* when a profile was asked for */
static from_file of_gpu;  /* when a GPU was opened that `loaded` is not for */
static duo_profile mixed; /* the profile that was in use, with another GPU part */

static _Atomic(const duo_profile *) in_use;
static char gpu_in_use[sizeof(((duo_profile *)NULL)->gpu)]; /* the opened one; "": none */
static char why[1024];                                      /* the text of duo_profile_why */

static void add_why(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add_why(const char *format, ...)
{
    const size_t used = strlen(why);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why + used, sizeof why - used, format, arguments);
    va_end(arguments);
}

/* ---- Missing parts of a file ---- */

static void tell_missing_operations(const duo_profile *measured, const duo_profile *host)
{
    bool any = false;
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        if (!duo_profile_lacks(measured, (duo_operation)operation)) continue;
        add_why("%s %s", any ? "," : ";", duo_operation_name((duo_operation)operation));
        any = true;
    }
    if (any) add_why(" on the CPU from %s, as not measured", host->origin);
}

/* A correction belongs to a curve: without the curve it says nothing. Corrections of float64 may
 * belong to the curve of sgemm_cpu_ffma. */
static void forget_corrections(duo_profile *p)
{
    const bool ffma = p->curve[DUO_sgemm_cpu_ffma].count > 0;
    const bool curve[DUO_CORRECTED] = {
        [DUO_CORRECTED_OPENBLAS] = p->curve[DUO_sgemm_cpu_openblas].count > 0,
        [DUO_CORRECTED_FFMA] = ffma,
        [DUO_CORRECTED_FLOAT64] = ffma || p->curve[DUO_sgemm_cpu_float64].count > 0};
    for (int i = 0; i < DUO_CORRECTED; i++)
        for (int t = 0; t < DUO_CORRECTED_THREADS; t++) p->correction[i][t].measured &= curve[i];
}

/* Makes `whole` from the measured and the missing parts; `why` says what comes from where. */
static void complete(from_file *file, const duo_profile *host)
{
    duo_profile *const measured = &file->measured, *const whole = &file->whole;
    const int threads = duo_machine_threads();
    tell_missing_operations(measured, host);
    if (measured->threads != threads)
        add_why("; what several threads take is scaled, from %d to %d", measured->threads, threads);
    forget_corrections(measured);
    *whole = *measured;
    duo_profile_borrow_figures(whole, host);
    duo_profile_borrow_curves(whole, host, DUO_SIDE_CPU);
    if (!(whole->upload_pageable > 0.0)) {
        const duo_profile *const any = built_in_of_gpu("none");
        duo_profile_borrow_gpu(whole, any);
        add_why("; GPU part: %s", any->origin);
    }
    duo_profile_borrow_curves(whole, built_in_of_gpu(whole->gpu), DUO_SIDE_GPU);
}

/* ---- Files ---- */

/* The file to fill, and the profile from which it borrows. */
typedef struct wanted {
    from_file *file;
    const duo_profile *host;
    const char *gpu; /* it must be for this one; NULL: any */
} wanted;

static bool read_wanted(const char *path, const wanted *w, char *problem, size_t size)
{
    duo_profile *const p = &w->file->measured;
    const bool good =
        duo_profile_read(path, p, problem, size) && duo_profile_fits(p, problem, size);
    if (!good || w->gpu == NULL || strcmp(p->gpu, w->gpu) == 0) return good;
    snprintf(problem, size, "measured with another GPU (%s)", p->gpu);
    return false;
}

/* Takes the file if it serves. `why` tells of refused files, but not of missing ones. */
static bool take_file(const char *path, const char *whose, void *user)
{
    const wanted *const w = user;
    char problem[300];
    if (read_wanted(path, w, problem, sizeof problem)) {
        add_why("%s", whose);
        if (duo_profile_noise(&w->file->measured) > duo_quiet_error)
            add_why(", NOISY: others disturbed the measuring; `duoblas crossover' measures again");
        complete(w->file, w->host);
        return true;
    }
    w->file->measured.origin[0] = '\0';
    if (strcmp(problem, strerror(ENOENT)) != 0) add_why("%.200s refused: %.290s; ", path, problem);
    return false;
}

static const duo_profile *load(void)
{
    why[0] = '\0';
    char not_built_in[200];
    const duo_profile *const host = built_in_of_host(not_built_in, sizeof not_built_in);
    const char *const asked = duo_environment_get()->profile;
    wanted w = {.file = &loaded, .host = host};
    loaded.measured.origin[0] = '\0';
    if (asked != NULL) {
        if (take_file(asked, "named by DUOBLAS_PROFILE", &w)) return &loaded.whole;
        if (why[0] == '\0') add_why("%.200s refused: %s; ", asked, strerror(ENOENT));
    } else if (duo_profile_search(NULL, take_file, &w)) {
        return &loaded.whole;
    }
    if (not_built_in[0] == '\0')
        add_why("built in, measured on this model of CPU");
    else
        add_why("built in; `duoblas crossover' measures this machine; %s is used for its GPU part "
                "only: %s",
                built_in_of_gpu(host->gpu)->origin, not_built_in);
    return host;
}

/* Is there a file for this CPU and that GPU? Then it is in `of_gpu`, and `why` tells of it. */
static bool find_of_gpu(const char *gpu)
{
    char before[sizeof why], not_built_in[200];
    memcpy(before, why, sizeof before);
    why[0] = '\0';
    wanted w = {
        .file = &of_gpu, .host = built_in_of_host(not_built_in, sizeof not_built_in), .gpu = gpu};
    const bool found =
        duo_environment_get()->profile == NULL && duo_profile_search(gpu, take_file, &w);
    if (!found) memcpy(why, before, sizeof before);
    return found;
}

/* Replaces a profile that is not for this GPU: by a file that is, or by the same profile with the
 * GPU part of a built-in one. */
static const duo_profile *profile_for(const char *gpu, const duo_profile *profile)
{
    const duo_profile *const built_in = built_in_of_gpu(gpu);
    if (profile == &loaded.whole && find_of_gpu(gpu)) return &of_gpu.whole;
    if (strcmp(profile->gpu, gpu) == 0 || strcmp(profile->gpu, built_in->gpu) == 0) return profile;
    mixed = *profile;
    duo_profile_borrow_gpu(&mixed, built_in);
    add_why("; for this GPU, the GPU part of %s", built_in->origin);
    return &mixed;
}

/* Is the profile for another GPU than the opened one, and may it be replaced? */
static bool of_another_gpu(const duo_profile *profile, const char *gpu)
{
    const bool ours = profile == &loaded.whole || serves_hosts(profile);
    const duo_profile *const measured = profile == &loaded.whole ? &loaded.measured : profile;
    return ours && strcmp(measured->gpu, gpu) != 0;
}

static void choose(void *unused)
{
    (void)unused;
    /* Before the lock, because a fork waits for that, and this asks OpenMP. */
    (void)duo_machine_threads();
    duo_lock(DUO_LOCK_PROFILE);
    if (atomic_load_explicit(&in_use, memory_order_relaxed) == NULL)
        atomic_store_explicit(&in_use, load(), memory_order_release);
    duo_unlock(DUO_LOCK_PROFILE);
}

const duo_profile *duo_profile_in_use(void)
{
    const duo_profile *const profile = atomic_load_explicit(&in_use, memory_order_acquire);
    if (profile != NULL) return profile;
    duo_stack_run(choose, NULL);
    return atomic_load_explicit(&in_use, memory_order_acquire);
}

const duo_profile *duo_profile_measured(void)
{
    /* By its origin, since the profile in use may be `mixed`: `loaded` with another GPU part. */
    const duo_profile *const profile = duo_profile_in_use();
    if (profile == &of_gpu.whole) return &of_gpu.measured;
    const duo_profile *const measured = &loaded.measured;
    const bool file = measured->origin[0] != '\0' && strcmp(profile->origin, measured->origin) == 0;
    return file ? measured : NULL;
}

const char *duo_profile_why(void)
{
    (void)duo_profile_in_use();
    return why;
}

void duo_profile_check_gpu(const char *gpu)
{
    const duo_profile *const profile = duo_profile_in_use();
    duo_lock(DUO_LOCK_PROFILE);
    snprintf(gpu_in_use, sizeof gpu_in_use, "%s", gpu);
    if (atomic_load_explicit(&in_use, memory_order_relaxed) == profile &&
        of_another_gpu(profile, gpu))
        atomic_store_explicit(&in_use, profile_for(gpu, profile), memory_order_release);
    duo_unlock(DUO_LOCK_PROFILE);
}

void duo_profile_reset(void)
{
    duo_lock(DUO_LOCK_PROFILE);
    gpu_in_use[0] = '\0';
    atomic_store_explicit(&in_use, NULL, memory_order_release);
    duo_unlock(DUO_LOCK_PROFILE);
}

void duo_profile_use(const duo_profile *profile)
{
    duo_lock(DUO_LOCK_PROFILE);
    snprintf(why, sizeof why, "set by the caller");
    atomic_store_explicit(&in_use, profile, memory_order_release);
    duo_unlock(DUO_LOCK_PROFILE);
}
