/*
 * harness.c - what every test program shares; see harness.h.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "gpu/backend/backend.h"
#include "sim_device.h"
#include "gpu/backend/devices.h"
#include "choice/profile_in_use.h"

#include <CUnit/CUnit.h>
#include <CUnit/TestRun.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77, FAILURES_SHOWN = 20 };

/* ---- Programs and cases ---- */

static test_mode mode = MODE_CPU;
static uint64_t seed = 20250117;
static uint64_t cases, assertions, failures, failures_of_test;
static pthread_mutex_t report = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char case_name[256];

test_mode test_mode_now(void) { return mode; }

bool test_gpu_side(void) { return mode != MODE_CPU; }

static void check_contract(void)
{
    CHECK(sim_violations() == 0, "%d violations of the backend's contract", sim_violations());
}

void test_reset(void)
{
    if (mode != MODE_SIM) return;
    check_contract(); /* of what came before, which the reset forgets */
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

void test_skip(const char *why) { printf("    SKIPPED: %s\n", why); }

/* Read by the sanitizers, where there is one: asking for too much memory is a test, not an error. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

static void free_arena(void);

static void before_test(void)
{
    failures_of_test = 0;
    case_name[0] = '\0';
    test_reset();
}

static void after_test(void)
{
    free_arena();
    if (mode == MODE_SIM) check_contract();
}

static void announce(const CU_pTest test, const CU_pSuite suite)
{
    printf("  %s/%s\n", suite->pName, test->pName);
    fflush(stdout);
}

/* Tests decide for themselves; the user's settings and profile do not count. Where the workspace is
 * small, results are as right as elsewhere. */
static void forget_environment(void)
{
    static const char *const names[] = {"DUOBLAS_PATH",    "DUOBLAS_MATH",
                                        "DUOBLAS_VERBOSE", "DUOBLAS_DEVICE",
                                        "DUOBLAS_PROFILE", "DUOBLAS_DEVICE_MEMORY"};
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
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, mode == MODE_CPU ? DUO_PATH_CPU : DUO_PATH_GPU));
    return ctx;
}

void test_context_end(duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
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

/* ---- Random data: splitmix64 ---- */

test_rng test_rng_for(const char *label)
{
    uint64_t hash = 14695981039346656037u;
    for (; *label != '\0'; label++) hash = (hash ^ (unsigned char)*label) * 1099511628211u;
    return (test_rng){hash ^ (seed * 0x9e3779b97f4a7c15u)};
}

uint64_t test_random(test_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t test_between(test_rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)(test_random(rng) % (uint64_t)(high - low + 1));
}

double test_unit(test_rng *rng) { return (double)(test_random(rng) >> 11) * 0x1p-53; }

/* 24 random bits, so that every value of the uniform kinds is exact. */
static float unit_float(test_rng *rng) { return (float)(test_random(rng) >> 40) * 0x1p-24f; }

static float random_float(test_rng *rng, test_data data)
{
    switch (data) {
    case DATA_SIGNED:
        return 2.0f * unit_float(rng) - 1.0f;
    case DATA_UNIT:
        return unit_float(rng);
    case DATA_NORMAL: {
        const double radius = sqrt(-2.0 * log(1.0 - test_unit(rng)));
        return (float)(radius * cos(6.283185307179586 * test_unit(rng)));
    }
    case DATA_INTEGER:
        return (float)test_between(rng, -8, 8);
    case DATA_WIDE: {
        const float sign = test_random(rng) % 2 != 0 ? -1.0f : 1.0f;
        return sign * ldexpf(1.0f + unit_float(rng), (int)test_between(rng, -30, 30));
    }
    default:
        return test_poison();
    }
}

void test_fill(test_rng *rng, test_data data, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = random_float(rng, data);
}

const char *test_data_name(test_data data)
{
    static const char *const names[DATA_KINDS] = {"signed",  "unit", "normal",
                                                  "integer", "wide", "nan"};
    return names[data];
}

static const uint32_t poison_bits = 0x7fc5a5a5u;

uint32_t test_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

bool test_same(float x, float y) { return test_bits(x) == test_bits(y); }

float test_poison(void)
{
    float x;
    memcpy(&x, &poison_bits, sizeof x);
    return x;
}

bool test_is_poison(float x) { return test_bits(x) == poison_bits; }

static void fill_poison(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) memcpy(&x[i], &poison_bits, sizeof *x);
}

