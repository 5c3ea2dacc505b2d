/* predict.c - predicts figures from a profile if they were not measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/second.h"
#include "choice/profile_in_use.h"
#include "choice/select.h"
#include "gpu/backend/devices.h"

duo_conditions duo_crossover_conditions(const duo_crossover *x, duo_path path, int threads)
{
    const duo_profile *const profile =
        path == DUO_PATH_GPU && !x->gpu ? x->assumed : duo_profile_in_use();
    return (duo_conditions){.profile = profile,
                            .path = path,
                            .math = DUO_CROSSOVER_MATH,
                            .threads = threads,
                            .gpu = path == DUO_PATH_GPU,
                            .capability = x->gpu ? duo_device_capability(0) : 0,
                            .device_memory_bytes = (double)INFINITY};
}

duo_figure duo_crossover_predict_gpu(const duo_crossover *x, const duo_problem *problem,
                                     duo_place place)
{
    const duo_stock stock = {.place = place};
    duo_call call = duo_problem_call(problem, &stock, 0);
    if (problem->operation != DUO_SGEMM) { /* the result goes to the caller's own float */
        call.operand[DUO_RESULT].residence = DUO_AT_PAGEABLE;
        call.operand[DUO_RESULT].on_host = true;
        call.operand[DUO_RESULT].on_device = false;
    }
    const duo_conditions conditions = duo_crossover_conditions(x, DUO_PATH_GPU, 1);
    duo_choice choice[DUO_CANDIDATES];
    const int count = duo_predict(&call, &conditions, choice);
    duo_figure best = {.predicted = true};
    for (int i = 0; i < count; i++) {
        if (choice[i].algorithm->side != DUO_SIDE_GPU || !choice[i].accepts) continue;
        if (best.algorithm != NULL && choice[i].seconds >= best.median_seconds) continue;
        best.algorithm = choice[i].algorithm->name;
        best.median_seconds = best.minimum_seconds = choice[i].seconds;
    }
    return best;
}

/* The cost of one algorithm, from the profile in use. */
static double predict_algorithm(const duo_crossover *x, const duo_problem *problem,
                                const duo_algorithm *algorithm, int threads)
{
    const duo_stock stock = {.place = algorithm->side == DUO_SIDE_GPU ? DUO_PLACE_DEVICE
                                                                      : DUO_PLACE_PAGEABLE};
    const duo_call call = duo_problem_call(problem, &stock, 0);
    const duo_conditions conditions = duo_crossover_conditions(
        x, algorithm->side == DUO_SIDE_GPU ? DUO_PATH_GPU : DUO_PATH_CPU, threads);
    int used;
    return duo_algorithm_seconds(algorithm, &call, &conditions, &used);
}

/* Predicts from the profile: an algorithm on some threads, or the API with operands in a place. */
static double predict(const duo_crossover *x, const duo_problem *problem,
                      const duo_implementation *implementation, int series)
{
    const double seconds =
        implementation->algorithm != NULL
            ? predict_algorithm(x, problem, implementation->algorithm, implementation->threads)
            : duo_crossover_predict_gpu(x, problem, (duo_place)(series - DUO_SERIES_GPU))
                  .median_seconds;
    return isfinite(seconds) ? seconds : 0.0; /* 0: not in the profile */
}

double duo_crossover_expect(const duo_crossover *x, const duo_case *c,
                            const duo_implementation *implementation, int series)
{
    const double here = predict(x, &c->problem, implementation, series);
    const duo_case *before = c;
    while (--before >= x->item && before->problem.operation == c->problem.operation &&
           before->family == c->family) {
        const duo_figure *const f = &before->figure[series];
        if (f->median_seconds <= 0.0 || f->predicted) continue;
        const double there = predict(x, &before->problem, implementation, series);
        const double size = duo_problem_size(&c->problem) / duo_problem_size(&before->problem);
        return f->median_seconds * (here > 0.0 && there > 0.0
                                        ? here / there
                                        : pow(size, duo_problem_growth(&c->problem)));
    }
    return here;
}

