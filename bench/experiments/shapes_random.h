/* shapes_random.h - the products of `duoblas bench shapes --random N`. */
#ifndef DUO_SHAPES_RANDOM_H
#define DUO_SHAPES_RANDOM_H

#include "bench/experiments/setup.h"

/* Draws bench->random products by bench->seed, of every class, that a GPU does in some 0.1 s, or
 * that a CPU does where there is none. */
void duo_shapes_draw(const duo_bench *bench, duo_problem *problem);

#endif
