/*
 * test_blas_batch.c - the drop-in's batches, by both widths of integers: groups in lists, and
 * products at equal distances.
 */
#include <stdlib.h>
#include <string.h>

#include "support/blas_report.h"
#include "support/exact.h"
#include "support/harness.h"

enum {
    MOST = 24 * 24,
    GROUPS = 3,
    PRODUCTS = 9,
    ROW = 101,
    COLUMN = 102,
    PLAIN = 111,
    TURNED = 112
};

#define DECLARE(INT, NAME)                                                                         \
    void NAME(sgemm_batch)(int, const int *, const int *, const INT *, const INT *, const INT *,   \
                           const float *, const float *const *, const INT *, const float *const *, \
                           const INT *, const float *, float *const *, const INT *, int64_t,       \
                           const INT *);                                                           \
    void NAME(sgemm_batch_strided)(int, int, int, int64_t, int64_t, int64_t, float, const float *, \
                                   int64_t, int64_t, const float *, int64_t, int64_t, float,       \
                                   float *, int64_t, int64_t, int64_t);
#define NAME32(name) cblas_##name
#define NAME64(name) cblas_##name##64_
DECLARE(int32_t, NAME32)
DECLARE(int64_t, NAME64)

/* One group's products: op(A) is m x k, op(B) k x n, of small integers. */
static const struct {
    int transa, transb, m, n, k, size;
    float alpha, beta;
} groups[GROUPS] = {{PLAIN, TURNED, 7, 5, 3, 4, 2.0f, 0.0f},
                    {TURNED, PLAIN, 24, 20, 16, 0, 1.0f, 1.0f},
                    {PLAIN, PLAIN, 12, 24, 9, 5, 1.0f, -1.0f}};

typedef struct lists {
    float *a[PRODUCTS], *b[PRODUCTS], *c[PRODUCTS], *before[PRODUCTS];
} lists;

static void open_lists(lists *l)
{
    for (int p = 0; p < PRODUCTS; p++) {
        float **const all[4] = {&l->a[p], &l->b[p], &l->c[p], &l->before[p]};
        for (int i = 0; i < 4; i++) *all[i] = new_floats(MOST);
        fill(l->a[p], MOST, p);
        fill(l->b[p], MOST, p + 50);
        fill(l->c[p], MOST, p + 90);
        memcpy(l->before[p], l->c[p], MOST * sizeof(float));
    }
}

static void close_lists(lists *l)
{
    for (int p = 0; p < PRODUCTS; p++) {
        float *const all[4] = {l->a[p], l->b[p], l->c[p], l->before[p]};
        for (int i = 0; i < 4; i++) free(all[i]);
    }
}

/* Matrices are dense. */
static int64_t at(bool rows, bool turned, int64_t i, int64_t j, int64_t m, int64_t n)
{
    if (turned) return at(rows, false, j, i, n, m);
    return rows ? i * n + j : i + j * m;
}

static void check_product(const lists *l, int g, int p, bool rows)
{
    const int64_t m = groups[g].m, n = groups[g].n, k = groups[g].k;
    bool right = true;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            float sum = 0.0f;
            for (int64_t s = 0; s < k; s++)
                sum += l->a[p][at(rows, groups[g].transa == TURNED, i, s, m, k)] *
                       l->b[p][at(rows, groups[g].transb == TURNED, s, j, k, n)];
            const int64_t e = at(rows, false, i, j, m, n);
            right &= l->c[p][e] == groups[g].alpha * sum + groups[g].beta * l->before[p][e];
        }
    const size_t rest = (size_t)(MOST - m * n) * sizeof(float);
    right &= memcmp(l->c[p] + m * n, l->before[p] + m * n, rest) == 0;
    CHECK(right, "product %d of group %d is wrong", p, g);
}

#define ARGUMENTS(INT)                                                                             \
    int transa[GROUPS], transb[GROUPS];                                                            \
    INT m[GROUPS], n[GROUPS], k[GROUPS], lda[GROUPS], ldb[GROUPS], ldc[GROUPS], size[GROUPS];      \
    float alpha[GROUPS], beta[GROUPS];                                                             \
    for (int g = 0; g < GROUPS; g++) {                                                             \
        const bool ta = groups[g].transa == TURNED, tb = groups[g].transb == TURNED;               \
        transa[g] = groups[g].transa;                                                              \
        transb[g] = groups[g].transb;                                                              \
        m[g] = groups[g].m;                                                                        \
        n[g] = groups[g].n;                                                                        \
        k[g] = groups[g].k;                                                                        \
        lda[g] = ta != rows ? groups[g].k : groups[g].m;                                           \
        ldb[g] = tb != rows ? groups[g].n : groups[g].k;                                           \
        ldc[g] = rows ? groups[g].n : groups[g].m;                                                 \
        size[g] = groups[g].size;                                                                  \
        alpha[g] = groups[g].alpha;                                                                \
        beta[g] = groups[g].beta;                                                                  \
    }

static void call_lists(bool wide, bool rows, lists *l)
{
    const int layout = rows ? ROW : COLUMN;
    const float *const *const a = (const float *const *)l->a, *const *const b =
                                                                  (const float *const *)l->b;
    if (wide) {
        ARGUMENTS(int64_t)
        cblas_sgemm_batch64_(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, l->c,
                             ldc, GROUPS, size);
    } else {
        ARGUMENTS(int32_t)
        cblas_sgemm_batch(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, l->c, ldc,
                          GROUPS, size);
    }
}

