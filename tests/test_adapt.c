/*
 * test_adapt.c - learning from calls (duo_set_adapt), and which calls teach. Trials are in
 * test_adapt_trials.c, processes and threads in test_adapt_threads.c.
 */
#include <math.h>

#include "choice/learned.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/learner.h"

/* ---- Profiles that lie ---- */

static double predicted(const duo_decision *d, const char *name)
{
    const duo_candidate *const c = candidate(d, name);
    return c != NULL ? c->predicted_seconds : (double)NAN;
}

/* The GPU is said to be faster than the CPU, but takes four times as long as said. */
static void algorithm_too_cheap(void)
{
    test_case("too-cheap/on");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.2e-3, 0.5e-3, 0.8e-3);
    const int wrong = sums_on(ctx, DUO_SIDE_GPU, 12);
    CHECK(wrong >= 2 && wrong <= 6, "%d of 12 on the GPU", wrong);
    check_side(ctx, DUO_SIDE_CPU);
    const duo_decision d = last_decision(ctx);
    CHECK(predicted(&d, "ssum_gpu_shuffle") > 0.5e-3, "%g s", predicted(&d, "ssum_gpu_shuffle"));
    test_case("too-cheap/another-operation");
    float result;
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, VECTOR, vector, 1, &result));
    check_side(ctx, DUO_SIDE_GPU); /* nothing was learned of its algorithm */
    learner_end(ctx);
}

/* The link is said to move 1 GB/s, and moves a quarter. */
static void link_too_cheap(void)
{
    test_case("link/pageable");
    duo_context *const ctx = machine_that_takes(2e-3, 0.01e-3, 2e-3, 4.2e-3);
    machine.upload_pageable = 1e9;
    const int wrong = sums_on(ctx, DUO_SIDE_GPU, 12);
    CHECK(wrong >= 2 && wrong <= 6, "%d of 12 on the GPU", wrong);
    check_side(ctx, DUO_SIDE_CPU);
    duo_ratios ratios;
    duo_learned_ratios(0, &machine, &ratios);
    CHECK(ratios.link[DUO_UP_PAGEABLE] > 1.8f, "ratio %g", (double)ratios.link[DUO_UP_PAGEABLE]);
    CHECK(ratios.link[DUO_UP_PINNED] == 1.0f && ratios.link[DUO_DOWN_PAGEABLE] == 1.0f,
          "another way was learned of");
    for (int i = 0; i < DUO_LENGTHS; i++)
        CHECK(fabsf(logf(ratios.work[DUO_ssum_gpu_shuffle][i])) < 0.1f, "the work's ratio is %g",
              (double)ratios.work[DUO_ssum_gpu_shuffle][i]);

    test_case("link/another-operation");
    float result; /* it sends the same way, so it is expected to be as slow */
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, VECTOR, vector, 1, &result));
    check_side(ctx, DUO_SIDE_CPU);

    test_case("link/resident");
    void *x;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, VECTOR * sizeof *vector, &x));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, x, vector, VECTOR * sizeof *vector));
    sum_all(ctx, x);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK_STATUS(DUO_OK, duo_free(ctx, x));
    learner_end(ctx);
}

/* A neighbour makes one call 100 times longer: later calls stay on the best side. */
static void outlier(void)
{
    test_case("outlier");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.4e-3, 0.5e-3, 0.4e-3);
    (void)sums_on(ctx, DUO_SIDE_GPU, 40);
    real_seconds[DUO_SIDE_GPU] = 40e-3;
    sum_all(ctx, vector);
    real_seconds[DUO_SIDE_GPU] = 0.4e-3;
    const int stayed = sums_on(ctx, DUO_SIDE_GPU, 20);
    CHECK(stayed >= 18, "%d of 20 on the GPU", stayed);
    learner_end(ctx);
}

/* If it meets an early call, the choice does not turn either. */
static void early_outlier(void)
{
    test_case("early-outlier");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.2e-3, 0.5e-3, 0.2e-3);
    sum_all(ctx, vector); /* the first one counts for nothing */
    real_seconds[DUO_SIDE_GPU] = 20e-3;
    sum_all(ctx, vector);
    real_seconds[DUO_SIDE_GPU] = 0.2e-3;
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 20) >= 18, "one long call was believed");
    learner_end(ctx);
}

