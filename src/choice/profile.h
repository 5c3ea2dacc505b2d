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

enum { DUO_CURVE_POINTS = 40 };

/*
 * Seconds against a size: reductions against n, sgemm against the edge of the cube, cbrt(m*n*k).
 * CPU algorithms: one thread, operands in host memory. GPU algorithms: operands on the device, from the call to
 * the end of the kernel as seen from a queue that is kept busy (launch included, the result's way
 * to the host not).
 */
typedef struct duo_curve {
    int count; /* 0: not measured */
    double size[DUO_CURVE_POINTS], seconds[DUO_CURVE_POINTS];
} duo_curve;

typedef struct duo_profile {
    char origin[256]; /* where it comes from: "built-in h100" or the file's path */

    /* [machine] */
    char version[32], cpu[96];
    char cpu_id[64]; /* family, model, stepping: a hypervisor may name every CPU alike */
    char blas[128];  /* the inner BLAS with its version and kernels: duo_blas_library_name */
    char gpu[96], driver[32], date[32], commit[48]; /* gpu: "none" where there is no GPU part */
    int threads; /* with which the parallel figures were measured */

    /* [cpu] */
    double fork_seconds,
        fork_seconds_per_thread; /* start and join of a parallel region of t threads: a + b*t */
    double cpu_bandwidth; /* bytes/s that reductions reach with all threads on data beyond the
                                caches; in a file it may be missing (0) */
    double
        sgemm_efficiency; /* speed-up of a large sgemm over one thread, divided by threads; it may be
                                missing too */

    /* [link] host <-> device */
    double upload_pageable, upload_pinned, download_pageable, download_pinned; /* bytes/s */
    double copy_seconds;       /* fixed cost of one transfer */
    double round_trip_seconds; /* from the end of a kernel to its result seen by the host */
    double query_seconds;      /* asking the driver what an address is */

    duo_curve curve[DUO_ALGORITHMS]; /* by duo_algorithm_id */
} duo_profile;

/*
 * Seconds for so much work: n of a reduction (growth 1: a size is work), m*n*k of sgemm (growth 3: a size
 * is the edge of a cube). Between two points straight in the work; below the first point its seconds;
 * above the last point growing with the work. Infinite if there are no points.
 */
double duo_curve_seconds(const duo_curve *curve, double work, int growth);

/*
 * The profile in use: DUOBLAS_PROFILE, else the user's own ($XDG_CONFIG_HOME/duoblas/profile.ini,
 * default
 * ~/.config), else a built-in one. Loaded once; never NULL. `why`: one line on how it was chosen, and
 * which of its parts come from elsewhere.
 *
 * Of a file whose signature fits (duo_profile_fits) all is used but the curves of sgemm through another
 * inner BLAS, or through other kernels of it. Figures of several threads hold for any number: they are
 * scaled. What is missing, or is not used, is that of the built-in profile of this host, if there is
 * one: its CPU, inner BLAS, kernels and number of threads are the same. Else it is the generic one's,
 * and of the other built-in profiles the GPU part alone is used.
 */
const duo_profile *duo_profile_in_use(void);
const char *duo_profile_why(void);

/* What the profile in use has that was measured on this machine, as it now is: nothing borrowed. NULL:
 * it is a built-in one. */
const duo_profile *duo_profile_measured(void);

/* The default path of the user's profile in `path`; false where there is none (no home, AT_SECURE).
 */
bool duo_profile_user_path(char *path, size_t size);

/* A GPU of this name was opened: where the profile in use is of another GPU, its GPU part is replaced
 * by that of the built-in profile for this one. */
void duo_profile_check_gpu(const char *gpu);

/* Built-in by name: "h100", "h200" or "generic". NULL: no such. */
const duo_profile *duo_profile_built_in(const char *name);

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

/* For tests: forget the profile in use, so that the next call loads again; or use this one. */
void duo_profile_reset(void);
void duo_profile_use(const duo_profile *profile);

#endif
