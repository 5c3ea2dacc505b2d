/*
 * test_reductions.c - sasum, ssum and sdot: every algorithm, and the public functions with operands
 * and result in every residence, against the oracle's bound and, bit for bit, against the
 * documented order of summation of the math.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim.h"
#include "support/harness.h"
#include "support/oracle.h"
#include "support/places.h"
#include "support/run_algorithm.h"
#include "support/sums.h"

static const duo_operation operations[] = {DUO_SASUM, DUO_SSUM, DUO_SDOT};
enum { OPERATIONS = 3 };

/* One of each order of summation. */
static const duo_math maths[] = {DUO_MATH_ACCURATE, DUO_MATH_FLOAT64};
enum { MATHS = 2 };

typedef struct problem {
    test_sum sum;
    int64_t offset;
    test_data data;
} problem;

static problem dense(duo_operation operation, int64_t n, int64_t offset, test_data data)
{
    return (problem){{operation, n, 1, 1}, offset, data};
}

typedef struct vectors {
    test_array x, y; /* y: only sdot */
    double want, bound;
    float bits; /* the documented result */
} vectors;

static void name_case(const problem *p, const char *where)
{
    test_case("%s/%s/n=%jd/inc=%jd,%jd/offset=%jd/%s", duo_operation_name(p->sum.operation), where,
              (intmax_t)p->sum.n, (intmax_t)p->sum.incx, (intmax_t)p->sum.incy, (intmax_t)p->offset,
              test_data_name(p->data));
}

/* Sets the expected result, and its bound, for the present data of the vectors. */
static void expect(const problem *p, duo_math math, vectors *v)
{
    const test_sum *const of = &p->sum;
    const float *y = of->operation == DUO_SDOT ? v->y.data : NULL;
    v->want = (math == DUO_MATH_FLOAT64 ? oracle_reduce_float64 : oracle_reduce)(
        of->operation, of->n, v->x.data, of->incx, y, of->incy, &v->bound);
    v->bits = test_sum_documented(of, math, v->x.data, y);
}

static vectors make_vectors(const problem *p, test_rng *rng)
{
    vectors v = {.x = test_sum_vector(p->sum.n, p->sum.incx, p->offset, p->data, rng)};
    if (p->sum.operation == DUO_SDOT)
        v.y = test_sum_vector(p->sum.n, p->sum.incy, p->offset == 0 ? 0 : p->offset / 2 + 1,
                              p->data, rng);
    return v;
}

static void free_vectors(vectors *v)
{
    test_array_free(&v->x);
    if (v->y.block != NULL) test_array_free(&v->y);
}

/* One assertion for the bits, the bound and the guards. An overflow of the float range is allowed
 * only within the bound of where it begins. */
static void check_result(const vectors *v, float got, int status)
{
    const bool same = test_same(got, v->bits);
    bool close =
        isnan(v->want) ? test_bits(got) == 0x7fc00000u : oracle_close(v->want, v->bound, got);
    if (isfinite(v->want) && isinf(got)) close = fabs(v->want) + v->bound >= (double)FLT_MAX;
    const bool intact =
        test_array_intact(&v->x) && (v->y.block == NULL || test_array_intact(&v->y));
    CHECK(status == DUO_OK && same && close && intact,
          "status %d, got %.9g (%08x), documented order %.9g (%08x), exact %.12g within %.3g%s",
          status, (double)got, (unsigned)test_bits(got), (double)v->bits,
          (unsigned)test_bits(v->bits), v->want, v->bound, intact ? "" : ", guards broken");
}

/* ---- Algorithms ---- */

static void run_on(const duo_algorithm *algorithm, const problem *p, const vectors *v,
                   bool by_pinned, int threads)
{
    name_case(p, algorithm->name);
    float result[3] = {test_poison(), test_poison(), test_poison()};
    duo_call call =
        test_reduce_call(p->sum.operation, p->sum.n, v->x.data, p->sum.incx,
                         p->sum.operation == DUO_SDOT ? v->y.data : NULL, p->sum.incy, &result[1]);
    call.threads = threads;
    CHECK(test_algorithm_accepts(algorithm, &call), "%s does not take it", algorithm->name);
    const int status = test_run_algorithm(algorithm, &call, p->offset, by_pinned);
    check_result(v, result[1], status);
    CHECK(test_is_poison(result[0]) && test_is_poison(result[2]), "written beside the result");
}

