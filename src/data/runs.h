/*
 * runs.h - runs of floats in host memory, packed without the gaps between them.
 *
 * `columns` runs of `rows` floats, ld apart: the columns of a matrix, or with rows = 1 a strided
 * vector. A transfer counts their elements in order and takes pieces [from, from + count).
 */
#ifndef DUO_RUNS_H
#define DUO_RUNS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct duo_runs {
    int64_t rows, columns, ld;
} duo_runs;

/* Runs without gaps between them, both on the host and (device_ld apart) on the device, are one. */
static inline duo_runs duo_runs_of(int64_t rows, int64_t columns, int64_t ld, int64_t device_ld)
{
    if (columns == 1 || (ld == rows && device_ld == rows)) return (duo_runs){rows * columns, 1, 1};
    return (duo_runs){rows, columns, ld};
}

/* The shortest run, in floats, that the device copies from or to pinned memory itself. Shorter runs
 * are packed first: each would be a request of its own over the link. */
enum { DUO_SHORTEST_RUN = 64 };

/* May the device itself read or write these runs in pinned memory? */
static inline bool duo_runs_direct(const duo_runs *r)
{
    return r->columns == 1 || (r->rows >= DUO_SHORTEST_RUN && r->ld >= r->rows);
}

/* Copies elements [from, from + count) between the runs and a packed buffer, on at most so many
 * threads. Bytes between the runs are neither read nor written. */
void duo_runs_pack(const duo_runs *runs, float *host, float *packed, int64_t from, int64_t count,
                   bool to_host, int most_threads);

#endif
