/*
 * test_blas_rules.c - the rules of BLAS one by one, through the public API: which memory is read,
 * which is written, and special values. "Not read" is shown with pages that cannot be read.
 */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/calls.h"
#include "support/data.h"
#include "support/fence.h"
#include "support/harness.h"
#include "support/odd_memory.h"
#include "support/oracle.h"
#include "support/run_algorithm.h"

enum { PAGE_FLOATS = FENCE_PAGE / 4, M = 7, N = 5, K = 6 };

/* ---- sgemm: what is read ---- */

static const duo_layout layouts[] = {DUO_COL_MAJOR, DUO_ROW_MAJOR};
static const duo_transpose transposes[] = {DUO_NO_TRANS, DUO_TRANS, DUO_CONJ_TRANS};

typedef struct small {
    float a[64], b[64], c[64], before[64];
} small;

/* A, B and C of M, N, K with all leading dimensions 8; integers, so results are exact. */
static small make_small(const char *label)
{
    test_rng rng = test_rng_for(label);
    small s;
    test_fill(&rng, DATA_INTEGER, s.a, 64);
    test_fill(&rng, DATA_INTEGER, s.b, 64);
    test_fill(&rng, DATA_INTEGER, s.c, 64);
    memcpy(s.before, s.c, sizeof s.c);
    return s;
}

static bool in_c(duo_layout layout, int64_t at)
{
    const int64_t length = layout == DUO_COL_MAJOR ? M : N, runs = layout == DUO_COL_MAJOR ? N : M;
    return at / 8 < runs && at % 8 < length;
}

/* C = beta * C before, exactly, and nothing else has changed. */
static bool only_scaled(const small *s, duo_layout layout, float beta)
{
    for (int64_t i = 0; i < 64; i++) {
        float want = s->before[i];
        if (in_c(layout, i)) want = beta == 0.0f ? 0.0f : beta * want;
        if (beta == 0.0f && in_c(layout, i) ? !test_same(s->c[i], 0.0f) : !(s->c[i] == want))
            return false;
    }
    return true;
}

static void beta_zero_never_reads_c(void)
{
    duo_context *ctx = test_context();
    for (int l = 0; l < 2; l++) {
        for (int t = 0; t < 9; t++) {
            small s = make_small("beta zero");
            for (int i = 0; i < 64; i++) s.c[i] = test_poison();
            test_case("sgemm/beta=0/layout=%d/trans=%d", (int)layouts[l], t);
            const duo_status status =
                duo_sgemm(ctx, layouts[l], transposes[t % 3], transposes[t / 3], M, N, K, 1.0f, s.a,
                          8, s.b, 8, 0.0f, s.c, 8);
            double want[M * N], bound[M * N];
            const oracle_product p = {layouts[l],
                                      transposes[t % 3],
                                      transposes[t / 3],
                                      M,
                                      N,
                                      K,
                                      1.0f,
                                      s.a,
                                      8,
                                      s.b,
                                      8,
                                      0.0f,
                                      NULL,
                                      8};
            oracle_sgemm(&p, want, bound);
            bool right = true;
            for (int64_t i = 0; i < M; i++)
                for (int64_t j = 0; j < N; j++)
                    right = right && oracle_close(want[i * N + j], 0.0,
                                                  s.c[oracle_index(layouts[l], i, j, 8)]);
            for (int64_t i = 0; i < 64; i++)
                if (!in_c(layouts[l], i)) right = right && test_is_poison(s.c[i]);
            CHECK(status == DUO_OK && right, "status %d", (int)status);
        }
    }
    test_context_end(ctx);
}

