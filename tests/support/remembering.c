/* remembering.c - products with factors that come again (remembering.h). */
#define _GNU_SOURCE
#include "support/remembering.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "data/remembered.h"
#include "sim/sim.h"
#include "support/harness.h"

void remembering_fill(float *x, int64_t count, test_rng *seed)
{
    for (int64_t i = 0; i < count; i++) x[i] = (float)((int)(test_random(seed) % 9) - 4);
}

float *remembering_map(size_t bytes)
{
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

duo_context *remembering_by(duo_remember how)
{
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_remember(ctx, how));
    return ctx;
}

duo_context *remembering(void) { return remembering_by(DUO_REMEMBER_BYTES); }

/* The oracle reads the test's arrays between calls. Sanitizers would take most of a test's time for
 * these reads. */
#define UNSANITIZED __attribute__((no_sanitize("thread", "address", "undefined")))

UNSANITIZED static float element(const float *x, int64_t ld, bool turned, int64_t i, int64_t j)
{
    return turned ? x[i * ld + j] : x[i + j * ld];
}

UNSANITIZED static int64_t count_wrong(const product *p, const float *c, int64_t ldc)
{
    int64_t wrong = 0;
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            double sum = 0.0;
            for (int64_t l = 0; l < p->k; l++)
                sum += (double)element(p->a, p->lda, p->transa, i, l) *
                       (double)element(p->b, p->ldb, p->transb, l, j);
            wrong += !((double)c[i + j * ldc] == sum);
        }
    return wrong;
}

int64_t remembering_multiply(duo_context *ctx, const product *p, float *c, int64_t ldc)
{
    for (int64_t i = 0; i < ldc * p->n; i++) c[i] = -1e30f;
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, p->transa ? DUO_TRANS : DUO_NO_TRANS,
                                   p->transb ? DUO_TRANS : DUO_NO_TRANS, p->m, p->n, p->k, 1.0f,
                                   p->a, p->lda, p->b, p->ldb, 0.0f, c, ldc));
    return count_wrong(p, c, ldc);
}

duo_residence remembering_residence(duo_context *ctx, int operand)
{
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    return d.residence[operand];
}

arrays remembering_arrays(void)
{
    arrays w = {.a_bytes = sizeof(float) * M * K, .seed = test_rng_for("remembered")};
    w.a = remembering_map(w.a_bytes + PAGE);
    w.b = remembering_map(sizeof(float) * K * M);
    w.c = remembering_map(sizeof(float) * M * M);
    remembering_fill(w.a, M * K, &w.seed);
    remembering_fill(w.b, K * M, &w.seed);
    return w;
}

void remembering_free(const arrays *w)
{
    duo_remembered_forget(0, UINTPTR_MAX);
    munmap(w->a, w->a_bytes + PAGE);
    munmap(w->b, sizeof(float) * K * M);
    munmap(w->c, sizeof(float) * M * M);
}

product remembering_whole(const arrays *w)
{
    return (product){false, false, M, N, K, w->a, M, w->b, K};
}

uint64_t remembering_sent(duo_context *ctx, const arrays *w, duo_residence expected)
{
    const product p = remembering_whole(w);
    const uint64_t before = test_on_sim() ? sim_uploaded_bytes() : 0;
    const int64_t wrong = remembering_multiply(ctx, &p, w->c, M);
    CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
    CHECK(remembering_residence(ctx, 0) == expected, "A was at %d",
          (int)remembering_residence(ctx, 0));
    return test_on_sim() ? sim_uploaded_bytes() - before : 0;
}

const uint64_t remembering_other = sizeof(float) * N * K + 3 * PAGE; /* B, the key */
