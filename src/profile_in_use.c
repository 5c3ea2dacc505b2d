/* profile_in_use.c - which profile serves this process, and why. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "lock.h"
#include "profile.h"
#include "row.h"

/* src/profiles/, turned into strings by the build. */
extern const char duo_profile_text_h100[];
extern const char duo_profile_text_h200[];
extern const char duo_profile_text_generic[];

static _Atomic(const duo_profile *) in_use;
static duo_profile loaded, h100, h200, generic, mixed;
static bool built_in_ready;
static char why[512];

/* A profile measured without a GPU takes link and GPU rows from another. */
static void borrow_gpu_part(duo_profile *to, const duo_profile *from)
{
    memcpy(to->gpu, from->gpu, sizeof to->gpu);
    memcpy(to->driver, from->driver, sizeof to->driver);
    to->upload_pageable = from->upload_pageable;
    to->upload_pinned = from->upload_pinned;
    to->download_pageable = from->download_pageable;
    to->download_pinned = from->download_pinned;
    to->copy_seconds = from->copy_seconds;
    to->round_trip_seconds = from->round_trip_seconds;
    to->query_seconds = from->query_seconds;
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const duo_row_table table = duo_row_tables[operation];
        for (int i = 0; i < table.count; i++)
            if (table.row[i].side == DUO_SIDE_GPU)
                to->curve[table.row[i].id] = from->curve[table.row[i].id];
    }
}

/* A profile measured before a row was written takes the row's curve from another. */
static void borrow_missing_rows(duo_profile *to, const duo_profile *from)
{
    for (int i = 0; i < DUO_ROWS; i++)
        if (to->curve[i].count == 0) to->curve[i] = from->curve[i];
}

/* The built-in profile of this GPU, or that of the one most like it. */
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
    borrow_missing_rows(&h100, &h200);
    borrow_gpu_part(&generic, &h100);
    borrow_missing_rows(&generic, &h100);
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

bool duo_profile_user_path(char *path, size_t size)
{
    const char *const config = secure_getenv("XDG_CONFIG_HOME");
    const char *const home = secure_getenv("HOME");
    int length = -1;
    if (config != NULL && config[0] == '/')
        length = snprintf(path, size, "%s/duoblas/profile.ini", config);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, size, "%s/.config/duoblas/profile.ini", home);
    return length > 0 && (size_t)length < size;
}

/* Tries one file; true if it serves. A file that is not there at all is no news unless it was asked
 * for. */
static bool try_file(const char *path, const char *whose, bool asked)
{
    char problem[200];
    if (duo_profile_read(path, &loaded, problem, sizeof problem) &&
        duo_profile_fits(&loaded, problem, sizeof problem)) {
        snprintf(why, sizeof why, "%s", whose);
        if (!(loaded.upload_pageable > 0.0)) borrow_gpu_part(&loaded, &h100);
        borrow_missing_rows(&loaded, built_in_for(loaded.gpu));
        return true;
    }
    if (asked || strcmp(problem, "No such file or directory") != 0)
        snprintf(why, sizeof why, "%.200s refused: %.190s; ", path, problem);
    return false;
}

static const duo_profile *load(void)
{
    char path[4096];
    why[0] = '\0';
    prepare_built_in();
    const char *const asked = duo_environment_get()->profile;
    if (asked != NULL) {
        if (try_file(asked, "named by DUOBLAS_PROFILE", true)) return &loaded;
    } else if (duo_profile_user_path(path, sizeof path)) {
        if (try_file(path, "the user's own, measured here", false)) return &loaded;
    }
    const size_t used = strlen(why);
    const bool same = strcmp(h100.cpu, duo_machine_cpu()) == 0;
    snprintf(why + used, sizeof why - used, "%s",
             same ? "built in, measured on this model of CPU"
                  : "built in; `duoblas crossover` measures this machine");
    return same ? &h100 : &generic;
}

const duo_profile *duo_profile_in_use(void)
{
    const duo_profile *profile = atomic_load_explicit(&in_use, memory_order_acquire);
    if (profile != NULL) return profile;
    (void)duo_machine_cpu(); /* here, as it asks OpenMP: a fork may hold that up before this lock */
    duo_lock(DUO_LOCK_PROFILE);
    profile = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (profile == NULL) {
        profile = load();
        atomic_store_explicit(&in_use, profile, memory_order_release);
    }
    duo_unlock(DUO_LOCK_PROFILE);
    return profile;
}

const char *duo_profile_why(void)
{
    (void)duo_profile_in_use();
    return why;
}

void duo_profile_check_gpu(const char *gpu)
{
    const duo_profile *const profile = duo_profile_in_use();
    const duo_profile *const built_in = built_in_for(gpu);
    const bool other = strcmp(profile->gpu, gpu) != 0 && strcmp(profile->gpu, built_in->gpu) != 0;
    if (!other || (profile != &loaded && profile != &h100 && profile != &generic)) return;
    duo_lock(DUO_LOCK_PROFILE);
    if (atomic_load_explicit(&in_use, memory_order_relaxed) == profile) {
        mixed = *profile;
        borrow_gpu_part(&mixed, built_in);
        const size_t used = strlen(why);
        snprintf(why + used, sizeof why - used, "; GPU part: %s", built_in->origin);
        atomic_store_explicit(&in_use, &mixed, memory_order_release);
    }
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
