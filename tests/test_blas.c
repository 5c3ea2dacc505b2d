/*
 * test_blas.c - the drop-in: what BLAS promises, row by row, through every name of it; its error
 * exits; and its results in kept arrays.
 *
 * The drop-in's sources are part of this program, which exports its own xerbla_ and cblas_xerbla
 * for them to find, as applications do.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <float.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/sim.h"
#include "support/arrays.h"
#include "support/blas_abi.h"
#include "support/harness.h"
#include "support/oracle.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* ---- Handlers, as an application has them ---- */

void xerbla_(const char *name, const int32_t *argument, size_t length);
void xerbla_64_(const char *name, const int64_t *argument, size_t length);
void cblas_xerbla(int argument, const char *name, const char *format, ...);
void cblas_xerbla64_(int64_t argument, const char *name, const char *format, ...);
int RowMajorStrg; /* as testers have it that were made for the reference CBLAS */

static struct {
    int calls;
    blas_abi abi; /* whose handler it was */
    int64_t argument;
    bool named; /* after the routine? */
    int row_major;
} report;

static void handle(blas_abi abi, int64_t argument, bool named)
{
    report.calls++;
    report.abi = abi;
    report.argument = argument;
    report.named = named;
    report.row_major = RowMajorStrg;
}

static bool is_fortran_name(const char *name, size_t length)
{
    return length == 6 && memcmp(name, "SGEMM ", 6) == 0;
}

void xerbla_(const char *name, const int32_t *argument, size_t length)
{
    handle(ABI_FORTRAN, *argument, is_fortran_name(name, length));
}

void xerbla_64_(const char *name, const int64_t *argument, size_t length)
{
    handle(ABI_FORTRAN64, *argument, is_fortran_name(name, length));
}

void cblas_xerbla(int argument, const char *name, const char *format, ...)
{
    handle(ABI_CBLAS, argument, strcmp(name, "cblas_sgemm") == 0 && format != NULL);
}

void cblas_xerbla64_(int64_t argument, const char *name, const char *format, ...)
{
    handle(ABI_CBLAS64, argument, strcmp(name, "cblas_sgemm") == 0 && format != NULL);
}

/* ---- The table: rows, names, paths ---- */

typedef struct semantics_row {
    const char *name;
    void (*body)(blas_abi abi, const void *facts);
    const void *facts;
} semantics_row;

/* The sides that calls without a context can be told to take in this mode. */
static int paths_of_mode(duo_path path[2])
{
    path[0] = test_gpu_side() ? DUO_PATH_GPU : DUO_PATH_CPU;
    path[1] = DUO_PATH_AUTO;
    return test_gpu_side() ? 2 : 1;
}

static const char *path_name(duo_path path)
{
    static const char *const names[] = {"auto", "cpu", "gpu"};
    return names[path];
}

static const char *row_name; /* of the row at work, with its ABI and path */
static duo_path path_now;

static void run_rows(const char *kind, const semantics_row *rows, int count)
{
    duo_path path[2];
    const int paths = paths_of_mode(path);
    int done = 0;
    for (int p = 0; p < paths; p++) {
        path_now = path[p];
        CHECK_STATUS(DUO_OK, duo_set_path(NULL, path_now));
        for (int r = 0; r < count; r++) {
            for (int abi = 0; abi < ABIS; abi++) {
                char name[128];
                snprintf(name, sizeof name, "%s/%s/%s/%s", kind, rows[r].name,
                         blas_abi_name((blas_abi)abi), path_name(path[p]));
                row_name = name;
                test_case("%s", name);
                rows[r].body((blas_abi)abi, rows[r].facts);
                done++;
            }
        }
    }
    CHECK(report.calls == 0, "a handler was called %d times", report.calls);
    printf("    %s: %d rows x %d names x %d paths = %d\n", kind, count, (int)ABIS, paths, done);
}

/* ---- Rows of sgemm that differ in their numbers ---- */

typedef enum fill {
    INTEGERS, /* -8 .. 8: every result is exact */
    NORMAL,
    ZEROS,
    POISON,
    ONE_NAN, /* the first element; all others are integers */
    ONE_INFINITY,
    NONE,     /* NULL */
    NO_ENTRY, /* memory that cannot be read */
    TINY,     /* multiples of 2^-149 */
    LARGEST,  /* FLT_MAX */
    MINUS_ZEROS
} fill;

typedef struct gemm_facts {
    float alpha, beta;
    fill a, b, c;
    int64_t k; /* -1: of the size; else this */
} gemm_facts;

static const struct {
    int64_t m, n, k;
} sizes[] = {{1, 1, 1}, {7, 5, 6}, {17, 19, 33}};

static const char letters[] = "NnTtCc";

static float *no_entry(void)
{
    static void *page;
    if (page == NULL) page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page;
}

