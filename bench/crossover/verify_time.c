/* verify_time.c - times every candidate of a drawn call (verify_trial.h) */
#include <math.h>
#include <stddef.h>

#include "bench/crossover/verify_trial.h"
#include "bench/measure/benchmark.h"
#include "call/context.h"
#include "choice/select.h"
#include "data/locate.h"

/* Candidates that take longer than this multiple of the best get only a first look, or none if they
 * also take longer than these seconds. */
static const double kMuchSlower = 20.0, kLongSeconds = 0.5;

/* ---- Which candidates there are ---- */

static void add(duo_verified *v, const duo_algorithm *algorithm, int threads, double predicted)
{
    for (int i = 0; i < v->count; i++)
        if (v->candidate[i].algorithm == algorithm && v->candidate[i].threads == threads) return;
    if (v->count < DUO_MOST_TIMED)
        v->candidate[v->count++] =
            (duo_timed){.algorithm = algorithm, .threads = threads, .predicted_seconds = predicted};
}

/* Lists the candidates for all threads, then for one; a number of threads in both is listed once.
 * Candidates that the model would not choose get no prediction. */
static void list(duo_verified *v, const duo_call *call, const duo_conditions *conditions)
{
    duo_conditions alone = *conditions;
    alone.threads = 1;
    duo_choice choice[DUO_CANDIDATES], one[DUO_CANDIDATES];
    const int count = duo_predict(call, conditions, choice);
    (void)duo_predict(call, &alone, one);
    v->count = 0;
    for (int i = 0; i < count; i++) {
        const duo_algorithm *const algorithm = choice[i].algorithm;
        if (!choice[i].accepts) continue;
        add(v, algorithm, choice[i].threads, choice[i].seconds);
        if (algorithm->side == DUO_SIDE_GPU) continue;
        add(v, algorithm, 1, one[i].seconds);
        add(v, algorithm, conditions->threads, 0.0);
    }
}

/* The candidate that the public function has just chosen; -1: not found. */
static int find_chosen(duo_context *context, const duo_verified *v)
{
    duo_decision d = {.size = sizeof d};
    if (duo_explain_last(context, &d) != DUO_OK) return -1;
    const duo_last *const last = &duo_context_of(context)->last;
    for (int i = 0; i < v->count; i++)
        if (v->candidate[i].algorithm == last->algorithm &&
            v->candidate[i].threads == last->threads)
            return i;
    return -1;
}

/* ---- One problem ---- */

/* The least predicted seconds; infinite: no candidate has any. */
static double least_predicted(const duo_verified *v)
{
    double least = (double)INFINITY;
    for (int i = 0; i < v->count; i++)
        if (v->candidate[i].predicted_seconds > 0.0)
            least = fmin(least, v->candidate[i].predicted_seconds);
    return least;
}

/* Is it predicted to be so slow that even a single call is too many? */
static bool hopeless(const duo_timed *c, double least)
{
    return c->predicted_seconds > fmax(kLongSeconds, kMuchSlower * least);
}

/* Stores a benchmark's times: of a candidate, or (NULL) of the public function. */
static void record(duo_verified *v, const duo_timed *candidate, const duo_benchmark *b)
{
    if (b->failed) return;
    if (candidate == NULL) {
        v->api_seconds = b->median_seconds;
        return;
    }
    duo_timed *const c = &v->candidate[candidate - v->candidate];
    c->minimum_seconds = b->minimum_seconds;
    c->median_seconds = b->median_seconds;
    c->low_seconds = b->low_seconds;
    c->high_seconds = b->high_seconds;
}

/* Takes a first look at each candidate. A candidate that is slow, and was predicted to be, gets no
 * more. */
static void look_at_all(const duo_trial *t, duo_verified *v, int *left_out, bool closer[])
{
    double seen[DUO_MOST_TIMED], best = (double)INFINITY;
    const double least = least_predicted(v);
    for (int i = 0; i < v->count; i++) {
        duo_trial one = *t;
        one.candidate = &v->candidate[i];
        const bool skipped = i != v->chosen && hopeless(&v->candidate[i], least);
        *left_out += skipped;
        seen[i] = skipped ? -1.0 : duo_trial_look(&one);
        if (seen[i] >= 0.0) best = fmin(best, seen[i]);
    }
    for (int i = 0; i < v->count; i++) {
        duo_timed *const c = &v->candidate[i];
        closer[i] = seen[i] >= 0.0;
        if (!closer[i] || i == v->chosen || !(c->predicted_seconds > kMuchSlower * least) ||
            !(seen[i] > kMuchSlower * best))
            continue;
        c->minimum_seconds = c->median_seconds = c->low_seconds = c->high_seconds = seen[i];
        closer[i] = false;
    }
}

/* Times the candidates that are worth it and the public function, by turns. */
static void time_candidates(const duo_trial *t, duo_verified *v, const duo_effort *effort,
                            int *left_out)
{
    duo_trial trials[DUO_MOST_TIMED + 1];
    duo_benchmark benchmark[DUO_MOST_TIMED + 1];
    bool closer[DUO_MOST_TIMED];
    int count = 0;
    look_at_all(t, v, left_out, closer);
    for (int i = -1; i < v->count; i++) {
        if (i >= 0 && !closer[i]) continue;
        trials[count] = *t;
        trials[count].candidate = i < 0 ? NULL : &v->candidate[i];
        benchmark[count] = (duo_benchmark){.run = duo_trial_run, .user = &trials[count]};
        count++;
    }
    duo_measure(benchmark, count, effort);
    for (int i = 0; i < count; i++) record(v, trials[i].candidate, &benchmark[i]);
}

