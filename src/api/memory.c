/* memory.c - duo_malloc, duo_copy, duo_adopt and the four residency verbs. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/context.h"

enum { ALIGNMENT = 256 };

static size_t padded(size_t bytes)
{
    const size_t some = bytes > 0 ? bytes : 1;
    return some > SIZE_MAX - ALIGNMENT ? 0 : (some + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Does a range end beyond the address space? Its bytes then wrap to a small range elsewhere. */
static bool wraps(const void *address, size_t bytes)
{
    return (uintptr_t)address > UINTPTR_MAX - bytes;
}

/* Is there so much host memory at all? More is not worth asking anybody for. */
static bool host_has(size_t bytes)
{
    return (double)bytes <= (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/* Registers new memory; on failure the caller takes it back. */
static duo_status enlist(duo_region_kind kind, void *address, size_t bytes, int device)
{
    duo_residency_lock();
    const duo_status status = duo_residency_add(kind, address, bytes > 0 ? bytes : 1, device, NULL);
    duo_residency_unlock();
    return status == DUO_OK ? DUO_OK : DUO_ERR_MEMORY;
}

/* Host memory that stands in for what no GPU could give. */
static duo_status host_instead(duo_region_kind kind, size_t bytes, void **ptr)
{
    if (!host_has(bytes)) return DUO_ERR_MEMORY;
    void *const address = aligned_alloc(ALIGNMENT, padded(bytes));
    if (address == NULL) return DUO_ERR_MEMORY;
    const duo_status status = enlist(kind, address, bytes, -1);
    if (status == DUO_OK)
        *ptr = address;
    else
        free(address);
    return status;
}

/* Device memory, or a status other than DUO_OK: the reason is noted. */
static duo_status device_memory(duo_context *ctx, size_t bytes, void **ptr)
{
    void *address;
    if (ctx->path == DUO_PATH_CPU) return DUO_ERR_DEVICE;
    duo_status status = duo_context_queue(ctx);
    if (status != DUO_OK) return status;
    status = duo_device_allocate(ctx->device, padded(bytes), &address);
    if (status != DUO_OK) return duo_context_failed(ctx, status, "duo_malloc");
    status = enlist(DUO_REGION_DEVICE, address, bytes, ctx->device);
    if (status == DUO_OK)
        *ptr = address;
    else
        (void)duo_device_release(ctx->device, address, padded(bytes));
    return status;
}

static duo_status pinned_memory(duo_context *ctx, size_t bytes, void **ptr)
{
    void *address;
    if (ctx->path == DUO_PATH_CPU) return DUO_ERR_DEVICE;
    duo_status status = duo_context_queue(ctx);
    if (status != DUO_OK) return status;
    if (!host_has(bytes)) return DUO_ERR_MEMORY;
    status = duo_backend_current()->pin(ctx->device, padded(bytes), &address);
    if (status != DUO_OK) return duo_context_failed(ctx, status, "duo_malloc_host");
    status = enlist(DUO_REGION_PINNED, address, bytes, ctx->device);
    if (status == DUO_OK)
        *ptr = address;
    else
        (void)duo_backend_current()->unpin(address);
    return status;
}

duo_status duo_malloc(duo_context *given, size_t bytes, void **ptr)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (ptr == NULL) return DUO_ERR_NULL;
    *ptr = NULL;
    if (padded(bytes) == 0) return DUO_ERR_MEMORY;
    if (device_memory(ctx, bytes, ptr) == DUO_OK) return DUO_OK;
    return host_instead(DUO_REGION_HOSTED, bytes, ptr);
}

duo_status duo_malloc_host(duo_context *given, size_t bytes, void **ptr)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (ptr == NULL) return DUO_ERR_NULL;
    *ptr = NULL;
    if (padded(bytes) == 0) return DUO_ERR_MEMORY;
    if (pinned_memory(ctx, bytes, ptr) == DUO_OK) return DUO_OK;
    return host_instead(DUO_REGION_PLAIN, bytes, ptr);
}

/* The region that starts at ptr and is of one of two kinds, or NULL. */
static duo_region *starting_at(void *ptr, duo_region_kind kind, duo_region_kind other)
{
    duo_region *const region = duo_residency_first((uintptr_t)ptr, (uintptr_t)ptr + 1);
    if (region == NULL || region->low != (uintptr_t)ptr) return NULL;
    return region->kind == kind || region->kind == other ? region : NULL;
}

/* Waits for the work that was queued on a region, whoever queued it. */
static void settle(duo_context *ctx, duo_region *region)
{
    if (region->last == NULL || !duo_device_usable(region->device)) return;
    if (duo_context_reach(ctx, region) != DUO_OK || duo_region_claim(ctx, region) != DUO_OK) return;
    const duo_status status = duo_queue_finish(ctx->queue);
    if (status != DUO_OK) (void)duo_context_failed(ctx, status, "finish");
}