static void fill_matrix(test_array *x, test_rng *rng, fill with)
{
    test_array_fill(x, rng,
                    with == NORMAL   ? DATA_NORMAL
                    : with == POISON ? DATA_NAN
                                     : DATA_INTEGER);
    if (x->bytes == 0) return;
    if (with == ONE_NAN) x->data[0] = NAN;
    if (with == ONE_INFINITY) x->data[0] = INFINITY;
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

/* rows x columns, as stored. */
static test_array new_matrix(int layout, bool turned, int64_t rows, int64_t columns)
{
    const bool swap = (layout == DUO_ROW_MAJOR) != turned;
    const int64_t length = swap ? columns : rows;
    return test_array_new(length, swap ? rows : columns, length + 3, 1);
}

static bool is_turned(char letter) { return letter != 'N' && letter != 'n'; }

/* Elements of C against the definition; also that A, B, and the gaps of C are as before. */
static void check_product(blas_abi abi, const gemm_facts *f, blas_product *p)
{
    test_rng rng = test_rng_for("semantics");
    test_array a = new_matrix(p->layout, is_turned(p->transa), p->m, p->k);
    test_array b = new_matrix(p->layout, is_turned(p->transb), p->k, p->n);
    test_array c = new_matrix(p->layout, false, p->m, p->n);
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
            /* What overflows in float32 is infinity, whatever float64 makes of it. */
            const double value = fabs(want[i * p->n + j]) > (double)FLT_MAX
                                     ? copysign(INFINITY, want[i * p->n + j])
                                     : want[i * p->n + j];
            right = right && (unchanged ? test_same(c.data[at], c_before.data[at])
                              : cleared ? test_same(c.data[at], 0.0f)
                                        : oracle_close(value, error, c.data[at]));
        }
    }
    test_case("%s/%dx%dx%d/%s/%c%c", row_name, (int)p->m, (int)p->n, (int)p->k,
              p->layout == DUO_ROW_MAJOR ? "rows" : "columns", p->transa, p->transb);
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
                              .k = f->k < 0 ? sizes[s].k : f->k};
            check_product(abi, f, &p);
        }
    }
}

/* Beyond what any path keeps for small products, and no multiple of any tile. */
static void one_large_product(blas_abi abi, const void *facts)
{
    static const gemm_facts integers = {2.0f, -1.0f, INTEGERS, INTEGERS, INTEGERS, -1};
    blas_product p = {
        .layout = DUO_COL_MAJOR, .transa = 'N', .transb = 't', .m = 131, .n = 67, .k = 129};
    (void)facts;
    check_product(abi, &integers, &p);
}

static const gemm_facts plain = {1.0f, 1.0f, INTEGERS, INTEGERS, INTEGERS, -1},
                        scaled = {-0.5f, 3.0f, INTEGERS, INTEGERS, INTEGERS, -1},
                        rounded = {0.7f, 1.3f, NORMAL, NORMAL, NORMAL, -1},
                        beta_zero = {1.0f, 0.0f, INTEGERS, INTEGERS, POISON, -1},
                        beta_minus_zero = {1.0f, -0.0f, INTEGERS, INTEGERS, POISON, -1},
                        beta_zero_infinity = {1.0f, 0.0f, INTEGERS, INTEGERS, ONE_INFINITY, -1},
                        alpha_zero_nan = {0.0f, 2.0f, POISON, POISON, INTEGERS, -1},
                        alpha_zero_null = {0.0f, 2.0f, NONE, NONE, INTEGERS, -1},
                        alpha_zero_no_entry = {0.0f, -1.0f, NO_ENTRY, NO_ENTRY, INTEGERS, -1},
                        alpha_minus_zero = {-0.0f, 0.5f, NONE, NONE, INTEGERS, -1},
                        alpha_zero_beta_one = {0.0f, 1.0f, NONE, NONE, POISON, -1},
                        alpha_zero_beta_one_signs = {0.0f, 1.0f, NONE, NONE, MINUS_ZEROS, -1},
                        alpha_zero_c_nan = {0.0f, 2.0f, NONE, NONE, ONE_NAN, -1},
                        both_zero = {0.0f, 0.0f, NONE, NONE, POISON, -1},
                        both_zero_infinity = {0.0f, 0.0f, POISON, POISON, ONE_INFINITY, -1},
                        k_zero_beta_zero = {1.0f, 0.0f, NONE, NONE, POISON, 0},
                        k_zero_beta_one = {1.0f, 1.0f, NONE, NONE, POISON, 0},
                        k_zero_beta = {1.0f, -3.0f, NO_ENTRY, NO_ENTRY, INTEGERS, 0},
                        k_zero_alpha_nan = {NAN, 1.0f, NONE, NONE, INTEGERS, 0},
                        k_zero_alpha_nan_beta = {NAN, 2.0f, NONE, NONE, INTEGERS, 0},
                        k_zero_beta_nan = {1.0f, NAN, NONE, NONE, INTEGERS, 0},
                        alpha_nan = {NAN, 0.0f, INTEGERS, INTEGERS, INTEGERS, -1},
                        beta_nan = {1.0f, NAN, INTEGERS, INTEGERS, INTEGERS, -1},
                        alpha_zero_beta_nan = {0.0f, NAN, NONE, NONE, INTEGERS, -1},
                        nan_times_zero = {1.0f, 0.0f, ONE_NAN, ZEROS, POISON, -1},
                        zero_times_nan = {1.0f, 0.0f, ZEROS, ONE_NAN, POISON, -1},
                        infinity_times_zero = {1.0f, 1.0f, ONE_INFINITY, ZEROS, INTEGERS, -1},
                        zero_times_infinity = {1.0f, 1.0f, ZEROS, ONE_INFINITY, INTEGERS, -1},
                        nan_in_c = {1.0f, 1.0f, INTEGERS, INTEGERS, ONE_NAN, -1},
                        infinity_in_c = {1.0f, -2.0f, INTEGERS, INTEGERS, ONE_INFINITY, -1},
                        overflow = {2.0f, 0.0f, LARGEST, LARGEST, POISON, -1},
                        subnormals = {1.0f, 0.0f, TINY, INTEGERS, POISON, -1},
                        subnormals_added = {1.0f, 1.0f, INTEGERS, TINY, TINY, -1},
                        subnormal_c = {0.0f, 3.0f, NONE, NONE, TINY, -1},
                        minus_zeros = {1.0f, 0.0f, MINUS_ZEROS, INTEGERS, POISON, -1};

