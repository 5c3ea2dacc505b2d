/*
 * test_blas_reductions.c - the drop-in's sasum, ssum and sdot: the promises of BLAS one by one,
 * through every name; and the caller's floating-point environment, which no call may change.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <float.h>
#include <malloc.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "support/blas_abi.h"
#include "support/blas_promises.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/odd_memory.h"
#include "support/oracle.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* ---- Promises that differ in their numbers ---- */

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
static const float both_inf[] = {INFINITY, 1, -INFINITY};
static const float minus_0[] = {-0.0f, -0.0f}, ones[] = {1, 1, 1, 1};
static const float subnormal[] = {0x1p-149f, -0x1p-140f, 0x1p-149f};
#define SUBNORMAL_SUM  (0x1p-148f - 0x1p-140f)
#define SUBNORMAL_ASUM (0x1p-148f + 0x1p-140f)
static const float huge[] = {FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX};

static void reduction(blas_abi abi, const void *facts)
{
    const reduce_facts *const f = facts;
    const float got = blas_reduce(abi, f->operation, f->n, f->x, f->incx, f->y, f->incy);
    CHECK(isnan(f->want) ? isnan(got) : test_same(got, f->want), "%a, expected %a", (double)got,
          (double)f->want);
}

/* ---- Promises that need words ---- */

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
    const int64_t inc = blas_wide_step(abi);
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
    return _mm_getcsr() & ~0x3fu; /* without the flags */
#else
    return 0;
#endif
}

/* As set by programs compiled with -ffast-math. */
static void flush_subnormals(bool flush)
{
#if defined(__x86_64__)
    _mm_setcsr(flush ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u);
#else
    (void)flush;
#endif
}

/* Leaves large numbers where the next functions have their arrays. */
static __attribute__((noinline)) void fill_stack(void)
{
    volatile unsigned char memory[48 << 10];
    for (size_t i = 0; i < sizeof memory; i++) memory[i] = 0x7F;
}

/* Every size once as m, n or k, with data that give exact results in every rounding mode. New
 * memory and the stack hold large numbers, so that a wrong read overflows. */
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
        fill_stack();
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

/* ---- The table ---- */

/* clang-format off */
#define REDUCTION(name, ...) {#name, reduction, &(const reduce_facts){__VA_ARGS__}}
#define IN_WORDS(name)       {#name, name, NULL}

static const blas_promise reduce_promises[] = {
    /*        name                   operation   n  x        incx  y      incy  want */
    REDUCTION(sasum_plain,           DUO_SASUM,  6, up,         1, NULL,     0, 21),
    REDUCTION(sasum_step,            DUO_SASUM,  3, up,         2, NULL,     0, 9),
    REDUCTION(sasum_inc_zero,        DUO_SASUM,  4, NULL,       0, NULL,     0, 0),
    REDUCTION(sasum_inc_negative,    DUO_SASUM,  4, up,        -1, NULL,     0, 0),
    REDUCTION(sasum_n_zero,          DUO_SASUM,  0, nans,       1, NULL,     0, 0),
    REDUCTION(sasum_n_negative,      DUO_SASUM, -5, NULL,       1, NULL,     0, 0),
    REDUCTION(sasum_nan,             DUO_SASUM,  3, one_nan,    1, NULL,     0, NAN),
    REDUCTION(sasum_infinities,      DUO_SASUM,  3, both_inf,   1, NULL,     0, INFINITY),
    REDUCTION(sasum_minus_zeros,     DUO_SASUM,  2, minus_0,    1, NULL,     0, 0),
    REDUCTION(sasum_subnormals,      DUO_SASUM,  3, subnormal,  1, NULL,     0, SUBNORMAL_ASUM),
    REDUCTION(sasum_overflow,        DUO_SASUM,  4, huge,       1, NULL,     0, INFINITY),
    REDUCTION(ssum_plain,            DUO_SSUM,   6, up,         1, NULL,     0, -3),
    REDUCTION(ssum_step,             DUO_SSUM,   2, up,         5, NULL,     0, -5),
    REDUCTION(ssum_inc_zero,         DUO_SSUM,   4, up,         0, NULL,     0, 0),
    REDUCTION(ssum_inc_negative,     DUO_SSUM,   4, NULL,      -3, NULL,     0, 0),
    REDUCTION(ssum_n_zero,           DUO_SSUM,   0, NULL,       1, NULL,     0, 0),
    REDUCTION(ssum_n_negative,       DUO_SSUM,  -1, nans,       1, NULL,     0, 0),
    REDUCTION(ssum_nan,              DUO_SSUM,   3, one_nan,    1, NULL,     0, NAN),
    REDUCTION(ssum_infinities,       DUO_SSUM,   3, both_inf,   1, NULL,     0, NAN),
    REDUCTION(ssum_subnormals,       DUO_SSUM,   3, subnormal,  1, NULL,     0, SUBNORMAL_SUM),
    REDUCTION(ssum_partial_overflow, DUO_SSUM,   4, huge,       1, NULL,     0, 0),
    REDUCTION(sdot_plain,            DUO_SDOT,   6, up,         1, tens,     1, -210),
    REDUCTION(sdot_steps,            DUO_SDOT,   2, up,         2, tens,     3, 130),
    REDUCTION(sdot_n_negative,       DUO_SDOT,  -4, up,         1, tens,     1, 0),
    REDUCTION(sdot_n_zero,           DUO_SDOT,   0, NULL,       1, NULL,     1, 0),
    REDUCTION(sdot_one_backwards,    DUO_SDOT,   3, up,         1, tens,    -1, 20),
    REDUCTION(sdot_both_backwards,   DUO_SDOT,   3, up,        -1, tens,    -1, 60),
    REDUCTION(sdot_far_backwards,    DUO_SDOT,   3, up,        -2, tens,     1, 140),
    REDUCTION(sdot_inc_zero,         DUO_SDOT,   3, up,         0, tens,     1, 60),
    REDUCTION(sdot_inc_zero_too,     DUO_SDOT,   3, up,         1, tens,     0, 20),
    REDUCTION(sdot_incs_zero,        DUO_SDOT,   4, tens,       0, tens,     0, 400),
    REDUCTION(sdot_x_is_y,           DUO_SDOT,   6, up,         1, up,       1, 91),
    REDUCTION(sdot_zero_nan,         DUO_SDOT,   3, zeros,      1, one_nan,  1, NAN),
    REDUCTION(sdot_zero_infinity,    DUO_SDOT,   3, both_inf,   1, zeros,    1, NAN),
    REDUCTION(sdot_minus_zeros,      DUO_SDOT,   2, minus_0,    1, ones,     1, 0),
    REDUCTION(sdot_subnormals,       DUO_SDOT,   3, subnormal,  1, ones,     1, SUBNORMAL_SUM),
    REDUCTION(sdot_partial_overflow, DUO_SDOT,   4, huge,       1, ones,     1, 0),
    IN_WORDS(sums_of_large_values),
    IN_WORDS(wide_increments),
    IN_WORDS(negative_in_the_upper_half),
    IN_WORDS(lengths_and_increments),
    IN_WORDS(the_environment_is_left_alone),
};
/* clang-format on */

static void semantics_of_reductions(void)
{
    run_promises("reductions", reduce_promises, sizeof reduce_promises / sizeof reduce_promises[0]);
}

static const test_entry tests[] = {
    {"semantics_of_reductions", semantics_of_reductions},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "blas_reductions", tests); }