static void scaling_alone(const char *rule, float alpha, int64_t k, const float *a, const float *b)
{
    static const float betas[] = {0.0f, 1.0f, -1.0f, 0.5f, 3.0f};
    duo_context *ctx = test_context();
    for (int l = 0; l < 2; l++) {
        for (int i = 0; i < 5; i++) {
            for (int t = 0; t < 4; t++) {
                small s = make_small(rule);
                if (betas[i] == 0.0f)
                    for (int j = 0; j < 64; j++)
                        if (in_c(layouts[l], j)) s.c[j] = test_poison();
                test_case("sgemm/%s/layout=%d/beta=%g/trans=%d", rule, (int)layouts[l],
                          (double)betas[i], t);
                const duo_status status =
                    duo_sgemm(ctx, layouts[l], transposes[t % 2], transposes[t / 2], M, N, k, alpha,
                              a, 8, b, 8, betas[i], s.c, 8);
                CHECK(status == DUO_OK && only_scaled(&s, layouts[l], betas[i]), "status %d",
                      (int)status);
            }
        }
    }
    test_context_end(ctx);
}

static void alpha_zero_never_reads_a_and_b(void)
{
    scaling_alone("alpha=0,NULL", 0.0f, K, NULL, NULL);
    scaling_alone("alpha=-0,NULL", -0.0f, K, NULL, NULL);
    scaling_alone("alpha=0,unreadable", 0.0f, K, no_entry(), no_entry());
}

static void k_zero_never_reads_a_and_b(void)
{
    scaling_alone("k=0,NULL", 1.0f, 0, NULL, NULL);
    scaling_alone("k=0,unreadable", 1.0f, 0, no_entry(), no_entry());
    scaling_alone("k=0,alpha=nan", NAN, 0, NULL, NULL);
}

static void alpha_and_beta_zero_give_positive_zeros(void)
{
    duo_context *ctx = test_context();
    test_case("sgemm/alpha=0,beta=0");
    float c[4] = {-1.0f, NAN, -INFINITY, 7.0f};
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 2, 2, 9, 0.0f,
                                   NULL, 2, NULL, 9, 0.0f, c, 2));
    for (int i = 0; i < 4; i++) CHECK(test_same(c[i], 0.0f), "%g", (double)c[i]);
    test_context_end(ctx);
}

static void empty_c_does_nothing(void)
{
    duo_context *ctx = test_context();
    float *const no = no_entry();
    for (int l = 0; l < 2; l++) {
        for (int i = 0; i < 3; i++) {
            const int64_t m = i == 0 ? 0 : 4, n = i == 1 ? 0 : i == 2 ? 0 : 4, k = 4;
            test_case("sgemm/empty/layout=%d/%jdx%jd", (int)layouts[l], (intmax_t)m, (intmax_t)n);
            CHECK_STATUS(DUO_OK, duo_sgemm(ctx, layouts[l], DUO_NO_TRANS, DUO_NO_TRANS, m, n, k,
                                           1.0f, no, 4, no, 4, 0.0f, no, 4));
            CHECK_STATUS(DUO_OK, duo_sgemm(ctx, layouts[l], DUO_NO_TRANS, DUO_NO_TRANS, m, n, k,
                                           1.0f, NULL, 4, NULL, 4, 2.0f, NULL, 4));
        }
    }
    test_case("sgemm/empty/after the arguments were checked");
    CHECK_STATUS(DUO_ERR_LD, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 4, 0, 4,
                                       1.0f, no, 3, no, 4, 0.0f, no, 4));
    CHECK_STATUS(DUO_ERR_LD, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 0, 0, 0,
                                       1.0f, no, 0, no, 1, 0.0f, no, 1));
    CHECK_STATUS(DUO_ERR_SIZE, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 0, 4, -1,
                                         1.0f, no, 4, no, 4, 0.0f, no, 4));
    CHECK_STATUS(DUO_ERR_ENUM, duo_sgemm(ctx, (duo_layout)100, DUO_NO_TRANS, DUO_NO_TRANS, 0, 0, 0,
                                         1.0f, no, 1, no, 1, 0.0f, no, 1));
    test_context_end(ctx);
}

