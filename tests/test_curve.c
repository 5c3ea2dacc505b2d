/*
 * test_curve.c - seconds between and beyond the points that were measured.
 */
#include <math.h>

#include "choice/curve.h"
#include "support/data.h"
#include "support/harness.h"

static void empty(void)
{
    const duo_curve curve = {.count = 0};
    test_case("curve/empty");
    CHECK(isinf(duo_curve_seconds(&curve, 100.0, 1)), "not measured, but finite");
}

/* Through all points, never falling, and on as size^growth beyond the last. */
static void growth(void)
{
    duo_curve curve;
    for (int growth = 1; growth <= 3; growth += 2) {
        test_case("curve/growth-%d", growth);
        curve = (duo_curve){.count = DUO_CURVE_POINTS};
        for (int i = 0; i < curve.count; i++) {
            curve.size[i] = ceil(pow(1.6, i)) + i;
            curve.seconds[i] = 1e-7 + 1e-11 * pow(curve.size[i], growth) * (1.0 + 0.3 * (i % 2));
            if (i > 0) curve.seconds[i] = fmax(curve.seconds[i], curve.seconds[i - 1]);
        }
        for (int i = 0; i < curve.count; i++)
            CHECK(test_close(duo_curve_seconds(&curve, pow(curve.size[i], growth), growth),
                             curve.seconds[i], 1e-9),
                  "point %d is not met", i);
        double before = 0.0;
        const double largest = 4.0 * curve.size[curve.count - 1];
        for (double size = 0.25; size < largest; size *= 1.01) {
            const double seconds = duo_curve_seconds(&curve, pow(size, growth), growth);
            if (!CHECK(isfinite(seconds) && seconds > 0.0 && seconds >= before * (1.0 - 1e-12),
                       "%g s at %g after %g s", seconds, size, before))
                break;
            before = seconds;
        }
        const double end = curve.seconds[curve.count - 1], last = curve.size[curve.count - 1];
        CHECK(test_close(duo_curve_seconds(&curve, pow(10.0 * last, growth), growth),
                         end * pow(10.0, growth), 1e-9),
              "beyond the last point");
        CHECK(duo_curve_seconds(&curve, 0.0, growth) <= curve.seconds[0], "before the first point");
        CHECK(!isnan(duo_curve_seconds(&curve, 1e300, growth)), "far beyond");
        CHECK(!isnan(duo_curve_seconds(&curve, (double)NAN, growth)), "no size");
    }
}

/* Exact for a fixed cost plus a rate, as most algorithms have. */
static void line(void)
{
    test_case("curve/line");
    duo_curve curve = {.count = 2, .size = {10.0, 1000.0}};
    for (int i = 0; i < 2; i++) curve.seconds[i] = 5e-6 + 1e-9 * curve.size[i];
    for (double size = 10.0; size <= 1000.0; size += 17.0)
        CHECK(fabs(duo_curve_seconds(&curve, size, 1) / (5e-6 + 1e-9 * size) - 1.0) < 0.2, "at %g",
              size);
}

static void one_point(void)
{
    test_case("curve/one-point");
    const duo_curve curve = {.count = 1, .size = {100.0}, .seconds = {1e-6}};
    CHECK(duo_curve_seconds(&curve, 1.0, 1) > 0.0, "before");
    CHECK(test_close(duo_curve_seconds(&curve, 100.0, 1), 1e-6, 1e-9), "at");
    CHECK(test_close(duo_curve_seconds(&curve, 1000.0, 1), 1e-5, 1e-9), "beyond");
}

static void not_monotone(void)
{
    test_case("curve/not-monotone");
    const duo_curve curve = {.count = 3, .size = {10, 100, 1000}, .seconds = {2e-6, 1e-6, 5e-6}};
    for (double size = 10.0; size <= 100.0; size += 1.0) {
        const double seconds = duo_curve_seconds(&curve, size, 1);
        CHECK(seconds >= 1e-6 * (1 - 1e-12) && seconds <= 2e-6 * (1 + 1e-12), "%g s at %g", seconds,
              size);
    }
}

/* The times of a curve beyond its end do not count if another one goes further. */
static void ends_before(void)
{
    const duo_curve further = {.count = 3, .size = {16, 512, 1024}, .seconds = {1e-7, 1e-2, 0.9}};
    const duo_curve shorter = {.count = 2, .size = {16, 512}, .seconds = {1e-6, 1e-3}};
    const duo_curve none = {.count = 0};
    test_case("curve/ends-before");
    for (int growth = 1; growth <= 3; growth += 2) {
        const double end = pow(512.0, growth);
        CHECK(!duo_curve_ends_before(&shorter, &further, end, growth), "it was measured there");
        CHECK(duo_curve_ends_before(&shorter, &further, 1.001 * end, growth), "nor beyond");
        CHECK(duo_curve_ends_before(&shorter, &further, 1e12 * end, growth), "nor far beyond");
        CHECK(!duo_curve_ends_before(&further, &shorter, 1e12 * end, growth), "the longer one");
        CHECK(!duo_curve_ends_before(&shorter, &shorter, 1e12 * end, growth), "both end there");
        CHECK(!duo_curve_ends_before(&shorter, &none, 1e12 * end, growth), "there is no other");
        CHECK(!duo_curve_ends_before(&none, &further, end, growth), "it has no end");
    }
}

static const test_entry tests[] = {
    {"empty", empty},
    {"growth", growth},
    {"line", line},
    {"one_point", one_point},
    {"not_monotone", not_monotone},
    {"ends_before", ends_before},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "curve", tests); }
