/* time.c - times one case, or predicts what there was no time for. */
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
                    .threads = s->implementation.threads,
                    .algorithm = s->implementation.name};
    if (benchmark->failed) return none;
    if (s->implementation.context == NULL) return f;
    /* Which algorithm did the API choose? A call that fell back to the CPU is no GPU figure. */
    duo_decision decision = {.size = sizeof decision};
    if (!duo_benchmark_call_once(benchmark) || duo_explain_last(x->context, &decision) != DUO_OK ||
        decision.side != DUO_SIDE_GPU)
        return none;
    f.algorithm = decision.algorithm;
    return f;
}

/* Neighbours only add to what something takes: of two measurements the shorter is the better. */
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
