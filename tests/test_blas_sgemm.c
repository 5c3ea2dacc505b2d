/* test_blas_sgemm.c - the drop-in's sgemm: the promises of BLAS one by one, through every name. */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/arrays.h"
#include "support/blas_abi.h"
#include "support/blas_promises.h"
#include "support/harness.h"
#include "support/odd_memory.h"
#include "support/oracle.h"

/* ---- Promises that differ in their numbers ---- */

typedef enum fill {
    INTEGERS, /* -8 .. 8: every result is exact */
    NORMAL,
    ZEROS,
    POISON,
    ONE_NAN, /* the first element; all others are integers */
    ONE_INF,
    NONE,     /* NULL */
    NO_ENTRY, /* memory that cannot be read */
    TINY,     /* multiples of 2^-149 */
    LARGEST,  /* FLT_MAX */
    MINUS_ZEROS
} fill;

typedef struct gemm_facts {
    float alpha, beta;
    fill a, b, c;
    int64_t k; /* OF_SIZE: as in `sizes`; else this */
} gemm_facts;

enum { OF_SIZE = -1 };

static const struct {
    int64_t m, n, k;
} sizes[] = {{1, 1, 1}, {7, 5, 6}, {17, 19, 33}};

static const char letters[] = "NnTtCc";

static void fill_matrix(test_array *x, test_rng *rng, fill with)
{
    test_array_fill(x, rng,
                    with == NORMAL   ? DATA_NORMAL
                    : with == POISON ? DATA_NAN
                                     : DATA_INTEGER);
    if (x->bytes == 0) return;
    if (with == ONE_NAN) x->data[0] = NAN;
    if (with == ONE_INF) x->data[0] = INFINITY;
    for (int64_t r = 0; r < x->runs; r++) {
        for (int64_t i = 0; i < x->length; i++) {
            float *const at = &x->data[i + r * x->ld];
            if (with == ZEROS) *at = 0.0f;
            if (with == MINUS_ZEROS) *at = -0.0f;
            if (with == TINY) *at *= 0x1p-149f;
            if (with == LARGEST) *at = FLT_MAX;
        }
    }
}

static const float *address_of(const test_array *x, fill with)
{
    return with == NONE ? NULL : with == NO_ENTRY ? no_entry() : x->data;
}

/* Elements of C against the definition; also that A, B, and the gaps of C are as before. */
static void check_product(blas_abi abi, const gemm_facts *f, blas_product *p)
{
    test_rng rng = test_rng_for("semantics");
    const bool rows = p->layout == DUO_ROW_MAJOR;
    test_array a = test_array_matrix(rows, blas_is_transposed(p->transa), p->m, p->k, 3, 1);
    test_array b = test_array_matrix(rows, blas_is_transposed(p->transb), p->k, p->n, 3, 1);
    test_array c = test_array_matrix(rows, false, p->m, p->n, 3, 1);
    fill_matrix(&a, &rng, f->a);
    fill_matrix(&b, &rng, f->b);
    fill_matrix(&c, &rng, f->c);
    test_array a_before = test_array_copy(&a), b_before = test_array_copy(&b);
    test_array c_before = test_array_copy(&c);
    p->a = address_of(&a, f->a);
    p->b = address_of(&b, f->b);
    p->c = c.data;
    p->lda = a.ld;
    p->ldb = b.ld;
    p->ldc = c.ld;
    p->alpha = f->alpha;
    p->beta = f->beta;

    double *const want = malloc(2 * (size_t)(p->m * p->n) * sizeof *want + 1);
    double *const bound = want + p->m * p->n;
    const oracle_product definition = {(duo_layout)p->layout,
                                       (duo_transpose)blas_transpose(p->transa),
                                       (duo_transpose)blas_transpose(p->transb),
                                       p->m,
                                       p->n,
                                       p->k,
                                       p->alpha,
                                       p->a,
                                       p->lda,
                                       p->b,
                                       p->ldb,
                                       p->beta,
                                       c_before.data,
                                       p->ldc};
    oracle_sgemm(&definition, want, bound);
    const duo_status status = blas_sgemm(abi, p);

    const bool exact = f->a != NORMAL && f->b != NORMAL && f->c != NORMAL;
    const bool unchanged = p->beta == 1.0f && (p->alpha == 0.0f || p->k == 0);
    const bool cleared = p->beta == 0.0f && (p->alpha == 0.0f || p->k == 0);
    bool right = true;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            const int64_t at = oracle_index((duo_layout)p->layout, i, j, p->ldc);
            const double error = exact ? 0.0 : bound[i * p->n + j];
            /* A value that overflows in float32 is infinity, though not in float64. */
            const double value = fabs(want[i * p->n + j]) > (double)FLT_MAX
                                     ? copysign(INFINITY, want[i * p->n + j])
                                     : want[i * p->n + j];
            right = right && (unchanged ? test_same(c.data[at], c_before.data[at])
                              : cleared ? test_same(c.data[at], 0.0f)
                                        : oracle_close(value, error, c.data[at]));
        }
    }
    test_case("%s/%dx%dx%d/%s/%c%c", promise_name, (int)p->m, (int)p->n, (int)p->k,
              rows ? "rows" : "columns", p->transa, p->transb);
    CHECK(status == DUO_OK && right, "status %d", (int)status);
    CHECK(test_array_intact(&c), "wrote outside C");
    CHECK(test_array_equal(&a, &a_before) && test_array_intact(&a), "wrote to A");
    CHECK(test_array_equal(&b, &b_before) && test_array_intact(&b), "wrote to B");
    free(want);
    test_array_free(&a);
    test_array_free(&b);
    test_array_free(&c);
    test_array_free(&a_before);
    test_array_free(&b_before);
    test_array_free(&c_before);
}

