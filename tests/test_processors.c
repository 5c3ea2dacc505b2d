/*
 * test_processors.c - products and reductions have the same bits on every processor. These are the
 * bits of plain loops in the documented orders. Checksums of all results stand here.
 *
 * The clone of AVX-512 is tested on every processor with AVX2 (support/avx512_emulated.h).
 *
 * The test needs neither the harness nor functions of the C library that round. So it can be linked
 * statically, and run in an emulator of another processor (scripts/test aarch64).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/ffma.h"
#include "cpu/kernels.h"
#include "cpu/lanes.h"
#include "support/calls.h"
#include "support/product_order.h"
#include "support/reference_order.h"

/* Of all results. They change only with docs/reference/numerics.md, or with the cases below. */
static const uint64_t kProducts = 0x11744c9b88f0e66fu, kReductions = 0x8a259df31b934eb0u;

static int comparisons, differing;

/* ---- Clones ---- */

/* The i-th clone that can run here. On a CPU with AVX2 the last one is AVX-512's in plain C. */
static const duo_clone *clone_of_products(int i)
{
#if defined(EMULATES_AVX512)
    extern const duo_ffma emulated_ffma, emulated_float64;
    static const duo_clone emulated = {"avx512 emulated", &emulated_ffma, &emulated_float64};
    if (i > 0 && duo_ffma_clone(i) == NULL && duo_ffma_clone(i - 1) != NULL &&
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &emulated;
#endif
    return duo_ffma_clone(i);
}

/* ---- Data ---- */

static uint64_t state;

static uint32_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* 24 random bits in [-1, 1), times a power of two: exact everywhere. */
static void fill(float *x, int64_t count, float scale)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = ((float)(random_bits() >> 8) * 0x1p-23f - 1.0f) * scale;
}

/* Every 37th element becomes an Inf, a NaN or a number near overflow. */
static void spoil(float *x, int64_t count)
{
    static const uint32_t bits[] = {0x7F800000, 0xFFC12345, 0xFF800000, 0x7F7FFFFF,
                                    0x7F800001, 0xFF7FFFFF, 0xFFFFFFFF};
    for (int64_t i = 36; i < count; i += 37) memcpy(&x[i], &bits[random_bits() % 7], sizeof *x);
}

static float *new_array(int64_t count)
{
    float *const x = malloc((size_t)count * sizeof *x);
    if (x == NULL) abort();
    return x;
}

/* ---- Results ---- */

static uint64_t checksum; /* FNV-1a of the bits */

static void add_to_checksum(const float *x, int64_t count)
{
    const unsigned char *const byte = (const unsigned char *)x;
    for (size_t i = 0; i < (size_t)count * sizeof *x; i++)
        checksum = (checksum ^ byte[i]) * 1099511628211u;
}

static void compare(const float *got, const float *expected, int64_t count, const char *clone,
                    const char *what)
{
    comparisons++;
    if (memcmp(got, expected, (size_t)count * sizeof *got) == 0) return;
    differing++;
    printf("%s: %s: other bits than the literal order\n", clone, what);
}

/* ---- Products ---- */

/* In float64, unless beta is 0, what the product rounds to is subtracted: the sum's last bits
 * stay. */
static void check_product(bool float64, int64_t m, int64_t n, int64_t k, int which, float scale,
                          bool hostile)
{
    static const float alphas[] = {1.0f, -1.7f, 0.3f}, betas[] = {0.0f, 1.0f, -0.6f};
    static const int threads[] = {1, 2, 7};
    const bool transa = which % 2 != 0, transb = which / 2 % 2 != 0;
    const float alpha = alphas[which % 3], beta_float32 = betas[(m + which) % 3];
    const bool subtracts = float64 && beta_float32 != 0.0f;
    const float beta = subtracts ? -1.0f : beta_float32;
    const int64_t lda = (transa ? k : m) + which, ldb = (transb ? n : k) + 3 - which, ldc = m + 1;
    const int64_t floats = ldc * n;
    float *const a = new_array(lda * (transa ? m : k)), *const b =
                                                            new_array(ldb * (transb ? k : n));
    float *const before = new_array(floats), *const expected = new_array(floats);
    float *const c = new_array(floats);
    char what[64];
    snprintf(what, sizeof what, "sgemm in float%d %c%c %dx%dx%d", float64 ? 64 : 32,
             transa ? 't' : 'n', transb ? 't' : 'n', (int)m, (int)n, (int)k);
    fill(a, lda * (transa ? m : k), scale);
    fill(b, ldb * (transb ? k : n), 1.0f);
    fill(before, floats, scale);
    if (hostile) {
        spoil(a, lda * (transa ? m : k));
        spoil(before, floats);
    }
    memcpy(expected, before, (size_t)floats * sizeof *before);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            float *const old = &before[i + j * ldc];
            if (subtracts)
                *old = product_order(float64, transa, transb, m, n, k, alpha, a, lda, b, ldb, 0.0f,
                                     0.0f, i, j);
            expected[i + j * ldc] = product_order(float64, transa, transb, m, n, k, alpha, a, lda,
                                                  b, ldb, beta, *old, i, j);
        }
    add_to_checksum(expected, floats);
    for (int i = 0; clone_of_products(i) != NULL; i++)
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            const duo_clone *const clone = duo_ffma_set(clone_of_products(i));
            duo_call call =
                test_sgemm_call(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
            call.threads = threads[t];
            memcpy(c, before, (size_t)floats * sizeof *before);
            if ((float64 ? duo_sgemm_cpu_float64 : duo_sgemm_cpu_ffma)(&call) != DUO_OK) abort();
            compare(c, expected, floats, clone->isa, what);
        }
    duo_ffma_set(NULL);
    free(a);
    free(b);
    free(c);
    free(before);
    free(expected);
}

