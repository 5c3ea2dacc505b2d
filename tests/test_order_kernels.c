/*
 * test_order_kernels.c - every algorithm that serves DUO_MATH_IEEE gives the bits of the documented
 * order for every product that it accepts there, whatever the shape, storage and alignment.
 */
#include <math.h>
#include <stdio.h>

#include "support/calls.h"
#include "support/harness.h"
#include "support/problems.h"
#include "support/product_order.h"
#include "support/run_algorithm.h"

static test_problem random_problem(test_rng *rng, int kind)
{
    static const float alphas[] = {1.0f, -1.7f, 0.3f, 1.0f, -1.7f, 0.3f, 0.0f, NAN};
    static const float betas[] = {0.0f, 1.0f, -0.6f};
    test_problem p = test_problem_random(rng);
    const int64_t some = test_between(rng, 1, 200), few = test_between(rng, 1, 9);
    p.m = kind % 4 == 1 ? few : some;
    p.n = kind % 4 == 2 ? few : test_between(rng, 1, 200);
    p.k = test_between(rng, 1, kind % 4 == 3 ? 64 : kind % 8 == 4 ? 9000 : 2600);
    if (kind % 20 == 11) p.k = 0;
    p.alpha = alphas[test_between(rng, 0, 7)];
    p.beta = betas[test_between(rng, 0, 2)];
    p.data = DATA_NORMAL;
    return p;
}

/* Few columns or rows, and a C that is small both ways: all tiles of sgemm_gpu_skinny, blocks with
 * one team and with several, one range of k and many. */
static test_problem thin_problem(test_rng *rng, int kind)
{
    static const int64_t most_rows[] = {3000, 300, 60, 9}, most_k[] = {3000, 600, 20000, 100000};
    static const int64_t most_columns[] = {1, 4, 8, 16, 24, 32, 48, 60};
    test_problem p = random_problem(rng, kind);
    const bool deep = kind % 4 > 1;
    int64_t rows = test_between(rng, 1, most_rows[kind % 4]);
    int64_t columns = test_between(rng, 1, most_columns[kind / 4 % 8]);
    if (deep && columns > 9) columns = 9 + columns % 7;
    const bool swapped = test_between(rng, 0, 1) == 1;
    p.k = test_between(rng, kind % 4 == 3 ? 20000 : 1, most_k[kind % 4]);
    while (rows > 1 && rows * columns * p.k > 4000000) rows = (rows + 1) / 2; /* for the oracle */
    p.m = swapped ? columns : rows;
    p.n = swapped ? rows : columns;
    if (test_between(rng, 0, 1) == 1) p.extra_a = p.extra_b = p.offset = 0;
    return p;
}

/* Products that are below all numbers, and negative: sums become -0, whatever is filled up. */
static void make_tiny(test_operands *o)
{
    for (int64_t j = 0; j < o->a.runs; j++)
        for (int64_t i = 0; i < o->a.length; i++) o->a.data[i + j * o->a.ld] = 1e-30f;
    for (int64_t j = 0; j < o->b.runs; j++)
        for (int64_t i = 0; i < o->b.length; i++) o->b.data[i + j * o->b.ld] = -1e-30f;
}

/* Infs and NaNs. */
static void spoil(test_operands *o, test_rng *rng)
{
    test_array_spoil(&o->a, rng);
    test_array_spoil(&o->b, rng);
    test_array_spoil(&o->c_before, rng);
}

static test_array in_order(const test_problem *p, const test_operands *o, const duo_call *call)
{
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B];
    test_array c = test_array_copy(&o->c_before);
    for (int64_t j = 0; j < call->n; j++)
        for (int64_t i = 0; i < call->m; i++) {
            float *const x = &c.data[i + j * c.ld];
            *x = product_order(false, call->transa, call->transb, call->m, call->n, call->k,
                               p->alpha, a->address, a->ld, b->address, b->ld, p->beta, *x, i, j);
        }
    return c;
}

/* One product by each algorithm; counts those that took it. */
static void check(const test_problem *p, const test_operands *o, int compared[DUO_CANDIDATES])
{
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    duo_call call = test_problem_call(p, o);
    call.ordered = true;
    test_array expected = in_order(p, o, &call);
    for (int r = 0; r < count; r++) {
        if (!test_algorithm_serves(algorithms[r], &call, DUO_MATH_IEEE)) continue;
        test_problem_name(p, "order", algorithms[r]->name);
        test_array c = test_array_copy(&o->c_before);
        call.operand[DUO_C].address = c.data;
        CHECK_STATUS(DUO_OK, test_run_algorithm(algorithms[r], &call, p->offset, false));
        CHECK(test_array_equal(&c, &expected), "other bits");
        test_array_free(&c);
        compared[r]++;
    }
    test_array_free(&expected);
}

static void compare(const char *name, int products, test_problem (*problem)(test_rng *, int))
{
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    int compared[DUO_CANDIDATES] = {0};
    test_rng rng = test_rng_for(name);
    for (int i = 0; i < products; i++) {
        const test_problem p = problem(&rng, i);
        test_operands o = test_operands_make(&p, &rng);
        if (i % 10 == 0) make_tiny(&o);
        if (i % 10 == 5) spoil(&o, &rng);
        check(&p, &o, compared);
        test_operands_free(&o);
    }
    for (int r = 0; r < count; r++)
        if (compared[r] > 0) printf("%-20s %d products\n", algorithms[r]->name, compared[r]);
}

static void any_shape(void)
{
    compare("order/any_shape", test_amount(40, 160, 4000), random_problem);
}

static void thin(void) { compare("order/thin", test_amount(64, 320, 4000), thin_problem); }

static const test_entry tests[] = {{"any_shape", any_shape}, {"thin", thin}, {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "order_kernels", tests); }
