/* problems.c - products with their operands and right results (problems.h). */
#include "support/problems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/calls.h"
#include "support/harness.h"
#include "support/run_algorithm.h"
#include "support/product_order.h"

static int64_t random_extra(test_rng *rng)
{
    return test_between(rng, 0, 3) * test_between(rng, 0, 3);
}

test_problem test_problem_random(test_rng *rng)
{
    static const float alphas[] = {1.0f, -1.0f, 0.5f, 3.0f, 0.0f};
    static const float betas[] = {0.0f, 1.0f, -2.0f, 0.25f, 0.0f};
    test_problem p = {.layout = test_between(rng, 0, 1) != 0 ? DUO_ROW_MAJOR : DUO_COL_MAJOR};
    p.transa = (duo_transpose)test_between(rng, DUO_NO_TRANS, DUO_CONJ_TRANS);
    p.transb = (duo_transpose)test_between(rng, DUO_NO_TRANS, DUO_CONJ_TRANS);
    p.alpha = alphas[test_between(rng, 0, 4)];
    p.beta = betas[test_between(rng, 0, 4)];
    p.extra_a = random_extra(rng);
    p.extra_b = random_extra(rng);
    p.extra_c = random_extra(rng);
    p.offset = test_between(rng, 0, 1) * test_between(rng, 1, 7);
    p.data = (test_data)test_between(rng, DATA_SIGNED, DATA_WIDE);
    if (p.data == DATA_WIDE && test_between(rng, 0, 1) != 0) p.data = DATA_INTEGER;
    return p;
}

static char letter(duo_transpose trans)
{
    return trans == DUO_NO_TRANS ? 'n' : trans == DUO_TRANS ? 't' : 'c';
}

void test_problem_name(const test_problem *p, const char *suite, const char *where)
{
    test_case("%s/%s/%s%c%c/%jdx%jdx%jd/ld+%jd,%jd,%jd/a=%g,b=%g/offset=%jd/%s", suite, where,
              p->layout == DUO_ROW_MAJOR ? "row-major " : "", letter(p->transa), letter(p->transb),
              (intmax_t)p->m, (intmax_t)p->n, (intmax_t)p->k, (intmax_t)p->extra_a,
              (intmax_t)p->extra_b, (intmax_t)p->extra_c, (double)p->alpha, (double)p->beta,
              (intmax_t)p->offset, p->kind != NULL ? p->kind->name : test_data_name(p->data));
}

/* ---- Operands ---- */

/* The stored matrix X for an op(X) of rows x columns. */
static test_array new_matrix(const test_problem *p, duo_transpose trans, int64_t rows,
                             int64_t columns, int64_t extra)
{
    return test_array_matrix(p->layout == DUO_ROW_MAJOR, trans != DUO_NO_TRANS, rows, columns,
                             extra, p->offset);
}

static void *new_doubles(int64_t count)
{
    void *const memory = malloc(((size_t)count + 1) * sizeof(double));
    if (memory == NULL) exit(EXIT_FAILURE);
    return memory;
}

/* Do integers stay integers, or quarters of them? */
static bool is_exact(const test_problem *p)
{
    const bool integers = p->kind != NULL ? p->kind->exact : p->data == DATA_INTEGER;
    return integers && rintf(4.0f * p->alpha) == 4.0f * p->alpha &&
           rintf(4.0f * p->beta) == 4.0f * p->beta;
}

void test_operands_expect(const test_problem *p, test_operands *o)
{
    const oracle_product q = {p->layout, p->transa, p->transb,        p->m,    p->n,
                              p->k,      p->alpha,  o->a.data,        o->a.ld, o->b.data,
                              o->b.ld,   p->beta,   o->c_before.data, o->c.ld};
    oracle_sgemm(&q, o->want, o->bound);
    oracle_tf32_bound(&q, o->bound, o->tf32_bound);
    if (p->kind == NULL) return;
    /* The header's bound leaves underflow out: half of the least subnormal for every operation. */
    const double each = ((double)p->k + 2.0) * 0x1p-149 * fmax(1.0, fabs((double)p->alpha));
    for (int64_t i = 0; i < p->m * p->n; i++) {
        o->bound[i] += each;
        o->tf32_bound[i] += each;
    }
}

test_operands test_operands_new(const test_problem *p)
{
    return (test_operands){.a = new_matrix(p, p->transa, p->m, p->k, p->extra_a),
                           .b = new_matrix(p, p->transb, p->k, p->n, p->extra_b),
                           .c = new_matrix(p, DUO_NO_TRANS, p->m, p->n, p->extra_c)};
}

test_operands test_operands_make(const test_problem *p, test_rng *rng)
{
    test_operands o = test_operands_new(p);
    const bool reads = p->alpha != 0.0f;
    if (reads && p->kind != NULL) {
        const duo_call call = test_problem_call(p, &o);
        duo_sgemm_data_fill(p->kind, test_random(rng), &call);
    } else if (reads) {
        test_array_fill(&o.a, rng, p->data);
        test_array_fill(&o.b, rng, p->data);
    }
    const test_data of_c = p->kind == NULL ? p->data : p->kind->exact ? DATA_INTEGER : DATA_NORMAL;
    if (p->beta != 0.0f) test_array_fill(&o.c, rng, of_c);
    o.c_before = test_array_copy(&o.c);
    o.want = new_doubles(p->m * p->n);
    o.bound = new_doubles(p->m * p->n);
    o.tf32_bound = new_doubles(p->m * p->n);
    test_operands_expect(p, &o);
    return o;
}

