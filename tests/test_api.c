/*
 * test_api.c - every status of every public function, outputs untouched on errors, the setters,
 * texts, and silence.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"

static int devices(void)
{
    int count = -1;
    CHECK_STATUS(DUO_OK, duo_device_count(&count));
    return count;
}

/* A handle that was a context once. */
static duo_context *ended_context(void)
{
    duo_context *ctx = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    return ctx;
}

/* ---- Contexts ---- */

static void create_and_destroy(void)
{
    test_case("create, destroy");
    CHECK_STATUS(DUO_ERR_NULL, duo_create(NULL));
    CHECK_STATUS(DUO_OK, duo_destroy(NULL));
    duo_context *a = NULL, *b = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&a));
    CHECK_STATUS(DUO_OK, duo_create(&b));
    CHECK(a != NULL && b != NULL && a != b, "two contexts");
    CHECK_STATUS(DUO_OK, duo_destroy(a));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy(a));
    CHECK_STATUS(DUO_OK, duo_synchronize(b));
    CHECK_STATUS(DUO_OK, duo_destroy(b));
}

static void log_nowhere(void *user, const char *line) { (void)user, (void)line; }

/* Every function that takes a context, with one that is not live; outputs stay as they are. */
static void refuse_context(duo_context *dead)
{
    float x[4] = {1, 2, 3, 4}, result = 5.0f;
    void *ptr = x;
    duo_decision decision = {.size = sizeof decision};
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_path(dead, DUO_PATH_CPU));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_math(dead, DUO_MATH_IEEE));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_threads(dead, 1));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_device(dead, 0));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_stream(dead, NULL));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_log(dead, log_nowhere, NULL));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_warm_up(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_synchronize(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_sgemm(dead, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 1, 1,
                                            1, 1.0f, x, 1, x, 1, 0.0f, &result, 1));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_sasum(dead, 4, x, 1, &result));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_ssum(dead, 4, x, 1, &result));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_sdot(dead, 4, x, 1, x, 1, &result));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_ssum(dead, 0, x, 1, &result));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_malloc(dead, 16, &ptr));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_free(dead, x));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_malloc_host(dead, 16, &ptr));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_free_host(dead, x));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_copy(dead, &result, x, 4));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_adopt(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_disown(dead, x));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_trim(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_keep(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_changed(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_fetch(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_release(dead, x));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_prepare(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_explain_last(dead, &decision));
    CHECK(duo_error_detail(dead) != NULL, "detail of a dead context");
    CHECK(result == 5.0f && ptr == (void *)x && decision.operation == NULL, "an output changed");
}

static void dead_contexts(void)
{
    test_case("an ended context");
    refuse_context(ended_context());
    test_case("something that was never a context");
    static max_align_t zeros[512];
    refuse_context((duo_context *)(void *)zeros);
}

static void setters(void)
{
    duo_context *ctx = NULL;
    test_case("setters");
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    for (int path = DUO_PATH_AUTO; path <= DUO_PATH_GPU; path++)
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, (duo_path)path));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_path(ctx, (duo_path)-1));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_path(ctx, (duo_path)3));
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_ACCURATE));
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_TF32));
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_math(ctx, (duo_math)4));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_math(ctx, (duo_math)-1));
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 2));
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 0));
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_threads(ctx, -1));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(ctx, -1));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(ctx, devices()));
    if (devices() == 0) {
        CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(ctx, 0));
        CHECK_STATUS(DUO_ERR_DEVICE, duo_set_stream(ctx, (void *)ctx));
    } else {
        CHECK_STATUS(DUO_OK, duo_set_device(ctx, devices() - 1));
        CHECK_STATUS(DUO_OK, duo_set_device(ctx, 0));
        CHECK_STATUS(DUO_OK, duo_set_stream(ctx, NULL));
    }
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, log_nowhere, NULL));
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, NULL, NULL));
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    test_case("setters of the default context");
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_AUTO));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_path(NULL, (duo_path)7));
    CHECK_STATUS(DUO_OK, duo_synchronize(NULL));
    CHECK_STATUS(DUO_OK, duo_trim(NULL));
}

/* A stream of the caller's is handed to the backend, and the context's own comes back with NULL. */
static void streams(void)
{
    if (test_mode_now() != MODE_SIM) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("stream");
    duo_context *ctx = test_context();
    int stream;
    float x[3] = {1, 2, 3}, sum = NAN;
    CHECK_STATUS(DUO_OK, duo_set_stream(ctx, &stream));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, x, 1, &sum));
    CHECK(sum == 6.0f, "%g", (double)sum);
    CHECK_STATUS(DUO_OK, duo_set_stream(ctx, NULL));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 2, x, 1, &sum));
    CHECK(sum == 3.0f, "%g", (double)sum);
    CHECK(sim_count(SIM_OPEN) == 2, "%ju queues opened", (uintmax_t)sim_count(SIM_OPEN));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* ---- Devices ---- */

