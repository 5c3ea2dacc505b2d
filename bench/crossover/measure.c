/*
 * measure.c - fills the figures of every case.
 *
 * At each size everything is timed in turns: CPU algorithms on one thread and on all, GPU
 * algorithms in a busy queue, the API with its operands in each place. What would take too long is
 * predicted from the size before it, and without a GPU its side is predicted from a built-in
 * profile.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/implementation.h"
#include "bench/tool/progress.h"
#include "bench/tool/text.h"
#include "cpu/blas_library.h"

/* A call that would take more than this share of all the time allowed is predicted. */
static const double kLongestCallShare = 0.04;

/* ---- The list of what to time at one case ---- */

enum { MOST_SOURCES = 24 };

/* Where a figure of a case comes from. */
typedef struct source {
    duo_implementation implementation;
    int series;
    double expected_seconds; /* of one call */
} source;

/* Algorithms that are there for comparison, or for want of a better one, need no long ladder. */
static double longest_ladder(const duo_algorithm *algorithm)
{
    if (algorithm->id == DUO_sgemm_gpu_naive) return 4096.0;
    if (algorithm->id == DUO_sgemm_cpu_plain)
        return duo_blas_library_get() != NULL ? 512.0 : 4096.0;
    return (double)INFINITY;
}

/* The thin families need the algorithms that may win there alone. */
static bool belongs(const duo_case *c, const duo_algorithm *algorithm)
{
    if (c->problem.operation != DUO_SGEMM || strcmp(c->family, "n x n x n") == 0) return true;
    if (algorithm->side == DUO_SIDE_GPU) return false;
    return algorithm->id != DUO_sgemm_cpu_plain || duo_blas_library_get() == NULL;
}

static void add_source(const duo_crossover *x, const duo_case *c, duo_implementation implementation,
                       int series, source *list, int *count)
{
    if (*count == MOST_SOURCES) return;
    list[(*count)++] =
        (source){.implementation = implementation,
                 .series = series,
                 .expected_seconds = duo_crossover_expect(x, c, &implementation, series)};
}

static int list_sources(const duo_crossover *x, const duo_case *c, source *list)
{
    int count = 0;
    const duo_algorithm_table table = duo_algorithm_tables[c->problem.operation];
    const duo_stock *const host = &x->stock[DUO_PLACE_PAGEABLE];
    for (int i = 0; i < table.count; i++) {
        const duo_algorithm *const algorithm = &table.algorithm[i];
        if (!belongs(c, algorithm)) continue;
        if (algorithm->side == DUO_SIDE_CPU) {
            add_source(x, c, duo_cpu_implementation(algorithm, 1, host),
                       DUO_SERIES_ONE + (int)algorithm->id, list, &count);
            if (x->threads > 1)
                add_source(x, c, duo_cpu_implementation(algorithm, x->threads, host),
                           DUO_SERIES_ALL + (int)algorithm->id, list, &count);
        } else if (x->gpu) {
            add_source(
                x, c,
                duo_gpu_implementation(algorithm, x->queue, &x->stock[DUO_PLACE_DEVICE], false),
                DUO_SERIES_ONE + (int)algorithm->id, list, &count);
        }
    }
    for (int place = 0; place < DUO_PLACES && x->gpu; place++)
        add_source(x, c, duo_api_implementation(x->context, &x->stock[place], false),
                   DUO_SERIES_GPU + place, list, &count);
    return count;
}

/* ---- Measuring ---- */

static duo_effort effort_of(const duo_crossover *x)
{
    return x->quick ? (duo_effort){.sample_seconds = 0.003, .rounds = 5, .budget_seconds = 0.25}
                    : (duo_effort){.sample_seconds = 0.01, .rounds = 7, .budget_seconds = 2.0};
}

static bool left_out(const duo_crossover *x, const duo_case *c, const source *s, double left)
{
    const duo_algorithm *const algorithm = s->implementation.algorithm;
    if (algorithm != NULL && duo_problem_size(&c->problem) > longest_ladder(algorithm)) return true;
    return s->expected_seconds > kLongestCallShare * x->most_seconds ||
           3.0 * s->expected_seconds > left ||
           duo_stock_slots(s->implementation.stock, &c->problem) == 0;
}

/* Seconds that timing this will take: warm-up, then rounds within the budget. */
static double expected_seconds(const duo_effort *effort, double call)
{
    const double sample = call > effort->sample_seconds ? call : effort->sample_seconds;
    const double rounds = (double)effort->rounds * sample;
    return 2.0 * sample + (rounds < effort->budget_seconds ? rounds : effort->budget_seconds);
}

