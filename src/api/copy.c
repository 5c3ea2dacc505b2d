/* copy.c - duo_copy, between any two places. */
#include <string.h>

#include "call/capture.h"
#include "call/captured.h"
#include "data/coherence.h"
#include "data/residency.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"
#include "host/fork.h"

/* One end of a copy: its destination or its source. */
typedef struct end {
    char *address;
    duo_region *region;
    bool on_device, crosses;
} end;

/* Finds out where an end is. DUO_ERR_FOREIGN: in device memory that is not registered. */
static duo_status find_end(const void *address, size_t bytes, end *e)
{
    const uintptr_t low = (uintptr_t)address;
    duo_memory memory;
    *e = (end){.address = (char *)(uintptr_t)address};
    e->region = duo_residency_find(low, low + bytes, &e->crosses);
    if (e->region != NULL && e->region->lost) return DUO_ERR_LOST;
    e->on_device = e->region != NULL && duo_region_lies_on_device(e->region);
    for (const duo_region *r = e->crosses ? duo_residency_first(low, low + bytes) : NULL; r != NULL;
         r = duo_residency_next(r, low + bytes))
        if (duo_region_counts_as_device(r)) return DUO_ERR_RANGE;
    if (e->region == NULL && !duo_forked() &&
        duo_backend_current()->classify(address, &memory) == DUO_OK && memory == DUO_MEMORY_DEVICE)
        return DUO_ERR_FOREIGN;
    return DUO_OK;
}

static bool is_pinned(const end *e)
{
    return e->region != NULL && e->region->kind == DUO_REGION_PINNED;
}

static uintptr_t low_of(const end *e) { return (uintptr_t)e->address; }

static duo_status copy_failed(duo_resources *res, duo_status status)
{
    const int device = res->queue_device,
              of = status == DUO_ERR_LOST ? duo_device_found_lost(device) : device;
    return duo_resources_failed_on(res, of, status, "copy");
}

/* Under the residency lock. */
static duo_status copy_between(duo_resources *res, const end *dst, const end *src, size_t bytes)
{
    duo_status status = DUO_OK;
    if (dst->on_device || src->on_device) {
        status = duo_resources_reach(res, (dst->on_device ? dst : src)->region->device);
        if (status != DUO_OK) return status;
    }
    if (!src->on_device) status = duo_coherence_fetch_all(res, low_of(src), low_of(src) + bytes);
    if (!dst->on_device && status == DUO_OK)
        status = duo_coherence_fetch_all(res, low_of(dst), low_of(dst) + bytes);
    if (status == DUO_OK && src->on_device) status = duo_coherence_claim_read(res, src->region);
    if (status == DUO_OK && dst->on_device) status = duo_coherence_claim_write(res, dst->region);
    if (status != DUO_OK) return status;
    if (dst->on_device) {
        const size_t from = (uintptr_t)dst->address - dst->region->low;
        duo_packed_stale(&dst->region->packed, from, from + bytes);
    }
    if (src->on_device && dst->on_device) {
        status = duo_queue_copy(res->queue, dst->address, bytes, src->address, bytes, bytes, 1);
        if (status != DUO_OK) return copy_failed(res, status);
        res->unwaited |= dst->region->device == res->queue_device;
        status = duo_transfer_across(res, src->region->device);
        return status == DUO_OK ? duo_transfer_across(res, dst->region->device) : status;
    }
    if (dst->on_device) {
        status = duo_upload_bytes(res, dst->address, src->address, bytes, is_pinned(src));
        const duo_status consumed = duo_upload_consumed(res);
        if (status == DUO_OK) status = consumed;
        return status == DUO_OK ? duo_transfer_across(res, dst->region->device) : status;
    }
    if (src->on_device)
        status = duo_download_bytes(res, dst->address, src->address, bytes, is_pinned(dst));
    else
        memmove(dst->address, src->address, bytes);
    if (status == DUO_OK && src->on_device) status = duo_transfer_across(res, src->region->device);
    return status == DUO_OK ? duo_coherence_changed(res, low_of(dst), low_of(dst) + bytes) : status;
}

/* Is the device of this end, if it is on one, still there? */
static bool reachable(const end *e)
{
    return !e->on_device || (!e->region->lost && duo_device_usable(e->region->device));
}

duo_status duo_copy(duo_context *given, void *dst, const void *src, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (bytes == 0) return DUO_OK;
    if (dst == NULL || src == NULL) return DUO_ERR_NULL;
    if (duo_range_wraps(dst, bytes) || duo_range_wraps(src, bytes)) return DUO_ERR_SIZE;
    if (ctx->policy.capture != NULL) {
        const duo_work work = {sizeof work, DUO_WORK_COPY,  .dst = dst,
                               .src = src,  .width = bytes, .height = 1};
        return ctx->policy.capture->add(ctx, &work);
    }
    if (duo_resources_captured(&ctx->resources)) return duo_captured_copy(ctx, dst, src, bytes);
    end to, from;
    duo_residency_lock();
    duo_status status = find_end(dst, bytes, &to);
    if (status == DUO_OK) status = find_end(src, bytes, &from);
    const bool found = status == DUO_OK;
    if (status == DUO_OK) status = copy_between(&ctx->resources, &to, &from, bytes);
    if (found && status == DUO_ERR_LOST && (to.on_device || from.on_device)) {
        duo_residency_sweep(); /* perhaps only the context's device is lost, and no data */
        if (reachable(&to) && reachable(&from))
            status = copy_between(&ctx->resources, &to, &from, bytes);
    }
    duo_residency_unlock();
    return status == DUO_ERR_MEMORY ? DUO_ERR_DEVICE : status; /* no staging memory */
}