static void device_facts(void)
{
    test_case("devices");
    CHECK_STATUS(DUO_ERR_NULL, duo_device_count(NULL));
    const int count = devices();
    CHECK(test_gpu_side() ? count > 0 : count >= 0, "%d", count);
    duo_device_info info = {.size = sizeof info};
    CHECK_STATUS(DUO_ERR_NULL, duo_device_describe(0, NULL));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_device_describe(-1, &info));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_device_describe(count, &info));
    CHECK(info.name[0] == '\0', "written on failure");
    if (count == 0) return;
    info.size = 8;
    CHECK_STATUS(DUO_ERR_SIZE, duo_device_describe(0, &info));
    info.size = sizeof info;
    CHECK_STATUS(DUO_OK, duo_device_describe(0, &info));
    CHECK(info.size == sizeof info && info.name[0] != '\0' && info.memory_bytes > 0 &&
              info.memory_free_bytes <= info.memory_bytes && info.capability_major > 0 &&
              info.multiprocessors > 0 && info.driver_version > 0,
          "%s, %ju of %ju bytes free", info.name, (uintmax_t)info.memory_free_bytes,
          (uintmax_t)info.memory_bytes);
    CHECK(test_mode_now() != MODE_SIM || strcmp(info.name, "Simulated GPU") == 0, "%s", info.name);
}

static void several_devices(void)
{
    if (test_mode_now() != MODE_SIM) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("several devices");
    sim_set_devices(3);
    duo_backend_install(sim_backend());
    CHECK(devices() == 3, "%d", devices());
    duo_context *ctx = test_context();
    float x[3] = {1, 2, 3}, sum = NAN;
    for (int d = 0; d < 3; d++) {
        CHECK_STATUS(DUO_OK, duo_set_device(ctx, d));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, x, 1, &sum));
        CHECK(sum == 6.0f, "device %d: %g", d, (double)sum);
    }
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(ctx, 3));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* ---- sgemm ---- */

typedef struct arguments {
    duo_layout layout;
    duo_transpose transa, transb;
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    float *c;
    int64_t ldc;
} arguments;

static duo_status sgemm(duo_context *ctx, const arguments *g)
{
    return duo_sgemm(ctx, g->layout, g->transa, g->transb, g->m, g->n, g->k, g->alpha, g->a, g->lda,
                     g->b, g->ldb, g->beta, g->c, g->ldc);
}

static float matrix_a[64], matrix_b[64], matrix_c[64];

static arguments good_arguments(duo_layout layout)
{
    return (arguments){layout, DUO_NO_TRANS, DUO_NO_TRANS, 3, 4, 5, 1.0f, matrix_a, 8, matrix_b,
                       8,      0.0f,         matrix_c,     8};
}

static void expect_sgemm(duo_context *ctx, duo_status expected, arguments g, const char *what)
{
    test_case("sgemm/%s/layout=%d", what, (int)g.layout);
    for (int i = 0; i < 64; i++) matrix_a[i] = matrix_b[i] = 1.0f, matrix_c[i] = test_poison();
    CHECK_STATUS(expected, sgemm(ctx, &g));
    bool untouched = true;
    for (int i = 0; i < 64; i++) untouched = untouched && test_is_poison(matrix_c[i]);
    CHECK(expected == DUO_OK || untouched, "C has changed");
}

