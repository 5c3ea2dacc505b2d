/*
 * test_crossover_plan.c - the measurements of the crossover benchmark: which fit into the time,
 * which sizes come between the steps of the ladders, and which were disturbed. On made figures.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "cpu/blas_library.h"
#include "support/data.h"
#include "support/harness.h"

/* ---- Budget ---- */

static void fitting(void)
{
    test_case("crossover/budget/worth-first");
    duo_budget_item item[] = {{1, 5.0, false, 0},
                              {2, 4.0, false, 1},
                              {2, 1.0, false, 2},
                              {0, 1.0, false, 3},
                              {2, (double)INFINITY, false, 4}};
    const double all = duo_budget_fit(item, 5, 7.0);
    static const bool fits[] = {false, true, true, true, false}; /* by owner */
    for (int i = 0; i < 5; i++)
        CHECK(item[i].fits == fits[item[i].owner], "item %d: %d", item[i].owner, item[i].fits);
    CHECK(all == 6.0, "%g seconds", all);
    CHECK(item[0].owner == 2, "the first is %d", item[0].owner);

    /* The largest sizes of a ladder are left out, never one between others. */
    test_case("crossover/budget/ladder");
    duo_budget_item ladder[10];
    for (int i = 0; i < 10; i++) ladder[i] = (duo_budget_item){1, i * i, false, i};
    duo_budget_fit(ladder, 10, 100.0);
    for (int i = 1; i < 10; i++) CHECK(ladder[i].fits <= ladder[i - 1].fits, "a hole at %d", i);
    CHECK(ladder[6].fits && !ladder[7].fits, "another number fits");

    test_case("crossover/budget/nothing");
    duo_budget_fit(ladder, 10, -1.0);
    for (int i = 0; i < 10; i++) CHECK(!ladder[i].fits, "item %d", i);
    duo_budget_item unknown = {1, (double)NAN, true, 0};
    CHECK(duo_budget_fit(&unknown, 1, 1e9) == 0.0 && !unknown.fits, "what nobody knows fits");
}

static void expected_time(void)
{
    const duo_effort effort = {.sample_seconds = 0.01, .rounds = 7, .budget_seconds = 2.0};
    test_case("crossover/budget/seconds");
    /* Short calls: 7 samples, and the time to count the calls. Long ones: twice, and all that
     * fit. */
    CHECK(fabs(duo_budget_seconds(&effort, 1e-6) - 0.075) < 1e-4, "%g",
          duo_budget_seconds(&effort, 1e-6));
    CHECK(fabs(duo_budget_seconds(&effort, 0.1) - 0.9) < 1e-9, "%g",
          duo_budget_seconds(&effort, 0.1));
    CHECK(fabs(duo_budget_seconds(&effort, 0.9) - 2.7) < 1e-9, "%g",
          duo_budget_seconds(&effort, 0.9));
    CHECK(duo_budget_seconds(&effort, 12.0) == 12.0, "%g", duo_budget_seconds(&effort, 12.0));
    double before = 0.0;
    for (double call = 1e-7; call < 0.25; call *= 1.1) {
        const double seconds = duo_budget_seconds(&effort, call);
        CHECK(seconds >= before && seconds >= call, "%g s of calls of %g s", seconds, call);
        before = seconds;
    }
}

/* ---- Cases ---- */

static duo_crossover *new_crossover(bool quick)
{
    duo_crossover *const x = calloc(1, sizeof *x);
    if (x == NULL) abort();
    x->quick = quick;
    for (int i = 0; i < DUO_OPERATIONS; i++) x->wanted[i] = true;
    duo_crossover_plan(x);
    return x;
}

static bool in_order(const duo_crossover *x)
{
    bool ok = true;
    for (int i = 1; i < x->cases; i++) {
        const duo_case *const a = &x->item[i - 1], *const b = &x->item[i];
        if (a->problem.operation == b->problem.operation && strcmp(a->family, b->family) == 0)
            ok = ok && a->n < b->n;
        else
            ok = ok && a->problem.operation <= b->problem.operation;
    }
    return ok;
}

