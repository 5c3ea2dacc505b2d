/* route_team.c - a batch, or groups, on the CPU: the team's threads take products in turn. One
 * thread does a whole product, so it has the bits that it has as a call of its own. */
#define _GNU_SOURCE
#include <math.h>

#include "call/execution.h"
#include "choice/transfer_cost.h"
#include "cpu/kernels.h"
#include "data/place.h"
#include "host/team.h"

typedef struct team_job {
    const duo_group *group;
    int64_t groups;
    const duo_algorithm *algorithm;
} team_job;

/* By the job's algorithm. Only another library's declines: then by one that never does. */
static void do_product(const team_job *job, const duo_call *one)
{
    if (job->algorithm->run(one) != DUO_OK) (void)duo_algorithm_of(DUO_sgemm_cpu_ffma)->run(one);
}

/* The group that has this piece; the last one if there are several. */
static const duo_group *group_of(const team_job *job, int64_t piece)
{
    int64_t first = 0, end = job->groups;
    while (end - first > 1) {
        const int64_t middle = first + (end - first) / 2;
        if (job->group[middle].first_piece <= piece)
            first = middle;
        else
            end = middle;
    }
    return &job->group[first];
}

static void do_part(const team_job *job, const duo_group *group, int64_t piece)
{
    const int64_t from = (piece - group->first_piece) * group->per_piece;
    const int64_t left = group->batch.count - from;
    const int64_t count = left < group->per_piece ? left : group->per_piece;
    if (job->algorithm->id == DUO_sgemm_cpu_ffma && group->call.operand[DUO_A].read) {
        duo_sgemm_cpu_ffma_products(&group->call, from, count);
        return;
    }
    duo_call one = group->call;
    one.batch = NULL;
    for (int64_t p = from; p < from + count; p++) {
        for (int i = 0; i < DUO_OPERANDS; i++)
            if (duo_operand_touched(&one.operand[i]))
                one.operand[i].address = duo_batch_address(&group->batch, &group->call, i, p);
        do_product(job, &one);
    }
}

/* A piece is a part of a group, or several short groups. */
static void do_products(void *user, int64_t piece)
{
    const team_job *const job = user;
    const duo_group *group = group_of(job, piece);
    do_part(job, group, piece);
    for (; group > job->group && group[-1].first_piece == piece; group--)
        do_part(job, group - 1, piece);
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

static bool takes(const duo_call *call, const duo_conditions *conditions,
                  const duo_algorithm *algorithm)
{
    duo_conditions alone = *conditions;
    const duo_call one = one_in_host_memory(call, &alone);
    return !call->batch->mixed && algorithm->accepts(&one, &alone);
}

/* A batch for the program's own BLAS is not taken: that may not bear several threads. */
bool duo_team_takes(const duo_call *call, const duo_conditions *conditions,
                    const duo_algorithm *algorithm)
{
    const duo_batch *const batch = call->batch;
    if (algorithm->side != DUO_SIDE_CPU || call->program != NULL) return false;
    if (batch->group == NULL)
        return !duo_batch_unread(batch) && takes(call, conditions, algorithm) && leaves_gaps(call);
    for (int64_t g = 0; g < batch->groups; g++)
        if (!takes(&batch->group[g].call, conditions, algorithm)) return false;
    return duo_batch_plain(call);
}

/* Seconds of one of the products. */
static double product_seconds(const duo_call *call, const duo_conditions *conditions,
                              const duo_algorithm *algorithm)
{
    double part;
    duo_conditions alone = *conditions;
    const duo_call one = one_in_host_memory(call, &alone);
    const duo_call like = like_product(&one, algorithm, &part);
    return of_product(duo_predict_one(&like, &alone, algorithm), part);
}

/* The products. Groups: as if the threads shared them evenly, but none takes less than its longest
 * product. */
static double all_seconds(const duo_call *call, const duo_conditions *conditions,
                          const duo_algorithm *algorithm)
{
    const duo_batch *const batch = call->batch;
    const double threads = conditions->threads;
    double sum = 0.0, longest = 0.0;
    if (batch->group == NULL)
        return product_seconds(call, conditions, algorithm) * ceil((double)batch->count / threads);
    for (int64_t g = 0; g < batch->groups; g++) {
        const duo_call *const group = &batch->group[g].call;
        const double product = product_seconds(group, conditions, algorithm);
        sum += product * (double)group->batch->count;
        longest = fmax(longest, product);
    }
    return fmax(sum / threads, longest);
}

/* The products, and the transfers from the device and back. */
double duo_team_seconds(const duo_call *call, const duo_conditions *conditions,
                        const duo_algorithm *algorithm)
{
    const duo_profile *const profile = conditions->profile;
    return profile->fork_seconds + conditions->threads * profile->fork_seconds_per_thread +
           all_seconds(call, conditions, algorithm) +
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

/* One piece for one thread. */
static int64_t cut_for_one(duo_group *group, int64_t groups)
{
    for (int64_t g = 0; g < groups; g++) {
        group[g].first_piece = 0;
        group[g].per_piece = group[g].batch.count;
    }
    return 1;
}

/* Pieces of products, or of short groups. Returns their number. */
static int64_t cut_for_team(const duo_execution *e, const duo_algorithm *algorithm,
                            duo_group *group, int64_t groups)
{
    static const double kPiece = 1e-5; /* seconds; a thread gets products for at least this long */
    double shared = 0.0;               /* seconds of the short groups in the last piece */
    int64_t pieces = 0;
    for (int64_t g = 0; g < groups; g++) {
        const double one = duo_team_work(&group[g].call, &e->conditions, algorithm);
        const double count = (double)group[g].batch.count;
        const bool is_short = one * count < kPiece;
        if (shared > 0.0 && (!is_short || shared >= kPiece)) {
            pieces++;
            shared = 0.0;
        }
        group[g].first_piece = pieces;
        group[g].per_piece = (int64_t)fmin(ceil(kPiece / fmax(one, 1e-9)), count);
        if (is_short)
            shared += one * count;
        else
            pieces += (group[g].batch.count + group[g].per_piece - 1) / group[g].per_piece;
    }
    return pieces + (shared > 0.0);
}

/* The team does the products. */
static void run_all(duo_execution *e, const duo_algorithm *algorithm, duo_group *group,
                    int64_t groups)
{
    const int threads = e->conditions.threads;
    const int64_t pieces =
        threads > 1 ? cut_for_team(e, algorithm, group, groups) : cut_for_one(group, groups);
    const team_job job = {.group = group, .groups = groups, .algorithm = algorithm};
    for (int64_t g = 0; g < groups; g++) group[g].call.threads = 1;
    duo_team_run(do_products, (void *)(uintptr_t)&job, pieces, threads);
}

duo_outcome duo_run_team(duo_execution *e, duo_choice *choice)
{
    duo_resources *const res = &e->ctx->resources;
    const duo_call *const spans = &e->call->batch->spans;
    duo_call local;
    duo_group one;
    if (e->call->batch->group != NULL) { /* in host memory that needs no placing */
        run_all(e, choice->algorithm, e->call->batch->group, e->call->batch->groups);
        return DUO_OK;
    }
    duo_outcome status = duo_place_on_host(res, spans, &local);
    if (status == DUO_OK) {
        duo_batch_use_copies(e->call, &local, &one.call, &one.batch);
        find_packed(choice->algorithm->id, &one.call, e->conditions.threads);
        run_all(e, choice->algorithm, &one, 1);
        duo_place_let_go(&one.call);
        duo_batch_wrote_list(e);
        status = duo_place_from_host(res, spans, &local);
    }
    duo_place_end(res, spans, &local);
    return status;
}
