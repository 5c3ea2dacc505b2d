/*
 * test_residency.c - where data is: memory of the device, adopted memory, and the four verbs.
 *
 * First one promise after another; then a model: random calls on one large array, of which changing
 * parts are kept, and on some blocks of device memory, against plain loops over what every element
 * should be. All data are small integers, so every result is exact and every wrong byte shows. On
 * the simulated device the bytes sent are counted; on a real one the counts are left out.
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
#include "support/arrays.h"
#include "support/child.h"
#include "support/exact.h"
#include "support/harness.h"

static uint64_t sent_since(uint64_t before) { return sim_uploaded_bytes() - before; }

/* ---- Keep, changed, fetch, release ---- */

static void sent_once(void)
{
    enum { N = 50000 };
    duo_context *const ctx = test_context();
    float *const x = new_floats(N);
    fill(x, N, 1);
    test_case("keep/sent-once");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, N * sizeof *x));
    uint64_t before = sim_uploaded_bytes();
    check_sum(ctx, x, N, sum_of(x, N));
    if (counting())
        CHECK(sent_since(before) == N * sizeof *x, "%ju bytes sent", (uintmax_t)sent_since(before));
    test_case("keep/not-again");
    before = sim_uploaded_bytes();
    check_sum(ctx, x, N, sum_of(x, N));
    check_sum(ctx, x + 1001, 777, sum_of(x + 1001, 777));
    check_sum(ctx, x + N - 1, 1, x[N - 1]);
    float result;
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, N / 2, x + 1, 2, x + N - N / 2, -1, &result));
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, N / 3, x, 3, &result));
    if (counting()) CHECK(sent_since(before) == 0, "%ju bytes sent", (uintmax_t)sent_since(before));

    test_case("keep/stale-without-changed");
    const float old = sum_of(x, N);
    x[5] += 3.0f;
    if (test_gpu_side()) check_sum(ctx, x, N, old); /* as the header warns: nobody told */
    test_case("keep/changed");
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x + 5, sizeof *x));
    before = sim_uploaded_bytes();
    check_sum(ctx, x, N, sum_of(x, N));
    if (counting())
        CHECK(sent_since(before) >= sizeof *x && sent_since(before) < N, "%ju bytes sent",
              (uintmax_t)sent_since(before));

    test_case("keep/changed-in-parts");
    for (int64_t i = 100; i < 200; i++) x[i] = 4.0f;
    for (int64_t i = 900; i < 1000; i++) x[i] = -4.0f;
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x + 900, 100 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x + 100, 100 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x + 100, 0));
    before = sim_uploaded_bytes();
    check_sum(ctx, x + 2000, 500, sum_of(x + 2000, 500)); /* elsewhere */
    check_sum(ctx, x, N, sum_of(x, N));
    if (counting())
        CHECK(sent_since(before) >= 800 && sent_since(before) <= 900 * sizeof *x, "%ju bytes sent",
              (uintmax_t)sent_since(before));

    test_case("keep/changed-beyond");
    /* Parts that are not kept are passed over. */
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x - 10, (N + 20) * sizeof *x));
    check_sum(ctx, x, N, sum_of(x, N));

    test_case("keep/release");
    CHECK_STATUS(DUO_OK, duo_release(ctx, x));
    before = sim_uploaded_bytes();
    x[7] += 1.0f;
    check_sum(ctx, x, N, sum_of(x, N));
    if (counting())
        CHECK(sent_since(before) == N * sizeof *x, "%ju bytes sent", (uintmax_t)sent_since(before));
    end_without_leaks(ctx);
    free(x);
}

