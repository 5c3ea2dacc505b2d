/*
 * profile.h - the costs of each side on a machine: measured curves and link rates.
 *
 * A profile is a text file (INI). All its numbers are integers, so that no locale can change them:
 * sizes in elements, times in picoseconds, rates in bytes per second. `duoblas crossover` writes
 * it. Its [machine] section is its signature: if version or CPU differ, or any line cannot be
 * right, the whole file is refused and a built-in profile serves. The built-in profiles
 * (bench/profiles/) are files of this kind, compiled in. profile_text.h has the format,
 * profile_files.h the files, profile_in_use.h the choice.
 */
#ifndef DUO_PROFILE_H
#define DUO_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "algorithms.h"
#include "call.h"
#include "choice/correction.h"
#include "choice/curve.h"

/* When, by which commit and how the curves of an operation were measured. */
typedef struct duo_measured {
    char date[32], commit[48]; /* date "": not measured */
    char effort[8];            /* "full" or "quick" */
    double noise; /* a figure may be off by this share (bench/measure/noise.h); 0: not known */
} duo_measured;

/* The algorithms with corrected costs, each on one thread and on the profile's `threads`. */
typedef enum duo_corrected {
    DUO_CORRECTED_OPENBLAS,
    DUO_CORRECTED_FFMA,
    DUO_CORRECTED_FLOAT64,
    DUO_CORRECTED
} duo_corrected;
enum { DUO_CORRECTED_ONE_THREAD, DUO_CORRECTED_ALL_THREADS, DUO_CORRECTED_THREADS };

typedef struct duo_profile {
    char origin[256]; /* where it comes from: "built-in h100" or the file's path */

    /* [machine] */
    char version[32], cpu[96];
    char cpu_id[64]; /* family, model, stepping: a hypervisor may name every CPU alike */
    char blas[128];  /* the BLAS of sgemm_cpu_openblas's curve, by duo_blas_library's name */
    char gpu[96], driver[32];  /* gpu: "none" if there is no GPU part */
    char date[32], commit[48]; /* of the figures in [cpu], [link] */
    int threads;               /* CPU threads in the measurements of [cpu] */

    /* [measured sgemm] and so on, by duo_operation */
    duo_measured measured[DUO_OPERATIONS];

    /* [cpu] */
    /* A job of t threads of the team costs fork_seconds + t * fork_seconds_per_thread. */
    double fork_seconds, fork_seconds_per_thread;
    /* Bytes/s of reductions with all threads on data beyond the caches; 0: not measured. */
    double cpu_bandwidth;
    /* Speed-up of a large sgemm over one thread, divided by `threads`; 0: not measured. */
    double sgemm_efficiency;

    /* [link] host <-> device */
    double upload_pageable, upload_pinned, download_pageable, download_pinned; /* bytes/s */
    double copy_seconds;       /* fixed cost of one transfer */
    double round_trip_seconds; /* from the end of a kernel to its result seen by the host */
    double query_seconds;      /* asking the driver what kind of memory an address is */
    double open_seconds; /* opening the driver and the device, once in a process; 0: not measured */

    duo_curve curve[DUO_ALGORITHMS]; /* by duo_algorithm_id */
    duo_curve team[DUO_ALGORITHMS];  /* of the CPU's reductions, on `threads` threads */

    duo_correction correction[DUO_CORRECTED][DUO_CORRECTED_THREADS];
} duo_profile;

/* ---- Parts that a profile lacks and borrows from another; its noise ---- */

/* The GPU part: the link and the curves of the GPU's algorithms. */
void duo_profile_borrow_gpu(duo_profile *to, const duo_profile *from);
/* The curves of a side's algorithms that were not measured. */
void duo_profile_borrow_curves(duo_profile *to, const duo_profile *from, duo_side side);
/* The figures of [cpu] that were not measured. */
void duo_profile_borrow_figures(duo_profile *to, const duo_profile *from);

/* Figures are noisy if they may be off by more than this share: on quiet machines quartiles of the
 * same work lie within some percent. */
extern const double duo_quiet_error;
/* The noise of the noisiest operation; 0: unknown. */
double duo_profile_noise(const duo_profile *profile);

/* Has the profile no curve of this operation on the CPU? */
bool duo_profile_lacks(const duo_profile *profile, duo_operation operation);

#endif
