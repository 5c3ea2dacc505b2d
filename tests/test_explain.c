/* test_explain.c - the facts told of a call: duo_explain_last, and the verbose line. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/made_machine.h"

/* ---- Explaining ---- */

/* duo_explain_last tells a decision as it was made, not as it would be after later settings. */
static void explain_after_another_policy(void)
{
    new_machine(1e-7, 1e-3);
    float r;
    for (int change = 0; change < 3; change++) {
        duo_context *const ctx = context_on(DUO_PATH_AUTO);
        CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, VECTOR / 2, vector, 2, &r));
        const char *const changes[] = {"path", "math", "threads"};
        test_case("explain/another-%s-since", changes[change]);
        if (change == 0) CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
        if (change == 1) CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
        if (change == 2) CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 64));
        const duo_decision d = last_decision(ctx);
        const duo_candidate *const ran = d.algorithm == NULL ? NULL : candidate(&d, d.algorithm);
        const duo_candidate *const other = candidate(&d, "ssum_gpu_shuffle");
        CHECK(ran != NULL && ran->accepts && ran->threads == d.threads &&
                  ran->predicted_seconds == d.predicted_seconds,
              "%s is no candidate as it ran", d.algorithm == NULL ? "nothing" : d.algorithm);
        CHECK(other != NULL && other->accepts, "the GPU is out of the question");
        test_context_end(ctx);
    }
}

static void explain(void)
{
    make_vector();
    new_machine(1e-3, 1e-5);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    test_case("explain/no-call-yet");
    duo_decision d = last_decision(ctx);
    CHECK(d.operation == NULL && d.algorithm == NULL && d.candidates == 0, "there was a call?");
    CHECK_STATUS(DUO_ERR_NULL, duo_explain_last(ctx, NULL));
    d.size = offsetof(duo_decision, ran) - 1;
    CHECK_STATUS(DUO_ERR_SIZE, duo_explain_last(ctx, &d));
    d.size = 0;
    CHECK_STATUS(DUO_ERR_SIZE, duo_explain_last(ctx, &d));

    test_case("explain/sgemm");
    float c[40 * 20];
    for (duo_layout layout = DUO_ROW_MAJOR; layout <= DUO_COL_MAJOR; layout++) {
        const int64_t ldc = layout == DUO_COL_MAJOR ? 40 : 20;
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, layout, DUO_NO_TRANS, DUO_TRANS, 40, 20, 30, 1.0f,
                                       vector, 64, vector, 64, 0.0f, c, ldc));
        d = last_decision(ctx);
        CHECK(d.size == sizeof d, "size");
        CHECK(d.operation != NULL && strcmp(d.operation, "sgemm") == 0, "operation");
        CHECK(d.m == 40 && d.n == 20 && d.k == 30, "%jd %jd %jd", (intmax_t)d.m, (intmax_t)d.n,
              (intmax_t)d.k);
        CHECK(d.candidates == serving_algorithms(), "%d candidates", d.candidates);
        bool found = false;
        for (int i = 0; i < d.candidates; i++) {
            const duo_candidate *const one = &d.candidate[i];
            CHECK(one->algorithm != NULL && one->predicted_seconds > 0.0, "candidate %d", i);
            CHECK((one->side == DUO_SIDE_CPU && one->accepts != 0) == (one->threads != 0),
                  "%s: %d threads", one->algorithm, one->threads);
            found = found || (d.algorithm != NULL && strcmp(d.algorithm, one->algorithm) == 0 &&
                              one->side == d.side && one->accepts != 0);
        }
        CHECK(found, "the algorithm that ran is no candidate");
    }
    test_case("explain/operands-that-are-not-read");
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 20, 20, 20, 0.0f,
                                   NULL, 20, NULL, 20, 0.0f, c, 20));
    d = last_decision(ctx);
    CHECK(d.residence[0] == DUO_AT_UNUSED && d.residence[1] == DUO_AT_UNUSED, "%d %d",
          (int)d.residence[0], (int)d.residence[1]);
    CHECK(d.residence[2] == DUO_AT_PAGEABLE, "%d", (int)d.residence[2]);

    test_case("explain/quick-return");
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 0, 20, 30, 1.0f,
                                   NULL, 1, NULL, 30, 0.0f, NULL, 1));
    d = last_decision(ctx);
    CHECK(d.algorithm == NULL && strcmp(d.operation, "sgemm") == 0 && d.m == 0 && d.n == 20 &&
              d.k == 30,
          "algorithm %s", d.algorithm == NULL ? "none" : d.algorithm);
    float r = 5.0f;
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 0, NULL, 1, NULL, 1, &r));
    d = last_decision(ctx);
    CHECK(d.algorithm == NULL && strcmp(d.operation, "sdot") == 0 && r == 0.0f, "algorithm %s, %g",
          d.algorithm == NULL ? "none" : d.algorithm, (double)r);

    test_case("explain/an-error-is-no-call");
    sum_all(ctx, vector);
    CHECK_STATUS(DUO_ERR_NULL, duo_ssum(ctx, 5, NULL, 1, &r));
    d = last_decision(ctx);
    CHECK(d.operation != NULL && strcmp(d.operation, "ssum") == 0 && d.n == VECTOR,
          "it was forgotten");
    test_context_end(ctx);
    explain_after_another_policy();

    test_case("explain/dead-context");
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_explain_last(ctx, &d));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_ssum(ctx, VECTOR, vector, 1, &r));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy(ctx));
    free(vector);
    duo_profile_reset();
}

