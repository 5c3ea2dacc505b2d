/* verdict.c - the sentences of the verdict, in their order. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/verdict.h"

const char *const duo_crossover_terms =
    "sgemm: C = A B in float32. Plain arrays are in memory from malloc, pinned ones from "
    "duo_malloc_host: both are sent, and C fetched, in each call. Arrays on the GPU stay there, as "
    "kept ones do (duo_keep).";
const char *const duo_crossover_math =
    "DUO_MATH_ACCURATE: the error bounds of float32, by tensor cores where they keep them";

/* Ends of a range that are closer, as a logarithm, are one size. */
static const double kApart = 0.1;

static char *begin_sentence(duo_sentences *s)
{
    return s->count < DUO_SENTENCES ? s->text[s->count++] : s->text[DUO_SENTENCES - 1];
}

void duo_say(duo_sentences *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(begin_sentence(s), DUO_SENTENCE, format, arguments);
    va_end(arguments);
}

bool duo_ends_sure(const duo_ends *ends)
{
    const duo_crossing *const e = &ends->early, *const l = &ends->late;
    return e->verdict == l->verdict &&
           (e->verdict != DUO_WINS_FROM || log(l->between / e->between) < kApart);
}

const char *duo_ends_text(const duo_ends *ends, char text[DUO_TEXT])
{
    char low[DUO_TEXT], high[DUO_TEXT];
    const duo_crossing *const e = &ends->early, *const l = &ends->late;
    const bool both = e->verdict == l->verdict;
    if (duo_ends_sure(ends)) return duo_crossing_text(&ends->crossing, text);
    const char *const early = duo_crossing_text(e, low), *const late = duo_crossing_text(l, high);
    if (e->verdict == DUO_WINS_ALWAYS && l->verdict == DUO_WINS_FROM)
        snprintf(text, DUO_TEXT, "up to %.16s", late);
    else
        snprintf(text, DUO_TEXT, "%.16s %s %.16s", early, both ? "to" : "or", late);
    return text;
}

const char *duo_crossing_text(const duo_crossing *crossing, char text[DUO_TEXT])
{
    switch (crossing->verdict) {
    case DUO_WINS_NEVER:
        return "never";
    case DUO_WINS_ALWAYS:
        return "always";
    case DUO_WINS_FROM:
        return duo_text_about(crossing->between, text);
    default:
        return "-";
    }
}

/* ---- All of them ---- */

static void say_noise(const duo_crossover *x, duo_sentences *s)
{
    char noise[160];
    if (x->noise.looks == 0 || !x->noise.noisy) return;
    duo_say(s, "%s.%s", duo_noise_text(&x->noise, noise, sizeof noise),
            duo_crossover_distrusted(x)
                ? " Do not believe them: there is no verdict. Run this again "
                  "when the machine is idle."
                : "");
}

void duo_crossover_verdict(const duo_crossover *x, duo_sentences *sentences)
{
    sentences->count = 0;
    say_noise(x, sentences);
    if (duo_crossover_distrusted(x)) return;
    duo_verdict_example(x, sentences);
    if (x->gpu) duo_verdict_measured(x, sentences);
    duo_verdict_outlooks(x, sentences);
}

const char *duo_crossover_caveat(const duo_crossover *x, char text[DUO_SENTENCE])
{
    char noise[DUO_TEXT] = "";
    text[0] = '\0';
    if (x->outlooks == 0 || duo_crossover_distrusted(x)) return text;
    if (x->noise.looks > 0) (void)duo_noise_percent(x->noise.error, noise, sizeof noise);
    snprintf(
        text, DUO_SENTENCE,
        "%sA predicted time is that of the GPU on the host of its profile; the CPU's were "
        "measured here. Nine of ten calls take %.1f to %.1f times what is predicted%s%s: hence "
        "the ranges. A slower link to the GPU would take longer still.",
        x->gpu ? "" : "There is no GPU here. ", duo_prediction_low, duo_prediction_high,
        noise[0] != '\0' ? ", and the CPU's times may be off by " : "", noise);
    return text;
}
