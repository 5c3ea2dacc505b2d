/*
 * runs.h - runs of floats in host memory, packed without the gaps between them.
 *
 * `columns` runs of `rows` floats, ld apart: the columns of a matrix, a strided vector (rows = 1),
 * or the columns of many matrices, one after the other. A transfer counts their elements in order
 * and takes pieces [from, from + count).
 */
#ifndef DUO_RUNS_H
#define DUO_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "batch.h"

typedef struct duo_runs {
    int64_t rows, columns, ld;

    /* Many matrices: each has `each` columns, ld apart. The matrices begin `stride` apart, or where
     * a list says. each = 0: one matrix. */
    int64_t each, stride;
    float *const *list;
} duo_runs;

/* Runs without gaps between them, both on the host and (device_ld apart) on the device, are one. */
static inline duo_runs duo_runs_of(int64_t rows, int64_t columns, int64_t ld, int64_t device_ld)
{
    if (columns == 1 || (ld == rows && device_ld == rows))
        return (duo_runs){.rows = rows * columns, .columns = 1, .ld = 1};
    return (duo_runs){.rows = rows, .columns = columns, .ld = ld};
}

/* Operand i of `count` products of a batch, from `first` on; without gaps on the device. */
duo_runs duo_runs_of_products(const duo_call *call, int i, int64_t first, int64_t count);

/* The shortest run, in floats, that the device itself copies from or to pinned memory. Shorter runs
 * are packed first: each would be a request of its own over the link. */
enum { DUO_SHORTEST_RUN = 64 };

/* May the device itself read or write these runs in pinned memory? */
static inline bool duo_runs_direct(const duo_runs *r)
{
    return r->columns == 1 || (r->each == 0 && r->rows >= DUO_SHORTEST_RUN && r->ld >= r->rows);
}

/* Transfers of at most this many bytes are packed past the caches: their runs may be in the caches.
 * Larger ones are packed faster through them. (H100 host: 2048^3 1.15 ms, not 1.45; 4096^3 4.6, not
 * 4.2.) These are unpacked past the caches, so that lines of C are not read first. (Batches of 805
 * MB 13.8 ms, not 16.5; 4096^3 4.25, not 4.45.) */
enum { DUO_PAST_CACHES = 96 << 20 };

typedef enum duo_packing_way {
    DUO_PACK,
    DUO_PACK_PAST_CACHES,
    DUO_UNPACK,
    DUO_UNPACK_PAST_CACHES
} duo_packing_way;

static inline duo_packing_way duo_packing_way_of(double bytes)
{
    return bytes <= DUO_PAST_CACHES ? DUO_PACK_PAST_CACHES : DUO_PACK;
}

/* How a transfer that is packed in this way is unpacked. */
static inline duo_packing_way duo_unpacking_way_of(duo_packing_way packing)
{
    return packing == DUO_PACK ? DUO_UNPACK_PAST_CACHES : DUO_UNPACK;
}

/* Copies elements [from, from + count) between the runs and a packed buffer, on at most
 * `most_threads`. Bytes between the runs are neither read nor written. */
void duo_runs_pack(const duo_runs *runs, float *host, float *packed, int64_t from, int64_t count,
                   duo_packing_way way, int most_threads);

/* Makes pages of elements [from, from + count) of one matrix (host/pages.h); pages between the runs
 * are not made. The elements are cut into DUO_PAGE_PARTS equal parts, one for each piece of the
 * team's job. */
enum { DUO_PAGE_PARTS = 16, DUO_PAGE_ELEMENTS = DUO_PAGE_PARTS << 19 }; /* at most: 2 MiB a part */
void duo_runs_make_pages(const duo_runs *runs, float *host, int64_t from, int64_t count,
                         int most_threads);

#endif
