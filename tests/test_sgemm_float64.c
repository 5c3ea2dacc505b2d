/*
 * test_sgemm_float64.c - duo_sgemm under DUO_MATH_FLOAT64 and its algorithms, against the exact
 * result: the promised bound on data that cancel, 0.51 ulp on ordinary data.
 *
 * Reads and writes, shapes, alignment and special values are in test_sgemm.c: its tests walk these
 * algorithms with all others.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/reference/exact_sum.h"
#include "choice/profile_in_use.h"
#include "choice/select.h"
#include "cpu/blas_library.h"
#include "cpu/kernels.h"
#include "host/scratch.h"
#include "sim/sim.h"
#include "support/calls.h"
#include "support/harness.h"
#include "support/oracle.h"
#include "support/places.h"
#include "support/problems.h"
#include "support/run_algorithm.h"

/* ---- A problem ---- */

static const duo_sgemm_data cancelling = {.name = "cancelling"};

/* alpha and beta are powers of two or 0, so that alpha a(i,l) b(l,j) is a product of floats. */
static test_problem random_problem(test_rng *rng)
{
    static const float alphas[] = {1.0f, -1.0f, 0.5f, -4.0f};
    test_problem p = test_problem_random(rng);
    p.alpha = alphas[test_between(rng, 0, 3)];
    p.data = test_between(rng, 0, 1) != 0 ? DATA_UNIT : DATA_NORMAL;
    return p;
}

/* Sums of 10^-6 of their terms' magnitudes, in random order of k. C is not read. */
static test_problem cancelling_problem(test_rng *rng, int64_t m, int64_t n, int64_t k)
{
    test_problem p = random_problem(rng);
    p.m = m, p.n = n, p.k = k;
    p.beta = 0.0f;
    p.kind = &cancelling;
    return p;
}

static float *element(const test_problem *p, const test_array *x, duo_transpose trans, int64_t i,
                      int64_t j)
{
    return x->data + (trans == DUO_NO_TRANS ? oracle_index(p->layout, i, j, x->ld)
                                            : oracle_index(p->layout, j, i, x->ld));
}

/* Pairs of steps of k with products that cancel, and one that stays; in random order. */
static void fill_cancelling(const test_problem *p, test_operands *o, test_rng *rng)
{
    int64_t *const order = malloc((size_t)p->k * sizeof *order);
    if (order == NULL) exit(EXIT_FAILURE);
    for (int64_t l = 0; l < p->k; l++) order[l] = l;
    for (int64_t l = p->k - 1; l > 0; l--) {
        const int64_t other = test_between(rng, 0, l), keep = order[l];
        order[l] = order[other];
        order[other] = keep;
    }
    for (int64_t pair = 0; pair < p->k; pair++) {
        const int64_t l = order[pair];
        const bool stays = pair == p->k - 1, second = pair % 2 != 0;
        const int64_t first = second ? order[pair - 1] : l;
        for (int64_t i = 0; i < p->m; i++)
            *element(p, &o->a, p->transa, i, l) =
                stays    ? (float)(1e-6 * (1.0 + test_unit(rng)))
                : second ? -2.0f * *element(p, &o->a, p->transa, i, first)
                         : test_wide(rng);
        for (int64_t j = 0; j < p->n; j++)
            *element(p, &o->b, p->transb, l, j) =
                stays    ? 1.0f
                : second ? 0.5f * *element(p, &o->b, p->transb, first, j)
                         : test_wide(rng);
    }
    free(order);
}

/* Without right results: the judge has exact ones. */
static test_operands make_operands(const test_problem *p, test_rng *rng)
{
    test_operands o = test_operands_new(p);
    if (p->kind == &cancelling) {
        fill_cancelling(p, &o, rng);
    } else {
        test_array_fill(&o.a, rng, p->data);
        test_array_fill(&o.b, rng, p->data);
    }
    if (p->beta != 0.0f) test_array_fill(&o.c, rng, p->data);
    o.c_before = test_array_copy(&o.c);
    return o;
}

static void name_case(const test_problem *p, const char *where)
{
    test_problem_name(p, "sgemm-float64", where);
}

/* ---- The judge ---- */

