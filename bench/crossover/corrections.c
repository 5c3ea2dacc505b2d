/*
 * corrections.c - how far the costs of the CPU's algorithms of sgemm are off at shapes that are not
 * cubes (choice/correction.h), by products of every shape that do not take long; of algorithms that
 * pack their operands some shapes are measured without transposes alone.
 */
#include <math.h>

#include "bench/crossover/crossover.h"
#include "bench/measure/benchmark.h"

enum { SIZES = DUO_CORRECTION_SIZES };

/* What is left at the end of a run for its files. */
static const double kFilesSeconds = 3.0, kFilesShare = 0.05;

/* The algorithms in the order in which they get time. A BLAS has kernels of its own for each
 * layout; the others pack both operands, which takes longer for some layouts at all sizes. */
static const struct {
    duo_corrected corrected;
    duo_algorithm_id id;
    int fine_layouts;
} kCorrected[DUO_CORRECTED] = {
    {DUO_CORRECTED_OPENBLAS, DUO_sgemm_cpu_openblas, DUO_CORRECTION_LAYOUTS},
    {DUO_CORRECTED_PLAIN, DUO_sgemm_cpu_plain, 1},
    {DUO_CORRECTED_FLOAT64, DUO_sgemm_cpu_float64, 1},
};

typedef struct corrector {
    const duo_crossover *x;
    const duo_algorithm *algorithm;
    duo_corrected corrected;
    duo_conditions one, all; /* by the profile that is to be corrected */
    double longest_seconds;  /* of a call on one thread; longer ones are not measured */
    double until;            /* by duo_now_seconds: then nothing more is measured */
    bool known;              /* the profile has corrections from before */
    duo_effort effort;
} corrector;

/* What was measured over what the cost says. */
static float ratio(const corrector *c, double seconds, const duo_call *call,
                   const duo_conditions *by)
{
    const double factor = seconds / duo_sgemm_cpu_uncorrected(c->corrected, call, by);
    return (float)fmin(fmax(factor, 1.0 / DUO_CORRECTION_MOST), DUO_CORRECTION_MOST);
}

/*
 * The least seconds of one thread and of all, which neighbours disturb least. All threads take no
 * longer than one: where they seem to, one of them had to wait for a processor, and both are
 * measured again.
 */
static bool least_seconds(const corrector *c, duo_benchmark benchmark[2], double least[2])
{
    enum { TRIES = 3 };
    least[0] = least[1] = (double)INFINITY;
    for (int i = 0; i < TRIES && !(least[1] <= least[0] && isfinite(least[0])); i++) {
        duo_measure(benchmark, 2, &c->effort);
        if (benchmark[0].failed || benchmark[1].failed) return false;
        for (int t = 0; t < 2; t++) least[t] = fmin(least[t], benchmark[t].minimum_seconds);
    }
    return true;
}

/* Measures one shape; false: it is too large, or would take too long. */
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

/* Every other size of m, n and k; and what lies between. */
typedef enum grid { COARSE, FINE, GRIDS } grid;
_Static_assert(SIZES % 2 == 1, "what lies between has a coarse size on both sides");

static grid grid_of(const int at[3])
{
    return at[0] % 2 == 0 && at[1] % 2 == 0 && at[2] % 2 == 0 ? COARSE : FINE;
}

static float *factor_at(duo_correction *correction, int layout, const int at[3])
{
    return &correction->factor[layout][at[0]][at[1]][at[2]];
}

/* The factor of a shape that takes too long: that of the next one that is smaller where this is
 * largest. */
static void take_smaller(duo_correction *correction, int layout, const int at[3])
{
    const int step = grid_of(at) == COARSE ? 2 : 1;
    int largest = 0, smaller[3] = {at[0], at[1], at[2]};
    for (int axis = 1; axis < 3; axis++)
        if (at[axis] > at[largest]) largest = axis;
    smaller[largest] -= step;
    *factor_at(correction, layout, at) =
        at[largest] == 0 ? 1.0F : *factor_at(correction, layout, smaller);
}

/* The geometric mean of the factors of the coarse grid around a shape of the fine one. */
static double between(duo_correction *correction, int layout, const int at[3])
{
    enum { CORNERS = 8 };
    double logarithms = 0.0;
    for (int corner = 0; corner < CORNERS; corner++) {
        int coarse[3];
        for (int axis = 0; axis < 3; axis++)
            coarse[axis] = at[axis] + (at[axis] % 2 == 0 ? 0 : corner >> axis & 1 ? 1 : -1);
        logarithms += log((double)*factor_at(correction, layout, coarse));
    }
    return exp(logarithms / CORNERS);
}

