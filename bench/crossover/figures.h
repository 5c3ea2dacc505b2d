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

#endif
