/*
 * test_sgemm_beyond_32_bits.c - products of matrices with columns so far apart that indices of
 * elements, or offsets in bytes, do not fit 32 bits: every algorithm, and duo_sgemm.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "support/calls.h"
#include "support/harness.h"
#include "support/oracle.h"
#include "support/run_algorithm.h"

typedef struct vast {
    float *data;
    size_t bytes;
} vast;

static vast vast_new(int64_t runs, int64_t ld)
{
    vast v = {.bytes = (size_t)(runs * ld) * sizeof(float)};
    v.data = mmap(NULL, v.bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (v.data == MAP_FAILED) v.data = NULL;
    return v;
}

static void vast_free(vast *v)
{
    if (v->data != NULL) munmap(v->data, v->bytes);
}

typedef struct vast_problem {
    int64_t m, n, k, ld; /* ld: of all three */
    bool transa, transb;
} vast_problem;

static int call_vast(const duo_algorithm *algorithm, const vast_problem *p, const vast x[3])
{
    if (algorithm != NULL) {
        const duo_call call =
            test_sgemm_call(p->transa, p->transb, p->m, p->n, p->k, 2.0f, x[0].data, p->ld,
                            x[1].data, p->ld, -1.0f, x[2].data, p->ld);
        return test_algorithm_accepts(algorithm, &call)
                   ? test_run_algorithm(algorithm, &call, 0, false)
                   : DUO_DECLINED;
    }
    duo_context *ctx = test_context();
    const int status = duo_sgemm(ctx, DUO_COL_MAJOR, p->transa ? DUO_TRANS : DUO_NO_TRANS,
                                 p->transb ? DUO_TRANS : DUO_NO_TRANS, p->m, p->n, p->k, 2.0f,
                                 x[0].data, p->ld, x[1].data, p->ld, -1.0f, x[2].data, p->ld);
    test_context_end(ctx);
    return status;
}

/* Small integers in matrices with columns far apart; by one algorithm, or through the public
 * function if algorithm is NULL. */
static void run_vast(const duo_algorithm *algorithm, const vast_problem *p)
{
    enum { LARGEST = 32 };
    const int64_t rows[3] = {p->transa ? p->k : p->m, p->transb ? p->n : p->k, p->m};
    const int64_t columns[3] = {p->transa ? p->m : p->k, p->transb ? p->k : p->n, p->n};
    test_case("sgemm beyond 32 bits/%s/%c%c/%jdx%jdx%jd/ld=%jd",
              algorithm == NULL ? "public" : algorithm->name, p->transa ? 't' : 'n',
              p->transb ? 't' : 'n', (intmax_t)p->m, (intmax_t)p->n, (intmax_t)p->k,
              (intmax_t)p->ld);
    vast x[3];
    bool room = true;
    for (int i = 0; i < 3; i++) {
        x[i] = vast_new(columns[i], p->ld);
        room = room && x[i].data != NULL;
    }
    if (!room) {
        test_skip("no address space for matrices beyond 2^31 elements");
    } else {
        for (int i = 0; i < 3; i++)
            for (int64_t c = 0; c < columns[i]; c++)
                for (int64_t r = 0; r < rows[i]; r++)
                    x[i].data[r + c * p->ld] = (float)((i + 1) * r % 5 - c % 7 + i);
        double want[LARGEST * LARGEST], bound[LARGEST * LARGEST];
        const oracle_product q = {.layout = DUO_COL_MAJOR,
                                  .transa = p->transa ? DUO_TRANS : DUO_NO_TRANS,
                                  .transb = p->transb ? DUO_TRANS : DUO_NO_TRANS,
                                  .m = p->m,
                                  .n = p->n,
                                  .k = p->k,
                                  .alpha = 2.0f,
                                  .a = x[0].data,
                                  .lda = p->ld,
                                  .b = x[1].data,
                                  .ldb = p->ld,
                                  .beta = -1.0f,
                                  .c = x[2].data,
                                  .ldc = p->ld};
        oracle_sgemm(&q, want, bound);
        const int status = call_vast(algorithm, p, x);
        bool right = true;
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++)
                right = right && oracle_close(want[i * p->n + j], 0.0, x[2].data[i + j * p->ld]);
        if (status != DUO_DECLINED) CHECK(status == DUO_OK && right, "status %d", status);
        CHECK(status != DUO_DECLINED ||
                  (algorithm != NULL && strstr(algorithm->name, "plain") == NULL),
              "the last algorithm declined");
    }
    for (int i = 0; i < 3; i++) vast_free(&x[i]);
}

static void beyond_32_bits(void)
{
    static const vast_problem problems[] = {
        {.m = 20, .n = 18, .k = 19, .ld = INT32_MAX / 16}, /* the most that an inner BLAS gets */
        {.m = 5, .n = 3, .k = 4, .ld = ((int64_t)1 << 30) + 7},
        {.m = 5, .n = 3, .k = 4, .ld = ((int64_t)1 << 31) + 11},
    };
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int i = 0; i < 3; i++) {
        for (int t = 0; t < 4; t++) {
            vast_problem p = problems[i];
            p.transa = t % 2 != 0;
            p.transb = t / 2 != 0;
            for (int r = 0; r < count; r++) run_vast(algorithms[r], &p);
            run_vast(NULL, &p);
        }
    }
}

static const test_entry tests[] = {{"beyond_32_bits", beyond_32_bits}, {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "sgemm_beyond_32_bits", tests); }
