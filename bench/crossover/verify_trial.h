/*
 * verify_trial.h - one candidate of a drawn call, as a benchmark.
 *
 * It runs as dispatch would run it: the operands are located, brought to its side, and what it
 * writes goes where it belongs. The calls of a sample follow each other without a pause, and the
 * last is waited for.
 */
#ifndef DUO_VERIFY_TRIAL_H
#define DUO_VERIFY_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/crossover/verify.h"
#include "bench/crossover/verify_draw.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/stock.h"
#include "choice/costs.h"
#include "duoblas.h"

typedef struct duo_trial {
    duo_context *context;
    const duo_drawn *drawn;
    const duo_call *call;
    const duo_conditions *conditions;
    const duo_timed *candidate; /* NULL: the public function */
} duo_trial;

/* The `run` of a benchmark whose `user` is a trial. */
bool duo_trial_run(void *user, int64_t calls);

/* Seconds of one call, of the second one if the first was short; negative: it failed. */
double duo_trial_look(duo_trial *trial);

/* ---- Operands ---- */

/* An array of random numbers for each operand in each kind of memory, as large as the largest
 * problem needs. */
typedef struct duo_verify_arrays {
    duo_context *context;
    bool gpu; /* without one there is only plain host memory */
    int64_t floats[DUO_OPERANDS];
    duo_stock stock[DUO_PLACES][DUO_OPERANDS];
} duo_verify_arrays;

/* floats[] of `arrays` says how many each operand has. False: there is not so much memory. */
bool duo_verify_arrays_open(duo_verify_arrays *arrays);
void duo_verify_arrays_close(duo_verify_arrays *arrays);

/*
 * Gives the call of a problem its addresses, and keeps what is to be kept: copies on the device are
 * current then. False: it is not possible. To be ended in both cases.
 */
bool duo_verify_place(duo_verify_arrays *arrays, const duo_drawn *drawn, duo_call *call);
void duo_verify_place_end(duo_verify_arrays *arrays, const duo_drawn *drawn, const duo_call *call);

/* Makes the copies on the device stale where the problem wants that: before each call. */
bool duo_verify_make_stale(duo_context *context, const duo_drawn *drawn, const duo_call *call);

/* ---- verify_time.c: every candidate of a drawn call ---- */

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