/* All elements judged so far. */
typedef struct tally {
    int64_t elements, ordinary; /* ordinary: with the promise of 0.51 ulp */
    double worst_ulp;           /* of the latter */
    int64_t beyond_bound;       /* of all */
} tally;

/* Distance of neighbouring floats at x. */
static double ulp(double x)
{
    int exponent;
    (void)frexp(x, &exponent);
    return ldexp(1.0, exponent - 24);
}

static void judge_element(const test_problem *p, const test_operands *o, int64_t i, int64_t j,
                          tally *t)
{
    duo_exact_sum exact = {0};
    double magnitude = 0.0;
    for (int64_t l = 0; l < p->k; l++) {
        const double term = (double)(p->alpha * *element(p, &o->a, p->transa, i, l)) *
                            (double)*element(p, &o->b, p->transb, l, j);
        duo_exact_sum_add(&exact, term);
        magnitude += fabs(term);
    }
    if (p->beta != 0.0f) {
        const double old = (double)p->beta * (double)*element(p, &o->c_before, DUO_NO_TRANS, i, j);
        duo_exact_sum_add(&exact, old);
        magnitude += fabs(old);
    }
    const double want = duo_exact_sum_value(&exact);
    const float got = *element(p, &o->c, DUO_NO_TRANS, i, j);
    t->elements++;
    if (!isfinite(got)) {
        t->beyond_bound++;
        return;
    }
    duo_exact_sum_add(&exact, -(double)got);
    const double error = fabs(duo_exact_sum_value(&exact));
    const double steps = (double)(p->k + 2);
    if (!(error <= 0x1p-24 * fabs(want) + steps * 0x1p-53 * magnitude + 0x1p-150))
        t->beyond_bound++;
    if (steps * magnitude <= 5e6 * fabs(want)) {
        t->ordinary++;
        t->worst_ulp = fmax(t->worst_ulp, error / ulp(want));
    }
}

static tally judge(const test_problem *p, const test_operands *o)
{
    tally t = {0};
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) judge_element(p, o, i, j, &t);
    return t;
}

static void check_result(const test_problem *p, const test_operands *o)
{
    const tally t = judge(p, o);
    CHECK(t.beyond_bound == 0, "%jd of %jd elements are beyond the bound", (intmax_t)t.beyond_bound,
          (intmax_t)t.elements);
    CHECK(t.worst_ulp <= 0.51, "%.4f ulp", t.worst_ulp);
    if (p->kind == NULL && p->data == DATA_UNIT && p->beta >= 0.0f)
        CHECK(t.ordinary == t.elements, "%jd of %jd elements are ordinary", (intmax_t)t.ordinary,
              (intmax_t)t.elements);
    CHECK(test_array_intact(&o->a) && test_array_intact(&o->b) && test_array_intact(&o->c),
          "written outside C");
}

static const char *algorithm_here(void)
{
    return test_gpu_side() ? "sgemm_gpu_f64" : "sgemm_cpu_float64";
}

static void check_algorithm(duo_context *ctx, const char *name)
{
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.algorithm != NULL && strcmp(d.algorithm, name) == 0, "algorithm %s, not %s",
          d.algorithm == NULL ? "none" : d.algorithm, name);
}

static duo_context *float64_context(void)
{
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
    return ctx;
}

/* ---- The promises ---- */

static void shapes(void)
{
    static const int64_t sizes[][3] = {
        {1, 1, 1},     {1, 1, 5000},  {3, 5, 4099},  {17, 33, 65},   {64, 64, 64}, {65, 129, 257},
        {131, 61, 99}, {300, 2, 300}, {2, 300, 301}, {40, 40, 8191}, {129, 65, 1},
    };
    test_rng rng = test_rng_for("sgemm float64 shapes");
    duo_context *const ctx = float64_context();
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int t = 0; t < 8; t++) {
            test_problem p = random_problem(&rng);
            p.m = sizes[s][0], p.n = sizes[s][1], p.k = sizes[s][2];
            p.layout = t / 4 != 0 ? DUO_ROW_MAJOR : DUO_COL_MAJOR;
            p.transa = t % 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
            p.transb = t / 2 % 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
            name_case(&p, "public");
            test_operands o = make_operands(&p, &rng);
            if (CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, &p, &o, NULL)))
                check_result(&p, &o);
            check_algorithm(ctx, algorithm_here());
            test_operands_free(&o);
        }
    test_context_end(ctx);
}

