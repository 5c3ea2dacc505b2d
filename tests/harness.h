/*
 * harness.h - what every test program shares: modes, cases, random data, guarded memory, rows.
 *
 * A test program is called as `test_x cpu|sim|gpu [-seed N] [-only TEXT]`:
 *   cpu   calls are forced to the CPU side
 *   sim   the simulated GPU (sim_device.h) is installed and calls are forced to the GPU side
 *   gpu   the real backend, forced to the GPU side; exit status 77 and a loud line where there is none
 * It prints the number of cases and assertions and returns nonzero if one failed. Comparisons are
 * written so that a NaN fails.
 */
#ifndef DUO_TESTS_HARNESS_H
#define DUO_TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "duoblas.h"
#include "choice/select.h"

/* ---- Programs and cases ---- */

typedef enum test_mode { MODE_CPU, MODE_SIM, MODE_GPU } test_mode;

typedef struct test_entry {
    const char *name;
    void (*body)(void);
} test_entry;

/* Runs the tests in order (-only TEXT: those whose name contains it); to be returned from main.
 * The list ends with a NULL name. Every test starts with test_reset(). */
int test_main(int argc, char **argv, const char *suite, const test_entry *tests);

test_mode test_mode_now(void);
bool test_gpu_side(void); /* sim or gpu: there is a device */

/* A process state as after start: in sim mode resets the simulated device and installs its backend. */
void test_reset(void);

/* A new context that is forced to the side of the mode; destroy it with test_context_end, which
 * checks the statuses of duo_synchronize and duo_destroy. */
duo_context *test_context(void);
void test_context_end(duo_context *ctx);

/* Names the case that this thread now works on, and counts it: a problem string such as
 * "sgemm/gpu_tiled/nt/129x65x33/ld+3/a=1,b=0". Failing checks print it. */
void test_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One assertion; on failure prints file, line, case name and the message. Any thread. Returns ok.
 */
#define CHECK(ok, ...) test_check((ok), #ok, __FILE__, __LINE__, __VA_ARGS__)
#define CHECK_STATUS(expected, call)                                                               \
    test_check_status((expected), (call), #call, __FILE__, __LINE__)
bool test_check(bool ok, const char *text, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool test_check_status(int expected, int got, const char *text, const char *file, int line);

/* Says that a test does nothing in this mode or on this machine, and why. */
void test_skip(const char *why);

/* What the process writes to stdout and stderr from begin to end, as one string; at most size - 1
 * characters of it are kept. Not nested. */
void test_capture_begin(void);
size_t test_capture_end(char *text, size_t size);

/* ---- Random data ---- */

typedef struct test_rng {
    uint64_t state;
} test_rng;

/* A generator for one test: depends on -seed and on the label alone. */
test_rng test_rng_for(const char *label);
uint64_t test_random(test_rng *rng);
int64_t test_between(test_rng *rng, int64_t low, int64_t high); /* both ends included */
double test_unit(test_rng *rng);                                /* [0, 1) */

typedef enum test_data {
    DATA_SIGNED,  /* uniform in [-1, 1) */
    DATA_UNIT,    /* uniform in [0, 1) */
    DATA_NORMAL,  /* normal, variance 1 */
    DATA_INTEGER, /* integers -8 .. 8 */
    DATA_WIDE,    /* exponents -30 .. 30, random sign */
    DATA_NAN,     /* the poison */
    DATA_KINDS
} test_data;

void test_fill(test_rng *rng, test_data data, float *x, int64_t count);
const char *test_data_name(test_data data);

uint32_t test_bits(float x);
bool test_same(float x, float y); /* same bits */
float test_poison(void);          /* the NaN that fills gaps and unread outputs */
bool test_is_poison(float x);

/* ---- Guarded memory ---- */

/* A matrix of `runs` runs of `length` floats, ld apart, between two canary zones; the gaps between
 * the runs hold poison. A vector is runs of length 1. */
typedef struct test_array {
    float *data;
    int64_t length, runs, ld;
    size_t bytes; /* from data to the end of the last run; 0 if it has none */
    char *block;  /* what is allocated */
    size_t block_bytes;
} test_array;

/* Elements start as poison. offset: floats past a 64-byte boundary. Ends the program without
 * memory. */
test_array test_array_new(int64_t length, int64_t runs, int64_t ld, int64_t offset);
void test_array_fill(test_array *array, test_rng *rng, test_data data);
test_array test_array_copy(const test_array *array); /* same offset, same content */
bool test_array_intact(const test_array *array);     /* canaries and gaps as they were made */
bool test_array_equal(const test_array *x, const test_array *y); /* elements, by bits */
void test_array_free(test_array *array);

/* ---- Operands in every residence, through the public API ---- */

typedef enum test_place {
    PLACE_PAGEABLE,
    PLACE_PINNED, /* duo_malloc_host */
    PLACE_DEVICE, /* duo_malloc */
    PLACE_KEPT,   /* the array itself, under duo_keep */
    PLACES
} test_place;

typedef struct test_placed {
    test_place place;
    test_array *array; /* its host image */
    float *address;    /* what to pass to the library */
    void *memory;      /* what to free */
} test_placed;

const char *test_place_name(test_place place);
/* Puts the array there (gaps and all). An array without elements stays where it is. */
test_placed test_put(duo_context *ctx, test_place place, test_array *array);
/* Brings what is there now back to the host image, waits for it, and lets the place go. */
void test_take(duo_context *ctx, test_placed *placed);

/* ---- Rows, below the public API ---- */

/* Fills a call for column-major host operands; addresses may be NULL where they are not read.
 * `threads` is 1. */
duo_call test_sgemm_call(bool transa, bool transb, int64_t m, int64_t n, int64_t k, float alpha,
                         const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                         float *c, int64_t ldc);
/* Vectors by their first address in memory, increments of any sign, as the caller passes them. */
duo_call test_reduce_call(duo_operation operation, int64_t n, const float *x, int64_t incx,
                          const float *y, int64_t incy, float *result);

/* Rows of an operation that can be run in this mode: CPU rows in cpu mode, GPU rows otherwise. */
int test_rows(duo_operation operation, const duo_algorithm *row[DUO_CANDIDATES]);

/* Does the row round its operands to TF32? */
bool test_row_rounds(const duo_algorithm *row);

/* Does the row take the call, on a conditions where everything is allowed? */
bool test_row_accepts(const duo_algorithm *row, const duo_call *call);

/*
 * Runs a call whose operands are in host memory on this very row: a CPU row directly, a GPU row
 * through the backend in use (allocate, copy, launch, copy back). On the device, the operand lies
 * `offset` floats past a 256-byte boundary between poison, which must be the same afterwards; very
 * long gaps are left out there. by_slot: a reduction answers through the slot instead of device
 * memory. DUO_OK, DUO_DECLINED, or a status.
 */
int test_run_row(const duo_algorithm *row, const duo_call *call, int64_t offset, bool by_slot);

#endif
