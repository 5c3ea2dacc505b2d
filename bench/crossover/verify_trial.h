/*
 * verify_trial.h - one candidate of a drawn call, as a benchmark.
 *
 * It runs as dispatch would run it: operands are located and brought to its side, and outputs go
 * back to their places. The calls of a sample follow each other without a pause, and the last one
 * is waited for.
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

/* The `run` of a benchmark; `user` is a duo_trial. */
bool duo_trial_run(void *user, int64_t calls);

/* Seconds of one call; if the first is short, of a second one. Negative: it failed. */
double duo_trial_look(duo_trial *trial);

/* ---- Operands ---- */

/* Arrays of random numbers: one for each operand in each kind of memory, large enough for the
 * largest problem. */
typedef struct duo_verify_arrays {
    duo_context *context;
    bool gpu; /* without one, only plain host memory */
    int64_t floats[DUO_OPERANDS];
    duo_stock stock[DUO_PLACES][DUO_OPERANDS];
} duo_verify_arrays;

/* Allocates the arrays; floats[] has their sizes. False: out of memory. */
bool duo_verify_arrays_open(duo_verify_arrays *arrays);
void duo_verify_arrays_close(duo_verify_arrays *arrays);

/*
 * Gives the call of a problem its addresses, and keeps its kept arrays: their device copies are
 * current then. False: it is not possible. duo_verify_place_end has to follow in both cases.
 */
bool duo_verify_place(duo_verify_arrays *arrays, const duo_drawn *drawn, duo_call *call);
void duo_verify_place_end(duo_verify_arrays *arrays, const duo_drawn *drawn, const duo_call *call);

/* Makes device copies stale if the problem wants that; to be called before each call. */
bool duo_verify_make_stale(duo_context *context, const duo_drawn *drawn, const duo_call *call);

/* ---- verify_time.c: every candidate of a drawn call ---- */

/* The predicted seconds of the fastest algorithm, with the operands in any memory. */
double duo_verify_predict(duo_context *context, const duo_drawn *drawn);

/* Times all candidates of a problem, and the public function. *left_out grows by the candidates
 * that are predicted to be too slow. False: the problem cannot be placed, or no candidate could do
 * it. */
bool duo_verify_time(duo_verify_arrays *arrays, const duo_drawn *drawn, const duo_effort *effort,
                     duo_verified *result, int *left_out);

/* Times the candidate with all operands on its own side. False: it could not be timed. */
bool duo_verify_time_in_place(duo_verify_arrays *arrays, const duo_drawn *drawn,
                              const duo_effort *effort, const duo_timed *candidate,
                              duo_timed *in_place);

/* ---- The pace of the CPU ---- */

/* The pace is the CPU's current time, relative to the profile. On a shared host, clocks may have
 * changed within minutes, and no noise shows it. */

/* The `run` of a benchmark: multiplies `calls` times, in the caches, at a point of every profile's
 * curve. `context` is a duo_context. */
bool duo_verify_product(void *context, int64_t calls);

/* A context that uses only one thread of the CPU. NULL: no memory. */
duo_context *duo_verify_pace_open(void);

/* Real divided by predicted time of that product on one thread; NaN: it failed, or there is no
 * prediction. */
double duo_verify_pace(duo_context *alone);

#endif
