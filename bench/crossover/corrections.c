/*
 * corrections.c - measures how far the costs of the CPU's sgemm algorithms are off at shapes that
 * are not cubes (choice/correction.h). Shapes that take long are left out. For algorithms that pack
 * their operands, some shapes are measured only without transposes.
 */
#include <math.h>

#include "bench/crossover/correction_grid.h"
#include "bench/crossover/crossover.h"
#include "bench/measure/benchmark.h"

/* Time that is left for the files at the end of a run: seconds, or a share of the run. */
static const double kFilesSeconds = 3.0, kFilesShare = 0.05;

/* The algorithms, in the order of measuring. A BLAS has separate kernels for each layout. The
 * others pack both operands; for some layouts that takes longer, at all sizes. */
static const struct {
    duo_corrected corrected;
    duo_algorithm_id id;
    int fine_layouts;
} kCorrected[DUO_CORRECTED] = {
    {DUO_CORRECTED_OPENBLAS, DUO_sgemm_cpu_openblas, DUO_CORRECTION_LAYOUTS},
    {DUO_CORRECTED_FFMA, DUO_sgemm_cpu_ffma, 1},
    {DUO_CORRECTED_FLOAT64, DUO_sgemm_cpu_float64, 1},
};

typedef struct corrector {
    const duo_crossover *x;
    const duo_algorithm *algorithm;
    duo_corrected corrected;
    duo_conditions one, all; /* from the profile to correct */
    double longest_seconds;  /* of a call on one thread; longer calls are not measured */
    double until;            /* end of measuring, on the clock of duo_now_seconds */
    bool known;              /* the profile has corrections from before */
    duo_effort effort;
} corrector;

/* Measured seconds, divided by the uncorrected cost. */
static float ratio(const corrector *c, double seconds, const duo_call *call,
                   const duo_conditions *by)
{
    return duo_grid_limited(seconds / duo_sgemm_cpu_uncorrected(c->corrected, call, by));
}

/*
 * The least seconds on one thread and on all: neighbours disturb these least. The two are not timed
 * by turns, because woken helpers need ten calls of 60 us to be fast again (16 threads on an H100's
 * host): more than a sample has. All threads should take no longer than one. If they do, a thread
 * had to wait for a processor, and both are measured again.
 */
static bool least_seconds(const corrector *c, duo_benchmark benchmark[2], double least[2])
{
    enum { TRIES = 3 };
    least[0] = least[1] = (double)INFINITY;
    for (int i = 0; i < TRIES && !(least[1] <= least[0] && isfinite(least[0])); i++) {
        for (int t = 0; t < 2; t++) {
            duo_measure(&benchmark[t], 1, &c->effort);
            if (benchmark[t].failed) return false;
            least[t] = fmin(least[t], benchmark[t].minimum_seconds);
        }
    }
    return true;
}

/* Measures one shape. False: it is too large, or would take too long. */
static bool measure_shape(const corrector *c, const duo_problem *problem, float *one, float *all)
{
    const duo_stock *const stock = &c->x->stock[DUO_PLACE_PAGEABLE];
    if (duo_stock_slots(stock, problem) == 0) return false;
    const duo_call call = duo_problem_call(problem, stock, 0);
    if (!(duo_sgemm_cpu_uncorrected(c->corrected, &call, &c->one) <= c->longest_seconds))
        return false;
    const int threads[2] = {1, c->x->threads};
    duo_implementation implementation[2];
    duo_benchmark benchmark[2];
    int opened = 0;
    while (opened < 2) {
        implementation[opened] = duo_cpu_implementation(c->algorithm, threads[opened], stock);
        if (!duo_benchmark_open(&benchmark[opened], &implementation[opened], problem)) break;
        opened++;
    }
    double least[2];
    const bool good = opened == 2 && least_seconds(c, benchmark, least);
    if (good) {
        *one = ratio(c, least[0], &call, &c->one);
        *all = ratio(c, fmin(least[0], least[1]), &call, &c->all);
    }
    for (int i = 0; i < opened; i++) duo_benchmark_close(&benchmark[i]);
    return good;
}

/* Sets the factor of a shape that was not measured. A factor from an earlier run stays. If the
 * shape takes too long, a smaller shape's factor serves. If time ran out (`late`): the mean around
 * it in the fine grid; in the coarse grid, the factor without transposes, or 1. */
static void take_other(const corrector *c, bool late, duo_correction *correction, int layout,
                       const int at[3])
{
    if (c->known) return;
    if (!late)
        duo_grid_take_smaller(correction, layout, at);
    else if (duo_grid_of(at) == DUO_GRID_FINE)
        duo_grid_take_between(correction, layout, at);
    else
        *duo_grid_factor(correction, layout, at) =
            layout > 0 ? *duo_grid_factor(correction, 0, at) : 1.0F;
}

