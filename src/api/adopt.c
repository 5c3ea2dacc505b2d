/* adopt.c - duo_adopt and duo_disown. */
#include "call/context.h"
#include "data/coherence.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"

duo_status duo_adopt(duo_context *given, const void *device_ptr, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (device_ptr == NULL) return DUO_ERR_NULL;
    if (bytes == 0 || duo_range_wraps(device_ptr, bytes)) return DUO_ERR_SIZE;
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
    duo_region *const region = duo_residency_starting_at(device_ptr);
    const bool adopted = region != NULL && region->kind == DUO_REGION_ADOPTED;
    if (adopted) {
        duo_coherence_settle(&ctx->resources, region);
        duo_packed_drop(&region->packed, region->device);
        duo_residency_remove(region);
    }
    duo_residency_unlock();
    return adopted ? DUO_OK : DUO_ERR_RANGE;
}
