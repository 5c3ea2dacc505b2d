/*
 * test_decide.c - the program's say in decisions (duo_set_decide), on a machine made by hand: what
 * it is told, which of its answers count, and which calls ask.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "call/context.h"
#include "choice/profile_in_use.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/made_machine.h"

/* The program's answers, and the facts that it was told. */
typedef struct program {
    const char *wants; /* the candidate of this name; NULL: `answer` */
    int answer;
    int asked, chosen, given;
    duo_decision told;
} program;

static int decide(void *user, const duo_decision *decision, int chosen)
{
    program *const p = user;
    p->asked++;
    p->chosen = chosen;
    p->told = *decision;
    p->given = p->answer;
    for (int i = 0; i < decision->candidates && p->wants != NULL; i++)
        if (strcmp(decision->candidate[i].algorithm, p->wants) == 0) p->given = i;
    return p->given;
}

static duo_context *context_that_asks(program *p, duo_path path)
{
    *p = (program){.answer = -1};
    duo_context *const ctx = context_on(path);
    CHECK_STATUS(DUO_OK, duo_set_decide(ctx, decide, p));
    return ctx;
}

static void override_counts(void)
{
    program p;
    make_vector();
    new_machine(1e-3, 1e-5);
    free_link();
    for (duo_path path = DUO_PATH_AUTO; path <= DUO_PATH_GPU; path += 2) {
        duo_context *const ctx = context_that_asks(&p, path);
        test_case("override/%d/as-chosen", (int)path);
        sum_all(ctx, vector);
        check_algorithm(ctx, "ssum_gpu_shuffle");
        test_case("override/%d/other-side", (int)path);
        p.wants = "ssum_cpu_lanes";
        sum_all(ctx, vector);
        check_algorithm(ctx, "ssum_cpu_lanes");
        test_contains(last_decision(ctx).reason, "chosen by the program: 1 ms on 1 thread");
        test_contains(last_decision(ctx).reason, "against 10 us on the GPU");
        test_case("override/%d/each-candidate", (int)path);
        duo_decision d = last_decision(ctx);
        multiply_ones(ctx);
        d = last_decision(ctx);
        CHECK(d.candidates == serving_algorithms(), "%d candidates", d.candidates);
        for (int i = 0; i < d.candidates; i++) {
            p.wants = d.candidate[i].algorithm;
            multiply_ones(ctx);
            const duo_decision then = last_decision(ctx);
            const bool asked = then.algorithm != NULL && strcmp(then.algorithm, p.wants) == 0;
            CHECK(asked == d.candidate[i].accepts && (!asked || then.ran == i), "%s ran for %s",
                  then.algorithm == NULL ? "nothing" : then.algorithm, p.wants);
        }
        CHECK(p.asked == 3 + d.candidates, "asked %d times", p.asked);

        test_case("override/%d/removed", (int)path);
        p.wants = "ssum_cpu_lanes";
        p.asked = 0;
        CHECK_STATUS(DUO_OK, duo_set_decide(ctx, NULL, NULL));
        sum_all(ctx, vector);
        check_algorithm(ctx, "ssum_gpu_shuffle");
        CHECK(p.asked == 0, "asked %d times", p.asked);
        test_context_end(ctx);
    }
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_decide(test_dead_context(), decide, &p));
    free(vector);
    duo_profile_reset();
}

static void bad_answers(void)
{
    static const int answers[] = {-1, -2, 2, 1000, INT32_MAX, INT32_MIN};
    program p;
    make_vector();
    new_machine(1e-3, 1e-5);
    free_link();
    duo_context *const ctx = context_that_asks(&p, DUO_PATH_AUTO);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        test_case("bad-answer/%d", answers[i]);
        p.answer = answers[i];
        sum_all(ctx, vector);
        check_algorithm(ctx, "ssum_gpu_shuffle");
        CHECK(strncmp(last_decision(ctx).reason, "chosen", 6) != 0, "%s",
              last_decision(ctx).reason);
    }
    test_case("bad-answer/does-not-accept");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    p.wants = "ssum_gpu_shuffle";
    sum_all(ctx, vector);
    check_algorithm(ctx, "ssum_cpu_lanes");
    CHECK(p.told.candidate[p.given].accepts == 0, "it was said to accept");
    test_context_end(ctx);
    free(vector);
    duo_profile_reset();
}