static void outputs_stay(void)
{
    enum { N = 48, LD = 61 };
    duo_context *const ctx = test_context();
    float *const a = new_floats(N * N), *const b = new_floats(N * N), *const c = new_floats(N * LD);
    float *const expected = new_floats(N * N);
    fill(a, N * N, 1);
    fill(b, N * N, 2);
    multiply(N, a, b, expected);

    test_case("fetch/whole");
    test_fill_poison(c, N * N);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, N * N * sizeof *c));
    uint64_t up = sim_uploaded_bytes(), down = sim_downloaded_bytes();
    CHECK_STATUS(DUO_OK, square(ctx, N, a, b, 0.0f, c));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    if (test_gpu_side()) CHECK(test_all_poison(c, N * N), "the host copy was touched");
    if (counting()) {
        CHECK(sim_downloaded_bytes() == down, "something came back");
        CHECK(sent_since(up) == 2 * N * N * sizeof *c, "%ju bytes sent: C is only written",
              (uintmax_t)sent_since(up));
    }
    test_case("fetch/used-before-it-is-fetched");
    up = sim_uploaded_bytes();
    check_sum(ctx, c, N * N, sum_of(expected, N * N));
    if (counting()) CHECK(sent_since(up) == 0, "%ju bytes sent", (uintmax_t)sent_since(up));
    test_case("fetch/any-part-fetches-all");
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, c + 17, sizeof *c));
    CHECK(same_floats(c, expected, N * N), "wrong values");
    if (counting())
        CHECK(sim_downloaded_bytes() - down >= N * N * sizeof *c, "too little came back");
    test_case("fetch/nothing-to-fetch");
    down = sim_downloaded_bytes();
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, c, N * N * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, c, 0));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, a, N * N * sizeof *a));
    if (counting()) CHECK(sim_downloaded_bytes() == down, "something came back");
    CHECK(same_floats(c, expected, N * N), "wrong values");
    test_case("fetch/device-copy-is-still-good");
    up = sim_uploaded_bytes();
    check_sum(ctx, c, N * N, sum_of(expected, N * N));
    if (counting()) CHECK(sent_since(up) == 0, "%ju bytes sent", (uintmax_t)sent_since(up));
    test_case("fetch/beta");
    CHECK_STATUS(DUO_OK, square(ctx, N, a, b, 2.0f, c));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, c, sizeof *c));
    bool right = true;
    for (int64_t i = 0; i < N * N; i++) right = right && c[i] == 3.0f * expected[i];
    CHECK(right, "wrong values");
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));

    test_case("fetch/gaps");
    /* Only part of the kept array is written: the rest must come through unharmed. */
    for (int64_t i = 0; i < N * LD; i++) c[i] = (float)(i % 1000);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, N * LD * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, N, N, 1.0f, a,
                                   N, b, N, 0.0f, c, LD));
    CHECK_STATUS(DUO_OK, duo_release(ctx, c + N));
    bool gaps = true;
    right = true;
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < LD; i++) {
            if (i < N)
                right = right && c[i + j * LD] == expected[i + j * N];
            else
                gaps = gaps && c[i + j * LD] == (float)((i + j * LD) % 1000);
        }
    CHECK(right, "wrong values");
    CHECK(gaps, "the gaps were changed");

    test_case("fetch/release-brings-it");
    test_fill_poison(c, N * N);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, N * N * sizeof *c));
    CHECK_STATUS(DUO_OK, square(ctx, N, a, b, 0.0f, c));
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    CHECK(same_floats(c, expected, N * N), "wrong values");

    test_case("fetch/two-parts-written");
    /* Two blocks written on the device with a part between that only the host has written. */
    enum { Q = 12, PART = Q * Q };
    fill(c, 5 * PART, 9);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, 5 * PART * sizeof *c));
    check_sum(ctx, c, 5 * PART, sum_of(c, 5 * PART));
    multiply(Q, a, b, expected);
    float *const before = new_floats(5 * PART);
    memcpy(before, c, 5 * PART * sizeof *c);
    for (int64_t i = 2 * PART; i < 3 * PART; i++) before[i] = c[i] = 11.0f;
    CHECK_STATUS(DUO_OK, duo_changed(ctx, c + 2 * PART, PART * sizeof *c));
    CHECK_STATUS(DUO_OK, square(ctx, Q, a, b, 0.0f, c + PART));
    CHECK_STATUS(DUO_OK, square(ctx, Q, a, b, 0.0f, c + 3 * PART));
    memcpy(before + PART, expected, PART * sizeof *c);
    memcpy(before + 3 * PART, expected, PART * sizeof *c);
    check_sum(ctx, c, 5 * PART, sum_of(before, 5 * PART));
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    CHECK(same_floats(c, before, 5 * PART), "wrong values");

    test_case("fetch/written-on-both-sides");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, 5 * PART * sizeof *c));
    CHECK_STATUS(DUO_OK, square(ctx, Q, a, b, 0.0f, c + PART));
    for (int64_t i = 3 * PART; i < 4 * PART; i++) before[i] = c[i] = -5.0f;
    CHECK_STATUS(DUO_OK, duo_changed(ctx, c + 3 * PART, PART * sizeof *c));
    check_sum(ctx, c, 5 * PART, sum_of(before, 5 * PART));
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    CHECK(same_floats(c, before, 5 * PART), "wrong values");

    test_case("result/kept");
    float *const r = new_floats(64);
    test_fill_poison(r, 64);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, r, 64 * sizeof *r));
    r[20] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_changed(ctx, r + 20, sizeof *r));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N * N, a, 1, r + 3));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N * N, b, 1, r + 40));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, r, 64 * sizeof *r));
    CHECK(r[3] == sum_of(a, N * N) && r[40] == sum_of(b, N * N) && r[20] == 1.0f, "%g %g %g",
          (double)r[3], (double)r[40], (double)r[20]);
    CHECK(test_all_poison(r, 3) && test_all_poison(r + 4, 16) && test_all_poison(r + 41, 23),
          "neighbours");
    CHECK_STATUS(DUO_OK, duo_release(ctx, r));

    end_without_leaks(ctx);
    free(r);
    free(before);
    free(a);
    free(b);
    free(c);
    free(expected);
}