/* Columns of a page, a page that cannot be touched between any two. */
static void gaps_are_neither_read_nor_written(void)
{
    enum { COLUMNS = 3 };
    duo_context *ctx = test_context();
    fence f[3];
    float *x[3];
    for (int i = 0; i < 3; i++) {
        f[i] = fence_new(2 * COLUMNS - 1);
        x[i] = f[i].low;
        for (int j = 0; j + 1 < COLUMNS; j++)
            mprotect(x[i] + (2 * j + 1) * PAGE_FLOATS, FENCE_PAGE, PROT_NONE);
    }
    /* A is PAGE_FLOATS x 3, B is 3 x 3 within three columns as long, C like A. */
    for (int t = 0; t < 2; t++) {
        test_case("sgemm/gaps/transb=%d", t);
        for (int64_t j = 0; j < COLUMNS; j++) {
            for (int64_t i = 0; i < PAGE_FLOATS; i++) {
                x[0][i + 2 * j * PAGE_FLOATS] = (float)(i % 11 + j);
                x[1][i + 2 * j * PAGE_FLOATS] = (float)(i - 2 * j);
                x[2][i + 2 * j * PAGE_FLOATS] = (float)(i % 5 - j);
            }
        }
        const duo_status status = duo_sgemm(
            ctx, DUO_COL_MAJOR, DUO_NO_TRANS, transposes[t], PAGE_FLOATS, COLUMNS, COLUMNS, 1.0f,
            x[0], 2 * PAGE_FLOATS, x[1], 2 * PAGE_FLOATS, 2.0f, x[2], 2 * PAGE_FLOATS);
        bool right = true;
        for (int64_t j = 0; j < COLUMNS; j++) {
            for (int64_t i = 0; i < PAGE_FLOATS; i++) {
                float want = 2.0f * (float)(i % 5 - j);
                for (int64_t p = 0; p < COLUMNS; p++)
                    want += (float)(i % 11 + p) * (float)(t == 0 ? p - 2 * j : j - 2 * p);
                right = right && x[2][i + 2 * j * PAGE_FLOATS] == want;
            }
        }
        CHECK(status == DUO_OK && right, "status %d", (int)status);
    }
    test_case("reductions/gaps");
    float sum = NAN;
    for (int64_t j = 0; j < COLUMNS; j++)
        x[0][2 * j * PAGE_FLOATS] = x[1][2 * j * PAGE_FLOATS] = -2;
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, COLUMNS, x[0], 2 * PAGE_FLOATS, &sum));
    CHECK(sum == -6.0f, "%g", (double)sum);
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, COLUMNS, x[0], 2 * PAGE_FLOATS, &sum));
    CHECK(sum == 6.0f, "%g", (double)sum);
    CHECK_STATUS(DUO_OK,
                 duo_sdot(ctx, COLUMNS, x[0], 2 * PAGE_FLOATS, x[1], -2 * PAGE_FLOATS, &sum));
    CHECK(sum == 12.0f, "%g", (double)sum);
    for (int i = 0; i < 3; i++) fence_free(&f[i]);
    test_context_end(ctx);
}

/* Each algorithm of the CPU, not only the one that the call took. All elements of A and B are 1. */
static void algorithms_stay_inside(bool transa, bool transb, int64_t m, int64_t n, int64_t k,
                                   float *const x[3])
{
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        const duo_call call = test_sgemm_call(transa, transb, m, n, k, 1.0f, x[0], transa ? k : m,
                                              x[1], transb ? n : k, 0.0f, x[2], m);
        if (!test_algorithm_accepts(algorithms[r], &call)) continue;
        const int status = test_run_algorithm(algorithms[r], &call, 0, false);
        bool right = true;
        for (int64_t i = 0; i < m * n; i++) right = right && x[2][i] == (float)k;
        CHECK(status == DUO_OK && right, "%s: status %d", algorithms[r]->name, status);
    }
}

