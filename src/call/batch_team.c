/* batch_team.c - a batch in host memory: products over the team's threads (batch_call.h). */
#define _GNU_SOURCE
#include <math.h>

#include "call/batch_call.h"
#include "choice/transfer_cost.h"
#include "cpu/blas_library.h"
#include "data/place_host.h"
#include "host/team.h"

typedef struct team_job {
    const duo_call *call;
    const duo_batch *batch;
    const duo_choice *choice; /* the CPU's algorithms on one thread, `count` in all */
    int count, best;
    int64_t per_piece;
} team_job;

/* The best algorithm, or, where it declines, any that does not. */
static void do_product(const team_job *job, const duo_call *one)
{
    if (job->choice[job->best].algorithm->run(one) == DUO_OK) return;
    for (int i = 0; i < job->count; i++)
        if (job->choice[i].algorithm->side == DUO_SIDE_CPU && job->choice[i].accepts &&
            i != job->best && job->choice[i].algorithm->run(one) == DUO_OK)
            return;
}

static void do_products(void *user, int64_t piece)
{
    const team_job *const job = user;
    const int64_t from = piece * job->per_piece, left = job->batch->count - from;
    duo_call one = *job->call;
    for (int64_t p = from; p < from + (left < job->per_piece ? left : job->per_piece); p++) {
        for (int i = 0; i < DUO_OPERANDS; i++)
            if (duo_operand_touched(&one.operand[i]))
                one.operand[i].address = duo_batch_address(job->batch, job->call, i, p);
        do_product(job, &one);
    }
}

/* The CPU's algorithms for a product in host memory, on one thread. */
int duo_batch_predict_one(const duo_batch_call *b, duo_choice choice[DUO_CANDIDATES], int *best)
{
    duo_call one = *b->call;
    duo_conditions conditions = b->conditions;
    conditions.threads = 1;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &one.operand[i];
        o->on_host = duo_operand_touched(o);
        o->residence = o->on_host ? DUO_AT_PAGEABLE : DUO_AT_UNUSED;
    }
    const int count = duo_memo_predict(b->ctx->memo, &one, &conditions, choice);
    *best = -1;
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side == DUO_SIDE_CPU && choice[i].accepts &&
            (*best < 0 || choice[i].seconds < choice[*best].seconds))
            *best = i;
    return count;
}

/* What is between a scattered list's products is not the batch's to copy; nor is what is in the
 * gaps of C on the device, which others may write meanwhile. */
bool duo_batch_fits_team(const duo_batch_call *b)
{
    const duo_operand *const c = &b->spans.operand[DUO_C];
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (b->where[i] == DUO_BATCH_SCATTERED) return false;
    return b->where[DUO_C] == DUO_BATCH_HOSTED || c->residence != DUO_AT_DEVICE ||
           !duo_batch_has_gaps(b, DUO_C, (uintptr_t)c->address, (uintptr_t)(c->address + c->rows));
}

/* Beside the products: what comes from the device, and goes back there. */
double duo_batch_team_seconds(const duo_batch_call *b, double one_product)
{
    const duo_profile *const profile = b->conditions.profile;
    const int threads = b->conditions.threads;
    return profile->fork_seconds + threads * profile->fork_seconds_per_thread +
           one_product * ceil((double)b->batch->count / threads) +
           duo_transfer_seconds(&b->spans, DUO_SIDE_CPU, &b->conditions);
}

duo_status duo_batch_run_on_team(duo_batch_call *b, const duo_choice *choice, int count, int best)
{
    static const double kPiece = 1e-5; /* seconds; shorter ones are not worth a thread's while */
    duo_resources *const res = &b->ctx->resources;
    duo_call local, call;
    duo_batch batch;
    duo_status status = duo_place_on_host(res, &b->spans, &local);
    if (status == DUO_OK) {
        duo_batch_use_copies(b, &local, &call, &batch);
        call.threads = 1;
        const double pieces = ceil(kPiece / fmax(choice[best].seconds, 1e-9));
        const team_job job = {.call = &call,
                              .batch = &batch,
                              .choice = choice,
                              .count = count,
                              .best = best,
                              .per_piece = (int64_t)fmin(pieces, (double)batch.count)};
        if (duo_algorithm_calls_blas(choice[best].algorithm->id))
            (void)duo_blas_library_get(); /* once, before all threads would wait for it */
        b->ctx->running = choice[best].algorithm;
        duo_team_run(do_products, (void *)(uintptr_t)&job,
                     (batch.count + job.per_piece - 1) / job.per_piece, b->conditions.threads);
        b->ctx->running = NULL;
        status = duo_place_from_host(res, &b->spans, &local);
    }
    duo_place_end(res, &b->spans, &local);
    return status;
}
