/*
 * correction_grid.h - a correction (choice/correction.h) is measured in two steps: a coarse grid of
 * every other size, then a fine grid of the sizes between. Shapes that are not measured take their
 * factors from measured ones.
 */
#ifndef DUO_CORRECTION_GRID_H
#define DUO_CORRECTION_GRID_H

#include "choice/correction.h"

typedef enum duo_grid { DUO_GRID_COARSE, DUO_GRID_FINE, DUO_GRIDS } duo_grid;

/* The number of shapes in both grids. at[]: the shape's m, n and k, as indices into
 * duo_correction_sizes. */
enum { DUO_GRID_SHAPES = DUO_CORRECTION_SIZES * DUO_CORRECTION_SIZES * DUO_CORRECTION_SIZES };
void duo_grid_shape(int number, int at[3]);

duo_grid duo_grid_of(const int at[3]);

float *duo_grid_factor(duo_correction *correction, int layout, const int at[3]);

/* The factor, limited to the range of a profile. */
float duo_grid_limited(double factor);

/* Each function sets the factor of a shape from others that are set already. */

/* For a shape that takes too long: takes the factor of the next smaller shape of its grid, along
 * its largest dimension; 1 if there is none. */
void duo_grid_take_smaller(duo_correction *correction, int layout, const int at[3]);

/* For a shape of the fine grid: takes the geometric mean of the coarse grid's factors around it. */
void duo_grid_take_between(duo_correction *correction, int layout, const int at[3]);

/* For a shape of the fine grid: takes its factor without transposes, times the ratio of the two
 * layouts in the coarse grid around it. */
void duo_grid_take_layout(duo_correction *correction, int layout, const int at[3]);

/* Sets the whole fine grid by one of these functions. */
typedef void duo_grid_take(duo_correction *correction, int layout, const int at[3]);
void duo_grid_fill(duo_correction *correction, int layout, duo_grid_take *take);

#endif