/* Every array begins or ends where the readable memory does. */
static void sgemm_stays_inside_its_arrays(void)
{
    duo_context *ctx = test_context();
    fence f[3];
    for (int i = 0; i < 3; i++) f[i] = fence_new(5);
    for (int64_t size = 1; size <= 70; size += size < 20 ? 1 : 7) {
        for (int t = 0; t < 8; t++) {
            const int64_t m = size, n = t % 2 != 0 ? size : 3, k = t % 3 != 0 ? size : 5;
            float *x[3];
            const int64_t count[3] = {m * k, k * n, m * n};
            for (int i = 0; i < 3; i++) x[i] = t / 4 != 0 ? f[i].low : f[i].high - count[i];
            for (int i = 0; i < 3; i++)
                for (int64_t j = 0; j < count[i]; j++) x[i][j] = 1.0f;
            test_case("sgemm/fence/%jdx%jdx%jd/%s", (intmax_t)m, (intmax_t)n, (intmax_t)k,
                      t / 4 != 0 ? "low" : "high");
            const duo_transpose transa = transposes[t % 2], transb = transposes[t / 2 % 2];
            const duo_status status = duo_sgemm(ctx, DUO_COL_MAJOR, transa, transb, m, n, k, 1.0f,
                                                x[0], transa == DUO_NO_TRANS ? m : k, x[1],
                                                transb == DUO_NO_TRANS ? k : n, 1.0f, x[2], m);
            bool right = true;
            for (int64_t j = 0; j < m * n; j++) right = right && x[2][j] == (float)(k + 1);
            CHECK(status == DUO_OK && right, "status %d", (int)status);
            if (test_mode_now() == MODE_CPU)
                algorithms_stay_inside(transa != DUO_NO_TRANS, transb != DUO_NO_TRANS, m, n, k, x);
        }
    }
    for (int i = 0; i < 3; i++) fence_free(&f[i]);
    test_context_end(ctx);
}

static void reductions_stay_inside_their_arrays(void)
{
    duo_context *ctx = test_context();
    fence fx = fence_new(9), fy = fence_new(9);
    for (int64_t n = 1; n <= 9 * PAGE_FLOATS; n += n < 150 ? 1 : n < 2100 ? 61 : 811) {
        for (int low = 0; low < 2; low++) {
            float *x = low != 0 ? fx.low : fx.high - n;
            float *y = low != 0 ? fy.low : fy.high - n;
            for (int64_t i = 0; i < n; i++) x[i] = -1.0f, y[i] = 2.0f;
            float asum = NAN, sum = NAN, dot = NAN, backwards = NAN;
            test_case("reductions/fence/n=%jd/%s", (intmax_t)n, low != 0 ? "low" : "high");
            const bool ok = duo_sasum(ctx, n, x, 1, &asum) == DUO_OK &&
                            duo_ssum(ctx, n, x, 1, &sum) == DUO_OK &&
                            duo_sdot(ctx, n, x, 1, y, 1, &dot) == DUO_OK &&
                            duo_sdot(ctx, n, x, -1, y, 1, &backwards) == DUO_OK;
            CHECK(ok && asum == (float)n && sum == -(float)n && dot == -2.0f * (float)n &&
                      backwards == dot,
                  "%g %g %g %g", (double)asum, (double)sum, (double)dot, (double)backwards);
        }
    }
    fence_free(&fx);
    fence_free(&fy);
    test_context_end(ctx);
}

/* ---- sgemm: special values ---- */

static float one_by_one(duo_context *ctx, float alpha, float a, float b, float beta, float c)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 1, 1, 1, alpha,
                                   &a, 1, &b, 1, beta, &c, 1));
    return c;
}