static void record(duo_crossover *x, duo_case *c, const source *s, const duo_benchmark *benchmark)
{
    duo_figure *const f = &c->figure[s->series];
    f->median_seconds = benchmark->median_seconds;
    f->minimum_seconds = benchmark->minimum_seconds;
    f->low_seconds = benchmark->low_seconds;
    f->high_seconds = benchmark->high_seconds;
    f->threads = s->implementation.threads;
    f->algorithm = s->implementation.name;
    if (s->implementation.context == NULL) return;
    /* Which algorithm did the API choose? A call that fell back to the CPU is no GPU figure. */
    duo_decision decision = {.size = sizeof decision};
    if (duo_benchmark_call_once(benchmark) && duo_explain_last(x->context, &decision) == DUO_OK &&
        decision.side == DUO_SIDE_GPU)
        f->algorithm = decision.algorithm;
    else
        *f = (duo_figure){0};
}

static bool can_do(const duo_crossover *x, const duo_case *c, const source *s)
{
    const duo_algorithm *const algorithm = s->implementation.algorithm;
    if (algorithm == NULL) return true;
    const duo_path path = algorithm->side == DUO_SIDE_GPU ? DUO_PATH_GPU : DUO_PATH_AUTO;
    const duo_conditions conditions = duo_crossover_conditions(x, path, x->threads);
    const duo_call call = duo_problem_call(&c->problem, s->implementation.stock, 0);
    return algorithm->accepts(&call, &conditions);
}

static void measure_case(duo_crossover *x, duo_case *c, double left)
{
    const duo_effort effort = effort_of(x);
    source source_of[MOST_SOURCES];
    duo_benchmark benchmark[MOST_SOURCES];
    const source *timed[MOST_SOURCES];
    int count = 0;
    const int sources = list_sources(x, c, source_of);
    for (int i = 0; i < sources; i++) {
        const source *const s = &source_of[i];
        if (!can_do(x, c, s)) continue;
        if (left_out(x, c, s, left)) {
            x->skipped++;
            c->figure[s->series] = (duo_figure){.median_seconds = s->expected_seconds,
                                                .minimum_seconds = s->expected_seconds,
                                                .algorithm = s->implementation.name,
                                                .threads = s->implementation.threads,
                                                .predicted = true};
            continue;
        }
        if (duo_benchmark_open(&benchmark[count], &s->implementation, &c->problem))
            timed[count++] = s;
    }
    duo_measure(benchmark, count, &effort);
    for (int i = 0; i < count; i++) {
        if (!benchmark[i].failed) record(x, c, timed[i], &benchmark[i]);
        duo_benchmark_close(&benchmark[i]);
    }
    for (int place = 0; place < DUO_PLACES && !x->gpu; place++)
        c->figure[DUO_SERIES_GPU + place] =
            duo_crossover_predict_gpu(x, &c->problem, (duo_place)place);
}

/* What the case will take, by the profile in use; a plan for the progress bar alone. */
static double case_seconds(const duo_crossover *x, const duo_case *c)
{
    const duo_effort effort = effort_of(x);
    source list[MOST_SOURCES];
    const int count = list_sources(x, c, list);
    double seconds = 0.0;
    for (int i = 0; i < count; i++)
        if (!left_out(x, c, &list[i], (double)INFINITY))
            seconds += expected_seconds(&effort, list[i].expected_seconds);
    return seconds;
}

/* When the operation should be done, so that a slow one does not use up the time of the others. */
static double deadline(const duo_crossover *x, duo_operation operation)
{
    static const double weight[DUO_OPERATIONS] = {
        [DUO_SGEMM] = 3.0, [DUO_SASUM] = 1.0, [DUO_SSUM] = 1.0, [DUO_SDOT] = 1.0};
    double until = 0.0, all = 0.0;
    for (int i = 0; i < DUO_OPERATIONS; i++) {
        if (!x->wanted[i]) continue;
        all += weight[i];
        if (i <= (int)operation) until += weight[i];
    }
    return x->most_seconds * until / all;
}

void duo_crossover_measure(duo_crossover *x)
{
    double expected[DUO_CASES], all = 0.0;
    for (int i = 0; i < x->cases; i++) all += expected[i] = case_seconds(x, &x->item[i]);
    const double began = duo_now_seconds();
    duo_progress_begin(all < x->most_seconds ? all : x->most_seconds);
    for (int i = 0; i < x->cases; i++) {
        char label[2 * DUO_TEXT], shape[DUO_TEXT];
        const duo_problem *const problem = &x->item[i].problem;
        snprintf(label, sizeof label, "%s %s", duo_operation_name(problem->operation),
                 duo_text_shape(problem->operation, problem->shape, shape));
        duo_progress_step(i > 0 ? expected[i - 1] : 0.0, label);
        measure_case(x, &x->item[i], deadline(x, problem->operation) - (duo_now_seconds() - began));
    }
    duo_progress_end();
    x->seconds = duo_now_seconds() - began;
}