static void ranges(void)
{
    enum { N = 4000 };
    duo_context *const ctx = test_context();
    float *const x = new_floats(N);
    fill(x, N, 3);
    char *const bytes = (char *)x;
    test_case("keep/ranges");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 1000, 1000 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 1000, 1000 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 1000, 1));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 1500, 500 * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, x + 1500, 501 * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, x + 999, 2 * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, x + 900, 1200 * sizeof *x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, bytes + 4000 - 1, 2));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 2000, 100 * sizeof *x)); /* next to it */
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 999, sizeof *x));
    CHECK_STATUS(DUO_ERR_NULL, duo_keep(ctx, NULL, 100));
    CHECK_STATUS(DUO_ERR_SIZE, duo_keep(ctx, x, 0));
    CHECK_STATUS(DUO_ERR_NULL, duo_changed(ctx, NULL, 4));
    CHECK_STATUS(DUO_ERR_NULL, duo_fetch(ctx, NULL, 4));
    CHECK_STATUS(DUO_ERR_NULL, duo_release(ctx, NULL));
    CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, x));
    CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, x + 2100));
    check_sum(ctx, x, N, sum_of(x, N));

    test_case("keep/release-by-any-address");
    CHECK_STATUS(DUO_OK, duo_release(ctx, bytes + 4 * 2000 - 1));
    CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, x + 1000));
    CHECK_STATUS(DUO_OK, duo_release(ctx, bytes + 4 * 2100 - 1));
    CHECK_STATUS(DUO_OK, duo_release(ctx, x + 999));
    CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, x + 999));

    test_case("keep/device-memory");
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 1000, &memory));
    if (test_gpu_side()) CHECK_STATUS(DUO_ERR_RANGE, duo_keep(ctx, memory, 100));
    CHECK_STATUS(DUO_OK, duo_free(ctx, memory));

    test_case("keep/odd-bytes");
    /* A range that begins and ends inside an element. */
    CHECK_STATUS(DUO_OK, duo_keep(ctx, bytes + 401, 4001));
    check_sum(ctx, x, N, sum_of(x, N));
    check_sum(ctx, x + 101, 999, sum_of(x + 101, 999));
    check_sum(ctx, x + 100, 1001, sum_of(x + 100, 1001));
    x[500] = 17.0f;
    CHECK_STATUS(DUO_OK, duo_changed(ctx, bytes + 2001, 2));
    check_sum(ctx, x + 101, 999, sum_of(x + 101, 999));
    float *const expected = new_floats(N), *const id = new_floats(100);
    memcpy(expected, x, N * sizeof *x);
    for (int i = 0; i < 100; i++) id[i] = i % 11 == 0 ? 1.0f : 0.0f;
    /* 10 x 10 into the kept part alone, across its start, and across its end */
    static const int64_t at[] = {300, 95, 1095};
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 10, 10, 10,
                                       2.0f, x + 2000, 10, id, 10, 0.0f, x + at[i], 10));
        for (int j = 0; j < 100; j++) expected[at[i] + j] = 2.0f * expected[2000 + j];
        check_sum(ctx, x, N, sum_of(expected, N));
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, x + 101));
    CHECK(same_floats(x, expected, N), "wrong values");
    end_without_leaks(ctx);
    free(id);
    free(expected);
    free(x);
}

/* Operands that lie only partly in kept arrays, or reach over several. */
static void partly_kept(void)
{
    enum { N = 3000 };
    test_rng rng = test_rng_for("partly_kept");
    duo_context *const ctx = test_context();
    float *const x = new_floats(N), *const expected = new_floats(N), *const id = new_floats(400);
    for (int i = 0; i < 400; i++) id[i] = i % 21 == 0 ? 1.0f : 0.0f;
    fill(x, N, 4);
    memcpy(expected, x, N * sizeof *x);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 500, 500 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 1200, 300 * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x + 1500, 400 * sizeof *x));
    for (int trial = 0; trial < 60; trial++) {
        test_case("partly-kept/%d", trial);
        /* Twenty columns of twenty, ld 25, anywhere; doubled into somewhere else. */
        const int64_t from = test_between(&rng, 0, 900), to = test_between(&rng, 1450, N - 495);
        const bool up = test_random(&rng) % 2 == 0;
        const float *const a = up ? x + from : x + to;
        float *const c = up ? x + to : x + from;
        const int64_t source = up ? from : to, target = up ? to : from;
        const float beta = (float)test_between(&rng, -1, 1);
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 20, 20, 20,
                                       -1.0f, a, 25, id, 20, beta, c, 25));
        for (int64_t j = 0; j < 20; j++)
            for (int64_t i = 0; i < 20; i++) {
                float *const cell = &expected[target + i + 25 * j];
                *cell = beta * *cell - expected[source + i + 25 * j];
            }
        float total;
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &total));
        CHECK(total == sum_of(expected, N), "sum %g, expected %g", (double)total,
              (double)sum_of(expected, N));
        if (trial % 6 == 5) { /* bring the numbers down again */
            CHECK_STATUS(DUO_OK, duo_fetch(ctx, x, N * sizeof *x));
            CHECK(same_floats(x, expected, N), "wrong values");
            fill(x, N, trial);
            memcpy(expected, x, N * sizeof *x);
            CHECK_STATUS(DUO_OK, duo_changed(ctx, x, N * sizeof *x));
        }
        /* What is not kept is always current. */
        CHECK(same_floats(x, expected, 500) && same_floats(x + 1000, expected + 1000, 200) &&
                  same_floats(x + 1900, expected + 1900, N - 1900),
              "host memory that is not kept is not current");
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, x + 500));
    CHECK_STATUS(DUO_OK, duo_release(ctx, x + 1200));
    CHECK_STATUS(DUO_OK, duo_release(ctx, x + 1500));
    CHECK(same_floats(x, expected, N), "wrong values");
    end_without_leaks(ctx);
    free(id);
    free(expected);
    free(x);
}

/* Plain arrays need no verb: what the program writes between calls is seen, gaps are left alone. */
static void plain_arrays(void)
{
    duo_context *const ctx = test_context();
    test_rng rng = test_rng_for("plain_arrays");
    test_case("plain/always-current");
    enum { N = 20000 };
    float *const x = new_floats(N);
    for (int round = 0; round < 5; round++) {
        fill(x, N, round);
        check_sum(ctx, x, N, sum_of(x, N));
    }
    free(x);
    for (int trial = 0; trial < 20; trial++) {
        const int64_t m = test_between(&rng, 1, 70), n = test_between(&rng, 1, 70);
        const int64_t k = test_between(&rng, 1, 40), ld = m + test_between(&rng, 0, 30);
        const float beta = trial % 2 == 0 ? 0.0f : 1.0f;
        test_case("plain/gaps/%dx%dx%d/ld+%d/b=%g", (int)m, (int)n, (int)k, (int)(ld - m),
                  (double)beta);
        test_array a = test_array_new(m, k, m, 0), b = test_array_new(k, n, k, 1);
        test_array c = test_array_new(m, n, ld, trial % 5);
        test_array_fill(&a, &rng, DATA_INTEGER);
        test_array_fill(&b, &rng, DATA_INTEGER);
        if (beta != 0.0f) test_array_fill(&c, &rng, DATA_INTEGER);
        test_array expected = test_array_copy(&c);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                float *const cell = &expected.data[i + j * ld];
                if (beta == 0.0f) *cell = 0.0f;
                for (int64_t p = 0; p < k; p++) *cell += a.data[i + p * m] * b.data[p + j * k];
            }
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, m, n, k,
                                       1.0f, a.data, m, b.data, k, beta, c.data, ld));
        CHECK(test_array_equal(&c, &expected), "wrong values");
        CHECK(test_array_intact(&a) && test_array_intact(&b) && test_array_intact(&c),
              "gaps or surroundings were changed");
        test_array_free(&a);
        test_array_free(&b);
        test_array_free(&c);
        test_array_free(&expected);
    }
    end_without_leaks(ctx);
}

