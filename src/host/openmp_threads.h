/*
 * openmp_threads.h - the program's OpenMP threads as helpers of the team.
 *
 * After a parallel loop of a program its OpenMP threads do not sleep at once: they wait at full
 * speed for the next loop, on every processor. Helpers of our own would have to share the
 * processors with them. So a job that comes meanwhile is done by the waiting threads: in a parallel
 * region, which is where they wait.
 *
 * A region ends only when all its threads have come. That takes milliseconds if one of them sleeps,
 * or is without a processor. So a region is begun only if all threads are running at that moment.
 */
#ifndef DUO_OPENMP_THREADS_H
#define DUO_OPENMP_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* May a job for `threads` threads be done in a region now? Only the thread that began the process
 * gets yes, outside of regions, and if all its OpenMP threads run. */
bool duo_openmp_threads_wait(int threads);

/* Begins a region: the calling thread does member(job, 0), and each other thread of the region
 * member(job, its number). Some may come late, or not before the job is done. The first member
 * returns how many nanoseconds more the others may take. For a caller that has just been told that
 * they wait. */
void duo_openmp_threads_run(int64_t (*member)(void *job, int number), void *job);

/* How many regions there were. */
long duo_openmp_threads_regions(void);

#endif
