/* route_team.c - a batch on the CPU: the team's threads take products in turn. One thread does a
 * whole product, so it has the bits that it has as a call of its own. */
#define _GNU_SOURCE
#include <math.h>

#include "call/execution.h"
#include "choice/transfer_cost.h"
#include "cpu/kernels.h"
#include "data/place.h"
#include "host/team.h"

typedef struct team_job {
    const duo_call *call;
    const duo_batch *batch;
    const duo_algorithm *algorithm;
    duo_math math;
    int64_t per_piece;
} team_job;

/* By the job's algorithm; if that declines, by any other that does not. */
static void do_product(const team_job *job, const duo_call *one)
{
    const duo_algorithm_table table = duo_algorithm_tables[DUO_SGEMM];
    if (job->algorithm->run(one) == DUO_OK) return;
    for (int i = 0; i < table.count; i++) {
        const duo_algorithm *const other = &table.algorithm[i];
        if (other->side == DUO_SIDE_CPU && duo_algorithm_serves(other, job->math) &&
            other != job->algorithm && other->run(one) == DUO_OK)
            return;
    }
}

static void do_products(void *user, int64_t piece)
{
    const team_job *const job = user;
    const int64_t from = piece * job->per_piece, left = job->batch->count - from;
    const int64_t count = left < job->per_piece ? left : job->per_piece;
    if (job->algorithm->id == DUO_sgemm_cpu_ffma && job->call->operand[DUO_A].read) {
        duo_sgemm_cpu_ffma_products(job->call, from, count);
        return;
    }
    duo_call one = *job->call;
    for (int64_t p = from; p < from + count; p++) {
        for (int i = 0; i < DUO_OPERANDS; i++)
            if (duo_operand_touched(&one.operand[i]))
                one.operand[i].address = duo_batch_address(job->batch, job->call, i, p);
        do_product(job, &one);
    }
}

/* The first product as if its operands were in host memory. Its conditions have one thread. */
static duo_call one_in_host_memory(const duo_call *call, duo_conditions *conditions)
{
    duo_call one = *call;
    conditions->threads = 1;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &one.operand[i];
        o->on_host = duo_operand_touched(o);
        o->residence = o->on_host ? DUO_AT_PAGEABLE : DUO_AT_UNUSED;
    }
    return one;
}

/*
 * A product of fewer multiplications than a cube of EDGE takes less in a batch of sgemm_cpu_ffma
 * than as a call, which takes its time to enter the library. The time grows as the square of an
 * edge. (2^3 to 16^3 on a Zen 5: 3.9, 7.2, 16 and 57 ns.)
 */
enum { EDGE = 16 };
static const double kLeast = 3e-9;

/* Returns the call that is predicted in place of the product: a cube for a small one, else the
 * product itself. *part: the product takes this part of that call's time. */
static duo_call like_product(const duo_call *one, const duo_algorithm *algorithm, double *part)
{
    const double cube = (double)EDGE * EDGE * EDGE;
    const double work = (double)one->m * (double)one->n * (double)one->k / cube;
    duo_call like = *one;
    *part = 1.0;
    if (algorithm->id != DUO_sgemm_cpu_ffma || work >= 1.0) return like;
    duo_call_set_sizes(&like, EDGE, EDGE, EDGE);
    *part = cbrt(work * work);
    return like;
}

/* Seconds of the product. seconds: of that call. */
static double of_product(double seconds, double part)
{
    return part < 1.0 ? kLeast + part * fmax(seconds - kLeast, 0.0) : seconds;
}

/* Would the team copy only the batch's own bytes? Not with a scattered list: other bytes lie
 * between its products. Not if C on the device has gaps: other calls may write there meanwhile. */
static bool leaves_gaps(const duo_call *call)
{
    const duo_batch *const batch = call->batch;
    const duo_operand *const c = &batch->spans.operand[DUO_C];
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (batch->where[i] == DUO_BATCH_SCATTERED) return false;
    return batch->where[DUO_C] == DUO_BATCH_HOSTED || c->residence != DUO_AT_DEVICE ||
           !duo_batch_has_gaps(call, DUO_C, (uintptr_t)c->address,
                               (uintptr_t)(c->address + c->rows));
}

/* A batch for the program's own BLAS is not taken: that may not bear several threads. */
bool duo_team_takes(const duo_call *call, const duo_conditions *conditions,
                    const duo_algorithm *algorithm)
{
    duo_conditions alone = *conditions;
    if (algorithm->side != DUO_SIDE_CPU || call->program != NULL || call->batch->mixed)
        return false;
    const duo_call one = one_in_host_memory(call, &alone);
    return algorithm->accepts(&one, &alone) && leaves_gaps(call);
}

/* The products, and the transfers from the device and back. */
double duo_team_seconds(const duo_call *call, const duo_conditions *conditions,
                        const duo_algorithm *algorithm)
{
    const duo_profile *const profile = conditions->profile;
    const int threads = conditions->threads;
    double part;
    duo_conditions alone = *conditions;
    const duo_call one = one_in_host_memory(call, &alone);
    const duo_call like = like_product(&one, algorithm, &part);
    const double product = of_product(duo_predict_one(&like, &alone, algorithm), part);
    return profile->fork_seconds + threads * profile->fork_seconds_per_thread +
           product * ceil((double)call->batch->count / threads) +
           duo_transfer_seconds(&call->batch->spans, DUO_SIDE_CPU, conditions);
}

double duo_team_work(const duo_call *call, const duo_conditions *conditions,
                     const duo_algorithm *algorithm)
{
    int threads;
    double part;
    duo_conditions alone = *conditions;
    const duo_call one = one_in_host_memory(call, &alone);
    const duo_call like = like_product(&one, algorithm, &part);
    return of_product(duo_algorithm_seconds(algorithm, &like, &alone, &threads), part);
}

/* Finds, or makes, packed operands that all products share. */
static void find_packed(duo_algorithm_id algorithm, duo_call *call, int threads)
{
    for (int i = DUO_A; i <= DUO_B; i++)
        call->operand[i].promised &= duo_batch_even(call->batch, i) && call->batch->stride[i] == 0;
    call->threads = threads;
    duo_place_packed(algorithm, call);
}

duo_outcome duo_run_team(duo_execution *e, duo_choice *choice)
{
    static const double kPiece = 1e-5; /* seconds; a thread gets products for at least this long */
    duo_resources *const res = &e->ctx->resources;
    const duo_call *const spans = &e->call->batch->spans;
    duo_call local, call;
    duo_batch batch;
    duo_outcome status = duo_place_on_host(res, spans, &local);
    if (status == DUO_OK) {
        duo_batch_use_copies(e->call, &local, &call, &batch);
        find_packed(choice->algorithm->id, &call, e->conditions.threads);
        call.threads = 1;
        const double one = duo_team_work(e->call, &e->conditions, choice->algorithm);
        const double pieces = ceil(kPiece / fmax(one, 1e-9));
        const team_job job = {.call = &call,
                              .batch = &batch,
                              .algorithm = choice->algorithm,
                              .math = e->conditions.math,
                              .per_piece = (int64_t)fmin(pieces, (double)batch.count)};
        duo_team_run(do_products, (void *)(uintptr_t)&job,
                     (batch.count + job.per_piece - 1) / job.per_piece, e->conditions.threads);
        duo_place_let_go(&call);
        duo_batch_wrote_list(e);
        status = duo_place_from_host(res, spans, &local);
    }
    duo_place_end(res, spans, &local);
    return status;
}
