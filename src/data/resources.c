/* resources.c - what a context holds on a device (resources.h). */
#include "data/resources.h"

#include <string.h>

#include "data/residency.h"
#include "gpu/backend/devices.h"

void duo_resources_settle_device(duo_resources *res)
{
    const char *why;
    if (!res->rank_device || !duo_devices_looked()) return;
    const int count = duo_devices(&why);
    if (count > 0) res->device %= count;
    res->rank_device = false;
}

/* ---- Failures ---- */

static duo_status failed_on(duo_resources *res, int device, duo_status status, const char *doing)
{
    const char *const detail = duo_backend_current()->detail();
    duo_report_note(&res->report, "GPU %d: %s: %.100s", device, doing, detail);
    if (status == DUO_ERR_LOST) duo_device_lose(device, detail);
    return status;
}

duo_status duo_resources_failed(duo_resources *res, duo_status status, const char *doing)
{
    return failed_on(res, res->queue != NULL ? res->queue_device : res->device, status, doing);
}

/* ---- The queue ---- */

static duo_status open_queue(duo_resources *res, int device, void *stream)
{
    const duo_status status = duo_queue_open(device, stream, &res->queue);
    if (status != DUO_OK) {
        res->queue = NULL;
        return failed_on(res, device, status, "open a queue");
    }
    res->queue_device = device;
    res->opened = true;
    return DUO_OK;
}

duo_status duo_resources_open(duo_resources *res)
{
    const char *why;
    const int count = duo_devices(&why);
    duo_resources_settle_device(res);
    if (count == 0 || !duo_device_usable(res->device)) {
        duo_report_note(&res->report, "no GPU: %s", duo_device_why(res->device));
        return DUO_ERR_DEVICE;
    }
    if (res->queue != NULL) return DUO_OK;
    return open_queue(res, res->device, res->stream);
}

void duo_resources_free_workspace(duo_resources *res)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (res->workspace[i].address != NULL)
            (void)duo_device_release(res->queue_device, res->workspace[i].address,
                                     res->workspace[i].bytes);
        res->workspace[i] = (duo_space){0};
    }
}

static void free_stages(duo_resources *res)
{
    for (int i = 0; i < DUO_STAGES; i++) {
        if (res->stage[i].address != NULL)
            (void)duo_backend_current()->unpin(res->stage[i].address);
        res->stage[i] = (duo_space){0};
        res->stage_busy[i] = false;
    }
}

/* Waits for the queue's work. No lock need be held. */
static duo_status finish_queue(duo_resources *res)
{
    const duo_status status = duo_queue_finish(res->queue);
    return status == DUO_OK ? DUO_OK : duo_resources_failed(res, status, "finish");
}

/* Closes the queue, which no region remembers any more, and frees its buffers. `finished`: the
 * status of waiting for its work. */
static duo_status end_queue(duo_resources *res, duo_status finished)
{
    const duo_backend *const backend = duo_backend_current();
    free_stages(res);
    duo_resources_free_workspace(res);
    if (res->pinned_result != NULL) (void)backend->unpin(res->pinned_result);
    const duo_status closed = backend->close(res->queue); /* waits once more */
    const bool unwaited = res->unwaited;
    res->pinned_result = NULL;
    res->queue = NULL;
    res->unwaited = false;
    if (!unwaited || (closed == DUO_OK && finished != DUO_ERR_LOST)) return DUO_OK;
    return finished;
}

duo_status duo_resources_close(duo_resources *res)
{
    if (res->queue == NULL) return DUO_OK;
    const duo_status finished = finish_queue(res);
    duo_residency_lock();
    duo_residency_forget_queue(res->queue);
    duo_residency_unlock();
    return end_queue(res, finished);
}

duo_status duo_resources_reach(duo_resources *res, const duo_region *region)
{
    const duo_status status = duo_resources_open(res);
    if (status == DUO_OK) return DUO_OK;
    if (!duo_device_usable(region->device)) return DUO_ERR_LOST;
    if (duo_device_usable(res->device) || res->on_gpu) return status;
    if (res->queue != NULL && res->queue_device == region->device) return DUO_OK;
    const bool unwaited = res->unwaited; /* of the lost device: duo_synchronize is to tell */
    if (res->queue != NULL) {
        const duo_status finished = finish_queue(res);
        duo_residency_forget_queue(res->queue);
        (void)end_queue(res, finished);
    }
    res->unwaited = unwaited;
    return open_queue(res, region->device, NULL);
}

void duo_resources_trim(duo_resources *res)
{
    if (res->queue == NULL) return;
    (void)duo_queue_finish(res->queue);
    free_stages(res);
    duo_resources_free_workspace(res);
    (void)duo_backend_current()->trim(res->queue);
}

void duo_resources_in_child(duo_resources *res)
{
    res->queue = NULL;
    res->pinned_result = NULL;
    memset(res->workspace, 0, sizeof res->workspace);
    memset(res->stage, 0, sizeof res->stage);
    memset(res->stage_busy, 0, sizeof res->stage_busy);
    res->reading_host = res->unwaited = res->on_gpu = false;
}

/* ---- Memory ---- */

duo_status duo_resources_pin_result(duo_resources *res)
{
    void *word = NULL;
    if (res->pinned_result != NULL) return DUO_OK;
    enum { LINE = 64 }; /* a cache line of its own, as the host polls it */
    const duo_status status = duo_backend_current()->pin(res->queue_device, LINE, &word);
    if (status != DUO_OK) return duo_resources_failed(res, status, "pin a word for results");
    res->pinned_result = word;
    *res->pinned_result = 0;
    res->ticket = 0;
    return DUO_OK;
}

duo_status duo_resources_grow(duo_resources *res, duo_space *space, size_t bytes)
{
    if (bytes <= space->bytes) return DUO_OK;
    if (space->address != NULL)
        (void)duo_device_release(res->queue_device, space->address, space->bytes);
    *space = (duo_space){0};
    const duo_status status = duo_device_allocate(res->queue_device, bytes, &space->address);
    if (status != DUO_OK) return duo_resources_failed(res, status, "allocate workspace");
    space->bytes = bytes;
    return DUO_OK;
}