static void small_shapes(void)
{
    test_rng rng = test_rng_for("sgemm float64 small shapes");
    duo_context *const ctx = float64_context();
    for (int i = 0; i < 400; i++) {
        test_problem p = random_problem(&rng);
        p.m = test_between(&rng, 1, 40);
        p.n = test_between(&rng, 1, 40);
        p.k = test_between(&rng, 1, 40);
        name_case(&p, "public");
        test_operands o = make_operands(&p, &rng);
        if (CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, &p, &o, NULL))) check_result(&p, &o);
        test_operands_free(&o);
    }
    test_context_end(ctx);
}

/* Results are within the bound. Sums in float32 are beyond it, so the data are hard enough. */
static void data_that_cancel(void)
{
    static const int64_t sizes[][3] = {{7, 9, 33}, {33, 18, 501}, {70, 66, 1001}, {5, 6, 20001}};
    test_rng rng = test_rng_for("sgemm float64 cancelling");
    duo_context *const ctx = float64_context();
    for (int i = 0; i < 4 * 4; i++) {
        const int64_t *const size = sizes[i / 4];
        const test_problem p = cancelling_problem(&rng, size[0], size[1], size[2]);
        name_case(&p, "public");
        test_operands o = make_operands(&p, &rng);
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_ACCURATE));
        CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, &p, &o, NULL));
        const tally single = judge(&p, &o);
        CHECK(single.beyond_bound > single.elements / 2, "too easy: %jd of %jd missed in float32",
              (intmax_t)single.beyond_bound, (intmax_t)single.elements);
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
        CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, &p, &o, NULL));
        check_result(&p, &o);
        test_operands_free(&o);
    }
    test_context_end(ctx);
}

/* Sums and products beyond the range of float32, only on the way or also in the end; and below
 * it. */
static void range(void)
{
    duo_context *const ctx = float64_context();
    const float huge[] = {3e38f, 3e38f, -3e38f, 1.0f}, ones[] = {1.0f, 1.0f, 1.0f, 0.5f};
    const float tiny[] = {0x1p-149f, 0x1p-149f, 0x1p-100f, 0x1p-126f};
    float c = 2.0f;
    const duo_transpose n = DUO_NO_TRANS;
    test_case("sgemm-float64/range");
    CHECK_STATUS(DUO_OK,
                 duo_sgemm(ctx, DUO_COL_MAJOR, n, n, 1, 1, 4, 1.0f, huge, 1, ones, 4, 0.0f, &c, 1));
    CHECK(c == 3e38f, "the sum overflows on its way: %g", (double)c);
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, n, n, 1, 1, 2, 0x1p-128f, huge, 1, huge, 2,
                                   0.0f, &c, 1));
    CHECK(c == (float)(2.0 * 0x1p-128 * (double)3e38f * (double)3e38f), "products: %g", (double)c);
    CHECK_STATUS(DUO_OK,
                 duo_sgemm(ctx, DUO_COL_MAJOR, n, n, 1, 1, 2, 1.0f, huge, 1, ones, 2, 0.0f, &c, 1));
    CHECK(isinf(c) && c > 0.0f, "the result overflows: %g", (double)c);
    c = 3e38f;
    CHECK_STATUS(
        DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, n, n, 1, 1, 2, -1.0f, huge, 1, ones, 2, 2.0f, &c, 1));
    CHECK(c == 0.0f, "beta C overflows on its way: %g", (double)c);
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, n, n, 1, 1, 2, 0x1p100f, tiny, 1, tiny, 2,
                                   0.0f, &c, 1));
    CHECK(c == 0.0f, "below half the least float: %g", (double)c);
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, n, n, 1, 1, 2, 0x1p60f, tiny + 2, 1,
                                   tiny + 2, 2, 0.0f, &c, 1));
    CHECK(c == (float)(0x1p60 * (0x1p-200 + 0x1p-252)), "subnormal: %g", (double)c);
    test_context_end(ctx);
}

/* ---- Algorithms ---- */

/* The algorithms of this mode themselves, twice and on several threads: right, and the same
 * bits. */
