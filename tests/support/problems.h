/*
 * problems.h - products for tests: drawn at random, with operands in guarded memory, right results,
 * and the calls of an algorithm and of duo_sgemm.
 */
#ifndef DUO_TESTS_PROBLEMS_H
#define DUO_TESTS_PROBLEMS_H

#include "bench/reference/sgemm_data.h"
#include "choice/algorithm.h"
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
    const duo_sgemm_data *kind; /* of A and B; NULL: `data` */
} test_problem;

/* want, bound: as of oracle_sgemm. tf32_bound: as of oracle_tf32_bound. */
typedef struct test_operands {
    test_array a, b, c, c_before;
    double *want, *bound, *tf32_bound;
} test_operands;

/* Everything but the sizes. Products of its scalars and of integers are exact. */
test_problem test_problem_random(test_rng *rng);

/* Names the case: suite/where/the problem. */
void test_problem_name(const test_problem *p, const char *suite, const char *where);

/* A, B and C of poison, without c_before and right results. */
test_operands test_operands_new(const test_problem *p);
/* Random ones. An operand that must not be read holds poison. */
test_operands test_operands_make(const test_problem *p, test_rng *rng);
/* Sets the right results again, for operands that a test has changed since. */
void test_operands_expect(const test_problem *p, test_operands *o);
void test_operands_free(test_operands *o);

/* For tests of the order of summation: random scalars, data of both signs. */
test_problem test_problem_ordered(test_rng *rng, int64_t m, int64_t n, int64_t k);
/* Negative products that are below all numbers: sums are -0, if nothing is added. */
void test_operands_make_tiny(test_operands *o);
/* Products and sums are subnormal, or near. */
void test_operands_make_subnormal(test_operands *o);
/* Infs and NaNs in A, mostly in B and C, too. */
void test_operands_spoil(test_operands *o, test_rng *rng);
/* C as the order of product_order.h has it, in float32. */
test_array test_operands_in_order(const test_problem *p, const test_operands *o);

/* The call as the algorithms see it: of row-major operands, C' = op(B)' op(A)'. */
duo_call test_problem_call(const test_problem *p, const test_operands *o);

/* From c_before to c, by this very algorithm (run_algorithm.h); DUO_DECLINED: it does not take the
 * call. */
int test_problem_run(const duo_algorithm *algorithm, const test_problem *p, const test_operands *o);

/* By duo_sgemm, with the operands at these addresses; NULL: on the host. */
duo_status test_problem_multiply(duo_context *ctx, const test_problem *p, const test_operands *o,
                                 float *const at[3]);

/* The bound for the algorithm; NULL: for one of float32. */
const double *test_operands_bound(const test_operands *o, const duo_algorithm *algorithm);

/* Assertions for the status, all of C with its gaps, and the guards of all operands. Returns the
 * largest error / bound. */
double test_operands_check(const test_problem *p, const test_operands *o, const double *bound,
                           int status);

#endif
