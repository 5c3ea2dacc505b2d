/* verdict.c - the size from which the GPU is faster, in sentences. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/crossover.h"

const char *const duo_crossover_terms =
    "sgemm: C = A B in float32. Plain arrays are in memory from malloc, pinned ones from "
    "duo_malloc_host: both are sent, and C fetched, in each call. Arrays on the GPU stay there, as "
    "kept ones do (duo_keep).";
const char *const duo_crossover_math =
    "DUO_MATH_ACCURATE: the error bounds of float32, by tensor cores where they keep them";

/* The size of the example; the nearest measured one serves. */
static const double kExample = 1000.0;

/* Ends of a range that are closer, as a logarithm, are one size. */
static const double kApart = 0.1;

static char *begin_sentence(duo_sentences *s)
{
    return s->count < DUO_SENTENCES ? s->text[s->count++] : s->text[DUO_SENTENCES - 1];
}

static void __attribute__((format(printf, 2, 3))) say(duo_sentences *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(begin_sentence(s), DUO_SENTENCE, format, arguments);
    va_end(arguments);
}

/* Is the size one number, in spite of noise and predictions? */
static bool is_sure(const duo_ends *ends)
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
    if (is_sure(ends)) return duo_crossing_text(&ends->crossing, text);
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

/* ---- Operations with the same answer are named together ---- */

typedef struct group {
    duo_operation member[DUO_OPERATIONS];
    int count;
    bool predicted;
} group;

/* Groups the operations from `first` on with the same verdict as `first`. A product and a reduction
 * do not mix. */
static group take_group(const duo_crossing found[DUO_OPERATIONS], int first)
{
    group g = {.count = 0};
    const int end = first == DUO_SGEMM ? first + 1 : DUO_OPERATIONS;
    for (int i = first; i < end; i++) {
        if (found[i].verdict != found[first].verdict) continue;
        g.member[g.count++] = (duo_operation)i;
        g.predicted = g.predicted || found[i].predicted;
    }
    return g;
}

static bool begins_group(const duo_crossing found[DUO_OPERATIONS], int i)
{
    for (int before = DUO_SGEMM + 1; before < i; before++)
        if (found[before].verdict == found[i].verdict) return false;
    return found[i].verdict != DUO_WINS_UNKNOWN;
}

/* "sasum, ssum and sdot" */
static const char *name_group(const group *g, char text[DUO_TEXT])
{
    size_t used = 0;
    for (int i = 0; i < g->count; i++) {
        const char *const gap = i == 0 ? "" : i == g->count - 1 ? " and " : ", ";
        used += (size_t)snprintf(text + used, DUO_TEXT - used, "%s%s", gap,
                                 duo_operation_name(g->member[i]));
    }
    return text;
}

/* or only one size for a single member */
static const char *name_sizes(const group *g, const duo_crossing found[DUO_OPERATIONS],
                              char text[DUO_TEXT])
{
    char low[DUO_TEXT], high[DUO_TEXT];
    duo_operation least = g->member[0], most = g->member[0];
    for (int i = 1; i < g->count; i++) {
        if (found[g->member[i]].between < found[least].between) least = g->member[i];
        if (found[g->member[i]].between > found[most].between) most = g->member[i];
    }
    duo_text_about(found[least].between, low);
    if (least == most) return strcpy(text, low);
    snprintf(text, DUO_TEXT, "%.16s (%s) to %.16s (%s)", low, duo_operation_name(least),
             duo_text_about(found[most].between, high), duo_operation_name(most));
    return text;
}

/* ---- Ranges ---- */

/* The size from which the GPU wins; infinite: never. */
static double size_of(const duo_crossing *c)
{
    return c->verdict == DUO_WINS_NEVER  ? (double)INFINITY
           : c->verdict == DUO_WINS_FROM ? c->between
                                         : 0.0;
}

/* The ends of several ranges; NULL: nothing is known. */
typedef struct span {
    const duo_crossing *early, *late;
} span;

static void widen(span *all, const duo_crossing *early, const duo_crossing *late)
{
    if (early->verdict == DUO_WINS_UNKNOWN) return;
    if (all->early == NULL || size_of(early) < size_of(all->early)) all->early = early;
    if (all->late == NULL || size_of(late) > size_of(all->late)) all->late = late;
}

/* "faster from some n between 250 and 520 on", "perhaps faster from n = 250 on", "never faster"; or
 * without this word */