/* ---- The verbose line ---- */

typedef struct journal {
    int lines;
    char text[2048], event[2048]; /* the last */
} journal;

static void write_journal(void *user, const char *line)
{
    journal *const j = user;
    j->lines++;
    const bool event = strstr(line, "event:") != NULL;
    snprintf(event ? j->event : j->text, sizeof j->text, "%s", line);
}

static void verbose_line(void)
{
    make_vector();
    new_machine(0.5e-3, 0.25e-3);
    machine.upload_pageable = machine.download_pageable = 1e15;
    machine.copy_seconds = machine.round_trip_seconds = 0.0;
    algorithm_takes(DUO_sgemm_gpu_naive, 0.125e-3);
    journal j = {0};
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, write_journal, &j));
    test_case("verbose/reduction");
    sum_all(ctx, vector);
    CHECK(j.lines == 1, "%d lines", j.lines);
    CHECK(strchr(j.text, '\n') == NULL, "a newline in the line");
    test_contains(j.text, "ssum");
    test_contains(j.text, "262144");
    test_contains(j.text, "pageable");
    test_contains(j.text, "side=gpu");
    test_contains(j.text, "algorithm=ssum_gpu_shuffle");
    test_contains(j.text, "ssum_cpu_lanes=");
    test_contains(j.text, "500.00us");
    test_contains(j.text, "250.00us");
    test_contains(j.text, "took=");
    test_contains(j.text, "reason=\"250 us on the GPU, of which 1.22 ns are transfers, against 500 "
                          "us on 1 thread of the CPU\"");
    CHECK(last_decision(ctx).seconds > 0.0 && last_decision(ctx).seconds < 60.0, "%g s",
          last_decision(ctx).seconds);

    test_case("verbose/sgemm");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, ones, sizeof ones));
    multiply_ones(ctx);
    CHECK(j.lines == 2, "%d lines", j.lines);
    test_contains(j.text, "sgemm");
    test_contains(j.text, "m=64");
    test_contains(j.text, "n=64");
    test_contains(j.text, "k=64");
    test_contains(j.text, "algorithm=sgemm_gpu_naive");
    test_contains(j.text, "side=gpu");
    test_contains(j.text, "125.00us");
    test_contains(j.text, "c=pageable");
    multiply(ctx, EDGE, ones, product);
    test_contains(j.text, "a=kept");
    CHECK_STATUS(DUO_OK, duo_release(ctx, ones));

    test_case("verbose/math"); /* only one that is not the usual one is named */
    CHECK(strstr(j.text, " math=") == NULL, "\"%s\"", j.text);
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    sum_all(ctx, vector);
    test_contains(j.text, " math=ieee threads=");
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_ACCURATE));

    test_case("verbose/side=cpu");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    sum_all(ctx, vector);
    test_contains(j.text, "side=cpu");
    test_contains(j.text, "algorithm=ssum_cpu_lanes");
    test_contains(j.text,
                  "reason=\"500 us on 1 thread of the CPU; the path allows the CPU alone\"");
    CHECK(strstr(j.text, "ssum_gpu_shuffle") == NULL, "\"%s\" has what cannot run", j.text);
    test_case("verbose/tiny");
    const int before = j.lines;
    float r;
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, 3, vector, 1, &r));
    CHECK(j.lines == before + 1, "%d lines", j.lines - before);
    test_contains(j.text, "sasum");
    test_contains(j.text, "n=3");

    test_case("verbose/event");
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_AUTO));
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_DEVICE, 1);
    const int calls = j.lines;
    sum_all(ctx, vector);
    CHECK(j.lines == calls + 2, "%d lines of an event and a call", j.lines - calls);
    test_contains(j.event, "duoblas: event: GPU 0: launch: ");
    test_contains(j.text, "side=cpu");
    test_contains(j.text, "note=");

    test_case("verbose/off");
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, NULL, NULL));
    const int at = j.lines;
    char text[4096];
    test_capture_begin();
    sum_all(ctx, vector);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, vector, 1, &r));
    test_capture_end(text, sizeof text);
    CHECK(text[0] == '\0', "it printed \"%.300s\"", text);
    CHECK(j.lines == at, "it still logs");
    test_context_end(ctx);

    test_case("verbose/no-gpu");
    sim_set_devices(0);
    duo_backend_install(sim_backend());
    duo_context *const without = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_set_log(without, write_journal, &j));
    for (int i = 0; i < 3; i++) { /* in each line, not only in the first */
        sum_all(without, vector);
        test_contains(j.text, "; there is no usable GPU: simulated driver: no device\"");
    }
    test_context_end(without);
    free(vector);
    duo_profile_reset();
}

static const test_entry tests[] = {
    {"explain", explain},
    {"verbose_line", verbose_line},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "explain", tests); }
