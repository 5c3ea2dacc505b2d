/* resources.c - the resources of a context on its devices (resources.h). */
#include "data/resources.h"

#include <string.h>

#include "data/checked.h"
#include "data/plan_make.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "host/fork.h"
#include "host/machine.h"

enum { LINE = 64 }; /* pinned words have a cache line each: the host polls the result */

void duo_resources_settle_device(duo_resources *res)
{
    const char *why;
    if (!res->rank_device || !duo_devices_looked()) return;
    const int count = duo_devices(&why);
    if (count > 0) res->device %= count;
    res->rank_device = false;
}

/* ---- Devices ---- */

void duo_resources_set_others(duo_resources *res, const int *other, int others)
{
    for (int i = 1; i < DUO_LANES; i++) duo_resources_close_lane(res, i);
    res->others = others;
    for (int i = 0; i < others; i++) res->other[i] = other[i];
}

int duo_resources_devices(const duo_resources *res, int device[DUO_LANES])
{
    const char *why;
    if (!duo_devices_looked()) return 0;
    int count = 0;
    if (duo_device_usable(res->device)) device[count++] = res->device;
    const int others = res->others < 0 ? duo_devices(&why) : res->others;
    for (int i = 0; i < others && count < DUO_LANES; i++) {
        const int other = res->others < 0 ? i : res->other[i];
        if (other != res->device && duo_device_usable(other)) device[count++] = other;
    }
    return count;
}

const char *duo_resources_no_gpu(const duo_resources *res)
{
    return duo_forked() || duo_devices_looked() ? duo_device_why(res->device) : "";
}

void duo_resources_replace_device(duo_resources *res)
{
    int device[DUO_LANES];
    if (res->others == 0 || !duo_devices_looked() || duo_device_usable(res->device)) return;
    duo_resources_settle_device(res);
    if (duo_resources_devices(res, device) == 0 || device[0] == res->device) return;
    duo_resources_close(res);
    duo_report_note(&res->report, "GPU %d is used instead of GPU %d", device[0], res->device);
    res->device = device[0]; /* it stays among the others, too: that does no harm */
    res->stream = NULL;
}

/* ---- Failures ---- */

duo_status duo_resources_failed_on(duo_resources *res, int device, duo_status status,
                                   const char *doing)
{
    const char *const detail = duo_backend_current()->detail();
    duo_report_note(&res->report, "GPU %d: %s: %.100s", device, doing, detail);
    if (status == DUO_ERR_LOST) duo_device_lose(device, detail);
    return status;
}

duo_status duo_resources_failed(duo_resources *res, duo_status status, const char *doing)
{
    const int device = res->queue != NULL ? res->queue_device : res->device;
    return duo_resources_failed_on(res, device, status, doing);
}

/* ---- The queue ---- */

static duo_status open_queue(duo_resources *res, int device, void *stream)
{
    const duo_status status = duo_queue_open(device, stream, res->priority, &res->queue);
    if (status != DUO_OK) {
        res->queue = NULL;
        return duo_resources_failed_on(res, device, status, "open a queue");
    }
    res->queue_device = device;
    res->opened = true;
    return DUO_OK;
}

duo_status duo_resources_open(duo_resources *res)
{
    const char *why;
    if (res->queue != NULL && duo_device_usable(res->device)) return DUO_OK;
    const int count = duo_devices(&why);
    duo_resources_settle_device(res);
    if (count == 0 || !duo_device_usable(res->device)) {
        duo_report_note(&res->report, "no GPU: %s", duo_device_why(res->device));
        return DUO_ERR_DEVICE;
    }
    if (res->queue != NULL) return DUO_OK;
    return open_queue(res, res->device, res->stream);
}

bool duo_resources_captured(const duo_resources *res)
{
    bool capturing = false;
    if (res->stream == NULL || !duo_device_usable(res->device)) return false;
    const duo_status status =
        duo_backend_current()->capturing(res->device, res->stream, &capturing);
    return status == DUO_OK && capturing;
}