/* The candidate that the program wants declines: the cheapest others follow, and the program is not
 * asked again. */
static void declined(void)
{
    program p;
    make_vector();
    new_machine(1e-5, 1e-3);
    free_link();
    duo_context *const ctx = context_that_asks(&p, DUO_PATH_AUTO);
    test_case("declined");
    p.wants = "ssum_gpu_shuffle";
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    sum_all(ctx, vector);
    check_algorithm(ctx, "ssum_cpu_lanes");
    CHECK(p.asked == 1, "asked %d times", p.asked);
    test_contains(last_decision(ctx).reason, "ssum_gpu_shuffle could not go on");
    test_context_end(ctx);
    free(vector);
    duo_profile_reset();
}

static void what_is_told(void)
{
    program p;
    make_vector();
    new_machine(2e-3, 1e-3);
    machine.upload_pageable = 1e12;
    duo_context *const ctx = context_that_asks(&p, DUO_PATH_AUTO);
    test_case("told/sgemm");
    float *const c = calloc(40 * 20, sizeof *c);
    if (c == NULL) abort();
    for (duo_layout layout = DUO_ROW_MAJOR; layout <= DUO_COL_MAJOR; layout++) {
        const int64_t ldc = layout == DUO_COL_MAJOR ? 40 : 20;
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, layout, DUO_NO_TRANS, DUO_TRANS, 40, 20, 30, 1.0f,
                                       vector, 64, vector, 64, 0.0f, c, ldc));
        const duo_decision after = last_decision(ctx);
        CHECK(p.told.size == sizeof p.told && strcmp(p.told.operation, "sgemm") == 0 &&
                  p.told.m == 40 && p.told.n == 20 && p.told.k == 30,
              "%s %jd %jd %jd", p.told.operation, (intmax_t)p.told.m, (intmax_t)p.told.n,
              (intmax_t)p.told.k);
        for (int i = 0; i < 3; i++)
            CHECK(p.told.residence[i] == DUO_AT_PAGEABLE, "operand %d at %d", i,
                  (int)p.told.residence[i]);
        CHECK(p.told.candidates == after.candidates && p.chosen == after.ran && p.chosen >= 0,
              "%d candidates, %d chosen", p.told.candidates, p.chosen);
        for (int i = 0; i < after.candidates; i++)
            CHECK(
                p.told.candidate[i].algorithm == after.candidate[i].algorithm &&
                    p.told.candidate[i].accepts == after.candidate[i].accepts &&
                    !(p.told.candidate[i].predicted_seconds <
                      after.candidate[i].predicted_seconds) &&
                    !(p.told.candidate[i].predicted_seconds > after.candidate[i].predicted_seconds),
                "candidate %d", i);
        CHECK(p.told.ran == p.chosen && p.told.algorithm == after.algorithm &&
                  p.told.side == after.side && p.told.predicted_seconds == after.predicted_seconds,
              "%s was chosen", p.told.algorithm);
        CHECK(p.told.seconds < 0.0 && p.told.note[0] == '\0' && p.told.reason[0] == '\0',
              "it has not run");
    }
    free(c);
    test_case("told/kept");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, vector, VECTOR * sizeof *vector));
    sum_all(ctx, vector);
    CHECK(p.told.residence[0] == DUO_AT_STALE, "x is at %d", (int)p.told.residence[0]);
    sum_all(ctx, vector);
    CHECK(p.told.residence[0] == DUO_AT_KEPT && p.told.n == VECTOR, "x is at %d",
          (int)p.told.residence[0]);
    CHECK_STATUS(DUO_OK, duo_release(ctx, vector));

    static const struct {
        duo_math math;
        const char *name;
    } maths[] = {{DUO_MATH_TF32, "sgemm_gpu_fp16x1"}, {DUO_MATH_FLOAT64, "sgemm_gpu_f64"}};
    for (int i = 0; i < 2; i++) {
        test_case("told/%s", maths[i].name);
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_ACCURATE));
        multiply_ones(ctx);
        CHECK(candidate(&p.told, maths[i].name) == NULL, "it was not asked for");
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, maths[i].math));
        p.wants = maths[i].name;
        multiply_ones(ctx);
        check_algorithm(ctx, maths[i].name);
    }
    test_context_end(ctx);
    free(vector);
    duo_profile_reset();
}

