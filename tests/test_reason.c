/*
 * test_reason.c - parts of predictions, and why an algorithm ran, as duo_explain_last tells them,
 * on a machine made by hand.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/made_machine.h"

/* A curve of an algorithm: `launch` for one element, and `more` on top at 2^18 elements. */
static void grows(duo_algorithm_id id, double launch, double more)
{
    machine.curve[id] =
        (duo_curve){.count = 2, .size = {1.0, VECTOR}, .seconds = {launch, launch + more}};
}

static void check_parts(const duo_decision *d, const char *name, double transfer, double launch,
                        double compute)
{
    for (int i = 0; i < d->candidates; i++) {
        if (strcmp(d->candidate[i].algorithm, name) != 0) continue;
        const duo_parts *const p = &d->parts[i];
        CHECK(fabs(p->transfer_seconds - transfer) <= 1e-9 &&
                  fabs(p->launch_seconds - launch) <= 1e-9 &&
                  fabs(p->compute_seconds - compute) <= 1e-9,
              "%s: transfer %g, launch %g, compute %g", name, p->transfer_seconds,
              p->launch_seconds, p->compute_seconds);
        return;
    }
    CHECK(false, "%s is no candidate", name);
}

/* Parts are no less than 0, and their sum is the prediction. */
static void check_sums(const duo_decision *d)
{
    for (int i = 0; i < d->candidates; i++) {
        const duo_parts *const p = &d->parts[i];
        const double sum = p->transfer_seconds + p->launch_seconds + p->compute_seconds;
        CHECK(p->transfer_seconds >= 0.0 && p->launch_seconds >= 0.0 && p->compute_seconds >= 0.0,
              "%s: transfer %g, launch %g, compute %g", d->candidate[i].algorithm,
              p->transfer_seconds, p->launch_seconds, p->compute_seconds);
        if (d->candidate[i].accepts)
            CHECK(test_close(sum, d->candidate[i].predicted_seconds, 1e-9), "%s: %g, not %g",
                  d->candidate[i].algorithm, sum, d->candidate[i].predicted_seconds);
        else
            CHECK(isinf(p->compute_seconds), "%s does not accept", d->candidate[i].algorithm);
    }
}

/* 1 MiB at 1 GB/s, its first stage of 256 KiB at 1.5 GB/s, and a call of the link: 1.22 ms. */
static void reductions(void)
{
    const double sent = 1e-6 + 4.0 * VECTOR / 1e9 + VECTOR / 1.5e9;
    make_vector();
    new_machine(1.0, 1.0);
    grows(DUO_ssum_gpu_shuffle, 5e-6, 20e-6);
    grows(DUO_ssum_cpu_lanes, 1e-6, 4e-3);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    test_case("parts/pageable");
    sum_all(ctx, vector);
    duo_decision d = last_decision(ctx);
    check_sums(&d);
    check_parts(&d, "ssum_gpu_shuffle", sent, 7e-6, 20e-6); /* 2 us until the result is seen */
    check_parts(&d, "ssum_cpu_lanes", 0.0, 0.0, 4.001e-3);
    CHECK(d.ran == 0 && test_close(d.profile_seconds, d.predicted_seconds, 1e-12), "%d, %g", d.ran,
          d.profile_seconds);
    CHECK(strcmp(d.reason, "1.25 ms on the GPU, of which 1.22 ms are transfers, against 4 ms on 1 "
                           "thread of the CPU") == 0,
          "%s", d.reason);

    test_case("parts/threads");
    machine.fork_seconds = 3e-6;
    machine.fork_seconds_per_thread = 1e-6;
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 4));
    sum_all(ctx, vector);
    d = last_decision(ctx);
    check_sums(&d);
    check_parts(&d, "ssum_cpu_lanes", 0.0, 7e-6, 4.001e-3 / 4.0);
    test_contains(d.reason, "on 4 threads of the CPU");

    test_case("parts/resident");
    void *x;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 4 * VECTOR, &x));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, x, vector, 4 * VECTOR));
    sum_all(ctx, x);
    d = last_decision(ctx);
    check_sums(&d);
    check_parts(&d, "ssum_gpu_shuffle", 0.0, 7e-6, 20e-6);
    check_parts(&d, "ssum_cpu_lanes", sent, 7e-6, 4.001e-3 / 4.0);
    CHECK(strncmp(d.reason,
                  "27 us on the GPU, against 2.23 ms on 4 threads of the CPU, of which "
                  "1.22 ms are transfers",
                  60) == 0,
          "%s", d.reason);
    CHECK_STATUS(DUO_OK, duo_free(ctx, x));
    test_context_end(ctx);
    free(vector);
    duo_profile_reset();
}

/* Copies while the GPU works are no transfers. The parts of a streamed product have the prediction
 * as their sum; a resident one has no transfers. */
