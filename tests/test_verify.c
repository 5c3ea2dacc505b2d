/*
 * test_verify.c - `crossover --verify` on the simulated device: operands are where they were drawn,
 * every candidate is timed, and nothing is left behind. Times themselves are not judged.
 */
#include <stdlib.h>

#include "bench/crossover/verify_trial.h"
#include "bench/measure/implementation.h"
#include "call/context.h"
#include "data/locate.h"
#include "sim/sim.h"
#include "support/harness.h"

enum { PROBLEMS = 150, MOST_FLOATS = 20000 };
static const double kMostFlops = 1e6; /* the simulated device takes its time */

static const duo_effort effort = {.sample_seconds = 1e-6, .rounds = 1, .budget_seconds = 1.0};

static bool small(const duo_drawn *d)
{
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (duo_drawn_floats(d, i) > MOST_FLOATS) return false;
    return duo_problem_flops(&d->problem) <= kMostFlops;
}

/* The next small problem from *number on. */
static duo_drawn next_small(int64_t *number)
{
    duo_drawn d;
    do d = duo_draw(test_seed(), (*number)++);
    while (!small(&d));
    return d;
}

static duo_verify_arrays open_arrays(void)
{
    duo_verify_arrays arrays = {.gpu = true, .floats = {MOST_FLOATS, MOST_FLOATS, MOST_FLOATS}};
    CHECK_STATUS(DUO_OK, duo_create(&arrays.context));
    CHECK_STATUS(DUO_OK, duo_warm_up(arrays.context));
    CHECK_STATUS(DUO_OK, duo_set_path(arrays.context, DUO_PATH_AUTO));
    CHECK(duo_verify_arrays_open(&arrays), "no memory");
    return arrays;
}

static void close_arrays(duo_verify_arrays *arrays)
{
    duo_verify_arrays_close(arrays);
    CHECK_STATUS(DUO_OK, duo_destroy(arrays->context));
    CHECK(sim_leaks() == 0, "%d left behind", sim_leaks());
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
}

/* Operands are found where they were drawn, before the first call and before later ones. */
static void placed(void)
{
    duo_verify_arrays arrays = open_arrays();
    int64_t number = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        const duo_drawn d = next_small(&number);
        duo_call call;
        test_case("verify/placed/%d", (int)d.number);
        CHECK(duo_verify_place(&arrays, &d, &call), "not placed");
        for (int turn = 0; turn < 2; turn++) {
            duo_call located = call;
            CHECK(duo_verify_make_stale(arrays.context, &d, &call), "not made stale");
            CHECK_STATUS(DUO_OK, duo_locate(0, &located));
            for (int o = 0; o < DUO_OPERANDS; o++)
                if (duo_operand_touched(&located.operand[o]))
                    CHECK(located.operand[o].residence == d.at[o], "operand %d is %s, not %s", o,
                          duo_residence_names[located.operand[o].residence],
                          duo_residence_names[d.at[o]]);
            CHECK_STATUS(DUO_OK, duo_set_path(arrays.context, DUO_PATH_GPU));
            float result;
            CHECK(duo_api_run(arrays.context, &call,
                              d.problem.operation == DUO_SGEMM ? &result : call.operand[2].address),
                  "not run");
            CHECK_STATUS(DUO_OK, duo_set_path(arrays.context, DUO_PATH_AUTO));
        }
        duo_verify_place_end(&arrays, &d, &call);
    }
    close_arrays(&arrays);
}

static void check_problem(const duo_verified *v, int left_out)
{
    int untimed = 0, sides[2] = {0, 0};
    for (int i = 0; i < v->count; i++) {
        const duo_timed *const c = &v->candidate[i];
        untimed += !(c->median_seconds > 0.0);
        sides[c->algorithm->side]++;
        CHECK(duo_algorithm_serves(c->algorithm, v->drawn.math), "another math");
        CHECK(c->threads > 0 || c->algorithm->side == DUO_SIDE_GPU, "threads");
        CHECK(c->minimum_seconds <= c->median_seconds && c->low_seconds <= c->high_seconds,
              "quartiles");
    }
    CHECK(untimed == left_out, "%d were not timed", untimed);
    CHECK(sides[DUO_SIDE_CPU] > 0 && sides[DUO_SIDE_GPU] > 0, "a side is missing");
    CHECK(v->chosen >= 0 && v->candidate[v->chosen].predicted_seconds > 0.0, "what was chosen");
    CHECK(v->api_seconds > 0.0, "the public function was not timed");
}

/* Every candidate that accepts is timed, on both sides, for every problem. */
static void every_candidate(void)
{
    duo_verify_arrays arrays = open_arrays();
    duo_verified *const v = calloc(PROBLEMS, sizeof *v);
    int64_t number = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        const duo_drawn d = next_small(&number);
        int left_out = 0;
        test_case("verify/every-candidate/%d", (int)d.number);
        CHECK(duo_verify_time(&arrays, &d, &effort, &v[i], &left_out), "not timed");
        check_problem(&v[i], left_out);
    }
    duo_verification sum = {.problem = v, .problems = PROBLEMS};
    CHECK(duo_verification_sum_up(&sum), "no memory");
    CHECK(sum.algorithm.problems == PROBLEMS && sum.side.problems == PROBLEMS, "not all judged");
    CHECK(sum.best_seconds <= sum.chosen_seconds, "better than the best");
    free(v);
    close_arrays(&arrays);
}

/* A candidate of either side is timed with its operands there. */
static void in_place(void)
{
    duo_verify_arrays arrays = open_arrays();
    int64_t number = 0;
    test_case("verify/in-place");
    for (int i = 0; i < 10; i++) {
        const duo_drawn d = next_small(&number);
        duo_verified v;
        int left_out = 0;
        CHECK(duo_verify_time(&arrays, &d, &effort, &v, &left_out), "not timed");
        for (int j = 0; j < v.count; j++) {
            duo_timed there = {.threads = -1};
            if (!(v.candidate[j].predicted_seconds > 0.0)) continue;
            CHECK(duo_verify_time_in_place(&arrays, &d, &effort, &v.candidate[j], &there) &&
                      there.algorithm == v.candidate[j].algorithm &&
                      there.predicted_seconds <= v.candidate[j].predicted_seconds * 1.000001,
                  "%s: %g s in place, %g s elsewhere", v.candidate[j].algorithm->name,
                  there.predicted_seconds, v.candidate[j].predicted_seconds);
        }
    }
    close_arrays(&arrays);
}

/* The whole of it, on the simulated device. */
static void whole(void)
{
    const duo_verify_options options = {.problems = 4,
                                        .seed = 3,
                                        .quick = true,
                                        .ignore_noise = true,
                                        .wanted = {[DUO_SSUM] = true},
                                        .most_seconds = 60.0};
    duo_verification v;
    test_case("verify/whole");
    CHECK(duo_verify(&options, &v), "no memory");
    CHECK(v.judged && v.gpu && v.problems == 4 && v.side.problems == 4, "%d problems", v.problems);
    for (int i = 0; i < v.problems; i++)
        CHECK(v.problem[i].drawn.problem.operation == DUO_SSUM, "another operation");
    free((void *)v.problem);
    CHECK(sim_leaks() == 0, "%d left behind", sim_leaks());
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
}

static const test_entry tests[] = {
    {"placed", placed},     {"every_candidate", every_candidate},
    {"in_place", in_place}, {"whole", whole},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "verify", tests); }