static const char *describe_range(const span *all, const char *faster, char text[DUO_TEXT])
{
    char low[DUO_TEXT], high[DUO_TEXT];
    const duo_crossing *const early = all->early, *const late = all->late;
    duo_text_about(early->verdict == DUO_WINS_FROM ? early->between : (double)early->n, low);
    duo_text_about(late->between, high);
    if (late->verdict == DUO_WINS_FROM && strcmp(low, high) == 0)
        snprintf(text, DUO_TEXT, "%.8sfrom n = %.16s on", faster, low);
    else if (late->verdict == DUO_WINS_FROM)
        snprintf(text, DUO_TEXT, "%.8sfrom some n between %.12s and %.12s on", faster, low, high);
    else if (late->verdict == DUO_WINS_ALWAYS)
        snprintf(text, DUO_TEXT, "%.8sat all sizes", faster);
    else if (early->verdict != DUO_WINS_NEVER)
        snprintf(text, DUO_TEXT, "perhaps %.8sfrom n = %.16s on", faster, low);
    else
        strcpy(text, faster[0] != '\0' ? "never faster" : "never");
    return text;
}

/* The end of a sentence on plain arrays: "; if they stay there, from n = 101 on"; "" if that adds
 * nothing */
static const char *describe_stay(const span *plain, const span *stay, char text[2 * DUO_TEXT])
{
    char range[DUO_TEXT];
    text[0] = '\0';
    if (plain->early == NULL || stay->early == NULL || plain->late->verdict == DUO_WINS_ALWAYS)
        return text;
    if (plain->early->verdict == DUO_WINS_NEVER && stay->early->verdict == DUO_WINS_NEVER)
        return strcpy(text, ", even if they stay there");
    snprintf(text, 2 * DUO_TEXT, "; if they stay there, %s", describe_range(stay, "", range));
    return text;
}

/* ---- This machine's GPU ---- */

/* Where each operation crosses with its arrays in one place. */
typedef struct crossings {
    duo_ends ends[DUO_OPERATIONS];
    duo_crossing found[DUO_OPERATIONS]; /* unknown: not sure */
} crossings;

static void find_all(const duo_crossover *x, duo_place place, crossings *all)
{
    for (int i = 0; i < DUO_OPERATIONS; i++) {
        const char *const family = duo_crossover_main_family((duo_operation)i);
        all->ends[i] = duo_crossover_ends(x, (duo_operation)i, family, duo_one_call(place));
        all->found[i] = all->ends[i].crossing;
        if (!is_sure(&all->ends[i])) all->found[i].verdict = DUO_WINS_UNKNOWN;
    }
}

static span span_of(const group *g, const crossings *all)
{
    span s = {NULL, NULL};
    for (int i = 0; i < g->count; i++)
        widen(&s, &all->ends[g->member[i]].early, &all->ends[g->member[i]].late);
    return s;
}

static const char *group_stay(const group *g, const crossings *plain, const crossings *stay,
                              char text[3 * DUO_TEXT])
{
    char sizes[DUO_TEXT], end[2 * DUO_TEXT];
    const span before = span_of(g, plain), after = span_of(g, stay);
    bool sure = true, predicted = false;
    for (int i = 0; i < g->count; i++) {
        sure = sure && stay->found[g->member[i]].verdict == DUO_WINS_FROM;
        predicted = predicted || stay->found[g->member[i]].predicted;
    }
    if (sure)
        snprintf(end, sizeof end, "; if they stay there, from n = %s on",
                 name_sizes(g, stay->found, sizes));
    else
        (void)describe_stay(&before, &after, end);
    snprintf(text, 3 * DUO_TEXT, "%s%s", end, predicted && end[0] == ';' ? " (predicted)" : "");
    return text;
}

static void say_group(const group *g, const crossings *plain, const crossings *stay,
                      duo_sentences *s)
{
    char names[DUO_TEXT], sizes[DUO_TEXT], there[3 * DUO_TEXT];
    const char *const verb = g->count == 1 ? "is" : "are";
    const char *const predicted = g->predicted ? " (predicted)" : "";
    name_group(g, names);
    (void)group_stay(g, plain, stay, there);
    switch (plain->found[g->member[0]].verdict) {
    case DUO_WINS_FROM:
        say(s, "From n = %s on, %s of plain arrays %s faster on this GPU%s%s.",
            name_sizes(g, plain->found, sizes), names, verb, predicted, there);
        break;
    case DUO_WINS_ALWAYS:
        say(s, "At all sizes %s of plain arrays %s faster on this GPU%s%s.", names, verb, predicted,
            there);
        break;
    default:
        say(s, "%s of plain arrays %s never faster on this GPU%s%s.", names, verb, predicted,
            there);
    }
}