/* A NaN that no processor makes. */
static float odd_nan(void)
{
    const uint32_t bits = 0xFFC12345;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool is_the_nan(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == 0x7FC00000;
}

static void one_nan(void)
{
    duo_context *ctx = test_context();
    const float odd = odd_nan();
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    for (int float64 = 0; float64 < 2; float64++) {
        test_case("sgemm/the one NaN/%s", float64 ? "float64" : "ieee");
        CHECK(is_the_nan(one_by_one(ctx, 1.0f, odd, 1.0f, 0.0f, 1.0f)), "A is NaN");
        CHECK(is_the_nan(one_by_one(ctx, 1.0f, 1.0f, odd, 1.0f, 1.0f)), "B is NaN");
        CHECK(is_the_nan(one_by_one(ctx, 1.0f, 1.0f, 1.0f, 1.0f, odd)), "C is NaN");
        CHECK(is_the_nan(one_by_one(ctx, odd, 1.0f, 1.0f, 0.0f, 1.0f)), "alpha is NaN");
        CHECK(is_the_nan(one_by_one(ctx, 0.0f, 1.0f, 1.0f, odd, 1.0f)), "beta is NaN, alpha 0");
        CHECK(is_the_nan(one_by_one(ctx, 0.0f, 1.0f, 1.0f, 2.0f, odd)), "C is NaN, alpha 0");
        CHECK(is_the_nan(one_by_one(ctx, 1.0f, INFINITY, 1.0f, 1.0f, -INFINITY)), "Inf - Inf");
        CHECK(test_same(one_by_one(ctx, 0.0f, 1.0f, 1.0f, 1.0f, odd), odd), "C is as it was");
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
    }
    test_context_end(ctx);
}

static void nan_and_infinity_propagate(void)
{
    duo_context *ctx = test_context();
    test_case("sgemm/special values");
    CHECK(isnan(one_by_one(ctx, 1.0f, 0.0f, INFINITY, 0.0f, 1.0f)), "0 * Inf");
    CHECK(isnan(one_by_one(ctx, 1.0f, NAN, 0.0f, 0.0f, 1.0f)), "NaN * 0");
    CHECK(isnan(one_by_one(ctx, 1.0f, 0.0f, NAN, 1.0f, 1.0f)), "0 * NaN");
    CHECK(isnan(one_by_one(ctx, 1.0f, 1.0f, 1.0f, 1.0f, NAN)), "C is NaN");
    CHECK(isnan(one_by_one(ctx, NAN, 1.0f, 1.0f, 0.0f, 1.0f)), "alpha is NaN");
    CHECK(isnan(one_by_one(ctx, 1.0f, 1.0f, 1.0f, NAN, 1.0f)), "beta is NaN");
    CHECK(isnan(one_by_one(ctx, 0.0f, 1.0f, 1.0f, NAN, 1.0f)), "beta is NaN, alpha 0");
    CHECK(isnan(one_by_one(ctx, 0.0f, 1.0f, 1.0f, 2.0f, NAN)), "C is NaN, alpha 0");
    CHECK(isnan(one_by_one(ctx, 1.0f, INFINITY, 1.0f, 1.0f, -INFINITY)), "Inf - Inf");
    CHECK(one_by_one(ctx, 1.0f, INFINITY, -2.0f, 0.0f, NAN) == -INFINITY, "Inf * -2");
    CHECK(one_by_one(ctx, 1.0f, 1.0f, 1.0f, 1.0f, INFINITY) == INFINITY, "C is Inf");
    CHECK(one_by_one(ctx, 1.0f, FLT_MAX, 2.0f, 0.0f, 0.0f) == INFINITY, "overflow");
    test_context_end(ctx);
}

static void conjugate_transpose_is_transpose(void)
{
    duo_context *ctx = test_context();
    test_rng rng = test_rng_for("conjugate");
    test_case("sgemm/conjugate");
    small s = make_small("conjugate");
    test_fill(&rng, DATA_NORMAL, s.a, 64);
    test_fill(&rng, DATA_NORMAL, s.b, 64);
    float other[64];
    memcpy(other, s.c, sizeof other);
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_TRANS, DUO_TRANS, M, N, K, 1.5f, s.a, 8,
                                   s.b, 8, 0.5f, s.c, 8));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_CONJ_TRANS, DUO_CONJ_TRANS, M, N, K,
                                   1.5f, s.a, 8, s.b, 8, 0.5f, other, 8));
    CHECK(memcmp(s.c, other, sizeof other) == 0, "different bits");
    test_context_end(ctx);
}

