/*
 * test_adapt.c - learning from calls (duo_set_adapt), on a machine made by hand whose profile lies,
 * by a clock made by hand: a call takes what the test says that its side takes.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/adapt.h"
#include "choice/learned.h"
#include "choice/profile_in_use.h"
#include "host/clock.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/made_machine.h"
#include "support/sanitizers.h"

/* ---- The clock ---- */

static double real[2]; /* seconds of a call, by side */
static double now;
static int reads;
static uint64_t launches; /* when the call began */

/* Read before and after a call: the second time, what the call took has gone by. */
static double made_clock(void)
{
    if (reads++ % 2 == 0)
        launches = sim_count(SIM_LAUNCH);
    else
        now += real[sim_count(SIM_LAUNCH) > launches ? DUO_SIDE_GPU : DUO_SIDE_CPU];
    return now;
}

/* A machine that is said to take cpu and gpu seconds and takes others, and a context that learns.
 */
static duo_context *machine_that_takes(double cpu, double gpu, double real_cpu, double real_gpu)
{
    new_machine(cpu, gpu);
    free_link();
    make_vector();
    duo_learned_forget();
    real[DUO_SIDE_CPU] = real_cpu;
    real[DUO_SIDE_GPU] = real_gpu;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK_STATUS(DUO_OK, duo_set_adapt(ctx, 1));
    duo_adapt_clock = made_clock;
    reads = 0;
    return ctx;
}

static void end(duo_context *ctx)
{
    test_context_end(ctx);
    free(vector);
    duo_learned_forget();
    duo_profile_reset();
}

/* Of so many sums of the vector, how many run on this side. */
static int sums_on(duo_context *ctx, duo_side side, int calls)
{
    int count = 0;
    for (int i = 0; i < calls; i++) {
        sum_all(ctx, vector);
        count += last_decision(ctx).side == side;
    }
    return count;
}

static double predicted(const duo_decision *d, const char *name)
{
    const duo_candidate *const c = candidate(d, name);
    return c != NULL ? c->predicted_seconds : (double)NAN;
}

/* ---- Profiles that lie ---- */

/* The GPU is said to be faster than the CPU, and takes four times as long as was said. */
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
    end(ctx);
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
    float result; /* who sends the same way is expected to take as long */
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, VECTOR, vector, 1, &result));
    check_side(ctx, DUO_SIDE_CPU);

    test_case("link/resident");
    void *x;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, VECTOR * sizeof *vector, &x));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, x, vector, VECTOR * sizeof *vector));
    sum_all(ctx, x);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK_STATUS(DUO_OK, duo_free(ctx, x));
    end(ctx);
}

/* The GPU is said to be half as fast as the CPU, and is twice as fast: trials show it. */
static void algorithm_too_dear(void)
{
    test_case("too-dear");
    duo_context *const ctx = machine_that_takes(0.5e-3, 1e-3, 0.5e-3, 0.25e-3);
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 50) == 0, "there is nothing yet that a trial may lose");
    (void)sums_on(ctx, DUO_SIDE_GPU, 300);
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 50) >= 49, "it still runs on the CPU");
    end(ctx);
}

/* A neighbour makes one call 100 times longer: those that follow stay where they are best. */
static void outlier(void)
{
    test_case("outlier");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.4e-3, 0.5e-3, 0.4e-3);
    (void)sums_on(ctx, DUO_SIDE_GPU, 40);
    real[DUO_SIDE_GPU] = 40e-3;
    sum_all(ctx, vector);
    real[DUO_SIDE_GPU] = 0.4e-3;
    const int stayed = sums_on(ctx, DUO_SIDE_GPU, 20);
    CHECK(stayed >= 18, "%d of 20 on the GPU", stayed);
    end(ctx);
}

/* Where it meets an early call, that does not turn the choice either. */
static void early_outlier(void)
{
    test_case("early-outlier");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.2e-3, 0.5e-3, 0.2e-3);
    sum_all(ctx, vector); /* the first one counts for nothing */
    real[DUO_SIDE_GPU] = 20e-3;
    sum_all(ctx, vector);
    real[DUO_SIDE_GPU] = 0.2e-3;
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 20) >= 18, "one long call was believed");
    end(ctx);
}

