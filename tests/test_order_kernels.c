/*
 * test_order_kernels.c - every algorithm that serves DUO_MATH_IEEE gives the bits of the documented
 * order for every product that it accepts there, whatever the shape, storage and alignment.
 */
#include <math.h>
#include <stdio.h>

#include "support/harness.h"
#include "support/problems.h"
#include "support/run_algorithm.h"

static test_problem any_problem(test_rng *rng, int kind)
{
    static const float alphas[] = {0.0f, NAN};
    const int64_t some = test_between(rng, 1, 200), few = test_between(rng, 1, 9);
    const int64_t m = kind % 4 == 1 ? few : some;
    const int64_t n = kind % 4 == 2 ? few : test_between(rng, 1, 200);
    const int64_t k = test_between(rng, 1, kind % 4 == 3 ? 64 : kind % 8 == 4 ? 9000 : 2600);
    test_problem p = test_problem_ordered(rng, m, n, kind % 20 == 11 ? 0 : k);
    if (kind % 4 == 0) p.alpha = alphas[test_between(rng, 0, 1)];
    return p;
}

/* Few columns or rows, and a C that is small both ways: all tiles of sgemm_gpu_skinny, blocks with
 * one team and with several, one range of k and many. */
static test_problem thin_problem(test_rng *rng, int kind)
{
    static const int64_t most_rows[] = {3000, 300, 60, 9}, most_k[] = {3000, 600, 20000, 100000};
    static const int64_t most_columns[] = {1, 4, 8, 16, 24, 32, 48, 60};
    test_problem p = any_problem(rng, kind);
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

/* One product by each algorithm; counts those that took it. */
static void check(const test_problem *p, const test_operands *o, int compared[DUO_CANDIDATES])
{
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    duo_call call = test_problem_call(p, o);
    call.ordered = true;
    test_array expected = test_operands_in_order(p, o);
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
        if (i % 20 == 0) test_operands_make_tiny(&o);
        if (i % 7 == 3) test_operands_make_subnormal(&o);
        if (i % 10 == 5) test_operands_spoil(&o, &rng);
        check(&p, &o, compared);
        test_operands_free(&o);
    }
    for (int r = 0; r < count; r++)
        if (compared[r] > 0) printf("%-20s %d products\n", algorithms[r]->name, compared[r]);
}

static void any_shape(void) { compare("order/any_shape", test_amount(40, 160, 4000), any_problem); }

static void thin(void) { compare("order/thin", test_amount(64, 320, 4000), thin_problem); }

static const test_entry tests[] = {{"any_shape", any_shape}, {"thin", thin}, {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "order_kernels", tests); }
