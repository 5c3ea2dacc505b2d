/*
 * verify_pace.h - how fast the CPU is at the moment, against the profile. On a shared host its
 * clocks may be others than when the profile was measured, minutes before, and no noise shows it.
 */
#ifndef DUO_VERIFY_PACE_H
#define DUO_VERIFY_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "duoblas.h"

/* Multiplies so many times; `context` is a duo_context. A point of every profile's curve, in the
 * caches. The `run` of a benchmark. */
bool duo_verify_product(void *context, int64_t calls);

/* A context in which one thread of the CPU does everything. NULL: no memory. */
duo_context *duo_verify_pace_open(void);

/* Real over predicted time of that product on one thread; NaN where it fails, or nothing is
 * predicted. */
double duo_verify_pace(duo_context *alone);

#endif
