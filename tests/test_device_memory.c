/*
 * test_device_memory.c - memory of the device: allocated, copied to and from, adopted; results that
 * stay there; and a device that is full or capped.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/data.h"
#include "support/exact.h"
#include "support/harness.h"

/* ---- Memory of the device ---- */

static void device_memory(void)
{
    duo_context *const ctx = test_context();
    float x[300], y[300];
    fill(x, 300, 5);
    void *p = NULL, *q = NULL, *none = NULL;
    test_case("malloc/basics");
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof x, &p));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 1, &q));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 0, &none));
    CHECK((uintptr_t)p % 256 == 0 && (uintptr_t)q % 256 == 0, "alignment %p %p", p, q);
    CHECK(p != NULL && q != NULL && p != q, "%p %p", p, q);
    CHECK_STATUS(DUO_ERR_NULL, duo_malloc(ctx, 1, NULL));
    CHECK_STATUS(DUO_OK, duo_free(ctx, NULL));
    CHECK_STATUS(DUO_OK, duo_free(ctx, none));
    CHECK_STATUS(DUO_ERR_RANGE, duo_free(ctx, x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_disown(ctx, p));
    CHECK_STATUS(DUO_ERR_RANGE, duo_free_host(ctx, p));
    void *too_much = &x;
    CHECK_STATUS(DUO_ERR_MEMORY, duo_malloc(ctx, SIZE_MAX / 4, &too_much));
    CHECK(too_much == NULL, "not NULL");

    test_case("malloc/beyond-its-end");
    CHECK_STATUS(DUO_OK, duo_copy(ctx, p, x, sizeof x));
    check_sum(ctx, p, 300, sum_of(x, 300));
    check_sum(ctx, (float *)p + 100, 200, sum_of(x + 100, 200));
    if (test_gpu_side()) {
        /* An operand that runs out of its allocation must not reach the device. */
        float sum = test_poison();
        const duo_status status = duo_ssum(ctx, 301, p, 1, &sum);
        CHECK(status != DUO_OK && test_is_poison(sum), "status %d", (int)status);
    }
    test_case("malloc/free");
    CHECK_STATUS(DUO_OK, duo_copy(ctx, y, p, sizeof y));
    CHECK(same_floats(x, y, 300), "wrong values");
    CHECK_STATUS(DUO_OK, duo_free(ctx, p));
    CHECK_STATUS(DUO_ERR_RANGE, duo_free(ctx, p));
    CHECK_STATUS(DUO_OK, duo_free(ctx, q));

    test_case("malloc-host");
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, sizeof x, &p));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, 0, &none));
    CHECK((uintptr_t)p % 256 == 0, "alignment %p", p);
    memcpy(p, x, sizeof x);
    check_sum(ctx, p, 300, sum_of(x, 300));
    duo_decision decision = {.size = sizeof decision};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &decision));
    if (test_gpu_side())
        CHECK(decision.residence[0] == DUO_AT_PINNED, "residence %d", (int)decision.residence[0]);
    CHECK_STATUS(DUO_ERR_RANGE, duo_free(ctx, p));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, p));
    CHECK_STATUS(DUO_ERR_RANGE, duo_free_host(ctx, p));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, none));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, NULL));
    CHECK_STATUS(DUO_ERR_NULL, duo_malloc_host(ctx, 1, NULL));
    end_without_leaks(ctx);
}

