/* verdict_example.c - how long a product takes on the CPU and on the GPU, in sentences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/verdict.h"

/* The size of the example; the nearest measured one serves. */
static const double kExample = 1000.0;

static const duo_case *example_of(const duo_crossover *x)
{
    const duo_case *best = NULL;
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        if (c->problem.operation != DUO_SGEMM ||
            strcmp(c->family, duo_crossover_main_family(DUO_SGEMM)) != 0 ||
            isnan(duo_crossover_log_ratio(c, DUO_PLACE_PAGEABLE)))
            continue;
        if (best == NULL ||
            fabs(log((double)c->n / kExample)) < fabs(log((double)best->n / kExample)))
            best = c;
    }
    return best;
}

/* "the GPU is 3.1 times as fast", "the GPU is 79 to 240 times as fast" if the range is wide, or the
 * CPU is; if the range has both: "neither is faster for sure". */
static const char *say_faster(double log_ratio, duo_range range, char text[2 * DUO_TEXT])
{
    char least[DUO_TEXT], most[DUO_TEXT];
    const bool gpu = log_ratio < 0.0;
    const double times = exp(fabs(log_ratio));
    const double low = times / (gpu ? range.high : 1.0 / range.low);
    const double high = times / (gpu ? range.low : 1.0 / range.high);
    duo_text_times(high, most);
    if (low < 1.0) {
        snprintf(text, 2 * DUO_TEXT, "the %s may be up to %.16s times as fast", gpu ? "GPU" : "CPU",
                 most);
        return text;
    }
    duo_text_times(low, least);
    snprintf(text, 2 * DUO_TEXT, "the %s is %.16s%s%.16s times as fast", gpu ? "GPU" : "CPU", least,
             strcmp(least, most) == 0 ? "" : " to ", strcmp(least, most) == 0 ? "" : most);
    return text;
}

/* "18.3 us"; of a GPU that is not here "11.0 to 33.0 us", the range of its prediction */
static const char *say_seconds(const duo_crossover *x, double seconds, char text[DUO_TEXT])
{
    char low[DUO_TEXT], high[DUO_TEXT];
    if (x->gpu) return duo_text_time(seconds, text);
    duo_text_time(duo_prediction_low * seconds, low);
    duo_text_time(duo_prediction_high * seconds, high);
    return duo_text_span(low, high, text);
}

/* "18.3 us: the GPU is 91 times as fast", with matrices in this place. */
static const char *say_place(const duo_crossover *x, const duo_case *c, duo_place place,
                             char text[DUO_SENTENCE / 2])
{
    char seconds[DUO_TEXT], faster[2 * DUO_TEXT];
    const duo_figure *const by_gpu = duo_crossover_gpu(c, place);
    const bool predicted = by_gpu->predicted || duo_crossover_cpu(c)->predicted;
    snprintf(text, DUO_SENTENCE / 2, "%s%s: %s", say_seconds(x, by_gpu->median_seconds, seconds),
             predicted || !x->gpu ? " (predicted)" : "",
             say_faster(duo_crossover_log_ratio(c, place),
                        duo_crossover_range(x, c, place, predicted || !x->gpu), faster));
    return text;
}

void duo_verdict_example(const duo_crossover *x, duo_sentences *s)
{
    char cpu[DUO_TEXT], on_gpu[DUO_SENTENCE / 2] = "", sent[DUO_SENTENCE / 2];
    const duo_case *const c = example_of(x);
    if (c == NULL) return;
    const bool stays = !isnan(duo_crossover_log_ratio(c, DUO_PLACE_DEVICE));
    duo_say(s, "A product of %lld x %lld takes %s on this CPU%s%s%s%s.", (long long)c->n,
            (long long)c->n, duo_text_time(duo_crossover_cpu(c)->median_seconds, cpu),
            stays ? ", and on " : "",
            !stays                       ? ""
            : x->gpu || x->outlooks == 0 ? "the GPU"
                                         : x->outlook[0].gpu,
            stays ? ", if its matrices stay there, " : "",
            stays ? say_place(x, c, DUO_PLACE_DEVICE, on_gpu) : "");
    duo_say(s, "With plain matrices, sent in each call: %s.",
            say_place(x, c, DUO_PLACE_PAGEABLE, sent));
}
