/* crossing.c - from what size on the GPU wins. */
#include <math.h>
#include <string.h>

#include "bench/crossover/crossover.h"

/* All threads must be so much faster than one: an algorithm that was given all may have used
 * one. */
static const double kClearGain = 0.97;

const duo_figure *duo_crossover_cpu(const duo_case *c)
{
    static const duo_figure none;
    const duo_figure *best = &none;
    const duo_algorithm_table table = duo_algorithm_tables[c->problem.operation];
    for (int i = 0; i < table.count; i++) {
        if (table.algorithm[i].side != DUO_SIDE_CPU ||
            !duo_algorithm_serves(&table.algorithm[i], DUO_CROSSOVER_MATH))
            continue;
        const duo_figure *const one = &c->figure[DUO_SERIES_ONE + (int)table.algorithm[i].id];
        const duo_figure *const all = &c->figure[DUO_SERIES_ALL + (int)table.algorithm[i].id];
        const bool gain =
            all->median_seconds > 0.0 &&
            (one->median_seconds <= 0.0 || all->median_seconds < kClearGain * one->median_seconds);
        const duo_figure *const better = gain ? all : one;
        if (better->median_seconds > 0.0 &&
            (best == &none || better->median_seconds < best->median_seconds))
            best = better;
    }
    return best;
}

const duo_figure *duo_crossover_gpu(const duo_case *c, duo_place place)
{
    return &c->figure[DUO_SERIES_GPU + (int)place];
}

double duo_crossover_gpu_seconds(const duo_case *c, duo_use use)
{
    const double first = duo_crossover_gpu(c, use.place)->median_seconds;
    if (use.calls == 1) return use.factor * first;
    const double further = duo_crossover_gpu(c, DUO_PLACE_DEVICE)->median_seconds;
    if (!(first > 0.0 && further > 0.0)) return 0.0;
    const double calls = (double)use.calls;
    return use.factor * (first + (calls - 1.0) * further) / calls;
}

/* log(GPU time / CPU time): negative where the GPU wins; NaN: nothing to compare. */
static double log_ratio(const duo_case *c, duo_use use)
{
    const double gpu = duo_crossover_gpu_seconds(c, use);
    const double cpu = duo_crossover_cpu(c)->median_seconds;
    return gpu > 0.0 && cpu > 0.0 && isfinite(gpu) && isfinite(cpu) ? log(gpu / cpu) : (double)NAN;
}

double duo_crossover_log_ratio(const duo_case *c, duo_place place)
{
    return log_ratio(c, duo_one_call(place));
}

static bool any_predicted(const duo_case *c, duo_use use)
{
    return duo_crossover_cpu(c)->predicted || duo_crossover_gpu(c, use.place)->predicted ||
           (use.calls > 1 && duo_crossover_gpu(c, DUO_PLACE_DEVICE)->predicted);
}

/* The cases of a family that can be compared, in the order of their sizes. */
static int list_cases(const duo_crossover *x, duo_operation operation, const char *family,
                      duo_use use, const duo_case *at[DUO_CASES])
{
    int count = 0;
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        if (c->problem.operation == operation && strcmp(c->family, family) == 0 &&
            !isnan(log_ratio(c, use)))
            at[count++] = c;
    }
    return count;
}

/* Where the curves meet between two sizes, as straight lines between logarithms. */
static void meet(const duo_case *loser, const duo_case *winner, duo_use use, duo_crossing *crossing)
{
    const double before = log_ratio(loser, use), after = log_ratio(winner, use);
    const double part = before / (before - after);
    const double from = duo_crossover_cpu(loser)->median_seconds,
                 to = duo_crossover_cpu(winner)->median_seconds;
    crossing->between = (double)loser->n * pow((double)winner->n / (double)loser->n, part);
    crossing->seconds = from * pow(to / from, part);
    crossing->predicted = crossing->predicted || any_predicted(loser, use);
}

duo_crossing duo_crossover_find_use(const duo_crossover *x, duo_operation operation,
                                    const char *family, duo_use use)
{
    const duo_case *at[DUO_CASES];
    const int count = list_cases(x, operation, family, use, at);
    duo_crossing crossing = {.verdict = DUO_WINS_UNKNOWN};
    if (count == 0) return crossing;
    int first = count; /* of those from which on the GPU wins everywhere */
    while (first > 0 && log_ratio(at[first - 1], use) < 0.0) first--;
    crossing.largest = at[count - 1]->n;
    crossing.verdict = first == count ? DUO_WINS_NEVER
                       : first == 0   ? DUO_WINS_ALWAYS
                                      : DUO_WINS_FROM;
    const duo_case *const winner = at[first < count ? first : count - 1];
    crossing.n = winner->n;
    crossing.predicted = any_predicted(winner, use);
    if (crossing.verdict == DUO_WINS_FROM) meet(at[first - 1], winner, use, &crossing);
    return crossing;
}

duo_crossing duo_crossover_find(const duo_crossover *x, duo_operation operation, const char *family,
                                duo_place place)
{
    return duo_crossover_find_use(x, operation, family, duo_one_call(place));
}

const char *duo_crossover_main_family(duo_operation operation)
{
    return operation == DUO_SGEMM ? "n x n x n" : "n";
}

int duo_crossover_families(const duo_crossover *x, duo_operation operation,
                           const char *family[DUO_CASES])
{
    int count = 0;
    for (int i = 0; i < x->cases; i++) {
        if (x->item[i].problem.operation != operation) continue;
        if (count == 0 || strcmp(family[count - 1], x->item[i].family) != 0)
            family[count++] = x->item[i].family;
    }
    return count;
}
