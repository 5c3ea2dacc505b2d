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
#include "choice/profile_file.h"
#include "choice/profile_parse.h"
#include "choice/profile_parts.h"
#include "choice/profile_paths.h"
#include "cpu/blas_kernels.h"
#include "cpu/blas_library.h"
#include "host/environment.h"
#include "host/lock.h"
#include "host/machine.h"

/* src/choice/profiles/, turned into strings by the build. */
extern const char duo_profile_text_h100[];
extern const char duo_profile_text_h200[];
extern const char duo_profile_text_generic[];

/* A file's profile. */
typedef struct from_file {
    duo_profile measured; /* as far as it holds here */
    duo_profile whole;    /* with what it lacks from built-in profiles */
} from_file;

static _Atomic(const duo_profile *) in_use;
static duo_profile h100, h200, generic;
static duo_profile unmeasured; /* the generic profile, slowed down to this inner BLAS's kernels */
static from_file loaded;       /* when a profile was asked for */
static from_file of_gpu;       /* when a GPU was opened of which `loaded` is not */
static duo_profile mixed;      /* the profile that was in use, with another GPU part */
static bool built_in_ready;
static char why[1024];       /* what duo_profile_why tells */
static char other_host[200]; /* why the built-in profiles are not of this host */

static void add_why(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add_why(const char *format, ...)
{
    const size_t used = strlen(why);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why + used, sizeof why - used, format, arguments);
    va_end(arguments);
}

/* ---- Built-in profiles ---- */

static bool same_blas(const duo_profile *p)
{
    return strcmp(p->blas, duo_blas_library_name()) == 0;
}

/* Drops the curves that hold only for one inner BLAS and its kernels. */
static void forget_blas(duo_profile *p)
{
    p->curve[DUO_sgemm_cpu_openblas].count = p->curve[DUO_sgemm_cpu_float64].count = 0;
}

/* Was the CPU part of a built-in profile measured on a host like this one in everything? */
static bool same_host(const duo_profile *p, char *problem, size_t size)
{
    if (!duo_profile_fits(p, problem, size)) return false;
    const int threads = duo_machine_threads();
    if (!same_blas(p))
        snprintf(problem, size, "measured with %.80s, not %s", p->blas, duo_blas_library_name());
    else if (p->threads != threads)
        snprintf(problem, size, "measured with %d threads, not %d", p->threads, threads);
    return same_blas(p) && p->threads == threads;
}

/*
 * The generic profile was measured with AVX-512 kernels on a Zen 4. Narrower kernels take `times`
 * as long: seen there in products of 256^3 to 1000^3.
 */
static void prepare_unmeasured(void)
{
    static const double times[] = {[DUO_WIDTH_UNKNOWN] = 1.0,
                                   [DUO_SSE] = 5.0,
                                   [DUO_AVX] = 1.75,
                                   [DUO_AVX2] = 1.35,
                                   [DUO_AVX512] = 1.0};
    const duo_blas_library *const library = duo_blas_library_get();
    const char *const core = library != NULL ? library->core : "";
    duo_curve *const curve = &unmeasured.curve[DUO_sgemm_cpu_openblas];
    unmeasured = generic;
    for (int i = 0; i < curve->count; i++) curve->seconds[i] *= times[duo_width_of_kernels(core)];
}

/* The built-in profile of this GPU; the H100's for any other GPU. */
static const duo_profile *built_in_for(const char *gpu)
{
    return strcmp(gpu, h200.gpu) == 0 ? &h200 : &h100;
}

static void prepare_built_in(void)
{
    if (built_in_ready) return;
    char problem[200];
    (void)duo_profile_parse(duo_profile_text_h100, &h100, problem, sizeof problem);
    (void)duo_profile_parse(duo_profile_text_h200, &h200, problem, sizeof problem);
    (void)duo_profile_parse(duo_profile_text_generic, &generic, problem, sizeof problem);
    snprintf(h100.origin, sizeof h100.origin, "built-in h100");
    snprintf(h200.origin, sizeof h200.origin, "built-in h200");
    snprintf(generic.origin, sizeof generic.origin, "built-in generic");
    duo_profile_borrow_curves(&h100, &h200, DUO_SIDE_GPU);
    duo_profile_borrow_gpu(&generic, &h100);
    built_in_ready = true;
}

