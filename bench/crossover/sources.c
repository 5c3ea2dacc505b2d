/* sources.c - lists the figures to measure at a case, and their worth. */
#include <math.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "cpu/blas_library.h"

static bool is_square(const duo_case *c)
{
    return c->problem.operation != DUO_SGEMM || strcmp(c->family, "n x n x n") == 0;
}

/* Does the algorithm serve only for comparison? */
static bool is_stopgap(const duo_algorithm *algorithm)
{
    return algorithm->id == DUO_sgemm_gpu_naive;
}

/* The largest size that is measured. Algorithms for comparison need no large ones. */
static double longest_ladder(const duo_algorithm *algorithm)
{
    return is_stopgap(algorithm) ? 4096.0 : (double)INFINITY;
}

/* The thin families need only the algorithms that may win there. */
static bool belongs(const duo_case *c, const duo_algorithm *algorithm)
{
    if (duo_problem_size(&c->problem) > longest_ladder(algorithm)) return false;
    return is_square(c) || (algorithm->side == DUO_SIDE_CPU && !is_stopgap(algorithm));
}

/* Is the case one of the few sizes that reductions in float64 need? Their curve follows the float32
 * one elsewhere (choice/reduce_costs.c). */
static bool is_step(const duo_case *c)
{
    int64_t n = c->n;
    while (n % 16 == 0) n /= 16;
    return c->problem.operation != DUO_SGEMM && n == 1;
}

enum { OTHERS, THIN, CURVES, COMPARED };

/* Compared figures come first; then others that the profile needs; then thin products; then other
 * maths, and algorithms that never win. */
static int value_of(const duo_crossover *x, const duo_case *c,
                    const duo_implementation *implementation)
{
    const duo_algorithm *const algorithm = implementation->algorithm;
    if (algorithm != NULL && is_stopgap(algorithm)) return OTHERS;
    if (algorithm != NULL && !duo_algorithm_serves(algorithm, DUO_CROSSOVER_MATH))
        return is_step(c) ? CURVES : OTHERS;
    if (!is_square(c)) return THIN;
    return algorithm == NULL || implementation->threads == x->threads ? COMPARED : CURVES;
}

static bool accepts(const duo_crossover *x, const duo_case *c,
                    const duo_implementation *implementation)
{
    const duo_algorithm *const algorithm = implementation->algorithm;
    if (algorithm == NULL) return true;
    const duo_path path = algorithm->side == DUO_SIDE_GPU ? DUO_PATH_GPU : DUO_PATH_AUTO;
    const duo_conditions conditions = duo_crossover_conditions(x, path, x->threads);
    const duo_call call = duo_problem_call(&c->problem, implementation->stock, 0);
    if (algorithm->id == DUO_sgemm_cpu_openblas) /* it has to be measured before it may serve */
        return duo_blas_library_get() != NULL && duo_blas_library_takes(&call);
    return algorithm->accepts(&call, &conditions);
}

static void add_source(const duo_crossover *x, const duo_case *c, duo_implementation implementation,
                       int series, duo_source *source, int *count)
{
    const int value = value_of(x, c, &implementation);
    if (*count == DUO_MOST_SOURCES || (c->between && value == OTHERS) ||
        !accepts(x, c, &implementation))
        return;
    source[(*count)++] =
        (duo_source){.implementation = implementation,
                     .series = series,
                     .value = value,
                     .expected_seconds = duo_crossover_expect(x, c, &implementation, series),
                     .possible = duo_stock_slots(implementation.stock, &c->problem) > 0};
}

int duo_crossover_sources(const duo_crossover *x, const duo_case *c,
                          duo_source source[DUO_MOST_SOURCES])
{
    int count = 0;
    const duo_algorithm_table table = duo_algorithm_tables[c->problem.operation];
    const duo_stock *const host = &x->stock[DUO_PLACE_PAGEABLE];
    const duo_stock *const device = &x->stock[DUO_PLACE_DEVICE];
    for (int i = 0; i < table.count; i++) {
        const duo_algorithm *const algorithm = &table.algorithm[i];
        const int one = DUO_SERIES_ONE + (int)algorithm->id;
        if (!belongs(c, algorithm)) continue;
        if (algorithm->side == DUO_SIDE_CPU) {
            add_source(x, c, duo_cpu_implementation(algorithm, 1, host), one, source, &count);
            if (x->threads > 1)
                add_source(x, c, duo_cpu_implementation(algorithm, x->threads, host),
                           DUO_SERIES_ALL + (int)algorithm->id, source, &count);
        } else if (x->gpu) {
            add_source(x, c, duo_gpu_implementation(algorithm, x->queue, device, false), one,
                       source, &count);
        }
    }
    for (int place = 0; place < DUO_PLACES && x->gpu; place++)
        add_source(x, c, duo_api_implementation(x->context, &x->stock[place], false),
                   DUO_SERIES_GPU + place, source, &count);
    return count;
}