/* Every algorithm, under a math that it serves. */
static void run_algorithms_on(const problem *p, vectors *v)
{
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int count = test_algorithms(p->sum.operation, algorithms);
    for (int m = 0; m < MATHS; m++) {
        expect(p, maths[m], v);
        for (int r = 0; r < count; r++) {
            if (!duo_algorithm_serves(algorithms[r], maths[m])) continue;
            run_on(algorithms[r], p, v, false, 1);
            run_on(algorithms[r], p, v, true, 2);
        }
    }
}

static void run_algorithms(const problem *p, test_rng *rng)
{
    vectors v = make_vectors(p, rng);
    run_algorithms_on(p, &v);
    free_vectors(&v);
}

static const int64_t lengths[] = {1,     2,     3,     7,      8,      9,     15,   16,   17,
                                  31,    33,    63,    64,     65,     127,   255,  256,  257,
                                  1000,  1023,  1024,  1025,   2047,   2048,  2049, 4099, 10007,
                                  65535, 65536, 65537, 131072, 131077, 200003};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static void algorithm_lengths(void)
{
    test_rng rng = test_rng_for("reductions lengths");
    for (int o = 0; o < OPERATIONS; o++) {
        for (int i = 0; i < LENGTHS; i++) {
            for (int data = DATA_SIGNED; data <= DATA_WIDE; data++) {
                const problem p = dense(operations[o], lengths[i], 0, (test_data)data);
                run_algorithms(&p, &rng);
            }
        }
    }
}

static void algorithm_offsets(void)
{
    test_rng rng = test_rng_for("reductions offsets");
    static const int64_t some[] = {5, 16, 100, 1024, 1030, 70001};
    for (int o = 0; o < OPERATIONS; o++)
        for (int i = 0; i < 6; i++)
            for (int64_t offset = 0; offset <= 16; offset++) {
                const problem p = dense(operations[o], some[i], offset, DATA_SIGNED);
                run_algorithms(&p, &rng);
            }
}

static void algorithm_strides(void)
{
    test_rng rng = test_rng_for("reductions strides");
    static const int64_t incs[] = {1, 2, 3, 5, 16, 33, -1, -2, -7, 0};
    static const int64_t some[] = {1, 2, 17, 1025, 3000, 66000};
    for (int o = 0; o < OPERATIONS; o++) {
        const bool two = operations[o] == DUO_SDOT;
        for (int i = 0; i < 6; i++) {
            for (int x = 0; x < (two ? 10 : 6); x++) {
                const int64_t incy = two ? incs[test_between(&rng, 0, 9)] : 1;
                run_algorithms(
                    &(problem){{operations[o], some[i], incs[x], incy}, x % 3, DATA_SIGNED}, &rng);
            }
        }
    }
}

static void algorithm_random(void)
{
    test_rng rng = test_rng_for("reductions random");
    for (int i = 0; i < test_amount(300, 1500, 1500); i++) {
        const duo_operation operation = operations[i % OPERATIONS];
        const bool two = operation == DUO_SDOT;
        problem p = {.sum = {operation, 0, 1, 1}};
        p.sum.n = test_between(&rng, 1, i % 10 == 0 ? 9000 : 300);
        if (i % 2 == 0) {
            p.sum.incx = test_between(&rng, two ? -4 : 1, 4);
            p.sum.incy = test_between(&rng, -4, 4);
        }
        p.offset = test_between(&rng, 0, 8);
        p.data = (test_data)test_between(&rng, DATA_SIGNED, DATA_WIDE);
        run_algorithms(&p, &rng);
    }
}

/* NaN, infinities, overflow on the way, subnormal numbers and signed zeros, at random places. */
static void algorithm_special_values(void)
{
    static const float special[] = {NAN,      INFINITY, -INFINITY, FLT_MAX,
                                    -FLT_MAX, 1e-40f,   -1e-40f,   -0.0f};
    test_rng rng = test_rng_for("reductions special");
    for (int i = 0; i < test_amount(150, 600, 600); i++) {
        problem p =
            dense(operations[i % OPERATIONS], test_between(&rng, 1, 3000), i % 5, DATA_SIGNED);
        if (i % 4 == 0) p.sum.incx = test_between(&rng, 1, 3);
        vectors v = make_vectors(&p, &rng);
        const int64_t planted = test_between(&rng, 1, 4);
        const int kind = (int)test_between(&rng, 0, 8);
        for (int64_t j = 0; j < planted; j++) {
            const int which = kind < 8 ? kind : (int)test_between(&rng, 0, 7);
            v.x.data[test_between(&rng, 0, p.sum.n - 1) * p.sum.incx] = special[which];
            if (p.sum.operation == DUO_SDOT && j % 2 == 1)
                v.y.data[test_between(&rng, 0, p.sum.n - 1)] = special[(which + j) % 8];
        }
        run_algorithms_on(&p, &v);
        free_vectors(&v);
    }
}

