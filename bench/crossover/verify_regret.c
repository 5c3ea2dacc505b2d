/* verify_regret.c - computes regrets, sums and errors of predictions from the times of
 * candidates. */
#include <math.h>
#include <stdlib.h>

#include "bench/crossover/verify.h"
#include "bench/measure/benchmark.h"

const char *const duo_fixed_policy_names[DUO_FIXED_POLICIES] = {
    [DUO_ALWAYS_CPU] = "always the CPU",
    [DUO_ALWAYS_GPU] = "always the GPU",
    [DUO_CUBE_FROM_500] = "GPU if (m n k)^(1/3) >= 500",
    [DUO_SIDES_ABOVE_2048] = "GPU if m and n > 2048"};

const char *const duo_part_names[DUO_PARTS] = {[DUO_PART_TRANSFER] = "transfer",
                                               [DUO_PART_LAUNCH] = "launch",
                                               [DUO_PART_THREADS] = "threads",
                                               [DUO_PART_COMPUTE] = "compute"};

/* A prediction is close within this factor. Shorter times are left out: they depend too much on the
 * caches. */
static const double kClose = 1.25, kLeastSeconds = 20e-6;

/* Offenders have more regret than this. */
static const double kLeastOffence = 0.05;

/* ---- One problem ---- */

/* The fastest candidate on a side with its bit in `sides`. */
static int fastest(const duo_verified *problem, unsigned sides)
{
    int best = -1;
    for (int i = 0; i < problem->count; i++) {
        const duo_timed *const c = &problem->candidate[i];
        if (!(c->median_seconds > 0.0) || (sides >> c->algorithm->side & 1u) == 0) continue;
        if (best < 0 || c->median_seconds < problem->candidate[best].median_seconds) best = i;
    }
    return best;
}

int duo_verified_best(const duo_verified *problem)
{
    return fastest(problem, 1u << DUO_SIDE_CPU | 1u << DUO_SIDE_GPU);
}

int duo_verified_best_on(const duo_verified *problem, duo_side side)
{
    return fastest(problem, 1u << side);
}

double duo_regret_raw(const duo_timed *chosen, const duo_timed *best)
{
    return chosen->median_seconds / best->median_seconds - 1.0;
}

double duo_regret(const duo_timed *chosen, const duo_timed *best)
{
    return chosen->low_seconds > best->high_seconds ? duo_regret_raw(chosen, best) : 0.0;
}

/* ---- All problems ---- */

static duo_regrets regrets_of(double *value, int count)
{
    duo_regrets r = {.problems = count};
    if (count == 0) return r;
    for (int i = 0; i < count; i++) {
        r.above_5_percent += value[i] > 0.05;
        r.above_20_percent += value[i] > 0.20;
    }
    r.median = duo_median(value, count);
    r.p95 = duo_quantile(value, count, 0.95);
    r.p99 = duo_quantile(value, count, 0.99);
    r.worst = value[count - 1];
    return r;
}

/* The candidate to compare with the fastest of all: the chosen one; with `side`, the fastest on its
 * side if both sides can do the call. NULL: the problem does not count. */
static const duo_timed *compared(const duo_verified *p, bool side)
{
    if (p->chosen < 0 || !side) return p->chosen < 0 ? NULL : &p->candidate[p->chosen];
    const int cpu = duo_verified_best_on(p, DUO_SIDE_CPU);
    const int gpu = duo_verified_best_on(p, DUO_SIDE_GPU);
    const bool on_gpu = p->candidate[p->chosen].algorithm->side == DUO_SIDE_GPU;
    return cpu < 0 || gpu < 0 ? NULL : &p->candidate[on_gpu ? gpu : cpu];
}

static duo_regrets list_regrets(const duo_verification *v, bool side,
                                double (*regret)(const duo_timed *chosen, const duo_timed *best),
                                double *value)
{
    int count = 0;
    for (int i = 0; i < v->problems; i++) {
        const duo_verified *const p = &v->problem[i];
        const duo_timed *const chosen = compared(p, side);
        if (chosen != NULL) value[count++] = regret(chosen, &p->candidate[duo_verified_best(p)]);
    }
    return regrets_of(value, count);
}

