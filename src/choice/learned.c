/* learned.c - ratios of real to predicted seconds, and the budget of trials (learned.h). */
#include "choice/learned.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "host/fork.h"

/* Further devices share these entries. */
enum { DEVICES = 16 };

/* A ratio moves by at least this part of an error. At first it moves by more: the profile counts as
 * one call. So a single call that a neighbour made 100 times longer moves it by 9 %. */
static const double kLeastWeight = 1.0 / 16.0;
/* An error counts as a factor of 4 at most, and a ratio stays within a factor of 16. */
static const double kLargestError = 4.0, kLargestRatio = 16.0;

/* ratio 0, the initial value, means 1. */
typedef struct cell {
    _Atomic float ratio, count;
} cell;

typedef struct learned {
    _Atomic(const duo_profile *) of; /* the ratios correct this profile */
    cell link[DUO_LINKS];
    cell work[DUO_ALGORITHMS][DUO_LENGTHS];
    _Atomic uint32_t ran; /* algorithms that have run, a bit for each */
    _Atomic int64_t spent_nanoseconds, lost_nanoseconds;
    _Atomic int64_t untried; /* calls that were learned from since the last trial */
} learned;

_Static_assert((int)DUO_ALGORITHMS <= 32, "`ran` has a bit for each algorithm");

static learned all[DEVICES];

static learned *of_device(int device) { return &all[device % DEVICES]; }

static float load(const _Atomic float *x) { return atomic_load_explicit(x, memory_order_relaxed); }
static void store(_Atomic float *x, double value)
{
    atomic_store_explicit(x, (float)value, memory_order_relaxed);
}

static float ratio_of(const cell *c)
{
    const float ratio = load(&c->ratio);
    return ratio > 0.0f ? ratio : 1.0f;
}

static void forget_cell(cell *c)
{
    store(&c->ratio, 0.0);
    store(&c->count, 0.0);
}

static void forget(learned *l)
{
    for (int i = 0; i < DUO_LINKS; i++) forget_cell(&l->link[i]);
    for (int i = 0; i < DUO_ALGORITHMS; i++)
        for (int length = 0; length < DUO_LENGTHS; length++) forget_cell(&l->work[i][length]);
    atomic_store_explicit(&l->ran, 0, memory_order_relaxed);
    atomic_store_explicit(&l->spent_nanoseconds, 0, memory_order_relaxed);
    atomic_store_explicit(&l->lost_nanoseconds, 0, memory_order_relaxed);
    atomic_store_explicit(&l->untried, 0, memory_order_relaxed);
}

void duo_learned_forget(void)
{
    for (int i = 0; i < DEVICES; i++) forget(&all[i]);
}

/* The child computes with one thread and without a GPU. */
static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = duo_learned_forget};
    duo_fork_in_child(&handler);
}

void duo_learned_ratios(int device, const duo_profile *profile, duo_ratios *ratios)
{
    learned *const l = of_device(device);
    if (atomic_load_explicit(&l->of, memory_order_relaxed) != profile) {
        forget(l);
        atomic_store_explicit(&l->of, profile, memory_order_relaxed);
    }
    for (int i = 0; i < DUO_LINKS; i++) ratios->link[i] = ratio_of(&l->link[i]);
    for (int i = 0; i < DUO_ALGORITHMS; i++)
        for (int length = 0; length < DUO_LENGTHS; length++)
            ratios->work[i][length] = ratio_of(&l->work[i][length]);
}

double duo_learned_count(int device, duo_algorithm_id id, double work)
{
    return (double)load(&of_device(device)->work[id][duo_length_of(work)].count);
}

/* ---- Learning ---- */

/* A prediction, and the conditions with other ratios for making it again. */
typedef struct changed {
    duo_prediction predict;
    const void *of;
    duo_conditions conditions;
    double predicted;
} changed;

/* The share of one ratio in the prediction: growth of the prediction over growth of the ratio. */
static double share_of(const changed *c, float *ratio)
{
    const float more = 1.0625f, before = *ratio;
    *ratio *= more;
    const double grown = c->predict(c->of, &c->conditions) / c->predicted - 1.0;
    *ratio = before;
    return fmin(fmax(grown / ((double)more - 1.0), 0.0), 1.0);
}

static double bounded(double x, double factor) { return fmin(fmax(x, -log(factor)), log(factor)); }

/* error: a logarithm. share: this cell's part of it. */
static void move(cell *c, double error, double share)
{
    if (!(share > 0.0)) return;
    const double count = (double)load(&c->count);
    const double weight = fmax(kLeastWeight, 1.0 / (count + 2.0));
    store(&c->ratio, exp(bounded(log((double)ratio_of(c)) + weight * error, kLargestRatio)));
    store(&c->count, count + share);
}

void duo_learn(int device, const duo_conditions *conditions, duo_algorithm_id id, double work,
               duo_prediction predict, const void *of, double predicted, double seconds)
{
    learned *const l = of_device(device);
    const uint32_t bit = UINT32_C(1) << id;
    const bool first = (atomic_fetch_or_explicit(&l->ran, bit, memory_order_relaxed) & bit) == 0;
    if (first || !(predicted > 0.0) || !(seconds > 0.0)) return;

    duo_ratios ratios = duo_ratios_of(conditions);
    changed c = {predict, of, *conditions, predicted};
    c.conditions.ratios = &ratios;
    const int length = duo_length_of(work);
    const double work_share = share_of(&c, &ratios.work[id][length]);
    double squares = work_share * work_share, rest = 1.0 - work_share;
    double link_share[DUO_LINKS];
    for (int i = 0; i < DUO_LINKS; i++) {
        link_share[i] = share_of(&c, &ratios.link[i]);
        squares += link_share[i] * link_share[i];
        rest -= link_share[i];
    }
    /* Time that no ratio changes (waiting for the device) takes its part of the error, too. */
    squares += rest * rest;
    const double error = bounded(log(seconds / predicted), kLargestError) / squares;
    move(&l->work[id][length], error * work_share, work_share);
    for (int i = 0; i < DUO_LINKS; i++) move(&l->link[i], error * link_share[i], link_share[i]);
}

/* ---- Trials ---- */

static void add(_Atomic int64_t *nanoseconds, double seconds)
{
    (void)atomic_fetch_add_explicit(nanoseconds, (int64_t)(seconds * 1e9), memory_order_relaxed);
}

void duo_learned_spent(int device, double seconds)
{
    add(&of_device(device)->spent_nanoseconds, seconds);
    (void)atomic_fetch_add_explicit(&of_device(device)->untried, 1, memory_order_relaxed);
}

void duo_learned_lost(int device, double seconds)
{
    add(&of_device(device)->lost_nanoseconds, seconds);
}

void duo_learned_trial(int device, double seconds)
{
    add(&of_device(device)->lost_nanoseconds, seconds);
    atomic_store_explicit(&of_device(device)->untried, 0, memory_order_relaxed);
}

bool duo_learned_affords(int device, double seconds)
{
    enum { EVERY = 16 };
    const double share = 0.01;
    learned *const l = of_device(device);
    if (atomic_load_explicit(&l->untried, memory_order_relaxed) < EVERY) return false;
    const double spent = (double)atomic_load_explicit(&l->spent_nanoseconds, memory_order_relaxed);
    const double lost = (double)atomic_load_explicit(&l->lost_nanoseconds, memory_order_relaxed);
    return lost + seconds * 1e9 <= share * spent;
}
