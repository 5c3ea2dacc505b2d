/*
 * mishaps.h - what the tests of failures share: a watchdog, the names of the backend's calls, and
 * calls that must be right after whatever happened.
 */
#ifndef DUO_TESTS_MISHAPS_H
#define DUO_TESTS_MISHAPS_H

#include <stdbool.h>

#include "duoblas.h"
#include "sim/sim.h"

/* Of main: a watchdog ends the program if a case hangs. */
void watch(void);
void begin_case(const char *name); /* as test_case, and winds the watchdog up; alarm(0) stops it */

/* Of a call of the backend; SIM_KINDS: of work that fails while it runs. */
const char *kind_name(sim_kind kind);

/* Plain calls after whatever happened: must be right, and on the CPU where there is nothing
 * else. */
void check_later_calls(duo_context *ctx, bool must_be_cpu);

/*
 * The point of failure to try after the nth: the next one, with DUOBLAS_TEST_LONG=1. Otherwise, of
 * calls with hundreds of them, each of the first `all` and then one of `stride`; with 0, as under
 * sanitizers, an eighth of these.
 */
int mishap_after(int nth, int all, int stride);

#endif