/* duo_copy between every two places, whole and in parts. */
static void copies(void)
{
    enum { N = 5000 };
    duo_context *const ctx = test_context();
    float *const x = new_floats(N), *const back = new_floats(N);
    enum { HOST, PINNED, DEVICE, KEPT, KEPT_USED, PLACES_HERE };
    static const char *const names[] = {"host", "pinned", "device", "kept", "kept-used"};
    for (int from = 0; from < PLACES_HERE; from++)
        for (int to = 0; to < PLACES_HERE; to++) {
            test_case("copy/%s-to-%s", names[from], names[to]);
            void *at[2];
            for (int i = 0; i < 2; i++) {
                const int place = i == 0 ? from : to;
                if (place == PINNED)
                    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, N * sizeof *x, &at[i]));
                else if (place == DEVICE)
                    CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * sizeof *x, &at[i]));
                else
                    at[i] = new_floats(N);
                if (place != DEVICE) fill(at[i], N, i);
                if (place == KEPT || place == KEPT_USED)
                    CHECK_STATUS(DUO_OK, duo_keep(ctx, at[i], N * sizeof *x));
                if (place == KEPT_USED) check_sum(ctx, at[i], N, sum_of(at[i], N));
            }
            fill(x, N, 10 + from);
            CHECK_STATUS(DUO_OK, duo_copy(ctx, at[0], x, N * sizeof *x));
            CHECK_STATUS(DUO_OK, duo_copy(ctx, at[1], at[0], N * sizeof *x));
            check_sum(ctx, at[1], N, sum_of(x, N));
            /* A part, at odd places. */
            CHECK_STATUS(DUO_OK,
                         duo_copy(ctx, (float *)at[1] + 7, (float *)at[0] + 1001, 999 * sizeof *x));
            CHECK_STATUS(DUO_OK, duo_copy(ctx, (char *)at[1], (char *)at[0] + 1, 3));
            CHECK_STATUS(DUO_OK, duo_copy(ctx, at[1], at[0], 0));
            CHECK_STATUS(DUO_OK, duo_copy(ctx, back, at[1], N * sizeof *x));
            float *const expected = new_floats(N);
            memcpy(expected, x, N * sizeof *x);
            memcpy(expected + 7, x + 1001, 999 * sizeof *x);
            memcpy((char *)expected, (char *)x + 1, 3);
            CHECK(memcmp(back, expected, N * sizeof *x) == 0, "wrong bytes");
            free(expected);
            for (int i = 0; i < 2; i++) {
                const int place = i == 0 ? from : to;
                if (place == KEPT || place == KEPT_USED)
                    CHECK_STATUS(DUO_OK, duo_release(ctx, at[i]));
                if (place == PINNED)
                    CHECK_STATUS(DUO_OK, duo_free_host(ctx, at[i]));
                else if (place == DEVICE)
                    CHECK_STATUS(DUO_OK, duo_free(ctx, at[i]));
                else
                    free(at[i]);
            }
        }
    test_case("copy/arguments");
    CHECK_STATUS(DUO_OK, duo_copy(ctx, NULL, NULL, 0));
    CHECK_STATUS(DUO_ERR_NULL, duo_copy(ctx, NULL, x, 4));
    CHECK_STATUS(DUO_ERR_NULL, duo_copy(ctx, x, NULL, 4));

    test_case("copy/newest");
    /* A kept array counts with its newest copy, on both ends. */
    enum { Q = 30 };
    float *const a = new_floats(Q * Q), *const c = new_floats(Q * Q), *const d = new_floats(Q * Q);
    float *const expected = new_floats(Q * Q);
    fill(a, Q * Q, 1);
    multiply(Q, a, a, expected);
    test_fill_poison(c, Q * Q);
    test_fill_poison(d, Q * Q);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, Q * Q * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, d, Q * Q * sizeof *d));
    CHECK_STATUS(DUO_OK, square(ctx, Q, a, a, 0.0f, c));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, d + 100, c + 100, 300 * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, d, a, 100 * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, d + 400, c + 400, (Q * Q - 400) * sizeof *c));
    memcpy(back, expected, Q * Q * sizeof *c);
    memcpy(back, a, 100 * sizeof *c);
    check_sum(ctx, d, Q * Q, sum_of(back, Q * Q));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, c + 10, a, 50 * sizeof *c)); /* into newer device content */
    memcpy(expected + 10, a, 50 * sizeof *c);
    check_sum(ctx, c, Q * Q, sum_of(expected, Q * Q));
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    CHECK_STATUS(DUO_OK, duo_release(ctx, d));
    CHECK(same_floats(c, expected, Q * Q), "wrong values");
    CHECK(same_floats(d, back, Q * Q), "wrong values");

    test_case("copy/across-kept-ranges");
    fill(x, N, 3);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 100, 100 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 300, 100 * sizeof *x));
    check_sum(ctx, x + 100, 100, sum_of(x + 100, 100));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 10, 10, 10, 0.0f,
                                   NULL, 10, NULL, 10, 2.0f, x + 300, 10));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, back, x, 500 * sizeof *x));
    fill(expected, 500, 3);
    for (int i = 300; i < 400; i++) expected[i] *= 2.0f;
    CHECK(same_floats(back, expected, 500), "wrong values");
    fill(back, 500, 8);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, x, back, 500 * sizeof *x));
    check_sum(ctx, x + 100, 100, sum_of(back + 100, 100));
    check_sum(ctx, x + 300, 100, sum_of(back + 300, 100));
    CHECK_STATUS(DUO_OK, duo_release(ctx, x + 100));
    CHECK_STATUS(DUO_OK, duo_release(ctx, x + 300));
    CHECK(same_floats(x, back, 500), "wrong values");
    end_without_leaks(ctx);
    free(expected);
    free(a);
    free(c);
    free(d);
    free(x);
    free(back);
}