static void algorithms_twice(void)
{
    if (test_on_sim()) {
        test_skip("the simulated device computes by a loop of the tests");
        return;
    }
    test_rng rng = test_rng_for("sgemm float64 rows");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(DUO_SGEMM, algorithms);
    for (int r = 0; r < count; r++) {
        if (!duo_algorithm_serves(algorithms[r], DUO_MATH_FLOAT64)) continue;
        for (int i = 0; i < 40; i++) {
            test_problem p = random_problem(&rng);
            p.m = test_between(&rng, 1, 150);
            p.n = test_between(&rng, 1, 150);
            p.k = i % 4 == 0 ? test_between(&rng, 1000, 3000) : test_between(&rng, 1, 300);
            name_case(&p, algorithms[r]->name);
            test_operands o = make_operands(&p, &rng);
            duo_call call = test_problem_call(&p, &o);
            test_array second = test_array_copy(&o.c);
            call.threads = 1 + i % 3;
            CHECK_STATUS(DUO_OK, test_run_algorithm(algorithms[r], &call, p.offset, false));
            check_result(&p, &o);
            call.operand[DUO_C].address = second.data;
            CHECK_STATUS(DUO_OK, test_run_algorithm(algorithms[r], &call, p.offset, false));
            CHECK(test_array_equal(&o.c, &second), "two runs differ");
            test_array_free(&second);
            test_operands_free(&o);
        }
    }
}

static int run_on_cpu(const test_problem *p, test_operands *o)
{
    const duo_call call = test_problem_call(p, o);
    return duo_sgemm_cpu_float64(&call);
}

static void cpu_without_memory(void)
{
    if (duo_blas_library_deep() == 0) {
        test_skip("a sanitizer's allocator ends the program where memory is short");
        return;
    }
    if (test_mode_now() != MODE_CPU) {
        test_skip("a matter of the CPU");
        return;
    }
    test_rng rng = test_rng_for("sgemm float64 memory");
    for (int i = 0; i < 4; i++) {
        test_problem p = random_problem(&rng);
        p.layout = DUO_COL_MAJOR;
        p.m = 200, p.n = 520, p.k = 400 + i;
        p.transa = i % 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
        p.transb = i / 2 != 0 ? DUO_TRANS : DUO_NO_TRANS;
        name_case(&p, "stack");
        test_operands o = make_operands(&p, &rng);
        struct rlimit before;
        CHECK(getrlimit(RLIMIT_AS, &before) == 0, "getrlimit");
        const struct rlimit none = {0, before.rlim_max};
        CHECK(setrlimit(RLIMIT_AS, &none) == 0, "setrlimit");
        duo_scratch_trim();
        (void)malloc_trim(0);
        void *memory[64]; /* all that malloc keeps; each less than the algorithm asks for */
        int kept = 0;
        while (kept < 64 && (memory[kept] = malloc((size_t)1 << 20)) != NULL) kept++;
        const int status = run_on_cpu(&p, &o);
        CHECK(setrlimit(RLIMIT_AS, &before) == 0, "setrlimit back");
        CHECK(kept < 64, "there was memory");
        while (kept > 0) free(memory[--kept]);
        CHECK_STATUS(DUO_OK, status);
        check_result(&p, &o);
        test_operands_free(&o);
    }
}

/* ---- The choice of an algorithm ---- */

/* DUO_MATH_FLOAT64 has two algorithms, and the CPU's takes every call; no other math has either. */
static void an_algorithm_for_every_math(void)
{
    for (int math = DUO_MATH_ACCURATE; math <= DUO_MATH_FLOAT64; math++) {
        test_case("sgemm-float64/algorithms/math=%d", math);
        const duo_conditions conditions = {
            .profile = duo_profile_in_use(), .math = (duo_math)math, .threads = 1};
        duo_call c = test_sgemm_call(false, false, 9, 9, 9, 1.0f, NULL, INT64_MAX / 64, NULL,
                                     INT64_MAX / 64, 0.0f, NULL, INT64_MAX / 64);
        duo_choice choice[DUO_CANDIDATES];
        const int count = duo_predict(&c, &conditions, choice);
        int takes = 0;
        for (int r = 0; r < count; r++) {
            const bool float64 = choice[r].algorithm->id == DUO_sgemm_cpu_float64 ||
                                 choice[r].algorithm->id == DUO_sgemm_gpu_f64;
            CHECK(float64 == (math == DUO_MATH_FLOAT64), "%s", choice[r].algorithm->name);
            takes += choice[r].accepts && choice[r].algorithm->side == DUO_SIDE_CPU;
            CHECK(choice[r].seconds > 0.0 &&
                      (isfinite(choice[r].seconds) != 0) == choice[r].accepts,
                  "%s: %g s", choice[r].algorithm->name, choice[r].seconds);
        }
        CHECK(takes == 1, "%d CPU algorithms take it", takes);
    }
}

