/* keep.c - duo_keep, duo_changed, duo_fetch, duo_release: arrays in host memory with a device copy;
 * and duo_prepare: the promise that factors in a range rarely change. */
#include "call/context.h"
#include "data/coherence.h"
#include "data/remembered.h"
#include "data/residency.h"

duo_status duo_keep(duo_context *given, const void *host, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (host == NULL) return DUO_ERR_NULL;
    if (bytes == 0 || duo_range_wraps(host, bytes)) return DUO_ERR_SIZE;
    bool crosses;
    duo_residency_lock();
    const duo_region *const region =
        duo_residency_find((uintptr_t)host, (uintptr_t)host + bytes, &crosses);
    duo_status status;
    if (region != NULL)
        status = region->kind == DUO_REGION_KEPT ? DUO_OK : DUO_ERR_RANGE;
    else
        status = duo_residency_add(DUO_REGION_KEPT, host, bytes, ctx->resources.device, NULL);
    duo_residency_unlock();
    if (status == DUO_OK) duo_remembered_forget((uintptr_t)host, (uintptr_t)host + bytes);
    return status;
}

duo_status duo_changed(duo_context *given, const void *host, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (host == NULL) return DUO_ERR_NULL;
    if (duo_range_wraps(host, bytes)) return DUO_ERR_SIZE;
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    duo_residency_lock();
    const duo_status status =
        duo_coherence_changed(&ctx->resources, (uintptr_t)host, (uintptr_t)host + bytes);
    duo_residency_unlock();
    /* The next call that needs data lost with a device reports it. */
    return status == DUO_ERR_LOST ? DUO_OK : status;
}

duo_status duo_fetch(duo_context *given, void *host, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (host == NULL) return DUO_ERR_NULL;
    if (duo_range_wraps(host, bytes)) return DUO_ERR_SIZE;
    if (!duo_residency_near((uintptr_t)host, (uintptr_t)host + bytes)) return DUO_OK;
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    duo_residency_lock();
    const duo_status status =
        duo_coherence_fetch_all(&ctx->resources, (uintptr_t)host, (uintptr_t)host + bytes);
    duo_residency_unlock();
    return status;
}

duo_status duo_release(duo_context *given, const void *host)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (host == NULL) return DUO_ERR_NULL;
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    duo_residency_lock();
    duo_region *const region = duo_residency_vacate(host, DUO_REGION_KEPT, DUO_REGION_KEPT);
    const duo_status status =
        region != NULL ? duo_coherence_fetch(&ctx->resources, region) : DUO_ERR_RANGE;
    /* After any other failure the array stays registered: a later fetch may succeed. */
    if (status == DUO_OK || status == DUO_ERR_LOST)
        duo_coherence_remove(region);
    else if (region != NULL)
        duo_residency_stay(region);
    duo_residency_unlock();
    return status;
}

/* ---- Factors that rarely change ---- */

duo_status duo_prepare(duo_context *given, const void *address, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (address == NULL) return DUO_ERR_NULL;
    const uintptr_t low = (uintptr_t)address, high = low + (bytes > 0 ? bytes : 1);
    if (high < low) return DUO_ERR_SIZE;
    bool crosses;
    duo_residency_lock();
    duo_region *const region = duo_residency_find(low, high, &crosses);
    duo_status status = DUO_OK;
    if (duo_region_counts_as_host(region))
        status = DUO_ERR_RANGE;
    else if (bytes > 0)
        region->packed.promised =
            duo_range_join(region->packed.promised, low - region->low, high - region->low);
    else
        region->packed.promised = (duo_range){0, 0};
    if (status == DUO_OK) {
        region->packed.full[DUO_SIDE_CPU] = region->packed.full[DUO_SIDE_GPU] = false;
        if (bytes == 0) duo_region_drop_packed(region);
    }
    duo_residency_unlock();
    return status;
}