/* All elements the same: sums that overflow, cancel, or stay subnormal. */
static void algorithm_extremes(void)
{
    static const float value[] = {FLT_MAX, FLT_MAX / 4, 1e-45f, -0.0f, 0.0f};
    test_rng rng = test_rng_for("reductions extremes");
    for (int o = 0; o < OPERATIONS; o++) {
        for (int i = 0; i < 5; i++) {
            for (int alternate = 0; alternate < 2; alternate++) {
                for (int64_t n = 1; n < 200000; n = 3 * n + 1) {
                    const problem p = dense(operations[o], n, 0, DATA_UNIT);
                    vectors v = make_vectors(&p, &rng);
                    for (int64_t j = 0; j < n; j++) {
                        v.x.data[j] = alternate != 0 && j % 2 != 0 ? -value[i] : value[i];
                        if (operations[o] == DUO_SDOT) v.y.data[j] = 1.0f;
                    }
                    run_algorithms_on(&p, &v);
                    free_vectors(&v);
                }
            }
        }
    }
}

/* ---- The public functions ---- */

static void run_public(duo_context *ctx, duo_math math, const problem *p, const test_place place[3],
                       test_rng *rng)
{
    const bool float64 = math == DUO_MATH_FLOAT64;
    char where[64];
    snprintf(where, sizeof where, "%s,%s,%s%s", test_place_name(place[0]),
             test_place_name(place[1]), test_place_name(place[2]), float64 ? "/float64" : "");
    name_case(p, where);
    vectors v = make_vectors(p, rng);
    expect(p, math, &v);
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, math));
    test_array r = test_array_new(1, 1, 1, p->offset);
    test_placed x = test_put(ctx, place[0], &v.x), y = {0};
    if (p->sum.operation == DUO_SDOT) y = test_put(ctx, place[1], &v.y);
    test_placed result = test_put(ctx, place[2], &r);
    const duo_status status = test_sum_call(ctx, &p->sum, x.address, y.address, result.address);
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.algorithm == NULL || (strstr(d.algorithm, "float64") != NULL) == float64,
          "algorithm %s", d.algorithm);
    test_take(ctx, &result);
    test_take(ctx, &x);
    if (p->sum.operation == DUO_SDOT) test_take(ctx, &y);
    check_result(&v, r.data[0], status);
    CHECK(test_array_intact(&r), "written beside the result");
    test_array_free(&r);
    free_vectors(&v);
}

static void public_residences(void)
{
    static const int64_t some[] = {1, 100, 1025, 66000};
    test_rng rng = test_rng_for("reductions residences");
    duo_context *ctx = test_context();
    if (test_on_sim()) sim_set_delay(40); /* forgotten waits show */
    for (int o = 0; o < OPERATIONS; o++) {
        for (int i = 0; i < PLACES * PLACES * PLACES; i++) {
            const test_place place[3] = {(test_place)(i % PLACES),
                                         (test_place)(i / PLACES % PLACES),
                                         (test_place)(i / PLACES / PLACES)};
            if (operations[o] != DUO_SDOT && place[1] != PLACE_PAGEABLE) continue;
            for (int l = 0; l < 4; l++) {
                const problem plain = dense(operations[o], some[l], l, DATA_SIGNED);
                const problem strided = {{operations[o], some[l] / 2 + 1, 2, 3}, 0, DATA_NORMAL};
                for (int m = 0; m < MATHS; m++) run_public(ctx, maths[m], &plain, place, &rng);
                run_public(ctx, maths[l % MATHS], &strided, place, &rng);
            }
        }
    }
    test_context_end(ctx);
}