/* Shapes for every path through ffma_body.h, in all four layouts. */
static const struct shape {
    short m, n, k;
} shapes[] = {
    {1, 1, 1},     {4, 4, 4},     {7, 5, 3},     {16, 16, 16},   {33, 26, 8},    {19, 13, 63},
    {70, 61, 600}, {130, 90, 40}, {37, 11, 513}, {200, 260, 64}, {170, 300, 70}, {3, 4, 5000},
    {1, 1, 9000},  {4, 4, 64},    {300, 1, 700}, {1, 310, 520},  {280, 3, 530},  {5, 270, 90},
    {600, 8, 40},  {300, 20, 1},  {299, 9, 5},   {257, 21, 8},   {2000, 1, 70},  {1, 900, 20},
};

static void check_products(void)
{
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int which = 0; which < 8; which++)
            check_product(which / 4 != 0, shapes[s].m, shapes[s].n, shapes[s].k, which % 4,
                          s % 5 == 4 ? 0x1p-126f : 1.0f, s % 5 == 3);
}

/* ---- Reductions ---- */

static void check_reduction(duo_operation operation, int64_t n, const float *x, int64_t incx,
                            const float *y, int64_t incy)
{
    static const int threads[] = {1, 3};
    const float expected = reference_order(operation, n, x, incx, y, incy);
    const float expected_float64 = reference_order_float64(operation, n, x, incx, y, incy);
    char what[64];
    snprintf(what, sizeof what, "%s of %d by %d",
             operation == DUO_SASUM  ? "sasum"
             : operation == DUO_SSUM ? "ssum"
                                     : "sdot",
             (int)n, (int)incx);
    add_to_checksum(&expected, 1);
    add_to_checksum(&expected_float64, 1);
    for (int i = 0; duo_lanes_clone(i) != NULL; i++)
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            const duo_lanes *const clone = duo_lanes_set(duo_lanes_clone(i));
            const float got = duo_lanes_reduce(operation, n, x, incx, y, incy, threads[t]);
            const float got_float64 =
                duo_lanes_reduce_float64(operation, n, x, incx, y, incy, threads[t]);
            compare(&got, &expected, 1, clone->name, what);
            compare(&got_float64, &expected_float64, 1, clone->name, what);
        }
    duo_lanes_set(NULL);
}

static void check_reductions(void)
{
    enum { MOST = 150000 };
    static const int lengths[] = {1, 2, 15, 100, 255, 1024, 1500, 4096, 5000, 66000, MOST};
    /* Usual sums; sums of subnormal numbers; sums that overflow in float32 on their way. */
    static const float scales[] = {1.0f, 0x1p-126f, 0x1p126f};
    float *const x = new_array(2 * MOST), *const y = new_array(2 * MOST);
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
        fill(x, 2 * MOST, scales[s]);
        fill(y, 2 * MOST, 1.0f);
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
            for (int operation = DUO_SASUM; operation <= DUO_SDOT; operation++) {
                check_reduction((duo_operation)operation, lengths[l], x + l, 1, y + 1, 1);
                check_reduction((duo_operation)operation, lengths[l] / 2 + 1, x + l, 2, y, 1);
            }
    }
    free(x);
    free(y);
}

/* ---- ---- */

static bool judge(const char *what, uint64_t expected)
{
    printf("%s: checksum %016llx\n", what, (unsigned long long)checksum);
    if (checksum == expected) return true;
    printf("%s: the literal order itself has other bits than %016llx\n", what,
           (unsigned long long)expected);
    return false;
}

static bool run(const char *what, void (*cases)(void), uint64_t expected)
{
    state = 37;
    checksum = 14695981039346656037u;
    cases();
    return judge(what, expected);
}

int main(void)
{
    const bool products = run("products", check_products, kProducts);
    const bool reductions = run("reductions", check_reductions, kReductions);
    printf("%d comparisons, %d differ; the best clones are %s and %s\n", comparisons, differing,
           duo_ffma_set(NULL)->isa, duo_lanes_set(NULL)->name);
    return products && reductions && differing == 0 ? 0 : 1;
}