/* The first call of an algorithm loads and allocates. */
static void first_call(void)
{
    test_case("first-call");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.4e-3, 0.5e-3, 40e-3);
    sum_all(ctx, vector);
    const duo_decision d = last_decision(ctx);
    CHECK(d.side == DUO_SIDE_GPU && clock_reads == 2, "%d reads", clock_reads);
    duo_ratios ratios;
    duo_learned_ratios(0, &machine, &ratios);
    for (int i = 0; i < DUO_LENGTHS; i++)
        CHECK(ratios.work[DUO_ssum_gpu_shuffle][i] == 1.0f, "ratio %g",
              (double)ratios.work[DUO_ssum_gpu_shuffle][i]);
    learner_end(ctx);
}

static double sum_by_cpu(const void *call, const duo_conditions *conditions)
{
    return duo_predict_one(call, conditions, duo_algorithm_of(DUO_ssum_cpu_lanes));
}

static void ratios_are_bounded(void)
{
    duo_context *const ctx = machine_that_takes(1e-3, 1e-3, 1e-3, 1e-3);
    const duo_call call = duo_call_reduction(DUO_SSUM, VECTOR);
    for (int way = 0; way < 2; way++) {
        test_case("bounds/%s", way == 0 ? "slow" : "fast");
        duo_learned_forget();
        duo_ratios ratios;
        for (int i = 0; i < 500; i++) {
            duo_learned_ratios(0, &machine, &ratios);
            const duo_conditions conditions = {
                .profile = &machine, .ratios = &ratios, .threads = 1, .gpu = true};
            duo_learn(0, &conditions, DUO_ssum_cpu_lanes, 1e-3, sum_by_cpu, &call,
                      sum_by_cpu(&call, &conditions), way == 0 ? 1e3 : 1e-9);
        }
        duo_learned_ratios(0, &machine, &ratios);
        const float ratio = ratios.work[DUO_ssum_cpu_lanes][duo_length_of(1e-3)];
        CHECK(fabsf(ratio - (way == 0 ? 16.0f : 1.0f / 16.0f)) < 1e-3f, "ratio %g", (double)ratio);
        CHECK(ratios.work[DUO_ssum_cpu_lanes][0] == 1.0f, "another length was learned of");
    }
    learner_end(ctx);
}

/* Times of nothing, as a coarse clock gives them, teach nothing. */
static void no_times(void)
{
    test_case("no times");
    duo_context *const ctx = machine_that_takes(1e-3, 1e-3, 1e-3, 1e-3);
    const duo_call call = duo_call_reduction(DUO_SSUM, VECTOR);
    const duo_conditions conditions = {.profile = &machine, .threads = 1, .gpu = true};
    const double good = sum_by_cpu(&call, &conditions);
    duo_ratios ratios;
    for (int i = 0; i < 20; i++)
        duo_learn(0, &conditions, DUO_ssum_cpu_lanes, 1e-3, sum_by_cpu, &call,
                  i % 4 == 0 ? 0.0 : good,
                  i % 4 == 1   ? 0.0
                  : i % 4 == 2 ? (double)NAN
                               : good);
    duo_learned_ratios(0, &machine, &ratios);
    const float ratio = ratios.work[DUO_ssum_cpu_lanes][duo_length_of(1e-3)];
    CHECK(ratio == 1.0f, "ratio %g", (double)ratio);
    learner_end(ctx);
}

/* ---- What is not timed ---- */

static void off(void)
{
    test_case("off");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.25e-3, 0.5e-3, 1e-3);
    CHECK_STATUS(DUO_OK, duo_set_adapt(ctx, 0));
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 100) == 100, "it changed its mind");
    CHECK(clock_reads == 0, "the clock was read %d times", clock_reads);
    const duo_decision d = last_decision(ctx);
    check_predicted(&d, "ssum_gpu_shuffle", 0.25e-3);
    CHECK(d.profile_seconds == d.predicted_seconds, "%g s", d.profile_seconds);
    test_case("off/after-learning");
    CHECK_STATUS(DUO_OK, duo_set_adapt(ctx, 1));
    (void)sums_on(ctx, DUO_SIDE_GPU, 20);
    CHECK(clock_reads > 0, "the clock was not read");
    CHECK_STATUS(DUO_OK, duo_set_adapt(ctx, 0));
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 5) == 5, "what was learned still counts");
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_adapt(test_dead_context(), 1));
    learner_end(ctx);
}