/* ---- The CPU side with data that is elsewhere ---- */

static void cpu_side(void)
{
    enum { N = 40 };
    duo_context *const ctx = test_context();
    float *const a = new_floats(N * N), *const b = new_floats(N * N), *const c = new_floats(N * N);
    float *const expected = new_floats(N * N), *const got = new_floats(N * N);
    float sum;
    fill(a, N * N, 1);
    fill(b, N * N, 2);
    multiply(N, a, b, expected);
    void *da = NULL, *dr = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * N * sizeof *a, &da));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof sum, &dr));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, da, a, N * N * sizeof *a));
    test_fill_poison(c, N * N);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, N * N * sizeof *c));

    for (int round = 0; round < 3; round++) {
        /* C is written on the device, then read and written on the CPU, then read on the device. */
        test_case("cpu-side/device-then-cpu/%d", round);
        CHECK_STATUS(DUO_OK, square(ctx, N, da, b, 0.0f, c));
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
        check_sum(ctx, c, N * N, sum_of(expected, N * N));
        check_sum(ctx, da, N * N, sum_of(a, N * N));
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, N, da, -1, (float *)da + N, 0, &sum));
        CHECK(sum == sum_of(a, N) * a[N], "dot with a zero increment: %g", (double)sum);
        CHECK_STATUS(DUO_OK, duo_sasum(ctx, N, da, N, &sum));
        CHECK_STATUS(DUO_OK, square(ctx, N, da, b, 1.0f, c));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, N * N, da, 1, dr));
        CHECK_STATUS(DUO_OK, duo_copy(ctx, &sum, dr, sizeof sum));
        CHECK(sum == sum_of(a, N * N), "result on the device: %g", (double)sum);
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, test_gpu_side() ? DUO_PATH_GPU : DUO_PATH_CPU));
        check_sum(ctx, c, N * N, 2.0f * sum_of(expected, N * N));
        CHECK_STATUS(DUO_OK, duo_fetch(ctx, c, 1));
        bool right = true;
        for (int64_t i = 0; i < N * N; i++) right = right && c[i] == 2.0f * expected[i];
        CHECK(right, "wrong values");

        test_case("cpu-side/output-on-device/%d", round);
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
        void *dc = NULL;
        CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * N * sizeof *c, &dc));
        CHECK_STATUS(DUO_OK, square(ctx, N, a, b, 0.0f, dc));
        CHECK_STATUS(DUO_OK, square(ctx, N, a, b, -2.0f, dc));
        CHECK_STATUS(DUO_OK, duo_copy(ctx, got, dc, N * N * sizeof *c));
        right = true;
        for (int64_t i = 0; i < N * N; i++) right = right && got[i] == -expected[i];
        CHECK(right, "wrong values");
        CHECK_STATUS(DUO_OK, duo_free(ctx, dc));
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, test_gpu_side() ? DUO_PATH_GPU : DUO_PATH_CPU));
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    CHECK_STATUS(DUO_OK, duo_free(ctx, da));
    CHECK_STATUS(DUO_OK, duo_free(ctx, dr));
    end_without_leaks(ctx);
    free(a);
    free(b);
    free(c);
    free(expected);
    free(got);
}

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
    if (!counting()) {
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
    if (counting()) sim_hold(true); /* a call that waits would never return */
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, dx, 1, r));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N / 2, dx, 1, r + 1));
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, N, dx, 1, dx, -1, r + 2));
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, 0, dx, 1, r + 3));
    if (counting()) sim_hold(false);
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

/* ---- Several contexts ---- */

