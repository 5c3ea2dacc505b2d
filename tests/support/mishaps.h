/*
 * mishaps.h - shared by the tests of failures: a watchdog, the names of the backend's calls, and
 * calls that must be right after any mishap.
 */
#ifndef DUO_TESTS_MISHAPS_H
#define DUO_TESTS_MISHAPS_H

#include <stdbool.h>

#include "duoblas.h"
#include "sim/sim.h"

/* Of main: a watchdog ends the program if a case hangs. */
void watch(void);
void begin_case(const char *name); /* as test_case, and winds the watchdog up; alarm(0) stops it */

/* The name of a call of the backend; SIM_KINDS: of work that fails while it runs. */
const char *kind_name(sim_kind kind);

/* Plain calls after any mishap. They must be right, and with must_be_cpu on the CPU. */
void check_later_calls(duo_context *ctx, bool must_be_cpu);

/*
 * The point of failure to try after the nth. With DUOBLAS_TEST_LONG=1 it is the next one. Otherwise
 * each of the first `all` is tried and then one of `stride`; with 0, as under sanitizers, an eighth
 * of these.
 */
int mishap_after(int nth, int all, int stride);

#endif
