/*
 * test_skinny_plan.c - plans of sgemm_gpu_skinny, without any device: whatever the product and the
 * device, does the plan cover all of C and of k, in memory that is there?
 */
#include <math.h>

#include "gpu/skinny/plan.h"
#include "support/data.h"
#include "support/harness.h"

static const int64_t most_floats = DUO_SKINNY_WORKSPACE / sizeof(float);

static void check(const duo_skinny_size *size, const duo_skinny_device *device, int64_t room)
{
    test_case("skinny_plan/%jdx%jdx%jd/%s%s%s%s%s/room=%jd/multiprocessors=%d",
              (intmax_t)size->rows, (intmax_t)size->columns, (intmax_t)size->k,
              size->x_along_k ? "x" : "", size->y_along_k ? "y" : "", size->wide_x ? "w" : "",
              size->vector ? "v" : "", size->ordered ? "o" : "", (intmax_t)room,
              device->multiprocessors);
    const duo_skinny_plan plan = duo_skinny_plan_of(size, device, room);
    const duo_skinny_tile *const tile = &duo_skinny_tiles[plan.tile];
    const int64_t rows = duo_skinny_rows(tile), columns = duo_skinny_columns(tile);
    CHECK(isfinite(plan.clocks) && plan.clocks > 0, "%g clocks", plan.clocks);
    CHECK((tile->chains > 1) == size->vector, "chains of another kind of product");
    CHECK(plan.row_tiles * rows >= size->rows && (plan.row_tiles - 1) * rows < size->rows,
          "%jd tiles of %jd rows", (intmax_t)plan.row_tiles, (intmax_t)rows);
    CHECK(plan.column_tiles * columns >= size->columns &&
              (plan.column_tiles - 1) * columns < size->columns,
          "%jd tiles of %jd columns", (intmax_t)plan.column_tiles, (intmax_t)columns);
    if (size->ordered)
        CHECK(plan.segment == DUO_SEGMENT, "segments of %jd", (intmax_t)plan.segment);
    CHECK(plan.segments * plan.segment >= size->k, "%jd segments of %jd", (intmax_t)plan.segments,
          (intmax_t)plan.segment);
    CHECK(plan.ranges * plan.range >= plan.segments, "%jd ranges of %jd", (intmax_t)plan.ranges,
          (intmax_t)plan.range);
    CHECK(plan.teams >= 1 && plan.teams * tile->warps <= DUO_SKINNY_WARPS, "%d teams", plan.teams);
    CHECK(duo_skinny_resident(tile, plan.teams, size->x_along_k, device) > 0, "no block fits");
    if (plan.ranges == 1) return;
    CHECK(plan.range % plan.teams == 0, "%d teams share %jd segments", plan.teams,
          (intmax_t)plan.range);
    CHECK(plan.slots >= plan.ranges, "%jd slots", (intmax_t)plan.slots);
    CHECK(plan.slots * plan.row_tiles * rows * plan.column_tiles * columns <= room,
          "%jd slots of a tile", (intmax_t)plan.slots);
}

/* Any size up to `most`, small ones as often as large ones; 1 in 8 is the least. */
static int64_t any(test_rng *rng, int64_t least, int64_t most)
{
    int64_t end = least;
    if (test_between(rng, 0, 7) == 0) return least;
    while (end < most && test_between(rng, 0, 5) > 0) end = 2 * end + 1;
    return test_between(rng, least, end < most ? end : most);
}

static void sizes(void)
{
    static const duo_skinny_device devices[] = {
        {132, 228 << 10}, {108, 164 << 10}, {46, 100 << 10}, {16, 64 << 10}};
    test_rng rng = test_rng_for("sizes");
    for (int i = 0; i < 20000; i++) {
        const int64_t m = any(&rng, 1, 1 << 20), n = any(&rng, 1, 64), k = any(&rng, 0, 1 << 22);
        const duo_skinny_size size = {.rows = m > n ? m : n,
                                      .columns = m > n ? n : m,
                                      .k = k,
                                      .x_along_k = test_between(&rng, 0, 1) == 1,
                                      .y_along_k = test_between(&rng, 0, 1) == 1,
                                      .wide_x = test_between(&rng, 0, 1) == 1,
                                      .vector = duo_product_is_vector(m, n, k),
                                      .ordered = test_between(&rng, 0, 1) == 1};
        if (size.columns > DUO_SKINNY_WIDEST && !duo_skinny_is_small(m, n)) continue;
        const int64_t room =
            test_between(&rng, 0, 2) == 0 ? test_between(&rng, 0, most_floats) : most_floats;
        check(&size, &devices[i % 4], room);
    }
}

static const test_entry tests[] = {{"sizes", sizes}, {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "skinny_plan", tests); }