#define EXPECT(status, change)                                                                     \
    do {                                                                                           \
        arguments g = good;                                                                        \
        change;                                                                                    \
        expect_sgemm(ctx, status, g, #change);                                                     \
    } while (0)

static void sgemm_arguments(void)
{
    duo_context *ctx = test_context();
    for (int l = DUO_ROW_MAJOR; l <= DUO_COL_MAJOR; l++) {
        const arguments good = good_arguments((duo_layout)l);
        EXPECT(DUO_OK, (void)0);
        EXPECT(DUO_ERR_ENUM, g.layout = (duo_layout)0);
        EXPECT(DUO_ERR_ENUM, g.layout = (duo_layout)103);
        EXPECT(DUO_ERR_ENUM, g.transa = (duo_transpose)110);
        EXPECT(DUO_ERR_ENUM, g.transa = (duo_transpose)'N');
        EXPECT(DUO_ERR_ENUM, g.transb = (duo_transpose)114);
        EXPECT(DUO_ERR_SIZE, g.m = -1);
        EXPECT(DUO_ERR_SIZE, g.n = -1);
        EXPECT(DUO_ERR_SIZE, g.k = -1);
        EXPECT(DUO_ERR_SIZE, g.m = INT64_MIN);
        EXPECT(DUO_ERR_NULL, g.a = NULL);
        EXPECT(DUO_ERR_NULL, g.b = NULL);
        EXPECT(DUO_ERR_NULL, g.c = NULL);
        EXPECT(DUO_OK, g.a = NULL; g.alpha = 0.0f);
        EXPECT(DUO_OK, g.b = NULL; g.k = 0);
        EXPECT(DUO_ERR_NULL, g.c = NULL; g.alpha = 0.0f);
        EXPECT(DUO_OK, g.c = NULL; g.m = 0);
        EXPECT(DUO_OK, g.c = NULL; g.n = 0);
        EXPECT(DUO_ERR_LD, g.lda = 0);
        EXPECT(DUO_ERR_LD, g.ldb = 0);
        EXPECT(DUO_ERR_LD, g.ldc = 0);
        EXPECT(DUO_ERR_LD, g.lda = -8);
        EXPECT(DUO_ERR_LD, g.ldc = INT64_MIN);
        EXPECT(DUO_ERR_LD, g.m = 0; g.ldc = 0; g.lda = l == DUO_COL_MAJOR ? 0 : 8);
    }
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* The least leading dimensions that are legal, for every transpose, and one less. */
static void sgemm_leading_dimensions(void)
{
    duo_context *ctx = test_context();
    for (int l = DUO_ROW_MAJOR; l <= DUO_COL_MAJOR; l++) {
        for (int t = 0; t < 4; t++) {
            arguments good = good_arguments((duo_layout)l);
            good.transa = t % 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
            good.transb = t / 2 != 0 ? DUO_CONJ_TRANS : DUO_NO_TRANS;
            const bool columns = l == DUO_COL_MAJOR;
            const int64_t lda = columns != (t % 2 != 0) ? good.m : good.k;
            const int64_t ldb = columns != (t / 2 != 0) ? good.k : good.n;
            const int64_t ldc = columns ? good.m : good.n;
            EXPECT(DUO_OK, g.lda = lda; g.ldb = ldb; g.ldc = ldc);
            EXPECT(DUO_ERR_LD, g.lda = lda - 1);
            EXPECT(DUO_ERR_LD, g.ldb = ldb - 1);
            EXPECT(DUO_ERR_LD, g.ldc = ldc - 1);
            /* also where the operand is not read */
            EXPECT(DUO_ERR_LD, g.lda = lda - 1; g.alpha = 0.0f);
        }
    }
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

static void sgemm_beyond_the_address_space(void)
{
    duo_context *ctx = test_context();
    for (int l = DUO_ROW_MAJOR; l <= DUO_COL_MAJOR; l++) {
        const arguments good = good_arguments((duo_layout)l);
        const int64_t huge = (int64_t)1 << 40;
        EXPECT(DUO_ERR_SIZE, g.m = g.n = g.k = huge; g.lda = g.ldb = g.ldc = huge);
        EXPECT(DUO_ERR_SIZE, g.lda = INT64_MAX);
        EXPECT(DUO_ERR_SIZE, g.ldb = INT64_MAX);
        EXPECT(DUO_ERR_SIZE, g.ldc = INT64_MAX);
        EXPECT(DUO_ERR_SIZE, g.ldc = INT64_MAX / 2);
        EXPECT(DUO_ERR_SIZE, g.m = g.n = g.k = g.lda = g.ldb = g.ldc = INT64_MAX);
    }
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* The first that applies, in the documented order. */
static void sgemm_order_of_errors(void)
{
    duo_context *ctx = test_context();
    const arguments good = good_arguments(DUO_COL_MAJOR);
    duo_context *live = ctx;
    ctx = ended_context();
    EXPECT(DUO_ERR_CONTEXT, g.layout = (duo_layout)0; g.m = -1);
    ctx = live;
    EXPECT(DUO_ERR_ENUM, g.transb = (duo_transpose)0; g.m = -1; g.lda = 0; g.a = NULL);
    EXPECT(DUO_ERR_SIZE, g.k = -1; g.lda = 0; g.a = NULL);
    EXPECT(DUO_ERR_LD, g.lda = 0; g.a = NULL);
    EXPECT(DUO_ERR_NULL, g.a = NULL);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* Arguments are judged as in every math. */
static void sgemm_in_float64(void)
{
    duo_context *ctx = test_context();
    const arguments good = good_arguments(DUO_ROW_MAJOR);
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
    EXPECT(DUO_OK, (void)g);
    EXPECT(DUO_OK, g.m = 0);
    EXPECT(DUO_OK, g.k = 0; g.a = NULL);
    EXPECT(DUO_OK, g.alpha = 0.0f; g.beta = 1.0f);
    EXPECT(DUO_OK, g.m = g.n = g.k = 1);
    EXPECT(DUO_ERR_ENUM, g.layout = (duo_layout)0);
    EXPECT(DUO_ERR_LD, g.lda = 0);
    EXPECT(DUO_ERR_NULL, g.a = NULL);
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    EXPECT(DUO_OK, (void)g);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* ---- Reductions ---- */

static void reduction_arguments(void)
{
    duo_context *ctx = test_context();
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, r = test_poison();
    test_case("reductions/NULL");
    CHECK_STATUS(DUO_ERR_NULL, duo_sasum(ctx, 4, x, 1, NULL));
    CHECK_STATUS(DUO_ERR_NULL, duo_ssum(ctx, 4, x, 1, NULL));
    CHECK_STATUS(DUO_ERR_NULL, duo_sdot(ctx, 4, x, 1, x, 1, NULL));
    CHECK_STATUS(DUO_ERR_NULL, duo_ssum(ctx, 0, NULL, 1, NULL));
    CHECK_STATUS(DUO_ERR_NULL, duo_sasum(ctx, 4, NULL, 1, &r));
    CHECK_STATUS(DUO_ERR_NULL, duo_ssum(ctx, 4, NULL, 1, &r));
    CHECK_STATUS(DUO_ERR_NULL, duo_ssum(ctx, 4, NULL, 2, &r));
    CHECK_STATUS(DUO_ERR_NULL, duo_sdot(ctx, 4, NULL, 1, x, 1, &r));
    CHECK_STATUS(DUO_ERR_NULL, duo_sdot(ctx, 4, x, 1, NULL, 1, &r));
    test_case("reductions/beyond the address space");
    const int64_t huge = (int64_t)1 << 40;
    CHECK_STATUS(DUO_ERR_SIZE, duo_sasum(ctx, INT64_MAX, x, 1, &r));
    CHECK_STATUS(DUO_ERR_SIZE, duo_ssum(ctx, huge, x, huge, &r));
    CHECK_STATUS(DUO_ERR_SIZE, duo_ssum(ctx, 2, x, INT64_MAX, &r));
    CHECK_STATUS(DUO_ERR_SIZE, duo_sdot(ctx, INT64_MAX, x, 1, x, 1, &r));
    CHECK_STATUS(DUO_ERR_SIZE, duo_sdot(ctx, huge, x, 0, x, huge, &r));
    CHECK_STATUS(DUO_ERR_SIZE, duo_sdot(ctx, huge, x, -huge, x, 1, &r));
    CHECK_STATUS(DUO_ERR_SIZE, duo_sdot(ctx, 2, x, INT64_MIN, x, 1, &r));
    CHECK_STATUS(DUO_ERR_SIZE, duo_sdot(ctx, 2, x, 1, x, INT64_MIN, &r));
    CHECK(test_is_poison(r), "result has changed");
    test_case("reductions/one element, any increment");
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 1, x, INT64_MAX, &r));
    CHECK(r == 1.0f, "%g", (double)r);
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 1, &x[2], INT64_MIN, &x[3], INT64_MAX, &r));
    CHECK(r == 12.0f, "%g", (double)r);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* ---- Memory ---- */

static void allocation(duo_status (*take)(duo_context *, size_t, void **),
                       duo_status (*give)(duo_context *, void *), const char *name)
{
    duo_context *ctx = test_context();
    test_case("%s", name);
    CHECK_STATUS(DUO_ERR_NULL, take(ctx, 16, NULL));
    int here;
    void *ptr = &here;
    CHECK_STATUS(DUO_ERR_MEMORY, take(ctx, SIZE_MAX, &ptr));
    CHECK(ptr == NULL, "not NULL after failure");
    ptr = &here;
    CHECK_STATUS(DUO_ERR_MEMORY, take(ctx, SIZE_MAX / 4, &ptr));
    CHECK(ptr == NULL, "not NULL after failure");
    CHECK_STATUS(DUO_OK, give(ctx, NULL));
    CHECK_STATUS(DUO_ERR_RANGE, give(ctx, &here));
    void *block[4];
    static const size_t sizes[] = {0, 1, 1000, 1 << 20};
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(DUO_OK, take(ctx, sizes[i], &block[i]));
        CHECK(block[i] != NULL && (uintptr_t)block[i] % 256 == 0, "%p", block[i]);
    }
    CHECK_STATUS(DUO_ERR_RANGE, give(ctx, (char *)block[2] + 4));
    for (int i = 0; i < 4; i++) CHECK_STATUS(DUO_OK, give(ctx, block[i]));
    CHECK_STATUS(DUO_ERR_RANGE, give(ctx, block[2]));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

static void device_allocation(void) { allocation(duo_malloc, duo_free, "malloc"); }

static void host_allocation(void) { allocation(duo_malloc_host, duo_free_host, "malloc_host"); }

static void allocations_do_not_mix(void)
{
    duo_context *ctx = test_context();
    test_case("free, the wrong way");
    void *device = NULL, *host = NULL;
    float kept[4] = {0};
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 64, &device));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, 64, &host));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, kept, sizeof kept));
    CHECK_STATUS(DUO_ERR_RANGE, duo_free(ctx, host));
    CHECK_STATUS(DUO_ERR_RANGE, duo_free_host(ctx, device));
    CHECK_STATUS(DUO_ERR_RANGE, duo_free(ctx, kept));
    CHECK_STATUS(DUO_ERR_RANGE, duo_disown(ctx, device));
    CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, device));
    CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, device, 64));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, device, 64));
    CHECK_STATUS(DUO_ERR_RANGE, duo_prepare(ctx, device, 65));
    CHECK_STATUS(DUO_ERR_RANGE, duo_prepare(ctx, host, 64));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, device, 0));
    CHECK_STATUS(DUO_OK, duo_free(ctx, device));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, host));
    CHECK_STATUS(DUO_OK, duo_release(ctx, kept));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

