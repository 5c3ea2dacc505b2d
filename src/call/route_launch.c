/* route_launch.c - on the device, in one launch: place, launch, take the result or leave it. */
#include <sched.h>
#include <string.h>

#include "call/execution.h"
#include "data/place.h"
#include "gpu/backend/devices.h"

/* Waits until a word has its ticket, and takes the result out of it. Sometimes asks the queue
 * whether it still works. */
static duo_status poll_result(const duo_resources *res, duo_result_word word, float *value)
{
    enum { SPINS = 4096 }; /* looks at the word between two questions to the driver */
    bool idle = false;
    for (;;) {
        for (int spin = 0; spin < SPINS; spin++) {
            const uint64_t seen = __atomic_load_n(word.address, __ATOMIC_ACQUIRE);
            if ((uint32_t)(seen >> 32) == word.ticket) {
                const uint32_t bits = (uint32_t)seen;
                memcpy(value, &bits, sizeof bits);
                return duo_device_usable(res->device) ? DUO_OK : DUO_ERR_LOST;
            }
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        if (idle) return DUO_ERR_LOST; /* the queue had done all, and no result has come */
        const duo_status status = duo_backend_current()->idle(res->queue, &idle);
        if (status != DUO_OK) return status;
        (void)sched_yield(); /* the driver's threads may need this processor */
    }
}

/* The context's own word, for the next result. */
static duo_status own_word(duo_resources *res, duo_result_word *word)
{
    const duo_status status = duo_resources_pin_result(res);
    if (status == DUO_OK) *word = (duo_result_word){res->pinned_result, ++res->ticket};
    return status;
}

/* Places the operands and queues the work. *word: the result will arrive there. If it has no
 * address, and the result is for the host, it becomes the context's own word. */
static duo_outcome launch(duo_resources *res, const duo_call *call, duo_call *local,
                          const duo_algorithm *algorithm, duo_result_word *word)
{
    const duo_outcome placed = duo_place_on_device(res, algorithm->id, call, local);
    if (placed != DUO_OK) {
        duo_place_queued(res, call, local, false);
        return DUO_DECLINED;
    }
    const bool home = call->operation != DUO_SGEMM && local->operand[DUO_RESULT].address == NULL;
    if (home && word->address == NULL && own_word(res, word) != DUO_OK) {
        duo_place_queued(res, call, local, false);
        return DUO_DECLINED;
    }
    const duo_status status = duo_backend_current()->launch(res->queue, algorithm->id, local,
                                                            word->address, word->ticket);
    duo_place_queued(res, call, local, status == DUO_OK);
    if (status == DUO_OK) return DUO_OK;
    (void)duo_resources_failed(res, status, "launch");
    return DUO_DECLINED;
}

static duo_outcome take_result(duo_resources *res, const duo_call *call, duo_result_word word)
{
    float value;
    const duo_status status = poll_result(res, word, &value);
    if (status != DUO_OK) {
        (void)duo_resources_failed(res, status, "wait for the result");
        return DUO_DECLINED;
    }
    res->reading_host = false; /* the result is there, so every operand has been read */
    return duo_place_result(res, &call->operand[DUO_RESULT], value);
}

/* ---- Results that may come later ---- */

/* May this result come later? Only into memory that is host memory to the program: calls on other
 * memory are in order. Not if the log tells how long calls took, and not if no memory can be
 * pinned. */
static bool defers(duo_resources *res, const duo_call *call)
{
    const duo_operand *const o = &call->operand[DUO_RESULT];
    if (call->operation == DUO_SGEMM || o->crosses || o->counts_as_device || o->in_kept)
        return false;
    if (duo_report_wanted(&res->report)) return false;
    const duo_status status = duo_deferred_open(&res->deferred, res->queue_device);
    if (status != DUO_OK) (void)duo_resources_failed(res, status, "pin words for results");
    return status == DUO_OK;
}

/* Waits for the oldest result, if there is no room for another. */
static duo_status make_room(duo_resources *res)
{
    duo_result_word oldest;
    float value;
    bool all;
    if (!duo_deferred_full(res->deferred, &oldest)) return DUO_OK;
    const duo_status status = poll_result(res, oldest, &value);
    if (status != DUO_OK) return duo_resources_failed(res, status, "wait for a result");
    const duo_deferred_range awaited = duo_deferred_awaited(res->deferred);
    (void)duo_deferred_deliver(&awaited, &all); /* the next wait for the results tells of a loss */
    return DUO_OK;
}

static duo_outcome run_deferred(duo_resources *res, const duo_call *call, duo_call *local,
                                const duo_algorithm *algorithm)
{
    *local = *call;
    if (make_room(res) != DUO_OK) return DUO_DECLINED;
    duo_result_word word = duo_deferred_next(res->deferred);
    const duo_outcome launched = launch(res, call, local, algorithm, &word);
    if (launched == DUO_OK) duo_deferred_add(res->deferred, call->operand[DUO_RESULT].address);
    return launched;
}

/* ---- A call ---- */

/* Launches, and waits for a result that belongs in host memory, unless it may come later. */
static duo_outcome run(duo_execution *e, duo_call *local, const duo_algorithm *algorithm)
{
    duo_resources *const res = &e->ctx->resources;
    const duo_call *const call = e->call;
    if (res->async && !e->awaited && defers(res, call))
        return run_deferred(res, call, local, algorithm);
    duo_result_word word = {.address = NULL};
    const duo_outcome launched = launch(res, call, local, algorithm, &word);
    if (launched != DUO_OK) return launched;
    if (word.address == NULL) { /* the output stays on the device, and nobody has waited for it */
        res->unwaited = true;
        return DUO_OK;
    }
    return take_result(res, call, word) == DUO_OK ? DUO_OK : DUO_DECLINED;
}

duo_outcome duo_run_launch(duo_execution *e, duo_choice *choice)
{
    duo_resources *const res = &e->ctx->resources;
    duo_call local;
    if (duo_reduction_streams(res, e->call)) {
        choice->route = DUO_ROUTE_PIECES;
        return duo_run_pieces(e, choice);
    }
    res->on_gpu = true;
    const duo_outcome outcome = run(e, &local, choice->algorithm);
    res->on_gpu = false;
    duo_place_end(res, e->call, &local);
    return outcome;
}