static void products(blas_abi abi, const void *facts)
{
    const gemm_facts *const f = facts;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int turn = 0; turn < 12; turn++) {
            blas_product p = {.layout = turn % 2 == 0 ? DUO_COL_MAJOR : DUO_ROW_MAJOR,
                              .transa = letters[turn % 6],
                              .transb = letters[(turn + turn / 3) % 6],
                              .m = sizes[s].m,
                              .n = sizes[s].n,
                              .k = f->k == OF_SIZE ? sizes[s].k : f->k};
            check_product(abi, f, &p);
        }
    }
}

/* Too large for every path for small products, and no multiple of any tile. */
static void one_large_product(blas_abi abi, const void *facts)
{
    static const gemm_facts integers = {2.0f, -1.0f, INTEGERS, INTEGERS, INTEGERS, OF_SIZE};
    blas_product p = {
        .layout = DUO_COL_MAJOR, .transa = 'N', .transb = 't', .m = 131, .n = 67, .k = 129};
    (void)facts;
    check_product(abi, &integers, &p);
}

/* ---- Promises that need words ---- */

static float c_of(blas_abi abi, int64_t k, const float *a, const float *b, float beta, float c)
{
    const blas_product p = {DUO_COL_MAJOR, 'T', 'N', 1, 1, k, 1.0f, a, k, b, k, beta, &c, 1};
    CHECK_STATUS(DUO_OK, blas_sgemm(abi, &p));
    return c;
}

/* The sum starts at +0, and so it ends there. */
static void zeros_of_a_sum_are_positive(blas_abi abi, const void *facts)
{
    const float a[] = {-0.0f, -0.0f}, b[] = {1.0f, 1.0f};
    (void)facts;
    const float c = c_of(abi, 2, a, b, 0.0f, NAN);
    CHECK(test_same(c, 0.0f), "%g", (double)c);
}

static void a_may_be_b(blas_abi abi, const void *facts)
{
    float a[9], c[9];
    (void)facts;
    for (int i = 0; i < 9; i++) a[i] = (float)(i - 3);
    const blas_product p = {DUO_COL_MAJOR, 'N', 'T', 3, 3, 3, 1.0f, a, 3, a, 3, 0.0f, c, 3};
    CHECK_STATUS(DUO_OK, blas_sgemm(abi, &p));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            CHECK(c[i + 3 * j] == a[i] * a[j] + a[i + 3] * a[j + 3] + a[i + 6] * a[j + 6], "%g",
                  (double)c[i + 3 * j]);
}