static void products(void)
{
    new_machine(1.0, 20e-3);
    machine.upload_pageable = machine.download_pageable = 1e9;
    algorithm_takes(DUO_sgemm_gpu_tiled, 1e-3);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    test_case("parts/streamed");
    multiply(ctx, MOST_EDGE, ones, product);
    duo_decision d = last_decision(ctx);
    check_algorithm(ctx, "sgemm_gpu_tiled");
    check_sums(&d);
    /* Each way packing, or unpacking, a stage comes on top. */
    const double moved = 3 * 4.0 * MOST_EDGE * MOST_EDGE / 1e9,
                 part = d.parts[d.ran].transfer_seconds;
    CHECK(part > 0.3 * moved && part <= 1.5 * moved, "%g s of %g s", part, moved);

    test_case("parts/kept");
    float *const a = calloc(MOST_EDGE * MOST_EDGE, sizeof *a);
    float *const c = calloc(MOST_EDGE * MOST_EDGE, sizeof *c);
    if (a == NULL || c == NULL) abort();
    CHECK_STATUS(DUO_OK, duo_keep(ctx, a, sizeof ones));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, sizeof ones));
    multiply(ctx, MOST_EDGE, a, c);
    d = last_decision(ctx);
    check_sums(&d);
    CHECK(d.ran >= 0 && d.parts[d.ran].transfer_seconds == 0.0, "%s", d.reason);
    test_contains(d.reason, "the first sending of a kept array counts as free");
    multiply(ctx, MOST_EDGE, a, c);
    CHECK(strstr(last_decision(ctx).reason, "sending") == NULL, "%s", last_decision(ctx).reason);

    test_case("parts/kept-that-has-changed");
    new_machine(0.5e-3, 0.4e-3);
    CHECK_STATUS(DUO_OK, duo_changed(ctx, a, sizeof ones));
    multiply(ctx, MOST_EDGE, a, product);
    check_side(ctx, DUO_SIDE_CPU);
    d = last_decision(ctx);
    check_sums(&d);
    test_contains(d.reason, "a kept array is sent again once that pays");
    CHECK_STATUS(DUO_OK, duo_release(ctx, a));
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    free(a);
    free(c);
    test_context_end(ctx);
    duo_profile_reset();
}

/* The reason of a sum on this path; its text lives until the next call. */
static const char *reason_on(duo_path path)
{
    static duo_decision d;
    duo_context *const ctx = context_on(path);
    sum_all(ctx, vector);
    d = last_decision(ctx);
    check_sums(&d);
    test_context_end(ctx);
    return d.reason;
}

static void other_reasons(void)
{
    make_vector();
    new_machine(1e-3, 1e-5);
    test_case("reason/path");
    test_contains(reason_on(DUO_PATH_CPU), "1 ms on 1 thread of the CPU; the path allows the CPU");
    test_contains(reason_on(DUO_PATH_GPU), "are transfers; the path allows the GPU alone");

    test_case("reason/tiny");
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    new_machine(1e-7, 1.0);
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
    float r;
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 4, vector, 1, &r));
    duo_decision d = last_decision(ctx);
    check_sums(&d);
    test_contains(d.reason, "so small a call");
    CHECK(d.ran >= 0 && strcmp(d.candidate[d.ran].algorithm, d.algorithm) == 0, "%d ran", d.ran);

    test_case("reason/nothing");
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 0, vector, 1, &r));
    d = last_decision(ctx);
    CHECK(strcmp(d.reason, "there was nothing to compute") == 0 && d.ran == -1, "%s", d.reason);
    test_context_end(ctx);

    test_case("reason/no-call-yet");
    duo_context *const fresh = context_on(DUO_PATH_AUTO);
    d = last_decision(fresh);
    CHECK(d.reason[0] == '\0' && d.ran == -1, "%s", d.reason);
    test_context_end(fresh);

    test_case("reason/no-gpu");
    new_machine(1e-3, 1e-5);
    free_link();
    sim_set_devices(0);
    duo_backend_install(sim_backend());
    for (int i = 0; i < 2; i++) { /* then it is known before */
        const char *const reason = reason_on(DUO_PATH_AUTO);
        CHECK(strcmp(reason, "1 ms on 1 thread of the CPU; there is no usable GPU: simulated "
                             "driver: no device") == 0,
              "%s", reason);
    }
    test_contains(reason_on(DUO_PATH_GPU), "there is no usable GPU: simulated driver: no device");

    test_case("reason/kept-without-gpu"); /* then it is not sent */
    duo_context *const keeps = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_keep(keeps, vector, VECTOR * sizeof *vector));
    CHECK(strstr(reason_on(DUO_PATH_AUTO), "sending") == NULL, "it cannot be sent");
    CHECK_STATUS(DUO_OK, duo_release(keeps, vector));
    test_context_end(keeps);

    test_case("reason/gpu-not-asked-for"); /* the CPU is faster anyway */
    static const char unasked[] = "; whether there is a GPU was not asked yet";
    new_machine(1e-5, 1e-3);
    duo_backend_install(sim_backend());
    test_contains(reason_on(DUO_PATH_AUTO), unasked);
    CHECK(strstr(reason_on(DUO_PATH_CPU), unasked) == NULL, "on the CPU's path it does not matter");
    (void)reason_on(DUO_PATH_GPU); /* looks for one */
    test_contains(reason_on(DUO_PATH_AUTO), "10 us on 1 thread of the CPU; there is no usable GPU");

    test_case("reason/no-driver"); /* no driver is asked */
    duo_backend without = *sim_backend();
    without.absent = "built for no GPU";
    duo_backend_install(&without);
    const char *const reason = reason_on(DUO_PATH_AUTO);
    CHECK(strcmp(reason,
                 "10 us on 1 thread of the CPU; there is no usable GPU: built for no GPU") == 0,
          "%s", reason);
    duo_backend_install(sim_backend());
    free(vector);
    duo_profile_reset();
}