/* The side that a fixed policy takes. */
static duo_side side_by(duo_fixed_policy policy, const duo_problem *problem)
{
    const int64_t *const s = problem->shape;
    const bool product = problem->operation == DUO_SGEMM;
    bool gpu = policy == DUO_ALWAYS_GPU;
    if (policy == DUO_CUBE_FROM_500) gpu = product && duo_problem_size(problem) >= 500.0;
    if (policy == DUO_SIDES_ABOVE_2048) gpu = product && s[0] > 2048 && s[1] > 2048;
    return gpu ? DUO_SIDE_GPU : DUO_SIDE_CPU;
}

/* Seconds of the fastest on the policy's side; if there is none, on the other side. */
static double seconds_by(duo_fixed_policy policy, const duo_verified *p)
{
    int best = duo_verified_best_on(p, side_by(policy, &p->drawn.problem));
    if (best < 0) best = duo_verified_best(p);
    return p->candidate[best].median_seconds;
}

static void sum_times(duo_verification *v)
{
    for (int i = 0; i < v->problems; i++) {
        const duo_verified *const p = &v->problem[i];
        if (p->chosen < 0) continue;
        v->chosen_seconds += p->candidate[p->chosen].median_seconds;
        v->best_seconds += p->candidate[duo_verified_best(p)].median_seconds;
        v->api_seconds += p->api_seconds;
        for (int policy = 0; policy < DUO_FIXED_POLICIES; policy++)
            v->policy_seconds[policy] += seconds_by((duo_fixed_policy)policy, p);
    }
}

/* ---- Errors of predictions ---- */

static bool close_to(double real, double predicted)
{
    return real <= kClose * predicted && predicted <= kClose * real;
}

static duo_prediction_errors spread_of(duo_prediction_errors r, double *value)
{
    if (r.pairs == 0) return r;
    r.low = duo_quantile(value, r.pairs, 0.05);
    r.median = duo_median(value, r.pairs);
    r.high = duo_quantile(value, r.pairs, 0.95);
    return r;
}

/* The errors of all pairs, of one algorithm's or of one class's; -1: any. by_pace: predictions for
 * the CPU are multiplied by its pace. */
static duo_prediction_errors ratios_of(const duo_verification *v, int algorithm, int shape_class,
                                       bool by_pace, double *value)
{
    duo_prediction_errors r = {.pairs = 0};
    for (int i = 0; i < v->problems; i++) {
        const duo_verified *const p = &v->problem[i];
        if (shape_class >= 0 && (int)p->drawn.shape_class != shape_class) continue;
        for (int j = 0; j < p->count; j++) {
            const duo_timed *const c = &p->candidate[j];
            if (algorithm >= 0 && (int)c->algorithm->id != algorithm) continue;
            if (!(c->median_seconds > kLeastSeconds) || !(c->predicted_seconds > 0.0)) continue;
            const bool paced = by_pace && c->algorithm->side == DUO_SIDE_CPU;
            if (paced && isnan(p->pace)) continue;
            const double predicted = c->predicted_seconds * (paced ? p->pace : 1.0);
            r.close += close_to(c->median_seconds, predicted);
            value[r.pairs++] = c->median_seconds / predicted;
        }
    }
    return spread_of(r, value);
}

static duo_prediction_errors pace_of(const duo_verification *v, double *value)
{
    duo_prediction_errors r = {.pairs = 0};
    for (int i = 0; i < v->problems; i++) {
        const double pace = v->problem[i].pace;
        if (isnan(pace)) continue;
        value[r.pairs++] = pace;
        r.close += close_to(pace, 1.0);
    }
    return spread_of(r, value);
}

