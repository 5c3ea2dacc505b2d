/*
 * execute.c - the way of a call: locate, select, place, run, take home.
 *
 * An algorithm that cannot go on before it wrote anything declines, and the next cheapest runs. A device
 * that fails while results come home has written part of C; the CPU then computes the rest, so a
 * failure costs time, not the answer.
 */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>
#include <time.h>

#include "call/context.h"

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- GPU ---- */

/* Waits for the ticket in the slot. The queue is asked now and then whether it still lives. */
static duo_status poll_result(duo_context *ctx, float *value)
{
    enum { SPINS = 4096 };
    const duo_backend *const backend = duo_backend_current();
    bool idle = false;
    for (;;) {
        for (int spin = 0; spin < SPINS; spin++) {
            const uint64_t seen = __atomic_load_n(ctx->pinned_result, __ATOMIC_ACQUIRE);
            if ((uint32_t)(seen >> 32) == ctx->ticket) {
                const uint32_t bits = (uint32_t)seen;
                memcpy(value, &bits, sizeof bits);
                return duo_device_usable(ctx->device) ? DUO_OK : DUO_ERR_LOST;
            }
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        if (idle) return DUO_ERR_LOST; /* all done, and no result */
        const duo_status status = backend->idle(ctx->queue, &idle);
        if (status != DUO_OK) return status;
    }
}

/* run_on_gpu up to the end of what was placed. */
static int launch(duo_context *ctx, const duo_call *call, duo_call *local,
                  const duo_algorithm *algorithm, int64_t *done)
{
    duo_status status = duo_place_on_device(ctx, algorithm->id, call, local);
    if (status != DUO_OK) {
        duo_place_queued(ctx, call, local, false);
        return status == DUO_ERR_LOST && duo_device_usable(ctx->device) ? DUO_ERR_LOST
                                                                        : DUO_DECLINED;
    }
    const bool polled = call->operation != DUO_SGEMM && local->operand[DUO_RESULT].address == NULL;
    if (polled && duo_context_pin_result(ctx) != DUO_OK) {
        duo_place_queued(ctx, call, local, false);
        return DUO_DECLINED;
    }
    ctx->ticket++;
    status = duo_backend_current()->launch(ctx->queue, algorithm->id, local,
                                           polled ? ctx->pinned_result : NULL, ctx->ticket);
    duo_place_queued(ctx, call, local, status == DUO_OK);
    if (status != DUO_OK) {
        (void)duo_context_failed(ctx, status, "launch");
        return DUO_DECLINED;
    }
    if (polled) {
        float value;
        status = poll_result(ctx, &value);
        if (status != DUO_OK) {
            (void)duo_context_failed(ctx, status, "wait for the result");
            return DUO_DECLINED;
        }
        ctx->reading_host = false; /* there is a result: everything has been read */
        status = duo_place_result(ctx, &call->operand[DUO_RESULT], value);
    } else {
        status = duo_place_from_device(ctx, call, local, done);
    }
    /* Outputs that stay on the device are owed until somebody has waited for them. */
    const duo_operand *const out = &call->operand[DUO_C]; /* DUO_RESULT is the same */
    if (out->residence != DUO_AT_PAGEABLE && out->residence != DUO_AT_PINNED) ctx->unwaited = true;
    return status == DUO_OK ? DUO_OK : DUO_DECLINED;
}

/* DUO_OK; DUO_DECLINED with *done elements of C final; or an error for the caller. */
static int run_on_gpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm,
                      int64_t *done)
{
    duo_call local;
    *done = 0;
    ctx->on_gpu = true;
    const int status = launch(ctx, call, &local, algorithm, done);
    ctx->on_gpu = false;
    duo_place_end(call, &local);
    return status;
}

/* ---- CPU ---- */

static int run_on_cpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm)
{
    duo_call local;
    int status = duo_place_on_host(ctx, call, &local);
    if (status == DUO_OK) status = duo_context_run(ctx, algorithm, &local);
    if (status == DUO_OK) status = duo_place_from_host(ctx, call, &local);
    duo_place_end(call, &local);
    return status;
}