static void measure_layout(const corrector *c, duo_grid grid, int layout, duo_correction *one,
                           duo_correction *all)
{
    for (int i = 0; i < DUO_GRID_SHAPES; i++) {
        int at[3];
        duo_grid_shape(i, at);
        if (duo_grid_of(at) != grid) continue;
        const duo_problem problem = {.operation = DUO_SGEMM,
                                     .shape = {duo_correction_sizes[at[0]],
                                               duo_correction_sizes[at[1]],
                                               duo_correction_sizes[at[2]]},
                                     .transa = layout / 2 != 0,
                                     .transb = layout % 2 != 0};
        const bool late = duo_now_seconds() > c->until;
        if (!late && measure_shape(c, &problem, duo_grid_factor(one, layout, at),
                                   duo_grid_factor(all, layout, at)))
            continue;
        take_other(c, late, one, layout, at);
        take_other(c, late, all, layout, at);
    }
}

/* Measures the coarse grids of all layouts. The fine grids are filled from these until they are
 * measured. */
static void correct_coarse(const corrector *c, duo_correction *one, duo_correction *all)
{
    for (int layout = 0; layout < DUO_CORRECTION_LAYOUTS; layout++) {
        measure_layout(c, DUO_GRID_COARSE, layout, one, all);
        if (c->known) continue;
        duo_grid_fill(one, layout, duo_grid_take_between);
        duo_grid_fill(all, layout, duo_grid_take_between);
    }
    one->measured = all->measured = true;
}

/* Measures the fine grids of the first `layouts` layouts. Each other layout gets layout 0's fine
 * grid, corrected by the ratio of their coarse grids. */
static void correct_fine(const corrector *c, int layouts, duo_correction *one, duo_correction *all)
{
    for (int layout = 0; layout < layouts; layout++)
        measure_layout(c, DUO_GRID_FINE, layout, one, all);
    for (int layout = layouts; layout < DUO_CORRECTION_LAYOUTS; layout++) {
        duo_grid_fill(one, layout, duo_grid_take_layout);
        duo_grid_fill(all, layout, duo_grid_take_layout);
    }
}

/* Does nothing if ssum was not measured: these factors depend on its curve, which gives the cost of
 * moving a product's operands. The profile would be read back with another curve. */
void duo_crossover_corrections(const duo_crossover *x, duo_profile *profile)
{
    if (profile->curve[DUO_ssum_cpu_lanes].count == 0) return;
    corrector c = {
        .x = x,
        .until = x->began + x->most_seconds - fmin(kFilesSeconds, kFilesShare * x->most_seconds),
        .longest_seconds = x->quick ? 1e-3 : 5e-2,
        .effort = {.sample_seconds = x->quick ? 2e-4 : 5e-4, .rounds = 5, .budget_seconds = 0.1}};
    c.one = c.all = (duo_conditions){.profile = profile, .math = DUO_CROSSOVER_MATH, .threads = 1};
    c.all.threads = x->threads;
    bool known[DUO_CORRECTED];
    for (int i = 0; i < DUO_CORRECTED; i++) {
        const duo_correction *const before = profile->correction[kCorrected[i].corrected];
        known[i] =
            before[DUO_CORRECTED_ONE_THREAD].measured && before[DUO_CORRECTED_ALL_THREADS].measured;
    }
    /* All coarse grids come first: if time runs out, only detail is lost. */
    for (duo_grid grid = DUO_GRID_COARSE; grid < DUO_GRIDS; grid++)
        for (int i = 0; i < DUO_CORRECTED; i++) {
            duo_correction *const correction = profile->correction[kCorrected[i].corrected];
            duo_correction *const one = &correction[DUO_CORRECTED_ONE_THREAD];
            duo_correction *const all = &correction[DUO_CORRECTED_ALL_THREADS];
            const bool begun = one->measured && all->measured;
            if (!x->wanted[DUO_SGEMM] || profile->curve[kCorrected[i].id].count == 0) continue;
            if (!begun && (grid == DUO_GRID_FINE || duo_now_seconds() > c.until)) continue;
            c.algorithm = duo_algorithm_of(kCorrected[i].id);
            c.corrected = kCorrected[i].corrected;
            c.known = known[i];
            if (grid == DUO_GRID_COARSE)
                correct_coarse(&c, one, all);
            else
                correct_fine(&c, kCorrected[i].fine_layouts, one, all);
        }
}
