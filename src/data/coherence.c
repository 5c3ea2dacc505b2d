/* coherence.c - the copies of kept arrays, and the order of work on regions (coherence.h). */
#include "data/coherence.h"

#include "data/residency.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"

/* If a device was found lost, its regions are swept before they are looked at again. */
static duo_status sweep_if_lost(duo_status status)
{
    if (status == DUO_ERR_LOST) duo_residency_sweep();
    return status;
}

/* The context's queue could not follow a queue of device `other`: is that device the lost one? */
static bool other_is_lost(const duo_resources *res, int other)
{
    bool idle;
    return other != res->queue_device &&
           duo_backend_current()->idle(res->queue, &idle) != DUO_ERR_LOST;
}

/* The context's queue follows one of the region's users. */
static duo_status follow(duo_resources *res, duo_region *region, const duo_user *user)
{
    const int other = user->device;
    if (!duo_device_usable(other)) return DUO_OK; /* a lost device has no work to follow */
    const duo_status status = duo_queue_after(res->queue, user->queue);
    if (status == DUO_OK) return DUO_OK;
    if (status != DUO_ERR_LOST || !other_is_lost(res, other))
        return sweep_if_lost(duo_resources_failed(res, status, "follow another queue"));
    duo_device_lose(other, "its work could not be followed");
    duo_residency_sweep();
    if (region->lost) return DUO_ERR_LOST;
    return region->device == other ? DUO_ERR_DEVICE : DUO_OK; /* the device copy is gone */
}

duo_status duo_coherence_claim_read(duo_resources *res, duo_region *region)
{
    duo_users *const users = &region->users;
    if (users->writer.queue == res->queue || duo_users_reads(users, res->queue)) return DUO_OK;
    duo_status status = DUO_OK;
    int at = DUO_READERS - 1;
    while (at > 0 && users->reader[at].queue != NULL) at--;
    if (users->writer.queue != NULL) status = follow(res, region, &users->writer);
    if (status == DUO_OK && users->reader[at].queue != NULL)
        status = follow(res, region, &users->reader[at]);
    if (status == DUO_OK) users->reader[at] = (duo_user){res->queue, res->queue_device};
    return status;
}

duo_status duo_coherence_claim_write(duo_resources *res, duo_region *region)
{
    duo_users *const users = &region->users;
    duo_user *const writer = &users->writer;
    duo_status status = DUO_OK;
    if (writer->queue != NULL && writer->queue != res->queue) status = follow(res, region, writer);
    for (int i = 0; i < DUO_READERS && status == DUO_OK; i++) {
        const duo_user *const reader = &users->reader[i];
        if (reader->queue != NULL && reader->queue != res->queue)
            status = follow(res, region, reader);
    }
    if (status == DUO_OK) *users = (duo_users){.writer = {res->queue, res->queue_device}};
    return status;
}

duo_status duo_coherence_claim(duo_resources *res, duo_region *region, bool written)
{
    return written ? duo_coherence_claim_write(res, region) : duo_coherence_claim_read(res, region);
}

/* A transfer found a device lost. Was it only the context's own, not the region's? Then a second
 * try reaches the region by a queue on the region's device. */
static bool only_own_lost(duo_status status, const duo_region *region)
{
    return status == DUO_ERR_LOST && !region->lost && duo_device_usable(region->device);
}

static duo_status fetch_stale(duo_resources *res, duo_region *region)
{
    const duo_range stale = region->host_stale;
    duo_status status = duo_resources_reach(res, region->device);
    if (status == DUO_OK) status = duo_coherence_claim_read(res, region);
    if (status == DUO_OK)
        status = duo_download_bytes(res, (char *)region->low + stale.from,
                                    (char *)region->device_copy + stale.from, stale.to - stale.from,
                                    false);
    if (status == DUO_OK) status = duo_transfer_across(res, region->device);
    if (status != DUO_OK) return sweep_if_lost(status);
    region->host_stale = (duo_range){0, 0};
    duo_region_made_equal(region, stale);
    return DUO_OK;
}

duo_status duo_coherence_fetch(duo_resources *res, duo_region *region)
{
    if (region->lost) return DUO_ERR_LOST;
    if (duo_range_empty(region->host_stale)) return DUO_OK;
    const duo_status status = fetch_stale(res, region);
    return only_own_lost(status, region) ? fetch_stale(res, region) : status;
}

duo_status duo_coherence_fetch_all(duo_resources *res, uintptr_t low, uintptr_t high)
{
    duo_status status = DUO_OK;
    for (duo_region *r = duo_residency_first(low, high); r != NULL;
         r = duo_residency_next(r, high)) {
        if (r->kind != DUO_REGION_KEPT) continue;
        const duo_status fetched = duo_coherence_fetch(res, r);
        if (status == DUO_OK) status = fetched;
    }
    return status;
}