static void cases(void)
{
    for (int quick = 0; quick < 2; quick++) {
        test_case("crossover/cases/%s", quick ? "quick" : "full");
        duo_crossover *const x = new_crossover(quick);
        const int planned = x->cases;
        CHECK(planned > 40 && planned < DUO_CASES - 64 && in_order(x), "%d cases", planned);
        for (int i = 0; i < planned; i++) CHECK(!x->item[i].between, "case %d", i);
        const duo_case *const c = duo_crossover_add(x, DUO_SGEMM, "16 x n x n", 777);
        CHECK(c != NULL && c->between && c->n == 777 && c->problem.shape[0] == 16 &&
                  c->problem.shape[1] == 777 && c->problem.shape[2] == 777,
              "not the case");
        CHECK(x->cases == planned + 1 && in_order(x), "%d cases", x->cases);
        CHECK(duo_crossover_add(x, DUO_SGEMM, "16 x n x n", 777) == c && x->cases == planned + 1,
              "added twice");
        CHECK(duo_crossover_add(x, DUO_SDOT, "n", 777) == &x->item[x->cases - 1] - 0 || in_order(x),
              "out of order");
        CHECK(duo_crossover_add(x, DUO_SGEMM, "n", 777) == NULL, "a family of another operation");
        CHECK(duo_crossover_add(x, DUO_SSUM, "n x n x n", 777) == NULL, "no such family");
        CHECK(duo_crossover_add(x, DUO_SSUM, "n", 0) == NULL, "a size of 0");
        /* A profile's curve has room for every size of a family. */
        for (int i = 1; i <= 2 * DUO_CURVE_POINTS; i++)
            (void)duo_crossover_add(x, DUO_SSUM, "n", 1000 + i);
        int members = 0;
        for (int i = 0; i < x->cases; i++) members += x->item[i].problem.operation == DUO_SSUM;
        CHECK(members == DUO_CURVE_POINTS && in_order(x), "%d sizes", members);
        free(x);
    }
}

/* ---- Refining ---- */

static duo_figure figure(double seconds)
{
    return (duo_figure){.median_seconds = seconds,
                        .minimum_seconds = seconds,
                        .low_seconds = 0.99 * seconds,
                        .high_seconds = 1.01 * seconds,
                        .algorithm = "made"};
}

/* The CPU takes n ns; a GPU takes 100 us and a tenth of n ns from pageable memory. */
static void measure_made(duo_case *c)
{
    const double n = (double)c->n;
    c->figure[DUO_SERIES_ONE + DUO_ssum_cpu_lanes] = figure(1e-9 * n);
    c->figure[DUO_SERIES_GPU + DUO_PLACE_PAGEABLE] = figure(1e-4 + 1e-10 * n);
}

static duo_crossover *only_ssum(void)
{
    duo_crossover *const x = new_crossover(false);
    memset(x->wanted, 0, sizeof x->wanted);
    x->wanted[DUO_SSUM] = true;
    duo_crossover_plan(x);
    for (int i = 0; i < x->cases; i++) measure_made(&x->item[i]);
    return x;
}

/* The two curves meet at n = 111111: bisecting ends with sizes that are 5 % apart around it. */
static void crossings(void)
{
    test_case("crossover/refine/crossing");
    duo_crossover *const x = only_ssum();
    duo_refinement list[16];
    int steps = 0;
    for (; duo_crossover_refine(x, list, 16) > 0 && steps < 20; steps++) {
        CHECK(list[0].operation == DUO_SSUM && list[0].n > 65536 && list[0].n < 131072,
              "step %d proposes %lld", steps, (long long)list[0].n);
        duo_case *const c = duo_crossover_add(x, list[0].operation, list[0].family, list[0].n);
        if (!CHECK(c != NULL, "no room")) break;
        measure_made(c);
    }
    CHECK(steps == 4, "%d steps", steps);
    const duo_crossing found = duo_crossover_find(x, DUO_SSUM, "n", DUO_PLACE_PAGEABLE);
    CHECK(found.verdict == DUO_WINS_FROM && fabs(found.between / 111111.0 - 1.0) < 0.01, "%g",
          found.between);
    CHECK(found.n >= 111111 && (double)found.n < 1.05 * 111112.0, "%lld", (long long)found.n);
    free(x);
}

/* Curves that are almost parallel where they meet, at n = 333333, and noise of a percent. */
static void measure_noisy(duo_case *c, test_rng *rng)
{
    const double n = (double)c->n;
    const double noise[2] = {1.0 + 1e-4 * (double)test_between(rng, -100, 100),
                             1.0 + 1e-4 * (double)test_between(rng, -100, 100)};
    c->figure[DUO_SERIES_ONE + DUO_ssum_cpu_lanes] = figure(noise[0] * 1e-9 * n);
    c->figure[DUO_SERIES_GPU + DUO_PLACE_PAGEABLE] = figure(noise[1] * (1e-4 + 7e-10 * n));
}