/* ---- Guarded memory ---- */

enum { ZONE_BYTES = 256, ALIGNMENT = 64 };
static const unsigned char canary = 0xc5;

test_array test_array_new(int64_t length, int64_t runs, int64_t ld, int64_t offset)
{
    test_array array = {.length = length, .runs = runs, .ld = ld};
    if (length > 0 && runs > 0) array.bytes = (size_t)((runs - 1) * ld + length) * sizeof(float);
    const size_t before = ZONE_BYTES + (size_t)offset * sizeof(float);
    array.block_bytes = (before + array.bytes + ZONE_BYTES + ALIGNMENT - 1) & ~(size_t)63;
    array.block = aligned_alloc(ALIGNMENT, array.block_bytes);
    if (array.block == NULL) {
        perror("test_array_new");
        exit(EXIT_FAILURE);
    }
    memset(array.block, canary, array.block_bytes);
    array.data = (float *)(void *)(array.block + before);
    fill_poison(array.data, (int64_t)(array.bytes / sizeof(float)));
    return array;
}

void test_array_fill(test_array *array, test_rng *rng, test_data data)
{
    for (int64_t r = 0; r < array->runs; r++)
        test_fill(rng, data, array->data + r * array->ld, array->length);
}

test_array test_array_copy(const test_array *array)
{
    test_array copy = *array;
    copy.block = aligned_alloc(ALIGNMENT, array->block_bytes);
    if (copy.block == NULL) {
        perror("test_array_copy");
        exit(EXIT_FAILURE);
    }
    memcpy(copy.block, array->block, array->block_bytes);
    copy.data = (float *)(void *)(copy.block + ((char *)array->data - array->block));
    return copy;
}

static bool is_canary(const char *low, const char *high)
{
    for (; low < high; low++)
        if ((unsigned char)*low != canary) return false;
    return true;
}

static bool all_poison(const float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!test_is_poison(x[i])) return false;
    return true;
}

bool test_array_intact(const test_array *array)
{
    const char *data = (const char *)array->data;
    if (!is_canary(array->block, data)) return false;
    if (!is_canary(data + array->bytes, array->block + array->block_bytes)) return false;
    for (int64_t r = 0; r + 1 < array->runs && array->length > 0; r++)
        if (!all_poison(array->data + r * array->ld + array->length, array->ld - array->length))
            return false;
    return true;
}

bool test_array_equal(const test_array *x, const test_array *y)
{
    if (x->length != y->length || x->runs != y->runs) return false;
    for (int64_t r = 0; r < x->runs && x->length > 0; r++)
        if (memcmp(x->data + r * x->ld, y->data + r * y->ld, (size_t)x->length * sizeof(float)) !=
            0)
            return false;
    return true;
}

void test_array_free(test_array *array)
{
    free(array->block);
    *array = (test_array){0};
}

/* ---- Operands in every residence ---- */

const char *test_place_name(test_place place)
{
    static const char *const names[PLACES] = {"pageable", "pinned", "device", "kept"};
    return names[place];
}

test_placed test_put(duo_context *ctx, test_place place, test_array *array)
{
    test_placed placed = {place, array, array->data, NULL};
    if (array->bytes == 0) placed.place = PLACE_PAGEABLE;
    const size_t offset = (uintptr_t)array->data % ALIGNMENT;
    switch (placed.place) {
    case PLACE_PINNED:
        CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, array->bytes + ALIGNMENT, &placed.memory));
        placed.address = (float *)(void *)((char *)placed.memory + offset);
        memcpy(placed.address, array->data, array->bytes);
        break;
    case PLACE_DEVICE:
        CHECK_STATUS(DUO_OK, duo_malloc(ctx, array->bytes + ALIGNMENT, &placed.memory));
        placed.address = (float *)(void *)((char *)placed.memory + offset);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, placed.address, array->data, array->bytes));
        break;
    case PLACE_KEPT:
        CHECK_STATUS(DUO_OK, duo_keep(ctx, array->data, array->bytes));
        break;
    default:
        break;
    }
    return placed;
}

