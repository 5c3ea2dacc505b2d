/*
 * test_residency.c - kept arrays: which bytes are sent, stay on the device, and come home, and
 * when.
 *
 * All data are small integers, so every result is exact and every wrong byte shows. On the
 * simulated device the bytes sent are counted; on a real one the counts are left out.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/arrays.h"
#include "support/exact.h"
#include "support/harness.h"

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
    if (test_on_sim())
        CHECK(sent_since(before) == N * sizeof *x, "%ju bytes sent", (uintmax_t)sent_since(before));
    test_case("keep/not-again");
    before = sim_uploaded_bytes();
    check_sum(ctx, x, N, sum_of(x, N));
    check_sum(ctx, x + 1001, 777, sum_of(x + 1001, 777));
    check_sum(ctx, x + N - 1, 1, x[N - 1]);
    float result;
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, N / 2, x + 1, 2, x + N - N / 2, -1, &result));
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, N / 3, x, 3, &result));
    if (test_on_sim())
        CHECK(sent_since(before) == 0, "%ju bytes sent", (uintmax_t)sent_since(before));

    test_case("keep/stale-without-changed");
    const float old = sum_of(x, N);
    x[5] += 3.0f;
    if (test_gpu_side()) check_sum(ctx, x, N, old); /* as the header warns: nobody told */
    test_case("keep/changed");
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x + 5, sizeof *x));
    before = sim_uploaded_bytes();
    check_sum(ctx, x, N, sum_of(x, N));
    if (test_on_sim())
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
    if (test_on_sim())
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
    if (test_on_sim())
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
    if (test_on_sim()) {
        CHECK(sim_downloaded_bytes() == down, "something came back");
        CHECK(sent_since(up) == 2 * N * N * sizeof *c, "%ju bytes sent: C is only written",
              (uintmax_t)sent_since(up));
    }
    test_case("fetch/used-before-it-is-fetched");
    up = sim_uploaded_bytes();
    check_sum(ctx, c, N * N, sum_of(expected, N * N));
    if (test_on_sim()) CHECK(sent_since(up) == 0, "%ju bytes sent", (uintmax_t)sent_since(up));
    test_case("fetch/any-part-fetches-all");
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, c + 17, sizeof *c));
    CHECK(same_floats(c, expected, N * N), "wrong values");
    if (test_on_sim())
        CHECK(sim_downloaded_bytes() - down >= N * N * sizeof *c, "too little came back");
    test_case("fetch/nothing-to-fetch");
    down = sim_downloaded_bytes();
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, c, N * N * sizeof *c));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, c, 0));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, a, N * N * sizeof *a));
    if (test_on_sim()) CHECK(sim_downloaded_bytes() == down, "something came back");
    CHECK(same_floats(c, expected, N * N), "wrong values");
    test_case("fetch/device-copy-is-still-good");
    up = sim_uploaded_bytes();
    check_sum(ctx, c, N * N, sum_of(expected, N * N));
    if (test_on_sim()) CHECK(sent_since(up) == 0, "%ju bytes sent", (uintmax_t)sent_since(up));
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
    /* 10 x 10 only into the kept part, across its start, and across its end */
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
        /* Memory that is not kept is always current. */
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

/* Plain arrays need no verb: calls see the program's writes between them, and do not touch gaps. */
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
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, test_path()));
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
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, test_path()));
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

static const test_entry tests[] = {
    {"sent_once", sent_once},
    {"outputs_stay", outputs_stay},
    {"ranges", ranges},
    {"partly_kept", partly_kept},
    {"plain_arrays", plain_arrays},
    {"cpu_side", cpu_side},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "residency", tests); }
