/*
 * test_reduction_predictions.c - predicted times of reductions: strides, transfers, threads, short
 * curves and fetched vectors.
 */
#include <math.h>

#include "choice/profile_in_use.h"
#include "choice/select.h"
#include "choice/transfer_cost.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/made_machine.h"

/* ---- Strides ---- */

/* Seconds of a reduction on one thread of the CPU, by its first algorithm there. */
static double strided_cost(duo_operation operation, int64_t n, int64_t inc)
{
    duo_call call = duo_call_reduction(operation, n);
    for (int i = DUO_X; i <= DUO_Y; i++) call.operand[i].ld = inc;
    const duo_conditions conditions = {.profile = duo_profile_built_in("generic"), .threads = 1};
    const duo_algorithm_table table = duo_algorithm_tables[operation];
    int i = 0, threads;
    while (table.algorithm[i].side != DUO_SIDE_CPU) i++;
    return table.algorithm[i].cost(&call, &conditions, &threads);
}

/* Elements that are not in a row are gathered one by one, backwards too; the further apart, the
 * more lines are moved, up to one for each element. */
static void strides(void)
{
    for (int operation = DUO_SASUM; operation <= DUO_SDOT; operation++)
        for (int64_t n = 1000; n <= 10000000; n *= 100) {
            test_case("strides/%s/%jd", duo_operation_name((duo_operation)operation), (intmax_t)n);
            static const int64_t incs[] = {1, -1, 2, -5, 16, 1000};
            double seconds[6];
            for (int i = 0; i < 6; i++)
                seconds[i] = strided_cost((duo_operation)operation, n, incs[i]);
            CHECK(seconds[1] > 4.0 * seconds[0] || n > 1000, "backwards %g s, in a row %g s",
                  seconds[1], seconds[0]);
            CHECK(seconds[1] > seconds[0], "backwards %g s, in a row %g s", seconds[1], seconds[0]);
            for (int i = 2; i < 6; i++)
                CHECK(seconds[i] >= seconds[i - 1], "%g s at %jd, %g s at %jd", seconds[i],
                      (intmax_t)incs[i], seconds[i - 1], (intmax_t)incs[i - 1]);
            CHECK(seconds[5] == seconds[4], "more than a line for each: %g s, %g s", seconds[5],
                  seconds[4]);
            CHECK(n < 10000000 || seconds[4] > 8.0 * seconds[0], "a line %g s, a row %g s",
                  seconds[4], seconds[0]);
        }
}

/* ---- Transfers ---- */

/* Seconds of only the transfers of ssum, of n elements `inc` apart, on a machine on which copies
 * take only the time of their bytes: 1 GB/s over the link, 4 in the host's memory. */
static double moving(int64_t n, int64_t inc, duo_residence at, duo_side side, double stale_bytes)
{
    duo_call call = duo_call_reduction(DUO_SSUM, n);
    duo_operand *const x = &call.operand[DUO_X];
    x->ld = inc;
    x->residence = at;
    x->on_host = at != DUO_AT_DEVICE;
    x->on_device = at == DUO_AT_DEVICE;
    x->send_bytes = stale_bytes;
    call.operand[DUO_RESULT].residence = DUO_AT_UNUSED;
    call.operand[DUO_RESULT].written = false;
    const duo_conditions conditions = {.profile = &machine, .threads = 4};
    return duo_transfer_seconds(&call, side, &conditions);
}

