/* selection.h - the sizes of a ladder that a short table shows. */
#ifndef DUO_SELECTION_H
#define DUO_SELECTION_H

#include "bench/crossover/crossover.h"
#include "bench/tool/table.h"

/*
 * Lists at most `most` cases of a family (at least 9), in the order of their sizes: the first, the
 * last, 1000, those on both sides of each crossing, and then whichever is farthest from those
 * listed. Returns how many.
 */
int duo_crossover_select(const duo_crossover *x, duo_operation operation, const char *family,
                         int most, const duo_case *at[DUO_CASES]);

/* ---- Every figure of a case ---- */

typedef void (*duo_take_figure)(void *user, const duo_case *c, const char *residence, duo_side side,
                                const duo_figure *f);

/*
 * Hands over all figures that there are. residence: "host" of CPU algorithms, "queue" of GPU
 * algorithms in a busy queue, else the place of the operands of the API on the GPU
 * (duo_place_names).
 */
void duo_series_each(const duo_case *c, duo_take_figure take, void *user);

/* ---- csv.c: rows of tables ---- */

/* "plain host arrays" and so on. */
extern const char *const duo_place_titles[DUO_PLACES];

/* The times of a case on the CPU and on the GPU, and who is faster. */
void duo_case_row(duo_table *table, const duo_case *c);

/* A figure. */
void duo_figure_row(duo_table *table, const duo_case *c, const char *where, duo_side side,
                    const duo_figure *f);

#endif
