/* selection.h - chooses the sizes of a ladder that a short table shows. */
#ifndef DUO_SELECTION_H
#define DUO_SELECTION_H

#include "bench/crossover/crossover.h"
#include "bench/tool/table.h"

/*
 * Lists at most `most` cases of a family (at least 9), in the order of their sizes: the first, the
 * last, 1000, the sizes on both sides of each crossing, and then always the farthest from all
 * listed ones. Returns how many.
 */
int duo_crossover_select(const duo_crossover *x, duo_operation operation, const char *family,
                         int most, const duo_case *at[DUO_CASES]);

/* ---- Every figure of a case ---- */

typedef void (*duo_take_figure)(void *user, const duo_case *c, const char *residence, duo_side side,
                                const duo_figure *f);

/*
 * Calls `take` for every figure of the case. residence: "host" for CPU algorithms; "queue" for GPU
 * algorithms in a busy queue; for the API on the GPU, the place of its operands (duo_place_names).
 */
void duo_series_each(const duo_case *c, duo_take_figure take, void *user);

/* ---- csv.c: rows of tables ---- */

/* A row with the times of a case on CPU and GPU, and the faster side. */
void duo_case_row(duo_table *table, const duo_case *c);

/* Explains these rows. */
extern const char *const duo_figures_marks;
/* How often the figures of a family were measured: "; 5 to 15 runs each", or "" if not known. */
const char *duo_runs_text(const duo_crossover *x, duo_operation operation, const char *family,
                          char text[DUO_TEXT]);

/* A row with one figure. */
void duo_figure_row(duo_table *table, const duo_case *c, const char *where, duo_side side,
                    const duo_figure *f);

#endif
