/*
 * panel.h - the curves of an operation as SVG: time or speed against size, both logarithmic.
 *
 * A panel is an <svg> element that scales to any width. Colours and line styles are classes of
 * duo_style_curves.
 */
#ifndef DUO_PANEL_H
#define DUO_PANEL_H

#include "bench/crossover/crossover.h"

/* ---- Colours and forms, in light and dark, as CSS ---- */

/* Colours, and the classes of a panel of curves. */
extern const char duo_style_curves[];
/* The page around them. */
extern const char duo_style_page[];

/* ---- Logarithmic axes ---- */

typedef struct duo_axis {
    double low, high; /* values; low > high: none yet */
    double from, to;  /* their positions in the picture */
} duo_axis;

enum { DUO_TICKS = 24, DUO_AXIS_MARKS = 64 };

void duo_axis_begin(duo_axis *axis, double from, double to);
/* Widens the axis to this value, which is positive. */
void duo_axis_take(duo_axis *axis, double value);
/* Widens it to whole decades. */
void duo_axis_round(duo_axis *axis);
double duo_axis_at(const duo_axis *axis, double value);
/* Lists the values to label: 1, 2 and 5 of each decade; if they are many, decades, or every second
 * or third one. Returns how many. */
int duo_axis_ticks(const duo_axis *axis, double tick[DUO_TICKS]);
/* Lists 1, 2 and 5 of each decade; returns how many. */
int duo_axis_marks(const duo_axis *axis, double mark[DUO_AXIS_MARKS]);

/* ---- Panels: curves.c ---- */

typedef enum duo_quantity { DUO_TIME, DUO_SPEED } duo_quantity;

/* One curve for the CPU; for the GPU one for each place of its operands. */
enum { DUO_CURVES = 1 + DUO_PLACES, DUO_PANEL_WIDTH = 440, DUO_PANEL_HEIGHT = 320 };

/* The ends of the axes, in the panel's units. */
enum {
    DUO_PANEL_LEFT = 62,
    DUO_PANEL_RIGHT = DUO_PANEL_WIDTH - 12,
    DUO_PANEL_TOP = 74,
    DUO_PANEL_BOTTOM = DUO_PANEL_HEIGHT - 46
};

typedef struct duo_line {
    const char *title, *name; /* name: its CSS class */
    const char *mark;         /* a shape, as not all readers can tell the colours */
} duo_line;

extern const duo_line duo_lines[DUO_CURVES];

typedef struct duo_panel {
    const duo_crossover *x;
    duo_operation operation;
    duo_quantity quantity;
    duo_axis across, up;
    FILE *file;
} duo_panel;

/* "GPU, arrays plain" */
const char *duo_curve_title(int curve);

/* Draws the panel at (left, top) of its parent; (0, 0) if it has none. */
void duo_curves_panel(const duo_crossover *x, duo_operation operation, duo_quantity quantity,
                      double left, double top, FILE *file);

/* Draws a sample of a line with its mark, 30 wide and 12 high. */
void duo_curves_sample(int curve, bool predicted, double left, double top, FILE *file);

/* The value on the upward axis: seconds, or the speed of a call that takes them, in GFLOP/s for
 * sgemm, else GB/s. */
double duo_panel_value(const duo_panel *p, const duo_problem *problem, double seconds);

/* ---- guides.c ---- */

/* Prints "; the GPU is faster" and the sizes from which it wins, for those who do not see the
 * panel. */
void duo_panel_label(const duo_panel *p);

/* Draws a ring where the GPU starts to win, a guide down from it, and text above the curves. */
void duo_panel_guides(const duo_panel *p);

#endif