static void adopted(void)
{
    enum { N = 1 << 18 }; /* large enough to be checked */
    if (!test_on_sim()) {
        test_skip("needs device memory from elsewhere");
        return;
    }
    duo_context *const ctx = test_context();
    float *const x = new_floats(N);
    fill(x, N, 6);
    float *const foreign = sim_foreign_malloc(0, N * sizeof *x);
    sim_write(foreign, x, N * sizeof *x);
    test_case("adopt/foreign");
    float sum = test_poison();
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_ssum(ctx, N, foreign, 1, &sum));
    CHECK(test_is_poison(sum), "the result was touched");
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_copy(ctx, x, foreign, N * sizeof *x));
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_copy(ctx, foreign, x, N * sizeof *x));
    CHECK_STATUS(DUO_ERR_FOREIGN, square(ctx, 256, x, x, 0.0f, foreign));
    CHECK_STATUS(DUO_ERR_FOREIGN, square(ctx, 256, foreign, x, 0.0f, x));
    test_case("adopt/arguments");
    CHECK_STATUS(DUO_ERR_NULL, duo_adopt(ctx, NULL, 100));
    CHECK_STATUS(DUO_ERR_SIZE, duo_adopt(ctx, foreign, 0));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_adopt(ctx, x, 100));
    CHECK_STATUS(DUO_ERR_NULL, duo_disown(ctx, NULL));
    CHECK_STATUS(DUO_ERR_RANGE, duo_disown(ctx, foreign));
    test_case("adopt/use");
    CHECK_STATUS(DUO_OK, duo_adopt(ctx, foreign + 1000, 5000 * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_adopt(ctx, foreign, N * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_adopt(ctx, foreign + 5999, 2 * sizeof *x));
    check_sum(ctx, foreign + 1000, 5000, sum_of(x + 1000, 5000));
    CHECK_STATUS(DUO_ERR_RANGE, duo_free(ctx, foreign + 1000));
    CHECK_STATUS(DUO_OK, duo_disown(ctx, foreign + 1000));
    CHECK_STATUS(DUO_OK, duo_adopt(ctx, foreign, N * sizeof *x));
    const uint64_t before = sim_uploaded_bytes();
    check_sum(ctx, foreign, N, sum_of(x, N));
    check_sum(ctx, foreign + 77, 1000, sum_of(x + 77, 1000));
    CHECK(sent_since(before) == 0, "%ju bytes sent", (uintmax_t)sent_since(before));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, foreign + 5));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, &sum, foreign + 5, sizeof sum));
    CHECK(sum == sum_of(x, N), "%g", (double)sum);
    test_case("adopt/disown-waits");
    sim_set_delay(2000);
    for (int length = 1; length <= 20; length++) {
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, length, x, 1, foreign + 7));
        CHECK_STATUS(DUO_OK, duo_disown(ctx, foreign));
        sim_read(&sum, foreign + 7, sizeof sum);
        CHECK(sum == sum_of(x, length), "%g is there, not %g", (double)sum,
              (double)sum_of(x, length));
        CHECK_STATUS(DUO_OK, duo_adopt(ctx, foreign, N * sizeof *x));
    }
    sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_disown(ctx, foreign));
    CHECK_STATUS(DUO_ERR_FOREIGN, duo_ssum(ctx, N, foreign, 1, &sum));
    sim_foreign_free(foreign);
    end_without_leaks(ctx);
    free(x);
}