static void two_contexts(void)
{
    enum { N = 32, ROUNDS = 60 };
    duo_context *const writer = test_context(), *const reader = test_context();
    float *const a = new_floats(N * N), *const c = new_floats(N * N);
    float *const expected = new_floats(N * N);
    void *device = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(writer, N * N * sizeof *c, &device));
    CHECK_STATUS(DUO_OK, duo_keep(writer, c, N * N * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_keep(writer, a, N * N * sizeof *a));
    if (counting()) sim_set_delay(300);
    for (int round = 0; round < ROUNDS; round++) {
        test_case("contexts/in-order/%d", round);
        fill(a, N * N, round);
        CHECK_STATUS(DUO_OK, duo_changed(reader, a, N * N * sizeof *a));
        multiply(N, a, a, expected);
        const float sum = sum_of(expected, N * N);
        /* One writes, the other reads what it wrote; then the other way about. */
        CHECK_STATUS(DUO_OK, square(writer, N, a, a, 0.0f, c));
        check_sum(reader, c, N * N, sum);
        CHECK_STATUS(DUO_OK, square(writer, N, a, a, 0.0f, device));
        CHECK_STATUS(DUO_OK, square(reader, N, a, a, 1.0f, device));
        check_sum(writer, device, N * N, 2.0f * sum);
        /* Written while the other may still be reading. */
        CHECK_STATUS(DUO_OK, duo_ssum(reader, N * N, c, 1, (float *)device + 1));
        CHECK_STATUS(DUO_OK, square(writer, N, a, a, 1.0f, c));
        float first;
        CHECK_STATUS(DUO_OK, duo_copy(writer, &first, (float *)device + 1, sizeof first));
        CHECK(first == sum, "%g, expected %g", (double)first, (double)sum);
        CHECK_STATUS(DUO_OK, duo_fetch(reader, c, sizeof *c));
        bool right = true;
        for (int64_t i = 0; i < N * N; i++) right = right && c[i] == 2.0f * expected[i];
        CHECK(right, "wrong values");
    }
    test_case("contexts/destroy-leaves-arrays");
    CHECK_STATUS(DUO_OK, square(writer, N, a, a, 0.0f, c));
    CHECK_STATUS(DUO_OK, square(writer, N, a, a, 0.0f, device));
    CHECK_STATUS(DUO_OK, duo_destroy(writer));
    check_sum(reader, device, N * N, sum_of(expected, N * N));
    CHECK_STATUS(DUO_OK, duo_fetch(reader, c, sizeof *c));
    CHECK(same_floats(c, expected, N * N), "wrong values");
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_fetch(writer, c, sizeof *c));
    CHECK_STATUS(DUO_OK, duo_release(reader, c));
    CHECK_STATUS(DUO_OK, duo_release(reader, a));
    CHECK_STATUS(DUO_OK, duo_free(reader, device));
    if (counting()) sim_set_delay(0);
    end_without_leaks(reader);
    free(a);
    free(c);
    free(expected);
}

/* A call returns when its pinned operands may be written to, also where its result stays on the
 * device and nobody waits for it. */
static void pinned_operands_are_free_at_return(void)
{
    enum { N = 4000, ROUNDS = 30 };
    duo_context *const ctx = test_context();
    void *memory = NULL, *result = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, N * sizeof(float), &memory));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof(float), &result));
    float *const x = memory;
    if (counting()) sim_set_delay(500);
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
    if (counting()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_free(ctx, result));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, x));
    end_without_leaks(ctx);
}

static void *let_go_later(void *unused)
{
    (void)unused;
    usleep(200000);
    sim_hold(false);
    return NULL;
}

/* Many times what is on the way at once, while the device does nothing: no piece may be filled anew
 * before the device has read it. */
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
    if (counting()) sim_hold(true);
    if (counting() && pthread_create(&thread, NULL, let_go_later, NULL) != 0) abort();
    CHECK_STATUS(DUO_OK, duo_copy(ctx, device, x, N * sizeof *x));
    if (counting()) pthread_join(thread, NULL);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, y, device, N * sizeof *x));
    CHECK(same_floats(x, y, N), "wrong values");
    CHECK_STATUS(DUO_OK, duo_free(ctx, device));
    end_without_leaks(ctx);
    free(x);
    free(y);
}

