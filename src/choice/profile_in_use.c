/* profile_in_use.c - which profile serves this process, and why. */
#define _GNU_SOURCE
#include "choice/profile_in_use.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice/algorithm.h"
#include "choice/profile_built_in.h"
#include "choice/profile_file.h"
#include "choice/profile_parts.h"
#include "choice/profile_paths.h"
#include "cpu/blas_library.h"
#include "host/environment.h"
#include "host/lock.h"
#include "host/machine.h"

/* A file's profile. */
typedef struct from_file {
    duo_profile measured; /* as far as it holds here */
    duo_profile whole;    /* with what it lacks from built-in profiles */
} from_file;

static _Atomic(const duo_profile *) in_use;
static from_file loaded;  /* when a profile was asked for */
static from_file of_gpu;  /* when a GPU was opened of which `loaded` is not */
static duo_profile mixed; /* the profile that was in use, with another GPU part */
static char why[1024];    /* what duo_profile_why tells */

static void add_why(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add_why(const char *format, ...)
{
    const size_t used = strlen(why);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why + used, sizeof why - used, format, arguments);
    va_end(arguments);
}

/* ---- What a file lacks ---- */

/* Drops the curves that hold only for one inner BLAS and its kernels. */
static void forget_blas(duo_profile *p)
{
    p->curve[DUO_sgemm_cpu_openblas].count = p->curve[DUO_sgemm_cpu_float64].count = 0;
}

static void tell_missing_operations(const duo_profile *measured, bool blas, const duo_profile *host)
{
    bool any = false;
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        if (!duo_profile_lacks(measured, (duo_operation)operation) ||
            (!blas && operation == DUO_SGEMM))
            continue;
        add_why("%s %s", any ? "," : ";", duo_operation_name((duo_operation)operation));
        any = true;
    }
    if (any) add_why(" on the CPU from %s, as not measured", host->origin);
}

/* A correction is of a curve: without that it says nothing. Those of float64 may be of the curve of
 * the CPU's BLAS. */
static void forget_corrections(duo_profile *p)
{
    const bool blas = p->curve[DUO_sgemm_cpu_openblas].count > 0;
    const bool curve[DUO_CORRECTED] = {
        [DUO_CORRECTED_OPENBLAS] = blas,
        [DUO_CORRECTED_PLAIN] = p->curve[DUO_sgemm_cpu_plain].count > 0,
        [DUO_CORRECTED_FLOAT64] = blas || p->curve[DUO_sgemm_cpu_float64].count > 0};
    for (int i = 0; i < DUO_CORRECTED; i++)
        for (int t = 0; t < DUO_CORRECTED_THREADS; t++) p->correction[i][t].measured &= curve[i];
}

/* Makes the whole of what was measured and what that lacks; `why` says what comes from where. */
static void complete(from_file *file, const duo_profile *host)
{
    duo_profile *const measured = &file->measured, *const whole = &file->whole;
    const int threads = duo_machine_threads();
    const bool blas = strcmp(measured->blas, duo_blas_library_name()) == 0;
    if (!blas) {
        forget_blas(measured);
        add_why("; sgemm on the CPU from %s, as it was measured with %s and this is %s",
                host->origin, measured->blas, duo_blas_library_name());
    }
    tell_missing_operations(measured, blas, host);
    if (measured->threads != threads)
        add_why("; what several threads take is scaled, from %d to %d", measured->threads, threads);
    forget_corrections(measured);
    *whole = *measured;
    duo_profile_borrow_figures(whole, host);
    duo_profile_borrow_curves(whole, host, DUO_SIDE_CPU);
    if (!(whole->upload_pageable > 0.0)) {
        const duo_profile *const any = duo_built_in_of_gpu("none");
        duo_profile_borrow_gpu(whole, any);
        add_why("; GPU part: %s", any->origin);
    }
    duo_profile_borrow_curves(whole, duo_built_in_of_gpu(whole->gpu), DUO_SIDE_GPU);
}

/* ---- Files ---- */

/* The file that is to be filled, and what its profile borrows from. */
typedef struct wanted {
    from_file *file;
    const duo_profile *host;
    const char *gpu; /* it must be of this one; NULL: of any */
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

/* Takes the file if it serves. `why` tells of those that were refused, but not of missing ones. */
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
    const duo_profile *const host = duo_built_in_of_host(not_built_in, sizeof not_built_in);
    const char *const asked = duo_environment_get()->profile;
    wanted w = {.file = &loaded, .host = host};
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
                duo_built_in_of_gpu(host->gpu)->origin, not_built_in);
    return host;
}

const duo_profile *duo_profile_in_use(void)
{
    const duo_profile *profile = atomic_load_explicit(&in_use, memory_order_acquire);
    if (profile != NULL) return profile;
    /* These two are called before the lock is taken: they ask OpenMP and open libraries, and a fork
     * waits for this lock. */
    (void)duo_machine_threads();
    (void)duo_blas_library_get();
    duo_lock(DUO_LOCK_PROFILE);
    profile = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (profile == NULL) {
        profile = load();
        atomic_store_explicit(&in_use, profile, memory_order_release);
    }
    duo_unlock(DUO_LOCK_PROFILE);
    return profile;
}

const duo_profile *duo_profile_measured(void)
{
    /* By its origin, for the profile in use may be `mixed`: `loaded` with another GPU part. */
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

/* Is there a file of this CPU and that GPU? Then it is in `of_gpu`, and `why` tells of it. */
static bool find_of_gpu(const char *gpu)
{
    char before[sizeof why], not_built_in[200];
    memcpy(before, why, sizeof before);
    why[0] = '\0';
    wanted w = {.file = &of_gpu,
                .host = duo_built_in_of_host(not_built_in, sizeof not_built_in),
                .gpu = gpu};
    const bool found =
        duo_environment_get()->profile == NULL && duo_profile_search(gpu, take_file, &w);
    if (!found) memcpy(why, before, sizeof before);
    return found;
}

/* In place of a profile that is not of this GPU: a file that is, or the same profile with the GPU
 * part of a built-in one. */
static const duo_profile *profile_for(const char *gpu, const duo_profile *profile)
{
    const duo_profile *const built_in = duo_built_in_of_gpu(gpu);
    if (profile == &loaded.whole && find_of_gpu(gpu)) return &of_gpu.whole;
    if (strcmp(profile->gpu, gpu) == 0 || strcmp(profile->gpu, built_in->gpu) == 0) return profile;
    mixed = *profile;
    duo_profile_borrow_gpu(&mixed, built_in);
    add_why("; for this GPU, the GPU part of %s", built_in->origin);
    return &mixed;
}

void duo_profile_check_gpu(const char *gpu)
{
    const duo_profile *const profile = duo_profile_in_use();
    const bool ours = profile == &loaded.whole || duo_built_in_serves_hosts(profile);
    const duo_profile *const measured = profile == &loaded.whole ? &loaded.measured : profile;
    if (!ours || strcmp(measured->gpu, gpu) == 0) return;
    duo_lock(DUO_LOCK_PROFILE);
    if (atomic_load_explicit(&in_use, memory_order_relaxed) == profile)
        atomic_store_explicit(&in_use, profile_for(gpu, profile), memory_order_release);
    duo_unlock(DUO_LOCK_PROFILE);
}

void duo_profile_reset(void)
{
    duo_lock(DUO_LOCK_PROFILE);
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
