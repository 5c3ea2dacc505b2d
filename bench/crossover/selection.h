/* selection.h - the sizes of a ladder that a short table shows. */
#ifndef DUO_SELECTION_H
#define DUO_SELECTION_H

#include "bench/crossover/crossover.h"

/*
 * Lists at most `most` cases of a family (at least 9), in the order of their sizes: the first, the
 * last, 1000, those on both sides of each crossing, and then whichever is farthest from those
 * listed. Returns how many.
 */
int duo_crossover_select(const duo_crossover *x, duo_operation operation, const char *family,
                         int most, const duo_case *at[DUO_CASES]);

#endif