/* ---- Rows of sgemm that need words ---- */

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
                          is_turned(transa) ? 'T' : 'N',
                          is_turned(transb) ? 'T' : 'N',
                          3,
                          3,
                          4,
                          1.0f,
                          a,
                          is_turned(transa) ? 4 : 3,
                          b,
                          is_turned(transb) ? 3 : 4,
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

/* Whatever is said of C, it has no elements. */
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

/* Pages come into being where they are written. */
static float *wide_memory(size_t bytes)
{
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("wide memory");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* 3 * ld needs 33 bits, and with wide integers ld itself. */
static int64_t wide_step(blas_abi abi) { return blas_abi_is_wide(abi) ? 3000000001 : 1500000001; }

static void wide_leading_dimensions(blas_abi abi, const void *facts)
{
    const int64_t ld = wide_step(abi);
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

/* ---- Rows of the reductions that differ in their numbers ---- */

typedef struct reduce_facts {
    duo_operation operation;
    int64_t n;
    const float *x;
    int64_t incx;
    const float *y;
    int64_t incy;
    float want; /* this very float; NaN: any */
} reduce_facts;

static const float up[] = {1, -2, 3, -4, 5, -6}, tens[] = {10, 20, 30, 40, 50, 60};
static const float nans[] = {NAN, NAN}, one_nan[] = {1, NAN, 2}, zeros[] = {0, 0, 0};
static const float infinities[] = {INFINITY, 1, -INFINITY};
static const float minus_zero[] = {-0.0f, -0.0f}, ones[] = {1, 1, 1, 1};
static const float subnormal[] = {0x1p-149f, -0x1p-140f, 0x1p-149f};
static const float huge[] = {FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX};

static const reduce_facts
    sasum_plain = {DUO_SASUM, 6, up, 1, NULL, 0, 21},
    sasum_step = {DUO_SASUM, 3, up, 2, NULL, 0, 9},
    sasum_inc_zero = {DUO_SASUM, 4, NULL, 0, NULL, 0, 0},
    sasum_inc_negative = {DUO_SASUM, 4, up, -1, NULL, 0, 0},
    sasum_n_zero = {DUO_SASUM, 0, nans, 1, NULL, 0, 0},
    sasum_n_negative = {DUO_SASUM, -5, NULL, 1, NULL, 0, 0},
    sasum_nan = {DUO_SASUM, 3, one_nan, 1, NULL, 0, NAN},
    sasum_infinities = {DUO_SASUM, 3, infinities, 1, NULL, 0, INFINITY},
    sasum_minus_zeros = {DUO_SASUM, 2, minus_zero, 1, NULL, 0, 0},
    sasum_subnormals = {DUO_SASUM, 3, subnormal, 1, NULL, 0, 0x1p-140f + 0x1p-148f},
    sasum_overflow = {DUO_SASUM, 4, huge, 1, NULL, 0, INFINITY},
    ssum_plain = {DUO_SSUM, 6, up, 1, NULL, 0, -3}, ssum_step = {DUO_SSUM, 2, up, 5, NULL, 0, -5},
    ssum_inc_zero = {DUO_SSUM, 4, up, 0, NULL, 0, 0},
    ssum_inc_negative = {DUO_SSUM, 4, NULL, -3, NULL, 0, 0},
    ssum_n_zero = {DUO_SSUM, 0, NULL, 1, NULL, 0, 0},
    ssum_n_negative = {DUO_SSUM, -1, nans, 1, NULL, 0, 0},
    ssum_nan = {DUO_SSUM, 3, one_nan, 1, NULL, 0, NAN},
    ssum_infinities = {DUO_SSUM, 3, infinities, 1, NULL, 0, NAN},
    ssum_subnormals = {DUO_SSUM, 3, subnormal, 1, NULL, 0, 0x1p-148f - 0x1p-140f},
    ssum_partial_overflow = {DUO_SSUM, 4, huge, 1, NULL, 0, 0},
    sdot_plain = {DUO_SDOT, 6, up, 1, tens, 1, -210},
    sdot_steps = {DUO_SDOT, 2, up, 2, tens, 3, 130},
    sdot_n_negative = {DUO_SDOT, -4, up, 1, tens, 1, 0},
    sdot_n_zero = {DUO_SDOT, 0, NULL, 1, NULL, 1, 0},
    sdot_one_backwards = {DUO_SDOT, 3, up, 1, tens, -1, 20},
    sdot_both_backwards = {DUO_SDOT, 3, up, -1, tens, -1, 60},
    sdot_far_backwards = {DUO_SDOT, 3, up, -2, tens, 1, 140},
    sdot_inc_zero = {DUO_SDOT, 3, up, 0, tens, 1, 60},
    sdot_inc_zero_too = {DUO_SDOT, 3, up, 1, tens, 0, 20},
    sdot_incs_zero = {DUO_SDOT, 4, tens, 0, tens, 0, 400},
    sdot_x_is_y = {DUO_SDOT, 6, up, 1, up, 1, 91},
    sdot_zero_nan = {DUO_SDOT, 3, zeros, 1, one_nan, 1, NAN},
    sdot_zero_infinity = {DUO_SDOT, 3, infinities, 1, zeros, 1, NAN},
    sdot_minus_zeros = {DUO_SDOT, 2, minus_zero, 1, ones, 1, 0},
    sdot_subnormals = {DUO_SDOT, 3, subnormal, 1, ones, 1, 0x1p-148f - 0x1p-140f},
    sdot_partial_overflow = {DUO_SDOT, 4, huge, 1, ones, 1, 0};

static void reduction(blas_abi abi, const void *facts)
{
    const reduce_facts *const f = facts;
    const float got = blas_reduce(abi, f->operation, f->n, f->x, f->incx, f->y, f->incy);
    CHECK(isnan(f->want) ? isnan(got) : test_same(got, f->want), "%a, expected %a", (double)got,
          (double)f->want);
}

/* ---- Rows of the reductions that need words ---- */

/* 32 times 3e38 and 32 times -3e38, in any order: partial sums of float32 are infinite. */
static void sums_of_large_values(blas_abi abi, const void *facts)
{
    float x[64], unit[64];
    (void)facts;
    for (int alternate = 0; alternate < 2; alternate++) {
        for (int i = 0; i < 64; i++) {
            x[i] = (alternate != 0 ? i % 2 == 0 : i < 32) ? 3e38f : -3e38f;
            unit[i] = 1.0f;
        }
        const float sum = blas_reduce(abi, DUO_SSUM, 64, x, 1, NULL, 0);
        const float dot = blas_reduce(abi, DUO_SDOT, 64, x, 1, unit, 1);
        CHECK(test_same(sum, 0.0f) && test_same(dot, 0.0f), "%g %g", (double)sum, (double)dot);
    }
}

static void wide_increments(blas_abi abi, const void *facts)
{
    const int64_t inc = wide_step(abi);
    const size_t bytes = (size_t)(2 * inc + 1) * sizeof(float);
    float *const x = wide_memory(bytes);
    const float y[] = {1, 10, 100};
    (void)facts;
    x[0] = 1.0f;
    x[inc] = -2.0f;
    x[2 * inc] = 4.0f;
    const float asum = blas_reduce(abi, DUO_SASUM, 3, x, inc, NULL, 0);
    const float sum = blas_reduce(abi, DUO_SSUM, 3, x, inc, NULL, 0);
    const float dot = blas_reduce(abi, DUO_SDOT, 3, x, inc, y, 1);
    const float back = blas_reduce(abi, DUO_SDOT, 3, x, -inc, y, 1);
    CHECK(asum == 7.0f && sum == 3.0f && dot == 381.0f && back == 84.0f, "%g %g %g %g",
          (double)asum, (double)sum, (double)dot, (double)back);
    munmap(x, bytes);
}

/* With 64 bits: negative, and yet 4 or 1 in their lower half. */
static void negative_in_the_upper_half(blas_abi abi, const void *facts)
{
    const int64_t two_32 = (int64_t)1 << 32;
    (void)facts;
    if (!blas_abi_is_wide(abi)) return;
    const float dot = blas_reduce(abi, DUO_SDOT, 4 - two_32, tens, 1, tens, 1);
    CHECK(test_same(dot, 0.0f), "%g", (double)dot);
    for (int o = DUO_SASUM; o <= DUO_SSUM; o++) {
        const float n = blas_reduce(abi, (duo_operation)o, 4 - two_32, tens, 1, NULL, 0);
        const float inc = blas_reduce(abi, (duo_operation)o, 4, tens, 1 - two_32, NULL, 0);
        CHECK(test_same(n, 0.0f) && test_same(inc, 0.0f), "%d: %g %g", o, (double)n, (double)inc);
    }
}

/* Lengths and increments around every vector width, against the exact sums. */
static void lengths_and_increments(blas_abi abi, const void *facts)
{
    enum { LONGEST = 300, WIDEST = 3 };
    static float x[LONGEST * WIDEST], y[LONGEST * WIDEST];
    static const int64_t incs[] = {1, 2, -1, -3, 0};
    test_rng rng = test_rng_for("lengths");
    (void)facts;
    test_fill(&rng, DATA_NORMAL, x, LONGEST * WIDEST);
    test_fill(&rng, DATA_NORMAL, y, LONGEST * WIDEST);
    for (int64_t n = 1; n <= LONGEST; n += n < 40 ? 1 : 23) {
        for (int i = 0; i < 25; i++) {
            const int64_t incx = incs[i % 5], incy = incs[i / 5];
            for (int o = DUO_SASUM; o <= DUO_SDOT; o++) {
                const duo_operation operation = (duo_operation)o;
                if (operation != DUO_SDOT && (incx <= 0 || incy != 1)) continue;
                double bound;
                const double want = oracle_reduce(operation, n, x, incx, y, incy, &bound);
                const float got = blas_reduce(abi, operation, n, x, incx, y, incy);
                CHECK(oracle_close(want, bound, got), "%d: n=%d, inc=%d,%d: %g, expected %g", o,
                      (int)n, (int)incx, (int)incy, (double)got, want);
            }
        }
    }
}

/* ---- The floating-point environment ---- */

enum { TROUBLE = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW, LARGEST_SIZE = 400 };

static unsigned control_word(void)
{
#if defined(__x86_64__)
    return _mm_getcsr() & ~0x3fu; /* but for the flags */
#else
    return 0;
#endif
}

/* As programs set it that were compiled with -ffast-math. */
static void flush_subnormals(bool flush)
{
#if defined(__x86_64__)
    _mm_setcsr(flush ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u);
#else
    (void)flush;
#endif
}

/* Every size once as m, n or k, with data whose results are exact however they are rounded. New
 * memory holds large numbers, so that what should not be read overflows. */
static void the_environment_is_left_alone(blas_abi abi, const void *facts)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD};
    static float a[LARGEST_SIZE * 14], b[LARGEST_SIZE * 14], c[LARGEST_SIZE * 14];
    (void)facts;
    for (int i = 0; i < LARGEST_SIZE * 14; i++) {
        a[i] = (float)(i % 5 - 2);
        b[i] = (float)(i % 3 + 1);
    }
    mallopt(M_PERTURB, 0x80);
    for (int size = 1; size <= LARGEST_SIZE; size++) {
        const int mode = modes[size % 2], few = 1 + size % 7, some = 1 + size % 13;
        const int64_t m = size % 3 == 0 ? size : few, n = size % 3 == 1 ? size : some,
                      k = size % 3 == 2   ? size
                          : size % 3 == 1 ? few
                                          : some;
        const blas_product p = {DUO_COL_MAJOR, 'N', 'N', m, n, k, 1.0f, a, m, b, k, 0.0f, c, m};
        fesetround(mode);
        flush_subnormals(size % 5 == 0);
        feclearexcept(FE_ALL_EXCEPT);
        const unsigned control = control_word();
        const duo_status status = blas_sgemm(abi, &p);
        const float sum = blas_reduce(abi, DUO_SSUM, size, b, 1, NULL, 0);
        const float asum = blas_reduce(abi, DUO_SASUM, size, a, 1, NULL, 0);
        const float dot = blas_reduce(abi, DUO_SDOT, size, a, 1, b, -1);
        const int raised = fetestexcept(TROUBLE), mode_after = fegetround();
        const unsigned control_after = control_word();
        feraiseexcept(FE_INVALID);
        (void)blas_sgemm(abi, &p);
        (void)blas_reduce(abi, DUO_SSUM, size, b, 1, NULL, 0);
        const bool kept = fetestexcept(FE_INVALID) != 0;
        feclearexcept(FE_ALL_EXCEPT);
        flush_subnormals(false);
        fesetround(FE_TONEAREST);
        CHECK_STATUS(DUO_OK, status);
        CHECK(raised == 0, "size %d: flags %#x", size, (unsigned)raised);
        CHECK(kept, "size %d: cleared the flags", size);
        CHECK(mode_after == mode && control_after == control, "size %d: mode %#x, control %#x",
              size, (unsigned)mode_after, control_after);
        double want[3] = {0, 0, 0};
        for (int i = 0; i < size; i++) {
            want[0] += (double)b[i];
            want[1] += fabs((double)a[i]);
            want[2] += (double)(a[i] * b[size - 1 - i]);
        }
        CHECK((double)sum == want[0] && (double)asum == want[1] && (double)dot == want[2],
              "size %d: %g %g %g", size, (double)sum, (double)asum, (double)dot);
        double last = 0;
        for (int64_t i = 0; i < k; i++) last += (double)(a[m - 1 + i * m] * b[(n - 1) * k + i]);
        CHECK((double)c[m * n - 1] == last, "size %d: %g", size, (double)c[m * n - 1]);
    }
    mallopt(M_PERTURB, 0);
}