static double found_in_noise(test_rng *rng)
{
    duo_crossover *const x = only_ssum();
    duo_refinement list[16];
    for (int i = 0; i < x->cases; i++) measure_noisy(&x->item[i], rng);
    for (int step = 0; step < 10 && duo_crossover_refine(x, list, 16) > 0; step++) {
        duo_case *const c = duo_crossover_add(x, list[0].operation, list[0].family, list[0].n);
        if (c != NULL) measure_noisy(c, rng);
    }
    const duo_crossing found = duo_crossover_find(x, DUO_SSUM, "n", DUO_PLACE_PAGEABLE);
    free(x);
    return found.verdict == DUO_WINS_FROM ? found.between : (double)NAN;
}

/* The crossings of two runs lie within 5 % of each other. */
static void two_runs(void)
{
    enum { PAIRS = 200 };
    int far_apart = 0;
    test_rng rng = test_rng_for("crossover/two-runs");
    test_case("crossover/two-runs");
    for (int i = 0; i < PAIRS; i++) {
        const double a = found_in_noise(&rng), b = found_in_noise(&rng);
        far_apart += !(fabs(log(a / b)) <= log(1.05));
    }
    CHECK(far_apart <= PAIRS / 20, "%d of %d pairs are further apart", far_apart, PAIRS);
}

/* A step in a curve is looked at from both sides, once the crossings are known. */
static void bends(void)
{
    test_case("crossover/refine/bend");
    duo_crossover *const x = only_ssum();
    duo_refinement list[16];
    for (int i = 0; i < x->cases; i++) {
        x->item[i].figure[DUO_SERIES_GPU + DUO_PLACE_PAGEABLE] = (duo_figure){0};
        if (x->item[i].n > 1 << 20)
            x->item[i].figure[DUO_SERIES_ONE + DUO_ssum_cpu_lanes] =
                figure(3e-9 * (double)x->item[i].n);
    }
    const int count = duo_crossover_refine(x, list, 16);
    CHECK(count >= 1, "no size");
    for (int i = 0; i < count; i++)
        CHECK(list[i].n > 1 << 18 && list[i].n < 1 << 22, "%lld", (long long)list[i].n);
    /* If the quartiles lie as far apart as the curve is off, the curve may be right. */
    for (int i = 0; i < x->cases; i++)
        x->item[i].figure[DUO_SERIES_ONE + DUO_ssum_cpu_lanes].high_seconds *= 4.0;
    CHECK(duo_crossover_refine(x, list, 16) == 0, "noise is taken for a bend");
    free(x);
}

static void disturbed(void)
{
    test_case("crossover/disturbed");
    duo_crossover *const x = only_ssum();
    const int series = DUO_SERIES_ONE + DUO_ssum_cpu_lanes;
    for (int i = 0; i < x->cases; i++)
        CHECK(!duo_crossover_disturbed(x, &x->item[i], series), "case %d", i);
    duo_figure *const f = &x->item[5].figure[series];
    f->high_seconds = 1.5 * f->low_seconds;
    CHECK(duo_crossover_disturbed(x, &x->item[5], series), "its quartiles lie apart");
    *f = figure(1e-3);
    CHECK(duo_crossover_disturbed(x, &x->item[5], series), "a larger size takes less");
    f->predicted = true;
    CHECK(!duo_crossover_disturbed(x, &x->item[5], series), "it was not measured");
    *f = figure(1e-9 * (double)x->item[5].n);
    f->high_seconds = (double)NAN;
    CHECK(duo_crossover_disturbed(x, &x->item[5], series), "not a number");
    free(x);
}

/* A measured algorithm hides the predictions for one for which there was no time. */
static void measured_first(void)
{
    test_case("crossover/measured-first");
    duo_crossover *const x = new_crossover(false);
    duo_case *const c = duo_crossover_add(x, DUO_SGEMM, "n x n x n", 2048);
    duo_figure *const plain = &c->figure[DUO_SERIES_ONE + DUO_sgemm_cpu_ffma];
    duo_figure *const openblas = &c->figure[DUO_SERIES_ONE + DUO_sgemm_cpu_openblas];
    *plain = figure(1e-3);
    plain->predicted = true;
    CHECK(duo_crossover_cpu(c) == plain, "there is nothing else");
    *openblas = figure(2e-3);
    CHECK(duo_crossover_cpu(c) == openblas, "a prediction hides what was measured");
    c->figure[DUO_SERIES_ALL + DUO_sgemm_cpu_openblas] =
        (duo_figure){.median_seconds = 1e-3, .algorithm = "sgemm_cpu_openblas", .predicted = true};
    CHECK(duo_crossover_cpu(c) == openblas, "nor of its own on other threads");
    c->figure[DUO_SERIES_ALL + DUO_sgemm_cpu_openblas] = (duo_figure){0};
    plain->predicted = false;
    CHECK(duo_crossover_cpu(c) == plain, "the faster of the two");
    free(x);
}

