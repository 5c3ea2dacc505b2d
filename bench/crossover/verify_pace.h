/*
 * verify_pace.h - how fast the CPU is at the moment, against the profile. On a shared host its
 * clocks may be others than when the profile was measured, minutes before, and no noise shows it.
 */
#ifndef DUO_VERIFY_PACE_H
#define DUO_VERIFY_PACE_H

#include "duoblas.h"

/* A context in which one thread of the CPU does everything. NULL: no memory. */
duo_context *duo_verify_pace_open(void);

/* Real over predicted time of a product that the profile has measured, on one thread; NaN where
 * it fails, or nothing is predicted. */
double duo_verify_pace(duo_context *alone);

#endif