/* A kept array whose device copy belongs to one device is used on another. */
static void two_devices(void)
{
    enum { N = 40 };
    if (!counting()) {
        test_skip("needs two devices");
        return;
    }
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    duo_context *const first = test_context(), *const second = test_context();
    CHECK_STATUS(DUO_OK, duo_set_device(second, 1));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(second, 2));
    float *const a = new_floats(N * N), *const c = new_floats(N * N);
    float *const expected = new_floats(N * N);
    void *device = NULL;
    fill(a, N * N, 1);
    multiply(N, a, a, expected);
    const float sum = sum_of(expected, N * N);
    CHECK_STATUS(DUO_OK, duo_keep(first, c, N * N * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_malloc(first, N * N * sizeof *c, &device));
    sim_set_delay(200);
    for (int round = 0; round < 10; round++) {
        test_case("devices/%d", round);
        duo_context *const one = round % 2 == 0 ? first : second;
        duo_context *const other = round % 2 == 0 ? second : first;
        CHECK_STATUS(DUO_OK, square(one, N, a, a, 0.0f, c));
        check_sum(other, c, N * N, sum);
        CHECK_STATUS(DUO_OK, square(other, N, a, a, 1.0f, c));
        check_sum(one, c, N * N, 2.0f * sum);
        CHECK_STATUS(DUO_OK, square(one, N, a, a, 0.0f, device));
        CHECK_STATUS(DUO_OK, square(other, N, a, a, 2.0f, device));
        check_sum(one, device, N * N, 3.0f * sum);
        check_sum(other, device, N * N, 3.0f * sum);
    }
    CHECK_STATUS(DUO_OK, duo_set_device(first, 1)); /* its work is done before it moves */
    CHECK_STATUS(DUO_OK, square(first, N, a, a, 0.0f, c));
    CHECK_STATUS(DUO_OK, duo_set_device(first, 0));
    check_sum(first, c, N * N, sum);
    sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_release(second, c));
    CHECK_STATUS(DUO_OK, duo_free(second, device));
    CHECK(same_floats(c, expected, N * N), "wrong values");
    CHECK_STATUS(DUO_OK, duo_destroy(first));
    end_without_leaks(second);
    free(a);
    free(c);
    free(expected);
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
    if (counting()) CHECK(held >= N * sizeof *x, "%ju bytes held", (uintmax_t)held);
    test_case("trim/no-new-memory-for-sizes-seen");
    const uint64_t allocations = sim_count(SIM_ALLOCATE), pins = sim_count(SIM_PIN);
    for (int i = 0; i < 5; i++) check_sum(ctx, x, N, sum_of(x, N));
    if (counting())
        CHECK(sim_count(SIM_ALLOCATE) == allocations && sim_count(SIM_PIN) == pins,
              "memory was taken again");
    test_case("trim/gives-back");
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    if (counting())
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
    if (!counting()) {
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
    if (!counting()) {
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

/* ---- The model ---- */

/*
 * One host array, of which parts are kept, and some blocks of device memory; `truth` is what each
 * element should be. Every value is a small integer, so sums and products are exact.
 */
enum { BLOCKS = 4, BLOCK_FLOATS = 2000, CONTEXTS = 3, LARGEST_VALUE = 1 << 12, FACTORS = 6 };

typedef struct space {
    float *address;
    float *truth;
    int64_t count;
} space;

/* Columns of rows, ld apart, somewhere in a space. */
typedef struct piece {
    int space;
    int64_t at, rows, columns, ld;
} piece;

typedef struct model {
    space space[1 + BLOCKS]; /* the array, then the blocks */
    piece factor[FACTORS];   /* places where A or B often is */
    int *owner;              /* of each element of the array: the kept range it is in, 0: none */
    int next_owner;
    int64_t longest; /* of a kept range */
    duo_context *context[CONTEXTS];
    test_rng rng;
    bool wrong;
} model;

static int64_t any(model *w, int64_t low, int64_t high) { return test_between(&w->rng, low, high); }

static duo_context *any_context(model *w) { return w->context[any(w, 0, CONTEXTS - 1)]; }

static int64_t span(const piece *p) { return (p->columns - 1) * p->ld + p->rows; }

static piece any_piece(model *w, int64_t rows, int64_t columns)
{
    piece p = {.rows = rows, .columns = columns, .ld = rows + any(w, 0, 3) * any(w, 0, 3)};
    p.space = any(w, 0, 2) > 0 ? 0 : (int)any(w, 1, BLOCKS);
    if (span(&p) > w->space[p.space].count) p.space = 0;
    p.at = any(w, 0, w->space[p.space].count - span(&p));
    return p;
}

static bool overlap(const piece *p, const piece *q)
{
    return p->space == q->space && p->at < q->at + span(q) && q->at < p->at + span(p);
}

static float *address(model *w, const piece *p) { return w->space[p->space].address + p->at; }

static float *truth(model *w, const piece *p, int64_t i, int64_t j)
{
    return &w->space[p->space].truth[p->at + i + j * p->ld];
}

static bool kept_anywhere(const model *w, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        if (w->owner[i] != 0) return true;
    return false;
}

/* Host memory that is not kept must always be current: look around what a call touched. */
static void check_around(model *w, int64_t from, int64_t to)
{
    const space *const s = &w->space[0];
    from = from < 200 ? 0 : from - 200;
    to = to + 200 > s->count ? s->count : to + 200;
    for (int64_t i = from; i < to && !w->wrong; i++)
        if (w->owner[i] == 0)
            w->wrong = !CHECK(s->address[i] == s->truth[i], "element %jd is %g, should be %g",
                              (intmax_t)i, (double)s->address[i], (double)s->truth[i]);
}

/* The whole kept range around an element must be current now. */
static void check_range_at(model *w, int64_t at)
{
    const space *const s = &w->space[0];
    const int owner = w->owner[at];
    int64_t i = at;
    while (i > 0 && w->owner[i - 1] == owner) i--;
    for (; i < s->count && w->owner[i] == owner && !w->wrong; i++)
        w->wrong = !CHECK(s->address[i] == s->truth[i], "fetched element %jd is %g, should be %g",
                          (intmax_t)i, (double)s->address[i], (double)s->truth[i]);
}

static void expect(model *w, duo_status expected, duo_status got, const char *what)
{
    if (got != expected) w->wrong = !CHECK(got == expected, "%s: status %d", what, (int)got);
}

static void do_keep(model *w)
{
    space *const s = &w->space[0];
    const int64_t length = any(w, 1, w->longest), at = any(w, 0, s->count - length);
    const int inside = w->owner[at];
    bool uniform = true;
    for (int64_t i = at; i < at + length; i++) uniform = uniform && w->owner[i] == inside;
    const bool fresh = !kept_anywhere(w, at, at + length);
    const duo_status expected = uniform ? DUO_OK : DUO_ERR_RANGE;
    expect(w, expected, duo_keep(any_context(w), s->address + at, (size_t)length * sizeof(float)),
           "keep");
    if (fresh) {
        w->next_owner++;
        for (int64_t i = at; i < at + length; i++) w->owner[i] = w->next_owner;
    }
}

static void do_release(model *w)
{
    space *const s = &w->space[0];
    const int64_t at = any(w, 0, s->count - 1);
    const int owner = w->owner[at];
    expect(w, owner != 0 ? DUO_OK : DUO_ERR_RANGE, duo_release(any_context(w), s->address + at),
           "release");
    if (owner == 0) return;
    check_range_at(w, at);
    int64_t first = at, last = at;
    while (first > 0 && w->owner[first - 1] == owner) first--;
    while (last < s->count && w->owner[last] == owner) last++;
    for (int64_t i = first; i < last; i++) w->owner[i] = 0;
}

static void fetch_part(model *w, int64_t at, int64_t length)
{
    space *const s = &w->space[0];
    expect(w, DUO_OK, duo_fetch(any_context(w), s->address + at, (size_t)length * sizeof(float)),
           "fetch");
    for (int64_t i = at; i < at + length && !w->wrong; i++)
        if (i == at || w->owner[i] != w->owner[i - 1]) check_range_at(w, i);
}

/* The program writes to a part: fetch, write, say so. */
static void do_change(model *w)
{
    space *const s = &w->space[0];
    const int64_t length = any(w, 1, 300), at = any(w, 0, s->count - length);
    fetch_part(w, at, length);
    for (int64_t i = at; i < at + length; i++) s->address[i] = s->truth[i] = (float)any(w, -4, 4);
    expect(w, DUO_OK, duo_changed(any_context(w), s->address + at, (size_t)length * sizeof(float)),
           "changed");
}

static void do_fetch(model *w)
{
    const int64_t length = any(w, 1, 400);
    fetch_part(w, any(w, 0, w->space[0].count - length), length);
}

static void do_reduce(model *w)
{
    const int64_t n = any(w, 1, 400), stride = any(w, 0, 3) == 0 ? any(w, 2, 5) : 1;
    piece x = any_piece(w, 1, n), y = any_piece(w, 1, n);
    x.ld = stride;
    if (x.at + span(&x) > w->space[x.space].count) x.at = w->space[x.space].count - span(&x);
    y.ld = 1;
    if (x.at < 0) return;
    int64_t sum = 0, dot = 0, magnitude = 0, dot_magnitude = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t a = (int64_t)*truth(w, &x, 0, i), b = (int64_t)*truth(w, &y, 0, i);
        sum += a;
        magnitude += llabs(a);
        dot += a * b;
        dot_magnitude += llabs(a * b);
    }
    const int which = (int)any(w, 0, 2);
    if ((which == 2 ? dot_magnitude : magnitude) > 1 << 23) return;
    duo_context *const ctx = any_context(w);
    piece target = any_piece(w, 1, 1);
    const bool elsewhere = any(w, 0, 2) == 0; /* the result goes into the world */
    float value = test_poison();
    float *const result = elsewhere ? address(w, &target) : &value;
    const int64_t expected = which == 0 ? sum : which == 1 ? magnitude : dot;
    if (elsewhere && llabs(expected) > LARGEST_VALUE) return;
    duo_status status;
    if (which == 0)
        status = duo_ssum(ctx, n, address(w, &x), stride, result);
    else if (which == 1)
        status = duo_sasum(ctx, n, address(w, &x), stride, result);
    else
        status = duo_sdot(ctx, n, address(w, &x), stride, address(w, &y), 1, result);
    expect(w, DUO_OK, status, "reduction");
    if (elsewhere) {
        *truth(w, &target, 0, 0) = (float)expected;
        if (target.space == 0) check_around(w, target.at, target.at + 1);
    } else if (!w->wrong) {
        w->wrong = !CHECK(value == (float)expected, "%d: got %g, expected %jd", which,
                          (double)value, (intmax_t)expected);
    }
}

static void do_sgemm(model *w)
{
    int64_t m = any(w, 1, 14), n = any(w, 1, 14), k = any(w, 0, 5);
    piece a = any_piece(w, m, k > 0 ? k : 1), b = any_piece(w, k > 0 ? k : 1, n);
    const piece usual = w->factor[any(w, 0, FACTORS - 1)];
    const int as = (int)any(w, 0, 2);
    if (as == 1) {
        a = usual;
        m = a.rows;
        k = a.columns;
        b = any_piece(w, k, n);
    } else if (as == 2) {
        b = usual;
        k = b.rows;
        n = b.columns;
        a = any_piece(w, m, k);
    }
    const piece c = any_piece(w, m, n);
    if (overlap(&c, &a) || overlap(&c, &b)) return;
    float alpha = (float)any(w, -1, 1), beta = (float)any(w, -1, 1);
    float cells[14 * 14];
    for (int round = 0; round < 2; round++) {
        bool small = true;
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                float cell = 0.0f;
                for (int64_t p = 0; p < k; p++) cell += *truth(w, &a, i, p) * *truth(w, &b, p, j);
                cell = alpha * cell + beta * *truth(w, &c, i, j);
                small = small && fabsf(cell) <= LARGEST_VALUE;
                cells[i + j * m] = cell;
            }
        if (small) break;
        alpha = beta = 0.0f; /* the numbers have grown too large: clear C instead */
    }
    expect(w, DUO_OK,
           duo_sgemm(any_context(w), DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, m, n, k, alpha,
                     address(w, &a), a.ld, address(w, &b), b.ld, beta, address(w, &c), c.ld),
           "sgemm");
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) *truth(w, &c, i, j) = cells[i + j * m];
    if (c.space == 0) check_around(w, c.at, c.at + span(&c));
}