static void copies(void)
{
    duo_context *ctx = test_context();
    test_case("copy/arguments");
    char from[100], to[100];
    for (int i = 0; i < 100; i++) from[i] = (char)i;
    CHECK_STATUS(DUO_OK, duo_copy(ctx, NULL, NULL, 0));
    CHECK_STATUS(DUO_ERR_NULL, duo_copy(ctx, NULL, from, 1));
    CHECK_STATUS(DUO_ERR_NULL, duo_copy(ctx, to, NULL, 1));
    CHECK_STATUS(DUO_ERR_SIZE, duo_copy(ctx, to, from, SIZE_MAX));
    /* Every pair of places, odd sizes and offsets; untouched bytes around. */
    void *place[3] = {NULL, NULL, malloc(128)};
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 128, &place[0]));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, 128, &place[1]));
    void *other[3] = {NULL, NULL, malloc(128)};
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 128, &other[0]));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, 128, &other[1]));
    for (int s = 0; s < 3; s++) {
        for (int d = 0; d < 3; d++) {
            for (size_t bytes = 1; bytes <= 97; bytes += 6) {
                test_case("copy/%d to %d/%zu bytes", s, d, bytes);
                char *const source = (char *)place[s] + bytes % 5;
                char *const target = (char *)other[d] + bytes % 7;
                memset(to, 'z', sizeof to);
                bool ok = duo_copy(ctx, source, from, bytes) == DUO_OK &&
                          duo_copy(ctx, target, to, bytes + 1) == DUO_OK &&
                          duo_copy(ctx, target, source, bytes) == DUO_OK &&
                          duo_copy(ctx, to, target, bytes + 1) == DUO_OK;
                CHECK(ok && memcmp(to, from, bytes) == 0 && to[bytes] == 'z', "wrong bytes");
            }
        }
    }
    free(place[2]);
    free(other[2]);
    CHECK_STATUS(DUO_OK, duo_free(ctx, place[0]));
    CHECK_STATUS(DUO_OK, duo_free(ctx, other[0]));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, place[1]));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, other[1]));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