static void free_space(duo_space *space, int device)
{
    if (space->address != NULL) (void)duo_device_release(device, space->address, space->bytes);
    *space = (duo_space){0};
}

static void free_spaces(duo_space space[DUO_OPERANDS], int device)
{
    for (int i = 0; i < DUO_OPERANDS; i++) free_space(&space[i], device);
}

static void free_ring(duo_ring *ring, int device)
{
    for (int i = 0; i < DUO_STAGES; i++) {
        const duo_space space = ring->stage[i].space;
        if (space.address != NULL) (void)duo_pinned_release(device, space.address, space.bytes);
        ring->stage[i] = (duo_stage){.queue = NULL};
    }
}

void duo_resources_free_workspace(duo_resources *res)
{
    free_spaces(res->workspace, res->queue_device);
}

/* Closes a lane's queue. Then all its work with stages is done. */
static void close_lane_queue(duo_resources *res, duo_queue *queue)
{
    if (queue == NULL) return;
    (void)duo_backend_current()->close(queue);
    for (int i = 0; i < DUO_STAGES; i++) {
        if (res->up.stage[i].queue == queue) res->up.stage[i].queue = NULL;
        if (res->down.stage[i].queue == queue) res->down.stage[i].queue = NULL;
    }
}

void duo_resources_close_lane(duo_resources *res, int i)
{
    duo_lane *const lane = &res->lane[i];
    close_lane_queue(res, lane->up);
    close_lane_queue(res, lane->down);
    close_lane_queue(res, lane->peer);
    if (i > 0) free_spaces(lane->space, lane->device);
    if (i > 0) close_lane_queue(res, lane->compute);
    *lane = (duo_lane){.up = NULL};
}

static void close_lanes(duo_resources *res)
{
    for (int i = 0; i < DUO_LANES; i++) duo_resources_close_lane(res, i);
}

/* All queued checks are done. */
static void tell_wrong(duo_resources *res)
{
    if (res->wrong == NULL) return;
    const uint32_t wrong = __atomic_load_n(res->wrong, __ATOMIC_ACQUIRE);
    if (wrong == res->wrong_told) return;
    res->wrong_told = wrong;
    duo_checked_count(0, 1);
    duo_report_note(&res->report, "a result on device %d was wrong", res->queue_device);
    duo_resources_owe(res, DUO_ERR_WRONG);
    duo_checked_device(res->queue_device);
}

duo_status duo_resources_finish(duo_resources *res)
{
    const duo_status status = duo_queue_finish(res->queue);
    if (status != DUO_OK) (void)duo_resources_failed(res, status, "finish");
    if (status == DUO_OK) tell_wrong(res);
    return duo_device_usable(res->queue_device) ? status : DUO_ERR_LOST;
}

/* ---- Owed statuses ---- */

void duo_resources_owe(duo_resources *res, duo_status status)
{
    if (status != DUO_OK && res->owed != DUO_ERR_LOST) res->owed = status;
}

duo_status duo_resources_tell(duo_resources *res)
{
    const duo_status owed = res->owed;
    res->owed = DUO_OK;
    return owed;
}

/* ---- Closing ---- */

/* Closes the queue and frees its buffers. No region remembers the queue any more. `finished`: the
 * status of waiting for its work; it is owed if outputs were unwaited. */
static void end_queue(duo_resources *res, duo_status finished)
{
    close_lanes(res);
    free_ring(&res->up, res->queue_device);
    free_ring(&res->down, res->queue_device);
    duo_resources_free_workspace(res);
    free_space(&res->checks, res->queue_device);
    if (res->pinned_result != NULL)
        (void)duo_pinned_release(res->queue_device, res->pinned_result, LINE);
    if (res->wrong != NULL) (void)duo_pinned_release(res->queue_device, res->wrong, LINE);
    const duo_status closed = duo_backend_current()->close(res->queue); /* waits once more */
    duo_resources_owe(res, duo_deferred_close(&res->deferred));
    if (res->unwaited && (closed != DUO_OK || finished == DUO_ERR_LOST))
        duo_resources_owe(res, finished);
    res->pinned_result = NULL;
    res->wrong = NULL;
    res->queue = NULL;
    res->reading_host = res->unwaited = false;
}

