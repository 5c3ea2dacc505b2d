/*
 * correction_grid.h - a correction (choice/correction.h) is measured in two steps: a coarse grid of
 * every other size, then the fine one, which lies between. What is not measured takes its factor
 * from what is.
 */
#ifndef DUO_CORRECTION_GRID_H
#define DUO_CORRECTION_GRID_H

#include "choice/correction.h"

typedef enum duo_grid { DUO_GRID_COARSE, DUO_GRID_FINE, DUO_GRIDS } duo_grid;

/* The shapes of both grids; of each, the numbers of its m, n and k in duo_correction_sizes. */
enum { DUO_GRID_SHAPES = DUO_CORRECTION_SIZES * DUO_CORRECTION_SIZES * DUO_CORRECTION_SIZES };
void duo_grid_shape(int number, int at[3]);

duo_grid duo_grid_of(const int at[3]);

float *duo_grid_factor(duo_correction *correction, int layout, const int at[3]);

/* Limited to what a profile may hold. */
float duo_grid_limited(double factor);

/* Each sets the factor of a shape, from others of its layout that are set already: */

/* A shape that takes too long: as the next one of its grid that is smaller where this is largest;
 * 1 where there is none. */
void duo_grid_take_smaller(duo_correction *correction, int layout, const int at[3]);

/* A shape of the fine grid: the geometric mean of those of the coarse grid around it. */
void duo_grid_take_between(duo_correction *correction, int layout, const int at[3]);

/* A shape of the fine grid that is set without transposes: as far from that as the coarse grids of
 * the two layouts are around it. */
void duo_grid_take_layout(duo_correction *correction, int layout, const int at[3]);

/* Sets all of the fine grid by one of these. */
typedef void duo_grid_take(duo_correction *correction, int layout, const int at[3]);
void duo_grid_fill(duo_correction *correction, int layout, duo_grid_take *take);

#endif