const duo_profile *duo_profile_built_in(const char *name)
{
    duo_lock(DUO_LOCK_PROFILE);
    prepare_built_in();
    duo_unlock(DUO_LOCK_PROFILE);
    if (strcmp(name, "h100") == 0) return &h100;
    if (strcmp(name, "h200") == 0) return &h200;
    return strcmp(name, "generic") == 0 ? &generic : NULL;
}

/* ---- Choosing ---- */

/* The built-in profile whose CPU part is used: that of this host, or else the generic one. Then
 * `other_host` says why none is of this host. */
static const duo_profile *host_profile(void)
{
    other_host[0] = '\0';
    prepare_unmeasured();
    char problem[200];
    if (same_host(&h200, problem, sizeof problem)) return &h200;
    if (same_host(&h100, other_host, sizeof other_host)) return &h100;
    return &unmeasured;
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

/* Makes the whole of what was measured and what that lacks; `why` says what comes from where. */
static void complete(from_file *file, const duo_profile *host)
{
    duo_profile *const measured = &file->measured, *const whole = &file->whole;
    const int threads = duo_machine_threads();
    const bool blas = same_blas(measured);
    if (!blas) {
        forget_blas(measured);
        add_why("; sgemm on the CPU from %s, as it was measured with %s and this is %s",
                host->origin, measured->blas, duo_blas_library_name());
    }
    tell_missing_operations(measured, blas, host);
    if (measured->threads != threads)
        add_why("; what several threads take is scaled, from %d to %d", measured->threads, threads);
    if (measured->curve[DUO_sgemm_cpu_openblas].count == 0) /* corrections are of this curve */
        measured->blas_one.measured = measured->blas_all.measured = false;
    *whole = *measured;
    duo_profile_borrow_figures(whole, host);
    duo_profile_borrow_curves(whole, host, DUO_SIDE_CPU);
    if (!(whole->upload_pageable > 0.0)) {
        duo_profile_borrow_gpu(whole, &h100);
        add_why("; GPU part: %s", h100.origin);
    }
    duo_profile_borrow_curves(whole, built_in_for(whole->gpu), DUO_SIDE_GPU);
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
    prepare_built_in();
    const duo_profile *const host = host_profile();
    const char *const asked = duo_environment_get()->profile;
    wanted w = {.file = &loaded, .host = host};
    if (asked != NULL) {
        if (take_file(asked, "named by DUOBLAS_PROFILE", &w)) return &loaded.whole;
        if (why[0] == '\0') add_why("%.200s refused: %s; ", asked, strerror(ENOENT));
    } else if (duo_profile_search(NULL, take_file, &w)) {
        return &loaded.whole;
    }
    if (host != &unmeasured)
        add_why("built in, measured on this model of CPU");
    else
        add_why("built in; `duoblas crossover' measures this machine; %s is used for its GPU part "
                "only: %s",
                h100.origin, other_host);
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
    char before[sizeof why];
    memcpy(before, why, sizeof before);
    why[0] = '\0';
    wanted w = {.file = &of_gpu, .host = host_profile(), .gpu = gpu};
    const bool found =
        duo_environment_get()->profile == NULL && duo_profile_search(gpu, take_file, &w);
    if (!found) memcpy(why, before, sizeof before);
    return found;
}

/* In place of a profile that is not of this GPU: a file that is, or the same profile with the GPU
 * part of a built-in one. */
static const duo_profile *profile_for(const char *gpu, const duo_profile *profile)
{
    const duo_profile *const built_in = built_in_for(gpu);
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
    const bool ours =
        profile == &loaded.whole || profile == &h100 || profile == &h200 || profile == &unmeasured;
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
