/* room.c - allocates device memory, and evicts copies for it (room.h). */
#include "data/room.h"

#include <math.h>
#include <stdio.h>

#include "data/coherence.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"

static bool may_go(const duo_region *region, int device, uint64_t since)
{
    return region->device == device && region->pending == 0 && region->used < since &&
           duo_region_evictable_bytes(region) > 0;
}

/* Has the device copy newer bytes? They have to be fetched before it goes. */
static bool changed(const duo_region *region) { return !duo_range_empty(region->host_stale); }

/* Is nothing in the copy current? */
static bool stale(const duo_region *region)
{
    return region->device_stale.from == 0 && region->device_stale.to == duo_region_bytes(region);
}

static bool goes_before(const duo_region *region, const duo_region *other)
{
    if (stale(region) != stale(other)) return stale(region);
    if (changed(region) != changed(other)) return changed(other);
    return region->used < other->used;
}

/* The remembered array to evict next, or NULL. *bytes: of all that may be evicted. *held: of all on
 * the device. */
static duo_region *next_remembered(int device, uint64_t since, double *bytes, double *held)
{
    duo_region *next = NULL;
    *bytes = *held = 0.0;
    for (duo_region *r = duo_residency_remembered(0, UINTPTR_MAX); r != NULL;
         r = duo_residency_remembered(r->high, UINTPTR_MAX)) {
        if (r->device == device) *held += (double)duo_region_evictable_bytes(r);
        if (!may_go(r, device, since)) continue;
        *bytes += (double)duo_region_evictable_bytes(r);
        if (next == NULL || goes_before(r, next)) next = r;
    }
    return next;
}

/* The region to evict next, or NULL: remembered arrays before others. *bytes: the bytes of all
 * regions that may be evicted. */
static duo_region *next_to_go(int device, uint64_t since, double *bytes)
{
    double held;
    duo_region *next = next_remembered(device, since, bytes, &held);
    const bool remembered = next != NULL;
    for (duo_region *r = duo_residency_first(0, UINTPTR_MAX); r != NULL;
         r = duo_residency_next(r, UINTPTR_MAX)) {
        if (!may_go(r, device, since)) continue;
        *bytes += (double)duo_region_evictable_bytes(r);
        if (next == NULL || (!remembered && goes_before(r, next))) next = r;
    }
    return next;
}

/* Bytes available without evicting anything. An allocation of `bytes` has failed. If it should have
 * fitted by our own count, other programs use the device's memory: asks the driver. */
static double room_for(int device, size_t bytes)
{
    const double room = duo_device_room(device);
    duo_device_info info = {.size = sizeof info};
    if (room < (double)bytes || duo_backend_current()->describe(device, &info) != DUO_OK)
        return room;
    return fmin(room, (double)info.memory_free_bytes);
}

static duo_outcome evict(duo_resources *res, duo_region *region)
{
    char text[120];
    (void)snprintf(text, sizeof text, "GPU %d: evicted %zu bytes of the array at %p%s",
                   region->device, duo_region_evictable_bytes(region), (void *)region->low,
                   changed(region) ? ", fetched before" : "");
    if (region->kind == DUO_REGION_KEPT) {
        const duo_outcome outcome = duo_coherence_leave(res, region);
        if (outcome != DUO_OK) return outcome;
        region->credit_seconds = 0.0; /* its credit is spent: sending it again has to pay */
    } else if (region->kind == DUO_REGION_REMEMBERED) {
        duo_region_forget_copy(region);
    } else {
        duo_region_settle(region);
        duo_region_drop_packed(region);
    }
    duo_report_event(&res->report, text);
    return DUO_OK;
}

duo_status duo_room_allocate(duo_resources *res, size_t bytes, uint64_t since, void **address)
{
    const int device = res->device;
    duo_status status = duo_device_allocate(device, bytes, address);
    if (status != DUO_ERR_MEMORY) return status;
    double evictable;
    duo_region *next = next_to_go(device, since, &evictable);
    if (next == NULL || (double)bytes > room_for(device, bytes) + evictable) return status;
    while (status == DUO_ERR_MEMORY && next != NULL) {
        if (evict(res, next) != DUO_OK)
            return duo_device_usable(device) ? DUO_ERR_MEMORY : DUO_ERR_LOST;
        status = duo_device_allocate(device, bytes, address);
        next = next_to_go(device, since, &evictable);
    }
    return status;
}

duo_status duo_room_remember(duo_resources *res, size_t bytes, uint64_t since, void **address)
{
    const double part = 0.5;
    const int device = res->device;
    duo_status status = DUO_ERR_MEMORY;
    while (status == DUO_ERR_MEMORY) {
        double evictable, held;
        duo_region *const next = next_remembered(device, since, &evictable, &held);
        const double most = part * (held + room_for(device, bytes));
        if (held - evictable + (double)bytes > most) break; /* it cannot fit */
        if (held + (double)bytes <= most) status = duo_device_allocate(device, bytes, address);
        if (status == DUO_ERR_MEMORY && (next == NULL || evict(res, next) != DUO_OK)) break;
    }
    return status;
}

duo_status duo_room_grow(duo_resources *res, duo_space *space, size_t bytes, uint64_t call_number)
{
    const uint64_t since = call_number > 0 ? call_number : UINT64_MAX;
    const duo_status grown = duo_resources_grow(res, res->queue_device, space, bytes);
    if (grown != DUO_ERR_MEMORY) return grown;
    duo_residency_lock();
    const duo_status status = duo_room_allocate(res, bytes, since, &space->address);
    duo_residency_unlock();
    if (status != DUO_OK) return duo_resources_failed(res, status, "allocate workspace");
    space->bytes = bytes;
    return DUO_OK;
}