/* Operations with the same sure answer share a sentence; the others have one each. */
static void say_measured(const duo_crossover *x, duo_sentences *s)
{
    crossings plain, stay;
    find_all(x, DUO_PLACE_PAGEABLE, &plain);
    find_all(x, DUO_PLACE_DEVICE, &stay);
    for (int i = 0; i < DUO_OPERATIONS; i++) {
        char range[DUO_TEXT], there[3 * DUO_TEXT];
        const duo_ends *const ends = &plain.ends[i];
        const group alone = {.member = {(duo_operation)i}, .count = 1};
        if (!is_sure(ends))
            say(s, "On this GPU, %s of plain arrays is %s%s%s.",
                duo_operation_name((duo_operation)i),
                describe_range(&(span){&ends->early, &ends->late}, "faster ", range),
                ends->crossing.predicted ? " (predicted)" : "",
                group_stay(&alone, &plain, &stay, there));
        if (!begins_group(plain.found, i)) continue;
        const group g = take_group(plain.found, i);
        say_group(&g, &plain, &stay, s);
    }
}

/* ---- GPUs of other machines ---- */

/* "an H100 or an H200": the GPUs of outlooks `from` to `end` - 1 */
static const char *name_gpus(const duo_crossover *x, int from, int end, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = from; i < end && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > from ? " or " : "",
                                 x->outlook[i].gpu);
    return text;
}

/* Says between which sizes these operations win on all these GPUs. */
static void say_outlook(const duo_crossover *x, int from, int end, duo_operation first,
                        duo_operation last, duo_sentences *s)
{
    char names[DUO_TEXT], range[DUO_TEXT], there[2 * DUO_TEXT], gpus[256];
    span plain = {NULL, NULL}, stay = {NULL, NULL};
    group g = {.count = 0};
    for (duo_operation i = first; i <= last; i++) {
        if (x->outlook[from].early[i].verdict == DUO_WINS_UNKNOWN) continue;
        g.member[g.count++] = i;
        for (int o = from; o < end; o++) {
            widen(&plain, &x->outlook[o].early[i], &x->outlook[o].late[i]);
            widen(&stay, &x->outlook[o].stay_early[i], &x->outlook[o].stay_late[i]);
        }
    }
    if (g.count > 0)
        say(s, "Predicted: on %s, %s of plain arrays %s %s%s.",
            name_gpus(x, from, end, gpus, sizeof gpus), name_group(&g, names),
            g.count == 1 ? "is" : "are", describe_range(&plain, "faster ", range),
            describe_stay(&plain, &stay, there));
}

static void say_gpus(const duo_crossover *x, int from, int end, duo_sentences *s)
{
    if (from >= end) return;
    say_outlook(x, from, end, DUO_SGEMM, DUO_SGEMM, s);
    say_outlook(x, from, end, (duo_operation)(DUO_SGEMM + 1), (duo_operation)(DUO_OPERATIONS - 1),
                s);
}

/* The GPU of the user's profile is told apart from those that are always told. */
static void say_outlooks(const duo_crossover *x, duo_sentences *s)
{
    const int own = x->outlooks > 0 && x->gpu_profile != NULL;
    say_gpus(x, 0, own, s);
    say_gpus(x, own, x->outlooks, s);
}

/* ---- An example ---- */

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

/* The best news comes first: matrices that stay on the GPU. */
static void say_example(const duo_crossover *x, duo_sentences *s)
{
    char cpu[DUO_TEXT], on_gpu[DUO_SENTENCE / 2] = "", sent[DUO_SENTENCE / 2];
    const duo_case *const c = example_of(x);
    if (c == NULL) return;
    const bool stays = !isnan(duo_crossover_log_ratio(c, DUO_PLACE_DEVICE));
    say(s, "A product of %lld x %lld takes %s on this CPU%s%s%s%s.", (long long)c->n,
        (long long)c->n, duo_text_time(duo_crossover_cpu(c)->median_seconds, cpu),
        stays ? ", and on " : "",
        !stays                       ? ""
        : x->gpu || x->outlooks == 0 ? "the GPU"
                                     : x->outlook[0].gpu,
        stays ? ", if its matrices stay there, " : "",
        stays ? say_place(x, c, DUO_PLACE_DEVICE, on_gpu) : "");
    say(s, "With plain matrices, sent in each call: %s.",
        say_place(x, c, DUO_PLACE_PAGEABLE, sent));
}

/* ---- All of them ---- */

static void say_noise(const duo_crossover *x, duo_sentences *s)
{
    char noise[160];
    if (x->noise.looks == 0 || !x->noise.noisy) return;
    say(s, "%s.%s", duo_noise_text(&x->noise, noise, sizeof noise),
        duo_crossover_distrusted(x) ? " Do not believe them: there is no verdict. Run this again "
                                      "when the machine is idle."
                                    : "");
}

void duo_crossover_verdict(const duo_crossover *x, duo_sentences *sentences)
{
    sentences->count = 0;
    say_noise(x, sentences);
    if (duo_crossover_distrusted(x)) return;
    say_example(x, sentences);
    if (x->gpu) say_measured(x, sentences);
    say_outlooks(x, sentences);
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
