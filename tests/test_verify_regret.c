/*
 * test_verify_regret.c - regrets, sums and errors of predictions, from times made by hand.
 */
#include <math.h>
#include <string.h>

#include "bench/crossover/verify.h"
#include "support/data.h"
#include "support/harness.h"

enum { PROBLEMS = 24 };

static duo_verified made[PROBLEMS];

/* `seconds`, give or take a share of them. */
static duo_timed timed(duo_algorithm_id id, int threads, double predicted, double seconds,
                       double share)
{
    return (duo_timed){.algorithm = duo_algorithm_of(id),
                       .threads = threads,
                       .predicted_seconds = predicted,
                       .median_seconds = seconds,
                       .low_seconds = seconds * (1.0 - share),
                       .high_seconds = seconds * (1.0 + share)};
}

/* A product of this edge: the CPU on one thread and on two, and the GPU, which is `chosen`? */
static duo_verified product(int64_t edge, double one, double two, double gpu, int chosen)
{
    return (duo_verified){
        .drawn = {.problem = {.operation = DUO_SGEMM, .shape = {edge, edge, edge}}},
        .count = 3,
        .chosen = chosen,
        .candidate = {timed(DUO_sgemm_cpu_openblas, 1, one, one, 0.01),
                      timed(DUO_sgemm_cpu_openblas, 2, two, two, 0.01),
                      timed(DUO_sgemm_gpu_tiled, 0, gpu, gpu, 0.01)},
        .api_seconds = 1.0};
}

static duo_verification sum_up(int problems)
{
    duo_verification v = {.problem = made, .problems = problems};
    CHECK(duo_verification_sum_up(&v), "no memory");
    return v;
}

static void right_and_wrong(void)
{
    made[0] = product(100, 1.0, 2.0, 3.0, 0); /* right */
    made[1] = product(600, 3.0, 4.0, 2.0, 0); /* the wrong side: 50 % */
    made[2] =
        product(3000, 3.0, 2.0, 9.0, 0); /* the wrong number of threads: 50 %, no other side */
    made[3] = product(3000, 9.0, 8.0, 2.0, 2); /* right */
    test_case("verify_regret/right-and-wrong");
    const duo_verification v = sum_up(4);
    CHECK(v.algorithm.problems == 4 && v.side.problems == 4, "not all problems count");
    CHECK(v.algorithm.above_5_percent == 2 && v.algorithm.above_20_percent == 2, "algorithm");
    CHECK(test_close(v.algorithm.worst, 0.5, 1e-12), "worst %g", v.algorithm.worst);
    CHECK(test_close(v.algorithm.median, 0.25, 1e-12), "median %g", v.algorithm.median);
    CHECK(v.side.above_5_percent == 1 && test_close(v.side.worst, 0.5, 1e-12), "side");
    CHECK(test_close(v.chosen_seconds, 9.0, 1e-12), "chosen %g", v.chosen_seconds);
    CHECK(test_close(v.best_seconds, 7.0, 1e-12), "best %g", v.best_seconds);
    CHECK(test_close(v.api_seconds, 4.0, 1e-12), "API %g", v.api_seconds);
    CHECK(test_close(v.policy_seconds[DUO_ALWAYS_CPU], 14.0, 1e-12), "always CPU");
    CHECK(test_close(v.policy_seconds[DUO_ALWAYS_GPU], 16.0, 1e-12), "always GPU");
    CHECK(test_close(v.policy_seconds[DUO_CUBE_FROM_500], 14.0, 1e-12), "cube from 500");
    CHECK(test_close(v.policy_seconds[DUO_SIDES_ABOVE_2048], 15.0, 1e-12), "sides above 2048");
}

/* Regret of figures that overlap may be noise, and is told only as raw. */
static void noise(void)
{
    made[0] = product(100, 1.10, 9.0, 1.0, 0);
    made[0].candidate[0].low_seconds = made[0].candidate[2].high_seconds;
    made[1] = made[0];
    made[1].candidate[0].low_seconds = 1.02 * made[1].candidate[2].high_seconds;
    test_case("verify_regret/noise");
    const duo_verification v = sum_up(2);
    CHECK(v.algorithm.above_5_percent == 1 && v.algorithm_raw.above_5_percent == 2, "algorithm");
    CHECK(v.side.above_5_percent == 1 && v.side_raw.above_5_percent == 2, "side");
    CHECK(test_close(v.algorithm_raw.median, 0.1, 1e-12), "raw %g", v.algorithm_raw.median);
}

