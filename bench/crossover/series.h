/* series.h - every figure of a case, one after the other. */
#ifndef DUO_SERIES_H
#define DUO_SERIES_H

#include "bench/crossover/crossover.h"

typedef void (*duo_take_figure)(void *user, const duo_case *c, const char *residence, duo_side side,
                                const duo_figure *f);

/*
 * Hands over all figures that there are. residence: "host" of CPU algorithms, "queue" of GPU
 * algorithms in a busy queue, else the place of the operands of the API on the GPU
 * (duo_place_names).
 */
void duo_series_each(const duo_case *c, duo_take_figure take, void *user);

#endif
