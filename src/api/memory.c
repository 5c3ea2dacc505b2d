/* memory.c - duo_malloc, duo_malloc_host, duo_adopt and their counterparts. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "call/context.h"
#include "data/coherence.h"
#include "data/residency.h"
#include "data/room.h"
#include "gpu/backend/devices.h"
#include "host/fork.h"

enum { ALIGNMENT = 256 };

static size_t padded(size_t bytes)
{
    const size_t some = bytes > 0 ? bytes : 1;
    return some > SIZE_MAX - ALIGNMENT ? 0 : (some + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Does the machine have this much memory at all? Linux would promise more than it has. */
static bool host_has(size_t bytes)
{
    return (double)bytes <= (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/* Registers new memory. On failure the caller frees the memory. */
static duo_status enlist(duo_region_kind kind, void *address, size_t bytes, int device)
{
    duo_residency_lock();
    const duo_status status = duo_residency_add(kind, address, bytes > 0 ? bytes : 1, device, NULL);
    duo_residency_unlock();
    return status == DUO_OK ? DUO_OK : DUO_ERR_MEMORY;
}

/* Plain host memory instead of device or pinned memory that is not available. */
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

/* On failure the reason is noted (duo_error_detail), and the caller takes plain host memory. */
static duo_status device_memory(duo_context *ctx, size_t bytes, void **ptr)
{
    void *address;
    if (ctx->policy.path == DUO_PATH_CPU) return DUO_ERR_DEVICE;
    duo_status status = duo_context_open(ctx);
    if (status != DUO_OK) return status;
    status = duo_device_allocate(ctx->resources.device, padded(bytes), &address);
    if (status == DUO_ERR_MEMORY) {
        /* The program's memory has priority: all of the library's copies may be evicted for it,
         * even new ones. */
        duo_residency_lock();
        status = duo_room_allocate(&ctx->resources, padded(bytes), UINT64_MAX, &address);
        duo_residency_unlock();
    }
    if (status != DUO_OK) return duo_resources_failed(&ctx->resources, status, "duo_malloc");
    status = enlist(DUO_REGION_DEVICE, address, bytes, ctx->resources.device);
    if (status == DUO_OK)
        *ptr = address;
    else
        (void)duo_device_release(ctx->resources.device, address, padded(bytes));
    return status;
}

static duo_status pinned_memory(duo_context *ctx, size_t bytes, void **ptr)
{
    void *address;
    if (ctx->policy.path == DUO_PATH_CPU) return DUO_ERR_DEVICE;
    duo_status status = duo_context_open(ctx);
    if (status != DUO_OK) return status;
    if (!host_has(bytes)) return DUO_ERR_MEMORY;
    status = duo_backend_current()->pin(ctx->resources.device, padded(bytes), &address);
    if (status != DUO_OK) return duo_resources_failed(&ctx->resources, status, "duo_malloc_host");
    status = enlist(DUO_REGION_PINNED, address, bytes, ctx->resources.device);
    if (status == DUO_OK)
        *ptr = address;
    else
        (void)duo_pinned_release(ctx->resources.device, address, padded(bytes));
    return status;
}

duo_status duo_malloc(duo_context *given, size_t bytes, void **ptr)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (ptr == NULL) return DUO_ERR_NULL;
    *ptr = NULL;
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
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
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    if (padded(bytes) == 0) return DUO_ERR_MEMORY;
    if (pinned_memory(ctx, bytes, ptr) == DUO_OK) return DUO_OK;
    return host_instead(DUO_REGION_PLAIN, bytes, ptr);
}

static duo_status free_region(duo_context *given, void *ptr, duo_region_kind kind,
                              duo_region_kind other)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (ptr == NULL) return DUO_OK;
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    duo_residency_lock();
    duo_region *const region = duo_residency_vacate(ptr, kind, other);
    if (region == NULL) {
        duo_residency_unlock();
        return DUO_ERR_RANGE;
    }
    const duo_region freed = *region;
    duo_coherence_remove(region);
    duo_residency_unlock();
    if (freed.kind == DUO_REGION_HOSTED || freed.kind == DUO_REGION_PLAIN)
        free(ptr);
    else if (duo_forked())
        return DUO_OK; /* the memory belongs to the parent */
    else if (freed.kind == DUO_REGION_PINNED) {
        /* A transfer of this context may still use it: no queue is noted for pinned memory. */
        if (ctx->resources.queue != NULL && duo_device_usable(ctx->resources.queue_device))
            (void)duo_queue_finish(ctx->resources.queue);
        (void)duo_pinned_release(freed.device, ptr, padded(duo_region_bytes(&freed)));
    } else {
        (void)duo_device_release(freed.device, ptr, padded(duo_region_bytes(&freed)));
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

/* ---- Device memory of the program ---- */

/* Memory of duo_malloc is refused, wherever it lies. */
static bool registered(uintptr_t low, size_t bytes)
{
    duo_residency_lock();
    const bool found = duo_residency_first(low, low + bytes) != NULL;
    duo_residency_unlock();
    return found;
}

duo_status duo_adopt(duo_context *given, const void *device_ptr, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (device_ptr == NULL) return DUO_ERR_NULL;
    if (bytes == 0 || duo_range_wraps(device_ptr, bytes)) return DUO_ERR_SIZE;
    if (registered((uintptr_t)device_ptr, bytes)) return DUO_ERR_RANGE;
    if (duo_context_open(ctx) != DUO_OK) return DUO_ERR_DEVICE;
    duo_memory memory;
    if (duo_backend_current()->classify(device_ptr, &memory) != DUO_OK ||
        memory != DUO_MEMORY_DEVICE)
        return DUO_ERR_DEVICE;
    duo_residency_lock();
    const duo_status status =
        duo_residency_add(DUO_REGION_ADOPTED, device_ptr, bytes, ctx->resources.device, NULL);
    duo_residency_unlock();
    return status;
}

duo_status duo_disown(duo_context *given, const void *device_ptr)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (device_ptr == NULL) return DUO_ERR_NULL;
    duo_residency_lock();
    duo_region *const region =
        duo_residency_vacate(device_ptr, DUO_REGION_ADOPTED, DUO_REGION_ADOPTED);
    if (region != NULL) duo_coherence_remove(region);
    duo_residency_unlock();
    return region != NULL ? DUO_OK : DUO_ERR_RANGE;
}