/* The factor of a shape of the fine grid that is not measured. */
static void take_between(duo_correction *correction, int layout, const int at[3])
{
    *factor_at(correction, layout, at) = (float)between(correction, layout, at);
}

/* The same where that shape is measured without transposes: as far from that as the layouts are
 * around it. */
static void take_layout(duo_correction *correction, int layout, const int at[3])
{
    const double factor = (double)*factor_at(correction, 0, at) * between(correction, layout, at) /
                          between(correction, 0, at);
    *factor_at(correction, layout, at) =
        (float)fmin(fmax(factor, 1.0 / DUO_CORRECTION_MOST), DUO_CORRECTION_MOST);
}

/* Without a measurement: what was known before; of a shape that takes too long that of a smaller
 * one; for want of time what was measured around it, or without transposes, or nothing. */
static void take_other(const corrector *c, bool late, duo_correction *correction, int layout,
                       const int at[3])
{
    if (c->known) return;
    if (!late)
        take_smaller(correction, layout, at);
    else if (grid_of(at) == FINE)
        take_between(correction, layout, at);
    else
        *factor_at(correction, layout, at) = layout > 0 ? *factor_at(correction, 0, at) : 1.0F;
}

static void measure_layout(const corrector *c, grid which, int layout, duo_correction *one,
                           duo_correction *all)
{
    for (int i = 0; i < SIZES * SIZES * SIZES; i++) {
        const int at[3] = {i / (SIZES * SIZES), i / SIZES % SIZES, i % SIZES};
        const duo_problem problem = {.operation = DUO_SGEMM,
                                     .shape = {duo_correction_sizes[at[0]],
                                               duo_correction_sizes[at[1]],
                                               duo_correction_sizes[at[2]]},
                                     .transa = layout / 2 != 0,
                                     .transb = layout % 2 != 0};
        if (grid_of(at) != which) continue;
        const bool late = duo_now_seconds() > c->until;
        if (!late &&
            measure_shape(c, &problem, factor_at(one, layout, at), factor_at(all, layout, at)))
            continue;
        take_other(c, late, one, layout, at);
        take_other(c, late, all, layout, at);
    }
}

/* Sets the factors of the fine grid of a layout, by `take`, from those that are measured. */
static void fill_layout(int layout, duo_correction *correction,
                        void (*take)(duo_correction *, int, const int[3]))
{
    for (int i = 0; i < SIZES * SIZES * SIZES; i++) {
        const int at[3] = {i / (SIZES * SIZES), i / SIZES % SIZES, i % SIZES};
        if (grid_of(at) == FINE) take(correction, layout, at);
    }
}

static void correct(const corrector *c, grid which, int fine_layouts, duo_correction *one,
                    duo_correction *all)
{
    for (int layout = 0; layout < DUO_CORRECTION_LAYOUTS; layout++) {
        if (which == COARSE || layout < fine_layouts) measure_layout(c, which, layout, one, all);
        if (which == COARSE ? c->known : layout < fine_layouts) continue;
        fill_layout(layout, one, which == COARSE ? take_between : take_layout);
        fill_layout(layout, all, which == COARSE ? take_between : take_layout);
    }
    one->measured = all->measured = true;
}

/* Not where ssum was not measured: the profile that is read back has another curve for what a
 * product moves, against which these factors say nothing. */
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
    /* First the coarse grids of all, so that time that runs out costs detail alone. */
    for (grid which = COARSE; which < GRIDS; which++)
        for (int i = 0; i < DUO_CORRECTED; i++) {
            duo_correction *const correction = profile->correction[kCorrected[i].corrected];
            duo_correction *const one = &correction[DUO_CORRECTED_ONE_THREAD];
            duo_correction *const all = &correction[DUO_CORRECTED_ALL_THREADS];
            const bool begun = one->measured && all->measured;
            if (!x->wanted[DUO_SGEMM] || profile->curve[kCorrected[i].id].count == 0) continue;
            if (!begun && (which == FINE || duo_now_seconds() > c.until)) continue;
            c.algorithm = duo_algorithm_of(kCorrected[i].id);
            c.corrected = kCorrected[i].corrected;
            c.known = known[i];
            correct(&c, which, kCorrected[i].fine_layouts, one, all);
        }
}
