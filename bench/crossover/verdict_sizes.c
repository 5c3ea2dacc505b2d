/* verdict_sizes.c - from which size on a GPU is faster, in sentences: this one, and others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/verdict.h"

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
        if (!duo_ends_sure(&all->ends[i])) all->found[i].verdict = DUO_WINS_UNKNOWN;
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
        duo_say(s, "From n = %s on, %s of plain arrays %s faster on this GPU%s%s.",
                name_sizes(g, plain->found, sizes), names, verb, predicted, there);
        break;
    case DUO_WINS_ALWAYS:
        duo_say(s, "At all sizes %s of plain arrays %s faster on this GPU%s%s.", names, verb,
                predicted, there);
        break;
    default:
        duo_say(s, "%s of plain arrays %s never faster on this GPU%s%s.", names, verb, predicted,
                there);
    }
}

/* Operations with the same sure answer share a sentence; the others have one each. */
void duo_verdict_measured(const duo_crossover *x, duo_sentences *s)
{
    crossings plain, stay;
    find_all(x, DUO_PLACE_PAGEABLE, &plain);
    find_all(x, DUO_PLACE_DEVICE, &stay);
    for (int i = 0; i < DUO_OPERATIONS; i++) {
        char range[DUO_TEXT], there[3 * DUO_TEXT];
        const duo_ends *const ends = &plain.ends[i];
        const group alone = {.member = {(duo_operation)i}, .count = 1};
        if (!duo_ends_sure(ends))
            duo_say(s, "On this GPU, %s of plain arrays is %s%s%s.",
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
        duo_say(s, "Predicted: on %s, %s of plain arrays %s %s%s.",
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
void duo_verdict_outlooks(const duo_crossover *x, duo_sentences *s)
{
    const int own = x->outlooks > 0 && x->gpu_profile != NULL;
    say_gpus(x, 0, own, s);
    say_gpus(x, own, x->outlooks, s);
}
