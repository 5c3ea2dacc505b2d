/*
 * harness.c - programs and cases; see harness.h.
 */
#define _GNU_SOURCE
#include "support/harness.h"

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/run_algorithm.h"

#include <CUnit/CUnit.h>
#include <CUnit/TestRun.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77, FAILURES_SHOWN = 20 };

static test_mode mode = MODE_CPU;
static uint64_t seed = 20250117;
static uint64_t cases, assertions, failures, failures_of_test;
static pthread_mutex_t report = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char case_name[256];

test_mode test_mode_now(void) { return mode; }

bool test_gpu_side(void) { return mode != MODE_CPU; }

bool test_on_sim(void) { return mode == MODE_SIM; }

duo_path test_path(void) { return mode == MODE_CPU ? DUO_PATH_CPU : DUO_PATH_GPU; }

uint64_t test_seed(void) { return seed; }

int test_amount(int few, int usual, int many)
{
    const char *const asked = getenv("DUOBLAS_TEST_LONG");
    if (asked == NULL) return usual;
    return strcmp(asked, "1") == 0 ? many : few;
}

static void check_contract(void)
{
    CHECK(sim_violations() == 0, "%d violations of the backend's contract", sim_violations());
}

void test_reset(void)
{
    if (mode != MODE_SIM) return;
    check_contract(); /* before the reset forgets it */
    sim_reset();
    duo_backend_install(sim_backend());
}

void test_case(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(case_name, sizeof case_name, format, arguments);
    va_end(arguments);
    __atomic_fetch_add(&cases, 1, __ATOMIC_RELAXED);
}

bool test_check(bool ok, const char *text, const char *file, int line, const char *format, ...)
{
    if (ok) {
        __atomic_fetch_add(&assertions, 1, __ATOMIC_RELAXED);
        return true;
    }
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);

    pthread_mutex_lock(&report);
    __atomic_fetch_add(&assertions, 1, __ATOMIC_RELAXED);
    failures++;
    if (failures_of_test++ < FAILURES_SHOWN)
        fprintf(stderr, "%s:%d: FAILED: %s\n    %s: %s\n", file, line, text, case_name, message);
    if (CU_get_current_test() != NULL)
        CU_assertImplementation(CU_FALSE, (unsigned)line, text, file, "", CU_FALSE);
    pthread_mutex_unlock(&report);
    return false;
}

bool test_check_status(int expected, int got, const char *text, const char *file, int line)
{
    return test_check(got == expected, text, file, line, "status %d (%s), expected %d", got,
                      duo_status_string((duo_status)got), expected);
}

void test_contains(const char *text, const char *what)
{
    CHECK(strstr(text, what) != NULL, "no \"%s\" in \"%.300s\"", what, text);
}

void test_skip(const char *why) { printf("    SKIPPED: %s\n", why); }

/* Sanitizers read it: a test asks for too much memory on purpose. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

static void before_test(void)
{
    failures_of_test = 0;
    case_name[0] = '\0';
    test_reset();
}

static void after_test(void)
{
    test_release_arena();
    if (mode == MODE_SIM) check_contract();
}

static void announce(const CU_pTest test, const CU_pSuite suite)
{
    printf("  %s/%s\n", suite->pName, test->pName);
    fflush(stdout);
}

/* Tests make their own settings; the user's settings and profile do not count. A small workspace
 * must not change results. */
static void forget_environment(void)
{
    static const char *const names[] = {
        "DUOBLAS_PATH",    "DUOBLAS_MATH",          "DUOBLAS_VERBOSE", "DUOBLAS_DEVICE",
        "DUOBLAS_PROFILE", "DUOBLAS_DEVICE_MEMORY", "DUOBLAS_CHECK",   "DUOBLAS_WIPE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unsetenv(names[i]);
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
}

static int usage(const char *program)
{
    fprintf(stderr, "usage: %s [cpu|sim|gpu] [-seed N] [-only TEXT]\n", program);
    return 2;
}

int test_main(int argc, char **argv, const char *suite_name, const test_entry *tests)
{
    static const char *const names[] = {"cpu", "sim", "gpu"};
    const char *only = "";
    for (int i = 1; i < argc; i++) {
        int m = 0;
        while (m < 3 && strcmp(argv[i], names[m]) != 0) m++;
        if (m < 3)
            mode = (test_mode)m;
        else if (strcmp(argv[i], "-seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "-only") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            return usage(argv[0]);
    }
    forget_environment();
    if (mode == MODE_GPU) {
        const char *why = "";
        if (duo_devices(&why) == 0) {
            printf("SKIPPED: no GPU: %s\n", why);
            return EXIT_SKIPPED;
        }
    }
    printf("%s %s -seed %" PRIu64 "\n", suite_name, names[mode], seed);

    if (CU_initialize_registry() != CUE_SUCCESS) return EXIT_FAILURE;
    CU_pSuite suite =
        CU_add_suite_with_setup_and_teardown(suite_name, NULL, NULL, before_test, after_test);
    if (suite == NULL) return EXIT_FAILURE;
    for (const test_entry *t = tests; t->name != NULL; t++)
        if (strstr(t->name, only) != NULL && CU_add_test(suite, t->name, t->body) == NULL)
            return EXIT_FAILURE;
    CU_set_test_start_handler(announce);
    const CU_ErrorCode ran = CU_run_all_tests();
    const unsigned count = CU_get_number_of_tests_run();
    const bool ok = ran == CUE_SUCCESS && CU_get_number_of_failures() == 0 && failures == 0 &&
                    CU_get_number_of_tests_failed() == 0 && count > 0;
    CU_cleanup_registry();
    printf("%s %s: %u tests, %" PRIu64 " cases, %" PRIu64 " assertions, %" PRIu64 " failed: %s\n",
           suite_name, names[mode], count, cases, assertions, failures, ok ? "ok" : "FAILED");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

duo_context *test_context(void)
{
    duo_context *ctx = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, test_path()));
    return ctx;
}

void test_context_end(duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

duo_context *test_dead_context(void)
{
    duo_context *ctx = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    return ctx;
}

/* ---- Capture ---- */

static int saved_out = -1, saved_err = -1, capture = -1;

void test_capture_begin(void)
{
    fflush(stdout);
    fflush(stderr);
    saved_out = dup(STDOUT_FILENO);
    saved_err = dup(STDERR_FILENO);
    capture = memfd_create("capture", MFD_CLOEXEC);
    if (saved_out < 0 || saved_err < 0 || capture < 0) abort();
    dup2(capture, STDOUT_FILENO);
    dup2(capture, STDERR_FILENO);
}

size_t test_capture_end(char *text, size_t size)
{
    fflush(stdout);
    fflush(stderr);
    dup2(saved_out, STDOUT_FILENO);
    dup2(saved_err, STDERR_FILENO);
    close(saved_out);
    close(saved_err);
    const off_t end = lseek(capture, 0, SEEK_END);
    const ssize_t got = pread(capture, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    close(capture);
    return (size_t)end;
}
