/*
 * test_bench_bits.c - `duoblas bench bits` gives the documented hash: by every clone, on one thread
 * and on several, on the simulated device or the real one, from arrays in host memory and on the
 * device.
 */
#include <stdio.h>

#include "bench/bits/bits.h"
#include "cpu/ffma.h"
#include "cpu/lanes.h"
#include "support/harness.h"

/* A call that is compared is a whole result, or batch of results. */
static int64_t compared;

static void check(const char *name, uint64_t seed, uint64_t expected, int threads, bool on_device)
{
    duo_context *const ctx = test_context();
    duo_bits bits;
    test_case("bench bits/%s/%d threads%s/seed %ju", name, threads,
              on_device ? "/on the device" : "", (uintmax_t)seed);
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, threads));
    CHECK_STATUS(DUO_OK, duo_bits_run(ctx, seed, on_device, &bits));
    CHECK(bits.all == expected, "hash %016jx", (uintmax_t)bits.all);
    for (int group = 0; group < DUO_BITS_PROMISED; group++) {
        if (bits.all != expected)
            printf("%s: %016jx\n", duo_bits_name((duo_bits_group)group),
                   (uintmax_t)bits.group[group]);
        compared += duo_bits_calls((duo_bits_group)group);
    }
    if (test_gpu_side()) CHECK(bits.on_gpu > 900, "%d calls ran on the device", bits.on_gpu);
    if (!test_gpu_side() && seed == 1)
        CHECK(bits.group[DUO_BITS_FLOAT64] == duo_bits_expected_float64,
              "products in float64: hash %016jx", (uintmax_t)bits.group[DUO_BITS_FLOAT64]);
    test_context_end(ctx);
}

/* What another seed gives on the CPU, by the best clone and on one thread. */
static uint64_t hash_of(uint64_t seed)
{
    duo_context *const ctx = test_context();
    duo_bits bits = {.all = 0};
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 1));
    CHECK_STATUS(DUO_OK, duo_bits_run(ctx, seed, false, &bits));
    test_context_end(ctx);
    return bits.all;
}

/* Each clone of the products with one of the reductions; the best ones stand for missing ones. */
static void clones(uint64_t seed, uint64_t expected)
{
    for (int i = 0; duo_ffma_clone(i) != NULL || duo_lanes_clone(i) != NULL; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s, %s", duo_ffma_set(duo_ffma_clone(i))->isa,
                 duo_lanes_set(duo_lanes_clone(i))->name);
        for (int threads = 1; threads <= 2; threads++) check(name, seed, expected, threads, false);
    }
    duo_ffma_set(NULL);
    duo_lanes_set(NULL);
}

static void ways(uint64_t seed, uint64_t expected)
{
    if (test_gpu_side()) {
        check("host", seed, expected, 2, false);
        check("device", seed, expected, 2, true);
    } else {
        clones(seed, expected);
    }
}

static void documented(void) { ways(1, duo_bits_expected); }

static void seeds(void)
{
    const uint64_t last = 1 + (uint64_t)test_amount(1, 2, 250);
    for (uint64_t seed = 2; seed <= last; seed++) {
        const uint64_t expected = hash_of(seed);
        CHECK(expected != duo_bits_expected, "the seed does not count");
        ways(seed, expected);
    }
    printf("%jd comparisons with the CPU's best clone on one thread\n", (intmax_t)compared);
}

static const test_entry tests[] = {{"documented", documented}, {"seeds", seeds}, {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "bench_bits", tests); }