/* ---- The tables ---- */

#define PRODUCTS(name)                                                                             \
    {                                                                                              \
#name, products, &name                                                                     \
    }
#define REDUCTION(name)                                                                            \
    {                                                                                              \
#name, reduction, &name                                                                    \
    }
#define IN_WORDS(name)                                                                             \
    {                                                                                              \
#name, name, NULL                                                                          \
    }

static const semantics_row gemm_rows[] = {
    PRODUCTS(plain),
    PRODUCTS(scaled),
    PRODUCTS(rounded),
    PRODUCTS(beta_zero),
    PRODUCTS(beta_minus_zero),
    PRODUCTS(beta_zero_infinity),
    PRODUCTS(alpha_zero_nan),
    PRODUCTS(alpha_zero_null),
    PRODUCTS(alpha_zero_no_entry),
    PRODUCTS(alpha_minus_zero),
    PRODUCTS(alpha_zero_beta_one),
    PRODUCTS(alpha_zero_beta_one_signs),
    PRODUCTS(alpha_zero_c_nan),
    PRODUCTS(both_zero),
    PRODUCTS(both_zero_infinity),
    PRODUCTS(k_zero_beta_zero),
    PRODUCTS(k_zero_beta_one),
    PRODUCTS(k_zero_beta),
    PRODUCTS(k_zero_alpha_nan),
    PRODUCTS(k_zero_alpha_nan_beta),
    PRODUCTS(k_zero_beta_nan),
    PRODUCTS(alpha_nan),
    PRODUCTS(beta_nan),
    PRODUCTS(alpha_zero_beta_nan),
    PRODUCTS(nan_times_zero),
    PRODUCTS(zero_times_nan),
    PRODUCTS(infinity_times_zero),
    PRODUCTS(zero_times_infinity),
    PRODUCTS(nan_in_c),
    PRODUCTS(infinity_in_c),
    PRODUCTS(overflow),
    PRODUCTS(subnormals),
    PRODUCTS(subnormals_added),
    PRODUCTS(subnormal_c),
    PRODUCTS(minus_zeros),
    IN_WORDS(one_large_product),
    IN_WORDS(zeros_of_a_sum_are_positive),
    IN_WORDS(a_may_be_b),
    IN_WORDS(letters_of_either_case),
    IN_WORDS(row_major_is_the_transposed_product),
    IN_WORDS(an_empty_c_is_left_alone),
    IN_WORDS(wide_leading_dimensions),
    IN_WORDS(calls_run_on_the_side_of_the_path),
};