static void kept_arrays(void)
{
    duo_context *ctx = test_context();
    test_case("keep, changed, fetch, release");
    float x[100] = {0}, other[8] = {0};
    CHECK_STATUS(DUO_ERR_NULL, duo_keep(ctx, NULL, 4));
    CHECK_STATUS(DUO_ERR_SIZE, duo_keep(ctx, x, 0));
    CHECK_STATUS(DUO_ERR_SIZE, duo_keep(ctx, x, SIZE_MAX));
    CHECK_STATUS(DUO_ERR_SIZE, duo_changed(ctx, x, SIZE_MAX));
    CHECK_STATUS(DUO_ERR_SIZE, duo_fetch(ctx, x, SIZE_MAX));
    CHECK_STATUS(DUO_ERR_NULL, duo_changed(ctx, NULL, 4));
    CHECK_STATUS(DUO_ERR_NULL, duo_fetch(ctx, NULL, 4));
    CHECK_STATUS(DUO_ERR_NULL, duo_release(ctx, NULL));
    CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, x));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x, sizeof x));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, x, sizeof x));

    CHECK_STATUS(DUO_OK, duo_keep(ctx, &x[10], 50 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, &x[10], 50 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, &x[20], 10 * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, &x[0], 11 * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, &x[59], 2 * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, x, sizeof x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, &x[60], 10 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x, sizeof x));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, &x[15], 0));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, other, sizeof other));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, x, sizeof x));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, &x[15], 0));
    CHECK_STATUS(DUO_ERR_NULL, duo_prepare(ctx, NULL, 4));
    CHECK_STATUS(DUO_ERR_SIZE, duo_prepare(ctx, &x[10], SIZE_MAX));
    CHECK_STATUS(DUO_ERR_SIZE, duo_changed(ctx, &x[10], SIZE_MAX));
    CHECK_STATUS(DUO_ERR_SIZE, duo_fetch(ctx, &x[10], SIZE_MAX - 100));
    CHECK_STATUS(DUO_ERR_RANGE, duo_prepare(ctx, other, sizeof other));
    CHECK_STATUS(DUO_ERR_RANGE, duo_prepare(ctx, other, 0));
    CHECK_STATUS(DUO_ERR_RANGE, duo_prepare(ctx, &x[10], 51 * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_prepare(ctx, &x[9], 2 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, &x[10], 50 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, &x[20], 3));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, &x[20], 0));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, &x[20], 0));
    CHECK_STATUS(DUO_OK, duo_release(ctx, &x[35]));
    CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, &x[35]));
    CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, &x[10]));
    CHECK_STATUS(DUO_OK, duo_release(ctx, &x[60]));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* ---- Device memory that is not ours ---- */

