/* refine.c - finds the sizes, between the ladders' sizes, that would tell most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/crossover.h"

/* Sizes around a crossing are close enough at this ratio, since interpolation between them is more
 * exact. */
static const double kCloseSizes = 1.05;
/* Elsewhere: if the line between neighbours misses a size by more than the first, a size is added
 * beside it, in a gap wider than the second. */
static const double kLargeError = 0.10;
static const double kCloseNeighbours = 1.2;

/* ---- Disturbed figures ---- */

/* Quartiles of undisturbed figures differ by a few percent. */
static const double kLargeSpread = 0.15;
/* A larger size takes clearly less below this share. A little less is usual if the smaller one
 * fills no tile. */
static const double kClearlyLess = 0.9;

static bool same_family(const duo_case *a, const duo_case *b)
{
    return a->problem.operation == b->problem.operation && strcmp(a->family, b->family) == 0;
}

double duo_figure_spread(const duo_figure *f)
{
    return duo_figure_measured(f) && f->low_seconds > 0.0 ? f->high_seconds / f->low_seconds - 1.0
                                                          : 0.0;
}

bool duo_crossover_disturbed(const duo_crossover *x, const duo_case *c, int series)
{
    const duo_figure *const f = &c->figure[series];
    if (!duo_figure_measured(f)) return false;
    if (!(duo_figure_spread(f) <= kLargeSpread)) return true;
    for (const duo_case *larger = c + 1; larger < &x->item[x->cases]; larger++) {
        if (!same_family(c, larger)) return false;
        if (!duo_figure_measured(&larger->figure[series])) continue;
        return larger->figure[series].median_seconds < kClearlyLess * f->median_seconds;
    }
    return false;
}

/* ---- The list ---- */

typedef struct list {
    duo_refinement *item;
    int count, most;
} list;

/*
 * A size between two cases; for products a multiple of 16, like nearly all sizes of the ladders.
 * Sizes that do not fill a BLAS's vectors take up to twice as long (OpenBLAS 0.3.26, Sapphire
 * Rapids, n = 111 to 347), and a curve must not mix both kinds.
 */
static int64_t size_between(const duo_case *a, const duo_case *b)
{
    const double n = sqrt((double)a->n * (double)b->n);
    if (a->problem.operation != DUO_SGEMM || a->n < DUO_WHOLE_VECTORS) return llround(n);
    return llround(n / DUO_WHOLE_VECTORS) * DUO_WHOLE_VECTORS;
}

/* Lists a size between two cases, if there is one. If it is listed already, the larger gain
 * counts. */
static void propose(list *l, const duo_case *a, const duo_case *b, double gain)
{
    const int64_t n = size_between(a, b);
    if (n <= a->n || n >= b->n || l->count == l->most) return;
    for (int i = 0; i < l->count; i++)
        if (l->item[i].operation == a->problem.operation && l->item[i].n == n &&
            strcmp(l->item[i].family, a->family) == 0) {
            l->item[i].gain = fmax(l->item[i].gain, gain);
            return;
        }
    l->item[l->count++] = (duo_refinement){a->problem.operation, a->family, n, gain};
}

static double ratio(const duo_case *a, const duo_case *b) { return (double)b->n / (double)a->n; }

/* ---- Crossings ---- */

/* Proposes a size before the crossing: between the first case that the GPU wins and the comparable
 * case before it, unless they are close. */
static void refine_crossing(const duo_crossover *x, duo_operation operation, const char *family,
                            duo_place place, list *l)
{
    const duo_crossing crossing = duo_crossover_find(x, operation, family, place);
    const duo_case *loser = NULL;
    if (crossing.verdict != DUO_WINS_FROM) return;
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        if (c->problem.operation != operation || strcmp(c->family, family) != 0) continue;
        if (c->n == crossing.n && loser != NULL && ratio(loser, c) > kCloseSizes) {
            propose(l, loser, c, 1.0 + ratio(loser, c)); /* more than any error of a curve */
            return;
        }
        if (!isnan(duo_crossover_log_ratio(c, place))) loser = c;
    }
}

static void refine_crossings(const duo_crossover *x, list *l)
{
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const char *family[DUO_CASES];
        const int families = duo_crossover_families(x, (duo_operation)operation, family);
        for (int i = 0; i < families; i++)
            for (int place = 0; place < DUO_PLACES; place++)
                refine_crossing(x, (duo_operation)operation, family[i], (duo_place)place, l);
    }
}

/* ---- Curves ---- */

static double work_of(const duo_case *c)
{
    return pow(duo_problem_size(&c->problem), duo_problem_growth(&c->problem));
}

/* How far the line between the neighbours is from the figure between them, as a share. */
static double curve_error(const duo_case *below, const duo_case *c, const duo_case *above,
                          int series)
{
    const double size[3] = {work_of(below), work_of(c), work_of(above)};
    const double low = below->figure[series].median_seconds,
                 high = above->figure[series].median_seconds;
    const double line = low + (high - low) * (size[1] - size[0]) / (size[2] - size[0]);
    return fabs(log(c->figure[series].median_seconds / line));
}

/* Does the series count? The comparison must show it, or the profile needs it with the same
 * math. */
static bool counts(const duo_case *c, int series)
{
    if (series >= DUO_SERIES_GPU) return true;
    const int id = series >= DUO_SERIES_ALL ? series - DUO_SERIES_ALL : series - DUO_SERIES_ONE;
    return duo_algorithm_operation((duo_algorithm_id)id) == c->problem.operation &&
           duo_algorithm_serves(duo_algorithm_of((duo_algorithm_id)id), DUO_CROSSOVER_MATH) &&
           id != DUO_sgemm_gpu_naive;
}

static void refine_curve(const duo_crossover *x, int series, list *l)
{
    for (int i = 1; i + 1 < x->cases; i++) {
        const duo_case *const below = &x->item[i - 1], *const c = &x->item[i],
                              *const above = &x->item[i + 1];
        if (!same_family(below, c) || !same_family(c, above) || !counts(c, series) ||
            !duo_figure_measured(&below->figure[series]) ||
            !duo_figure_measured(&c->figure[series]) ||
            !duo_figure_measured(&above->figure[series]))
            continue;
        const double error = curve_error(below, c, above, series);
        /* An error within the noise tells nothing about the curve. */
        if (!(error > kLargeError) || error < 2.0 * duo_figure_spread(&c->figure[series])) continue;
        const bool wider_above = ratio(c, above) > ratio(below, c);
        const duo_case *const from = wider_above ? c : below, *const to = wider_above ? above : c;
        if (ratio(from, to) > kCloseNeighbours) propose(l, from, to, fmin(error, 1.0));
    }
}

static int more_gain(const void *left, const void *right)
{
    const duo_refinement *const a = left, *const b = right;
    return (b->gain > a->gain) - (b->gain < a->gain);
}

int duo_crossover_refine(const duo_crossover *x, duo_refinement *item, int most)
{
    list l = {.item = item, .most = most};
    refine_crossings(x, &l);
    for (int series = 0; series < DUO_SERIES; series++) refine_curve(x, series, &l);
    qsort(item, (size_t)l.count, sizeof *item, more_gain);
    return l.count;
}
