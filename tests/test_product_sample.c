/*
 * test_product_sample.c - the sample by which large products are judged: it accepts right ones, in
 * every layout, and finds errors.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/reference/product_error.h"
#include "bench/reference/random.h"
#include "support/harness.h"

enum { M = 1100, N = 70, K = 33, GAP = 3, LINES = 2 };

typedef struct product {
    float *a, *b, *c;
    duo_call call;
} product;

static float *fill(int64_t floats, uint64_t seed)
{
    float *const x = malloc((size_t)floats * sizeof *x);
    for (int64_t i = 0; i < floats; i++) x[i] = duo_random_signed(&seed);
    return x;
}

/* C of the whole product, each entry rounded once from float64. */
static void multiply(const product *p)
{
    const duo_operand *const o = p->call.operand;
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            double sum = 0.0;
            for (int64_t l = 0; l < K; l++)
                sum += (double)p->a[p->call.transa ? l + i * o[DUO_A].ld : i + l * o[DUO_A].ld] *
                       (double)p->b[p->call.transb ? j + l * o[DUO_B].ld : l + j * o[DUO_B].ld];
            p->c[i + j * o[DUO_C].ld] = (float)sum;
        }
}

static product make(bool transa, bool transb)
{
    const int64_t lda = (transa ? K : M) + GAP, ldb = (transb ? N : K) + GAP, ldc = M + GAP;
    product p = {.a = fill(lda * (transa ? M : K), 1),
                 .b = fill(ldb * (transb ? K : N), 2),
                 .c = fill(ldc * N, 3)};
    p.call = (duo_call){
        .operation = DUO_SGEMM, .m = M, .n = N, .k = K, .transa = transa, .transb = transb};
    p.call.operand[DUO_A] = (duo_operand){.address = p.a, .ld = lda};
    p.call.operand[DUO_B] = (duo_operand){.address = p.b, .ld = ldb};
    p.call.operand[DUO_C] = (duo_operand){.address = p.c, .ld = ldc};
    return p;
}

static void drop(product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
}

static void layouts(void)
{
    for (int layout = 0; layout < 4; layout++) {
        product p = make(layout / 2 == 1, layout % 2 == 1);
        duo_product_sample sample;
        test_case("product_sample/layout-%d", layout);
        if (CHECK(duo_product_sample_open(&sample, &p.call, LINES, 7), "out of memory")) {
            duo_product_sample_spoil(&sample);
            duo_sample_error error = duo_product_sample_error(&sample);
            CHECK(!error.right && isinf(error.largest), "spoilt, and yet right");
            multiply(&p);
            error = duo_product_sample_error(&sample);
            CHECK(error.right && error.largest <= 1.0, "right, and yet %g", error.largest);
            duo_product_sample_close(&sample);
        }
        drop(&p);
    }
}

/* Wrong by a little, in one place. */
static bool finds(product *p, const duo_product_sample *sample, int64_t i, int64_t j, float by)
{
    float *const entry = &p->c[i + j * p->call.operand[DUO_C].ld];
    const float was = *entry;
    *entry += by;
    const bool found = !duo_product_sample_error(sample).right;
    *entry = was;
    return found;
}

static void mistakes(void)
{
    product p = make(false, false);
    duo_product_sample sample;
    test_case("product_sample/mistakes");
    multiply(&p);
    if (CHECK(duo_product_sample_open(&sample, &p.call, LINES, 8), "out of memory")) {
        for (int64_t i = 0; i < M; i += 11)
            CHECK(finds(&p, &sample, i, sample.column[0], 1e-3f), "row %d of a column", (int)i);
        for (int64_t j = 0; j < N; j++)
            CHECK(finds(&p, &sample, sample.row[LINES - 1], j, NAN), "column %d of a row", (int)j);
        for (int e = 0; e < DUO_SAMPLE_PARTS * DUO_SAMPLE_PARTS; e++) {
            const int64_t i = sample.entry[e][0], j = sample.entry[e][1];
            CHECK(i * DUO_SAMPLE_PARTS / M == e / DUO_SAMPLE_PARTS ||
                      (i + 1) * DUO_SAMPLE_PARTS / M == e / DUO_SAMPLE_PARTS,
                  "entry %d is in another part", e);
            CHECK(finds(&p, &sample, i, j, 1e-3f), "entry %d", e);
        }
        CHECK(duo_product_sample_error(&sample).right, "all is right again");
        duo_product_sample_close(&sample);
    }
    drop(&p);
}

static const test_entry tests[] = {
    {"layouts", layouts},
    {"mistakes", mistakes},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "product_sample", tests); }
