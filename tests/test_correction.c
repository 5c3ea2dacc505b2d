/*
 * test_correction.c - corrections of a cost, at the sizes that were measured and between them.
 */
#include <math.h>
#include <string.h>

#include "choice/algorithm.h"
#include "choice/correction.h"
#include "choice/profile_in_use.h"
#include "support/data.h"
#include "support/harness.h"

enum { SIZES = DUO_CORRECTION_SIZES, LAYOUTS = DUO_CORRECTION_LAYOUTS };

static duo_correction random_correction(const char *label)
{
    duo_correction c = {.measured = true};
    test_rng rng = test_rng_for(label);
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int i = 0; i < SIZES; i++)
            for (int j = 0; j < SIZES; j++)
                for (int l = 0; l < SIZES; l++)
                    c.factor[layout][i][j][l] = (float)exp2(4.0 * test_unit(&rng) - 2.0);
    return c;
}

static double at(const duo_correction *c, int layout, const int64_t shape[3])
{
    return duo_correction_at(c, layout, shape[0], shape[1], shape[2]);
}

static void unmeasured(void)
{
    static const duo_correction c;
    test_case("correction/unmeasured");
    CHECK(duo_correction_at(&c, 3, 17, 1, 1000000) == 1.0, "corrected by nothing");
}

/* An empty product has the factor of the smallest. */
static void no_size(void)
{
    test_case("correction/no_size");
    const duo_correction c = random_correction("no size");
    for (int layout = 0; layout < LAYOUTS; layout++)
        CHECK(duo_correction_at(&c, layout, 0, 1, 0) == duo_correction_at(&c, layout, 1, 1, 1),
              "layout %d", layout);
}

/* At every combination of sizes its own factor. */
static void measured_sizes(void)
{
    test_case("correction/measured_sizes");
    const duo_correction c = random_correction("sizes");
    const int64_t *const size = duo_correction_sizes;
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int i = 0; i < SIZES; i++)
            for (int j = 0; j < SIZES; j++)
                for (int l = 0; l < SIZES; l++) {
                    const double got = duo_correction_at(&c, layout, size[i], size[j], size[l]);
                    const double expected = (double)c.factor[layout][i][j][l];
                    CHECK(test_close(got, expected, 1e-5), "%g, not %g, at [%d][%d][%d][%d]", got,
                          expected, layout, i, j, l);
                }
}

/* A factor between two sizes is between their factors, rising or falling all the way; beyond the
 * last size it is the last factor. */
static void between_sizes(void)
{
    test_case("correction/between_sizes");
    const duo_correction c = random_correction("between");
    for (int along = 0; along < 3; along++)
        for (int i = 0; i + 1 < SIZES; i++) {
            int64_t shape[3] = {9, 50, 250};
            const int64_t low = duo_correction_sizes[i], high = duo_correction_sizes[i + 1];
            shape[along] = low;
            const double from = at(&c, 1, shape);
            shape[along] = high;
            const double to = at(&c, 1, shape), sign = to > from ? 1.0 : -1.0;
            double before = from;
            for (int64_t x = low; x < high; x += x / 4 + 1) {
                shape[along] = x;
                const double here = at(&c, 1, shape);
                CHECK(sign * (here - before) >= -1e-5 && sign * (to - here) >= -1e-5,
                      "%g at %lld, after %g, before %g", here, (long long)x, before, to);
                before = here;
            }
        }
    const int64_t last = duo_correction_sizes[SIZES - 1];
    const double end = (double)c.factor[2][SIZES - 1][SIZES - 1][SIZES - 1];
    CHECK(test_close(duo_correction_at(&c, 2, 1000 * last, last + 1, last), end, 1e-5),
          "beyond the last size");
}