void duo_resources_close(duo_resources *res)
{
    duo_plan_free(&res->plan); /* also in a child process, which has no queue any more */
    if (res->queue == NULL) return;
    const duo_status finished = duo_resources_finish(res);
    duo_residency_lock();
    duo_residency_forget_queue(res->queue);
    duo_residency_unlock();
    end_queue(res, finished);
}

duo_status duo_resources_reach(duo_resources *res, int there)
{
    const duo_status status = duo_resources_open(res);
    if (status == DUO_OK) return DUO_OK;
    if (!duo_device_usable(there)) return DUO_ERR_LOST;
    if (duo_device_usable(res->device) || res->on_gpu) return status;
    if (res->queue != NULL && res->queue_device == there) return DUO_OK;
    if (res->queue != NULL) {
        const duo_status finished = duo_resources_finish(res);
        duo_residency_forget_queue(res->queue);
        end_queue(res, finished);
    }
    return open_queue(res, there, NULL);
}

void duo_resources_trim(duo_resources *res)
{
    if (res->queue == NULL) return;
    (void)duo_queue_finish(res->queue);
    close_lanes(res);
    free_ring(&res->up, res->queue_device);
    free_ring(&res->down, res->queue_device);
    duo_resources_free_workspace(res);
    free_space(&res->checks, res->queue_device);
    duo_plan_free(&res->plan);
    (void)duo_backend_current()->trim(res->queue);
}

void duo_resources_in_child(duo_resources *res)
{
    res->queue = NULL;
    res->pinned_result = NULL;
    memset(res->workspace, 0, sizeof res->workspace);
    memset(res->lane, 0, sizeof res->lane);
    res->wrong = NULL;
    res->checks = (duo_space){0};
    memset(&res->up, 0, sizeof res->up);
    memset(&res->down, 0, sizeof res->down);
    res->reading_host = res->unwaited = res->on_gpu = res->opened = false;
    res->owed = DUO_OK;
    duo_deferred_in_child(res->deferred);
}

/* ---- Memory ---- */

duo_status duo_resources_pin_result(duo_resources *res)
{
    void *word = NULL;
    if (res->pinned_result != NULL) return DUO_OK;
    const duo_status status = duo_backend_current()->pin(res->queue_device, LINE, &word);
    if (status != DUO_OK) return duo_resources_failed(res, status, "pin a word for results");
    res->pinned_result = word;
    *res->pinned_result = 0;
    res->ticket = 0;
    return DUO_OK;
}

duo_status duo_resources_pin_wrong(duo_resources *res)
{
    void *word = NULL;
    if (res->wrong != NULL) return DUO_OK;
    const duo_status status = duo_backend_current()->pin(res->queue_device, LINE, &word);
    if (status != DUO_OK) return duo_resources_failed(res, status, "pin a word for checks");
    res->wrong = word;
    *res->wrong = res->wrong_told = res->checks_queued = 0;
    return DUO_OK;
}

duo_status duo_resources_grow(duo_resources *res, int device, duo_space *space, size_t bytes)
{
    if (bytes <= space->bytes) return DUO_OK;
    if (space->address != NULL) (void)duo_device_release(device, space->address, space->bytes);
    *space = (duo_space){0};
    const duo_status status = duo_device_allocate(device, bytes, &space->address);
    if (status != DUO_OK) return duo_resources_failed_on(res, device, status, "allocate workspace");
    space->bytes = bytes;
    return DUO_OK;
}

int duo_resources_threads(const duo_resources *res)
{
    const int own = duo_machine_threads_for(res->threads);
    if (own == 1 || res->program_threads == NULL) return own;
    const int theirs = res->program_threads();
    return theirs > 0 && theirs < own ? theirs : own;
}
