/*
 * test_api_operations.c - every status of the operations, in the documented order, with outputs
 * untouched.
 */
#define _GNU_SOURCE
#include <string.h>

#include "support/data.h"
#include "support/harness.h"

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
        EXPECT(DUO_ERR_SIZE, g.n = g.k = g.m = g.ldc = 2; g.lda = g.ldb = INT64_MAX - 1);
        EXPECT(DUO_ERR_SIZE, g.n = g.k = g.m = g.ldc = 2; g.lda = g.ldb = INT64_MAX / 2);
    }
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* The first that applies, in the documented order. */
static void sgemm_order_of_errors(void)
{
    duo_context *ctx = test_context();
    const arguments good = good_arguments(DUO_COL_MAJOR);
    duo_context *live = ctx;
    ctx = test_dead_context();
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
    CHECK_STATUS(DUO_ERR_SIZE, duo_sdot(ctx, INT64_MAX, x, 0, x, 0, &r));
    CHECK(test_is_poison(r), "result has changed");
    test_case("reductions/one element, any increment");
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 1, x, INT64_MAX, &r));
    CHECK(r == 1.0f, "%g", (double)r);
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 1, &x[2], INT64_MIN, &x[3], INT64_MAX, &r));
    CHECK(r == 12.0f, "%g", (double)r);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

static const test_entry tests[] = {
    {"sgemm_arguments", sgemm_arguments},
    {"sgemm_leading_dimensions", sgemm_leading_dimensions},
    {"sgemm_beyond_the_address_space", sgemm_beyond_the_address_space},
    {"sgemm_order_of_errors", sgemm_order_of_errors},
    {"sgemm_in_float64", sgemm_in_float64},
    {"reduction_arguments", reduction_arguments},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "api_operations", tests); }
