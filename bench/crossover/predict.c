/* predict.c - figures from a profile, where nothing has been measured. */
#include <math.h>

#include "bench/crossover/crossover.h"
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
    if (problem->operation != DUO_SGEMM) { /* the caller wants the number itself */
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

/* An algorithm's own cost, from the profile in use. */
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

/* From the profile: an algorithm on some threads, or the API with its operands in a place. */
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