/* A row-major product is the column-major product of the swapped operands: the same bits. */
static void row_major_is_the_transposed_problem(void)
{
    duo_context *ctx = test_context();
    test_rng rng = test_rng_for("row-major");
    for (int t = 0; t < 4; t++) {
        test_case("sgemm/row-major/trans=%d", t);
        small s = make_small("row-major");
        test_fill(&rng, DATA_NORMAL, s.a, 64);
        test_fill(&rng, DATA_NORMAL, s.b, 64);
        float other[64];
        memcpy(other, s.c, sizeof other);
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_ROW_MAJOR, transposes[t % 2], transposes[t / 2], M,
                                       N, K, 1.5f, s.a, 8, s.b, 8, 0.5f, s.c, 8));
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, transposes[t / 2], transposes[t % 2], N,
                                       M, K, 1.5f, s.b, 8, s.a, 8, 0.5f, other, 8));
        CHECK(memcmp(s.c, other, sizeof other) == 0, "different bits");
    }
    test_context_end(ctx);
}

/* ---- Reductions ---- */

static void reductions_of_nothing_are_zero(void)
{
    duo_context *ctx = test_context();
    const float *const no = no_entry();
    static const int64_t none[] = {0, -1, -1000, INT64_MIN};
    static const int64_t incs[] = {1, 0, -1, 5, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 6; j++) {
            test_case("reductions/n=%jd/inc=%jd", (intmax_t)none[i], (intmax_t)incs[j]);
            float r[3] = {NAN, NAN, NAN};
            CHECK_STATUS(DUO_OK, duo_sasum(ctx, none[i], no, incs[j], &r[0]));
            CHECK_STATUS(DUO_OK, duo_ssum(ctx, none[i], NULL, incs[j], &r[1]));
            CHECK_STATUS(DUO_OK, duo_sdot(ctx, none[i], no, incs[j], NULL, 1, &r[2]));
            for (int o = 0; o < 3; o++) CHECK(test_same(r[o], 0.0f), "%d: %g", o, (double)r[o]);
        }
    }
    test_context_end(ctx);
}

static void sums_with_no_increment_are_zero(void)
{
    duo_context *ctx = test_context();
    static const int64_t incs[] = {0, -1, -7, INT64_MIN};
    for (int j = 0; j < 4; j++) {
        test_case("sums/inc=%jd", (intmax_t)incs[j]);
        float r[4] = {NAN, NAN, NAN, NAN};
        CHECK_STATUS(DUO_OK, duo_sasum(ctx, 10, no_entry(), incs[j], &r[0]));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 10, no_entry(), incs[j], &r[1]));
        CHECK_STATUS(DUO_OK, duo_sasum(ctx, 10, NULL, incs[j], &r[2]));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, INT64_MAX, NULL, incs[j], &r[3]));
        for (int o = 0; o < 4; o++) CHECK(test_same(r[o], 0.0f), "%d: %g", o, (double)r[o]);
    }
    test_context_end(ctx);
}

static void dot_increments(void)
{
    duo_context *ctx = test_context();
    const float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30, 40, 50, 60};
    static const struct {
        int64_t n, incx, incy;
        float want;
    } cases[] = {
        {6, 1, 1, 910},  {3, 2, 1, 220},  {3, 1, -1, 100}, {3, -1, -1, 140},
        {3, -2, 1, 140}, {3, 0, 1, 60},   {3, 1, 0, 60},   {3, 0, 0, 30},
        {1, -5, 7, 10},  {2, -5, 5, 120}, {6, -1, 0, 210}, {3, -2, 2, 190},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_case("sdot/n=%jd/inc=%jd,%jd", (intmax_t)cases[i].n, (intmax_t)cases[i].incx,
                  (intmax_t)cases[i].incy);
        float got = NAN;
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, cases[i].n, x, cases[i].incx, y, cases[i].incy, &got));
        CHECK(got == cases[i].want, "%g, expected %g", (double)got, (double)cases[i].want);
    }
    test_context_end(ctx);
}