static const semantics_row reduce_rows[] = {
    REDUCTION(sasum_plain),
    REDUCTION(sasum_step),
    REDUCTION(sasum_inc_zero),
    REDUCTION(sasum_inc_negative),
    REDUCTION(sasum_n_zero),
    REDUCTION(sasum_n_negative),
    REDUCTION(sasum_nan),
    REDUCTION(sasum_infinities),
    REDUCTION(sasum_minus_zeros),
    REDUCTION(sasum_subnormals),
    REDUCTION(sasum_overflow),
    REDUCTION(ssum_plain),
    REDUCTION(ssum_step),
    REDUCTION(ssum_inc_zero),
    REDUCTION(ssum_inc_negative),
    REDUCTION(ssum_n_zero),
    REDUCTION(ssum_n_negative),
    REDUCTION(ssum_nan),
    REDUCTION(ssum_infinities),
    REDUCTION(ssum_subnormals),
    REDUCTION(ssum_partial_overflow),
    REDUCTION(sdot_plain),
    REDUCTION(sdot_steps),
    REDUCTION(sdot_n_negative),
    REDUCTION(sdot_n_zero),
    REDUCTION(sdot_one_backwards),
    REDUCTION(sdot_both_backwards),
    REDUCTION(sdot_far_backwards),
    REDUCTION(sdot_inc_zero),
    REDUCTION(sdot_inc_zero_too),
    REDUCTION(sdot_incs_zero),
    REDUCTION(sdot_x_is_y),
    REDUCTION(sdot_zero_nan),
    REDUCTION(sdot_zero_infinity),
    REDUCTION(sdot_minus_zeros),
    REDUCTION(sdot_subnormals),
    REDUCTION(sdot_partial_overflow),
    IN_WORDS(sums_of_large_values),
    IN_WORDS(wide_increments),
    IN_WORDS(negative_in_the_upper_half),
    IN_WORDS(lengths_and_increments),
    IN_WORDS(the_environment_is_left_alone),
};

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static void semantics_of_sgemm(void) { run_rows("sgemm", gemm_rows, COUNT(gemm_rows)); }

