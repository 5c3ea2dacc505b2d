/* crossing.c - finds the size from which the GPU wins. */
#include <math.h>
#include <string.h>

#include "bench/crossover/crossover.h"

/* The figure on all threads is preferred only below this share of one thread's: the algorithm may
 * have used only one of them. */
static const double kClearGain = 0.97;

/* Sizes within this factor are near a crossing. */
static const double kNear = 1.6;

/* The better of an algorithm's figures on one thread and on all; NULL: it has none. */
static const duo_figure *better(const duo_case *c, duo_algorithm_id id, bool measured)
{
    const duo_figure *const one = &c->figure[DUO_SERIES_ONE + (int)id];
    const duo_figure *const all = &c->figure[DUO_SERIES_ALL + (int)id];
    const bool has_one = one->median_seconds > 0.0 && !(measured && one->predicted);
    const bool has_all = all->median_seconds > 0.0 && !(measured && all->predicted);
    if (!has_one) return has_all ? all : NULL;
    return has_all && all->median_seconds < kClearGain * one->median_seconds ? all : one;
}

/* The fastest CPU algorithm, of measured figures or of all; NULL: there is none. */
static const duo_figure *fastest(const duo_case *c, bool measured)
{
    const duo_figure *best = NULL;
    const duo_algorithm_table table = duo_algorithm_tables[c->problem.operation];
    for (int i = 0; i < table.count; i++) {
        const duo_algorithm_id id = table.algorithm[i].id;
        if (table.algorithm[i].side != DUO_SIDE_CPU ||
            !duo_algorithm_serves(&table.algorithm[i], DUO_CROSSOVER_MATH))
            continue;
        const duo_figure *const f = better(c, id, measured);
        if (f != NULL && (best == NULL || f->median_seconds < best->median_seconds)) best = f;
    }
    return best;
}

/* Measured figures come first: so a prediction for an algorithm without time never stands between
 * measured figures. */
const duo_figure *duo_crossover_cpu(const duo_case *c)
{
    static const duo_figure none;
    const duo_figure *best = fastest(c, true);
    if (best == NULL) best = fastest(c, false);
    return best != NULL ? best : &none;
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

int duo_crossover_calls(const duo_crossover *x, int64_t calls[DUO_CALLS])
{
    static const int64_t usual[DUO_CALLS] = {1, 10, 100, 1000};
    int count = 0;
    memcpy(calls, x->calls[0] > 0 ? x->calls : usual, sizeof usual);
    while (count < DUO_CALLS && calls[count] > 0) count++;
    return count;
}

/* log(GPU time / CPU time): negative if the GPU wins; NaN: nothing to compare. */
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

/* Fits a line through the log ratios of the sizes near n, over log n, and returns its zero;
 * `otherwise` if that is not near. Curves are almost parallel at the crossing, so the noise of only
 * two figures would move it by several percent. */
static double line_meets(const duo_case *const *at, int count, duo_use use, double n,
                         double otherwise)
{
    const double near = log(kNear);
    double points = 0.0, x1 = 0.0, y1 = 0.0, xx = 0.0, xy = 0.0;
    for (int i = 0; i < count; i++) {
        const double x = log((double)at[i]->n / n), y = log_ratio(at[i], use);
        if (!(fabs(x) <= near)) continue;
        points += 1.0;
        x1 += x;
        y1 += y;
        xx += x * x;
        xy += x * y;
    }
    const double slope = (points * xy - x1 * y1) / (points * xx - x1 * x1);
    const double root = (x1 - y1 / slope) / points;
    return slope < 0.0 && fabs(root) <= near ? n * exp(root) : otherwise;
}

static bool any_predicted(const duo_case *c, duo_use use)
{
    return duo_crossover_cpu(c)->predicted || duo_crossover_gpu(c, use.place)->predicted ||
           (use.calls > 1 && duo_crossover_gpu(c, DUO_PLACE_DEVICE)->predicted);
}

/* Lists the cases of a family that can be compared, smallest first. */
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

/* The CPU's seconds at n, interpolated between its neighbours' logarithms. */
static double cpu_seconds_at(const duo_case *const *at, int count, double n)
{
    int next = 1;
    while (next < count - 1 && (double)at[next]->n < n) next++;
    const double from = (double)at[next - 1]->n, to = (double)at[next]->n;
    const double low = duo_crossover_cpu(at[next - 1])->median_seconds,
                 high = duo_crossover_cpu(at[next])->median_seconds;
    return low * pow(high / low, log(n / from) / log(to / from));
}

/* Finds the size where the curves meet: by a line through the sizes near first - 1 and first, or
 * only these two. */
static void meet(const duo_case *const *at, int count, int first, duo_use use,
                 duo_crossing *crossing)
{
    const duo_case *const loser = at[first - 1], *const winner = at[first];
    const double before = log_ratio(loser, use), after = log_ratio(winner, use);
    const double apart = log((double)winner->n / (double)loser->n);
    const double between = (double)loser->n * exp(apart * before / (before - after));
    const double middle = sqrt((double)loser->n * (double)winner->n);
    crossing->between = line_meets(at, count, use, middle, between);
    crossing->seconds = cpu_seconds_at(at, count, crossing->between);
    crossing->predicted = crossing->predicted || any_predicted(loser, use);
}

duo_crossing duo_crossover_find_use(const duo_crossover *x, duo_operation operation,
                                    const char *family, duo_use use)
{
    const duo_case *at[DUO_CASES];
    const int count = list_cases(x, operation, family, use, at);
    duo_crossing crossing = {.verdict = DUO_WINS_UNKNOWN};
    if (count == 0) return crossing;
    int first = count; /* the first case from which the GPU wins everywhere */
    while (first > 0 && log_ratio(at[first - 1], use) < 0.0) first--;
    crossing.largest = at[count - 1]->n;
    crossing.verdict = first == count ? DUO_WINS_NEVER
                       : first == 0   ? DUO_WINS_ALWAYS
                                      : DUO_WINS_FROM;
    const duo_case *const winner = at[first < count ? first : count - 1];
    crossing.n = winner->n;
    crossing.predicted = any_predicted(winner, use);
    if (crossing.verdict == DUO_WINS_FROM) meet(at, count, first, use, &crossing);
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
