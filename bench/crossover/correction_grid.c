/* correction_grid.c - see correction_grid.h */
#include "bench/crossover/correction_grid.h"

#include <math.h>

enum { SIZES = DUO_CORRECTION_SIZES };
_Static_assert(SIZES % 2 == 1, "what lies between has a coarse size on both sides");

void duo_grid_shape(int number, int at[3])
{
    at[0] = number / (SIZES * SIZES);
    at[1] = number / SIZES % SIZES;
    at[2] = number % SIZES;
}

duo_grid duo_grid_of(const int at[3])
{
    return at[0] % 2 == 0 && at[1] % 2 == 0 && at[2] % 2 == 0 ? DUO_GRID_COARSE : DUO_GRID_FINE;
}

float *duo_grid_factor(duo_correction *correction, int layout, const int at[3])
{
    return &correction->factor[layout][at[0]][at[1]][at[2]];
}

float duo_grid_limited(double factor)
{
    return (float)fmin(fmax(factor, 1.0 / DUO_CORRECTION_MOST), DUO_CORRECTION_MOST);
}

void duo_grid_take_smaller(duo_correction *correction, int layout, const int at[3])
{
    const int step = duo_grid_of(at) == DUO_GRID_COARSE ? 2 : 1;
    int largest = 0, smaller[3] = {at[0], at[1], at[2]};
    for (int axis = 1; axis < 3; axis++)
        if (at[axis] > at[largest]) largest = axis;
    smaller[largest] -= step;
    *duo_grid_factor(correction, layout, at) =
        at[largest] == 0 ? 1.0F : *duo_grid_factor(correction, layout, smaller);
}

/* The geometric mean of the coarse grid's factors around a shape of the fine grid. */
static double between(duo_correction *correction, int layout, const int at[3])
{
    enum { CORNERS = 8 };
    double logarithms = 0.0;
    for (int corner = 0; corner < CORNERS; corner++) {
        int coarse[3];
        for (int axis = 0; axis < 3; axis++)
            coarse[axis] = at[axis] + (at[axis] % 2 == 0 ? 0 : corner >> axis & 1 ? 1 : -1);
        logarithms += log((double)*duo_grid_factor(correction, layout, coarse));
    }
    return exp(logarithms / CORNERS);
}

void duo_grid_take_between(duo_correction *correction, int layout, const int at[3])
{
    *duo_grid_factor(correction, layout, at) = (float)between(correction, layout, at);
}

void duo_grid_take_layout(duo_correction *correction, int layout, const int at[3])
{
    *duo_grid_factor(correction, layout, at) =
        duo_grid_limited((double)*duo_grid_factor(correction, 0, at) *
                         between(correction, layout, at) / between(correction, 0, at));
}

void duo_grid_fill(duo_correction *correction, int layout, duo_grid_take *take)
{
    for (int i = 0; i < DUO_GRID_SHAPES; i++) {
        int at[3];
        duo_grid_shape(i, at);
        if (duo_grid_of(at) == DUO_GRID_FINE) take(correction, layout, at);
    }
}
