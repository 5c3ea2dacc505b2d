/*
 * test_shape_costs.c - the published figures of random products (bench/results/h100/shapes.csv),
 * and the predictions of that GPU's built-in profile for their algorithms.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "choice/algorithm.h"
#include "choice/profile_in_use.h"
#include "support/data.h"
#include "support/harness.h"

/* Shorter ones are launches. */
static const double kLeastSeconds = 7e-6;
static const double kClose = 1.25;

typedef struct figure {
    const duo_algorithm *algorithm;
    duo_call call;
    double seconds;
} figure;

static const duo_algorithm *algorithm_named(const char *name)
{
    const duo_algorithm_table table = duo_algorithm_tables[DUO_SGEMM];
    for (int i = 0; i < table.count; i++)
        if (strcmp(table.algorithm[i].name, name) == 0) return &table.algorithm[i];
    return NULL;
}

/* False: the line has none. */
static bool read_figure(const char *line, figure *f)
{
    int64_t m, n, k, gap[3];
    char layout[3], name[32];
    float beta;
    if (sscanf(line,
               "%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%2[nt],%31[a-z0-9_],%lf,%*f,%*f,%*[a-z0-9_],"
               "%*f,%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%f",
               &m, &n, &k, layout, name, &f->seconds, &gap[0], &gap[1], &gap[2], &beta) != 10)
        return false;
    /* Their kernels are others since, sgemm_gpu_ffma's for a long k: it keeps a sum of every
     * segment. Of the figures that are left, 0.23 are below. */
    const int64_t long_k = 38400;
    if (strcmp(name, "sgemm_gpu_gemv") == 0 || strcmp(name, "sgemm_gpu_skinny") == 0 ||
        (strcmp(name, "sgemm_gpu_ffma") == 0 && k > long_k))
        return false;
    const bool ta = layout[0] == 't', tb = layout[1] == 't';
    f->algorithm = algorithm_named(name);
    f->call = duo_call_sgemm(ta, tb, m, n, k, 1.0F, beta);
    f->call.operand[DUO_A].ld = (ta ? k : m) + gap[0];
    f->call.operand[DUO_B].ld = (tb ? n : k) + gap[1];
    f->call.operand[DUO_C].ld = m + gap[2];
    for (int i = 0; i < DUO_OPERANDS; i++) f->call.operand[i].on_device = true;
    return CHECK(f->algorithm != NULL, "%s is no algorithm", name);
}

static duo_conditions conditions_of(const duo_profile *profile)
{
    return (duo_conditions){.profile = profile,
                            .math = DUO_MATH_ACCURATE,
                            .threads = 1,
                            .gpu = true,
                            .capability = 90,
                            .multiprocessors = 132,
                            .device_memory_bytes = 8e10};
}

static double predicted(const figure *f)
{
    const duo_conditions conditions = conditions_of(duo_profile_built_in("h100"));
    int threads;
    return duo_algorithm_seconds(f->algorithm, &f->call, &conditions, &threads);
}

/* The limits fit these and other figures alike: a model that forgets something falls below. */
static void published(void)
{
    char line[512];
    int count = 0, close = 0, low = 0, finite = 0;
    FILE *const file = fopen(TEST_SHAPES_CSV, "r");
    if (!CHECK(file != NULL, "%s", TEST_SHAPES_CSV)) return;
    test_case("shape costs/published");
    while (fgets(line, sizeof line, file) != NULL) {
        figure f;
        if (!read_figure(line, &f) || f.seconds < kLeastSeconds) continue;
        const double ratio = f.seconds / predicted(&f);
        count++;
        close += ratio >= 1.0 / kClose && ratio <= kClose;
        low += ratio < 1.0;
        finite += isfinite(ratio) && ratio > 0.0;
    }
    fclose(file);
    CHECK(count >= 100, "only %d figures", count);
    CHECK(finite == count, "%d of %d predicted", finite, count);
    CHECK(close >= 0.8 * count, "%d of %d within %g", close, count, kClose);
    CHECK(low >= 0.22 * count && low <= 0.75 * count, "%d of %d below the prediction", low, count);
}

/* Nothing that reads A and B from memory is predicted to be faster than that. */
static void no_faster_than_memory(void)
{
    const duo_algorithm_table table = duo_algorithm_tables[DUO_SGEMM];
    const duo_profile *const h100 = duo_profile_built_in("h100");
    const duo_conditions conditions = conditions_of(h100);
    int checked = 0;
    test_rng rng = test_rng_for("memory");
    for (int i = 0; i < 400; i++) {
        const int64_t thin = test_between(&rng, 1, 60), rows = test_between(&rng, 20000, 200000);
        const int64_t k = test_between(&rng, 4000, 20000), turned = test_between(&rng, 0, 1);
        figure f = {.call =
                        duo_call_sgemm(test_between(&rng, 0, 1) != 0, test_between(&rng, 0, 1) != 0,
                                       turned ? thin : rows, turned ? rows : thin, k, 1.0F, 0.0F)};
        for (int o = 0; o < DUO_OPERANDS; o++) f.call.operand[o].on_device = true;
        const double elements = (double)rows * (double)k;
        const double memory = duo_curve_seconds(&h100->curve[DUO_ssum_gpu_shuffle], elements, 1);
        for (int a = 0; a < table.count; a++) {
            if (table.algorithm[a].side != DUO_SIDE_GPU) continue;
            f.algorithm = &table.algorithm[a];
            if (!f.algorithm->accepts(&f.call, &conditions)) continue;
            const double seconds = predicted(&f);
            checked++;
            test_case("shape costs/memory/%s", f.algorithm->name);
            CHECK(seconds >= 0.9 * memory, "%lld x %lld x %lld: %g, memory takes %g",
                  (long long)f.call.m, (long long)f.call.n, (long long)k, seconds, memory);
        }
    }
    CHECK(checked >= 2000, "only %d were checked", checked);
}