/* The first call of an algorithm loads and allocates. */
static void first_call(void)
{
    test_case("first-call");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.4e-3, 0.5e-3, 40e-3);
    sum_all(ctx, vector);
    const duo_decision d = last_decision(ctx);
    CHECK(d.side == DUO_SIDE_GPU && reads == 2, "%d reads", reads);
    duo_ratios ratios;
    duo_learned_ratios(0, &machine, &ratios);
    for (int i = 0; i < DUO_LENGTHS; i++)
        CHECK(ratios.work[DUO_ssum_gpu_shuffle][i] == 1.0f, "ratio %g",
              (double)ratios.work[DUO_ssum_gpu_shuffle][i]);
    end(ctx);
}

/* ---- Bounds ---- */

static void ratios_are_bounded(void)
{
    duo_context *const ctx = machine_that_takes(1e-3, 1e-3, 1e-3, 1e-3);
    const duo_call call = duo_call_reduction(DUO_SSUM, VECTOR);
    const duo_algorithm *const cpu = &duo_algorithm_tables[DUO_SSUM].algorithm[1];
    for (int way = 0; way < 2; way++) {
        test_case("bounds/%s", way == 0 ? "slow" : "fast");
        duo_learned_forget();
        duo_ratios ratios;
        for (int i = 0; i < 500; i++) {
            duo_learned_ratios(0, &machine, &ratios);
            const duo_conditions conditions = {
                .profile = &machine, .ratios = &ratios, .threads = 1, .gpu = true};
            duo_learn(0, &call, &conditions, cpu, duo_predict_one(&call, &conditions, cpu),
                      way == 0 ? 1e3 : 1e-9);
        }
        duo_learned_ratios(0, &machine, &ratios);
        const float ratio = ratios.work[cpu->id][duo_length_of(1e-3)];
        CHECK(fabsf(ratio - (way == 0 ? 16.0f : 1.0f / 16.0f)) < 1e-3f, "ratio %g", (double)ratio);
        CHECK(ratios.work[cpu->id][0] == 1.0f, "another length was learned of");
    }
    end(ctx);
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
        spent += real[d.side];
        if (trial) lost += real[d.side] - 0.5e-3;
        tried += trial;
    }
    CHECK(tried >= 2, "%d trials", tried);
    CHECK(lost <= 0.01 * spent + 1.5e-3, "%g s of %g s lost", lost, spent);
    end(ctx);
}

static void trials_keep_to_the_path(void)
{
    test_case("trials/path");
    duo_context *const ctx = machine_that_takes(0.55e-3, 0.5e-3, 0.55e-3, 0.5e-3);
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    CHECK(sums_on(ctx, DUO_SIDE_CPU, 300) == 0, "on the GPU's path");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 300) == 0, "on the CPU's path");
    end(ctx);
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
    end(ctx);
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
    end(ctx);

    test_case("trials/device-not-open");
    duo_context *const cold = machine_that_takes(0.5e-3, 0.55e-3, 0.5e-3, 0.55e-3);
    duo_context *const other = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_adapt(other, 1));
    const uint64_t before = sim_count(SIM_OPEN);
    CHECK(sums_on(other, DUO_SIDE_GPU, 300) == 0 && sim_count(SIM_OPEN) == before, "it was opened");
    test_context_end(other);
    end(cold);
}

/* ---- What is not timed ---- */

static void off(void)
{
    test_case("off");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.25e-3, 0.5e-3, 1e-3);
    CHECK_STATUS(DUO_OK, duo_set_adapt(ctx, 0));
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 100) == 100, "it changed its mind");
    CHECK(reads == 0, "the clock was read %d times", reads);
    const duo_decision d = last_decision(ctx);
    check_predicted(&d, "ssum_gpu_shuffle", 0.25e-3);
    CHECK(d.profile_seconds == d.predicted_seconds, "%g s", d.profile_seconds);
    test_case("off/after-learning");
    CHECK_STATUS(DUO_OK, duo_set_adapt(ctx, 1));
    (void)sums_on(ctx, DUO_SIDE_GPU, 20);
    CHECK(reads > 0, "the clock was not read");
    CHECK_STATUS(DUO_OK, duo_set_adapt(ctx, 0));
    CHECK(sums_on(ctx, DUO_SIDE_GPU, 5) == 5, "what was learned still counts");
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_adapt(test_dead_context(), 1));
    end(ctx);
}