static void adopting(void)
{
    duo_context *ctx = test_context();
    test_case("adopt, disown/arguments");
    float host[4] = {0};
    CHECK_STATUS(DUO_ERR_NULL, duo_adopt(ctx, NULL, 4));
    CHECK_STATUS(DUO_ERR_SIZE, duo_adopt(ctx, host, 0));
    CHECK_STATUS(DUO_ERR_SIZE, duo_adopt(ctx, host, SIZE_MAX));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_adopt(ctx, host, sizeof host));
    CHECK_STATUS(DUO_ERR_NULL, duo_disown(ctx, NULL));
    CHECK_STATUS(DUO_ERR_RANGE, duo_disown(ctx, host));
    if (test_mode_now() == MODE_SIM) {
        test_case("adopt, disown");
        char *const foreign = sim_foreign_malloc(0, 4096);
        CHECK_STATUS(DUO_OK, duo_adopt(ctx, foreign + 256, 1024));
        CHECK_STATUS(DUO_ERR_RANGE, duo_adopt(ctx, foreign, 512));
        CHECK_STATUS(DUO_ERR_RANGE, duo_adopt(ctx, foreign + 300, 8));
        CHECK_STATUS(DUO_ERR_RANGE, duo_free(ctx, foreign + 256));
        CHECK_STATUS(DUO_ERR_RANGE, duo_disown(ctx, foreign + 300));
        const float x[3] = {1, 2, 4};
        float sum = NAN;
        CHECK_STATUS(DUO_OK, duo_copy(ctx, foreign + 256, x, sizeof x));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, (float *)(void *)(foreign + 256), 1, &sum));
        CHECK(sum == 7.0f, "%g", (double)sum);
        CHECK_STATUS(DUO_OK, duo_disown(ctx, foreign + 256));
        CHECK_STATUS(DUO_ERR_RANGE, duo_disown(ctx, foreign + 256));
        sim_foreign_free(foreign);
    }
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* Device pointers that were never adopted, wherever an operand can be. Twice: large calls are
 * always checked. */
static void foreign_pointers(void)
{
    if (test_mode_now() != MODE_SIM) {
        test_skip("needs the simulated device");
        return;
    }
    enum { EDGE = 256 };
    const size_t bytes = (size_t)EDGE * EDGE * sizeof(float);
    float *const foreign = sim_foreign_malloc(0, bytes);
    float *const host = malloc(bytes);
    for (int i = 0; i < EDGE * EDGE; i++) host[i] = 1.0f;
    for (int path = DUO_PATH_AUTO; path <= DUO_PATH_GPU; path += DUO_PATH_GPU) {
        duo_context *ctx = test_context();
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, (duo_path)path));
        CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
        for (int which = 0; which < 3; which++) {
            test_case("sgemm/foreign operand %d/path=%d", which, path);
            CHECK_STATUS(DUO_ERR_FOREIGN,
                         duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE,
                                   1.0f, which == 0 ? foreign : host, EDGE,
                                   which == 1 ? foreign : host, EDGE, 0.0f,
                                   which == 2 ? foreign : host, EDGE));
            CHECK(host[0] == 1.0f, "C has changed");
            CHECK(duo_error_detail(ctx)[0] != '\0', "no detail");
        }
        test_case("copy/foreign/path=%d", path);
        CHECK_STATUS(DUO_ERR_FOREIGN, duo_copy(ctx, host, foreign, 64));
        CHECK_STATUS(DUO_ERR_FOREIGN, duo_copy(ctx, foreign, host, 64));
        CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    }
    duo_context *ctx = test_context();
    test_case("reductions/foreign");
    float result = test_poison();
    const int64_t n = EDGE * EDGE;
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_sasum(ctx, n, foreign, 1, &result));
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_ssum(ctx, n, foreign, 1, &result));
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_sdot(ctx, n, foreign, 1, host, 1, &result));
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_sdot(ctx, n, host, 1, foreign, 1, &result));
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_ssum(ctx, n, host, 1, foreign));
    CHECK(test_is_poison(result), "result has changed");
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    free(host);
    sim_foreign_free(foreign);
}

/* What was only on a device is gone with it. */
static void lost_device(void)
{
    if (test_mode_now() != MODE_SIM) {
        test_skip("needs the simulated device");
        return;
    }
    duo_context *ctx = test_context();
    test_case("a lost device");
    float x[64], result = test_poison();
    for (int i = 0; i < 64; i++) x[i] = 1.0f;
    void *device = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof x, &device));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, device, x, sizeof x));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 64, x, 1, device)); /* a result that is only there */
    sim_lose(0);
    CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(ctx));
    CHECK_STATUS(DUO_ERR_LOST, duo_copy(ctx, x, device, sizeof x));
    CHECK_STATUS(DUO_ERR_LOST, duo_ssum(ctx, 64, device, 1, &result));
    CHECK(test_is_poison(result), "result has changed");
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 64, x, 1, &result));
    CHECK(result == 64.0f, "%g", (double)result);
    CHECK_STATUS(DUO_OK, duo_free(ctx, device));
    const duo_status destroyed = duo_destroy(ctx);
    CHECK(destroyed == DUO_OK || destroyed == DUO_ERR_LOST, "status %d", (int)destroyed);
}