/* ---- Results on the device ---- */

static void results_on_device(void)
{
    enum { N = 30000 };
    duo_context *const ctx = test_context();
    float *const x = new_floats(N);
    fill(x, N, 7);
    float *r = NULL, got[4];
    void *memory = NULL, *dx = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 16 * sizeof *r, &memory));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * sizeof *x, &dx));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, dx, x, N * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    r = memory;
    test_case("result/does-not-wait");
    if (test_on_sim()) sim_hold(true); /* a call that waits would never return */
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, dx, 1, r));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N / 2, dx, 1, r + 1));
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, N, dx, 1, dx, -1, r + 2));
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, 0, dx, 1, r + 3));
    if (test_on_sim()) sim_hold(false);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, got, r, sizeof got));
    CHECK(got[0] == sum_of(x, N) && got[1] == sum_of(x, N / 2) && got[3] == 0.0f, "%g %g %g",
          (double)got[0], (double)got[1], (double)got[3]);
    int64_t dot = 0;
    for (int64_t i = 0; i < N; i++) dot += (int64_t)(x[i] * x[N - 1 - i]);
    CHECK(got[2] == (float)dot, "%g", (double)got[2]);

    test_case("result/element-of-x");
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, dx, 1, (float *)dx + 9));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, got, (float *)dx + 9, sizeof *got));
    CHECK(got[0] == sum_of(x, N), "%g", (double)got[0]);
    const float whole = sum_of(x, N);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, x + 11));
    CHECK(x[11] == whole, "%g", (double)x[11]);
    CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
    CHECK_STATUS(DUO_OK, duo_free(ctx, dx));
    end_without_leaks(ctx);
    free(x);
}

/* A call returns when its pinned operands may be written to, also if its result stays on the device
 * and nobody waits for it. */
static void pinned_operands_are_free_at_return(void)
{
    enum { N = 4000, ROUNDS = 30 };
    duo_context *const ctx = test_context();
    void *memory = NULL, *result = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, N * sizeof(float), &memory));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof(float), &result));
    float *const x = memory;
    if (test_on_sim()) sim_set_delay(500);
    for (int round = 0; round < ROUNDS; round++) {
        test_case("pinned/free-at-return/%d", round);
        float sum = test_poison();
        fill(x, N, round);
        const float expected = sum_of(x, N);
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, result));
        test_fill_poison(x, N);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, &sum, result, sizeof sum));
        CHECK(sum == expected, "sum %g, expected %g", (double)sum, (double)expected);
    }
    if (test_on_sim()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_free(ctx, result));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, x));
    end_without_leaks(ctx);
}

/* ---- Long transfers ---- */

static void *let_go_later(void *unused)
{
    (void)unused;
    usleep(200000);
    sim_hold(false);
    return NULL;
}

/* Much more than the staging memory holds, while the device does nothing: no piece of that memory
 * may be filled anew before the device has read it. */
