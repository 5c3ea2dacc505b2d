/*
 * test_sgemm_tiles.c - how a product is divided: tiles that cover C, and so the same bits on any
 * number of threads.
 */
#include "cpu/sgemm_tiles.h"
#include "support/arrays.h"
#include "support/calls.h"
#include "support/harness.h"
#include "support/run_algorithm.h"

#include <math.h>
#include <string.h>

/* ---- The tiles ---- */

/* Do `count` parts of `length` cover `size`, each of them with something? */
static bool covers(int64_t size, int64_t length, int64_t count)
{
    return length >= 1 && count >= 1 && (count - 1) <= (size - 1) / length &&
           count > (size - 1) / length;
}

static void check_tiles(int64_t m, int64_t n, int64_t k)
{
    test_case("tiles/%jdx%jdx%jd", (intmax_t)m, (intmax_t)n, (intmax_t)k);
    const duo_tiles t = duo_sgemm_tiles(m, n, k), again = duo_sgemm_tiles(m, n, k);
    CHECK(covers(m, t.rows, t.down), "%jd x %jd rows", (intmax_t)t.down, (intmax_t)t.rows);
    CHECK(covers(n, t.columns, t.across), "%jd x %jd columns", (intmax_t)t.across,
          (intmax_t)t.columns);
    CHECK(covers(k, t.steps, t.parts), "%jd x %jd steps", (intmax_t)t.parts, (intmax_t)t.steps);
    CHECK(t.rows <= m && t.columns <= n, "a tile of %jd x %jd", (intmax_t)t.rows,
          (intmax_t)t.columns);
    CHECK(t.down == 1 || t.rows % 16 == 0, "%jd rows", (intmax_t)t.rows);
    CHECK(t.across == 1 || t.columns % 4 == 0, "%jd columns", (intmax_t)t.columns);
    CHECK(memcmp(&t, &again, sizeof t) == 0, "other tiles the second time");
    /* Parts that are put beside C (sgemm_cpu_openblas.c) */
    const double bytes = (double)(t.parts - 1) * (double)m * (double)n * sizeof(float);
    CHECK(bytes <= 200.0 * 1024.0, "%g bytes beside C", bytes);
    /* Tiny products are one piece, as long as that is no longer than a tile may be. */
    if (m <= 512 && n <= 512 && (double)m * (double)n * (double)k < 2.0 * 65536.0)
        CHECK(t.down * t.across * t.parts == 1, "%jd pieces",
              (intmax_t)(t.down * t.across * t.parts));
    const duo_tiles one = duo_sgemm_one_tile(m, n, k);
    CHECK(one.rows == m && one.columns == n && one.steps == k && one.down == 1 && one.across == 1 &&
              one.parts == 1,
          "one tile");
}

static void tiles_cover(void)
{
    static const int64_t sizes[] = {1,
                                    2,
                                    3,
                                    4,
                                    15,
                                    16,
                                    17,
                                    31,
                                    32,
                                    33,
                                    63,
                                    64,
                                    65,
                                    100,
                                    127,
                                    128,
                                    129,
                                    511,
                                    512,
                                    513,
                                    1000,
                                    1023,
                                    1024,
                                    1025,
                                    2047,
                                    4096,
                                    10007,
                                    65536,
                                    1000003,
                                    INT64_C(1) << 31,
                                    INT64_C(1) << 40};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    for (int i = 0; i < SIZES; i++)
        for (int j = 0; j < SIZES; j++)
            for (int p = 0; p < SIZES; p++) check_tiles(sizes[i], sizes[j], sizes[p]);
    const int64_t largest = INT64_C(1) << 61; /* floats in all the memory that can be addressed */
    check_tiles(largest, 1, 1);
    check_tiles(1, largest, 1);
    check_tiles(1, 1, largest);
    test_rng rng = test_rng_for("tiles");
    for (int i = 0; i < 20000; i++) {
        int64_t size[3];
        for (int d = 0; d < 3; d++)
            size[d] = test_between(&rng, 1, INT64_C(1) << test_between(&rng, 0, 20));
        check_tiles(size[0], size[1], size[2]);
    }
}

/* Large products are cut into enough tiles for many threads; small ones with a long k into parts of
 * k. */
static void work_for_many(void)
{
    static const int64_t shapes[][3] = {{1000, 1000, 1000}, {4096, 16, 4096}, {16, 4096, 4096},
                                        {64, 64, 65536},    {8, 8, 100000},   {1, 1, 1000000}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t *const s = shapes[i];
        test_case("tiles/work for many/%jdx%jdx%jd", (intmax_t)s[0], (intmax_t)s[1],
                  (intmax_t)s[2]);
        const duo_tiles t = duo_sgemm_tiles(s[0], s[1], s[2]);
        CHECK(t.down * t.across * t.parts >= 12, "%jd pieces",
              (intmax_t)(t.down * t.across * t.parts));
    }
}

