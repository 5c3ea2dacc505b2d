/*
 * test_float64.c - the promises of DUO_MATH_FLOAT64 for the reductions: faithful sums of data that
 * cancel, and the same bits from every algorithm.
 */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "bench/reference/exact_sum.h"
#include "choice/profile_in_use.h"
#include "choice/select.h"
#include "sim/sim.h"
#include "support/calls.h"
#include "support/sums.h"
#include "support/child.h"
#include "support/harness.h"
#include "support/places.h"
#include "support/reference_order.h"

static const duo_operation operations[] = {DUO_SASUM, DUO_SSUM, DUO_SDOT};
enum { OPERATIONS = 3 };

static int sign(const duo_exact_sum *sum)
{
    const double value = duo_exact_sum_value(sum);
    return (value > 0.0) - (value < 0.0);
}

/* The sign of sum - value; an infinite value lies beyond every sum. */
static int compare(duo_exact_sum sum, float value)
{
    if (isinf(value)) return value > 0.0f ? -1 : 1;
    duo_exact_sum_add(&sum, -(double)value);
    return sign(&sum);
}

/* Is `got` the sum itself, if that is a float, else one of the two floats around it? False for a
 * NaN. */
static bool is_faithful(const duo_exact_sum *sum, float got)
{
    if (isnan(got)) return false;
    return compare(*sum, nextafterf(got, -INFINITY)) > 0 &&
           compare(*sum, nextafterf(got, INFINITY)) < 0;
}

static const double kHighestCondition = 1e6; /* of the promise */

/* ---- Data that cancel ---- */

typedef struct data {
    duo_operation operation;
    int64_t n;
    test_array x, y; /* y: only sdot */
    duo_exact_sum sum;
    double condition;    /* sum of magnitudes / |sum| */
    float bits, bits_32; /* of the orders in float64 and in float32 */
} data;

static double term(const data *d, int64_t i)
{
    const double x = (double)d->x.data[i];
    if (d->operation == DUO_SDOT) return x * (double)d->y.data[i];
    return d->operation == DUO_SASUM ? fabs(x) : x;
}

static void swap(float *a, float *b)
{
    const float keep = *a;
    *a = *b;
    *b = keep;
}

static void set_facts(data *d)
{
    duo_exact_sum magnitudes = {0};
    d->sum = (duo_exact_sum){0};
    for (int64_t i = 0; i < d->n; i++) {
        duo_exact_sum_add(&d->sum, term(d, i));
        duo_exact_sum_add(&magnitudes, fabs(term(d, i)));
    }
    d->condition = duo_exact_sum_value(&magnitudes) / fabs(duo_exact_sum_value(&d->sum));
    const float *const y = d->operation == DUO_SDOT ? d->y.data : NULL;
    d->bits = reference_order_float64(d->operation, d->n, d->x.data, 1, y, 1);
    d->bits_32 = reference_order(d->operation, d->n, d->x.data, 1, y, 1);
}

/*
 * In random order: pairs of terms that cancel, and `stay` terms that do not, each much smaller than
 * the one before. Their sum is about the sum of magnitudes over `condition`. With stay = 1 the sum
 * is a float. sasum has nothing to cancel.
 */
static data new_data(duo_operation operation, int64_t n, int stay, double condition, test_rng *rng)
{
    data d = {.operation = operation, .n = n};
    d.x = test_array_new(1, n, 1, test_between(rng, 0, 15));
    d.y = test_array_new(1, n, 1, test_between(rng, 0, 15));
    double magnitudes = 0.0;
    for (int64_t i = 0; i + 1 < n - stay; i += 2) {
        d.x.data[i] = test_wide(rng);
        d.y.data[i] = test_wide(rng);
        d.x.data[i + 1] = -2.0f * d.x.data[i];
        d.y.data[i + 1] = 0.5f * d.y.data[i];
        if (operation != DUO_SDOT) d.x.data[i + 1] = -d.x.data[i];
        magnitudes += 2.0 * fabs(term(&d, i));
    }
    if ((n - stay) % 2 != 0) d.x.data[n - stay - 1] = d.y.data[n - stay - 1] = 0.0f;
    for (int i = 0; i < stay; i++) {
        const double size = ldexp(magnitudes / condition, -12 * i);
        d.x.data[n - stay + i] = (float)(size * (1.25 + 0.5 * test_unit(rng)));
        d.y.data[n - stay + i] = 1.0f;
    }
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t other = test_between(rng, 0, i);
        swap(&d.x.data[i], &d.x.data[other]);
        swap(&d.y.data[i], &d.y.data[other]);
    }
    set_facts(&d);
    return d;
}

