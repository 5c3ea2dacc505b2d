/* region.c - the device copy of a region, made, given back and lost. */
#include "data/region.h"

#include "gpu/backend/devices.h"
#include "host/environment.h"

/* Bytes of the allocation that lie before the device copy. Allocations are aligned to 256 bytes, so
 * the copy has the array's alignment, and kernels may rely on it. A remembered array's blocks are
 * the pages of the host. */
static size_t lead_of(const duo_region *region)
{
    return region->low % (region->kind == DUO_REGION_REMEMBERED ? DUO_TAG_BLOCK : 256);
}

size_t duo_region_copy_bytes(const duo_region *region)
{
    if (region->kind == DUO_REGION_REMEMBERED)
        return duo_region_blocks(region) * (DUO_TAG_BLOCK + DUO_TAG_BYTES) + DUO_TAG_KEY_BYTES;
    return lead_of(region) + duo_region_bytes(region);
}

size_t duo_region_evictable_bytes(const duo_region *region)
{
    const size_t copy = region->device_copy != NULL ? duo_region_copy_bytes(region) : 0;
    return copy + duo_packed_bytes(&region->packed, DUO_SIDE_GPU);
}

void duo_region_set_copy(duo_region *region, int device, void *allocation)
{
    region->device_copy = (char *)allocation + lead_of(region);
    region->device = device;
    region->device_stale = (duo_range){0, duo_region_bytes(region)};
    duo_device_count_copy(device, (double)duo_region_copy_bytes(region));
    if (region->samples == NULL && duo_environment_get()->check)
        region->samples = duo_samples_make(duo_region_bytes(region));
}

void duo_region_drop_packed(duo_region *region)
{
    if (region->pending > 0) return;
    duo_packed_drop(&region->packed, DUO_SIDE_GPU, region->device);
    duo_packed_drop(&region->packed, DUO_SIDE_CPU, region->device);
}

void duo_region_drop_copy(duo_region *region)
{
    const size_t bytes = duo_region_copy_bytes(region);
    if (region->pending > 0) return;
    if (region->device_copy != NULL) {
        (void)duo_device_release(region->device, (char *)region->device_copy - lead_of(region),
                                 bytes);
        duo_device_count_copy(region->device, -(double)bytes);
    }
    duo_packed_drop(&region->packed, DUO_SIDE_GPU, region->device);
    region->device_copy = NULL;
    region->tagged = false;
    region->users = (duo_users){0};
}

void duo_region_forget_copy(duo_region *region)
{
    region->device_stale = (duo_range){0, duo_region_bytes(region)};
    region->tagged = region->watched = false;
    region->same = 0;
    if (region->pending > 0 || region->device_copy == NULL) return;
    duo_region_settle(region);
    duo_region_drop_copy(region);
}

bool duo_region_device_lost(const duo_region *region)
{
    return !duo_region_lies_in_host(region) && duo_device_lost(region->device);
}

bool duo_region_has_copy(const duo_region *region)
{
    return region->device_copy != NULL && !duo_device_lost(region->device);
}

/* Notes which bytes are lost with the device; the caller then drops the device copy, or forgets
 * it. */
static void lose(duo_region *region)
{
    region->users = (duo_users){0};
    if (duo_region_lies_on_device(region)) {
        region->lost = true;
    } else if (region->device_copy != NULL) {
        if (!duo_range_empty(region->host_stale)) region->lost = true;
        region->device_stale = (duo_range){0, duo_region_bytes(region)};
    }
}

static void finish(const duo_user *user)
{
    if (user->queue != NULL && duo_device_usable(user->device)) (void)duo_queue_finish(user->queue);
}

void duo_region_settle(duo_region *region)
{
    finish(&region->users.writer);
    for (int i = 0; i < DUO_READERS; i++) finish(&region->users.reader[i]);
    region->users = (duo_users){0};
}

void duo_region_lose(duo_region *region)
{
    duo_region_settle(region);
    lose(region);
    duo_region_drop_copy(region);
}

void duo_region_in_child(duo_region *region)
{
    /* Another thread may have been changing the region at the fork. Its stale range then covers the
     * bytes that were stale before that work; the bytes that the work writes are undefined at a
     * fork. */
    lose(region);
    region->device_copy = NULL; /* its memory is the parent's */
    /* The parent may go on to write memory that both share, and tells only its own list. */
    duo_packed_stale(&region->packed, 0, duo_region_bytes(region));
    region->pending = region->pending_writes = 0;
    region->leaving = false;
    region->writing = (duo_range){0, 0};
}