static void in_lists(void)
{
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    for (int way = 0; way < 4; way++) {
        lists l;
        const bool wide = way & 1, rows = way & 2;
        test_case("batch/lists/%s/%s", wide ? "64" : "32", rows ? "row" : "col");
        open_lists(&l);
        call_lists(wide, rows, &l);
        for (int g = 0, p = 0; g < GROUPS; g++)
            for (int i = 0; i < groups[g].size; i++, p++) check_product(&l, g, p, rows);
        close_lists(&l);
    }
}

/* Also in an array that is kept: the results are on the host at return. */
static void at_equal_distances(void)
{
    enum { N = 6, COUNT = 10, AREA = N * N, STRIDE = AREA + 3 };
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    for (int way = 0; way < 4; way++) {
        const bool wide = way & 1, kept = way & 2;
        float a[AREA], b[COUNT * STRIDE], c[COUNT * STRIDE], want[AREA];
        test_case("batch/strided/%s/%s", wide ? "64" : "32", kept ? "kept" : "host");
        fill(a, AREA, 1);
        fill(b, COUNT * STRIDE, 2);
        test_fill_poison(c, COUNT * STRIDE);
        if (kept) CHECK_STATUS(DUO_OK, duo_keep(NULL, c, sizeof c));
        if (wide)
            cblas_sgemm_batch_strided64_(COLUMN, PLAIN, PLAIN, N, N, N, 1.0f, a, N, 0, b, N, STRIDE,
                                         0.0f, c, N, STRIDE, COUNT);
        else
            cblas_sgemm_batch_strided(COLUMN, PLAIN, PLAIN, N, N, N, 1.0f, a, N, 0, b, N, STRIDE,
                                      0.0f, c, N, STRIDE, COUNT);
        for (int p = 0; p < COUNT; p++) {
            multiply(N, a, b + p * STRIDE, want);
            CHECK(same_floats(c + p * STRIDE, want, AREA), "product %d is wrong", p);
        }
        if (kept) CHECK_STATUS(DUO_OK, duo_release(NULL, c));
    }
}

/* More groups than go together; one has a wrong argument, and is left out. */
static void many_groups(void)
{
    enum { N = 3, AREA = N * N, LOTS = 150, EACH = 2, WRONG = 70 };
    static float a[LOTS * EACH][AREA], b[LOTS * EACH][AREA], c[LOTS * EACH][AREA];
    static const float *as[LOTS * EACH], *bs[LOTS * EACH];
    static float *cs[LOTS * EACH];
    int plain[LOTS];
    int32_t size[LOTS], each[LOTS], k[LOTS];
    float one[LOTS], zero[LOTS];
    test_case("batch/many");
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    for (int g = 0; g < LOTS; g++) {
        plain[g] = PLAIN;
        size[g] = N;
        each[g] = g % 7 == 3 ? -1 : EACH; /* negative: none */
        k[g] = g == WRONG ? -1 : N;
        one[g] = 1.0f;
        zero[g] = 0.0f;
    }
    for (int p = 0; p < LOTS * EACH; p++) {
        fill(a[p], AREA, p);
        fill(b[p], AREA, p + 3);
        test_fill_poison(c[p], AREA);
        as[p] = a[p];
        bs[p] = b[p];
        cs[p] = c[p];
    }
    blas_report.calls = 0;
    cblas_sgemm_batch(COLUMN, plain, plain, size, size, k, one, as, size, bs, size, zero, cs, size,
                      LOTS, each);
    CHECK(blas_report.calls == 1 && blas_report.argument == 6, "%d reports, of argument %jd",
          blas_report.calls, (intmax_t)blas_report.argument);
    int p = 0;
    for (int g = 0; g < LOTS; g++)
        for (int i = 0; i < each[g]; i++, p++) {
            float want[AREA];
            multiply(N, a[p], b[p], want);
            CHECK(g == WRONG ? test_all_poison(c[p], AREA) : same_floats(c[p], want, AREA),
                  "product %d of group %d is wrong", i, g);
        }
    for (; p < LOTS * EACH; p++)
        CHECK(test_all_poison(c[p], AREA), "a product of no group was written");
}

static void nothing(void)
{
    float a[4] = {1, 2, 3, 4}, c[4];
    test_case("batch/nothing");
    test_fill_poison(c, 4);
    cblas_sgemm_batch_strided(COLUMN, PLAIN, PLAIN, 2, 2, 2, 1.0f, a, 2, 0, a, 2, 0, 0.0f, c, 2, 4,
                              0);
    cblas_sgemm_batch_strided(COLUMN, PLAIN, PLAIN, 2, 2, 2, 1.0f, a, 2, 0, a, 2, 0, 0.0f, c, 2, 4,
                              -1);
    cblas_sgemm_batch(COLUMN, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                      NULL, NULL, 0, NULL);
    CHECK(test_all_poison(c, 4), "nothing wrote something");
}

static const test_entry tests[] = {{"in_lists", in_lists},
                                   {"at_equal_distances", at_equal_distances},
                                   {"many_groups", many_groups},
                                   {"nothing", nothing},
                                   {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "blas_batch", tests); }