static void free_data(data *d)
{
    test_array_free(&d->x);
    test_array_free(&d->y);
}

static void check_sum(const data *d, float got, const char *where)
{
    CHECK(test_same(got, d->bits), "%s: %.9g (%08x), not %.9g (%08x)", where, (double)got,
          (unsigned)test_bits(got), (double)d->bits, (unsigned)test_bits(d->bits));
    CHECK(is_faithful(&d->sum, got), "%s: %.9g is not faithful to %.17g", where, (double)got,
          duo_exact_sum_value(&d->sum));
}

static duo_status call(duo_context *ctx, const data *d, float *result)
{
    const test_sum sum = {d->operation, d->n, 1, 1};
    return test_sum_call(ctx, &sum, d->x.data, d->y.data, result);
}

/* ---- The judge itself ---- */

static void exact_sums(void)
{
    duo_exact_sum s = {0};
    test_case("exact-sum/range");
    CHECK(sign(&s) == 0 && is_faithful(&s, 0.0f), "0");
    duo_exact_sum_add(&s, 0x1p-298);
    CHECK(sign(&s) == 1 && is_faithful(&s, 0.0f), "least product");
    CHECK(is_faithful(&s, 0x1p-149f) && !is_faithful(&s, 0x1p-148f), "its floats");
    duo_exact_sum_add(&s, -0x1p255);
    duo_exact_sum_add(&s, 0x1.fffffcp254);
    CHECK(sign(&s) == -1 && duo_exact_sum_value(&s) == -0x1p232, "%g", duo_exact_sum_value(&s));
    duo_exact_sum_add(&s, 0x1p232);
    duo_exact_sum_add(&s, -0x1p-298);
    CHECK(sign(&s) == 0, "%g left", duo_exact_sum_value(&s));
    test_case("exact-sum/faithful");
    duo_exact_sum_add(&s, 1.0 + 0x1p-50);
    CHECK(is_faithful(&s, 1.0f) && is_faithful(&s, 1.0f + 0x1p-23f), "neighbours");
    CHECK(!is_faithful(&s, 1.0f - 0x1p-24f) && !is_faithful(&s, 1.0f + 0x1p-22f), "beyond them");
    CHECK(!is_faithful(&s, NAN) && !is_faithful(&s, -1.0f), "NaN, sign");
    duo_exact_sum_add(&s, -0x1p-50);
    CHECK(is_faithful(&s, 1.0f) && !is_faithful(&s, 1.0f + 0x1p-23f) &&
              !is_faithful(&s, 1.0f - 0x1p-24f),
          "a float stands for itself alone");
}

/* ---- Faithful ---- */

static void faithful(void)
{
    static const int64_t lengths[] = {5, 17, 100, 1023, 1025, 5001, 70001, 300001};
    static const double conditions[] = {3.0, 1e3, 2e5, 1e6};
    test_rng rng = test_rng_for("faithful");
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
    int hard = 0, missed_in_float32 = 0;
    for (int i = 0; i < OPERATIONS * 8 * 4; i++) {
        const int64_t n = lengths[i / 4 % 8];
        const int trials = n < 2000 ? 20 : 2;
        for (int trial = 0; trial < trials; trial++) {
            data d = new_data(operations[i / 32], n, 3, conditions[i % 4], &rng);
            test_case("float64/faithful/%s/n=%jd/condition=%.3g", duo_operation_name(d.operation),
                      (intmax_t)n, d.condition);
            CHECK(d.condition <= kHighestCondition, "harder than promised");
            float got = test_poison();
            CHECK_STATUS(DUO_OK, call(ctx, &d, &got));
            check_sum(&d, got, "public");
            if (d.condition > 1e5) {
                hard++;
                missed_in_float32 += !is_faithful(&d.sum, d.bits_32);
            }
            free_data(&d);
        }
    }
    test_case("float64/faithful/data");
    CHECK(hard > 300 && missed_in_float32 > hard / 2, "float32 missed %d of %d: too easy",
          missed_in_float32, hard);
    test_context_end(ctx);
}