void test_operands_free(test_operands *o)
{
    test_array_free(&o->a);
    test_array_free(&o->b);
    test_array_free(&o->c);
    test_array_free(&o->c_before);
    free(o->want);
    free(o->bound);
    free(o->tf32_bound);
}

/* ---- The order of summation ---- */

test_problem test_problem_ordered(test_rng *rng, int64_t m, int64_t n, int64_t k)
{
    static const float alphas[] = {1.0f, -1.7f, 0.3f}, betas[] = {0.0f, 1.0f, -0.6f};
    test_problem p = test_problem_random(rng);
    p.m = m;
    p.n = n;
    p.k = k;
    p.alpha = alphas[test_between(rng, 0, 2)];
    p.beta = betas[test_between(rng, 0, 2)];
    p.data = DATA_NORMAL;
    return p;
}

void test_operands_make_tiny(test_operands *o)
{
    test_array_set(&o->a, 1e-30f);
    test_array_set(&o->b, -1e-30f);
}

void test_operands_make_subnormal(test_operands *o)
{
    test_array_scale(&o->a, 0x1p-66f);
    test_array_scale(&o->b, 0x1p-66f);
}

void test_operands_spoil(test_operands *o, test_rng *rng)
{
    test_array_spoil(&o->a, rng);
    if (test_between(rng, 0, 2) > 0) test_array_spoil(&o->b, rng);
    if (test_between(rng, 0, 2) == 0) return;
    test_array_spoil(&o->c_before, rng);
    test_array_free(&o->c);
    o->c = test_array_copy(&o->c_before);
}

test_array test_operands_in_order(const test_problem *p, const test_operands *o)
{
    const duo_call call = test_problem_call(p, o);
    const duo_operand *const a = &call.operand[DUO_A], *const b = &call.operand[DUO_B];
    test_array c = test_array_copy(&o->c_before);
    for (int64_t j = 0; j < call.n; j++)
        for (int64_t i = 0; i < call.m; i++) {
            float *const x = &c.data[i + j * c.ld];
            *x = product_order(false, call.transa, call.transb, call.m, call.n, call.k, p->alpha,
                               a->address, a->ld, b->address, b->ld, p->beta, *x, i, j);
        }
    return c;
}

/* ---- Calls ---- */

duo_call test_problem_call(const test_problem *p, const test_operands *o)
{
    const bool ta = p->transa != DUO_NO_TRANS, tb = p->transb != DUO_NO_TRANS;
    return p->layout == DUO_COL_MAJOR
               ? test_sgemm_call(ta, tb, p->m, p->n, p->k, p->alpha, o->a.data, o->a.ld, o->b.data,
                                 o->b.ld, p->beta, o->c.data, o->c.ld)
               : test_sgemm_call(tb, ta, p->n, p->m, p->k, p->alpha, o->b.data, o->b.ld, o->a.data,
                                 o->a.ld, p->beta, o->c.data, o->c.ld);
}

int test_problem_run(const duo_algorithm *algorithm, const test_problem *p, const test_operands *o)
{
    const duo_call call = test_problem_call(p, o);
    memcpy(o->c.data, o->c_before.data, o->c.bytes);
    return test_algorithm_accepts(algorithm, &call)
               ? test_run_algorithm(algorithm, &call, p->offset, false)
               : (int)DUO_DECLINED;
}

duo_status test_problem_multiply(duo_context *ctx, const test_problem *p, const test_operands *o,
                                 float *const at[3])
{
    float *const host[] = {o->a.data, o->b.data, o->c.data};
    if (at == NULL) at = host;
    return duo_sgemm(ctx, p->layout, p->transa, p->transb, p->m, p->n, p->k, p->alpha, at[0],
                     o->a.ld, at[1], o->b.ld, p->beta, at[2], o->c.ld);
}

/* ---- Results ---- */

const double *test_operands_bound(const test_operands *o, const duo_algorithm *algorithm)
{
    return algorithm != NULL && test_algorithm_rounds(algorithm) ? o->tf32_bound : o->bound;
}

double test_operands_check(const test_problem *p, const test_operands *o, const double *bound,
                           int status)
{
    const bool exact = is_exact(p);
    double worst = 0.0;
    if (!CHECK(status == DUO_OK, "status %d", status)) return worst;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            const double want = o->want[i * p->n + j];
            const double allowed = exact ? 0.0 : bound[i * p->n + j];
            const float got = o->c.data[oracle_index(p->layout, i, j, o->c.ld)];
            if (!oracle_close(want, allowed, got)) {
                CHECK(false, "C(%jd,%jd) = %.9g, expected %.12g within %.3g", (intmax_t)i,
                      (intmax_t)j, (double)got, want, allowed);
                return worst;
            }
            if (isfinite(want) && allowed > 0.0)
                worst = fmax(worst, fabs((double)got - want) / allowed);
        }
    }
    CHECK(test_array_intact(&o->a) && test_array_intact(&o->b) && test_array_intact(&o->c),
          "written outside C");
    return worst;
}