void test_take(duo_context *ctx, test_placed *placed)
{
    test_array *array = placed->array;
    switch (placed->place) {
    case PLACE_PINNED:
        memcpy(array->data, placed->address, array->bytes);
        CHECK_STATUS(DUO_OK, duo_free_host(ctx, placed->memory));
        break;
    case PLACE_DEVICE:
        CHECK_STATUS(DUO_OK, duo_copy(ctx, array->data, placed->address, array->bytes));
        CHECK_STATUS(DUO_OK, duo_free(ctx, placed->memory));
        break;
    case PLACE_KEPT:
        CHECK_STATUS(DUO_OK, duo_release(ctx, array->data));
        break;
    default:
        break;
    }
    *placed = (test_placed){0};
}

/* ---- Rows ---- */

static duo_operand operand(const float *address, int64_t rows, int64_t columns, int64_t ld,
                           bool read, bool written)
{
    return (duo_operand){.address = (float *)(uintptr_t)address,
                         .rows = rows,
                         .columns = columns,
                         .ld = ld,
                         .read = read,
                         .written = written,
                         .residence = read || written ? DUO_AT_PAGEABLE : DUO_AT_UNUSED,
                         .on_host = true};
}

duo_call test_sgemm_call(bool transa, bool transb, int64_t m, int64_t n, int64_t k, float alpha,
                         const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                         float *c, int64_t ldc)
{
    const bool product = alpha != 0.0f && k > 0;
    return (duo_call){
        .operation = DUO_SGEMM,
        .transa = transa,
        .transb = transb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = alpha,
        .beta = beta,
        .operand = {operand(a, transa ? k : m, transa ? m : k, lda, product, false),
                    operand(b, transb ? n : k, transb ? k : n, ldb, product, false),
                    operand(c, m, n, ldc, beta != 0.0f, true)},
        .threads = 1,
    };
}

/* The logical first element of a vector that is passed by its first address. */
static const float *first_element(const float *x, int64_t n, int64_t inc)
{
    return inc < 0 && n > 0 ? x - (n - 1) * inc : x;
}

duo_call test_reduce_call(duo_operation operation, int64_t n, const float *x, int64_t incx,
                          const float *y, int64_t incy, float *result)
{
    const bool two = operation == DUO_SDOT;
    duo_call call = {.operation = operation, .m = 1, .n = n, .k = 0, .alpha = 1.0f, .threads = 1};
    call.operand[DUO_X] = operand(first_element(x, n, incx), 1, n, incx, n > 0, false);
    if (two) call.operand[DUO_Y] = operand(first_element(y, n, incy), 1, n, incy, n > 0, false);
    call.operand[DUO_RESULT] = operand(result, 1, 1, 1, false, true);
    return call;
}

int test_rows(duo_operation operation, const duo_algorithm *row[DUO_CANDIDATES])
{
    const duo_side side = mode == MODE_CPU ? DUO_SIDE_CPU : DUO_SIDE_GPU;
    const duo_algorithm_table *table = &duo_algorithm_tables[operation];
    int count = 0;
    for (int i = 0; i < table->count; i++)
        if (table->algorithm[i].side == side) row[count++] = &table->algorithm[i];
    return count;
}

bool test_row_rounds(const duo_algorithm *row)
{
    return duo_algorithm_serves(row, DUO_MATH_TF32) &&
           !duo_algorithm_serves(row, DUO_MATH_ACCURATE);
}

bool test_row_accepts(const duo_algorithm *row, const duo_call *call)
{
    const duo_conditions conditions = {.profile = duo_profile_in_use(),
                                       .path = DUO_PATH_AUTO,
                                       .math = DUO_MATH_ACCURATE,
                                       .threads = call->threads,
                                       .gpu = mode != MODE_CPU,
                                       .capability =
                                           mode == MODE_CPU ? 0 : duo_device_capability(0),
                                       .device_memory_bytes = 1e18};
    return row->accepts(call, &conditions);
}