static duo_status free_region(duo_context *given, void *ptr, duo_region_kind kind,
                              duo_region_kind other)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (ptr == NULL) return DUO_OK;
    duo_residency_lock();
    duo_region *const region = starting_at(ptr, kind, other);
    if (region == NULL) {
        duo_residency_unlock();
        return DUO_ERR_RANGE;
    }
    settle(ctx, region);
    duo_packed_drop(region);
    const duo_region freed = *region;
    duo_residency_remove(region);
    duo_residency_unlock();
    if (freed.kind == DUO_REGION_HOSTED || freed.kind == DUO_REGION_PLAIN)
        free(ptr);
    else if (duo_machine_forked())
        return DUO_OK; /* the parent's */
    else if (freed.kind == DUO_REGION_PINNED) {
        if (ctx->queue != NULL && duo_device_usable(ctx->queue_device))
            (void)duo_queue_finish(ctx->queue);
        (void)duo_backend_current()->unpin(ptr);
    } else {
        (void)duo_device_release(freed.device, ptr, padded(freed.high - freed.low));
    }
    return DUO_OK;
}

duo_status duo_free(duo_context *ctx, void *ptr)
{
    return free_region(ctx, ptr, DUO_REGION_DEVICE, DUO_REGION_HOSTED);
}

duo_status duo_free_host(duo_context *ctx, void *ptr)
{
    return free_region(ctx, ptr, DUO_REGION_PINNED, DUO_REGION_PLAIN);
}

duo_status duo_adopt(duo_context *given, void *device_ptr, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (device_ptr == NULL) return DUO_ERR_NULL;
    if (bytes == 0 || wraps(device_ptr, bytes)) return DUO_ERR_SIZE;
    if (duo_context_queue(ctx) != DUO_OK) return DUO_ERR_DEVICE;
    duo_memory memory;
    if (duo_backend_current()->classify(device_ptr, &memory) != DUO_OK ||
        memory != DUO_MEMORY_DEVICE)
        return DUO_ERR_DEVICE;
    duo_residency_lock();
    const duo_status status =
        duo_residency_add(DUO_REGION_ADOPTED, device_ptr, bytes, ctx->device, NULL);
    duo_residency_unlock();
    return status;
}

duo_status duo_disown(duo_context *given, void *device_ptr)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (device_ptr == NULL) return DUO_ERR_NULL;
    duo_residency_lock();
    duo_region *const region = starting_at(device_ptr, DUO_REGION_ADOPTED, DUO_REGION_ADOPTED);
    if (region != NULL) {
        settle(ctx, region);
        duo_packed_drop(region);
        duo_residency_remove(region);
    }
    duo_residency_unlock();
    return region != NULL ? DUO_OK : DUO_ERR_RANGE;
}

/* ---- duo_copy ---- */

typedef struct end { /* of a copy */
    char *address;
    duo_region *region;
    bool on_device, crosses;
} end;

/* Where one end of a copy is. An unregistered device pointer is foreign. */
static duo_status find_end(const void *address, size_t bytes, end *e)
{
    const uintptr_t low = (uintptr_t)address;
    duo_memory memory;
    *e = (end){.address = (char *)(uintptr_t)address};
    e->region = duo_residency_find(low, low + bytes, &e->crosses);
    if (e->region != NULL && e->region->lost) return DUO_ERR_LOST;
    e->on_device = e->region != NULL &&
                   (e->region->kind == DUO_REGION_DEVICE || e->region->kind == DUO_REGION_ADOPTED);
    for (const duo_region *r = e->crosses ? duo_residency_first(low, low + bytes) : NULL; r != NULL;
         r = duo_residency_next(r, low + bytes))
        if (r->kind == DUO_REGION_DEVICE || r->kind == DUO_REGION_ADOPTED) return DUO_ERR_RANGE;
    if (e->region == NULL && !duo_machine_forked() &&
        duo_backend_current()->classify(address, &memory) == DUO_OK && memory == DUO_MEMORY_DEVICE)
        return DUO_ERR_FOREIGN;
    return DUO_OK;
}

static duo_status fetch_range(duo_context *ctx, const void *host, size_t bytes)
{
    return duo_kept_fetch(ctx, (uintptr_t)host, (uintptr_t)host + bytes);
}

static duo_status changed_range(duo_context *ctx, const void *host, size_t bytes)
{
    const uintptr_t low = (uintptr_t)host, high = low + bytes;
    duo_status status = DUO_OK;
    for (duo_region *r = duo_residency_first(low, high); r != NULL;
         r = duo_residency_next(r, high)) {
        const uintptr_t from = low > r->low ? low : r->low, to = high < r->high ? high : r->high;
        if (r->kind != DUO_REGION_KEPT) {
            duo_packed_stale(r, from - r->low, to - r->low);
            continue;
        }
        const duo_status told = duo_region_written(ctx, r, from - r->low, to - r->low);
        if (told == DUO_ERR_LOST && r->device_copy != NULL) r->lost = true;
        if (status == DUO_OK) status = told;
    }
    return status;
}

