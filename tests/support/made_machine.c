/*
 * made_machine.c - a machine made by hand; see made_machine.h.
 */
#define _GNU_SOURCE
#include "support/made_machine.h"

#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "support/data.h"
#include "support/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

duo_profile machine;

void algorithm_takes(duo_algorithm_id id, double seconds)
{
    machine.curve[id] = (duo_curve){.count = 2, .size = {1.0, 1e12}, .seconds = {seconds, seconds}};
}

void new_machine(double cpu, double gpu)
{
    machine = (duo_profile){.threads = 4,
                            .fork_seconds = 1000.0, /* threads never pay */
                            .cpu_bandwidth = 1e18,
                            .sgemm_efficiency = 1.0,
                            .upload_pageable = 1e9,
                            .upload_pinned = 1e10,
                            .download_pageable = 1e9,
                            .download_pinned = 1e10,
                            .copy_seconds = 1e-6,
                            .round_trip_seconds = 2e-6,
                            .query_seconds = 1e-7,
                            .open_seconds = 0.3};
    snprintf(machine.origin, sizeof machine.origin, "made by hand");
    snprintf(machine.version, sizeof machine.version, "made by hand");
    snprintf(machine.gpu, sizeof machine.gpu, "Simulated GPU");
    const duo_blas_library *const library = duo_blas_library_seen();
    snprintf(machine.blas, sizeof machine.blas, "%s", library != NULL ? library->name : "any");
#define ALGORITHM_TAKES(operation, side, maths, name)                                              \
    algorithm_takes(DUO_##name, DUO_SIDE_##side ? gpu : cpu);
    DUO_ALGORITHM_LIST(ALGORITHM_TAKES)
#undef ALGORITHM_TAKES
    duo_profile_use(&machine);
}

void free_link(void)
{
    machine.upload_pageable = machine.upload_pinned = 1e300;
    machine.download_pageable = machine.download_pinned = 1e300;
    machine.copy_seconds = machine.round_trip_seconds = 0.0;
}

duo_context *context_on(duo_path path)
{
    duo_context *ctx = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, path));
    return ctx;
}

duo_decision last_decision(duo_context *ctx)
{
    duo_decision decision = {.size = sizeof decision};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &decision));
    return decision;
}

void check_algorithm(duo_context *ctx, const char *name)
{
    const duo_decision d = last_decision(ctx);
    CHECK(d.algorithm != NULL && strcmp(d.algorithm, name) == 0, "algorithm %s, expected %s (%s)",
          d.algorithm == NULL ? "none" : d.algorithm, name, d.note);
}

void check_side(duo_context *ctx, duo_side side)
{
    const duo_decision d = last_decision(ctx);
    CHECK(d.algorithm != NULL && d.side == side, "algorithm %s, expected one of the %s (%s)",
          d.algorithm == NULL ? "none" : d.algorithm, side == DUO_SIDE_GPU ? "GPU" : "CPU", d.note);
}

const duo_candidate *candidate(const duo_decision *d, const char *name)
{
    for (int i = 0; i < d->candidates; i++)
        if (strcmp(d->candidate[i].algorithm, name) == 0) return &d->candidate[i];
    return NULL;
}

void check_predicted(const duo_decision *d, const char *name, double seconds)
{
    const duo_candidate *const c = candidate(d, name);
    CHECK(c != NULL && test_close(c->predicted_seconds, seconds, 1e-6), "%s: %g s, expected %g",
          name, c == NULL ? -1.0 : c->predicted_seconds, seconds);
}

float *vector;
float vector_sum, vector_asum, vector_dot;

void make_vector(void)
{
    vector = malloc(VECTOR * sizeof *vector);
    if (vector == NULL) abort();
    vector_sum = vector_asum = vector_dot = 0.0f;
    for (int64_t i = 0; i < VECTOR; i++) {
        vector[i] = (float)(i % 5 - 1);
        vector_sum += vector[i];
        vector_asum += fabsf(vector[i]);
        vector_dot += vector[i] * vector[i];
    }
}

void sum_all(duo_context *ctx, const float *x)
{
    float sum = test_poison();
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, VECTOR, x, 1, &sum));
    CHECK(sum == vector_sum, "sum %g, expected %g", (double)sum, (double)vector_sum);
}

void multiply(duo_context *ctx, int64_t edge, const float *a, float *c)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, edge, edge, edge,
                                   1.0f, a, edge, a, edge, 0.0f, c, edge));
}

float ones[MOST_EDGE * MOST_EDGE], product[MOST_EDGE * MOST_EDGE];

void multiply_ones(duo_context *ctx)
{
    for (int i = 0; i < EDGE * EDGE; i++) {
        ones[i] = 1.0f;
        product[i] = test_poison();
    }
    multiply(ctx, EDGE, ones, product);
    bool right = true;
    for (int i = 0; i < EDGE * EDGE; i++) right = right && product[i] == EDGE;
    CHECK(right, "wrong values");
}

int serving_algorithms(void)
{
    int count = 0;
    for (int i = 0; i < DUO_SGEMM_ALGORITHMS; i++)
        count +=
            duo_algorithm_serves(&duo_algorithm_tables[DUO_SGEMM].algorithm[i], DUO_MATH_ACCURATE);
    return count;
}