/* Without a GPU there is no side to choose; untimed problems are not judged. */
static void incomplete(void)
{
    made[0] = product(100, 1.0, 2.0, 3.0, 1);
    made[0].count = 2;
    made[1] = product(100, 1.0, 2.0, 3.0, -1);
    made[2] = product(100, 1.0, 2.0, 0.0, 0); /* the GPU was not timed */
    made[2].candidate[1].median_seconds = 0.0;
    test_case("verify_regret/incomplete");
    const duo_verification v = sum_up(3);
    CHECK(v.algorithm.problems == 2 && v.side.problems == 0, "%d and %d", v.algorithm.problems,
          v.side.problems);
    CHECK(test_close(v.best_seconds, 2.0, 1e-12), "best %g", v.best_seconds);
    CHECK(test_close(v.policy_seconds[DUO_ALWAYS_GPU], 2.0, 1e-12),
          "what the GPU cannot do runs on the CPU");
    const duo_verification none = sum_up(0);
    CHECK(none.algorithm.problems == 0 && none.ratios.pairs == 0 && none.offenders == 0, "none");
}

/* The p95 of 20 is the second largest; a single problem is each of its quantiles. */
static void quantiles(void)
{
    test_case("verify_regret/quantiles");
    for (int i = 0; i < 21; i++) made[i] = product(100, 1.0 + 0.1 * i, 9.0, 1.0, 0);
    const duo_verification v = sum_up(21);
    CHECK(test_close(v.algorithm_raw.median, 1.0, 1e-12), "median %g", v.algorithm_raw.median);
    CHECK(test_close(v.algorithm_raw.p95, 1.9, 1e-12), "p95 %g", v.algorithm_raw.p95);
    CHECK(test_close(v.algorithm_raw.p99, 2.0, 1e-12), "p99 %g", v.algorithm_raw.p99);
    made[0] = product(100, 1.5, 9.0, 1.0, 0);
    const duo_verification one = sum_up(1);
    CHECK(test_close(one.algorithm.median, 0.5, 1e-12) && test_close(one.algorithm.p99, 0.5, 1e-12),
          "of one problem");
}

static void predictions(void)
{
    made[0] = product(100, 1.0, 2.0, 3.0, 0);
    made[0].drawn.shape_class = DUO_SHAPE_FLAT;
    made[0].candidate[0].predicted_seconds = 0.81; /* took 1.23 times as long */
    made[0].candidate[1].predicted_seconds = 2.6;  /* 1.3 times the real time */
    made[0].candidate[2].predicted_seconds = 2.3;  /* took 1.30 times as long */
    made[1] = product(100, 19e-6, 21e-6, 1.0, 0);  /* the first is too short to count */
    made[1].candidate[2].predicted_seconds = 0.0;  /* the model knows nothing of it */
    test_case("verify_regret/predictions");
    const duo_verification v = sum_up(2);
    CHECK(v.ratios.pairs == 4 && v.ratios.close == 2, "%d of %d", v.ratios.close, v.ratios.pairs);
    CHECK(v.by_algorithm[DUO_sgemm_cpu_openblas].pairs == 3 &&
              v.by_algorithm[DUO_sgemm_cpu_openblas].close == 2,
          "CPU");
    CHECK(v.by_algorithm[DUO_sgemm_gpu_tiled].pairs == 1 &&
              test_close(v.by_algorithm[DUO_sgemm_gpu_tiled].median, 3.0 / 2.3, 1e-12),
          "GPU");
    CHECK(v.by_class[DUO_SHAPE_FLAT].pairs == 3 && v.by_class[DUO_SHAPE_SQUARE].pairs == 1 &&
              v.by_class[DUO_SHAPE_TINY].pairs == 0,
          "classes");
}

/* A CPU that takes twice as long as in the profile: where predictions follow its pace, its own
 * count double, and the GPU's do not. */
static void pace(void)
{
    made[0] = product(100, 2.0, 3.0, 4.0, 0);
    made[0].pace = 2.0;
    made[0].candidate[0].predicted_seconds = 1.0;
    made[0].candidate[1].predicted_seconds = 3.0;
    made[1] = made[0];
    made[1].count = 1;
    made[1].pace = 1.2;
    made[2] = made[1]; /* unknown: it does not count */
    made[2].pace = (double)NAN;
    test_case("verify_regret/pace");
    const duo_verification v = sum_up(3);
    CHECK(v.ratios.pairs == 5 && v.ratios.close == 2, "%d of %d", v.ratios.close, v.ratios.pairs);
    CHECK(v.by_pace.pairs == 4 && v.by_pace.close == 2, "by pace %d of %d", v.by_pace.close,
          v.by_pace.pairs);
    CHECK(test_close(v.by_pace.low, 0.5, 1e-12) && test_close(v.by_pace.high, 2.0 / 1.2, 1e-12),
          "from %g to %g", v.by_pace.low, v.by_pace.high);
    CHECK(v.pace.pairs == 2 && v.pace.close == 1 && test_close(v.pace.median, 1.6, 1e-12),
          "%g, %d close", v.pace.median, v.pace.close);
}