/* Device memory, pinned memory of the same size, and a queue, kept for the length of a test; device
 * memory for the forms of A and B. */
static struct {
    duo_queue *queue;
    char *device, *pinned, *packed;
    uint64_t *pinned_result;
    size_t bytes, all_packed_bytes;
} arena;

static void free_arena(void)
{
    const duo_backend *backend = duo_backend_current();
    if (arena.queue != NULL) CHECK_STATUS(DUO_OK, backend->close(arena.queue));
    if (arena.device != NULL) CHECK_STATUS(DUO_OK, backend->release(0, arena.device));
    if (arena.pinned != NULL) CHECK_STATUS(DUO_OK, backend->unpin(arena.pinned));
    if (arena.pinned_result != NULL) CHECK_STATUS(DUO_OK, backend->unpin(arena.pinned_result));
    if (arena.packed != NULL) CHECK_STATUS(DUO_OK, backend->release(0, arena.packed));
    arena.queue = NULL;
    arena.device = arena.pinned = arena.packed = NULL;
    arena.pinned_result = NULL;
    arena.bytes = arena.all_packed_bytes = 0;
}

static duo_status make_arena(size_t bytes)
{
    if (bytes <= arena.bytes) return DUO_OK;
    free_arena();
    const duo_backend *backend = duo_backend_current();
    const size_t grown = 2 * bytes;
    void *device = NULL, *pinned = NULL, *slot = NULL;
    duo_status status = backend->open(0, NULL, &arena.queue);
    if (status == DUO_OK) status = backend->allocate(0, grown, &device);
    if (status == DUO_OK) status = backend->pin(0, grown, &pinned);
    if (status == DUO_OK) status = backend->pin(0, sizeof(uint64_t), &slot);
    arena.device = device;
    arena.pinned = pinned;
    arena.pinned_result = slot;
    arena.bytes = status == DUO_OK ? grown : 0;
    return status;
}

/* An operand's place in the arena. Its elements are those of the host, at the same or a shorter
 * distance. */
typedef struct image {
    size_t first; /* byte offset of its logical first element */
    size_t bytes; /* with the poison zones; 0: not used */
    int64_t ld;
} image;

enum { IMAGE_ALIGNMENT = 256, IMAGE_ZONE = 256, LONGEST_GAP = 1 << 20 };

static image plan_image(const duo_operand *o, int64_t offset, size_t base)
{
    image im = {.ld = o->ld};
    if ((!o->read && !o->written) || o->rows <= 0 || o->columns <= 0) return im;
    const int64_t gap = (o->ld < 0 ? -o->ld : o->ld) - o->rows;
    if (gap > LONGEST_GAP) im.ld = o->ld < 0 ? -o->rows : o->rows;
    duo_operand at = *o;
    at.ld = im.ld;
    uintptr_t low, high;
    at.address = (float *)((uintptr_t)1 << 40); /* any: only the distances count */
    duo_operand_span(&at, &low, &high);
    im.first = base + IMAGE_ZONE + (size_t)offset * sizeof(float) + ((uintptr_t)at.address - low);
    im.bytes = 2 * IMAGE_ZONE + (size_t)offset * sizeof(float) + (high - low);
    im.bytes = (im.bytes + IMAGE_ALIGNMENT - 1) / IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
    return im;
}

static void fill_image(const duo_operand *o, const image *im)
{
    float *first = (float *)(void *)(arena.pinned + im->first);
    for (int64_t j = 0; j < o->columns; j++)
        memcpy(first + j * im->ld, o->address + j * o->ld, (size_t)o->rows * sizeof(float));
}

/* Takes the elements home and leaves poison where they were. */
static void empty_image(const duo_operand *o, const image *im)
{
    float *first = (float *)(void *)(arena.pinned + im->first);
    for (int64_t j = 0; j < o->columns; j++) {
        if (o->written)
            memcpy(o->address + j * o->ld, first + j * im->ld, (size_t)o->rows * sizeof(float));
    }
    for (int64_t j = 0; j < o->columns; j++) fill_poison(first + j * im->ld, o->rows);
}