static void not_timed(void)
{
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.25e-3, 0.5e-3, 0.25e-3);
    float result;
    test_case("not-timed/tiny");
    new_machine(1e-7, 1.0);
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1)); /* finds the limits of tiny calls anew */
    for (int i = 0; i < 100; i++) CHECK_STATUS(DUO_OK, duo_ssum(ctx, 100, vector, 1, &result));
    CHECK(clock_reads == 0, "the clock was read %d times", clock_reads);

    test_case("not-timed/output-on-the-device");
    new_machine(1.0, 1e-3);
    void *c;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof product, &c));
    multiply(ctx, EDGE, ones, c);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK(clock_reads == 0, "the clock was read %d times", clock_reads);
    test_case("not-timed/behind-it");
    sum_all(ctx, vector);
    CHECK(clock_reads == 0, "the clock was read %d times", clock_reads);
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    sum_all(ctx, vector);
    CHECK(clock_reads == 2, "the clock was read %d times", clock_reads);
    CHECK_STATUS(DUO_OK, duo_free(ctx, c));

    test_case("not-timed/kept-array-that-is-sent");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, vector, VECTOR * sizeof *vector));
    sum_all(ctx, vector);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK(clock_reads == 2, "the clock was read %d times", clock_reads);
    sum_all(ctx, vector);
    CHECK(clock_reads == 4, "the clock was read %d times", clock_reads);
    CHECK_STATUS(DUO_OK, duo_release(ctx, vector));
    learner_end(ctx);
}

/* An algorithm that could not go on has not shown how long it takes. */
static void failures_teach_nothing(void)
{
    test_case("failure");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.25e-3, 50e-3, 50e-3);
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, -1);
    for (int i = 0; i < 10; i++) sum_all(ctx, vector);
    check_side(ctx, DUO_SIDE_CPU);
    duo_ratios ratios;
    duo_learned_ratios(0, &machine, &ratios);
    for (int i = 0; i < DUO_LENGTHS; i++)
        CHECK(ratios.work[DUO_ssum_gpu_shuffle][i] == 1.0f &&
                  ratios.work[DUO_ssum_cpu_lanes][i] == 1.0f,
              "it was learned from");
    sim_fail(SIM_LAUNCH, 0, DUO_OK, 0);
    learner_end(ctx);
}

/* ---- Told ---- */

static void told(void)
{
    test_case("told");
    duo_context *const ctx = machine_that_takes(2e-3, 0.25e-3, 2e-3, 1e-3);
    for (int i = 0; i < 30; i++) sum_all(ctx, vector);
    const duo_decision d = last_decision(ctx);
    CHECK(test_close(d.profile_seconds, 0.25e-3, 1e-6), "%g s by the profile", d.profile_seconds);
    CHECK(d.predicted_seconds > 0.8e-3 && d.predicted_seconds < 1.1e-3, "%g s predicted",
          d.predicted_seconds);
    const duo_parts *const p = &d.parts[d.ran];
    CHECK(test_close(p->transfer_seconds + p->launch_seconds + p->compute_seconds,
                     d.predicted_seconds, 1e-9),
          "the parts are another sum");
    test_contains(d.reason, "that counts what was learned: the profile alone says 250 us");
    learner_end(ctx);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"algorithm_too_cheap", algorithm_too_cheap},
        {"link_too_cheap", link_too_cheap},
        {"outlier", outlier},
        {"early_outlier", early_outlier},
        {"first_call", first_call},
        {"no_times", no_times},
        {"ratios_are_bounded", ratios_are_bounded},
        {"off", off},
        {"not_timed", not_timed},
        {"failures_teach_nothing", failures_teach_nothing},
        {"told", told},
        {NULL, NULL},
    };
    return test_main(argc, argv, "adapt", tests);
}