/* The worst ten, worst first, in any order of problems. */
static void offenders(void)
{
    test_case("verify_regret/offenders");
    for (int i = 0; i < PROBLEMS; i++)
        made[i] = product(100, 1.0 + 0.1 * ((7 * i) % PROBLEMS), 99.0, 1.0, 0);
    duo_verification v = sum_up(PROBLEMS);
    CHECK(v.offenders == DUO_OFFENDERS, "%d", v.offenders);
    for (int i = 0; i < v.offenders; i++) {
        CHECK(test_close(v.offender[i].regret, 0.1 * (PROBLEMS - 1 - i), 1e-9), "%d: %g", i,
              v.offender[i].regret);
        CHECK(v.offender[i].problem * 7 % PROBLEMS == PROBLEMS - 1 - i && v.offender[i].best == 2,
              "%d: another problem", i);
    }
    made[0].candidate[0].predicted_seconds = 0.1; /* of problem 1 the best was predicted worse */
    made[1].candidate[2].predicted_seconds = 9.0;
    made[0].candidate[0].median_seconds = made[0].candidate[0].low_seconds = 8.0;
    made[1].candidate[0].median_seconds = made[1].candidate[0].low_seconds = 7.0;
    v = sum_up(2);
    CHECK(v.offenders == 2 && v.offender[0].chosen_erred && !v.offender[1].chosen_erred, "erred");
    CHECK(duo_offender_erred(&v, &v.offender[0]) == &made[0].candidate[0] &&
              duo_offender_erred(&v, &v.offender[1]) == &made[1].candidate[2],
          "which candidate");
}

/* Whole and in place by predicted and real seconds. */
static duo_part part(duo_algorithm_id id, int threads, double predicted, double real,
                     double there_predicted, double there_real, double one)
{
    const duo_timed whole = timed(id, threads, predicted, real, 0.0);
    const duo_timed there = timed(id, threads, there_predicted, there_real, 0.0);
    const duo_timed alone = timed(id, 1, 1.0, one, 0.0);
    return duo_part_of(&whole, there_real > 0.0 ? &there : NULL, one > 0.0 ? &alone : NULL);
}

static void parts(void)
{
    const duo_algorithm_id cpu = DUO_sgemm_cpu_openblas, gpu = DUO_sgemm_gpu_tiled;
    test_case("verify_regret/parts");
    CHECK(part(gpu, 0, 3.0, 9.0, 1.0, 1.5, 0.0) == DUO_PART_TRANSFER, "of 6 s 5.5 elsewhere");
    CHECK(part(gpu, 0, 3.0, 9.0, 1.0, 6.5, 0.0) == DUO_PART_COMPUTE, "of 6 s 5.5 in place");
    CHECK(part(gpu, 0, 3e-6, 9e-6, 1e-6, 6.5e-6, 0.0) == DUO_PART_LAUNCH, "a short kernel");
    CHECK(part(gpu, 0, 3.0, 9.0, 0.0, 0.0, 0.0) == DUO_PART_COMPUTE, "not known");
    CHECK(part(cpu, 2, 3.0, 9.0, 1.0, 1.5, 1.0) == DUO_PART_TRANSFER, "operands brought home");
    CHECK(part(cpu, 2, 1.0, 9.0, 1.0, 9.0, 1.2) == DUO_PART_THREADS, "right on one thread");
    CHECK(part(cpu, 2, 1.0, 9.0, 0.0, 0.0, 4.0) == DUO_PART_COMPUTE, "wrong on one thread, too");
    CHECK(part(cpu, 1, 1.0, 9.0, 0.0, 0.0, 1.0) == DUO_PART_COMPUTE, "it is the one thread");
    CHECK(part(cpu, 2, 0.0, 9.0, 0.0, 0.0, 4.0) == DUO_PART_THREADS, "so many were not thought of");
}

/* The text has the figures, in 80 columns. */
static void printed(void)
{
    static char text[20000];
    test_case("verify_regret/printed");
    for (int i = 0; i < PROBLEMS; i++) made[i] = product(16383, 1.0 + 0.1 * i, 99.0, 1.0, 0);
    duo_verification v = sum_up(PROBLEMS);
    v.judged = v.gpu = true;
    test_capture_begin();
    duo_verification_print(&v, stdout);
    fflush(stdout);
    const size_t length = test_capture_end(text, sizeof text);
    test_contains(text, "seed 0), 23 took more than 5 %");
    test_contains(text, "GPU if m and n > 2048");
    test_contains(text, "Machine not known");
    test_contains(text, "sgemm 16383x16383x16383 nn");
    size_t column = 0, widest = 0;
    for (size_t i = 0; i < length; i++) {
        column = text[i] == '\n' ? 0 : column + 1;
        if (column > widest) widest = column;
    }
    CHECK(widest <= 80, "%d columns", (int)widest);
    v.judged = false;
    test_capture_begin();
    duo_verification_print(&v, stdout);
    fflush(stdout);
    (void)test_capture_end(text, sizeof text);
    test_contains(text, "Not judged");
    CHECK(strstr(text, "took more") == NULL, "judged all the same");
}

static const test_entry tests[] = {
    {"right_and_wrong", right_and_wrong},
    {"noise", noise},
    {"incomplete", incomplete},
    {"quantiles", quantiles},
    {"predictions", predictions},
    {"pace", pace},
    {"offenders", offenders},
    {"parts", parts},
    {"printed", printed},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "verify_regret", tests); }