static void reductions_of_special_values(void)
{
    duo_context *ctx = test_context();
    float x[40], y[40], got = 0.0f;
    for (int at = 0; at < 40; at += 13) {
        test_case("reductions/special values at %d", at);
        for (int i = 0; i < 40; i++) x[i] = -1.0f, y[i] = 0.0f;
        x[at] = -INFINITY;
        CHECK_STATUS(DUO_OK, duo_sasum(ctx, 40, x, 1, &got));
        CHECK(got == INFINITY, "%g", (double)got);
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 40, x, 1, &got));
        CHECK(got == -INFINITY, "%g", (double)got);
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, 40, x, 1, y, 1, &got));
        CHECK(test_bits(got) == 0x7fc00000u, "Inf * 0: %08x", (unsigned)test_bits(got));
        x[(at + 1) % 40] = INFINITY;
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 40, x, 1, &got));
        CHECK(test_bits(got) == 0x7fc00000u, "Inf - Inf: %08x", (unsigned)test_bits(got));
        x[at] = -NAN;
        CHECK_STATUS(DUO_OK, duo_sasum(ctx, 40, x, 1, &got));
        CHECK(test_bits(got) == 0x7fc00000u, "NaN: %08x", (unsigned)test_bits(got));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 40, x, 1, &got));
        CHECK(test_bits(got) == 0x7fc00000u, "NaN: %08x", (unsigned)test_bits(got));
    }
    test_case("reductions/large values");
    for (int i = 0; i < 40; i++) x[i] = i % 2 == 0 ? FLT_MAX : -FLT_MAX;
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 40, x, 1, &got));
    CHECK(got == 0.0f, "%g", (double)got);
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, 40, x, 1, &got));
    CHECK(got == INFINITY, "%g", (double)got);
    for (int i = 0; i < 4; i++) x[i] = i < 2 ? FLT_MAX : -FLT_MAX;
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, x, 1, &got));
    CHECK(got == FLT_MAX, "%g", (double)got);
    test_context_end(ctx);
}

static void result_may_be_an_element(void)
{
    duo_context *ctx = test_context();
    test_case("reductions/result in x");
    float x[5] = {1, 2, 3, 4, 5};
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 5, x, 1, &x[2]));
    CHECK(x[2] == 15.0f && x[1] == 2.0f && x[3] == 4.0f, "%g", (double)x[2]);
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 5, x, 1, x, 1, &x[0]));
    CHECK(x[0] == 1.0f + 4.0f + 225.0f + 16.0f + 25.0f, "%g", (double)x[0]);
    test_context_end(ctx);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"beta_zero_never_reads_c", beta_zero_never_reads_c},
        {"alpha_zero_never_reads_a_and_b", alpha_zero_never_reads_a_and_b},
        {"k_zero_never_reads_a_and_b", k_zero_never_reads_a_and_b},
        {"alpha_and_beta_zero_give_positive_zeros", alpha_and_beta_zero_give_positive_zeros},
        {"empty_c_does_nothing", empty_c_does_nothing},
        {"gaps_are_neither_read_nor_written", gaps_are_neither_read_nor_written},
        {"sgemm_stays_inside_its_arrays", sgemm_stays_inside_its_arrays},
        {"reductions_stay_inside_their_arrays", reductions_stay_inside_their_arrays},
        {"nan_and_infinity_propagate", nan_and_infinity_propagate},
        {"one_nan", one_nan},
        {"conjugate_transpose_is_transpose", conjugate_transpose_is_transpose},
        {"row_major_is_the_transposed_problem", row_major_is_the_transposed_problem},
        {"reductions_of_nothing_are_zero", reductions_of_nothing_are_zero},
        {"sums_with_no_increment_are_zero", sums_with_no_increment_are_zero},
        {"dot_increments", dot_increments},
        {"reductions_of_special_values", reductions_of_special_values},
        {"result_may_be_an_element", result_may_be_an_element},
        {NULL, NULL},
    };
    return test_main(argc, argv, "blas_rules", tests);
}
