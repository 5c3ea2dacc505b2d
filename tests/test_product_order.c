/*
 * test_product_order.c - products on the CPU have the documented order of summation, in float32 and
 * in float64: the same bits by every clone, on any number of threads, for any storage of A and B,
 * leading dimension, alignment, alpha and beta, with operands packed before or not, as a whole or
 * in parts, as a plain loop over k in that order.
 */
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "call.h"
#include "cpu/ffma.h"
#include "cpu/kernels.h"
#include "support/arrays.h"
#include "support/calls.h"
#include "support/harness.h"
#include "support/product_order.h"

typedef struct shape {
    int64_t m, n, k;
} shape;

/* Shapes for every path through ffma_body.h, by kind. */
static shape random_shape(test_rng *rng, int kind)
{
    const int64_t few = test_between(rng, 1, 9), small = test_between(rng, 1, 50);
    const int64_t usual = test_between(rng, 1, 150), long_k = test_between(rng, 1, 3000);
    switch (kind) {
    case 0:
        return (shape){small, test_between(rng, 1, 50), test_between(rng, 1, 64)};
    case 1: /* several segments of k */
        return (shape){usual, test_between(rng, 1, 90), long_k};
    case 2: /* few columns, few rows */
        return (shape){usual * 3, few, long_k / 3 + 1};
    case 3:
        return (shape){few, usual * 3, long_k / 3 + 1};
    case 4: /* vectors */
        return (shape){usual * 3, 1, long_k};
    case 5:
        return (shape){1, usual * 3, long_k};
    case 6: /* few elements */
        return (shape){test_between(rng, 1, 4), test_between(rng, 1, 4), 8 * long_k};
    case 7: /* few steps of k */
        return (shape){usual * 4, small, few};
    case 8: /* panels of B */
        return (shape){usual + 150, usual * 2 + 256, test_between(rng, 64, 1200)};
    case 9: /* few tiles: segments of k are shared out */
        return (shape){test_between(rng, 9, 32), test_between(rng, 9, 24),
                       test_between(rng, 513, 3000)};
    case 10: /* few elements for several threads, the last part of k short */
        return (shape){4, test_between(rng, 3, 4),
                       512 * test_between(rng, 32, 48) + test_between(rng, 1, 63)};
    default:
        return (shape){usual, test_between(rng, 1, 150), test_between(rng, 1, 300)};
    }
}
enum { KINDS = 12 };

/* C before and after, with sums in float32 or in float64. */
typedef struct result {
    float beta;
    test_array c, expected;
} result;

typedef struct problem {
    shape s;
    bool transa, transb;
    float alpha;
    test_array a, b;
    result result[2]; /* in float32, in float64 */
} problem;

static float element(const problem *p, bool float64, float beta, float c, int64_t i, int64_t j)
{
    return product_order(float64, p->transa, p->transb, p->s.m, p->s.n, p->s.k, p->alpha, p->a.data,
                         p->a.ld, p->b.data, p->b.ld, beta, c, i, j);
}

/*
 * Fills in the results from A, B and the C of float32. A float shows little of a sum in float64. So
 * if beta is not 0, what the product rounds to is subtracted there: the sum's last bits stay.
 */
static void expect(problem *p)
{
    result *const single = &p->result[0], *const wide = &p->result[1];
    *wide = (result){.beta = single->beta == 0.0f ? 0.0f : -1.0f, .c = test_array_copy(&single->c)};
    for (int float64 = 0; float64 < 2; float64++) {
        result *const r = &p->result[float64];
        for (int64_t j = 0; j < p->s.n && float64 && r->beta != 0.0f; j++)
            for (int64_t i = 0; i < p->s.m; i++)
                r->c.data[i + j * r->c.ld] = element(p, float64 != 0, 0.0f, 0.0f, i, j);
        r->expected = test_array_copy(&r->c);
        for (int64_t j = 0; j < p->s.n; j++)
            for (int64_t i = 0; i < p->s.m; i++) {
                float *const c = &r->expected.data[i + j * r->c.ld];
                *c = element(p, float64 != 0, r->beta, *c, i, j);
            }
    }
}

/* Negative products that are below all numbers: sums in float32 are -0, if nothing is added. */
static void make_tiny(problem *p)
{
    test_array_set(&p->a, 1e-30f);
    test_array_set(&p->b, -1e-30f);
}

/* Products and sums are subnormal, or near. */
static void make_subnormal(problem *p)
{
    test_array_scale(&p->a, 0x1p-66f);
    test_array_scale(&p->b, 0x1p-66f);
}

/* Infs, NaNs of any kind, sums that overflow. */
static void spoil(problem *p, test_rng *rng)
{
    result *const r = &p->result[0];
    if (test_between(rng, 0, 1) == 0) test_array_spoil(&p->a, rng);
    if (test_between(rng, 0, 1) == 0) test_array_spoil(&p->b, rng);
    if (r->beta != 0.0f) test_array_spoil(&r->c, rng);
    if (test_between(rng, 0, 7) == 0) p->alpha = test_hostile(rng);
    if (test_between(rng, 0, 7) == 0) r->beta = test_hostile(rng);
}

