/*
 * test_correction_grid.c - factors of unmeasured shapes come only from measured ones: a factor that
 * is not set yet is NaN here.
 */
#include "bench/crossover/correction_grid.h"

#include <math.h>
#include <stdlib.h>

#include "support/data.h"
#include "support/harness.h"

enum { LAYOUTS = DUO_CORRECTION_LAYOUTS };

/* Nothing is set. */
static duo_correction *poisoned(void)
{
    duo_correction *const c = calloc(1, sizeof *c);
    if (!CHECK(c != NULL, "memory")) abort();
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int i = 0; i < DUO_GRID_SHAPES; i++) {
            int at[3];
            duo_grid_shape(i, at);
            *duo_grid_factor(c, layout, at) = NAN;
        }
    return c;
}

/* Its logarithm is linear in the numbers of the sizes. */
static double smooth(const int at[3])
{
    return exp(0.11 * at[0] - 0.23 * at[1] + 0.07 * at[2] + 0.3);
}

static void set(duo_correction *c, int layout, duo_grid grid, double times)
{
    for (int i = 0; i < DUO_GRID_SHAPES; i++) {
        int at[3];
        duo_grid_shape(i, at);
        if (duo_grid_of(at) == grid) *duo_grid_factor(c, layout, at) = (float)(times * smooth(at));
    }
}

static void check_smooth(duo_correction *c, int layout, double times)
{
    for (int i = 0; i < DUO_GRID_SHAPES; i++) {
        int at[3];
        duo_grid_shape(i, at);
        const double factor = (double)*duo_grid_factor(c, layout, at);
        CHECK(test_close(factor, times * smooth(at), 1e-5), "layout %d, %d %d %d: %g instead of %g",
              layout, at[0], at[1], at[2], factor, times * smooth(at));
    }
}

static void grids(void)
{
    int coarse = 0;
    bool seen[DUO_CORRECTION_SIZES][DUO_CORRECTION_SIZES][DUO_CORRECTION_SIZES] = {{{false}}};
    test_case("grids");
    for (int i = 0; i < DUO_GRID_SHAPES; i++) {
        int at[3];
        duo_grid_shape(i, at);
        CHECK(!seen[at[0]][at[1]][at[2]], "%d %d %d comes twice", at[0], at[1], at[2]);
        seen[at[0]][at[1]][at[2]] = true;
        coarse += duo_grid_of(at) == DUO_GRID_COARSE;
    }
    CHECK(coarse == 64, "every other one of 7 sizes, in three directions: %d", coarse);
}

static void between(void)
{
    duo_correction *const c = poisoned();
    test_case("between");
    set(c, 2, DUO_GRID_COARSE, 1.0);
    duo_grid_fill(c, 2, duo_grid_take_between);
    check_smooth(c, 2, 1.0);
    CHECK(isnan(c->factor[0][0][0][0]) && isnan(c->factor[3][1][1][1]), "no other layout");
    free(c);
}

static void layout(void)
{
    duo_correction *const c = poisoned();
    test_case("layout");
    set(c, 0, DUO_GRID_COARSE, 1.0);
    set(c, 0, DUO_GRID_FINE, 1.0);
    set(c, 3, DUO_GRID_COARSE, 1.5);
    duo_grid_fill(c, 3, duo_grid_take_layout);
    check_smooth(c, 0, 1.0);
    check_smooth(c, 3, 1.5);
    free(c);
}

/* A factor that differs from its surroundings without transposes differs as much with them, up to
 * the limits of a profile. */
static void layout_keeps_detail(void)
{
    static const int kAt[3] = {1, 2, 3};
    duo_correction *const c = poisoned();
    test_case("layout keeps detail");
    set(c, 0, DUO_GRID_COARSE, 1.0);
    set(c, 1, DUO_GRID_COARSE, 0.5);
    *duo_grid_factor(c, 0, kAt) = (float)(3.0 * smooth(kAt));
    duo_grid_take_layout(c, 1, kAt);
    CHECK(test_close((double)*duo_grid_factor(c, 1, kAt), 1.5 * smooth(kAt), 1e-5), "%g",
          (double)*duo_grid_factor(c, 1, kAt));
    *duo_grid_factor(c, 0, kAt) = 1e6F;
    duo_grid_take_layout(c, 1, kAt);
    CHECK((double)*duo_grid_factor(c, 1, kAt) == DUO_CORRECTION_MOST, "limited");
    *duo_grid_factor(c, 0, kAt) = 1e-6F;
    duo_grid_take_layout(c, 1, kAt);
    CHECK((double)*duo_grid_factor(c, 1, kAt) == 1.0 / DUO_CORRECTION_MOST, "limited below");
    free(c);
}

static void smaller(void)
{
    static const int kCoarse[3] = {2, 6, 4}, kCoarseSmaller[3] = {2, 4, 4};
    static const int kFine[3] = {1, 2, 5}, kFineSmaller[3] = {1, 2, 4}, kFirst[3] = {0, 0, 0};
    duo_correction *const c = poisoned();
    test_case("smaller");
    *duo_grid_factor(c, 0, kCoarseSmaller) = 3.0F;
    *duo_grid_factor(c, 0, kFineSmaller) = 5.0F;
    duo_grid_take_smaller(c, 0, kCoarse);
    duo_grid_take_smaller(c, 0, kFine);
    duo_grid_take_smaller(c, 0, kFirst);
    CHECK(*duo_grid_factor(c, 0, kCoarse) == 3.0F, "the next one of the coarse grid");
    CHECK(*duo_grid_factor(c, 0, kFine) == 5.0F, "the next one of both");
    CHECK(*duo_grid_factor(c, 0, kFirst) == 1.0F, "none is smaller");
    free(c);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"grids", grids},     {"between", between},
        {"layout", layout},   {"layout_keeps_detail", layout_keeps_detail},
        {"smaller", smaller}, {NULL, NULL},
    };
    return test_main(argc, argv, "correction_grid", tests);
}
