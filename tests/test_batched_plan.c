/*
 * test_batched_plan.c - plans of batches, without any device: do the parts of k cover it, without
 * taking longer than k whole? Has every kernel that takes a batch a time, and none a longer one on
 * a device with faster memory?
 */
#include <math.h>

#include "gpu/batched/plan.h"
#include "support/data.h"
#include "support/harness.h"

/* Rounds of tiles times slabs of each. */
static double slabs_in_turn(const duo_batched_cut *cut, const duo_batched_device *device)
{
    return ceil(cut->tiles * (double)cut->parts / device->multiprocessors) * (double)cut->slabs;
}

static void check_cut(const duo_call *call, const duo_batch *batch, int down,
                      const duo_batched_device *device)
{
    const int64_t all = (call->k + 31) / 32;
    const duo_batched_cut cut =
        duo_batched_cut_of(call->m, call->n, call->k, batch->count, down, device);
    const duo_batched_cut whole = {cut.turned, cut.tiles, 1, all};
    CHECK(cut.parts >= 1 && cut.parts * cut.slabs >= all && (cut.parts - 1) * cut.slabs < all,
          "%jd parts of %jd slabs, of %jd", (intmax_t)cut.parts, (intmax_t)cut.slabs,
          (intmax_t)all);
    CHECK(cut.parts == 1 ||
              cut.tiles * (double)cut.parts <= DUO_BATCHED_ROUNDS * device->multiprocessors,
          "%jd parts of %g tiles", (intmax_t)cut.parts, cut.tiles);
    CHECK(slabs_in_turn(&cut, device) <= slabs_in_turn(&whole, device), "%jd parts take longer",
          (intmax_t)cut.parts);
}

static void check(const duo_call *call, const duo_batch *batch, const duo_batched_device *device)
{
    const duo_batched_size size = duo_batched_size_of(call, batch);
    duo_batched_device faster = *device;
    faster.memory_rate *= 1.5;
    test_case("batched_plan/%jdx%jdx%jd/count=%jd/multiprocessors=%d", (intmax_t)call->m,
              (intmax_t)call->n, (intmax_t)call->k, (intmax_t)batch->count,
              device->multiprocessors);
    for (int down = 32; down <= 128; down += 32) check_cut(call, batch, down, device);
    for (int i = 0; i < DUO_BATCHED_KERNELS; i++) {
        const double cost = duo_batched_cost((duo_batched_kernel)i, &size, device);
        const double less = duo_batched_cost((duo_batched_kernel)i, &size, &faster);
        CHECK(cost > 0.0, "kernel %d: %g us", i, cost);
        CHECK(isinf(cost) ? isinf(less) : less <= cost, "kernel %d: %g us, %g with faster memory",
              i, cost, less);
    }
    double microseconds, of_memory;
    (void)duo_batched_least(&size, device, DUO_BATCHED_TILE_8, DUO_BATCHED_KERNELS, &microseconds);
    CHECK(isfinite(microseconds), "no kernel takes it");
    (void)duo_batched_least(&size, &faster, DUO_BATCHED_TILE_8, DUO_BATCHED_KERNELS, &of_memory);
    CHECK(size.megabytes < 1e3 || of_memory < microseconds, "its memory is not known");
}

static int64_t any(test_rng *rng, int64_t most)
{
    int64_t end = 1;
    while (end < most && test_between(rng, 0, 5) > 0) end = 2 * end + 1;
    return test_between(rng, 1, end < most ? end : most);
}

static void sizes(void)
{
    static const duo_batched_device devices[] = {{132, 90, 227 << 10, 3.35e12},
                                                 {132, 90, 227 << 10, 4.9e12},
                                                 {108, 80, 163 << 10, 1.6e12},
                                                 {40, 75, 64 << 10, 0.3e12}};
    test_rng rng = test_rng_for("sizes");
    for (int i = 0; i < 20000; i++) {
        const duo_call call = duo_call_sgemm(
            test_between(&rng, 0, 1) == 1, test_between(&rng, 0, 1) == 1, any(&rng, 1 << 14),
            any(&rng, 1 << 14), any(&rng, 1 << 20), 1.0F, (float)test_between(&rng, 0, 1));
        duo_batch batch = duo_batch_of_one();
        batch.count = any(&rng, 1 << 14);
        for (int o = 0; o < DUO_OPERANDS; o++)
            batch.stride[o] = call.operand[o].ld * call.operand[o].columns;
        check(&call, &batch, &devices[i % 4]);
    }
}

static const test_entry tests[] = {{"sizes", sizes}, {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "batched_plan", tests); }