static void long_transfers(void)
{
    enum { N = 12000001 };
    duo_context *const ctx = test_context();
    float *const x = new_floats(N), *const y = new_floats(N);
    void *device = NULL;
    pthread_t thread;
    test_case("copy/long");
    fill(x, N, 1);
    test_fill_poison(y, N);
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * sizeof *x, &device));
    if (test_on_sim()) sim_hold(true);
    if (test_on_sim() && pthread_create(&thread, NULL, let_go_later, NULL) != 0) abort();
    CHECK_STATUS(DUO_OK, duo_copy(ctx, device, x, N * sizeof *x));
    if (test_on_sim()) pthread_join(thread, NULL);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, y, device, N * sizeof *x));
    CHECK(same_floats(x, y, N), "wrong values");
    CHECK_STATUS(DUO_OK, duo_free(ctx, device));
    end_without_leaks(ctx);
    free(x);
    free(y);
}

/* ---- Trim, cap ---- */

static void trim(void)
{
    enum { N = 1 << 18 };
    duo_context *const ctx = test_context();
    float *const x = new_floats(N);
    fill(x, N, 2);
    test_case("trim");
    check_sum(ctx, x, N, sum_of(x, N));
    const uint64_t held = sim_allocated_bytes(0);
    if (test_on_sim()) CHECK(held >= N * sizeof *x, "%ju bytes held", (uintmax_t)held);
    test_case("trim/no-new-memory-for-sizes-seen");
    const uint64_t allocations = sim_count(SIM_ALLOCATE), pins = sim_count(SIM_PIN);
    for (int i = 0; i < 5; i++) check_sum(ctx, x, N, sum_of(x, N));
    if (test_on_sim())
        CHECK(sim_count(SIM_ALLOCATE) == allocations && sim_count(SIM_PIN) == pins,
              "memory was taken again");
    test_case("trim/gives-back");
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    if (test_on_sim())
        CHECK(sim_allocated_bytes(0) < held, "%ju bytes held", (uintmax_t)sim_allocated_bytes(0));
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    check_sum(ctx, x, N, sum_of(x, N));
    CHECK_STATUS(DUO_OK, duo_trim(NULL));
    end_without_leaks(ctx);
    free(x);
}

/* In a child with DUOBLAS_DEVICE_MEMORY = 1 MiB: everything works, and never more is held. */
static int use_little_memory(void)
{
    enum { N = 1 << 20, SMALL = 1 << 14, Q = 300, CAP = 1 << 20 };
    sim_reset();
    duo_backend_install(sim_backend());
    duo_context *ctx = NULL;
    float *const x = new_floats(N), *const y = new_floats(SMALL);
    float *const a = new_floats(Q * Q), *const c = new_floats(Q * Q), *const e = new_floats(Q * Q);
    fill(x, N, 1);
    fill(y, SMALL, 2);
    fill(a, Q * Q, 3);
    multiply(Q, a, a, e);
    bool ok = duo_create(&ctx) == DUO_OK && duo_set_path(ctx, DUO_PATH_GPU) == DUO_OK;
    void *large = NULL, *small = NULL;
    float sum = 0.0f;
    ok = ok && duo_keep(ctx, x, N * sizeof *x) == DUO_OK;
    ok = ok && duo_keep(ctx, y, SMALL * sizeof *y) == DUO_OK;
    for (int round = 0; round < 3 && ok; round++) {
        ok = ok && duo_ssum(ctx, N, x, 1, &sum) == DUO_OK && sum == sum_of(x, N);
        ok = ok && duo_ssum(ctx, SMALL, y, 1, &sum) == DUO_OK && sum == sum_of(y, SMALL);
        ok = ok && square(ctx, Q, a, a, 0.0f, c) == DUO_OK && same_floats(c, e, Q * Q);
        if (!ok) printf("round %d is wrong; ", round);
        if (sim_allocated_bytes(0) > CAP) {
            printf("%ju bytes held; ", (uintmax_t)sim_allocated_bytes(0));
            ok = false;
        }
        x[round] += 1.0f;
        ok = ok && duo_changed(ctx, x, sizeof *x * 4) == DUO_OK;
    }
    ok = ok && duo_malloc(ctx, SMALL, &small) == DUO_OK;
    ok = ok && duo_malloc(ctx, N * sizeof *x, &large) == DUO_OK; /* host memory then */
    ok = ok && duo_copy(ctx, large, x, N * sizeof *x) == DUO_OK;
    ok = ok && duo_ssum(ctx, N, large, 1, &sum) == DUO_OK && sum == sum_of(x, N);
    ok = ok && duo_free(ctx, large) == DUO_OK && duo_free(ctx, small) == DUO_OK;
    ok = ok && duo_release(ctx, x) == DUO_OK && duo_release(ctx, y) == DUO_OK;
    ok = ok && duo_destroy(ctx) == DUO_OK && sim_leaks() == 0 && sim_violations() == 0;
    free(x);
    free(y);
    free(a);
    free(c);
    free(e);
    return ok ? 0 : 1;
}

