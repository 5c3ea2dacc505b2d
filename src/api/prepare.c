/* prepare.c - duo_prepare: the promise that factors in a range rarely change. */
#include "call/context.h"
#include "data/residency.h"

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
        region->packed.full = false;
        if (bytes == 0) duo_region_drop_packed(region);
    }
    duo_residency_unlock();
    return status;
}
