/*
 * samples.h - checksums of a few lines of an array, to find out later whether these have changed.
 *
 * A line is 64 bytes from the array's start on; the last may be shorter. If an array has at most
 * DUO_SAMPLED_LINES lines, all are sampled. Else one line is sampled in each of DUO_SAMPLED_LINES
 * equal parts, at a place that looks random but depends only on the array's size. The first and the
 * last line are always among them.
 */
#ifndef DUO_SAMPLES_H
#define DUO_SAMPLES_H

#include "data/range.h"

enum { DUO_SAMPLED_LINES = 512 }; /* 32 KiB are sampled whole */

typedef struct duo_samples {
    bool told;      /* the user was told of a change */
    size_t bytes;   /* the array's */
    size_t count;   /* samples */
    uint64_t sum[]; /* the sum of each line; 0: not taken yet */
} duo_samples;

/* No sample is taken yet. free() frees it; NULL: out of memory. */
duo_samples *duo_samples_make(size_t bytes);

/* Takes every sample that meets the range, from the array as it is now. */
void duo_samples_take(duo_samples *samples, const void *array, duo_range range);

/* The first line that lies entirely in `part`, meets neither of the ranges `but` and `nor`, and has
 * changed since it was sampled. An empty range: there is none. */
duo_range duo_samples_changed(const duo_samples *samples, const void *array, duo_range part,
                              duo_range but, duo_range nor);

#endif