static void judge_predictions(duo_verification *v, double *value)
{
    v->pace = pace_of(v, value);
    v->ratios = ratios_of(v, -1, -1, false, value);
    v->by_pace = ratios_of(v, -1, -1, true, value);
    for (int i = 0; i < DUO_ALGORITHMS; i++) v->by_algorithm[i] = ratios_of(v, i, -1, false, value);
    for (int i = 0; i < DUO_SHAPE_CLASSES; i++) v->by_class[i] = ratios_of(v, -1, i, false, value);
}

/* ---- Offenders ---- */

/* How far a prediction is off, in either direction. No prediction means that the model does not use
 * this number of threads: that counts as just not close. */
static double distance(const duo_timed *c)
{
    return c->predicted_seconds > 0.0 ? fabs(log(c->median_seconds / c->predicted_seconds))
                                      : log(kClose);
}

const duo_timed *duo_offender_erred(const duo_verification *v, const duo_offender *offender)
{
    const duo_verified *const p = &v->problem[offender->problem];
    return &p->candidate[offender->chosen_erred ? p->chosen : offender->best];
}

/* Inserts the offender; the list is sorted, worst first. */
static void add_offender(duo_verification *v, const duo_offender *o)
{
    int at = v->offenders;
    while (at > 0 && v->offender[at - 1].regret < o->regret) at--;
    if (at == DUO_OFFENDERS) return;
    if (v->offenders < DUO_OFFENDERS) v->offenders++;
    for (int i = v->offenders - 1; i > at; i--) v->offender[i] = v->offender[i - 1];
    v->offender[at] = *o;
}

static void find_offenders(duo_verification *v)
{
    v->offenders = 0;
    for (int i = 0; i < v->problems; i++) {
        const duo_verified *const p = &v->problem[i];
        if (p->chosen < 0) continue;
        const int best = duo_verified_best(p);
        const duo_timed *const chosen = &p->candidate[p->chosen];
        const duo_timed *const fast = &p->candidate[best];
        const duo_offender o = {.problem = i,
                                .best = best,
                                .regret = duo_regret(chosen, fast),
                                .raw = duo_regret_raw(chosen, fast),
                                .chosen_erred = distance(chosen) >= distance(fast),
                                .part = DUO_PART_COMPUTE};
        if (o.regret > kLeastOffence) add_offender(v, &o);
    }
}

duo_part duo_part_of(const duo_timed *whole, const duo_timed *in_place, const duo_timed *one)
{
    const bool gpu = whole->algorithm->side == DUO_SIDE_GPU;
    if (!(whole->predicted_seconds > 0.0)) return DUO_PART_THREADS;
    if (in_place != NULL) {
        const double error = whole->median_seconds - whole->predicted_seconds;
        const double there = in_place->median_seconds - in_place->predicted_seconds;
        if (fabs(error - there) > fabs(there)) return DUO_PART_TRANSFER;
    }
    if (gpu)
        return in_place != NULL && in_place->median_seconds < kLeastSeconds ? DUO_PART_LAUNCH
                                                                            : DUO_PART_COMPUTE;
    const bool alone = one != NULL && one != whole && one->median_seconds > 0.0 &&
                       close_to(one->median_seconds, one->predicted_seconds);
    return alone && whole->threads > 1 ? DUO_PART_THREADS : DUO_PART_COMPUTE;
}

bool duo_verification_sum_up(duo_verification *v)
{
    double *const value =
        malloc(((size_t)v->problems * DUO_MOST_TIMED + 1) * sizeof *value); /* room for every
                                                                             * pair */
    if (value == NULL) return false;
    v->algorithm = list_regrets(v, false, duo_regret, value);
    v->algorithm_raw = list_regrets(v, false, duo_regret_raw, value);
    v->side = list_regrets(v, true, duo_regret, value);
    v->side_raw = list_regrets(v, true, duo_regret_raw, value);
    sum_times(v);
    judge_predictions(v, value);
    find_offenders(v);
    free(value);
    return true;
}