/* 'C' is 'T', and lower case is upper case: the same bits. */
static void letters_of_either_case(blas_abi abi, const void *facts)
{
    float a[12], b[12], c[9], want[9];
    test_rng rng = test_rng_for("letters");
    (void)facts;
    test_fill(&rng, DATA_NORMAL, a, 12);
    test_fill(&rng, DATA_NORMAL, b, 12);
    for (int i = 0; i < 36; i++) {
        const char transa = letters[i % 6], transb = letters[i / 6];
        blas_product p = {DUO_COL_MAJOR,
                          blas_is_transposed(transa) ? 'T' : 'N',
                          blas_is_transposed(transb) ? 'T' : 'N',
                          3,
                          3,
                          4,
                          1.0f,
                          a,
                          blas_is_transposed(transa) ? 4 : 3,
                          b,
                          blas_is_transposed(transb) ? 3 : 4,
                          0.0f,
                          want,
                          3};
        CHECK_STATUS(DUO_OK, blas_sgemm(ABI_NATIVE, &p));
        memset(c, 0xff, sizeof c);
        p.transa = transa;
        p.transb = transb;
        p.c = c;
        CHECK_STATUS(DUO_OK, blas_sgemm(abi, &p));
        CHECK(memcmp(c, want, sizeof c) == 0, "%c%c", transa, transb);
    }
}

static void row_major_is_the_transposed_product(blas_abi abi, const void *facts)
{
    float a[35], b[35], rows[35], columns[35];
    test_rng rng = test_rng_for("row-major");
    (void)facts;
    test_fill(&rng, DATA_NORMAL, a, 35);
    test_fill(&rng, DATA_NORMAL, b, 35);
    for (int t = 0; t < 4; t++) {
        const char transa = t % 2 != 0 ? 'T' : 'N', transb = t / 2 != 0 ? 'T' : 'N';
        memcpy(rows, a, sizeof rows);
        memcpy(columns, a, sizeof columns);
        const blas_product by_rows = {DUO_ROW_MAJOR, transa, transb, 5, 4, 3, 1.5f, a, 7, b, 7,
                                      0.5f,          rows,   7};
        const blas_product by_columns = {DUO_COL_MAJOR, transb,  transa, 4, 5, 3, 1.5f, b, 7, a, 7,
                                         0.5f,          columns, 7};
        CHECK_STATUS(DUO_OK, blas_sgemm(abi, &by_rows));
        CHECK_STATUS(DUO_OK, blas_sgemm(abi, &by_columns));
        CHECK(memcmp(rows, columns, sizeof rows) == 0, "%c%c", transa, transb);
    }
}

/* C has no elements: m, n, or both are 0. */
static void an_empty_c_is_left_alone(blas_abi abi, const void *facts)
{
    (void)facts;
    for (int i = 0; i < 3; i++) {
        blas_product p = {.layout = DUO_COL_MAJOR,
                          .transa = 'N',
                          .transb = 'n',
                          .k = 4,
                          .m = i == 0 ? 3 : 0,
                          .n = i == 1 ? 3 : 0,
                          .alpha = 1.0f,
                          .beta = 0.0f,
                          .a = no_entry(),
                          .lda = 4,
                          .b = no_entry(),
                          .ldb = 4,
                          .c = no_entry(),
                          .ldc = 4};
        CHECK_STATUS(DUO_OK, blas_sgemm(abi, &p));
        p.a = p.b = p.c = NULL;
        CHECK_STATUS(DUO_OK, blas_sgemm(abi, &p));
    }
}