static void transfers(void)
{
    enum { N = 1 << 22 };
    const double bytes = 4.0 * N, stage = 0x1p23; /* the largest, packed at 1.5 GB/s */
    new_machine(1.0, 1.0);
    machine.copy_seconds = 0.0;
    machine.cpu_bandwidth = 4e9;
    test_case("transfers/kept");
    const double kept = moving(N, 19, DUO_AT_STALE, DUO_SIDE_GPU, 0.0);
    CHECK(test_close(kept, (19.0 * (bytes - 4.0) + 4.0 + stage / 1.5) / 1e9, 1e-9),
          "%g s: a kept array is sent with its gaps", kept);
    const double part = moving(N, 19, DUO_AT_STALE, DUO_SIDE_GPU, 3e9);
    CHECK(test_close(part, (3e9 + stage / 1.5) / 1e9, 1e-9), "%g s for 3 GB that are stale", part);
    test_case("transfers/gathered");
    /* One of `inc` elements, at most of 16, is wanted; its place is read and written. */
    for (int64_t inc = 2; inc <= 64; inc *= 2) {
        const double line = inc < 16 ? (double)inc : 16.0, pinned = (line + 2.0) * bytes / 4e9;
        const double got = moving(N, inc, DUO_AT_PINNED, DUO_SIDE_GPU, 0.0);
        CHECK(test_close(got, pinned, 1e-9), "%g s at %d, not %g", got, (int)inc, pinned);
        const double sent = (bytes + stage / 1.5) / 1e9, least = sent > pinned ? sent : pinned;
        const double plain = moving(N, -inc, DUO_AT_PAGEABLE, DUO_SIDE_GPU, 0.0);
        CHECK(test_close(plain, least, 1e-9), "%g s at -%d, not %g", plain, (int)inc, least);
    }
    test_case("transfers/without-gaps");
    const double direct = moving(N, 1, DUO_AT_PINNED, DUO_SIDE_GPU, 0.0);
    CHECK(test_close(direct, bytes / 1e10, 1e-9), "%g s", direct);
    test_case("transfers/home");
    const double row = moving(N, 1, DUO_AT_DEVICE, DUO_SIDE_CPU, 0.0);
    CHECK(test_close(row, (bytes + stage / 1.5) / 1e9, 1e-9), "%g s in a row", row);
    const double back = moving(N, -5, DUO_AT_DEVICE, DUO_SIDE_CPU, 0.0);
    CHECK(test_close(back, (5.0 * (bytes - 4.0) + 4.0 + stage / 1.5) / 1e9, 1e-9),
          "%g s backwards: with its gaps", back);
    machine.download_pageable = 1e12;
    const double apart = moving(N, 3, DUO_AT_DEVICE, DUO_SIDE_CPU, 0.0);
    CHECK(apart > 1e-9 * N && apart < 2e-9 * N, "%g s: each element is a run of a copy", apart);
    /* Each page of 64 MiB is new, and that takes longer than this link. */
    const double large = moving(4 * N, 1, DUO_AT_DEVICE, DUO_SIDE_CPU, 0.0);
    CHECK(large > 4.0 * bytes / 20e9 && large < 4.0 * bytes / 5e9, "%g s for new pages", large);
    duo_profile_reset();
}

/* On the GPU a strided element moves up to 64 bytes, also in a kept array that is sent; two vectors
 * move the bytes of both. */
