/*
 * profile.h - what each side costs on a machine: measured curves and link rates.
 *
 * A profile is a text file (INI) whose numbers are all integers, so that no locale can change them:
 * sizes in elements, times in picoseconds, rates in bytes per second. `duoblas crossover` writes
 * it. Its [machine] section is its signature: on a mismatch, or on any line that cannot be right,
 * the whole file is refused and a built-in profile serves. The built-in profiles (src/profiles/)
 * are such files, compiled in.
 */
#ifndef DUO_PROFILE_H
#define DUO_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "algorithms.h"
#include "choice/curve.h"

typedef struct duo_profile {
    char origin[256]; /* where it comes from: "built-in h100" or the file's path */

    /* [machine] */
    char version[32], cpu[96];
    char cpu_id[64]; /* family, model, stepping: a hypervisor may name every CPU alike */
    char blas[128];  /* the inner BLAS with its version and kernels: duo_blas_library_name */
    char gpu[96], driver[32], date[32], commit[48]; /* gpu: "none" where there is no GPU part */
    int threads; /* with which the parallel figures were measured */

    /* [cpu] */
    /* Start and join of a parallel region of t threads: fork_seconds + t *
     * fork_seconds_per_thread. */
    double fork_seconds, fork_seconds_per_thread;
    /* Bytes/s that reductions reach with all threads on data beyond the caches. It may be missing
     * in a file: 0. */
    double cpu_bandwidth;
    /* Speed-up of a large sgemm over one thread, divided by threads. It may be missing, too. */
    double sgemm_efficiency;

    /* [link] host <-> device */
    double upload_pageable, upload_pinned, download_pageable, download_pinned; /* bytes/s */
    double copy_seconds;       /* fixed cost of one transfer */
    double round_trip_seconds; /* from the end of a kernel to its result seen by the host */
    double query_seconds;      /* asking the driver what an address is */

    duo_curve curve[DUO_ALGORITHMS]; /* by duo_algorithm_id */
} duo_profile;

/*
 * Reads a file: a regular file, not a link, of at most 1 MiB, owned by root or this user and not
 * writable by others. Every line must be right. On failure returns false with the reason in `why`.
 */
bool duo_profile_read(const char *path, duo_profile *profile, char *why, size_t why_size);

/* Reads a profile from a string; the same checks. Seconds never fall where sizes grow. */
bool duo_profile_parse(const char *text, duo_profile *profile, char *why, size_t why_size);

/* Was it made by this version, on this CPU? The GPU's part is checked only once a GPU is open. */
bool duo_profile_fits(const duo_profile *profile, char *why, size_t why_size);

/* Writes it whole or not at all: a temporary file beside it, flushed, renamed. */
bool duo_profile_write(const duo_profile *profile, const char *path, char *why, size_t why_size);

#endif