static void memory_cap(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("cap/1MiB");
    test_child child;
    test_child_run("cap", (const char *const[]){"DUOBLAS_DEVICE_MEMORY=1048576", NULL}, 60, &child);
    CHECK(child.exit_status == 0, "exit %d: %.200s %.200s", child.exit_status, child.out,
          child.err);
    test_case("cap/nothing");
    test_child_run("cap", (const char *const[]){"DUOBLAS_DEVICE_MEMORY=0", NULL}, 60, &child);
    CHECK(child.exit_status == 0, "exit %d: %.200s %.200s", child.exit_status, child.out,
          child.err);
}

static void full_device(void)
{
    enum { N = 1 << 16 };
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("full/keep-is-a-hint");
    sim_set_memory(1 << 20);
    duo_backend_install(sim_backend());
    duo_context *const ctx = test_context();
    float *kept[8], sums[8];
    for (int i = 0; i < 8; i++) { /* 256 KiB each */
        kept[i] = new_floats(N);
        fill(kept[i], N, i);
        sums[i] = sum_of(kept[i], N);
        CHECK_STATUS(DUO_OK, duo_keep(ctx, kept[i], N * sizeof(float)));
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 8; i++) check_sum(ctx, kept[i], N, sums[i]);
    for (int i = 0; i < 8; i++) {
        CHECK_STATUS(DUO_OK, duo_release(ctx, kept[i]));
        free(kept[i]);
    }
    test_case("full/malloc-falls-back");
    void *blocks[8];
    float *const x = new_floats(N);
    fill(x, N, 1);
    for (int i = 0; i < 8; i++) CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * sizeof *x, &blocks[i]));
    for (int i = 0; i < 8; i++) {
        CHECK((uintptr_t)blocks[i] % 256 == 0, "alignment %p", blocks[i]);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, blocks[i], x, N * sizeof *x));
        check_sum(ctx, blocks[i], N, sum_of(x, N));
    }
    for (int i = 0; i < 8; i++) CHECK_STATUS(DUO_OK, duo_free(ctx, blocks[i]));
    free(x);
    test_case("full/no-pinned-memory");
    sim_set_pinned(0);
    duo_context *const other = test_context();
    void *pinned = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc_host(other, 1000, &pinned));
    memset(pinned, 0, 1000);
    check_sum(other, pinned, 250, 0.0f);
    CHECK_STATUS(DUO_OK, duo_free_host(other, pinned));
    test_context_end(other);
    end_without_leaks(ctx);
}

static const test_entry tests[] = {
    {"device_memory", device_memory},
    {"copies", copies},
    {"adopted", adopted},
    {"results_on_device", results_on_device},
    {"pinned_operands_are_free_at_return", pinned_operands_are_free_at_return},
    {"long_transfers", long_transfers},
    {"trim", trim},
    {"memory_cap", memory_cap},
    {"full_device", full_device},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_child_task(argc, argv) != NULL) return use_little_memory();
    return test_main(argc, argv, "device_memory", tests);
}