static void strides_on_the_gpu(void)
{
    new_machine(1.0, 1.0);
    machine.curve[DUO_sdot_gpu_shuffle] =
        (duo_curve){.count = 2, .size = {1.0, 1e12}, .seconds = {1e-12, 1.0}};
    const duo_conditions conditions = {.profile = &machine, .gpu = true};
    static const struct {
        int64_t incx, incy;
        duo_residence y;
        double times;
    } cases[] = {{1, 1, DUO_AT_DEVICE, 1.0},  {3, 1, DUO_AT_DEVICE, 2.0},
                 {13, 3, DUO_AT_DEVICE, 8.0}, {1000, -1000, DUO_AT_DEVICE, 16.0},
                 {1, 15, DUO_AT_STALE, 8.0},  {1, 15, DUO_AT_PAGEABLE, 1.0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int threads;
        duo_call call = duo_call_reduction(DUO_SDOT, 1000000);
        call.operand[DUO_X].ld = cases[i].incx;
        call.operand[DUO_X].residence = DUO_AT_DEVICE;
        call.operand[DUO_Y].ld = cases[i].incy;
        call.operand[DUO_Y].residence = cases[i].y;
        const double seconds = duo_sdot_gpu_shuffle_cost(&call, &conditions, &threads);
        test_case("strides/gpu/%d,%d", (int)cases[i].incx, (int)cases[i].incy);
        CHECK(test_close(seconds, 1e-6 * cases[i].times, 1e-6), "%g s", seconds);
    }
    duo_profile_reset();
}

/* ---- Curves of reductions ---- */

/* ssum of n elements in host memory on the made machine: 16 threads; one adds an element in 10 ps
 * in its caches. */
static double summing(duo_algorithm_id id, int64_t n, int most, int *threads)
{
    const duo_call call = duo_call_reduction(DUO_SSUM, n);
    const duo_conditions conditions = {.profile = &machine, .threads = most};
    return duo_algorithm_of(id)->cost(&call, &conditions, threads);
}

static void new_summing_machine(void)
{
    new_machine(1.0, 1.0);
    machine.threads = 16;
    machine.fork_seconds = 1e-6;
    machine.fork_seconds_per_thread = 0.0;
    machine.curve[DUO_ssum_cpu_lanes] =
        (duo_curve){.count = 3, .size = {100.0, 1e6, 1e8}, .seconds = {1e-9, 10e-6, 20e-3}};
    machine.curve[DUO_ssum_cpu_float64].count = 0;
    machine.curve[DUO_ssum_gpu_shuffle] =
        (duo_curve){.count = 2, .size = {1e3, 1e9}, .seconds = {3e-6, 1e-3}};
}

/* A curve of all threads tells more than one thread's and the memory's rate. */
static void teams(void)
{
    int threads;
    new_summing_machine();
    machine.team[DUO_ssum_cpu_lanes] =
        (duo_curve){.count = 3, .size = {100.0, 1e6, 1e8}, .seconds = {0.5e-9, 2e-6, 1e-3}};
    test_case("teams/all");
    const double all = summing(DUO_ssum_cpu_lanes, 100000000, 16, &threads);
    CHECK(threads == 16 && test_close(all, 1e-3, 1e-9), "%g s, %d threads", all, threads);
    test_case("teams/fewer");
    /* 4 threads with 250000 each take as long as 16 threads. */
    const double four = summing(DUO_ssum_cpu_lanes, 1000000, 4, &threads);
    const double sixteen = summing(DUO_ssum_cpu_lanes, 4000000, 16, &threads);
    CHECK(threads == 16 && test_close(fmin(sixteen, 10e-6), four, 1e-9), "%g s, %g s", four,
          sixteen);
    test_case("teams/more");
    const double more = summing(DUO_ssum_cpu_lanes, 100000000, 64, &threads);
    CHECK(threads == 64 && test_close(more, all, 1e-9), "%g s on 64 threads", more);
    /* Noise does not make the team share a vector that one thread adds before the team has
     * begun. */
    test_case("teams/short");
    const double few = summing(DUO_ssum_cpu_lanes, 100, 16, &threads);
    CHECK(threads == 1 && few == 1e-9, "%g s on %d threads", few, threads);
    duo_profile_reset();
}

/* Without a curve, or with a point or two, float64 takes a little more than float32. */
static void short_curves(void)
{
    static const duo_curve own[] = {{.count = 0},
                                    {.count = 1, .size = {16.0}, .seconds = {50e-9}},
                                    {.count = 1, .size = {5e7}, .seconds = {12e-3}}};
    int threads;
    new_summing_machine();
    for (int i = 0; i < 3; i++) {
        machine.curve[DUO_ssum_cpu_float64] = own[i];
        for (int64_t n = 1; n <= 1000000000; n *= 10) {
            const double short_one = summing(DUO_ssum_cpu_lanes, n, 1, &threads);
            const double seconds = summing(DUO_ssum_cpu_float64, n, 1, &threads);
            test_case("short-curves/%d/%jd", i, (intmax_t)n);
            CHECK(seconds >= short_one && seconds <= 4.0 * short_one + 50e-9,
                  "%g s, in float32 %g s", seconds, short_one);
        }
    }
    /* One large point of a GPU's curve: a launch takes no longer than in float32. */
    machine.curve[DUO_ssum_gpu_float64] =
        (duo_curve){.count = 1, .size = {1e9}, .seconds = {1.01e-3}};
    for (int64_t n = 1; n <= 10000000000; n *= 100) {
        const double ratio = summing(DUO_ssum_gpu_float64, n, 1, &threads) /
                             summing(DUO_ssum_gpu_shuffle, n, 1, &threads);
        test_case("short-curves/gpu/%jd", (intmax_t)n);
        CHECK(ratio >= 1.0 && ratio <= 1.011, "%g times float32", ratio);
    }
    duo_profile_reset();
}

/* One thread reads a vector just fetched as slowly as memory, and without gaps; the team reads it
 * at half the rate of memory. */
static void fetched_vectors(void)
{
    int threads;
    new_summing_machine();
    duo_call call = duo_call_reduction(DUO_SSUM, 1000000);
    const duo_conditions conditions = {.profile = &machine, .threads = 1};
    call.operand[DUO_X].on_host = true;
    test_case("fetched/here");
    const double here = duo_ssum_cpu_lanes_cost(&call, &conditions, &threads);
    CHECK(test_close(here, 10e-6, 1e-9), "%g s", here);
    call.operand[DUO_X].residence = DUO_AT_DEVICE;
    call.operand[DUO_X].on_host = false;
    for (int64_t inc = 1; inc <= 20; inc += 19) {
        test_case("fetched/%d", (int)inc);
        call.operand[DUO_X].ld = inc;
        const double there = duo_ssum_cpu_lanes_cost(&call, &conditions, &threads);
        CHECK(test_close(there, 200e-6, 1e-9), "%g s", there);
    }
    machine.team[DUO_ssum_cpu_lanes] =
        (duo_curve){.count = 2, .size = {100.0, 1e6}, .seconds = {0.5e-9, 2e-6}};
    machine.cpu_bandwidth = 160e9;
    const duo_conditions all = {.profile = &machine, .threads = 16};
    test_case("fetched/team");
    const double team = duo_ssum_cpu_lanes_cost(&call, &all, &threads);
    CHECK(threads == 16 && test_close(team, 2.0 * 4e6 / 160e9, 1e-9), "%g s on %d threads", team,
          threads);
    duo_profile_reset();
}

static const test_entry tests[] = {
    {"strides", strides},
    {"strides_on_the_gpu", strides_on_the_gpu},
    {"transfers", transfers},
    {"teams", teams},
    {"short_curves", short_curves},
    {"fetched_vectors", fetched_vectors},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "reduction_predictions", tests); }
