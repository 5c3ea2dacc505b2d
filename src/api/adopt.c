/* adopt.c - duo_adopt and duo_disown. */
#include "call/context.h"
#include "data/coherence.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"

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