/* ---- Explanation ---- */

static void explanations(void)
{
    duo_context *ctx = test_context();
    test_case("explain_last");
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_ERR_NULL, duo_explain_last(ctx, NULL));
    d.size = sizeof d - 1;
    CHECK_STATUS(DUO_ERR_SIZE, duo_explain_last(ctx, &d));
    d.size = 0;
    CHECK_STATUS(DUO_ERR_SIZE, duo_explain_last(ctx, &d));
    d.size = sizeof d;
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.operation == NULL && d.algorithm == NULL, "before any call");

    float x[100], y[100], c[9], result;
    for (int i = 0; i < 100; i++) x[i] = y[i] = 1.0f;
    const duo_side side = test_gpu_side() ? DUO_SIDE_GPU : DUO_SIDE_CPU;
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 100, x, 1, y, 1, &result));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.size == sizeof d && strcmp(d.operation, "sdot") == 0 && d.n == 100 && d.side == side &&
              d.algorithm != NULL && d.candidates > 0 && d.candidates <= DUO_CANDIDATES &&
              d.predicted_seconds > 0.0,
          "%s n=%jd side=%d", d.operation, (intmax_t)d.n, (int)d.side);
    CHECK(d.residence[0] == DUO_AT_PAGEABLE && d.residence[1] == DUO_AT_PAGEABLE &&
              d.residence[2] == DUO_AT_PAGEABLE,
          "%d %d %d", (int)d.residence[0], (int)d.residence[1], (int)d.residence[2]);
    bool found = false;
    for (int i = 0; i < d.candidates; i++)
        found = found ||
                (strcmp(d.candidate[i].algorithm, d.algorithm) == 0 && d.candidate[i].accepts != 0);
    CHECK(found, "the row that ran is no candidate");

    for (int l = DUO_ROW_MAJOR; l <= DUO_COL_MAJOR; l++) {
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, (duo_layout)l, DUO_NO_TRANS, DUO_NO_TRANS, 2, 3, 4,
                                       1.0f, x, 4, y, 4, 0.0f, c, 3));
        CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
        CHECK(strcmp(d.operation, "sgemm") == 0 && d.m == 2 && d.n == 3 && d.k == 4, "%jdx%jdx%jd",
              (intmax_t)d.m, (intmax_t)d.n, (intmax_t)d.k);
    }
    test_case("explain_last/quick return");
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 0, 3, 4, 1.0f, x,
                                   4, y, 4, 0.0f, c, 3));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(strcmp(d.operation, "sgemm") == 0 && d.algorithm == NULL && d.m == 0, "row %s",
          d.algorithm == NULL ? "NULL" : d.algorithm);
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, 0, x, 1, &result));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(strcmp(d.operation, "sasum") == 0 && d.algorithm == NULL, "%s", d.operation);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* Predictions of sizes that are 0 divide and take logarithms: the program's flags show none of it. */
static void quiet_explanations(void)
{
    static float x[320 * 320];
    duo_context *ctx = test_context();
    for (int64_t m = 0; m <= 320; m += m < 2 ? 1 : 318)
        for (int64_t n = 0; n <= 2; n++)
            for (int64_t k = 0; k <= 2; k++) {
                duo_decision d = {.size = sizeof d};
                test_case("m=%d n=%d k=%d", (int)m, (int)n, (int)k);
                feclearexcept(FE_ALL_EXCEPT);
                CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, m, n,
                                               k, 1.0f, x, 320, x, 320, 0.0f, x, 320));
                CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
                const int raised = fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
                CHECK(raised == 0, "flags %x", (unsigned)raised);
            }
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* An error leaves the last call as it was. */
static void explanations_after_errors(void)
{
    static float x[64];
    duo_decision d = {.size = sizeof d};
    void *small = NULL;
    test_case("a small block");
    if (devices() == 0) {
        test_skip("what crosses host memory is no error");
        return;
    }
    duo_context *ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 8 * sizeof(float), &small));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 2, 3, 4, 1.0f, x,
                                   4, x, 4, 0.0f, x, 4));
    CHECK_STATUS(DUO_ERR_RANGE, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 4, 5, 4,
                                          1.0f, x, 4, x, 4, 0.0f, small, 4));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.m == 2 && d.n == 3, "m = %d, n = %d: the call that failed", (int)d.m, (int)d.n);
    CHECK_STATUS(DUO_OK, duo_free(ctx, small));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

