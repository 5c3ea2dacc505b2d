/*
 * test_api_memory.c - every status of the functions for memory and residency: allocation, copies,
 * kept arrays, adopted and foreign device memory, a lost device.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"

/* ---- Allocation and copies ---- */

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
    CHECK_STATUS(DUO_ERR_SIZE, duo_copy(ctx, (void *)(uintptr_t)1, from, SIZE_MAX - 1));
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

/* ---- Kept arrays ---- */

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
    if (test_on_sim()) {
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

/* Device pointers that were never adopted, for every operand. Twice: large calls are always
 * checked. */
static void foreign_pointers(void)
{
    if (!test_on_sim()) {
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

/* ---- A lost device ---- */

/* Data that were only on a device are lost with it. */
static void lost_device(void)
{
    if (!test_on_sim()) {
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

static const test_entry tests[] = {
    {"device_allocation", device_allocation},
    {"host_allocation", host_allocation},
    {"allocations_do_not_mix", allocations_do_not_mix},
    {"copies", copies},
    {"kept_arrays", kept_arrays},
    {"adopting", adopting},
    {"foreign_pointers", foreign_pointers},
    {"lost_device", lost_device},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "api_memory", tests); }
