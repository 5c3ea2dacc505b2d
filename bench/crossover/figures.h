/*
 * figures.h - measured figures in a file beside the profile, so that an interrupted run can go on
 * and a later one measures only what is stale.
 *
 * CSV behind a head of lines "# key: value", which name the machine: format, version, cpu, cpu_id,
 * threads, blas, gpu, driver, cache. A line is a figure:
 *
 *   operation,family,n,series,algorithm,threads,median,minimum,low,high,effort,date,commit,noise
 *
 * The series is one:ALGORITHM (on one thread, or in a busy queue of the GPU), all:ALGORITHM or
 * gpu:PLACE (the public API). Times are in seconds, low and high are quartiles; effort is full or
 * quick; noise is the share by which figures of that run may be off, 0 if that is not known. Only
 * what was measured is there.
 */
#ifndef DUO_FIGURES_H
#define DUO_FIGURES_H

#include "bench/crossover/crossover.h"
#include "bench/crossover/files.h"

/*
 * Reads what an earlier run left. Figures of operations that this run does not measure are kept for
 * writing; those of others are restored if `update` is set. What is stale is dropped: all of
 * another version, CPU or cache setting; what calls the CPU's BLAS, if that is another; what
 * depends on the number of threads, or on the GPU and its driver, if these are others; what was
 * measured quickly, if this run is a full one; and what a noisy machine gave, unless noise is to be
 * ignored. Sets x->kept, x->full_before and x->sessions. Returns false, with the reason, if there
 * is a file and it is not understood: then nothing is kept.
 */
bool duo_figures_read(duo_crossover *x, bool update, const char *path, char *why, size_t why_size);

/* Writes the file whole or not at all; false, and said on stderr: it could not be. */
bool duo_figures_write(const duo_crossover *x, const char *path);

/* ---- figures_head.c: the machine of kept figures; which are stale on another one ---- */

enum { DUO_FIGURES_HEAD = 9 }; /* lines */

typedef struct duo_figures_head {
    char value[DUO_FIGURES_HEAD][160];
} duo_figures_head;

/* Of this run. */
void duo_figures_head_of(const duo_crossover *x, duo_figures_head *head);
/* Lines "# key: value". */
void duo_figures_head_print(const duo_figures_head *head, FILE *file);
/* Takes such a line; false: it is another one. */
bool duo_figures_head_read(const char *line, duo_figures_head *head);

/* What differs between two machines. */
typedef struct duo_figures_difference {
    bool all, threads, blas, gpu;
} duo_figures_difference;

duo_figures_difference duo_figures_compare(const duo_figures_head *a, const duo_figures_head *b);

/* ---- checkpoint.c: keeps figures as they are measured, so that --update can go on ---- */

typedef struct duo_checkpoint {
    duo_files *files;
    bool update, force;
    double next; /* by duo_now_seconds: not before then are figures kept again */
} duo_checkpoint;

/* Finds the file of the figures, and reads those of an earlier run. False, and said on stderr:
 * they cannot be kept, or this run would replace what it should not. */
bool duo_checkpoint_begin(duo_checkpoint *checkpoint, duo_crossover *x);

/* For duo_crossover_measure; user: a duo_checkpoint. What was measured so far is kept, at most
 * once a second. */
void duo_checkpoint_write(duo_crossover *x, void *user);

#endif