/* The first *finished elements of C are final: what is left, as one or two calls. */
static int finish_on_cpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm,
                         int64_t *finished)
{
    const int64_t done = *finished;
    duo_call rest = *call;
    duo_operand *const a = &rest.operand[DUO_A], *const b = &rest.operand[DUO_B],
                       *const c = &rest.operand[DUO_C];
    const int64_t column = done / call->m, rows_done = done % call->m;
    const int64_t b_step = call->transb ? 1 : b->ld, a_step = call->transa ? a->ld : 1;
    if (b->address != NULL) b->address += column * b_step;
    *(call->transb ? &b->rows : &b->columns) -= column;
    c->address += column * c->ld;
    if (rows_done > 0) { /* the rest of one column */
        duo_call part = rest;
        part.m = call->m - rows_done;
        part.n = 1;
        if (part.operand[DUO_A].address != NULL) part.operand[DUO_A].address += rows_done * a_step;
        *(call->transa ? &part.operand[DUO_A].columns : &part.operand[DUO_A].rows) = part.m;
        *(call->transb ? &part.operand[DUO_B].rows : &part.operand[DUO_B].columns) = 1;
        part.operand[DUO_C].address += rows_done;
        part.operand[DUO_C].rows = part.m;
        part.operand[DUO_C].columns = 1;
        const int status = run_on_cpu(ctx, &part, algorithm);
        if (status != DUO_OK) return status;
        *finished += part.m; /* another algorithm may have to do the others */
        if (b->address != NULL) b->address += b_step;
        *(call->transb ? &b->rows : &b->columns) -= 1;
        c->address += c->ld;
    }
    rest.n = call->n - column - (rows_done > 0);
    c->columns = rest.n;
    return rest.n > 0 ? run_on_cpu(ctx, &rest, algorithm) : DUO_OK;
}

/* ---- The way of a call ---- */

/* Opening the device may show that there is none: then every prediction that counted on it is void.
 */
static void strike_gpu(duo_choice *choice, int count)
{
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side == DUO_SIDE_GPU) choice[i].accepts = false;
}

/*
 * A kept array that is stale on the device stays there until sending it pays. Each call that ran on
 * the CPU for that reason alone earns what it lost towards the sending, so that in the end at most
 * twice the best is spent.
 */
static void earn_credit(const duo_call *call, const duo_choice *choice, int count, int ran,
                        const duo_profile *profile)
{
    if (!duo_call_stale(call) || choice[ran].algorithm->side != DUO_SIDE_CPU) return;
    duo_call sent = *call;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (sent.operand[i].residence == DUO_AT_STALE) sent.operand[i].on_device = true;
    const double saved_transfer = duo_transfer_seconds(call, DUO_SIDE_GPU, profile) -
                                  duo_transfer_seconds(&sent, DUO_SIDE_GPU, profile);
    double best = INFINITY;
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side == DUO_SIDE_GPU && choice[i].accepts && !choice[i].declined)
            best = fmin(best, choice[i].seconds - saved_transfer);
    const double lost = choice[ran].seconds - best;
    if (!(lost > 0.0)) return;
    duo_residency_lock();
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (call->operand[i].read && call->operand[i].residence == DUO_AT_STALE)
            call->operand[i].region->credit_seconds += lost;
    duo_residency_unlock();
}

static void remember(duo_context *ctx, const duo_call *call, const duo_choice *choice, int count)
{
    ctx->last_tiny = ctx->last_short = false;
    ctx->last_call = *call;
    ctx->last_candidates = count;
    if (count > 0) memcpy(ctx->last_choice, choice, (size_t)count * sizeof *choice);
    ctx->last_algorithm = NULL;
    ctx->last_seconds = -1.0;
    ctx->note[0] = '\0';
}

/* Is the call large enough that asking the driver about its operands does not count? */
static bool worth_asking(const duo_choice *best, const duo_profile *profile)
{
    enum { SHARE = 50 };
    return best->seconds > SHARE * profile->query_seconds;
}

/* The CPU's algorithms alone were predicted, and their best declined: now all algorithms, that one struck out. */
static int predict_others(duo_context *ctx, const duo_call *call, const duo_conditions *conditions,
                          duo_choice choice[DUO_CANDIDATES], int declined)
{
    const duo_algorithm *const algorithm = choice[declined].algorithm;
    const int count = duo_predict(call, conditions, choice);
    for (int i = 0; i < count; i++) choice[i].declined = choice[i].algorithm == algorithm;
    ctx->last_short = false;
    ctx->last_candidates = count;
    return count;
}

