/*
 * measure.c - fills the figures of every case within the time limit.
 *
 * At each size everything is timed by turns: CPU algorithms on one thread and on all, GPU
 * algorithms in a busy queue, the API with its operands in each place. The ladders come first. The
 * rest of the time goes to figures that did not fit, to disturbed figures, and to sizes where
 * curves meet or bend. Figures that do not fit are predicted from the size before; without a GPU,
 * its side is predicted from a built-in profile.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/second.h"
#include "bench/measure/benchmark.h"
#include "bench/tool/progress.h"
#include "bench/tool/text.h"

/* Largest shares of the time for measuring. The ladders get the first. The others are shares of the
 * time left then: for figures that did not fit, and for disturbed ones. Sizes between the ladders'
 * sizes get the rest. */
static const double kLadderShare = 0.65;
static const double kLeftOutShare = 0.5;
static const double kAgainShare = 0.33;

/* A call that would take more than this share of the whole time is predicted. */
static const double kLongestCallShare = 0.04;

/* Seconds for the end: threads and files, the link to a GPU, products of other shapes; and the
 * largest share of the time for all of these. */
static const double kThreadsSeconds = 4.0, kLinkSeconds = 10.0, kShapesSeconds = 36.0;
static const double kEndShare = 0.2;

/* Less noise would be written as 0, which means not known. */
static const double kLeastNoise = 1e-6;

enum { MOST_AGAIN = 2, MOST_REFINEMENTS = 64 };

typedef struct run {
    duo_crossover *x;
    duo_effort effort;
    double until; /* on the clock of duo_now_seconds */
    double seen;  /* as told to the progress bar last */
    void (*checkpoint)(duo_crossover *x, void *user);
    void *user;
} run;

static double seconds_left(const run *r) { return r->until - duo_now_seconds(); }

static void show(run *r, const duo_case *c)
{
    char label[2 * DUO_TEXT], shape[DUO_TEXT];
    const double now = duo_now_seconds();
    snprintf(label, sizeof label, "%s %s", duo_operation_name(c->problem.operation),
             duo_text_shape(c->problem.operation, c->problem.shape, shape));
    duo_progress_step(now - r->seen, label);
    r->seen = now;
}

/* ---- Which figures fit ---- */

/* Seconds of timing a source; infinite if its call is too long for this run. */
static double source_seconds(const run *r, const duo_source *s)
{
    if (!s->possible || s->expected_seconds > kLongestCallShare * r->x->most_seconds)
        return (double)INFINITY;
    return duo_budget_seconds(&r->effort, s->expected_seconds);
}

/* Lists the figures that are still to be measured, from case `from` on. */
static int list_pending(const run *r, int from, duo_budget_item *item)
{
    int count = 0;
    duo_source source[DUO_MOST_SOURCES];
    for (int i = from; i < r->x->cases; i++) {
        const int sources = duo_crossover_sources(r->x, &r->x->item[i], source);
        for (int s = 0; s < sources; s++)
            if (duo_figure_pending(&r->x->item[i].figure[source[s].series]))
                item[count++] = (duo_budget_item){.value = source[s].value,
                                                  .seconds = source_seconds(r, &source[s]),
                                                  .owner = i * DUO_SERIES + source[s].series};
    }
    return count;
}

/* Finds the pending series of a case that fit if all cases from this one on share `seconds`.
 * Returns how many. */
static int find_fitting(const run *r, int at, double seconds, bool fits[DUO_SERIES], double *all)
{
    static duo_budget_item item[DUO_CASES * DUO_MOST_SOURCES];
    int found = 0;
    const int count = list_pending(r, at, item);
    *all = duo_budget_fit(item, count, seconds);
    memset(fits, 0, DUO_SERIES * sizeof fits[0]);
    for (int i = 0; i < count; i++) {
        if (item[i].owner / DUO_SERIES != at || !item[i].fits) continue;
        fits[item[i].owner % DUO_SERIES] = true;
        found++;
    }
    return found;
}

static bool any_pending(const run *r, const duo_case *c)
{
    duo_source source[DUO_MOST_SOURCES];
    const int sources = duo_crossover_sources(r->x, c, source);
    for (int i = 0; i < sources; i++)
        if (duo_figure_pending(&c->figure[source[i].series])) return true;
    return false;
}

/* Measures the figures that fit until `until`, case by case. The plan is made anew at every case,
 * since times at smaller sizes predict those at larger ones. */
static void measure_pending(run *r, double until)
{
    bool fits[DUO_SERIES];
    double all;
    for (int i = 0; i < r->x->cases; i++) {
        duo_case *const c = &r->x->item[i];
        if (any_pending(r, c) && find_fitting(r, i, until - duo_now_seconds(), fits, &all) > 0) {
            show(r, c);
            duo_crossover_time(r->x, c, &r->effort, fits);
            r->checkpoint(r->x, r->user);
        }
        (void)duo_crossover_predict_rest(r->x, c);
    }
}