/* Promises not to change something, and breaks it by telling of every change. */
static void do_prepare(model *w)
{
    const piece p = w->factor[any(w, 0, FACTORS - 1)];
    const bool back = any(w, 0, 4) == 0;
    const int64_t length = back ? 1 : span(&p);
    bool whole = p.space > 0 || w->owner[p.at] != 0;
    for (int64_t i = p.at; p.space == 0 && i < p.at + length; i++)
        whole = whole && w->owner[i] == w->owner[p.at];
    expect(w, whole ? DUO_OK : DUO_ERR_RANGE,
           duo_prepare(any_context(w), address(w, &p), back ? 0 : (size_t)length * sizeof(float)),
           "prepare");
}

static void do_copy(model *w)
{
    const int64_t length = any(w, 1, 500);
    piece from = any_piece(w, length, 1), to = any_piece(w, length, 1);
    if (overlap(&from, &to)) return;
    expect(w, DUO_OK,
           duo_copy(any_context(w), address(w, &to), address(w, &from),
                    (size_t)length * sizeof(float)),
           "copy");
    memcpy(truth(w, &to, 0, 0), truth(w, &from, 0, 0), (size_t)length * sizeof(float));
    if (to.space == 0) check_around(w, to.at, to.at + length);
}

static void do_look(model *w)
{
    space *const s = &w->space[any(w, 1, BLOCKS)];
    float *const got = new_floats(s->count);
    expect(w, DUO_OK, duo_copy(any_context(w), got, s->address, (size_t)s->count * sizeof(float)),
           "copy");
    for (int64_t i = 0; i < s->count && !w->wrong; i++)
        w->wrong = !CHECK(got[i] == s->truth[i], "device element %jd is %g, should be %g",
                          (intmax_t)i, (double)got[i], (double)s->truth[i]);
    free(got);
}