static void tells_of_gpu(duo_path path, int gpu, double least, double most)
{
    duo_context *const ctx = context_on(path);
    CHECK_STATUS(DUO_OK, duo_set_open(ctx, DUO_OPEN_BACKGROUND));
    sum_all(ctx, vector);
    const duo_decision d = last_decision(ctx);
    CHECK(d.gpu == gpu, "%d, not %d", d.gpu, gpu);
    CHECK(d.gpu_seconds >= least && d.gpu_seconds <= most, "%g s", d.gpu_seconds);
    CHECK(test_close(d.open_seconds, gpu < 0 ? 0.28 : 0.3, 1e-9), "opened in %g s", d.open_seconds);
    test_context_end(ctx);
}

/* What a GPU would do that is not open: the profile's if there may be one, else an H100. */
static void missing_gpu(void)
{
    const double none = (double)INFINITY;
    make_vector();
    new_machine(1e-3, 1e-5);
    free_link();
    sim_set_devices(1);
    duo_backend_install(sim_backend());
    test_case("gpu/unopened");
    tells_of_gpu(DUO_PATH_AUTO, 0, 1e-5, 1.001e-5);
    test_case("gpu/cpu alone");
    tells_of_gpu(DUO_PATH_CPU, 0, -1.0, -1.0);
    test_case("gpu/it runs there");
    tells_of_gpu(DUO_PATH_GPU, 1, -1.0, -1.0);
    tells_of_gpu(DUO_PATH_AUTO, 1, -1.0, -1.0);
    test_case("gpu/open and slower");
    new_machine(1e-5, 1e-3);
    tells_of_gpu(DUO_PATH_AUTO, 1, none, none);

    sim_set_devices(0);
    duo_backend without = *sim_backend();
    without.absent = "built for no GPU";
    duo_backend_install(&without);
    test_case("gpu/none: an H100 is slower");
    tells_of_gpu(DUO_PATH_AUTO, -1, none, none);
    test_case("gpu/none: an H100 is faster"); /* 1 MiB at 49 GB/s, and its launch */
    new_machine(1.0, 1.0);
    tells_of_gpu(DUO_PATH_AUTO, -1, 20e-6, 100e-6);

    test_case("gpu/none: a batch"); /* all products of it */
    enum { SIZE = 100, COUNT = 100 };
    float *const of = calloc(3 * SIZE * SIZE * COUNT, sizeof *of);
    const int64_t step = SIZE * SIZE, all = step * COUNT;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK,
                 duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, SIZE,
                                           SIZE, SIZE, 1.0f, of, SIZE, step, of + all, SIZE, step,
                                           0.0f, of + 2 * all, SIZE, step, COUNT));
    const duo_decision d = last_decision(ctx);
    CHECK(d.gpu_seconds > 100e-6 && d.gpu_seconds < 10e-3, "%g s", d.gpu_seconds);
    test_context_end(ctx);
    free(of);
    duo_backend_install(sim_backend());
    free(vector);
    duo_profile_reset();
}

/* Other versions have a shorter structure, or a longer one: nothing is written beyond it. */
static void shorter_structure(void)
{
    make_vector();
    new_machine(1e-3, 1e-5);
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    sum_all(ctx, vector);
    static const size_t sizes[] = {offsetof(duo_decision, ran), offsetof(duo_decision, parts),
                                   sizeof(duo_decision), sizeof(duo_decision) + 64};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        test_case("size/%zu", sizes[i]);
        _Alignas(duo_decision) char bytes[sizeof(duo_decision) + 128];
        duo_decision d;
        memset(bytes, 0x5a, sizeof bytes);
        memcpy(bytes, &sizes[i], sizeof sizes[i]);
        CHECK_STATUS(DUO_OK, duo_explain_last(ctx, (duo_decision *)(void *)bytes));
        memcpy(&d, bytes, sizeof d);
        CHECK(d.size == sizes[i] && strcmp(d.operation, "ssum") == 0 && d.candidates == 2,
              "%zu, %d candidates", d.size, d.candidates);
        const size_t end = sizes[i] < sizeof d ? sizes[i] : sizeof d;
        bool untouched = true;
        for (size_t at = end; at < sizeof bytes; at++) untouched &= bytes[at] == 0x5a;
        CHECK(untouched, "something was written beyond it");
    }
    test_context_end(ctx);
    free(vector);
    duo_profile_reset();
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"reductions", reductions},
        {"products", products},
        {"other_reasons", other_reasons},
        {"missing_gpu", missing_gpu},
        {"shorter_structure", shorter_structure},
        {NULL, NULL},
    };
    return test_main(argc, argv, "reason", tests);
}
