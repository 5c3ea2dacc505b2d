/*
 * mishaps.h - shared by the tests of failures: a watchdog, the names of the backend's calls, and
 * calls that must be right after any mishap.
 */
#ifndef DUO_TESTS_MISHAPS_H
#define DUO_TESTS_MISHAPS_H

#include <stdbool.h>

#include "duoblas.h"
#include "sim/sim.h"

/* main() calls it first: from then on a watchdog ends the program if a case hangs. */
void watch(void);
void begin_case(const char *name); /* as test_case, and winds the watchdog up; alarm(0) stops it */

/* The name of a call of the backend; SIM_KINDS: of work that fails while it runs. */
const char *kind_name(sim_kind kind);

/* A failure. */
typedef struct mishap {
    sim_kind kind; /* SIM_KINDS: asynchronous, when the nth operation is carried out */
    duo_status status;
    int times;    /* 1, or -1: from then on */
    bool garbage; /* asynchronous: the operation leaves garbage */
    bool warm;    /* the context has been used before: queue and workspace are there */
    int row;      /* of a covering array; -1: of none */
} mishap;

/* The nth call, or operation, goes wrong, until it is disarmed. */
void mishap_arm(const mishap *what, int nth);
void mishap_disarm(const mishap *what);

/* Does this mishap's row of the covering array have the nth point of a scenario? A point has every
 * second row, or every fourth under sanitizers. */
bool mishap_covers(const mishap *what, int scenario, int nth);

/* The end of a case's name. */
const char *mishap_name(const mishap *what, int nth, char text[80]);

/*
 * Sweeps through the failures of a kind: each status, once or from then on, in a new context or a
 * warm one. In the rows of the covering array, every pair of two of these stands. Or through what
 * may fail while it runs: with garbage or without, in a new context or a warm one.
 */
void each_mishap(sim_kind kind, void (*sweep)(const mishap *what));

/* Plain calls after any mishap. They must be right, and with must_be_cpu on the CPU. */
void check_later_calls(duo_context *ctx, bool must_be_cpu);

/*
 * The point of failure to try after the nth. With DUOBLAS_TEST_LONG=1 it is the next one. Otherwise
 * each of the first `all` is tried and then one of `stride`; with 0, as under sanitizers, an eighth
 * of these.
 */
int mishap_after(int nth, int all, int stride);

#endif