/* ---- Disturbed figures ---- */

/* Finds the disturbed series of a case that may be measured again. Returns the seconds they
 * take. */
static double find_disturbed(const run *r, const duo_case *c, bool disturbed[DUO_SERIES])
{
    double seconds = 0.0;
    for (int series = 0; series < DUO_SERIES; series++) {
        const duo_figure *const f = &c->figure[series];
        disturbed[series] = duo_figure_measured(f) && f->again < MOST_AGAIN &&
                            duo_crossover_disturbed(r->x, c, series);
        if (disturbed[series]) seconds += duo_budget_seconds(&r->effort, f->median_seconds);
    }
    return seconds;
}

static void measure_again(run *r, double until)
{
    bool disturbed[DUO_SERIES];
    for (int i = 0; i < r->x->cases; i++) {
        duo_case *const c = &r->x->item[i];
        const double seconds = find_disturbed(r, c, disturbed);
        if (seconds <= 0.0 || duo_now_seconds() + seconds > until) continue;
        show(r, c);
        duo_crossover_time(r->x, c, &r->effort, disturbed);
        r->checkpoint(r->x, r->user);
    }
}

/* ---- Sizes between ---- */

/* Finds all series of a new case. Returns the seconds they take. */
static double find_all(const run *r, const duo_case *c, bool all[DUO_SERIES])
{
    duo_source source[DUO_MOST_SOURCES];
    double seconds = 0.0;
    memset(all, 0, DUO_SERIES * sizeof all[0]);
    const int sources = duo_crossover_sources(r->x, c, source);
    for (int i = 0; i < sources; i++) {
        all[source[i].series] = true;
        seconds += source_seconds(r, &source[i]);
    }
    return seconds;
}

static void drop_case(duo_crossover *x, duo_case *c)
{
    const size_t behind = (size_t)(&x->item[x->cases] - (c + 1));
    memmove(c, c + 1, behind * sizeof *c);
    x->cases--;
}

/* Adds the best of these sizes that fits into the time, and measures it. False: none fits. */
static bool refine(run *r, const duo_refinement *list, int count)
{
    bool all[DUO_SERIES];
    for (int i = 0; i < count; i++) {
        const duo_refinement *const n = &list[i];
        duo_case *const c = duo_crossover_add(r->x, n->operation, n->family, n->n);
        if (c == NULL) continue;
        if (find_all(r, c, all) > seconds_left(r)) {
            drop_case(r->x, c);
            continue;
        }
        show(r, c);
        duo_crossover_time(r->x, c, &r->effort, all);
        r->x->refined++;
        r->checkpoint(r->x, r->user);
        return true;
    }
    return false;
}

static void measure_between(run *r)
{
    duo_refinement list[MOST_REFINEMENTS];
    while (refine(r, list, duo_crossover_refine(r->x, list, MOST_REFINEMENTS))) continue;
}

/* ---- The whole ---- */

static double until_of(const duo_crossover *x)
{
    const double wanted = kThreadsSeconds + (x->gpu ? kLinkSeconds : 0.0) +
                          (x->wanted[DUO_SGEMM] ? kShapesSeconds : 0.0);
    const double end = fmin(wanted, kEndShare * x->most_seconds) + duo_second_seconds(x);
    return x->began + x->most_seconds - end;
}

static double part_of(const run *r, double share)
{
    const double now = duo_now_seconds();
    return now + share * (r->until - now);
}

void duo_crossover_judge(duo_crossover *x)
{
    x->noise = duo_noise_told(x->threads);
    x->session[0].noise = x->noise.looks > 0 ? fmax(x->noise.error, kLeastNoise) : 0.0;
}

void duo_crossover_measure(duo_crossover *x, void (*checkpoint)(duo_crossover *x, void *user),
                           void *user)
{
    run r = {.x = x, .until = until_of(x), .checkpoint = checkpoint, .user = user};
    r.effort = x->quick ? (duo_effort){.sample_seconds = 0.003, .rounds = 5, .budget_seconds = 0.25}
                        : (duo_effort){.sample_seconds = 0.01, .rounds = 7, .budget_seconds = 2.0};
    r.effort.until_seconds = r.until;
    r.seen = duo_now_seconds();
    bool fits[DUO_SERIES];
    double ladders = 0.0;
    if (x->cases > 0) (void)find_fitting(&r, 0, part_of(&r, kLadderShare) - r.seen, fits, &ladders);
    duo_progress_begin(fmin(ladders / kLadderShare, seconds_left(&r)));
    duo_noise_begin();
    measure_pending(&r, part_of(&r, kLadderShare));
    measure_pending(&r, part_of(&r, kLeftOutShare));
    measure_again(&r, part_of(&r, kAgainShare));
    measure_between(&r);
    measure_again(&r, r.until);
    duo_progress_end();
    x->skipped = 0;
    for (int i = 0; i < x->cases; i++) x->skipped += duo_crossover_predict_rest(x, &x->item[i]);
}