static problem random_problem(test_rng *rng, int kind)
{
    static const float alphas[] = {1.0f, -1.7f, 0.3f}, betas[] = {0.0f, 1.0f, -0.6f};
    problem p = {.s = random_shape(rng, kind),
                 .transa = test_between(rng, 0, 1) != 0,
                 .transb = test_between(rng, 0, 1) != 0,
                 .alpha = alphas[test_between(rng, 0, 2)]};
    result *const r = &p.result[0];
    r->beta = betas[test_between(rng, 0, 2)];
    /* Now and then a leading dimension that puts all columns into one set of the cache. */
    const int64_t extra = test_between(rng, 0, 7) == 0 ? 4096 : test_between(rng, 0, 9);
    p.a = test_array_matrix(false, p.transa, p.s.m, p.s.k, extra, test_between(rng, 0, 15));
    p.b = test_array_matrix(false, p.transb, p.s.k, p.s.n, extra, test_between(rng, 0, 15));
    r->c = test_array_matrix(false, false, p.s.m, p.s.n, test_between(rng, 0, 9),
                             test_between(rng, 0, 15));
    test_array_fill(&p.a, rng, DATA_NORMAL);
    test_array_fill(&p.b, rng, DATA_NORMAL);
    const int64_t magnitude = test_between(rng, 0, 7);
    if (magnitude == 0) make_tiny(&p);
    if (magnitude == 1) make_subnormal(&p);
    if (r->beta != 0.0f) test_array_fill(&r->c, rng, DATA_NORMAL);
    if (test_between(rng, 0, 3) == 0) spoil(&p, rng);
    expect(&p);
    return p;
}

static void end_problem(problem *p)
{
    test_array_free(&p->a);
    test_array_free(&p->b);
    for (int float64 = 0; float64 < 2; float64++) {
        test_array_free(&p->result[float64].c);
        test_array_free(&p->result[float64].expected);
    }
}

static int comparisons, packed_operands;

/* Packs A (1), B (2) or both (3) of the call, if it has a form, as duo_prepare has it done. */
static void pack_operands(duo_algorithm_id algorithm, duo_call *call, int which,
                          test_array packed[2])
{
    for (int i = DUO_A; i <= DUO_B; i++) {
        const size_t bytes = duo_ffma_packed_form(algorithm, call, i).bytes;
        packed[i] = (test_array){0};
        if ((which >> i & 1) == 0 || bytes == 0) continue;
        packed[i] = test_array_new((int64_t)(bytes / sizeof(float)), 1, 1, 0);
        duo_ffma_pack(algorithm, call, i, packed[i].data);
        call->operand[i].packed = packed[i].data;
        packed_operands++;
    }
}

static void end_packed(test_array packed[2])
{
    for (int i = DUO_A; i <= DUO_B; i++) {
        if (packed[i].block == NULL) continue;
        CHECK(test_array_intact(&packed[i]), "packing wrote beyond its memory");
        test_array_free(&packed[i]);
    }
}

static void check(const problem *p, bool float64, int threads, int which)
{
    const result *const r = &p->result[float64];
    test_array c = test_array_copy(&r->c), packed[2];
    duo_call call = test_sgemm_call(p->transa, p->transb, p->s.m, p->s.n, p->s.k, p->alpha,
                                    p->a.data, p->a.ld, p->b.data, p->b.ld, r->beta, c.data, c.ld);
    call.threads = threads;
    pack_operands(float64 ? DUO_sgemm_cpu_float64 : DUO_sgemm_cpu_ffma, &call, which, packed);
    CHECK((float64 ? duo_sgemm_cpu_float64 : duo_sgemm_cpu_ffma)(&call) == DUO_OK, "declined");
    CHECK(test_array_equal(&c, &r->expected), "other bits in float%d on %d threads, %d packed",
          float64 ? 64 : 32, threads, which);
    CHECK(test_array_intact(&c), "gaps of C are written");
    test_array_free(&c);
    end_packed(packed);
    comparisons++;
}

/* Column by column, as parts of the product. A part has the order of the whole product. */
static void check_parts(const problem *p, bool float64)
{
    const result *const r = &p->result[float64];
    test_array c = test_array_copy(&r->c);
    const duo_call whole =
        test_sgemm_call(p->transa, p->transb, p->s.m, p->s.n, p->s.k, p->alpha, p->a.data, p->a.ld,
                        p->b.data, p->b.ld, r->beta, c.data, c.ld);
    for (int64_t j = 0; j < p->s.n; j++) {
        duo_call part = duo_call_part(&whole, p->s.m, 1, p->s.k);
        part.operand[DUO_B].address += p->transb ? j : j * p->b.ld;
        part.operand[DUO_C].address += j * c.ld;
        CHECK((float64 ? duo_sgemm_cpu_float64 : duo_sgemm_cpu_ffma)(&part) == DUO_OK, "declined");
    }
    CHECK(test_array_equal(&c, &r->expected), "other bits in columns in float%d",
          float64 ? 64 : 32);
    CHECK(test_array_intact(&c), "gaps of C are written by columns");
    test_array_free(&c);
    comparisons++;
}

