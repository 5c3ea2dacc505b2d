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
    double low, high; /* values; low > high: none taken yet */
    double from, to;  /* where these stand */
} duo_axis;

enum { DUO_TICKS = 24 };

void duo_axis_begin(duo_axis *axis, double from, double to);
/* Widens the axis to have this value, which is positive. */
void duo_axis_take(duo_axis *axis, double value);
/* Widens it to whole decades. */
void duo_axis_round(duo_axis *axis);
double duo_axis_at(const duo_axis *axis, double value);
/* Values to be labelled: 1, 2 and 5 of each decade, or decades, every second or third if they are
 * many. Returns how many. */
int duo_axis_ticks(const duo_axis *axis, double tick[DUO_TICKS]);

/* ---- Panels: curves.c ---- */

typedef enum duo_quantity { DUO_TIME, DUO_SPEED } duo_quantity;

/* The CPU, and the GPU by where its operands are. */
enum { DUO_CURVES = 1 + DUO_PLACES, DUO_PANEL_WIDTH = 440, DUO_PANEL_HEIGHT = 320 };

/* Of the axes, in the panel's own units. */
enum {
    DUO_PANEL_LEFT = 62,
    DUO_PANEL_RIGHT = DUO_PANEL_WIDTH - 12,
    DUO_PANEL_TOP = 74,
    DUO_PANEL_BOTTOM = DUO_PANEL_HEIGHT - 46
};

typedef struct duo_line {
    const char *title, *name; /* name: its class */
    const char *mark;         /* a shape too, for those who do not see the colours */
} duo_line;

extern const duo_line duo_lines[DUO_CURVES];

typedef struct duo_panel {
    const duo_crossover *x;
    duo_operation operation;
    duo_quantity quantity;
    duo_axis across, up;
    FILE *file;
} duo_panel;

/* "GPU, plain host arrays" */
const char *duo_curve_title(int curve);

/* The panel at (x, y) of its parent; a panel that is no part of another stands at (0, 0). */
void duo_curves_panel(const duo_crossover *x, duo_operation operation, duo_quantity quantity,
                      double left, double top, FILE *file);

/* A piece of a line with a mark, 30 wide and 12 high, as the panels draw it. */
void duo_curves_sample(int curve, bool predicted, double left, double top, FILE *file);

/* Seconds, or what a call that takes them does in one second: GFLOP of sgemm, else GB. */
double duo_panel_value(const duo_panel *p, const duo_problem *problem, double seconds);

/* ---- guides.c ---- */

/* A ring where the GPU starts to win, a guide up from it, and text above the curves. */
void duo_panel_guides(const duo_panel *p);

#endif
