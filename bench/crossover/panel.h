/* panel.h - what the parts of a panel of curves share. */
#ifndef DUO_PANEL_H
#define DUO_PANEL_H

#include "bench/crossover/axis.h"
#include "bench/crossover/curves.h"

typedef struct duo_line {
    const char *title, *name; /* name: its class */
    const char *mark;         /* a shape too, for those who do not see the colours */
} duo_line;

extern const duo_line duo_lines[DUO_CURVES];

/* Of the axes, in the panel's own units. */
enum {
    DUO_PANEL_LEFT = 62,
    DUO_PANEL_RIGHT = DUO_PANEL_WIDTH - 12,
    DUO_PANEL_TOP = 74,
    DUO_PANEL_BOTTOM = DUO_PANEL_HEIGHT - 46
};

typedef struct duo_panel {
    const duo_crossover *x;
    duo_operation operation;
    duo_quantity quantity;
    duo_axis across, up;
    FILE *file;
} duo_panel;

/* ---- curves.c ---- */

/* Seconds, or what a call of so many seconds does in one: GFLOP of sgemm, else GB. */
double duo_panel_value(const duo_panel *p, const duo_problem *problem, double seconds);

/* ---- guides.c ---- */

/* A ring where the GPU starts to win, a guide up from it, and text above the curves. */
void duo_panel_guides(const duo_panel *p);

#endif