static void wide_leading_dimensions(blas_abi abi, const void *facts)
{
    const int64_t ld = blas_wide_step(abi);
    const size_t bytes = (size_t)(2 * ld + 2) * sizeof(float);
    float *const x = wide_memory(bytes);
    (void)facts;
    for (int64_t j = 0; j < 3; j++)
        for (int64_t i = 0; i < 2; i++) x[i + j * ld] = (float)(2 * j + i + 1); /* 1 3 5; 2 4 6 */
    float c[4], unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    blas_product p = {DUO_COL_MAJOR, 'N', 'T', 2, 2, 3, 1.0f, x, ld, x, ld, 0.0f, c, 2};
    CHECK_STATUS(DUO_OK, blas_sgemm(abi, &p));
    CHECK(c[0] == 35.0f && c[1] == 44.0f && c[2] == 44.0f && c[3] == 56.0f, "%g %g %g %g",
          (double)c[0], (double)c[1], (double)c[2], (double)c[3]);
    /* C = 2 * C, by columns that far apart */
    const float two[] = {1, 0, 0, 1};
    p = (blas_product){DUO_COL_MAJOR, 'N', 'N', 2, 3, 2, 1.0f, two, 2, two, 2, 1.0f, x, ld};
    p.b = unit;
    p.ldb = 3;
    CHECK_STATUS(DUO_OK, blas_sgemm(abi, &p));
    CHECK(x[0] == 2.0f && x[1] == 2.0f && x[ld] == 3.0f && x[ld + 1] == 5.0f && x[2 * ld] == 5.0f &&
              x[2 * ld + 1] == 6.0f,
          "%g %g %g %g %g %g", (double)x[0], (double)x[1], (double)x[ld], (double)x[ld + 1],
          (double)x[2 * ld], (double)x[2 * ld + 1]);
    munmap(x, bytes);
}

static duo_side side_now(void) { return path_now == DUO_PATH_GPU ? DUO_SIDE_GPU : DUO_SIDE_CPU; }

static void calls_run_on_the_side_of_the_path(blas_abi abi, const void *facts)
{
    duo_decision d = {.size = sizeof d};
    float a[4] = {1, 2, 3, 4}, c[4];
    (void)facts;
    const blas_product p = {DUO_COL_MAJOR, 'N', 'N', 2, 2, 2, 1.0f, a, 2, a, 2, 0.0f, c, 2};
    CHECK_STATUS(DUO_OK, blas_sgemm(abi, &p));
    CHECK_STATUS(DUO_OK, duo_explain_last(NULL, &d));
    CHECK(d.operation != NULL && strcmp(d.operation, "sgemm") == 0, "%s", d.operation);
    CHECK(path_now == DUO_PATH_AUTO || d.side == side_now(), "side %d", (int)d.side);
    const float sum = blas_reduce(abi, DUO_SASUM, 4, a, 1, NULL, 0);
    CHECK_STATUS(DUO_OK, duo_explain_last(NULL, &d));
    CHECK(sum == 10.0f && d.operation != NULL && strcmp(d.operation, "sasum") == 0, "%g",
          (double)sum);
    CHECK(path_now == DUO_PATH_AUTO || d.side == side_now(), "side %d", (int)d.side);
}

/* ---- The table ---- */

/* clang-format off */
#define PRODUCTS(name, ...) {#name, products, &(const gemm_facts){__VA_ARGS__}}
#define IN_WORDS(name)      {#name, name, NULL}