duo_status duo_coherence_send(duo_resources *res, duo_region *region)
{
    const duo_status claimed = duo_coherence_claim_write(res, region);
    const duo_range stale = region->device_stale;
    if (claimed != DUO_OK || duo_range_empty(stale)) return claimed;
    const duo_status status =
        duo_upload_bytes(res, (char *)region->device_copy + stale.from,
                         (const char *)region->low + stale.from, stale.to - stale.from, false);
    if (status != DUO_OK) return sweep_if_lost(status);
    region->device_stale = (duo_range){0, 0};
    region->credit_seconds = 0.0;
    duo_region_made_equal(region, stale);
    return DUO_OK;
}

static duo_status send_part(duo_resources *res, duo_region *region, size_t from, size_t to)
{
    duo_status status = duo_resources_reach(res, region->device);
    if (status == DUO_OK) status = duo_coherence_claim_write(res, region);
    if (status == DUO_OK)
        status = duo_upload_bytes(res, (char *)region->device_copy + from,
                                  (const char *)region->low + from, to - from, false);
    if (status == DUO_OK) status = duo_transfer_across(res, region->device);
    if (status == DUO_OK) duo_region_made_equal(region, (duo_range){from, to});
    return sweep_if_lost(status);
}

duo_status duo_coherence_written(duo_resources *res, duo_region *region, size_t from, size_t to)
{
    duo_packed_stale(&region->packed, from, to);
    if (from == 0 && to == duo_region_bytes(region)) { /* all of it: the host copy is current */
        region->lost = false;
        region->host_stale = (duo_range){0, 0};
        region->device_stale = (duo_range){from, to};
        return DUO_OK;
    }
    const bool newer = !duo_range_empty(region->host_stale) || !duo_range_empty(region->writing);
    if (!newer || !duo_region_has_copy(region)) {
        /* Whole elements become stale: the host's bytes around [from, to) are current, too. */
        enum { ELEMENT = sizeof(float) };
        const size_t before = (region->low + from) % ELEMENT, odd = (region->low + to) % ELEMENT;
        const size_t end = duo_region_bytes(region), after = odd > 0 ? ELEMENT - odd : 0;
        region->device_stale =
            duo_range_join(region->device_stale, from > before ? from - before : 0,
                           to + after < end ? to + after : end);
        return DUO_OK;
    }
    /* The device copy has, or will have, newer bytes elsewhere in the array. So the host's bytes
     * are sent now: one stale range for each copy cannot tell which bytes between the two are newer
     * where. */
    const duo_status status = send_part(res, region, from, to);
    return only_own_lost(status, region) ? send_part(res, region, from, to) : status;
}

duo_status duo_coherence_written_all(duo_resources *res, uintptr_t low, uintptr_t high)
{
    duo_status status = DUO_OK;
    for (duo_region *r = duo_residency_first(low, high); r != NULL;
         r = duo_residency_next(r, high)) {
        const uintptr_t from = low > r->low ? low : r->low, to = high < r->high ? high : r->high;
        if (r->kind != DUO_REGION_KEPT) {
            duo_packed_stale(&r->packed, from - r->low, to - r->low);
            continue;
        }
        const duo_status told = duo_coherence_written(res, r, from - r->low, to - r->low);
        if (status == DUO_OK) status = told;
    }
    return status;
}

duo_status duo_coherence_changed(duo_resources *res, uintptr_t low, uintptr_t high)
{
    duo_status status = DUO_OK;
    for (duo_region *r = duo_residency_first(low, high); r != NULL;
         r = duo_residency_next(r, high)) {
        const uintptr_t from = low > r->low ? low : r->low, to = high < r->high ? high : r->high;
        if (r->kind != DUO_REGION_KEPT) {
            duo_packed_stale(&r->packed, from - r->low, to - r->low);
            continue;
        }
        const duo_status told = duo_coherence_written(res, r, from - r->low, to - r->low);
        if (told == DUO_ERR_LOST && r->device_copy != NULL) r->lost = true;
        if (status == DUO_OK) status = told;
    }
    return status;
}

duo_outcome duo_coherence_leave(duo_resources *res, duo_region *region)
{
    duo_status status = duo_coherence_fetch(res, region);
    if (status != DUO_OK) return status;
    if (region->pending > 0) return DUO_DECLINED;
    if (!duo_users_none(&region->users)) {
        status = duo_coherence_claim_write(res, region);
        if (status != DUO_OK) return status;
        status = duo_queue_finish(res->queue);
        if (status != DUO_OK) return sweep_if_lost(duo_resources_failed(res, status, "finish"));
    }
    duo_region_drop_copy(region);
    return DUO_OK;
}

void duo_coherence_remove(duo_region *region)
{
    duo_region_settle(region);
    duo_region_drop_copy(region);
    duo_region_drop_packed(region);
    duo_residency_remove(region);
}
