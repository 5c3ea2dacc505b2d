/* time.c - times one case, or predicts its figures if there was no time. */
#include <math.h>
#include <stdlib.h>

#include "bench/crossover/crossover.h"
#include "bench/measure/benchmark.h"

static void predict_gpu(const duo_crossover *x, duo_case *c)
{
    for (int place = 0; place < DUO_PLACES && !x->gpu; place++)
        c->figure[DUO_SERIES_GPU + place] =
            duo_crossover_predict_gpu(x, &c->problem, (duo_place)place);
}

static duo_figure new_figure(const duo_crossover *x, const duo_source *s,
                             const duo_benchmark *benchmark)
{
    const duo_figure none = {.algorithm = s->implementation.name};
    duo_figure f = {.median_seconds = benchmark->median_seconds,
                    .minimum_seconds = benchmark->minimum_seconds,
                    .low_seconds = benchmark->low_seconds,
                    .high_seconds = benchmark->high_seconds,
                    .rounds = benchmark->rounds,
                    .threads = s->implementation.threads,
                    .algorithm = s->implementation.name};
    if (benchmark->failed) return none;
    if (s->implementation.context == NULL) return f;
    /* Note which algorithm the API chose. A call that fell back to the CPU gives no GPU figure. */
    duo_decision decision = {.size = sizeof decision};
    if (!duo_benchmark_call_once(benchmark) || duo_explain_last(x->context, &decision) != DUO_OK ||
        decision.side != DUO_SIDE_GPU)
        return none;
    f.algorithm = decision.algorithm;
    return f;
}

/* Keeps the shorter of two measurements, since neighbours only add time. */
static void record(duo_crossover *x, duo_figure *old, duo_figure new)
{
    new.again = old->again + duo_figure_measured(old);
    x->again += duo_figure_measured(old);
    const bool better = new.median_seconds > 0.0 && new.median_seconds < old->median_seconds;
    if (duo_figure_measured(old) && !better) {
        old->again = new.again;
        return;
    }
    *old = new;
}

void duo_crossover_time(duo_crossover *x, duo_case *c, const duo_effort *effort,
                        const bool wanted[DUO_SERIES])
{
    duo_source source[DUO_MOST_SOURCES];
    duo_benchmark benchmark[DUO_MOST_SOURCES];
    const duo_source *timed[DUO_MOST_SOURCES];
    int count = 0;
    const int sources = duo_crossover_sources(x, c, source);
    for (int i = 0; i < sources; i++)
        if (wanted[source[i].series] && source[i].possible &&
            duo_benchmark_open(&benchmark[count], &source[i].implementation, &c->problem))
            timed[count++] = &source[i];
    duo_measure(benchmark, count, effort);
    for (int i = 0; i < count; i++) {
        record(x, &c->figure[timed[i]->series], new_figure(x, timed[i], &benchmark[i]));
        duo_benchmark_close(&benchmark[i]);
    }
    predict_gpu(x, c);
}

int duo_crossover_predict_rest(const duo_crossover *x, duo_case *c)
{
    int predicted = 0;
    duo_source source[DUO_MOST_SOURCES];
    const int sources = duo_crossover_sources(x, c, source);
    for (int i = 0; i < sources; i++) {
        duo_figure *const f = &c->figure[source[i].series];
        if (!duo_figure_pending(f)) continue;
        *f = (duo_figure){.median_seconds = source[i].expected_seconds,
                          .minimum_seconds = source[i].expected_seconds,
                          .algorithm = source[i].implementation.name,
                          .threads = source[i].implementation.threads,
                          .predicted = true};
        predicted++;
    }
    predict_gpu(x, c);
    return predicted;
}

/* ---- Choosing figures that fit into the time ---- */

/* Calibration in duo_measure: it makes the first call twice, unless the call takes this share of
 * the budget; then its runs grow until one takes this part of a sample. */
static const double kOnceShare = 0.25;
static const double kCountingSamples = 0.5;

double duo_budget_seconds(const duo_effort *effort, double call_seconds)
{
    const double sample =
        call_seconds > effort->sample_seconds ? call_seconds : effort->sample_seconds;
    double warm = call_seconds;
    if (call_seconds < kOnceShare * effort->budget_seconds) warm += call_seconds;
    warm += fmax(kCountingSamples * effort->sample_seconds - call_seconds, 0.0);
    double rounds = effort->budget_seconds / sample;
    if (rounds > (double)effort->rounds) rounds = (double)effort->rounds;
    return warm + (double)(int)rounds * (sample + effort->warm_seconds + effort->settle_seconds);
}

static int more_valuable(const void *left, const void *right)
{
    const duo_budget_item *const a = left, *const b = right;
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    return (a->owner > b->owner) - (a->owner < b->owner);
}

double duo_budget_fit(duo_budget_item *item, int count, double seconds)
{
    double taken = 0.0;
    qsort(item, (size_t)count, sizeof *item, more_valuable);
    for (int i = 0; i < count; i++) {
        item[i].fits = taken + item[i].seconds <= seconds;
        if (item[i].fits) taken += item[i].seconds;
    }
    return taken;
}
