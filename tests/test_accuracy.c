/*
 * test_accuracy.c - the error of every algorithm of the reductions against the bound of the public
 * header, on data that tries it: positive, cancelling, of exponents far apart, ill-conditioned.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/reference/accuracy_data.h"
#include "bench/reference/exact_sum.h"
#include "support/calls.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/oracle.h"
#include "support/run_algorithm.h"

enum { LONGEST = 1000000, SHARP = 1025 };

static float x[LONGEST], y[LONGEST];

/* ---- Data ---- */

/*
 * SHARP elements with which the error equals the bound: each of the seven float32 additions above 1
 * errs upwards by u, so does the last rounding, and for the product one more. In each lane, 1 (or
 * just above) meets on every level a little more than u = 2^-24, half of the last place. The sum of
 * the lanes at last meets the second block in this way.
 */
static void fill_against_the_order(bool dot)
{
    static const int place[] = {64, 32, 16, 128, 256, 512, 768};
    const float little = 0x1.00001p-24f;
    memset(x, 0, SHARP * sizeof x[0]);
    for (int lane = 0; lane < 16; lane++) {
        x[lane] = dot ? 0x1.001p0f : 1.0f;
        for (int i = 0; i < 7; i++) x[lane + place[i]] = little;
    }
    x[SHARP - 1] = 16.0f * little;
    for (int i = 0; i < SHARP; i++) y[i] = i < 16 ? 0x1.001002p0f : 1.0f;
}

/* The kinds of accuracy_data.h, and this one. */
enum { AGAINST = DUO_ACCURACY_KINDS, KINDS };

static const char *name_of(int kind)
{
    return kind == AGAINST ? "against the order" : duo_accuracy_kinds[kind].name;
}

static int trials_of(int kind, int64_t n)
{
    if (kind == AGAINST) return n == SHARP ? 1 : 0;
    if (duo_accuracy_kinds[kind].condition > 0.0 && n < DUO_ACCURACY_SHORTEST_ILL) return 0;
    return n <= 5000 ? 40 : n < LONGEST ? 5 : 2;
}

static void fill(test_rng *rng, int kind, duo_operation operation, int64_t n)
{
    if (kind == AGAINST)
        fill_against_the_order(operation == DUO_SDOT);
    else
        duo_accuracy_fill(&duo_accuracy_kinds[kind], operation, n, test_random(rng), x, y);
}

/* ---- The bounds ---- */

static double worst[DUO_OPERATIONS][KINDS]; /* largest error / bound */

static void check_algorithms(duo_operation operation, int kind, int64_t n, int64_t offset)
{
    double bound;
    const double want = oracle_reduce(operation, n, x, 1, y, 1, &bound);
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    const int found = test_algorithms(operation, algorithms);
    for (int r = 0; r < found; r++) {
        float got = test_poison();
        test_case("%s/n=%jd/%s", algorithms[r]->name, (intmax_t)n, name_of(kind));
        const duo_call call = test_reduce_call(operation, n, x, 1, y, 1, &got);
        CHECK_STATUS(DUO_OK, test_run_algorithm(algorithms[r], &call, offset, offset % 2 != 0));
        const double error = fabs((double)got - want);
        CHECK(error <= bound, "got %.9g, exact %.17g, error %.3g, bound %.3g", (double)got, want,
              error, bound);
        worst[operation][kind] = fmax(worst[operation][kind], error / bound);
    }
}

static void bounds(void)
{
    static const int64_t lengths[] = {1, 7, 16, 33, 100, 1000, 1024, 1025, 5000, 65537, LONGEST};
    test_rng rng = test_rng_for("accuracy");
    for (int operation = DUO_SASUM; operation <= DUO_SDOT; operation++) {
        for (int kind = 0; kind < KINDS; kind++) {
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                const int64_t n = lengths[l];
                const int trials = trials_of(kind, n);
                for (int t = 0; t < trials; t++) {
                    fill(&rng, kind, (duo_operation)operation, n);
                    check_algorithms((duo_operation)operation, kind, n, t % 16);
                }
            }
        }
        printf("    %s: largest error / bound:", duo_operation_name((duo_operation)operation));
        for (int kind = 0; kind < KINDS; kind++)
            printf("%s %s %.3f", kind == 0 ? "" : ",", name_of(kind), worst[operation][kind]);
        printf("\n");
    }
}

/* ---- What the bounds are judged by ---- */

/* A product of two floats of any size, subnormal ones included. */
static double random_product(test_rng *rng)
{
    const float a = ldexpf((float)test_unit(rng) - 0.5f, (int)test_between(rng, -140, 128));
    const float b = ldexpf((float)test_unit(rng) - 0.5f, (int)test_between(rng, -140, 128));
    return (double)a * (double)b;
}

/* All terms but one cancel: float64 would nearly always lose that one. */
static void exact_sum(void)
{
    enum { PAIRS = 40 };
    test_rng rng = test_rng_for("exact sum");
    int lost = 0;
    for (int i = 0; i < 2000; i++) {
        test_case("exact_sum/%d", i);
        const double rest = random_product(&rng);
        double term[PAIRS], plain = rest;
        duo_exact_sum sum = {0};
        duo_exact_sum_add(&sum, rest);
        for (int p = 0; p < PAIRS; p++) plain += term[p] = random_product(&rng);
        for (int p = 0; p < PAIRS; p++) duo_exact_sum_add(&sum, term[p]);
        for (int p = 0; p < PAIRS; p++) duo_exact_sum_add(&sum, -term[p]);
        for (int p = 0; p < PAIRS; p++) plain -= term[p];
        const double got = duo_exact_sum_value(&sum);
        CHECK(got == rest, "%a, not %a", got, rest);
        if (plain != rest) lost++;
    }
    CHECK(lost >= 1000, "float64 loses only %d", lost);
}

/* The generators reach the condition that was asked for. */
static void conditions(void)
{
    static const int64_t lengths[] = {32, 33, 100, 1025, 65537, LONGEST};
    test_rng rng = test_rng_for("conditions");
    for (int kind = 0; kind < DUO_ACCURACY_KINDS; kind++) {
        const double condition = duo_accuracy_kinds[kind].condition;
        for (int i = 0; i < 6 * 2 * 3 && condition > 0.0; i++) {
            const int64_t n = lengths[i % 6];
            const duo_operation operation = i / 6 % 2 == 0 ? DUO_SDOT : DUO_SSUM;
            test_case("conditions/%s/n=%jd/%g", duo_operation_name(operation), (intmax_t)n,
                      condition);
            fill(&rng, kind, operation, n);
            double bound;
            const double sum = oracle_reduce(operation, n, x, 1, y, 1, &bound);
            const double magnitude = bound / (operation == DUO_SDOT ? 9.0 : 8.0) * 0x1p24;
            const double reached = magnitude / fabs(sum);
            CHECK(fabs(reached / condition - 1.0) <= 1e-3, "condition %g", reached);
        }
    }
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"exact_sum", exact_sum},
        {"conditions", conditions},
        {"bounds", bounds},
        {NULL, NULL},
    };
    return test_main(argc, argv, "accuracy", tests);
}