/* ---- Other GPUs ---- */

/* From bench/results/h100/crossover.csv and the built-in profiles of the H100 and the H200;
 * test_crossing checks them. */
const double duo_prediction_low = 0.6, duo_prediction_high = 1.8;

static duo_crossing find(const duo_crossover *x, int operation, duo_place place, double factor)
{
    return duo_crossover_find_use(x, (duo_operation)operation,
                                  duo_crossover_main_family((duo_operation)operation),
                                  (duo_use){place, 1, factor});
}

duo_range duo_crossover_range(const duo_crossover *x, const duo_case *c, duo_place place,
                              bool predicted)
{
    const double noise = x->noise.looks > 0 ? x->noise.error : 0.0;
    const double noisy = 1.0 + fmax(noise, duo_second_off(x, c, place, predicted));
    return (duo_range){(predicted ? duo_prediction_low : 1.0) / noisy,
                       (predicted ? duo_prediction_high : 1.0) * noisy};
}

duo_ends duo_crossover_ends(const duo_crossover *x, duo_operation operation, const char *family,
                            duo_use use)
{
    duo_ends ends = {.crossing = duo_crossover_find_use(x, operation, family, use)};
    const duo_range range = duo_crossover_range(x, NULL, use.place, ends.crossing.predicted);
    const double factor = use.factor;
    use.factor = factor * range.low;
    ends.early = duo_crossover_find_use(x, operation, family, use);
    use.factor = factor * range.high;
    ends.late = duo_crossover_find_use(x, operation, family, use);
    return ends;
}

/* Replaces the GPU figures of `x`, which is a copy, by the profile's. */
static void look(duo_crossover *x, duo_outlook *outlook)
{
    x->gpu = false;
    x->assumed = outlook->profile;
    for (int i = 0; i < x->cases; i++)
        for (int place = 0; place < DUO_PLACES; place++)
            x->item[i].figure[DUO_SERIES_GPU + place] =
                duo_crossover_predict_gpu(x, &x->item[i].problem, (duo_place)place);
    const duo_range range = duo_crossover_range(x, NULL, DUO_PLACE_PAGEABLE, true);
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        outlook->early[operation] = find(x, operation, DUO_PLACE_PAGEABLE, range.low);
        outlook->late[operation] = find(x, operation, DUO_PLACE_PAGEABLE, range.high);
        outlook->stay_early[operation] = find(x, operation, DUO_PLACE_DEVICE, range.low);
        outlook->stay_late[operation] = find(x, operation, DUO_PLACE_DEVICE, range.high);
    }
}

static void add(duo_crossover *x, duo_crossover *copy, const char *gpu, const duo_profile *profile)
{
    duo_outlook *const outlook = &x->outlook[x->outlooks++];
    *outlook = (duo_outlook){.profile = profile};
    snprintf(outlook->gpu, sizeof outlook->gpu, "%s", gpu);
    *copy = *x;
    look(copy, outlook);
}

void duo_crossover_outlook(duo_crossover *x)
{
    char gpu[160];
    duo_crossover *const copy = malloc(sizeof *copy);
    x->outlooks = 0;
    if (copy == NULL) return;
    if (x->gpu_profile != NULL) {
        const char *const slash = strrchr(x->gpu_profile->origin, '/');
        snprintf(gpu, sizeof gpu, "the %.90s of %.60s", x->gpu_profile->gpu,
                 slash != NULL ? slash + 1 : x->gpu_profile->origin);
        add(x, copy, gpu, x->gpu_profile);
    }
    if (!x->gpu) {
        add(x, copy, "an H100", duo_profile_built_in("h100"));
        add(x, copy, "an H200", duo_profile_built_in("h200"));
    }
    free(copy);
}