static void semantics_of_reductions(void)
{
    run_rows("reductions", reduce_rows, COUNT(reduce_rows));
}

/* ---- Error exits ---- */

/* Fortran's numbers of the arguments that can be wrong; CBLAS counts one more: LAYOUT is its 1. */
enum { LAYOUT, TRANSA, TRANSB, M, N, K, LDA = 8, LDB = 10, LDC = 13 };

/* Rows of A, B and C as stored, and the lengths of their runs, are told apart by m, n and k. */
static blas_product right_product(int layout, char transa, char transb, float *c)
{
    const int64_t m = 5, n = 3, k = 4;
    const bool rows = layout == DUO_ROW_MAJOR;
    return (blas_product){.layout = layout,
                          .transa = transa,
                          .transb = transb,
                          .m = m,
                          .n = n,
                          .k = k,
                          .alpha = 1.0f,
                          .a = no_entry(),
                          .lda = is_turned(transa) != rows ? k : m,
                          .b = no_entry(),
                          .ldb = is_turned(transb) != rows ? n : k,
                          .beta = 0.0f,
                          .c = c,
                          .ldc = rows ? n : m};
}

static void spoil(blas_product *p, int argument)
{
    switch (argument) {
    case LAYOUT:
        p->layout = 100;
        break;
    case TRANSA:
        p->transa = 'X';
        break;
    case TRANSB:
        p->transb = '/';
        break;
    case M:
        p->m = -1;
        break;
    case N:
        p->n = -1;
        break;
    case K:
        p->k = -1;
        break;
    case LDA:
        p->lda--;
        break;
    case LDB:
        p->ldb--;
        break;
    default:
        p->ldc--;
        break;
    }
}