duo_status duo_execute(duo_context *ctx, duo_call *call)
{
    const bool timed = ctx->verbose > 0 || ctx->log != NULL;
    const double start = timed ? now_seconds() : 0.0;
    const duo_status located = duo_place_locate(ctx, call);
    if (located != DUO_OK) return located;
    const duo_conditions conditions = duo_context_conditions(ctx);
    duo_choice choice[DUO_CANDIDATES];
    int count = timed ? 0 : duo_predict_cpu(call, &conditions, choice);
    const bool cpu_alone = count > 0;
    if (!cpu_alone) count = duo_predict(call, &conditions, choice);
    remember(ctx, call, choice, count);
    ctx->last_short = cpu_alone;
    if (cpu_alone) ctx->last_conditions = conditions;
    if (ctx->path == DUO_PATH_GPU && !conditions.gpu) (void)duo_context_queue(ctx); /* notes why */

    int64_t done = 0;
    bool asked = false;
    int status = DUO_DECLINED;
    for (int best; status == DUO_DECLINED;) {
        best = duo_select(choice, count, &conditions);
        if (best < 0) return DUO_ERR_MEMORY; /* not reached: algorithm.h */
        const duo_algorithm *const algorithm = choice[best].algorithm;
        if (algorithm->side == DUO_SIDE_GPU && duo_context_queue(ctx) != DUO_OK) {
            strike_gpu(choice, count);
            continue;
        }
        if (!asked && worth_asking(&choice[best], conditions.profile)) {
            asked = true;
            const duo_status foreign = duo_place_ask(ctx, call);
            if (foreign != DUO_OK) return foreign;
        }
        call->threads = choice[best].threads > 0 ? choice[best].threads : 1;
        if (algorithm->side == DUO_SIDE_GPU)
            status = run_on_gpu(ctx, call, algorithm, &done);
        else if (done > 0 && call->beta != 0.0f)
            status = finish_on_cpu(ctx, call, algorithm, &done);
        else
            status = run_on_cpu(ctx, call, algorithm);
        if (status == DUO_DECLINED) {
            choice[best].declined = true;
            if (ctx->last_short) count = predict_others(ctx, call, &conditions, choice, best);
            /* With part of C written, or the device gone, the CPU has to finish. */
            if (algorithm->side == DUO_SIDE_GPU && (done > 0 || !duo_device_usable(ctx->device)))
                strike_gpu(choice, count);
            if (algorithm->side == DUO_SIDE_GPU) {
                const duo_status again = duo_place_locate(ctx, call); /* copies may have gone */
                if (again != DUO_OK) return again;
            }
            continue;
        }
        ctx->last_algorithm = algorithm;
        ctx->last_threads = algorithm->side == DUO_SIDE_GPU ? 0 : call->threads;
        ctx->last_predicted_seconds = choice[best].seconds;
        if (status == DUO_OK) earn_credit(call, choice, count, best, conditions.profile);
    }
    (void)duo_stage_consumed(ctx); /* a device that fails now is found by whoever wants its data */
    memcpy(ctx->last_choice, choice, sizeof choice[0] * (size_t)count); /* as they turned out */
    if (timed) ctx->last_seconds = now_seconds() - start;
    if (timed) duo_explain_call(ctx);
    return (duo_status)status;
}

duo_status duo_execute_store(duo_context *ctx, duo_operation operation, int64_t n, float value,
                             float *result)
{
    duo_call call = {.operation = operation, .m = 1, .n = n, .threads = 1};
    call.operand[DUO_RESULT] =
        (duo_operand){.address = result, .rows = 1, .columns = 1, .ld = 1, .written = true};
    const duo_status located = duo_place_locate(ctx, &call);
    if (located != DUO_OK) return located;
    remember(ctx, &call, NULL, 0);
    duo_call local;
    duo_status status = duo_place_on_host(ctx, &call, &local);
    if (status == DUO_OK) {
        *local.operand[DUO_RESULT].address = value;
        status = duo_place_from_host(ctx, &call, &local);
    }
    duo_place_end(&call, &local);
    if (status == DUO_OK) duo_explain_call(ctx);
    return status;
}

void duo_execute_nothing(duo_context *ctx, const duo_call *call)
{
    remember(ctx, call, NULL, 0);
    for (int i = 0; i < DUO_OPERANDS; i++) ctx->last_call.operand[i].residence = DUO_AT_UNUSED;
    duo_explain_call(ctx);
}