/* As products of a batch in float32: more of them than are handed to a clone at once, if they are
 * small. All share A and B, which may be packed. */
static void check_batch(const problem *p, int which)
{
    enum { MANY = 35 };
    const result *const r = &p->result[0];
    const int count = p->s.m * p->s.n <= 1000 ? MANY : 2;
    float *a[MANY], *b[MANY], *address[MANY];
    test_array c[MANY], packed[2];
    for (int i = 0; i < count; i++) {
        c[i] = test_array_copy(&r->c);
        a[i] = p->a.data;
        b[i] = p->b.data;
        address[i] = c[i].data;
    }
    duo_batch batch = {.count = count, .pointer = {a, b, address}};
    duo_call call = test_sgemm_call(p->transa, p->transb, p->s.m, p->s.n, p->s.k, p->alpha,
                                    p->a.data, p->a.ld, p->b.data, p->b.ld, r->beta, NULL, r->c.ld);
    call.batch = &batch;
    pack_operands(DUO_sgemm_cpu_ffma, &call, which, packed);
    duo_sgemm_cpu_ffma_products(&call, 1, count - 1);
    end_packed(packed);
    CHECK(test_array_equal(&c[0], &r->c), "a product before the first was done");
    for (int i = 1; i < count; i++) {
        CHECK(test_array_equal(&c[i], &r->expected), "other bits in a batch");
        CHECK(test_array_intact(&c[i]), "gaps of C are written in a batch");
        comparisons++;
    }
    for (int i = 0; i < count; i++) test_array_free(&c[i]);
}

/* A problem with every clone. The portable one has no fused multiply-add on some processors: in
 * float32 it is slow there. */
static void check_clones(const problem *p, int kind)
{
    static const int threads[] = {1, 2, 3, 7, 16};
    for (int i = 0; duo_ffma_clone(i) != NULL; i++) {
        const duo_clone *const clone = duo_ffma_set(duo_ffma_clone(i));
        const bool slow = duo_ffma_clone(i + 1) == NULL && i > 0;
        const double work = (double)p->s.m * (double)p->s.n * (double)p->s.k;
        test_case("product_order/%d/%s/%c%c/%jdx%jdx%jd/a=%g,b=%g", kind, clone->isa,
                  p->transa ? 't' : 'n', p->transb ? 't' : 'n', (intmax_t)p->s.m, (intmax_t)p->s.n,
                  (intmax_t)p->s.k, (double)p->alpha, (double)p->result[0].beta);
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            const int which = 1 + (int)t % 3; /* packed: A, B, both */
            if (!slow || (t < 2 && work < 3e6)) check(p, false, threads[t], 0);
            if (!slow || (t < 2 && work < 3e6)) check(p, false, threads[t], which);
            check(p, true, threads[t], 0);
            check(p, true, threads[t], which);
        }
        if (!slow || work < 1e5) check_parts(p, false);
        check_parts(p, true);
        if (!slow || work < 1e5) check_batch(p, 0);
        if (!slow || work < 1e5) check_batch(p, 3);
    }
    duo_ffma_set(NULL);
}

static void clones(void)
{
    test_rng rng = test_rng_for("product_order");
    const int rounds = test_amount(3, 20, 1000);
    for (int round = 0; round < rounds; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            problem p = random_problem(&rng, kind);
            check_clones(&p, kind);
            CHECK(test_array_intact(&p.a) && test_array_intact(&p.b), "A or B is written");
            end_problem(&p);
        }
    printf("%d comparisons, %d packed operands\n", comparisons, packed_operands);
    CHECK(packed_operands > 0, "nothing was packed");
}

/* In one element: so one row or column of C has NaNs. */
static void put_nan(test_rng *rng, test_array *x)
{
    const uint32_t bits = 0xFFC12345;
    memcpy(
        &x->data[test_between(rng, 0, x->runs - 1) * x->ld + test_between(rng, 0, x->length - 1)],
        &bits, sizeof bits);
}

/* Every small shape once: edges of tiles in both directions. */
static void edges(void)
{
    test_rng rng = test_rng_for("product_order/edges");
    const int64_t most = test_amount(20, 36, 70);
    for (int64_t m = 1; m <= most; m++)
        for (int64_t n = 1; n <= 26; n++) {
            problem p = {.s = {m, n, 3 + (m + n) % 7}, .alpha = 1.0f, .transa = m % 3 == 0};
            p.a = test_array_matrix(false, p.transa, m, p.s.k, 1, 1);
            p.b = test_array_matrix(false, p.transb, p.s.k, n, 2, 3);
            p.result[0].c = test_array_matrix(false, false, m, n, 3, 5);
            test_array_fill(&p.a, &rng, DATA_NORMAL);
            test_array_fill(&p.b, &rng, DATA_NORMAL);
            put_nan(&rng, (m + n) % 2 == 0 ? &p.a : &p.b);
            expect(&p);
            check_clones(&p, -1);
            end_problem(&p);
        }
}

static const test_entry tests[] = {{"clones", clones}, {"edges", edges}, {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "product_order", tests); }