static void texts(void)
{
    static const duo_status all[] = {
#define TEST_STATUS(name, value, text) name,
        DUO_STATUS_LIST(TEST_STATUS)
#undef TEST_STATUS
    };
    test_case("texts");
    const int count = sizeof all / sizeof all[0];
    for (int i = 0; i < count; i++) {
        const char *const text = duo_status_string(all[i]);
        CHECK((int)all[i] == -i && text != NULL && text[0] != '\0', "status %d", (int)all[i]);
        CHECK(strcmp(text, "unknown status") != 0, "status %d", (int)all[i]);
        for (int j = 0; j < i; j++)
            CHECK(strcmp(text, duo_status_string(all[j])) != 0, "%d and %d", i, j);
    }
    CHECK(strcmp(duo_status_string((duo_status)1), "unknown status") == 0, "1");
    CHECK(strcmp(duo_status_string((duo_status)-count), "unknown status") == 0, "%d", -count);
    CHECK(duo_version() == DUO_VERSION && DUO_VERSION > 0, "%d", duo_version());
    CHECK(duo_error_detail(NULL) != NULL, "detail");
}

/* ---- Silence, and the log ---- */

typedef struct kept_lines {
    int count;
    char last[2048];
} kept_lines;

static void keep_line(void *user, const char *line)
{
    kept_lines *const lines = user;
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}

static void some_calls(duo_context *ctx)
{
    float x[50], c[25], result;
    void *ptr = NULL;
    for (int i = 0; i < 50; i++) x[i] = 1.0f;
    (void)duo_warm_up(ctx);
    (void)duo_ssum(ctx, 50, x, 1, &result);
    (void)duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 5, 5, 5, 1.0f, x, 5, x, 5, 0.0f,
                    c, 5);
    (void)duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 5, 5, 5, 1.0f, NULL, 5, x, 5,
                    0.0f, c, 5);
    (void)duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 5, 5, 5, 1.0f, x, 1, x, 5, 0.0f,
                    c, 5);
    (void)duo_malloc(ctx, SIZE_MAX, &ptr);
    (void)duo_free(ctx, x);
    (void)duo_release(ctx, x);
    (void)duo_set_device(ctx, 1000);
}

static void silence(void)
{
    char text[512];
    test_case("silence");
    duo_context *ctx = test_context();
    test_capture_begin();
    some_calls(ctx);
    some_calls(NULL);
    const size_t written = test_capture_end(text, sizeof text);
    CHECK(written == 0, "the library printed: %s", text);

    test_case("log");
    kept_lines lines = {0};
    float x[3] = {1, 2, 3}, result = 0.0f;
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, keep_line, &lines));
    test_capture_begin();
    const duo_status status = duo_ssum(ctx, 3, x, 1, &result);
    const size_t printed = test_capture_end(text, sizeof text);
    CHECK_STATUS(DUO_OK, status);
    CHECK(lines.count == 1 && printed == 0, "%d lines, %zu bytes printed", lines.count, printed);
    CHECK(strstr(lines.last, "ssum") != NULL && strstr(lines.last, "n=3") != NULL &&
              strstr(lines.last, "algorithm=") != NULL && strchr(lines.last, '\n') == NULL,
          "%s", lines.last);
    CHECK(strstr(lines.last, test_gpu_side() ? "side=gpu" : "side=cpu") != NULL, "%s", lines.last);
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.seconds >= 0.0, "a logged call is timed");
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, NULL, NULL));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, x, 1, &result));
    CHECK(lines.count == 1, "%d lines", lines.count);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* Everything that a context took is given back with it. */
static void nothing_leaks(void)
{
    if (test_mode_now() != MODE_SIM) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("leaks");
    const int before = sim_leaks();
    duo_context *ctx = test_context();
    some_calls(ctx);
    CHECK(sim_leaks() > before, "nothing was used");
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    CHECK(sim_leaks() == before, "%d, then %d", before, sim_leaks());
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"create_and_destroy", create_and_destroy},
        {"dead_contexts", dead_contexts},
        {"setters", setters},
        {"streams", streams},
        {"device_facts", device_facts},
        {"several_devices", several_devices},
        {"sgemm_arguments", sgemm_arguments},
        {"sgemm_leading_dimensions", sgemm_leading_dimensions},
        {"sgemm_beyond_the_address_space", sgemm_beyond_the_address_space},
        {"sgemm_order_of_errors", sgemm_order_of_errors},
        {"sgemm_in_float64", sgemm_in_float64},
        {"reduction_arguments", reduction_arguments},
        {"device_allocation", device_allocation},
        {"host_allocation", host_allocation},
        {"allocations_do_not_mix", allocations_do_not_mix},
        {"copies", copies},
        {"kept_arrays", kept_arrays},
        {"adopting", adopting},
        {"foreign_pointers", foreign_pointers},
        {"lost_device", lost_device},
        {"explanations", explanations},
        {"quiet_explanations", quiet_explanations},
        {"explanations_after_errors", explanations_after_errors},
        {"texts", texts},
        {"silence", silence},
        {"nothing_leaks", nothing_leaks},
        {NULL, NULL},
    };
    return test_main(argc, argv, "api", tests);
}
