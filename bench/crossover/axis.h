/* axis.h - a logarithmic axis of a plot. */
#ifndef DUO_AXIS_H
#define DUO_AXIS_H

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

#endif