/* ---- The same bits ---- */

typedef struct shape {
    int64_t m, n, k;
} shape;

static shape random_shape(test_rng *rng, int kind)
{
    const int64_t thin = test_between(rng, 1, 5);
    switch (kind) {
    case 0: /* parts of k */
        return (shape){test_between(rng, 1, 70), test_between(rng, 1, 70),
                       test_between(rng, 1024, 9000)};
    case 1:
        return (shape){thin, test_between(rng, 500, 3000), test_between(rng, 1, 400)};
    case 2:
        return (shape){test_between(rng, 500, 3000), thin, test_between(rng, 1, 400)};
    case 3:
        return (shape){test_between(rng, 200, 600), test_between(rng, 200, 600), thin};
    case 4: /* tiles that few threads put together */
        return (shape){test_between(rng, 150, 700), test_between(rng, 150, 700),
                       test_between(rng, 300, 900)};
    default:
        return (shape){test_between(rng, 1, 330), test_between(rng, 1, 330),
                       test_between(rng, 1, 330)};
    }
}

static void check_bits(const duo_algorithm *algorithm, test_rng *rng, int kind)
{
    static const int threads[] = {2, 3, 5, 16};
    static const float scalars[] = {0.0f, 1.0f, -1.0f, 0.37f};
    const shape s = random_shape(rng, kind);
    const bool transa = test_between(rng, 0, 1) != 0, transb = test_between(rng, 0, 1) != 0;
    const float alpha = scalars[test_between(rng, kind == 0, 3)],
                beta = scalars[test_between(rng, 0, 3)];
    const int64_t rows_a = transa ? s.k : s.m, rows_b = transb ? s.n : s.k;
    test_array a = test_array_new(rows_a, s.m + s.k - rows_a, rows_a + test_between(rng, 1, 9), 1),
               b = test_array_new(rows_b, s.n + s.k - rows_b, rows_b + test_between(rng, 1, 9), 3),
               c = test_array_new(s.m, s.n, s.m + test_between(rng, 0, 9), 5);
    test_array_fill(&a, rng, DATA_NORMAL);
    test_array_fill(&b, rng, DATA_NORMAL);
    if (beta != 0.0f) test_array_fill(&c, rng, DATA_NORMAL);
    test_array first = test_array_copy(&c);
    test_case("bits/%s/%c%c/%jdx%jdx%jd/a=%g,b=%g", algorithm->name, transa ? 't' : 'n',
              transb ? 't' : 'n', (intmax_t)s.m, (intmax_t)s.n, (intmax_t)s.k, (double)alpha,
              (double)beta);
    duo_call call = test_sgemm_call(transa, transb, s.m, s.n, s.k, alpha, a.data, a.ld, b.data,
                                    b.ld, beta, first.data, first.ld);
    CHECK(algorithm->run(&call) == DUO_OK, "one thread");
    bool finite = true;
    for (int64_t j = 0; j < s.n; j++)
        for (int64_t i = 0; i < s.m; i++) finite = isfinite(first.data[i + j * first.ld]) && finite;
    CHECK(finite && test_array_intact(&first), "NaN in C, or its gaps are written");
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        test_array next = test_array_copy(&c);
        call.operand[DUO_C].address = next.data;
        call.threads = threads[i];
        CHECK(algorithm->run(&call) == DUO_OK && test_array_equal(&first, &next) &&
                  test_array_intact(&next),
              "other bits on %d threads", threads[i]);
        test_array_free(&next);
    }
    CHECK(test_array_intact(&a) && test_array_intact(&b), "A or B is written");
    test_array_free(&a);
    test_array_free(&b);
    test_array_free(&c);
    test_array_free(&first);
}

static void same_bits(void)
{
    test_rng rng = test_rng_for("bits of tiles");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    const int products = test_amount(24, 100, 100);
    for (int r = 0; r < count; r++)
        for (int i = 0; i < products; i++) check_bits(algorithms[r], &rng, i % 6);
}

/* Threads that do a few tiles at once must not write the same cache lines of C. */
static void few_tiles_lie_side_by_side(void)
{
    static const int64_t shapes[][3] = {
        {475, 154, 2}, {63, 55, 51}, {371, 133, 4}, {214, 113, 6}, {330, 142, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t *const s = shapes[i];
        test_case("side-by-side/%lldx%lldx%lld", (long long)s[0], (long long)s[1], (long long)s[2]);
        const duo_tiles t = duo_sgemm_tiles(s[0], s[1], s[2]);
        CHECK(t.down == 1 && t.across > 1, "%lld down, %lld across", (long long)t.down,
              (long long)t.across);
    }
}

static const test_entry tests[] = {
    {"tiles_cover", tiles_cover},
    {"work_for_many", work_for_many},
    {"same_bits", same_bits},
    {"few_tiles_lie_side_by_side", few_tiles_lie_side_by_side},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "sgemm_tiles", tests); }