/* An unmeasured algorithm is never chosen: its cost is infinite, never NaN. */
static void without_curves(void)
{
    static const int64_t depths[] = {1, 100, 500, 800, 5000};
    static duo_profile empty;
    const duo_algorithm_table table = duo_algorithm_tables[DUO_SGEMM];
    const duo_conditions conditions = conditions_of(&empty);
    for (int a = 0; a < table.count; a++)
        for (int i = 0; i < 5; i++) {
            if (table.algorithm[a].side != DUO_SIDE_GPU) continue;
            int threads;
            duo_call call = duo_call_sgemm(false, false, 500, 500, depths[i], 1.0F, 0.0F);
            for (int o = 0; o < DUO_OPERANDS; o++) call.operand[o].on_device = true;
            const double seconds =
                duo_algorithm_seconds(&table.algorithm[a], &call, &conditions, &threads);
            test_case("shape costs/without curves/%s", table.algorithm[a].name);
            CHECK(isinf(seconds) && seconds > 0.0, "k = %lld: %g", (long long)depths[i], seconds);
        }
}

/* Of the algorithm, or infinite: it does not take the product. */
static double seconds_on(int capability, const char *name, const duo_call *call)
{
    const figure f = {.algorithm = algorithm_named(name), .call = *call};
    duo_conditions conditions = conditions_of(duo_profile_built_in("h100"));
    int threads;
    conditions.capability = capability;
    if (!f.algorithm->accepts(call, &conditions)) return (double)INFINITY;
    return duo_algorithm_seconds(f.algorithm, call, &conditions, &threads);
}

/* Until a GPU was measured, an H100's profile stands for it. Which of its units a GPU has is known
 * from its capability; 0: it was not looked at yet, and may have all. */
static void other_capabilities(void)
{
    static const struct {
        int number;
        bool mma, many_mma, wgmma, tensor_float64;
    } capability[] = {{0, true, true, true, true},     {70, false, false, false, false},
                      {75, true, true, false, false},  {80, true, true, false, true},
                      {86, true, false, false, false}, {89, true, false, false, false},
                      {90, true, true, true, true},    {100, true, true, false, true},
                      {120, true, false, false, false}};
    static const char *const of_wgmma[] = {"sgemm_gpu_bf16x6", "sgemm_gpu_fp16x3",
                                           "sgemm_gpu_fp16x1"};
    test_rng rng = test_rng_for("capabilities");
    for (int i = 0; i < 50; i++) {
        duo_call call = duo_call_sgemm(test_between(&rng, 0, 1) != 0, test_between(&rng, 0, 1) != 0,
                                       test_between(&rng, 500, 3000), test_between(&rng, 500, 3000),
                                       test_between(&rng, 1000, 3000), 1.0F,
                                       test_between(&rng, 0, 1) != 0 ? 1.0F : 0.0F);
        for (int o = 0; o < DUO_OPERANDS; o++) call.operand[o].on_device = true;
        for (size_t c = 0; c < sizeof capability / sizeof capability[0]; c++) {
            const int number = capability[c].number;
            const double ffma = seconds_on(number, "sgemm_gpu_ffma", &call),
                         mma = seconds_on(number, "sgemm_gpu_mma", &call),
                         f64 = seconds_on(number, "sgemm_gpu_f64", &call);
            test_case("shape costs/capability %d", number);
            CHECK(isfinite(ffma) && ffma > 0.0, "FMAs take %g", ffma);
            CHECK(capability[c].mma == (isfinite(mma) && mma > 0.0), "mma takes %g", mma);
            CHECK(capability[c].many_mma || mma >= ffma, "mma takes %g, FMAs %g", mma, ffma);
            CHECK(isfinite(f64) && f64 > 0.0, "float64 takes %g", f64);
            CHECK(capability[c].tensor_float64 || f64 >= 30.0 * ffma, "float64 takes %g, FMAs %g",
                  f64, ffma);
            for (int w = 0; w < 3; w++) {
                const double wgmma = seconds_on(number, of_wgmma[w], &call);
                CHECK(capability[c].wgmma == (isfinite(wgmma) && wgmma > 0.0), "%s takes %g",
                      of_wgmma[w], wgmma);
            }
        }
    }
}

static const test_entry tests[] = {{"published", published},
                                   {"no_faster_than_memory", no_faster_than_memory},
                                   {"without_curves", without_curves},
                                   {"other_capabilities", other_capabilities},
                                   {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "shape_costs", tests); }