/* The sum is a float: it is the result. */
static void exact_where_representable(void)
{
    test_rng rng = test_rng_for("exact");
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
    for (int i = 0; i < 60; i++) {
        const int64_t n = test_between(&rng, 3, 8000);
        data d = new_data(i % 2 ? DUO_SSUM : DUO_SDOT, n, 1, 1e6, &rng);
        test_case("float64/exact/%d", i);
        const float sum = (float)duo_exact_sum_value(&d.sum);
        float got = test_poison();
        CHECK_STATUS(DUO_OK, call(ctx, &d, &got));
        CHECK(got == sum, "%.9g, not %.9g", (double)got, (double)sum);
        free_data(&d);
    }
    test_context_end(ctx);
}

/* ---- The bits of float64, from every algorithm ---- */

/* Data for which the two orders differ. */
static data telling_data(duo_operation operation, int64_t n, test_rng *rng)
{
    data d = new_data(operation, n, 3, 5e5, rng);
    while (test_same(d.bits, d.bits_32)) {
        free_data(&d);
        d = new_data(operation, n, 3, 5e5, rng);
    }
    return d;
}

static void check_algorithm(duo_context *ctx, const char *part)
{
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.algorithm != NULL && strstr(d.algorithm, part) != NULL, "algorithm %s, not one of %s",
          d.algorithm == NULL ? "none" : d.algorithm, part);
}

/* A tiny call must not take the short way of float32. Then back to float32. */
static void change_of_math(void)
{
    test_rng rng = test_rng_for("change");
    duo_context *const ctx = test_context();
    for (int o = 0; o < OPERATIONS; o++) {
        data d = telling_data(operations[o], 1001, &rng);
        test_case("float64/change/%s", duo_operation_name(d.operation));
        float got = test_poison();
        CHECK_STATUS(DUO_OK, call(ctx, &d, &got));
        CHECK(test_same(got, d.bits_32), "%.9g in float32", (double)got);
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
        got = test_poison();
        CHECK_STATUS(DUO_OK, call(ctx, &d, &got));
        check_sum(&d, got, "after the change");
        check_algorithm(ctx, test_gpu_side() ? "_gpu_float64" : "_cpu_float64");
        CHECK_STATUS(DUO_ERR_ENUM, duo_set_math(ctx, (duo_math)4)); /* changes nothing */
        CHECK_STATUS(DUO_OK, call(ctx, &d, &got));
        check_sum(&d, got, "after a refused change");
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
        got = test_poison();
        CHECK_STATUS(DUO_OK, call(ctx, &d, &got));
        CHECK(test_same(got, d.bits_32), "%.9g in float32 again", (double)got);
        free_data(&d);
    }
    test_context_end(ctx);
}

/* Kept and pinned operands, on both paths, after being used in float32. */
static void places(void)
{
    static const test_place kinds[] = {PLACE_PINNED, PLACE_KEPT, PLACE_DEVICE};
    static const duo_path paths[] = {DUO_PATH_CPU, DUO_PATH_AUTO, DUO_PATH_GPU};
    test_rng rng = test_rng_for("places");
    duo_context *const ctx = test_context();
    for (int i = 0; i < OPERATIONS * 3; i++) {
        data d = telling_data(operations[i % OPERATIONS], 9001, &rng);
        test_placed x = test_put(ctx, kinds[i / OPERATIONS], &d.x);
        test_placed y = test_put(ctx, kinds[i / OPERATIONS], &d.y);
        data there = d;
        there.x.data = x.address;
        there.y.data = y.address;
        for (int p = 0; p < 3; p++) {
            test_case("float64/%s/%s/path=%d", duo_operation_name(d.operation),
                      test_place_name(x.place), p);
            float single = test_poison(), got = test_poison();
            CHECK_STATUS(DUO_OK, duo_set_path(ctx, paths[p]));
            CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_ACCURATE));
            CHECK_STATUS(DUO_OK, call(ctx, &there, &single));
            CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
            CHECK_STATUS(DUO_OK, call(ctx, &there, &got));
            CHECK(test_same(single, d.bits_32), "%.9g in float32", (double)single);
            check_sum(&d, got, "in place");
            check_algorithm(ctx, "_float64");
        }
        test_take(ctx, &x);
        test_take(ctx, &y);
        free_data(&d);
    }
    test_context_end(ctx);
}

