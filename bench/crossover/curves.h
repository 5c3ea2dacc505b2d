/*
 * curves.h - the curves of an operation as SVG: time or speed against size, both logarithmic.
 *
 * A panel is an <svg> element that scales to any width. Colours and line styles are classes of
 * duo_style_curves.
 */
#ifndef DUO_CURVES_H
#define DUO_CURVES_H

#include "bench/crossover/crossover.h"

typedef enum duo_quantity { DUO_TIME, DUO_SPEED } duo_quantity;

/* The CPU, and the GPU by where its operands are. */
enum { DUO_CURVES = 1 + DUO_PLACES, DUO_PANEL_WIDTH = 440, DUO_PANEL_HEIGHT = 320 };

/* "GPU, plain host arrays" */
const char *duo_curve_title(int curve);

/* The panel at (x, y) of its parent; a panel that is no part of another stands at (0, 0). */
void duo_curves_panel(const duo_crossover *x, duo_operation operation, duo_quantity quantity,
                      double left, double top, FILE *file);

/* A piece of a line with a mark, 30 wide and 12 high, as the panels draw it. */
void duo_curves_sample(int curve, bool predicted, double left, double top, FILE *file);

#endif
