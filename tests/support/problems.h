/* problems.h - products for tests: their operands in guarded memory, and their right results. */
#ifndef DUO_TESTS_PROBLEMS_H
#define DUO_TESTS_PROBLEMS_H

#include "support/arrays.h"
#include "support/oracle.h"

/* extra: how much the leading dimensions exceed the least ones; offset: floats past a 64-byte
 * boundary. */
typedef struct test_problem {
    duo_layout layout;
    duo_transpose transa, transb;
    int64_t m, n, k;
    float alpha, beta;
    int64_t extra_a, extra_b, extra_c, offset;
    test_data data;
} test_problem;

/* want, bound: as of oracle_sgemm. */
typedef struct test_operands {
    test_array a, b, c, c_before;
    double *want, *bound;
} test_operands;

/* Names the case: suite/where/the problem. */
void test_problem_name(const test_problem *p, const char *suite, const char *where);

/* The problem for the oracle. */
oracle_product test_problem_product(const test_problem *p, const test_operands *o);

/* An operand that must not be read holds NaN. */
test_operands test_operands_make(const test_problem *p, test_rng *rng);
void test_operands_free(test_operands *o);

/* Assertions for the status, for all of C with its gaps, and for the guards of all operands. */
void test_operands_check(const test_problem *p, const test_operands *o, int status);

#endif
