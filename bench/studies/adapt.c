/*
 * adapt.c - `duoblas bench adapt`: random calls with and without learning (duo_set_adapt), beside
 * the best possible choices. --profile: by a built-in profile, for example another machine's.
 * --busy: with busy neighbours.
 *
 * Each call's candidates are timed first, one after the other (duo_set_decide). A choice then
 * counts as the least time of its algorithm, so that noise is the same for all ways.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure/noise.h"
#include "bench/measure/problem.h"
#include "bench/studies/neighbours.h"
#include "bench/studies/studies.h"
#include "bench/tool/table.h"
#include "bench/tool/tool.h"
#include "choice/learned.h"
#include "choice/profile_in_use.h"

enum { CALLS = 500, QUICK_CALLS = 60 };
/* Elements of a vector, and edges of a product: from the smallest to below the largest. */
enum { SMALLEST = 1 << 12, LARGEST = 1 << 23, SMALLEST_EDGE = 8, LARGEST_EDGE = 4096 };

/* The most multiplications of a product: about 0.1 s by the slowest algorithm of a small CPU. */
static const double kMostWork = 0x1p28;

/* Limits of a batch: edges of a product, and the number of products. */
enum { LARGEST_BATCH_EDGE = 200, LARGEST_COUNT = 512 };

/* A call, with the times of all its candidates. */
typedef struct drawn {
    duo_call call;
    int64_t count; /* products in the batch; 1: no batch */
    int candidates;
    double seconds[DUO_CANDIDATES]; /* infinite: not accepted */
} drawn;

typedef struct experiment {
    duo_context *context;
    duo_stock stock[DUO_PLACES]; /* only those of this machine */
    int places, calls;
    drawn *call;
} experiment;

/* ---- Drawing ---- */

static const duo_stock *draw_stock(const experiment *x, uint64_t *random)
{
    return &x->stock[duo_random_below(random, x->places)];
}

static duo_call draw_product(uint64_t *random)
{
    int64_t m, n, k;
    do {
        m = duo_random_size(random, SMALLEST_EDGE, LARGEST_EDGE - 1);
        n = duo_random_size(random, SMALLEST_EDGE, LARGEST_EDGE - 1);
        k = duo_random_size(random, SMALLEST_EDGE, LARGEST_EDGE - 1);
    } while ((double)m * (double)n * (double)k > kMostWork || m * k > LARGEST || k * n > LARGEST ||
             m * n > LARGEST);
    const bool transa = duo_random_below(random, 2) != 0;
    const bool transb = duo_random_below(random, 2) != 0;
    return duo_call_sgemm(transa, transb, m, n, k, 1.0f, 0.0f);
}

static duo_call draw_reduction(duo_operation operation, uint64_t *random)
{
    return duo_call_reduction(operation, duo_random_size(random, SMALLEST, LARGEST - 1));
}

static drawn draw_batch(uint64_t *random)
{
    const int64_t m = duo_random_size(random, SMALLEST_EDGE, LARGEST_BATCH_EDGE);
    const int64_t n = duo_random_size(random, SMALLEST_EDGE, LARGEST_BATCH_EDGE);
    const int64_t k = duo_random_size(random, SMALLEST_EDGE, LARGEST_BATCH_EDGE);
    const double work = (double)m * (double)n * (double)k;
    const int64_t most = (int64_t)fmin(kMostWork / work,
                                       (double)LARGEST / (LARGEST_BATCH_EDGE * LARGEST_BATCH_EDGE));
    const int64_t count = duo_random_size(random, 2, LARGEST_COUNT);
    return (drawn){.call = duo_call_sgemm(false, false, m, n, k, 1.0f, 0.0f),
                   .count = count < most ? count : most};
}

static drawn draw(const experiment *x, uint64_t *random, bool batch)
{
    const duo_operation operation = (duo_operation)duo_random_below(random, DUO_OPERATIONS);
    const bool product = batch || operation == DUO_SGEMM;
    drawn d = {.count = 1};
    if (batch)
        d = draw_batch(random);
    else
        d.call = product ? draw_product(random) : draw_reduction(operation, random);
    d.call.operand[0].address = draw_stock(x, random)->input;
    d.call.operand[1].address = draw_stock(x, random)->input + LARGEST;
    d.call.operand[2].address = product ? draw_stock(x, random)->output : x->stock[0].output;
    return d;
}

/* ---- Calls ---- */

static bool run_batch(duo_context *ctx, const duo_call *call, int64_t count)
{
    const duo_operand *const o = call->operand;
    const int64_t m = call->m, n = call->n, k = call->k;
    return duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, m, n, k, 1.0f,
                                     o[DUO_A].address, m, m * k, o[DUO_B].address, k, k * n, 0.0f,
                                     o[DUO_C].address, m, m * n, count) == DUO_OK;
}

static bool run(duo_context *ctx, const drawn *d)
{
    return d->count > 1 ? run_batch(ctx, &d->call, d->count)
                        : duo_api_run(ctx, &d->call, d->call.operand[DUO_RESULT].address);
}

/* Seconds of the call, until its result is complete. */
static double time_call(duo_context *ctx, const drawn *d)
{
    const double start = duo_now_seconds();
    if (!run(ctx, d) || duo_synchronize(ctx) != DUO_OK) exit(DUO_EXIT_FAILURE);
    return duo_now_seconds() - start;
}

static int as_told(void *user, const duo_decision *decision, int chosen)
{
    (void)decision;
    (void)chosen;
    return *(const int *)user;
}