static void expect_report(blas_abi abi, const blas_product *p, int argument, const float *c,
                          int count)
{
    report.calls = 0;
    RowMajorStrg = 1;
    const duo_status status = blas_sgemm(abi, p);
    RowMajorStrg = 0;
    bool untouched = true;
    for (int i = 0; i < count; i++) untouched = untouched && test_is_poison(c[i]);
    CHECK(untouched, "C was written");
    if (abi == ABI_NATIVE) {
        CHECK(status != DUO_OK && report.calls == 0, "status %d, %d reports", (int)status,
              report.calls);
        return;
    }
    CHECK(report.calls == 1 && report.abi == abi && report.named, "%d reports, to %s, named %d",
          report.calls, blas_abi_name(report.abi), (int)report.named);
    const int number = blas_abi_is_cblas(abi) ? argument + 1 : argument;
    CHECK(report.argument == number, "argument %d, expected %d", (int)report.argument, number);
    CHECK(report.row_major == 0 || !blas_abi_is_cblas(abi), "RowMajorStrg is %d", report.row_major);
}

/* One argument wrong; and every argument after it as well, where the first is to be told. */
static void wrong_arguments_are_reported(void)
{
    static const int arguments[] = {LAYOUT, TRANSA, TRANSB, M, N, K, LDA, LDB, LDC};
    float c[16];
    int calls = 0;
    for (int i = 0; i < 16; i++) c[i] = test_poison();
    for (int abi = 0; abi < ABIS; abi++) {
        const bool fortran = abi == ABI_FORTRAN || abi == ABI_FORTRAN64;
        for (int t = 0; t < 8; t++) {
            const int layout = t / 4 == 0 ? DUO_COL_MAJOR : DUO_ROW_MAJOR;
            if (fortran && layout == DUO_ROW_MAJOR) continue;
            for (int i = fortran ? 1 : 0; i < COUNT(arguments); i++) {
                for (int more = 0; more < 2; more++) {
                    blas_product p =
                        right_product(layout, letters[t % 2 * 2], letters[t / 2 % 2 * 2], c);
                    for (int j = i; j < (more != 0 ? COUNT(arguments) : i + 1); j++)
                        spoil(&p, arguments[j]);
                    test_case("error exit/%s/%s/%d%d/argument %d/%s", blas_abi_name((blas_abi)abi),
                              layout == DUO_ROW_MAJOR ? "rows" : "columns", t % 2, t / 2 % 2,
                              arguments[i], more != 0 ? "and later ones" : "alone");
                    expect_report((blas_abi)abi, &p, arguments[i], c, 16);
                    calls++;
                }
            }
        }
    }
    printf("    %d wrong calls\n", calls);
}

/* What is wrong is so whatever there is to do: C empty, nothing to add, leading dimensions 0. */
static void arguments_are_checked_before_anything_is_skipped(void)
{
    float c[16];
    for (int i = 0; i < 16; i++) c[i] = test_poison();
    for (int abi = 0; abi < ABIS; abi++) {
        for (int i = 0; i < 5; i++) {
            blas_product p = right_product(DUO_COL_MAJOR, 'N', 'N', c);
            if (i == 0) p.m = 0;
            if (i == 1) p.n = 0;
            if (i == 2) p.k = 0;
            if (i == 3) p.alpha = 0.0f, p.beta = 1.0f;
            if (i == 4) p.m = p.n = p.k = 0;
            static const int arguments[] = {TRANSA, TRANSB, LDA, LDB, LDC};
            for (int j = 0; j < COUNT(arguments); j++) {
                blas_product wrong = p;
                spoil(&wrong, arguments[j]);
                if (arguments[j] == LDA) wrong.lda = 0;
                if (arguments[j] == LDB) wrong.ldb = 0;
                if (arguments[j] == LDC) wrong.ldc = 0;
                test_case("error exit/%s/nothing to do %d/argument %d",
                          blas_abi_name((blas_abi)abi), i, arguments[j]);
                expect_report((blas_abi)abi, &wrong, arguments[j], c, 16);
            }
        }
    }
}

