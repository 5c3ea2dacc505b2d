/* verify_time.h - times every candidate of a drawn call. */
#ifndef DUO_VERIFY_TIME_H
#define DUO_VERIFY_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/crossover/verify.h"
#include "bench/crossover/verify_trial.h"
#include "bench/measure/benchmark.h"
#include "duoblas.h"

/* Seconds that the fastest algorithm is predicted to take, wherever the operands' memory is. */
double duo_verify_predict(duo_context *context, const duo_drawn *drawn);

/* Times all candidates of a problem, and the public function. *left_out grows by those that are
 * predicted to be too slow. False: the problem cannot be placed, or nothing could do it. */
bool duo_verify_time(duo_verify_arrays *arrays, const duo_drawn *drawn, const duo_effort *effort,
                     duo_verified *result, int *left_out);

/* The same candidate with every operand on its own side. False: it could not be timed. */
bool duo_verify_time_in_place(duo_verify_arrays *arrays, const duo_drawn *drawn,
                              const duo_effort *effort, const duo_timed *candidate,
                              duo_timed *in_place);

/* ---- The pace of the CPU ---- */

/* How fast it is at the moment, against the profile: on a shared host its clocks may be others than
 * when the profile was measured, minutes before, and no noise shows it. */

/* Multiplies `calls` times; `context` is a duo_context. A point of every profile's curve, in the
 * caches. The `run` of a benchmark. */
bool duo_verify_product(void *context, int64_t calls);

/* A context in which one thread of the CPU does everything. NULL: no memory. */
duo_context *duo_verify_pace_open(void);

/* Real over predicted time of that product on one thread; NaN where it fails, or nothing is
 * predicted. */
double duo_verify_pace(duo_context *alone);

#endif