/* The index of the candidate that ran; -1: a tiny call, which has only one. */
static int ran_by(duo_context *ctx)
{
    duo_decision decision = {.size = sizeof decision};
    return duo_explain_last(ctx, &decision) == DUO_OK ? decision.ran : -1;
}

/* Times every candidate: takes the least of some runs. */
static void time_candidates(experiment *x, drawn *d)
{
    enum { RUNS = 3 };
    int index = -1;
    (void)duo_set_decide(x->context, as_told, &index);
    (void)time_call(x->context, d);
    duo_decision decision = {.size = sizeof decision};
    if (duo_explain_last(x->context, &decision) != DUO_OK) exit(DUO_EXIT_FAILURE);
    d->candidates = decision.candidates;
    for (index = 0; index < d->candidates; index++) {
        d->seconds[index] = INFINITY;
        for (int i = 0; i < RUNS && decision.candidate[index].accepts; i++)
            d->seconds[index] = fmin(d->seconds[index], time_call(x->context, d));
    }
    (void)duo_set_decide(x->context, NULL, NULL);
}

static double best_of(const drawn *d)
{
    double best = INFINITY;
    for (int i = 0; i < d->candidates; i++) best = fmin(best, d->seconds[i]);
    return best;
}

/* ---- Ways ---- */

typedef struct outcome {
    double best, chosen, took; /* sums over all calls */
    int wrong;                 /* calls more than 5 % above their best */
} outcome;

static outcome make_calls(experiment *x)
{
    outcome o = {0};
    for (int i = 0; i < x->calls; i++) {
        const drawn *const d = &x->call[i];
        const double best = best_of(d);
        o.took += time_call(x->context, d);
        const int ran = ran_by(x->context);
        const double chosen = ran >= 0 ? d->seconds[ran] : best;
        o.best += best;
        o.chosen += chosen;
        o.wrong += chosen > 1.05 * best;
    }
    return o;
}

static void print(duo_table *t, const char *way, const outcome *o)
{
    duo_cell_word(t, "way", "", -24, way);
    duo_cell_seconds(t, "best_seconds", "best", o->best);
    duo_cell_seconds(t, "chosen_seconds", "chosen", o->chosen);
    duo_cell_number(t, "chosen_over_best", "over best", 9, 3, o->chosen / o->best);
    duo_cell_count(t, "wrong", "off by 5%", 9, o->wrong);
    duo_cell_seconds(t, "took_seconds", "took", o->took);
    duo_row_end(t);
}

/* Measures batches, or all other calls. */
static void measure(const duo_bench *b, experiment *x, bool batches)
{
    uint64_t random = b->seed;
    duo_learned_forget();
    (void)duo_set_adapt(x->context, 0);
    for (int i = 0; i < x->calls; i++) {
        if (i % 16 == 0) duo_noise_look();
        x->call[i] = draw(x, &random, batches);
        time_candidates(x, &x->call[i]);
    }
    duo_table table = duo_table_open(b->csv);
    if (!b->csv)
        printf("\n%d random %s, seed %" PRIu64 "; sums\n", x->calls, batches ? "batches" : "calls",
               b->seed);
    const outcome without = make_calls(x);
    print(&table, NULL, &without);
    print(&table, "the profile", &without);
    (void)duo_set_adapt(x->context, 1);
    const outcome learning = make_calls(x);
    print(&table, "learning", &learning);
    const outcome learned = make_calls(x);
    print(&table, "the same calls again", &learned);
}

/* ---- Command ---- */

static bool open_stocks(const duo_bench *b, experiment *x)
{
    const size_t input = 2 * (size_t)LARGEST, output = (size_t)LARGEST;
    const int places = b->gpu ? DUO_PLACES : 1;
    for (int place = 0; place < places; place++, x->places++)
        if (!duo_stock_open(&x->stock[place], x->context, (duo_place)place, input, output, b->seed,
                            place > 0 ? &x->stock[0] : NULL))
            return false;
    return true;
}

static bool run_experiment(duo_bench *b)
{
    static const duo_problem largest = {.operation = DUO_SDOT, .shape = {1, 1, 1}};
    static const char *const profiles[] = {"h100", "h200", "generic"}; /* as in --profile */
    experiment x = {.calls = b->quick ? QUICK_CALLS : CALLS};
    if (!duo_bench_open(b, &largest, 1)) return false;
    if (b->profile >= 0) duo_profile_use(duo_profile_built_in(profiles[b->profile]));
    x.context = b->context;
    x.call = calloc((size_t)x.calls, sizeof *x.call);
    const bool good = x.call != NULL && duo_set_path(x.context, DUO_PATH_AUTO) == DUO_OK &&
                      duo_set_adapt(x.context, 0) == DUO_OK &&
                      duo_set_threads(x.context, b->threads) == DUO_OK && open_stocks(b, &x);
    if (good) {
        duo_bench_head(b);
        printf("%sProfile %s; %d busy neighbour%s\n", b->csv ? "# " : "",
               duo_profile_in_use()->origin, b->neighbours, b->neighbours == 1 ? "" : "s");
        duo_neighbours_wake();
        measure(b, &x, false);
        measure(b, &x, true);
    } else {
        fprintf(stderr, "duoblas: out of memory\n");
    }
    for (int place = 0; place < x.places; place++) duo_stock_close(&x.stock[place]);
    free(x.call);
    return good;
}

int duo_bench_adapt(duo_bench *b)
{
    /* This comes first: neighbours must be processes of one thread, with nothing open. */
    bool good = duo_neighbours_open(b->neighbours);
    if (!good) fprintf(stderr, "duoblas: cannot start %d processes\n", b->neighbours);
    good = good && run_experiment(b);
    duo_bench_close(b);
    duo_neighbours_close();
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