static bool time_placed(duo_context *context, const duo_drawn *drawn, const duo_call *call,
                        const duo_effort *effort, duo_verified *v, int *left_out)
{
    if (!duo_verify_make_stale(context, drawn, call)) return false;
    const duo_conditions conditions = duo_policy_conditions(&duo_context_of(context)->policy,
                                                            &duo_context_of(context)->resources);
    duo_call located = *call;
    if (duo_locate(duo_context_of(context)->resources.device, &located) != DUO_OK) return false;
    list(v, &located, &conditions);
    const duo_trial t = {
        .context = context, .drawn = drawn, .call = call, .conditions = &conditions};
    duo_trial api = t;
    if (!duo_trial_run(&api, 1)) return false;
    v->chosen = find_chosen(context, v);
    time_candidates(&t, v, effort, left_out);
    if (v->chosen >= 0 && !(v->candidate[v->chosen].median_seconds > 0.0)) v->chosen = -1;
    return duo_verified_best(v) >= 0;
}

bool duo_verify_time(duo_verify_arrays *arrays, const duo_drawn *drawn, const duo_effort *effort,
                     duo_verified *result, int *left_out)
{
    duo_call call;
    *result = (duo_verified){.drawn = *drawn, .chosen = -1};
    bool good = duo_set_math(arrays->context, drawn->math) == DUO_OK;
    good = duo_verify_place(arrays, drawn, &call) && good;
    good = good && time_placed(arrays->context, drawn, &call, effort, result, left_out);
    duo_verify_place_end(arrays, drawn, &call);
    return good;
}

bool duo_verify_time_in_place(duo_verify_arrays *arrays, const duo_drawn *drawn,
                              const duo_effort *effort, const duo_timed *candidate,
                              duo_timed *in_place)
{
    const bool gpu = candidate->algorithm->side == DUO_SIDE_GPU;
    const duo_drawn there = duo_drawn_at(drawn, gpu ? DUO_AT_DEVICE : DUO_AT_PAGEABLE);
    duo_verified v;
    int left_out = 0;
    if (!duo_verify_time(arrays, &there, effort, &v, &left_out)) return false;
    for (int i = 0; i < v.count; i++) {
        const duo_timed *const c = &v.candidate[i];
        if (c->algorithm != candidate->algorithm || c->threads != candidate->threads) continue;
        *in_place = *c;
        return c->median_seconds > 0.0 && c->predicted_seconds > 0.0;
    }
    return false;
}

double duo_verify_predict(duo_context *context, const duo_drawn *drawn)
{
    duo_choice choice[DUO_CANDIDATES];
    const duo_call call = duo_drawn_call(drawn);
    if (duo_set_math(context, drawn->math) != DUO_OK) return (double)INFINITY;
    const duo_conditions conditions = duo_policy_conditions(&duo_context_of(context)->policy,
                                                            &duo_context_of(context)->resources);
    const int count = duo_predict(&call, &conditions, choice);
    const int best = duo_select(choice, count, &conditions);
    return best >= 0 ? choice[best].seconds : (double)INFINITY;
}

/* ---- The pace of the CPU ---- */

bool duo_verify_product(void *context, int64_t calls)
{
    enum { EDGE = 192 };
    static float a[EDGE * EDGE], c[EDGE * EDGE];
    for (int i = 0; i < EDGE * EDGE && a[EDGE * EDGE - 1] == 0.0f; i++)
        a[i] = (float)(i % 17) - 8.5f; /* once; zeros would be quicker */
    for (int64_t i = 0; i < calls; i++)
        if (duo_sgemm(context, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f, a,
                      EDGE, a, EDGE, 0.0f, c, EDGE) != DUO_OK)
            return false;
    return true;
}

duo_context *duo_verify_pace_open(void)
{
    duo_context *alone = NULL;
    if (duo_create(&alone) != DUO_OK) return NULL;
    if (duo_set_path(alone, DUO_PATH_CPU) == DUO_OK && duo_set_threads(alone, 1) == DUO_OK &&
        duo_set_adapt(alone, 0) == DUO_OK)
        return alone;
    (void)duo_destroy(alone);
    return NULL;
}

double duo_verify_pace(duo_context *alone)
{
    enum { CALLS = 4 };
    double least = (double)INFINITY;
    duo_decision decision = {.size = sizeof decision};
    for (int i = 0; i < CALLS; i++) {
        const double begin = duo_now_seconds();
        if (!duo_verify_product(alone, 1)) return (double)NAN;
        least = fmin(least, duo_now_seconds() - begin);
    }
    if (duo_explain_last(alone, &decision) != DUO_OK) return (double)NAN;
    const double predicted = decision.predicted_seconds;
    return predicted > 0.0 && isfinite(predicted) ? least / predicted : (double)NAN;
}