static void not_timed(void)
{
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.25e-3, 0.5e-3, 0.25e-3);
    float result;
    test_case("not-timed/tiny");
    new_machine(1e-7, 1.0);
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1)); /* finds the limits of tiny calls anew */
    for (int i = 0; i < 100; i++) CHECK_STATUS(DUO_OK, duo_ssum(ctx, 100, vector, 1, &result));
    CHECK(reads == 0, "the clock was read %d times", reads);

    test_case("not-timed/output-on-the-device");
    new_machine(1.0, 1e-3);
    void *c;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof product, &c));
    multiply(ctx, EDGE, ones, c);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK(reads == 0, "the clock was read %d times", reads);
    test_case("not-timed/behind-it");
    sum_all(ctx, vector);
    CHECK(reads == 0, "the clock was read %d times", reads);
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    sum_all(ctx, vector);
    CHECK(reads == 2, "the clock was read %d times", reads);
    CHECK_STATUS(DUO_OK, duo_free(ctx, c));

    test_case("not-timed/kept-array-that-is-sent");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, vector, VECTOR * sizeof *vector));
    sum_all(ctx, vector);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK(reads == 2, "the clock was read %d times", reads);
    sum_all(ctx, vector);
    CHECK(reads == 4, "the clock was read %d times", reads);
    CHECK_STATUS(DUO_OK, duo_release(ctx, vector));
    end(ctx);
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
    end(ctx);
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
    end(ctx);
}

/* ---- Processes and threads ---- */

static int begins_anew(void)
{
    duo_ratios ratios;
    duo_learned_ratios(0, &machine, &ratios);
    return ratios.work[DUO_ssum_gpu_shuffle][duo_length_of(0.25e-3)] == 1.0f ? 0 : 1;
}

static void forks(void)
{
    test_case("fork");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.25e-3, 0.5e-3, 1e-3);
    (void)sums_on(ctx, DUO_SIDE_GPU, 12);
    CHECK(begins_anew() == 1, "nothing was learned");
    if (UNDER_TSAN) {
        test_skip("the thread sanitizer does not take forks with threads");
    } else {
        const pid_t child = fork();
        if (child == 0) _exit(begins_anew());
        CHECK(test_child_wait(child, 60) == 0, "the child knows what its parent has learned");
    }
    test_case("another-profile");
    static duo_profile other;
    other = machine;
    duo_ratios ratios;
    duo_learned_ratios(0, &other, &ratios);
    CHECK(begins_anew() == 0, "it was learned of another profile");
    end(ctx);
}

static void *learn(void *user)
{
    duo_context *ctx = NULL;
    int *const wrong = user;
    *wrong += duo_create(&ctx) != DUO_OK;
    *wrong += duo_set_adapt(ctx, 1) != DUO_OK;
    for (int i = 0; i < 200; i++) {
        float sum = test_poison();
        *wrong += duo_ssum(ctx, VECTOR, vector, 1, &sum) != DUO_OK;
        *wrong += sum != vector_sum;
    }
    *wrong += duo_destroy(ctx) != DUO_OK;
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 2 };
    test_case("threads");
    duo_context *const ctx = machine_that_takes(0.5e-3, 0.45e-3, 0.0, 0.0);
    duo_adapt_clock = duo_now_seconds; /* each thread's own calls */
    pthread_t thread[THREADS];
    int wrong[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, learn, &wrong[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK(wrong[i] == 0, "%d wrong", wrong[i]);
    }
    duo_ratios ratios;
    duo_learned_ratios(0, &machine, &ratios);
    for (int i = 0; i < DUO_ALGORITHMS * DUO_LENGTHS; i++) {
        const float ratio = ratios.work[i / DUO_LENGTHS][i % DUO_LENGTHS];
        CHECK(ratio >= 1.0f / 16.0f && ratio <= 16.0f, "ratio %g", (double)ratio);
    }
    end(ctx);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"algorithm_too_cheap", algorithm_too_cheap},
        {"link_too_cheap", link_too_cheap},
        {"algorithm_too_dear", algorithm_too_dear},
        {"outlier", outlier},
        {"early_outlier", early_outlier},
        {"first_call", first_call},
        {"ratios_are_bounded", ratios_are_bounded},
        {"trials_are_bounded", trials_are_bounded},
        {"trials_keep_to_the_path", trials_keep_to_the_path},
        {"trials_keep_to_the_math", trials_keep_to_the_math},
        {"trials_disturb_nothing", trials_disturb_nothing},
        {"off", off},
        {"not_timed", not_timed},
        {"failures_teach_nothing", failures_teach_nothing},
        {"told", told},
        {"forks", forks},
        {"threads", threads},
        {NULL, NULL},
    };
    return test_main(argc, argv, "adapt", tests);
}