/* ---- Order of measurements ---- */

/* The worth of a series of a case; -1: it is not timed. */
static int value_of(const duo_crossover *x, const duo_case *c, int series)
{
    duo_source source[DUO_MOST_SOURCES];
    const int sources = duo_crossover_sources(x, c, source);
    for (int i = 0; i < sources; i++)
        if (source[i].series == series) return source[i].value;
    return -1;
}

/* Reductions in float64 come with the curves of the profile at a few sizes, quick or not, and after
 * everything else at others. */
static void float64_steps(void)
{
    static const duo_algorithm_id ids[][2] = {{DUO_sasum_cpu_float64, DUO_sasum_cpu_lanes},
                                              {DUO_ssum_cpu_float64, DUO_ssum_cpu_lanes},
                                              {DUO_sdot_cpu_float64, DUO_sdot_cpu_lanes}};
    for (int quick = 0; quick < 2; quick++)
        for (int i = 0; i < 3; i++) {
            duo_crossover *const x = new_crossover(quick);
            x->threads = 2;
            int steps = 0, others = 0;
            test_case("crossover/float64/%s/%s", quick ? "quick" : "full",
                      duo_algorithm_name(ids[i][0]));
            for (int j = 0; j < x->cases; j++) {
                const duo_case *const c = &x->item[j];
                if (c->problem.operation != duo_algorithm_operation(ids[i][0])) continue;
                const int one = value_of(x, c, DUO_SERIES_ONE + (int)ids[i][0]);
                const int all = value_of(x, c, DUO_SERIES_ALL + (int)ids[i][0]);
                const int curve = value_of(x, c, DUO_SERIES_ONE + (int)ids[i][1]);
                CHECK(one >= 0 && one == all && one <= curve, "%d: %d and %d of %d", (int)c->n, one,
                      all, curve);
                steps += one == curve;
                others += one < curve;
            }
            CHECK(steps == 6 && others > steps, "%d steps, %d others", steps, others);
            free(x);
        }
}

/* ---- Threads ---- */

static void efficiency(void)
{
    test_case("crossover/efficiency");
    CHECK(test_close(duo_parallel_efficiency(1.9, 1.0, 2), 0.95, 1e-12), "of two threads");
    CHECK(duo_parallel_efficiency(5.0, 1.0, 2) == 1.0, "no thread does more than one");
    CHECK(duo_parallel_efficiency(1e-9, 1.0, 2) == 0.01, "nor nothing");
}

static void forks(void)
{
    enum { RUNS = 100 };
    double overhead[RUNS], seconds = -1.0;
    const double piece = 6e-6;
    test_case("crossover/forks/quiet");
    for (int i = 0; i < RUNS; i++) overhead[i] = 1e-6 + 1e-9 * i;
    CHECK(duo_fork_seconds(overhead, RUNS, piece, &seconds) && seconds > 1e-6 && seconds < 1.1e-6,
          "%g s", seconds);
    test_case("crossover/forks/mostly-disturbed");
    for (int i = 10; i < RUNS; i++) overhead[i] = 16e-3;
    CHECK(duo_fork_seconds(overhead, RUNS, piece, &seconds) && seconds < 1.1e-6, "%g s", seconds);
    test_case("crossover/forks/all-disturbed");
    for (int i = 0; i < RUNS; i++) overhead[i] = 16e-3;
    seconds = -1.0;
    CHECK(!duo_fork_seconds(overhead, RUNS, piece, &seconds) && seconds == -1.0, "%g s", seconds);
    for (int i = 0; i < RUNS; i++) overhead[i] = (double)NAN;
    CHECK(!duo_fork_seconds(overhead, RUNS, piece, &seconds), "%g s", seconds);
    test_case("crossover/forks/clock");
    for (int i = 0; i < RUNS; i++) overhead[i] = -1e-7;
    CHECK(duo_fork_seconds(overhead, RUNS, piece, &seconds) && seconds == 0.0, "%g s", seconds);
}

static const test_entry tests[] = {
    {"fitting", fitting},
    {"expected_time", expected_time},
    {"cases", cases},
    {"crossings", crossings},
    {"two_runs", two_runs},
    {"bends", bends},
    {"disturbed", disturbed},
    {"measured_first", measured_first},
    {"float64_steps", float64_steps},
    {"efficiency", efficiency},
    {"forks", forks},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "crossover_plan", tests); }