/* The GPU refuses the launch, or is lost while it works: the CPU gives the same bits. */
static void fall_back(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_rng rng = test_rng_for("fall back");
    for (int i = 0; i < OPERATIONS * 3; i++) {
        data d = telling_data(operations[i % OPERATIONS], 20001, &rng);
        const int how = i / OPERATIONS;
        test_case("float64/fall-back/%s/%d", duo_operation_name(d.operation), how);
        test_reset();
        duo_context *ctx = NULL;
        CHECK_STATUS(DUO_OK, duo_create(&ctx));
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
        float got = test_poison();
        CHECK_STATUS(DUO_OK, call(ctx, &d, &got));
        check_sum(&d, got, "GPU");
        check_algorithm(ctx, "_gpu_float64");
        if (how == 0) sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
        if (how == 1) sim_fail(SIM_LAUNCH, 1, DUO_ERR_LOST, 1);
        if (how == 2) sim_fail_async(1, true);
        got = test_poison();
        CHECK_STATUS(DUO_OK, call(ctx, &d, &got));
        check_sum(&d, got, "CPU");
        check_algorithm(ctx, "_cpu_float64");
        (void)duo_destroy(ctx);
        free_data(&d);
    }
    test_reset();
}

/* For every math some CPU algorithm takes any call, and none takes another math's. */
static void an_algorithm_for_every_math(void)
{
    for (int i = 0; i < OPERATIONS * (DUO_MATH_FLOAT64 + 1); i++) {
        const duo_operation operation = operations[i / (DUO_MATH_FLOAT64 + 1)];
        const duo_math math = (duo_math)(i % (DUO_MATH_FLOAT64 + 1));
        test_case("float64/algorithms/%s/math=%d", duo_operation_name(operation), (int)math);
        const duo_conditions conditions = {
            .profile = duo_profile_in_use(), .math = math, .threads = 1};
        const duo_call c = test_reduce_call(operation, 10, NULL, 1, NULL, 1, NULL);
        duo_choice choice[DUO_CANDIDATES];
        const int count = duo_predict(&c, &conditions, choice);
        int takes = 0;
        for (int r = 0; r < count; r++) {
            if (!choice[r].accepts) continue;
            const bool float64 = strstr(choice[r].algorithm->name, "_float64") != NULL;
            takes += choice[r].algorithm->side == DUO_SIDE_CPU;
            CHECK(float64 == (math == DUO_MATH_FLOAT64), "%s", choice[r].algorithm->name);
        }
        CHECK(takes == 1, "%d CPU algorithms take it", takes);
    }
}

/* ---- The environment, in children ---- */

/* Exit status: 64 if the default and a new context both sum in float64, 32 if both in float32. */
static int report_environment(void)
{
    test_rng rng = test_rng_for("environment");
    data d = telling_data(DUO_SSUM, 1001, &rng);
    float by_default = NAN, by_new = NAN;
    duo_context *ctx = NULL;
    bool ok = duo_create(&ctx) == DUO_OK && call(NULL, &d, &by_default) == DUO_OK &&
              call(ctx, &d, &by_new) == DUO_OK && duo_destroy(ctx) == DUO_OK;
    ok = ok && test_same(by_default, by_new);
    const int bits = test_same(by_new, d.bits) ? 64 : test_same(by_new, d.bits_32) ? 32 : 1;
    free_data(&d);
    return ok ? bits : 2;
}

static void environment(void)
{
    static const struct {
        const char *setting;
        int bits;
    } cases[] = {{"DUOBLAS_MATH=float64", 64}, {"DUOBLAS_MATH=accurate", 32},
                 {"DUOBLAS_MATH=ieee", 32},    {"DUOBLAS_MATH=tf32", 32},
                 {"DUOBLAS_MATH=double", 32},  {"DUOBLAS_MATH", 32}};
    for (int i = 0; i < 6; i++) {
        test_child child;
        test_case("float64/%s", cases[i].setting);
        test_child_run("environment", (const char *const[]){cases[i].setting, NULL}, 60, &child);
        CHECK(child.exit_status == cases[i].bits, "exit %d: %.200s", child.exit_status, child.err);
    }
}

static const test_entry tests[] = {
    {"exact_sums", exact_sums},
    {"faithful", faithful},
    {"exact_where_representable", exact_where_representable},
    {"change_of_math", change_of_math},
    {"places", places},
    {"fall_back", fall_back},
    {"an_algorithm_for_every_math", an_algorithm_for_every_math},
    {"environment", environment},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_child_task(argc, argv) != NULL) return report_environment();
    return test_main(argc, argv, "float64", tests);
}