/* The cost of a CPU algorithm is its model's, times the factor of the shape and layout. */
static void cost_is_corrected(void)
{
    static const duo_algorithm_id id[DUO_CORRECTED] = {
        [DUO_CORRECTED_OPENBLAS] = DUO_sgemm_cpu_openblas,
        [DUO_CORRECTED_FFMA] = DUO_sgemm_cpu_ffma,
        [DUO_CORRECTED_FLOAT64] = DUO_sgemm_cpu_float64};
    static duo_profile profile;
    profile = *duo_profile_in_use();
    profile.sgemm_efficiency = 1.0;
    const int64_t shape[3] = {300, 400, 30};
    for (int threads = 1; threads <= 2; threads++)
        for (int which = 0; which < DUO_CORRECTED * LAYOUTS; which++) {
            const int layout = which % LAYOUTS;
            const duo_corrected corrected = (duo_corrected)(which / LAYOUTS);
            const duo_algorithm *const algorithm = duo_algorithm_of(id[corrected]);
            test_case("correction/cost/%s/%d/layout-%d", algorithm->name, threads, layout);
            const duo_call call = duo_call_sgemm(layout / 2 != 0, layout % 2 != 0, shape[0],
                                                 shape[1], shape[2], 1.0F, 0.0F);
            const duo_conditions conditions = {
                .profile = &profile, .math = DUO_MATH_IEEE, .threads = threads};
            memset(profile.correction, 0, sizeof profile.correction);
            const double model = duo_sgemm_cpu_uncorrected(corrected, &call, &conditions);
            /* The number of threads that is not asked about must not be chosen. */
            duo_correction *const of = profile.correction[corrected];
            duo_correction *const asked = &of[threads - 1], *const other = &of[2 - threads];
            *asked = random_correction("asked");
            *other = random_correction("other");
            for (int i = 0; i < SIZES * SIZES * SIZES; i++)
                (&other->factor[layout][0][0][0])[i] = 1e6F;
            int used;
            const double cost = algorithm->cost(&call, &conditions, &used);
            const double factor = at(asked, layout, shape);
            CHECK(used == threads, "%d threads, not %d", used, threads);
            CHECK(test_close(cost, factor * model, 1e-6), "%g, not %g times %g", cost, factor,
                  model);
        }
}

/* If m and n are multiples of 16, a product is spared the cost of odd sizes in a BLAS: the
 * correction of the cube on one thread, which fades out from 250 to 1000. */
static void whole_vectors(void)
{
    static const struct {
        int64_t shape[3];
        double share; /* of the cost of odd sizes */
    } made[] = {{{256, 512, 77}, 744.0 / 750.0}, {{16, 48, 1000}, 1.0},
                {{2048, 640, 9}, 360.0 / 750.0}, {{1008, 1024, 5}, 0.0},
                {{256, 250, 77}, 0.0},           {{250, 256, 77}, 0.0}};
    static duo_profile profile;
    profile = *duo_profile_in_use();
    profile.sgemm_efficiency = 1.0;
    for (int i = 0; i < 12; i++) {
        const int threads = i % 2 + 1;
        const int64_t *const s = made[i / 2].shape, edge = s[0] < s[1] ? s[0] : s[1];
        test_case("correction/whole vectors/%d/%d", i / 2, threads);
        const duo_call call = duo_call_sgemm(false, true, s[0], s[1], s[2], 1.0F, 0.0F);
        const duo_conditions conditions = {
            .profile = &profile, .math = DUO_MATH_IEEE, .threads = threads};
        memset(profile.correction, 0, sizeof profile.correction);
        const double model = duo_sgemm_cpu_uncorrected(DUO_CORRECTED_OPENBLAS, &call, &conditions);
        duo_correction *const of = profile.correction[DUO_CORRECTED_OPENBLAS];
        of[DUO_CORRECTED_ONE_THREAD] = random_correction("one");
        of[DUO_CORRECTED_ALL_THREADS] = random_correction("all");
        duo_correction *const asked = &of[threads - 1], *const other = &of[2 - threads];
        /* The others must not be chosen; the cubes of one thread count. */
        for (int at_size = 0; at_size < SIZES * SIZES * SIZES; at_size++)
            (&other->factor[1][0][0][0])[at_size] = 1e6F;
        for (int size = 0; size < SIZES; size++)
            of[DUO_CORRECTED_ONE_THREAD].factor[0][size][size][size] = 3.0F;
        const double cube = duo_correction_at(&of[DUO_CORRECTED_ONE_THREAD], 0, edge, edge, edge);
        const double odd = 1.0 + ((cube > 1.0 ? cube : 1.0) - 1.0) * made[i / 2].share;
        int used;
        const double cost =
            duo_algorithm_of(DUO_sgemm_cpu_openblas)->cost(&call, &conditions, &used);
        CHECK(used == threads, "%d threads", used);
        CHECK(test_close(cost, at(asked, 1, s) / odd * model, 1e-5), "%g, not %g of %g", cost,
              at(asked, 1, s) / odd, model);
    }
}

static const test_entry tests[] = {
    {"whole_vectors", whole_vectors},
    {"unmeasured", unmeasured},
    {"no_size", no_size},
    {"measured_sizes", measured_sizes},
    {"between_sizes", between_sizes},
    {"cost_is_corrected", cost_is_corrected},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "correction", tests); }