/* Tiny calls ask, too; calls with nothing to compute do not. */
static void which_calls_ask(void)
{
    program p;
    new_machine(1e-7, 1.0);
    duo_context *const ctx = context_that_asks(&p, DUO_PATH_AUTO);
    float x[4] = {1, 2, 3, 4}, r;
    test_case("asks/tiny");
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 4, x, 1, &r));
    CHECK(p.asked == 1 && r == 10.0f, "asked %d times", p.asked);
    p.wants = "sdot_gpu_shuffle";
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 4, x, 1, x, 1, &r));
    check_algorithm(ctx, p.wants);
    CHECK(r == 30.0f, "%g", (double)r);
    p.wants = "sgemm_gpu_tiled";
    multiply_ones(ctx);
    check_algorithm(ctx, p.wants);
    test_case("asks/nothing-to-compute");
    p.asked = 0;
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 0, x, 1, &r));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 0, 2, 2, 1.0f, x,
                                   1, x, 2, 0.0f, x, 1));
    CHECK(p.asked == 0, "asked %d times", p.asked);
    test_case("asks/tiny-again");
    CHECK_STATUS(DUO_OK, duo_set_decide(ctx, NULL, NULL));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 4, x, 1, &r));
    CHECK(duo_context_of(ctx)->last.tiny, "it was predicted");
    test_context_end(ctx);
    duo_profile_reset();
}

static void count_lines(void *user, const char *line)
{
    *(int *)user += strncmp(line, "duoblas: sgemm", 14) == 0;
}

/* A part of a product came home before the device failed: the rest does not ask, and the call has
 * one line. */
static void rest_is_not_asked_about(void)
{
    enum { E = 1500, K = 32 };
    program p;
    float *const a = malloc(sizeof *a * E * K), *const c = malloc(sizeof *c * E * E);
    if (a == NULL || c == NULL) abort();
    for (int i = 0; i < E * K; i++) a[i] = 1.0f;
    new_machine(1e-3, 1e-3);
    int rests = 0;
    for (int nth = 1; nth < 40 && rests == 0; nth++) {
        test_case("rest/%d", nth);
        duo_context *const ctx = context_that_asks(&p, DUO_PATH_AUTO);
        const uint64_t before = sim_downloaded_bytes();
        int lines = 0;
        CHECK_STATUS(DUO_OK, duo_set_log(ctx, count_lines, &lines));
        p.wants = "sgemm_gpu_tiled";
        sim_fail(SIM_COPY, nth, DUO_ERR_DEVICE, 2); /* a transfer is tried twice */
        for (int i = 0; i < E * E; i++) c[i] = test_poison();
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, E, E, K,
                                       1.0f, a, E, a, K, 0.0f, c, E));
        CHECK(p.asked == 1, "asked %d times", p.asked);
        CHECK(lines == 1, "%d lines", lines);
        /* The rest takes the plan away. */
        rests += sim_downloaded_bytes() > before && duo_context_of(ctx)->resources.plan.count == 0;
        bool right = true;
        for (int i = 0; i < E * E; i++) right = right && c[i] == K;
        CHECK(right, "wrong values");
        test_context_end(ctx);
    }
    CHECK(rests > 0, "there was no rest");
    free(a);
    free(c);
    duo_profile_reset();
}

/* The callback may use other contexts. */
static int multiplies(void *user, const duo_decision *decision, int chosen)
{
    (void)decision;
    (void)chosen;
    duo_context *const other = user;
    multiply_ones(other);
    return -1;
}

static void other_contexts(void)
{
    test_case("other-context");
    make_vector();
    new_machine(1e-3, 1e-5);
    duo_context *const ctx = context_on(DUO_PATH_AUTO), *const other = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_decide(ctx, multiplies, other));
    sum_all(ctx, vector);
    CHECK(strcmp(last_decision(other).operation, "sgemm") == 0, "it was not called");
    CHECK(strcmp(last_decision(ctx).operation, "ssum") == 0, "its call was taken for another");
    test_context_end(ctx);
    test_context_end(other);
    free(vector);
    duo_profile_reset();
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"override_counts", override_counts},
        {"bad_answers", bad_answers},
        {"declined", declined},
        {"what_is_told", what_is_told},
        {"which_calls_ask", which_calls_ask},
        {"rest_is_not_asked_about", rest_is_not_asked_about},
        {"other_contexts", other_contexts},
        {NULL, NULL},
    };
    return test_main(argc, argv, "decide", tests);
}