static void public_random(void)
{
    test_rng rng = test_rng_for("reductions public random");
    duo_context *ctx = test_context();
    for (int i = 0; i < test_amount(300, 1500, 1500); i++) {
        problem p = {.sum = {operations[i % OPERATIONS], 0, 1, 1}};
        p.sum.n = test_between(&rng, -2, i % 10 == 0 ? 70000 : 200);
        if (i % 2 == 0) {
            p.sum.incx = test_between(&rng, -3, 3);
            p.sum.incy = test_between(&rng, -3, 3);
        }
        p.offset = test_between(&rng, 0, 3);
        p.data = (test_data)test_between(&rng, DATA_SIGNED, DATA_WIDE);
        const duo_math math = maths[test_between(&rng, 0, MATHS - 1)];
        test_place place[3];
        for (int j = 0; j < 3; j++) place[j] = (test_place)test_between(&rng, 0, PLACES - 1);
        run_public(ctx, math, &p, place, &rng);
    }
    test_context_end(ctx);
}

/* More than all the staging memory holds at once. */
static void public_large(void)
{
    test_rng rng = test_rng_for("reductions large");
    duo_context *ctx = test_context();
    for (int o = 0; o < OPERATIONS; o++) {
        for (int i = 0; i < PLACES; i++) {
            const test_place place[3] = {(test_place)i, PLACE_PAGEABLE, PLACE_PAGEABLE};
            const problem p = {{operations[o], 4300007, 1 + i % 2, 1}, i, DATA_SIGNED};
            run_public(ctx, maths[i / 2 % MATHS], &p, place, &rng);
        }
    }
    test_context_end(ctx);
}

/* Small calls on the default context, as programs make them most often. */
static void public_default_context(void)
{
    test_rng rng = test_rng_for("reductions default context");
    const test_place place[3] = {PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PAGEABLE};
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    for (int o = 0; o < OPERATIONS; o++)
        for (int64_t n = 0; n <= 130; n++)
            for (int m = 0; m < MATHS; m++) {
                const problem p = dense(operations[o], n, n % 4, DATA_WIDE);
                run_public(NULL, maths[m], &p, place, &rng);
            }
    CHECK_STATUS(DUO_OK, duo_set_math(NULL, DUO_MATH_ACCURATE));
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_AUTO));
}

/* The same vector twice: x.x is the sum of squares; and the operands swapped give the same bits. */
static void public_dot_properties(void)
{
    test_rng rng = test_rng_for("dot properties");
    duo_context *ctx = test_context();
    for (int i = 0; i < 100; i++) {
        const int64_t n = test_between(&rng, 1, 5000);
        test_case("sdot/properties/n=%jd", (intmax_t)n);
        test_array x = test_sum_vector(n, 1, i % 5, DATA_NORMAL, &rng);
        test_array y = test_sum_vector(n, 1, i % 3, DATA_NORMAL, &rng);
        float square = NAN, xy = NAN, yx = NAN, backwards = NAN;
        double bound;
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, n, x.data, 1, x.data, 1, &square));
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, n, x.data, 1, y.data, 1, &xy));
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, n, y.data, 1, x.data, 1, &yx));
        CHECK_STATUS(DUO_OK, duo_sdot(ctx, n, x.data, -1, y.data, -1, &backwards));
        const double want = oracle_reduce(DUO_SDOT, n, x.data, 1, x.data, 1, &bound);
        CHECK(oracle_close(want, bound, square), "x.x = %.9g, not %.12g", (double)square, want);
        CHECK(test_same(xy, yx), "x.y = %.9g, y.x = %.9g", (double)xy, (double)yx);
        const double want_xy = oracle_reduce(DUO_SDOT, n, x.data, 1, y.data, 1, &bound);
        CHECK(oracle_close(want_xy, bound, backwards), "want_xy %.9g", (double)backwards);
        test_array_free(&x);
        test_array_free(&y);
    }
    test_context_end(ctx);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"algorithm_lengths", algorithm_lengths},
        {"algorithm_offsets", algorithm_offsets},
        {"algorithm_strides", algorithm_strides},
        {"algorithm_random", algorithm_random},
        {"algorithm_special_values", algorithm_special_values},
        {"algorithm_extremes", algorithm_extremes},
        {"public_residences", public_residences},
        {"public_random", public_random},
        {"public_large", public_large},
        {"public_default_context", public_default_context},
        {"public_dot_properties", public_dot_properties},
        {NULL, NULL},
    };
    return test_main(argc, argv, "reductions", tests);
}
