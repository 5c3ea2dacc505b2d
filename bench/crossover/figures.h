/*
 * figures.h - measured figures in a file beside the profile, so that an interrupted run can go on
 * and a later run measures only stale figures.
 *
 * The file begins with lines "# key: value" that name the machine: format, version, cpu, cpu_id,
 * threads, blas, gpu, driver, cache. Then comes CSV, with a figure in each line:
 *
 *   operation,family,n,series,algorithm,threads,median,minimum,low,high,effort,date,commit,noise
 *
 * The series is one:ALGORITHM (on one thread, or in a busy queue of the GPU), all:ALGORITHM or
 * gpu:PLACE (the public API). Times are in seconds, low and high are quartiles; effort is full or
 * quick; noise is the share by which figures of that run may be off, 0 if not known. Only measured
 * figures are stored.
 */
#ifndef DUO_FIGURES_H
#define DUO_FIGURES_H

#include "bench/crossover/crossover.h"
#include "bench/crossover/files.h"

/*
 * Reads the figures of earlier runs. Figures of operations that this run does not measure are kept
 * for writing; figures of the others are restored if `update` is set. Stale figures are dropped:
 *   all figures, if version, CPU or cache setting differ;
 *   figures of the CPU's BLAS, if that differs;
 *   figures that depend on the number of threads, or on GPU and driver, if these differ;
 *   quick figures, if this run is a full one;
 *   figures of a noisy machine, unless noise is ignored.
 * Sets x->kept, x->full_before and x->sessions. False, with the reason in `why`: the file is not
 * understood, and nothing is kept.
 */
bool duo_figures_read(duo_crossover *x, bool update, const char *path, char *why, size_t why_size);

/* Writes the whole file or nothing. False: it failed, which was said on stderr. */
bool duo_figures_write(const duo_crossover *x, const char *path);

/* ---- figures_head.c: the machine of kept figures; which are stale on another one ---- */

enum { DUO_FIGURES_HEAD = 9 }; /* lines */

typedef struct duo_figures_head {
    char value[DUO_FIGURES_HEAD][160];
} duo_figures_head;

/* Fills in the head of this run. */
void duo_figures_head_of(const duo_crossover *x, duo_figures_head *head);
/* Prints the lines "# key: value". */
void duo_figures_head_print(const duo_figures_head *head, FILE *file);
/* Reads one of these lines. False: it is none. */
bool duo_figures_head_read(const char *line, duo_figures_head *head);

/* Which parts of two machines differ? */
typedef struct duo_figures_difference {
    bool all, threads, blas, gpu;
} duo_figures_difference;

duo_figures_difference duo_figures_compare(const duo_figures_head *a, const duo_figures_head *b);

/* ---- files.c: stores figures during the measurement, so that --update can go on ---- */

typedef struct duo_checkpoint {
    duo_files *files;
    bool update, force;
    double next; /* the next write: not before then, by duo_now_seconds */
} duo_checkpoint;

/* Finds the file of the figures and reads it. False, after a message on stderr: figures cannot be
 * kept, or this run would replace better ones. */
bool duo_checkpoint_begin(duo_checkpoint *checkpoint, duo_crossover *x);

/* The `checkpoint` of duo_crossover_measure; user: a duo_checkpoint. Stores all figures so far, at
 * most once a second. */
void duo_checkpoint_write(duo_crossover *x, void *user);

#endif