/* The math alternates between float32 and float64. A tiny call in float64 must not take the short
 * way of float32. */
static void change_of_math(void)
{
    test_rng rng = test_rng_for("sgemm float64 change");
    duo_context *const ctx = test_context();
    const test_problem p = cancelling_problem(&rng, 6, 5, 101);
    test_operands o = make_operands(&p, &rng);
    for (int i = 0; i < 6; i++) {
        const bool float64 = i % 2 != 0;
        name_case(&p, float64 ? "float64" : "float32");
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, float64 ? DUO_MATH_FLOAT64 : DUO_MATH_ACCURATE));
        CHECK_STATUS(DUO_ERR_ENUM, duo_set_math(ctx, (duo_math)4)); /* changes nothing */
        CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, &p, &o, NULL));
        CHECK((judge(&p, &o).beyond_bound == 0) == float64, "of the other math");
        if (float64) check_algorithm(ctx, algorithm_here());
    }
    test_operands_free(&o);
    test_context_end(ctx);
}

/* Operands in every place, on both paths. */
static void places(void)
{
    static const duo_path paths[] = {DUO_PATH_CPU, DUO_PATH_AUTO, DUO_PATH_GPU};
    test_rng rng = test_rng_for("sgemm float64 places");
    duo_context *const ctx = float64_context();
    for (int i = 0; i < PLACES * 3; i++) {
        const test_problem p = cancelling_problem(&rng, 33, 45, 301);
        name_case(&p, test_place_name((test_place)(i / 3)));
        test_operands o = make_operands(&p, &rng);
        test_placed a = test_put(ctx, (test_place)(i / 3), &o.a);
        test_placed b = test_put(ctx, (test_place)(i / 3), &o.b);
        test_placed c = test_put(ctx, (test_place)(i / 3), &o.c);
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, paths[i % 3]));
        float *const at[] = {a.address, b.address, c.address};
        CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, &p, &o, at));
        test_take(ctx, &a);
        test_take(ctx, &b);
        test_take(ctx, &c);
        check_result(&p, &o);
        test_operands_free(&o);
    }
    test_context_end(ctx);
}

/* The GPU refuses the launch, or is lost while it works: the CPU keeps the promise. */
static void fall_back(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_rng rng = test_rng_for("sgemm float64 fall back");
    for (int how = 0; how < 3; how++) {
        const test_problem p = cancelling_problem(&rng, 21, 14, 201);
        name_case(&p, "fall back");
        test_operands o = make_operands(&p, &rng);
        test_reset();
        duo_context *ctx = NULL;
        CHECK_STATUS(DUO_OK, duo_create(&ctx));
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
        CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, &p, &o, NULL));
        check_algorithm(ctx, "sgemm_gpu_f64");
        if (how == 0) sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
        if (how == 1) sim_fail(SIM_LAUNCH, 1, DUO_ERR_LOST, 1);
        if (how == 2) sim_fail_async(1, true);
        CHECK_STATUS(DUO_OK, test_problem_multiply(ctx, &p, &o, NULL));
        check_result(&p, &o);
        check_algorithm(ctx, "sgemm_cpu_float64");
        (void)duo_destroy(ctx);
        test_operands_free(&o);
    }
    test_reset();
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"shapes", shapes},
        {"small_shapes", small_shapes},
        {"data_that_cancel", data_that_cancel},
        {"range", range},
        {"algorithms_twice", algorithms_twice},
        {"cpu_without_memory", cpu_without_memory},
        {"an_algorithm_for_every_math", an_algorithm_for_every_math},
        {"change_of_math", change_of_math},
        {"places", places},
        {"fall_back", fall_back},
        {NULL, NULL},
    };
    return test_main(argc, argv, "sgemm_float64", tests);
}
