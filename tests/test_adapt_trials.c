/*
 * test_adapt_trials.c - calls that run by another algorithm than the cheapest, to learn its time:
 * they pay, and do nothing that they must not.
 */
#include <string.h>

#include "sim/sim.h"
#include "support/harness.h"
#include "support/learner.h"

/* The GPU is said to be half as fast as the CPU, and is twice as fast: trials show it. */
static void algorithm_too_dear(void)
{
    test_case("too-dear");
    duo_context *const ctx = machine_that_takes(0.5e-3, 1e-3, 0.5e-3, 0.25e-3);
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 50) == 0, "there is nothing yet that a trial may lose");
    (void)sums_on(ctx, DUO_SIDE_GPU, 300);
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 50) >= 49, "it still runs on the CPU");
    learner_end(ctx);
}

/* Trials that never pay lose 1 % at most; the last one may lose more than expected. */
static void trials_are_bounded(void)
{
    test_case("trials/loss");
    duo_context *const ctx = machine_that_takes(0.5e-3, 1e-3, 0.5e-3, 2e-3);
    double spent = 0.0, lost = 0.0;
    int tried = 0;
    for (int i = 0; i < 2000; i++) {
        sum_all(ctx, vector);
        const duo_decision d = last_decision(ctx);
        const bool trial = strncmp(d.reason, "tried, ", 7) == 0;
        CHECK(trial == (d.side == DUO_SIDE_GPU), "%s", d.reason);
        spent += real_seconds[d.side];
        if (trial) lost += real_seconds[d.side] - 0.5e-3;
        tried += trial;
    }
    CHECK(tried >= 2, "%d trials", tried);
    CHECK(lost <= 0.01 * spent + 1.5e-3, "%g s of %g s lost", lost, spent);
    learner_end(ctx);
}

static void trials_keep_to_the_path(void)
{
    test_case("trials/path");
    duo_context *const ctx = machine_that_takes(0.55e-3, 0.5e-3, 0.55e-3, 0.5e-3);
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    CHECK(sums_on(ctx, DUO_SIDE_CPU, 300) == 0, "on the GPU's path");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 300) == 0, "on the CPU's path");
    learner_end(ctx);
}

static void trials_keep_to_the_math(void)
{
    test_case("trials/math");
    duo_context *const ctx = machine_that_takes(0.55e-3, 0.5e-3, 0.55e-3, 0.5e-3);
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    bool another = false;
    for (int i = 0; i < 400; i++) {
        multiply_ones(ctx);
        const duo_decision d = last_decision(ctx);
        another |= strncmp(d.reason, "tried, ", 7) == 0;
        bool serves = false;
        for (int j = 0; j < DUO_SGEMM_ALGORITHMS; j++) {
            const duo_algorithm *const a = &duo_algorithm_tables[DUO_SGEMM].algorithm[j];
            serves |= strcmp(a->name, d.algorithm) == 0 && duo_algorithm_serves(a, DUO_MATH_IEEE);
        }
        CHECK(serves, "%s", d.algorithm);
    }
    CHECK(another, "there was no trial");
    learner_end(ctx);
}

/* A kept array is not brought home, and no device is opened, for a trial. */
static void trials_disturb_nothing(void)
{
    test_case("trials/kept");
    duo_context *const ctx = machine_that_takes(0.55e-3, 0.5e-3, 0.55e-3, 0.5e-3);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, vector, VECTOR * sizeof *vector));
    CHECK(sums_on(ctx, DUO_SIDE_CPU, 300) == 0, "the CPU was tried");
    CHECK_STATUS(DUO_OK, duo_release(ctx, vector));
    CHECK(sums_on(ctx, DUO_SIDE_CPU, 300) > 0, "there was no trial");
    learner_end(ctx);

    test_case("trials/device-not-open");
    duo_context *const cold = machine_that_takes(0.5e-3, 0.55e-3, 0.5e-3, 0.55e-3);
    duo_context *const other = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_adapt(other, 1));
    const uint64_t before = sim_count(SIM_OPEN);
    CHECK(sums_on(other, DUO_SIDE_GPU, 300) == 0 && sim_count(SIM_OPEN) == before, "it was opened");
    test_context_end(other);
    learner_end(cold);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"algorithm_too_dear", algorithm_too_dear},
        {"trials_are_bounded", trials_are_bounded},
        {"trials_keep_to_the_path", trials_keep_to_the_path},
        {"trials_keep_to_the_math", trials_keep_to_the_math},
        {"trials_disturb_nothing", trials_disturb_nothing},
        {NULL, NULL},
    };
    return test_main(argc, argv, "adapt_trials", tests);
}