static void do_policy(model *w)
{
    duo_context *const ctx = any_context(w);
    switch (any(w, 0, 7)) {
    case 0:
        expect(w, DUO_OK, duo_set_path(ctx, DUO_PATH_CPU), "path");
        break;
    case 1:
        expect(w, DUO_OK, duo_set_path(ctx, DUO_PATH_AUTO), "path");
        break;
    case 2:
        expect(w, DUO_OK, duo_trim(ctx), "trim");
        break;
    case 3:
        expect(w, DUO_OK, duo_synchronize(ctx), "synchronize");
        break;
    case 4: { /* another context in its place */
        const int i = (int)any(w, 0, CONTEXTS - 1);
        expect(w, DUO_OK, duo_destroy(w->context[i]), "destroy");
        w->context[i] = test_context();
        break;
    }
    default:
        expect(w, DUO_OK, duo_set_path(ctx, test_gpu_side() ? DUO_PATH_GPU : DUO_PATH_CPU), "path");
    }
}

static void run_model(const char *label, int64_t count, int64_t longest, int keeps, int steps)
{
    static model w;
    w = (model){.rng = test_rng_for(label), .longest = longest};
    test_case("%s/start", label);
    for (int i = 0; i < CONTEXTS; i++) w.context[i] = test_context();
    for (int i = 0; i <= BLOCKS; i++) {
        space *const s = &w.space[i];
        *s = (space){.count = i == 0 ? count : BLOCK_FLOATS};
        s->truth = new_floats(s->count);
        fill(s->truth, s->count, i);
        void *memory = NULL;
        if (i > 0) CHECK_STATUS(DUO_OK, duo_malloc(w.context[0], BLOCK_FLOATS * 4, &memory));
        s->address = i == 0 ? new_floats(count) : memory;
        CHECK_STATUS(
            DUO_OK, duo_copy(w.context[0], s->address, s->truth, (size_t)s->count * sizeof(float)));
    }
    w.owner = calloc((size_t)count, sizeof *w.owner);
    for (int i = 0; i < FACTORS; i++) w.factor[i] = any_piece(&w, any(&w, 1, 14), any(&w, 1, 5));
    for (int i = 0; i < keeps; i++) do_keep(&w);
    for (int step = 0; step < steps && !w.wrong; step++) {
        if (step % 100 == 0) test_case("%s/step-%d..", label, step);
        if (counting() && step % 50 == 0) sim_set_delay(any(&w, 0, 3) == 0 ? 40 : 0);
        const int64_t what = any(&w, 0, 99);
        if (what < 6)
            do_keep(&w);
        else if (what < 12)
            do_release(&w);
        else if (what < 22)
            do_change(&w);
        else if (what < 30)
            do_fetch(&w);
        else if (what < 33)
            do_prepare(&w);
        else if (what < 55)
            do_reduce(&w);
        else if (what < 85)
            do_sgemm(&w);
        else if (what < 93)
            do_copy(&w);
        else if (what < 95)
            do_look(&w);
        else
            do_policy(&w);
        if (step % 500 == 499) check_around(&w, 0, count);
        if (w.wrong)
            printf("    %s: first wrong after step %d (%jd)\n", label, step, (intmax_t)what);
    }
    test_case("%s/end", label);
    for (int64_t i = 0; i < count; i++) { /* release all */
        if (w.owner[i] == 0) continue;
        const int owner = w.owner[i];
        CHECK_STATUS(DUO_OK, duo_release(w.context[0], w.space[0].address + i));
        for (; i < count && w.owner[i] == owner; i++) w.owner[i] = 0;
        i--;
    }
    CHECK(w.wrong || same_floats(w.space[0].address, w.space[0].truth, count), "wrong at the end");
    for (int i = 0; i <= BLOCKS; i++) {
        if (i > 0)
            CHECK_STATUS(DUO_OK, duo_free(w.context[0], w.space[i].address));
        else
            free(w.space[i].address);
        free(w.space[i].truth);
    }
    free(w.owner);
    if (counting()) sim_set_delay(0);
    for (int i = 0; i < CONTEXTS; i++) test_context_end(w.context[i]);
    if (counting()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

static void model_few(void) { run_model("model/few", 6000, 900, 8, 4000); }
static void model_many(void) { run_model("model/many", 300000, 90, 6000, 3000); }

static const test_entry tests[] = {
    {"sent_once", sent_once},
    {"outputs_stay", outputs_stay},
    {"ranges", ranges},
    {"partly_kept", partly_kept},
    {"plain_arrays", plain_arrays},
    {"cpu_side", cpu_side},
    {"device_memory", device_memory},
    {"copies", copies},
    {"adopted", adopted},
    {"results_on_device", results_on_device},
    {"two_contexts", two_contexts},
    {"pinned_operands_are_free_at_return", pinned_operands_are_free_at_return},
    {"long_transfers", long_transfers},
    {"two_devices", two_devices},
    {"trim", trim},
    {"memory_cap", memory_cap},
    {"full_device", full_device},
    {"model_few", model_few},
    {"model_many", model_many},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_child_task(argc, argv) != NULL) return use_little_memory();
    return test_main(argc, argv, "residency", tests);
}
