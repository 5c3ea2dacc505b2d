/*
 * harness.h - shared by every test program: modes, cases, checks, contexts.
 *
 * A test program is called as `test_x cpu|sim|gpu [-seed N] [-only TEXT]`:
 *   cpu   calls are forced to the CPU side
 *   sim   the simulated GPU (sim/sim.h) is installed and calls are forced to the GPU side
 *   gpu   calls are forced to the GPU side of a real GPU; without one, exit status 77 and a line
 *         that says why
 * It prints the number of cases and assertions and returns nonzero if one failed. Comparisons are
 * written so that a NaN fails.
 */
#ifndef DUO_TESTS_HARNESS_H
#define DUO_TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "duoblas.h"

/* ---- Programs and cases ---- */

typedef enum test_mode { MODE_CPU, MODE_SIM, MODE_GPU } test_mode;

typedef struct test_entry {
    const char *name;
    void (*body)(void);
} test_entry;

/* Runs the tests in order (-only TEXT: those with TEXT in their name); main returns its result. The
 * list ends with a NULL name. Every test starts with test_reset(). */
int test_main(int argc, char **argv, const char *suite, const test_entry *tests);

test_mode test_mode_now(void);
bool test_gpu_side(void); /* sim or gpu: there is a device */
bool test_on_sim(void);   /* sim: calls of the backend are counted, and fail on demand */
duo_path test_path(void); /* forces calls to the side of the mode */
uint64_t test_seed(void); /* the number of -seed, or the usual one */

/* How much of its random work a test does: `few` with DUOBLAS_TEST_LONG=0, as under sanitizers,
 * `many` with 1, else `usual`. */
int test_amount(int few, int usual, int many);

/* Makes the process as it was at its start; in sim mode resets the simulated device and installs
 * its backend. */
void test_reset(void);

/* A new context that is forced to the side of the mode; destroy it with test_context_end, which
 * checks the statuses of duo_synchronize and duo_destroy. */
duo_context *test_context(void);
void test_context_end(duo_context *ctx);
duo_context *test_dead_context(void); /* a handle that once was a context */

/* Names the case that this thread now works on, and counts it: a problem string such as
 * "sgemm/gpu_tiled/nt/129x65x33/ld+3/a=1,b=0". Failing checks print it. */
void test_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One assertion; on failure prints file, line, case name and the message. Any thread. Returns
 * ok. */
#define CHECK(ok, ...) test_check((ok), #ok, __FILE__, __LINE__, __VA_ARGS__)
#define CHECK_STATUS(expected, call)                                                               \
    test_check_status((expected), (call), #call, __FILE__, __LINE__)
bool test_check(bool ok, const char *text, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool test_check_status(int expected, int got, const char *text, const char *file, int line);

/* An assertion: `text` contains `what`. */
void test_contains(const char *text, const char *what);

/* Says that a test does nothing in this mode or on this machine, and why. */
void test_skip(const char *why);

/* All output of the process to stdout and stderr from begin to end, as one string, cut at size - 1
 * characters. Not nested. */
void test_capture_begin(void);
size_t test_capture_end(char *text, size_t size);

#endif