/* Where the row has forms, products are done by turns with none, with that of A, of B, and of both. */
static duo_status write_packed(const duo_algorithm *row, duo_call *moved)
{
    static unsigned product;
    const duo_backend *backend = duo_backend_current();
    size_t bytes[2];
    for (int i = DUO_A; i <= DUO_B; i++)
        bytes[i] = (backend->packed_bytes(row->id, moved, i) + IMAGE_ALIGNMENT - 1) /
                   IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
    if (bytes[0] + bytes[1] == 0) return DUO_OK;
    const unsigned which = product++ % 4;
    for (int i = DUO_A; i <= DUO_B; i++)
        if ((which >> i & 1) == 0 || !moved->operand[i].read) bytes[i] = 0;
    duo_status status = DUO_OK;
    if (bytes[0] + bytes[1] > arena.all_packed_bytes) {
        if (arena.packed != NULL) status = backend->release(0, arena.packed);
        arena.packed = NULL;
        arena.all_packed_bytes = 2 * (bytes[0] + bytes[1]);
        void *forms = NULL;
        if (status == DUO_OK) status = backend->allocate(0, arena.all_packed_bytes, &forms);
        arena.packed = forms;
    }
    char *place = arena.packed;
    for (int i = DUO_A; i <= DUO_B && status == DUO_OK; i++) {
        if (bytes[i] == 0) continue;
        status = backend->pack(arena.queue, row->id, moved, i, place);
        moved->operand[i].packed = place;
        place += bytes[i];
    }
    return status;
}

static int run_gpu_row(const duo_algorithm *row, const duo_call *call, int64_t offset, bool by_slot)
{
    const duo_backend *backend = duo_backend_current();
    duo_call moved = *call;
    image im[DUO_OPERANDS];
    size_t bytes = 0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        im[i] = plan_image(&call->operand[i], offset, bytes);
        bytes += im[i].bytes;
    }
    duo_status status = make_arena(bytes);
    if (status != DUO_OK) return status;
    fill_poison((float *)(void *)arena.pinned, (int64_t)(bytes / sizeof(float)));
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (im[i].bytes == 0) continue;
        fill_image(&call->operand[i], &im[i]);
        moved.operand[i].address = (float *)(void *)(arena.device + im[i].first);
        moved.operand[i].ld = im[i].ld;
    }
    const uint32_t ticket = (uint32_t)test_bits(test_poison()) + (uint32_t)call->n;
    __atomic_store_n(arena.pinned_result, 0, __ATOMIC_RELEASE);
    status = backend->copy(arena.queue, arena.device, bytes, arena.pinned, bytes, bytes, 1);
    if (status == DUO_OK && call->operation == DUO_SGEMM) status = write_packed(row, &moved);
    if (status == DUO_OK)
        status = backend->launch(arena.queue, row->id, &moved, by_slot ? arena.pinned_result : NULL,
                                 ticket);
    if (status == DUO_OK)
        status = backend->copy(arena.queue, arena.pinned, bytes, arena.device, bytes, bytes, 1);
    const duo_status finished = backend->finish(arena.queue);
    if (status == DUO_OK) status = finished;
    if (status != DUO_OK) return status;

    for (int i = 0; i < DUO_OPERANDS; i++)
        if (im[i].bytes > 0) empty_image(&call->operand[i], &im[i]);
    CHECK(all_poison((float *)(void *)arena.pinned, (int64_t)(bytes / sizeof(float))),
          "written outside the outputs, on the device");
    if (by_slot) {
        const uint64_t slot = __atomic_load_n(arena.pinned_result, __ATOMIC_ACQUIRE);
        const uint32_t bits = (uint32_t)slot;
        CHECK(slot >> 32 == ticket, "slot %#jx", (uintmax_t)slot);
        memcpy(call->operand[DUO_RESULT].address, &bits, sizeof bits);
    }
    return DUO_OK;
}

int test_run_row(const duo_algorithm *row, const duo_call *call, int64_t offset, bool by_slot)
{
    if (row->side == DUO_SIDE_CPU) return row->run(call);
    return run_gpu_row(row, call, offset, by_slot);
}