/* With 64 bits: numbers whose lower half alone would be right, or would be wrong. */
static void whole_integers_are_looked_at(void)
{
    static const int64_t two_32 = (int64_t)1 << 32;
    float c[16];
    for (int i = 0; i < 16; i++) c[i] = test_poison();
    for (int abi = 0; abi < ABIS; abi++) {
        if (!blas_abi_is_wide((blas_abi)abi)) continue;
        test_case("error exit/%s/wide", blas_abi_name((blas_abi)abi));
        blas_product p = right_product(DUO_COL_MAJOR, 'N', 'N', c);
        p.lda += two_32;
        p.m += two_32; /* beyond ldc */
        expect_report((blas_abi)abi, &p, LDC, c, 16);
        p = right_product(DUO_COL_MAJOR, 'N', 'N', c);
        p.n -= two_32;
        expect_report((blas_abi)abi, &p, N, c, 16);
        p = right_product(DUO_COL_MAJOR, 'N', 'N', c);
        p.ldb -= two_32;
        expect_report((blas_abi)abi, &p, LDB, c, 16);
        p = right_product(DUO_COL_MAJOR, 'N', 'T', c);
        p.n += two_32; /* beyond ldb */
        expect_report((blas_abi)abi, &p, LDB, c, 16);
        p = right_product(DUO_COL_MAJOR, 'T', 'N', c);
        p.k += two_32; /* beyond lda */
        expect_report((blas_abi)abi, &p, LDA, c, 16);
    }
}

/* ---- Kept arrays ---- */

/* The host copy of C is current at return, also where the device is slow, and where C is a part of
 * what is kept. */
static void results_in_kept_arrays_are_on_the_host(void)
{
    enum { KEPT = 40 * 40 };
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_GPU));
    if (test_mode_now() == MODE_SIM) sim_set_delay(2000);
    for (int abi = 0; abi < ABI_NATIVE; abi++) {
        for (int round = 0; round < 4; round++) {
            test_rng rng = test_rng_for("kept");
            test_array a = test_array_new(30, 20, 30, 0), b = test_array_new(20, 30, 20, 0);
            test_array c = test_array_new(40, 40, 40, 0);
            test_array_fill(&a, &rng, DATA_INTEGER);
            test_array_fill(&b, &rng, DATA_INTEGER);
            test_array_fill(&c, &rng, DATA_INTEGER);
            test_array before = test_array_copy(&c);
            const float beta = round % 2 == 0 ? 0.0f : -1.0f;
            CHECK_STATUS(DUO_OK, duo_keep(NULL, c.data, KEPT * sizeof(float)));
            if (round >= 2) CHECK_STATUS(DUO_OK, duo_keep(NULL, a.data, a.bytes));
            float *const part = c.data + 3 + 5 * 40;
            const blas_product p = {DUO_COL_MAJOR, 'N', 'N',    30, 30,   20,   1.0f,
                                    a.data,        30,  b.data, 20, beta, part, 40};
            oracle_product definition = {DUO_COL_MAJOR,
                                         DUO_NO_TRANS,
                                         DUO_NO_TRANS,
                                         30,
                                         30,
                                         20,
                                         1.0f,
                                         a.data,
                                         30,
                                         b.data,
                                         20,
                                         beta,
                                         before.data + 3 + 5 * 40,
                                         40};
            static double want[900], bound[900];
            for (int again = 0; again < 2; again++) {
                test_case("kept/%s/beta=%g/again=%d", blas_abi_name((blas_abi)abi), (double)beta,
                          again);
                oracle_sgemm(&definition, want, bound);
                CHECK_STATUS(DUO_OK, blas_sgemm((blas_abi)abi, &p));
                bool right = true, rest = true;
                for (int64_t j = 0; j < 40; j++) {
                    for (int64_t i = 0; i < 40; i++) {
                        const bool inside = i >= 3 && i < 33 && j >= 5 && j < 35;
                        const float got = c.data[i + 40 * j];
                        if (inside)
                            right = right && (double)got == want[(i - 3) * 30 + j - 5];
                        else
                            rest = rest && test_same(got, before.data[i + 40 * j]);
                    }
                }
                CHECK(right, "the host copy of C is not current");
                CHECK(rest, "outside C something changed");
                memcpy(before.data, c.data, c.bytes);
            }
            duo_decision d = {.size = sizeof d};
            CHECK_STATUS(DUO_OK, duo_explain_last(NULL, &d));
            CHECK(d.side == DUO_SIDE_GPU, "not on the GPU: %s", d.note);
            if (round >= 2) CHECK_STATUS(DUO_OK, duo_release(NULL, a.data));
            CHECK_STATUS(DUO_OK, duo_release(NULL, c.data));
            CHECK(test_array_equal(&c, &before) && test_array_intact(&c), "changed by its release");
            test_array_free(&a);
            test_array_free(&b);
            test_array_free(&c);
            test_array_free(&before);
        }
    }
}

static void kept_arrays(void)
{
    if (test_gpu_side())
        results_in_kept_arrays_are_on_the_host();
    else
        test_skip("nothing is kept without a device");
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"semantics_of_sgemm", semantics_of_sgemm},
        {"semantics_of_reductions", semantics_of_reductions},
        {"wrong_arguments_are_reported", wrong_arguments_are_reported},
        {"arguments_are_checked_before_anything_is_skipped",
         arguments_are_checked_before_anything_is_skipped},
        {"whole_integers_are_looked_at", whole_integers_are_looked_at},
        {"kept_arrays", kept_arrays},
        {NULL, NULL},
    };
    return test_main(argc, argv, "blas", tests);
}
