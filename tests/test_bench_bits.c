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

static void check(const char *name, int threads, bool on_device)
{
    duo_context *const ctx = test_context();
    duo_bits bits;
    test_case("bench bits/%s/%d threads%s", name, threads, on_device ? "/on the device" : "");
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, threads));
    CHECK_STATUS(DUO_OK, duo_bits_run(ctx, 1, on_device, &bits));
    CHECK(bits.all == duo_bits_expected, "hash %016jx", (uintmax_t)bits.all);
    for (int group = 0; bits.all != duo_bits_expected && group < DUO_BITS_PROMISED; group++)
        printf("%s: %016jx\n", duo_bits_name((duo_bits_group)group), (uintmax_t)bits.group[group]);
    if (!test_gpu_side())
        CHECK(bits.group[DUO_BITS_FLOAT64] == duo_bits_expected_float64,
              "products in float64: hash %016jx", (uintmax_t)bits.group[DUO_BITS_FLOAT64]);
    else
        CHECK(bits.on_gpu > 900, "%d calls ran on the device", bits.on_gpu);
    test_context_end(ctx);
}

/* Each clone of the products with one of the reductions; the best ones stand for missing ones. */
static void clones(void)
{
    if (test_gpu_side()) {
        test_skip("tests the CPU");
        return;
    }
    for (int i = 0; duo_ffma_clone(i) != NULL || duo_lanes_clone(i) != NULL; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s, %s", duo_ffma_set(duo_ffma_clone(i))->isa,
                 duo_lanes_set(duo_lanes_clone(i))->name);
        for (int threads = 1; threads <= 2; threads++) check(name, threads, false);
    }
    duo_ffma_set(NULL);
    duo_lanes_set(NULL);
}

static void seeds(void)
{
    duo_context *const ctx = test_context();
    duo_bits bits;
    CHECK_STATUS(DUO_OK, duo_bits_run(ctx, 2, false, &bits));
    CHECK(bits.all != duo_bits_expected, "the seed does not count");
    test_context_end(ctx);
}

static void places(void)
{
    check("host", 2, false);
    check("device", 2, true);
}

static const test_entry tests[] = {
    {"clones", clones}, {"places", places}, {"seeds", seeds}, {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "bench_bits", tests); }