static const blas_promise gemm_promises[] = {
    /*       name                       alpha   beta  A            B         C            k */
    PRODUCTS(plain,                         1,     1, INTEGERS,    INTEGERS, INTEGERS,    OF_SIZE),
    PRODUCTS(scaled,                    -0.5f,     3, INTEGERS,    INTEGERS, INTEGERS,    OF_SIZE),
    PRODUCTS(rounded,                    0.7f,  1.3f, NORMAL,      NORMAL,   NORMAL,      OF_SIZE),
    PRODUCTS(beta_zero,                     1,     0, INTEGERS,    INTEGERS, POISON,      OF_SIZE),
    PRODUCTS(beta_minus_zero,               1, -0.0f, INTEGERS,    INTEGERS, POISON,      OF_SIZE),
    PRODUCTS(beta_zero_infinity,            1,     0, INTEGERS,    INTEGERS, ONE_INF,     OF_SIZE),
    PRODUCTS(alpha_zero_nan,                0,     2, POISON,      POISON,   INTEGERS,    OF_SIZE),
    PRODUCTS(alpha_zero_null,               0,     2, NONE,        NONE,     INTEGERS,    OF_SIZE),
    PRODUCTS(alpha_zero_no_entry,           0,    -1, NO_ENTRY,    NO_ENTRY, INTEGERS,    OF_SIZE),
    PRODUCTS(alpha_minus_zero,          -0.0f,  0.5f, NONE,        NONE,     INTEGERS,    OF_SIZE),
    PRODUCTS(alpha_zero_beta_one,           0,     1, NONE,        NONE,     POISON,      OF_SIZE),
    PRODUCTS(alpha_zero_beta_one_signs,     0,     1, NONE,        NONE,     MINUS_ZEROS, OF_SIZE),
    PRODUCTS(alpha_zero_c_nan,              0,     2, NONE,        NONE,     ONE_NAN,     OF_SIZE),
    PRODUCTS(both_zero,                     0,     0, NONE,        NONE,     POISON,      OF_SIZE),
    PRODUCTS(both_zero_infinity,            0,     0, POISON,      POISON,   ONE_INF,     OF_SIZE),
    PRODUCTS(k_zero_beta_zero,              1,     0, NONE,        NONE,     POISON,      0),
    PRODUCTS(k_zero_beta_one,               1,     1, NONE,        NONE,     POISON,      0),
    PRODUCTS(k_zero_beta,                   1,    -3, NO_ENTRY,    NO_ENTRY, INTEGERS,    0),
    PRODUCTS(k_zero_alpha_nan,            NAN,     1, NONE,        NONE,     INTEGERS,    0),
    PRODUCTS(k_zero_alpha_nan_beta,       NAN,     2, NONE,        NONE,     INTEGERS,    0),
    PRODUCTS(k_zero_beta_nan,               1,   NAN, NONE,        NONE,     INTEGERS,    0),
    PRODUCTS(alpha_nan,                   NAN,     0, INTEGERS,    INTEGERS, INTEGERS,    OF_SIZE),
    PRODUCTS(beta_nan,                      1,   NAN, INTEGERS,    INTEGERS, INTEGERS,    OF_SIZE),
    PRODUCTS(alpha_zero_beta_nan,           0,   NAN, NONE,        NONE,     INTEGERS,    OF_SIZE),
    PRODUCTS(nan_times_zero,                1,     0, ONE_NAN,     ZEROS,    POISON,      OF_SIZE),
    PRODUCTS(zero_times_nan,                1,     0, ZEROS,       ONE_NAN,  POISON,      OF_SIZE),
    PRODUCTS(infinity_times_zero,           1,     1, ONE_INF,     ZEROS,    INTEGERS,    OF_SIZE),
    PRODUCTS(zero_times_infinity,           1,     1, ZEROS,       ONE_INF,  INTEGERS,    OF_SIZE),
    PRODUCTS(nan_in_c,                      1,     1, INTEGERS,    INTEGERS, ONE_NAN,     OF_SIZE),
    PRODUCTS(infinity_in_c,                 1,    -2, INTEGERS,    INTEGERS, ONE_INF,     OF_SIZE),
    PRODUCTS(overflow,                      2,     0, LARGEST,     LARGEST,  POISON,      OF_SIZE),
    PRODUCTS(subnormals,                    1,     0, TINY,        INTEGERS, POISON,      OF_SIZE),
    PRODUCTS(subnormals_added,              1,     1, INTEGERS,    TINY,     TINY,        OF_SIZE),
    PRODUCTS(subnormal_c,                   0,     3, NONE,        NONE,     TINY,        OF_SIZE),
    PRODUCTS(minus_zeros,                   1,     0, MINUS_ZEROS, INTEGERS, POISON,      OF_SIZE),
    IN_WORDS(one_large_product),
    IN_WORDS(zeros_of_a_sum_are_positive),
    IN_WORDS(a_may_be_b),
    IN_WORDS(letters_of_either_case),
    IN_WORDS(row_major_is_the_transposed_product),
    IN_WORDS(an_empty_c_is_left_alone),
    IN_WORDS(wide_leading_dimensions),
    IN_WORDS(calls_run_on_the_side_of_the_path),
};
/* clang-format on */

static void semantics_of_sgemm(void)
{
    run_promises("sgemm", gemm_promises, sizeof gemm_promises / sizeof gemm_promises[0]);
}

static const test_entry tests[] = {
    {"semantics_of_sgemm", semantics_of_sgemm},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "blas_sgemm", tests); }