static bool is_pinned(const end *e)
{
    return e->region != NULL && e->region->kind == DUO_REGION_PINNED;
}

/* Both ends are known; the residency lock is held. */
static duo_status copy_between(duo_context *ctx, const end *dst, const end *src, size_t bytes)
{
    duo_status status = DUO_OK;
    if (dst->on_device || src->on_device) {
        status = duo_context_reach(ctx, dst->on_device ? dst->region : src->region);
        if (status != DUO_OK) return status;
    }
    if (!src->on_device) status = fetch_range(ctx, src->address, bytes);
    if (!dst->on_device && status == DUO_OK) status = fetch_range(ctx, dst->address, bytes);
    if (status == DUO_OK && src->on_device) status = duo_region_claim(ctx, src->region);
    if (status == DUO_OK && dst->on_device) status = duo_region_claim(ctx, dst->region);
    if (status != DUO_OK) return status;
    if (dst->on_device) {
        const size_t from = (uintptr_t)dst->address - dst->region->low;
        duo_packed_stale(dst->region, from, from + bytes);
    }
    if (src->on_device && dst->on_device) {
        status = duo_queue_copy(ctx->queue, dst->address, bytes, src->address, bytes, bytes, 1);
        return status == DUO_OK ? DUO_OK : duo_context_failed(ctx, status, "copy");
    }
    if (dst->on_device) {
        status = duo_stage_upload_bytes(ctx, dst->address, src->address, bytes, is_pinned(src));
        const duo_status consumed = duo_stage_consumed(ctx);
        return status == DUO_OK ? consumed : status;
    }
    if (src->on_device)
        status = duo_stage_download_bytes(ctx, dst->address, src->address, bytes, is_pinned(dst));
    else
        memmove(dst->address, src->address, bytes);
    return status == DUO_OK ? changed_range(ctx, dst->address, bytes) : status;
}

duo_status duo_copy(duo_context *given, void *dst, const void *src, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (bytes == 0) return DUO_OK;
    if (dst == NULL || src == NULL) return DUO_ERR_NULL;
    if (wraps(dst, bytes) || wraps(src, bytes)) return DUO_ERR_SIZE;
    end to, from;
    duo_residency_lock();
    duo_status status = find_end(dst, bytes, &to);
    if (status == DUO_OK) status = find_end(src, bytes, &from);
    if (status == DUO_OK) status = copy_between(ctx, &to, &from, bytes);
    duo_residency_unlock();
    return status == DUO_ERR_MEMORY ? DUO_ERR_DEVICE : status;
}

/* ---- The four verbs ---- */

duo_status duo_keep(duo_context *given, void *host, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (host == NULL) return DUO_ERR_NULL;
    if (bytes == 0 || wraps(host, bytes)) return DUO_ERR_SIZE;
    bool crosses;
    duo_residency_lock();
    const duo_region *const region =
        duo_residency_find((uintptr_t)host, (uintptr_t)host + bytes, &crosses);
    duo_status status;
    if (region != NULL)
        status = region->kind == DUO_REGION_KEPT ? DUO_OK : DUO_ERR_RANGE;
    else
        status = duo_residency_add(DUO_REGION_KEPT, host, bytes, ctx->device, NULL);
    duo_residency_unlock();
    return status;
}

duo_status duo_changed(duo_context *given, const void *host, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (host == NULL) return DUO_ERR_NULL;
    if (wraps(host, bytes)) return DUO_ERR_SIZE;
    duo_residency_lock();
    const duo_status status = changed_range(ctx, host, bytes);
    duo_residency_unlock();
    /* A device that is lost is found by the next use. */
    return status == DUO_ERR_LOST ? DUO_OK : status;
}

duo_status duo_fetch(duo_context *given, void *host, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (host == NULL) return DUO_ERR_NULL;
    if (wraps(host, bytes)) return DUO_ERR_SIZE;
    if (!duo_residency_near((uintptr_t)host, (uintptr_t)host + bytes)) return DUO_OK;
    duo_residency_lock();
    const duo_status status = fetch_range(ctx, host, bytes);
    duo_residency_unlock();
    return status;
}

duo_status duo_release(duo_context *given, void *host)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (host == NULL) return DUO_ERR_NULL;
    duo_residency_lock();
    duo_region *const region = duo_residency_first((uintptr_t)host, (uintptr_t)host + 1);
    if (region == NULL || region->kind != DUO_REGION_KEPT) {
        duo_residency_unlock();
        return DUO_ERR_RANGE;
    }
    const duo_status status = duo_region_fetch(ctx, region);
    /* What could not be fetched now may be fetched later: it is forgotten only with its device. */
    if (status == DUO_OK || status == DUO_ERR_LOST) {
        settle(ctx, region);
        duo_region_drop_copy(region);
        duo_residency_remove(region);
    }
    duo_residency_unlock();
    return status;
}
