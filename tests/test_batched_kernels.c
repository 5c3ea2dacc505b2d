/*
 * test_batched_tiles.c - batches so large that a GPU is full. There the choice of tiles takes
 * another tile for each edge, and every product gets the bits that it has in a small batch. The
 * test does not see which tile was chosen.
 *
 * All products have one A and one B, so that one is enough to be checked by the oracle.
 */
#include <stdlib.h>
#include <string.h>

#include "support/data.h"
#include "support/harness.h"
#include "support/oracle.h"

enum { OPERANDS = 3, FEW = 2 };

static const struct {
    int edge, many;
} sizes[] = {{8, 20000}, {16, 10000}, {32, 4000}, {64, 2000}, {128, 400}};

typedef struct batch {
    duo_context *ctx;
    duo_transpose transa, transb;
    int64_t m, n, k, lda, ldb, ldc, many;
    float alpha, beta;
    int64_t floats[OPERANDS];
    float *host[OPERANDS], *device[OPERANDS];
} batch;

static void *must(void *p)
{
    if (p == NULL) abort();
    return p;
}

static size_t bytes_of(const batch *b, int i) { return (size_t)b->floats[i] * sizeof(float); }

static batch new_batch(duo_context *ctx, test_rng *rng, int edge, int64_t many)
{
    batch b = {.ctx = ctx,
               .transa = test_random(rng) % 2 ? DUO_TRANS : DUO_NO_TRANS,
               .transb = test_random(rng) % 2 ? DUO_TRANS : DUO_NO_TRANS,
               .m = edge - test_between(rng, 0, edge / 8),
               .n = edge - test_between(rng, 0, edge / 8),
               .k = test_between(rng, 1, 2 * edge),
               .alpha = (float)(2.0 * test_unit(rng) - 1.0),
               .beta = test_random(rng) % 2 ? 0.0f : (float)test_unit(rng),
               .many = many};
    const int64_t gap = test_random(rng) % 2 ? 0 : test_between(rng, 1, 4);
    const bool ta = b.transa != DUO_NO_TRANS, tb = b.transb != DUO_NO_TRANS;
    b.lda = (ta ? b.k : b.m) + gap;
    b.ldb = (tb ? b.n : b.k) + gap;
    b.ldc = b.m + gap;
    b.floats[0] = b.lda * (ta ? b.m : b.k);
    b.floats[1] = b.ldb * (tb ? b.k : b.n);
    b.floats[2] = b.ldc * b.n * many;
    for (int i = 0; i < OPERANDS; i++) {
        void *device = NULL;
        b.host[i] = must(malloc(bytes_of(&b, i)));
        test_fill(rng, DATA_SIGNED, b.host[i], b.floats[i]);
        CHECK_STATUS(DUO_OK, duo_malloc(ctx, bytes_of(&b, i), &device));
        b.device[i] = device;
    }
    for (int64_t p = 1; p < many; p++) /* one C for all, too */
        memcpy(b.host[2] + p * b.ldc * b.n, b.host[2], (size_t)(b.ldc * b.n) * sizeof(float));
    return b;
}

/* The first `count` products; C to `c`. */
static void multiply(const batch *b, int64_t count, float *c)
{
    for (int i = 0; i < OPERANDS; i++)
        CHECK_STATUS(DUO_OK, duo_copy(b->ctx, b->device[i], b->host[i], bytes_of(b, i)));
    CHECK_STATUS(DUO_OK, duo_sgemm_strided_batched(b->ctx, DUO_COL_MAJOR, b->transa, b->transb,
                                                   b->m, b->n, b->k, b->alpha, b->device[0], b->lda,
                                                   0, b->device[1], b->ldb, 0, b->beta,
                                                   b->device[2], b->ldc, b->ldc * b->n, count));
    CHECK_STATUS(DUO_OK, duo_copy(b->ctx, c, b->device[2], bytes_of(b, 2)));
    CHECK_STATUS(DUO_OK, duo_synchronize(b->ctx));
}

static void check_product(const batch *b, const float *got)
{
    const oracle_product product = {.layout = DUO_COL_MAJOR,
                                    .transa = b->transa,
                                    .transb = b->transb,
                                    .m = b->m,
                                    .n = b->n,
                                    .k = b->k,
                                    .alpha = b->alpha,
                                    .beta = b->beta,
                                    .a = b->host[0],
                                    .lda = b->lda,
                                    .b = b->host[1],
                                    .ldb = b->ldb,
                                    .c = b->host[2],
                                    .ldc = b->ldc};
    double *const want = must(calloc((size_t)(b->m * b->n), sizeof *want));
    double *const bound = must(calloc((size_t)(b->m * b->n), sizeof *bound));
    bool close = true;
    oracle_sgemm(&product, want, bound);
    for (int64_t i = 0; i < b->m; i++)
        for (int64_t j = 0; j < b->n; j++)
            close &= oracle_close(want[i * b->n + j], bound[i * b->n + j], got[i + j * b->ldc]);
    CHECK(close, "the first product is wrong");
    free(want);
    free(bound);
}

/* Gaps between columns included: these stay as they were. */
static int64_t others(const batch *b, const float *c, const float *first, int64_t count)
{
    const int64_t floats = b->ldc * b->n;
    int64_t different = 0;
    for (int64_t p = 0; p < count; p++)
        different += memcmp(c + p * floats, first, (size_t)floats * sizeof(float)) != 0;
    return different;
}

static void one_batch(test_rng *rng, int edge, int64_t many)
{
    duo_context *const ctx = test_context();
    batch b = new_batch(ctx, rng, edge, many);
    test_case("%jdx%jdx%jd/%s%s/ld %jd/b=%g x %jd", (intmax_t)b.m, (intmax_t)b.n, (intmax_t)b.k,
              b.transa == DUO_NO_TRANS ? "n" : "t", b.transb == DUO_NO_TRANS ? "n" : "t",
              (intmax_t)b.ldc, (double)b.beta, (intmax_t)many);
    float *const few = must(malloc(bytes_of(&b, 2))), *const all = must(malloc(bytes_of(&b, 2)));
    multiply(&b, FEW, few);
    multiply(&b, many, all);
    check_product(&b, few);
    CHECK(others(&b, all, few, many) == 0, "%jd of %jd products have other bits",
          (intmax_t)others(&b, all, few, many), (intmax_t)many);
    CHECK(others(&b, few + FEW * b.ldc * b.n, b.host[2], many - FEW) == 0,
          "a small batch wrote behind its end");
    free(few);
    free(all);
    for (int i = 0; i < OPERANDS; i++) {
        CHECK_STATUS(DUO_OK, duo_free(ctx, b.device[i]));
        free(b.host[i]);
    }
    test_context_end(ctx);
}

static void every_tile(void)
{
    test_rng rng = test_rng_for("tiles");
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int round = 0; round < 6; round++) one_batch(&rng, sizes[s].edge, sizes[s].many);
}

static const test_entry tests[] = {{"every_tile", every_tile}, {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "batched_tiles", tests); }
