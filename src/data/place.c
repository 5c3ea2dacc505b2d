/*
 * place.c - where a call's operands are, and how they come to the side where it runs.
 */
#include "call/context.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static bool touched(const duo_operand *o) { return o->read || o->written; }

/* ---- Locating ---- */

static duo_status locate_operand(const duo_context *ctx, duo_operand *o)
{
    uintptr_t low, high;
    duo_operand_span(o, &low, &high);
    duo_region *const region = duo_residency_find(low, high, &o->crosses);
    if (o->crosses) {
        /* Running over the end of device memory is a mistake; parts of kept arrays are looked
         * after. */
        for (const duo_region *r = duo_residency_first(low, high); r != NULL;
             r = duo_residency_next(r, high))
            if (r->kind == DUO_REGION_DEVICE || r->kind == DUO_REGION_ADOPTED) return DUO_ERR_RANGE;
        return DUO_OK;
    }
    if (region == NULL) return DUO_OK;
    o->region = region;
    if (region->lost) return DUO_ERR_LOST;
    switch (region->kind) {
    case DUO_REGION_DEVICE:
    case DUO_REGION_ADOPTED:
        o->residence = DUO_AT_DEVICE;
        o->on_host = false;
        o->on_device = region->device == ctx->device;
        o->prepared = duo_packed_hoped(region, (duo_range){low - region->low, high - region->low});
        break;
    case DUO_REGION_PINNED:
        o->residence = DUO_AT_PINNED;
        break;
    case DUO_REGION_KEPT:
        if (region->refused) break;
        o->on_host = !duo_range_meets(region->host_stale, low - region->low, high - region->low);
        o->on_device =
            region->device_copy != NULL && region->device == ctx->device &&
            !duo_range_meets(region->device_stale, low - region->low, high - region->low);
        o->residence = o->on_device ? DUO_AT_KEPT : DUO_AT_STALE;
        o->credit_seconds = region->credit_seconds;
        o->prepared = duo_packed_hoped(region, (duo_range){low - region->low, high - region->low});
        break;
    case DUO_REGION_HOSTED:
    case DUO_REGION_PLAIN:
        break;
    }
    return DUO_OK;
}

duo_status duo_place_locate(duo_context *ctx, duo_call *call)
{
    bool near = false;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        uintptr_t low, high;
        o->on_host = o->on_device = o->crosses = o->prepared = false;
        o->pending = o->host_written = false;
        o->packed = NULL;
        o->region = NULL;
        o->residence = DUO_AT_UNUSED;
        if (!touched(o)) continue;
        o->residence = DUO_AT_PAGEABLE;
        o->on_host = true;
        duo_operand_span(o, &low, &high);
        near |= duo_residency_near(low, high);
    }
    if (!near) return DUO_OK;
    duo_status status = DUO_OK;
    duo_residency_lock();
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
        if (touched(&call->operand[i])) status = locate_operand(ctx, &call->operand[i]);
    duo_residency_unlock();
    return status;
}

duo_status duo_place_ask(duo_context *ctx, duo_call *call)
{
    if (duo_machine_forked()) return DUO_OK;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        duo_memory memory;
        if (!touched(o) || o->region != NULL) continue;
        if (duo_backend_current()->classify(o->address, &memory) != DUO_OK) continue;
        if (memory == DUO_MEMORY_DEVICE) {
            snprintf(ctx->detail, sizeof ctx->detail,
                     "operand %d is device memory that was never adopted", i);
            return DUO_ERR_FOREIGN;
        }
        if (memory == DUO_MEMORY_PINNED) o->residence = DUO_AT_PINNED;
    }
    return DUO_OK;
}

/* ---- Regions ---- */

/* The context's queue could not follow one of that device: is it the other that is lost? */
static bool other_is_lost(const duo_context *ctx, int other)
{
    bool idle;
    return other != ctx->queue_device &&
           duo_backend_current()->idle(ctx->queue, &idle) != DUO_ERR_LOST;
}

duo_status duo_region_claim(duo_context *ctx, duo_region *region)
{
    if (region->last == ctx->queue) return DUO_OK;
    const int other = region->last_device; /* what that did is done, if it is lost */
    if (region->last != NULL && duo_device_usable(other)) {
        const duo_status status = duo_queue_after(ctx->queue, region->last);
        if (status == DUO_ERR_LOST && other_is_lost(ctx, other)) {
            duo_device_lose(other, "its work could not be followed");
            duo_residency_lose_device(other);
            if (region->lost) return DUO_ERR_LOST;
            if (region->device == other) return DUO_ERR_DEVICE; /* its copy there is no more */
        } else if (status != DUO_OK) {
            return duo_context_failed(ctx, status, "follow another queue");
        }
    }
    region->last = ctx->queue;
    region->last_device = ctx->queue_device;
    return DUO_OK;
}

/* A transfer found a device lost: the context's own alone? Then another reaches the region. */
static bool only_own_lost(duo_status status, const duo_region *region)
{
    return status == DUO_ERR_LOST && !region->lost && duo_device_usable(region->device);
}

static duo_status fetch_stale(duo_context *ctx, duo_region *region)
{
    const duo_range stale = region->host_stale;
    duo_status status = duo_context_reach(ctx, region);
    if (status == DUO_OK) status = duo_region_claim(ctx, region);
    if (status == DUO_OK)
        status = duo_stage_download_bytes(ctx, (char *)region->low + stale.from,
                                          (char *)region->device_copy + stale.from,
                                          stale.to - stale.from, false);
    if (status == DUO_OK) region->host_stale = (duo_range){0, 0};
    return status;
}

duo_status duo_region_fetch(duo_context *ctx, duo_region *region)
{
    if (region->lost) return DUO_ERR_LOST;
    if (duo_range_empty(region->host_stale)) return DUO_OK;
    const duo_status status = fetch_stale(ctx, region);
    return only_own_lost(status, region) ? fetch_stale(ctx, region) : status;
}

duo_status duo_kept_fetch(duo_context *ctx, uintptr_t low, uintptr_t high)
{
    duo_status status = DUO_OK;
    for (duo_region *r = duo_residency_first(low, high); r != NULL;
         r = duo_residency_next(r, high)) {
        if (r->kind != DUO_REGION_KEPT) continue;
        const duo_status fetched = duo_region_fetch(ctx, r);
        if (status == DUO_OK) status = fetched;
    }
    return status;
}

/* Bytes before the device copy in its allocation. */
static size_t lead_of(const duo_region *region) { return region->low % 256; }

/* Allocates a kept region's device copy; nothing in it is current. */
static duo_status make_device_copy(duo_context *ctx, duo_region *region)
{
    /* The copy is aligned as the array is: what is aligned for the caller is so for the kernels. */
    const size_t bytes = region->high - region->low, lead = lead_of(region);
    void *address;
    const duo_status status = duo_device_allocate(ctx->device, lead + bytes, &address);
    if (status != DUO_OK) {
        if (status == DUO_ERR_MEMORY) region->refused = true; /* keeping is a hint */
        return duo_context_failed(ctx, status, "allocate the copy of a kept array");
    }
    region->device_copy = (char *)address + lead;
    region->device = ctx->device;
    region->device_stale = (duo_range){0, bytes};
    return DUO_OK;
}

void duo_region_drop_copy(duo_region *region)
{
    const size_t lead = lead_of(region);
    if (region->device_copy != NULL)
        (void)duo_device_release(region->device, (char *)region->device_copy - lead,
                                 lead + (region->high - region->low));
    duo_packed_drop(region);
    region->device_copy = NULL;
    region->last = NULL;
}

duo_status duo_region_send(duo_context *ctx, duo_region *region)
{
    if (region->device_copy == NULL) {
        const duo_status status = make_device_copy(ctx, region);
        if (status != DUO_OK) return status;
    }
    const duo_status claimed = duo_region_claim(ctx, region);
    const duo_range stale = region->device_stale;
    if (claimed != DUO_OK || duo_range_empty(stale)) return claimed;
    const duo_status status = duo_stage_upload_bytes(ctx, (char *)region->device_copy + stale.from,
                                                     (const char *)region->low + stale.from,
                                                     stale.to - stale.from, false);
    if (status != DUO_OK) return status;
    region->device_stale = (duo_range){0, 0};
    region->credit_seconds = 0.0;
    return DUO_OK;
}

static duo_status send_part(duo_context *ctx, duo_region *region, size_t from, size_t to)
{
    duo_status status = duo_context_reach(ctx, region);
    if (status == DUO_OK) status = duo_region_claim(ctx, region);
    if (status == DUO_OK)
        status = duo_stage_upload_bytes(ctx, (char *)region->device_copy + from,
                                        (const char *)region->low + from, to - from, false);
    return status;
}

duo_status duo_region_written(duo_context *ctx, duo_region *region, size_t from, size_t to)
{
    duo_packed_stale(region, from, to);
    if (from == 0 && to == region->high - region->low) { /* all of it: nothing older matters */
        region->lost = false;
        region->host_stale = (duo_range){0, 0};
        region->device_stale = (duo_range){from, to};
        return DUO_OK;
    }
    const bool newer = !duo_range_empty(region->host_stale) || !duo_range_empty(region->writing);
    if (!newer || region->device_copy == NULL) {
        /* Whole elements: the host copy is current all around, and half a float helps nobody. */
        enum { ELEMENT = sizeof(float) };
        const size_t before = (region->low + from) % ELEMENT, odd = (region->low + to) % ELEMENT;
        const size_t end = region->high - region->low, after = odd > 0 ? ELEMENT - odd : 0;
        region->device_stale =
            duo_range_join(region->device_stale, from > before ? from - before : 0,
                           to + after < end ? to + after : end);
        return DUO_OK;
    }
    /* The device has, or will have, newer bytes elsewhere in the array: bring it fully up to date now.
     * Without that nobody could tell any more which bytes are newer where. */
    const duo_status status = send_part(ctx, region, from, to);
    return only_own_lost(status, region) ? send_part(ctx, region, from, to) : status;
}

/* The part of a region that an operand spans, in bytes from its start. */
static duo_range part_of(const duo_operand *o)
{
    uintptr_t low, high;
    duo_operand_span(o, &low, &high);
    return (duo_range){low - o->region->low, high - o->region->low};
}

/* ---- To the device ---- */

/* A kept operand: its region's copy, brought up to date, and marked where the call will write. */
static duo_status place_kept(duo_context *ctx, const duo_operand *o, duo_operand *local)
{
    duo_region *const region = o->region;
    const duo_range part = part_of(o);
    const bool solid = o->columns == 1 || o->ld == o->rows;
    const bool covers = solid && part.from == 0 && part.to == region->high - region->low;
    duo_status status = DUO_OK;
    /* Since it was located the device may have been lost, or have had no room. */
    if (region->lost) return DUO_ERR_LOST;
    if (region->refused) return (duo_status)DUO_DECLINED;
    if (o->written && duo_residency_host_written(region)) return (duo_status)DUO_DECLINED;
    if (region->device_copy != NULL && region->device != ctx->device) {
        /* Its copy is on another device: bring it home first, then move. */
        status = duo_region_fetch(ctx, region);
        if (status != DUO_OK) return status;
        if (region->pending > 0) return (duo_status)DUO_DECLINED;
        if (region->last != NULL) {
            status = duo_region_claim(ctx, region);
            if (status == DUO_OK) status = duo_queue_finish(ctx->queue);
            if (status != DUO_OK) return status;
        }
        duo_region_drop_copy(region);
    }
    if (o->written && !o->read && covers) {
        /* All of it is overwritten: nothing to send. It counts as current once the call is queued.
         */
        if (region->device_copy == NULL) status = make_device_copy(ctx, region);
        if (status == DUO_OK) status = duo_region_claim(ctx, region);
    } else if (o->written || duo_range_meets(region->device_stale, part.from, part.to) ||
               region->device_copy == NULL) {
        status = duo_region_send(ctx, region);
    } else {
        status = duo_region_claim(ctx, region);
    }
    if (status != DUO_OK) return status;
    local->address =
        (float *)(void *)((char *)region->device_copy + ((char *)o->address - (char *)region->low));
    return DUO_OK;
}

/* A host operand: a compact copy in the workspace. */
static duo_status place_workspace(duo_context *ctx, const duo_operand *o, int i, duo_operand *local)
{
    const size_t bytes = (size_t)o->rows * (size_t)o->columns * sizeof(float);
    duo_status status = duo_space_device(ctx, &ctx->workspace[i], bytes);
    if (status != DUO_OK) return status;
    local->address = ctx->workspace[i].address;
    local->ld = o->rows;
    if (!o->read) return DUO_OK;
    return duo_stage_upload(ctx, local->address, local->ld, o->address, o->ld, o->rows, o->columns,
                            o->residence == DUO_AT_PINNED);
}

static bool is_kept(const duo_operand *o)
{
    return o->residence == DUO_AT_KEPT || o->residence == DUO_AT_STALE;
}

static bool has_copy(const duo_operand *o) { return is_kept(o) || o->residence == DUO_AT_DEVICE; }

/*
 * Makes the host's copies of the kept arrays that an operand touches current. If the call writes to
 * them, they stay the only ones that are written until duo_place_end: what is newer on one side is known
 * by one range of bytes for each side, and the columns of two C may lie between each other. So calls that
 * have been placed to write to a device copy are let go first; they wait for nobody.
 */
static duo_status bring_home(duo_context *ctx, duo_call *local, int i)
{
    const duo_operand *const o = &local->operand[i];
    uintptr_t low, high;
    if (o->region == NULL && !o->crosses) return DUO_OK;
    duo_operand_span(o, &low, &high);
    duo_residency_lock();
    if (o->written) {
        local->operand[i].host_written = true;
        duo_residency_host_write(&local->host_write, low, high);
        for (duo_region *r = duo_residency_first(low, high); r != NULL;) {
            if (r->kind != DUO_REGION_KEPT || r->device_writers == 0) {
                r = duo_residency_next(r, high);
                continue;
            }
            duo_residency_unlock();
            (void)sched_yield();
            duo_residency_lock();
            r = duo_residency_first(low, high); /* that one may have gone */
        }
    }
    const duo_status status = duo_kept_fetch(ctx, low, high);
    duo_residency_unlock();
    return status;
}

/* The host wrote this operand: the device copies of kept arrays that it touches are stale there. */
static duo_status wrote_host(duo_context *ctx, const duo_operand *o)
{
    uintptr_t low, high;
    if (o->region == NULL && !o->crosses) return DUO_OK;
    duo_operand_span(o, &low, &high);
    duo_status status = DUO_OK;
    duo_residency_lock();
    for (duo_region *r = duo_residency_first(low, high); r != NULL;
         r = duo_residency_next(r, high)) {
        if (r->kind != DUO_REGION_KEPT) continue;
        const uintptr_t from = low > r->low ? low : r->low, to = high < r->high ? high : r->high;
        const duo_status told = duo_region_written(ctx, r, from - r->low, to - r->low);
        if (status == DUO_OK) status = told;
    }
    duo_residency_unlock();
    return status;
}

/* The forms of prepared operands, when all operands have their places: memory is theirs first. What was
 * changed since it was placed is not current any more. */
static void find_packed(duo_context *ctx, duo_algorithm_id algorithm, const duo_call *call,
                        duo_call *local)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!o->prepared || o->written || !local->operand[i].pending) continue;
        duo_residency_lock();
        if (!duo_range_meets(o->region->device_stale, part_of(o).from, part_of(o).to) &&
            duo_region_claim(ctx, o->region) == DUO_OK)
            local->operand[i].packed = duo_packed_of(ctx, algorithm, local, i, part_of(o));
        duo_residency_unlock();
    }
}

duo_status duo_place_on_device(duo_context *ctx, duo_algorithm_id algorithm, const duo_call *call,
                               duo_call *local)
{
    *local = *call;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        duo_status status = DUO_OK;
        if (!touched(o)) continue;
        /* The result of a reduction that goes to the host travels through the slot. */
        const bool slot = call->operation != DUO_SGEMM && i == DUO_RESULT && !o->on_device;
        duo_residency_lock();
        if (o->residence == DUO_AT_DEVICE && o->on_device)
            status = duo_region_claim(ctx, o->region);
        else if (o->residence == DUO_AT_DEVICE)
            status = (duo_status)DUO_DECLINED; /* on another device: the CPU algorithm fetches it */
        else if (slot)
            local->operand[i].address = NULL;
        else if (is_kept(o))
            status = place_kept(ctx, o, &local->operand[i]);
        if (status == DUO_OK && !slot && has_copy(o)) {
            local->operand[i].pending = true;
            o->region->pending++;
            if (o->written) {
                o->region->device_writers++;
                o->region->writing =
                    duo_range_join(o->region->writing, part_of(o).from, part_of(o).to);
            }
        }
        duo_residency_unlock();
        if (status == DUO_OK && o->crosses) status = bring_home(ctx, local, i);
        if (status == DUO_OK && !is_kept(o) && o->residence != DUO_AT_DEVICE && !slot)
            status = place_workspace(ctx, o, i, &local->operand[i]);
        if (status != DUO_OK) return status;
    }
    find_packed(ctx, algorithm, call, local);
    return DUO_OK;
}

/* Work on a region has been queued. Since it was placed another queue may have claimed it, which
 * follows only what had been queued by then: so that whoever comes next follows both. */
static void claim_again(duo_context *ctx, duo_region *region)
{
    if (!duo_device_usable(ctx->queue_device)) return;
    if (duo_region_claim(ctx, region) != DUO_OK) (void)duo_queue_finish(ctx->queue);
}

/* The device copy of this operand will be newer than the host's when what is queued is done. */
static void wrote_device(const duo_context *ctx, const duo_operand *o)
{
    duo_region *const region = o->region;
    const duo_range part = part_of(o);
    duo_packed_stale(region, part.from, part.to);
    if (!is_kept(o)) return;
    /* The device was lost meanwhile; what has a copy now is another. */
    if (region->device_copy == NULL || region->device != ctx->device) {
        region->lost = true;
        return;
    }
    region->device_stale = (duo_range){0, 0};
    region->host_stale = duo_range_join(region->host_stale, part.from, part.to);
}

void duo_place_queued(duo_context *ctx, const duo_call *call, const duo_call *local, bool queued)
{
    bool any = false;
    for (int i = 0; i < DUO_OPERANDS; i++) any |= local->operand[i].pending;
    if (!any) return;
    duo_residency_lock();
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (!local->operand[i].pending) continue;
        duo_region *const region = local->operand[i].region;
        const bool written = call->operand[i].written;
        region->pending--;
        if (written && --region->device_writers == 0) region->writing = (duo_range){0, 0};
        if (!queued) continue;
        if (written) wrote_device(ctx, &call->operand[i]);
        claim_again(ctx, region); /* which may find that the device is lost, with what it wrote */
    }
    duo_residency_unlock();
}

duo_status duo_place_from_device(duo_context *ctx, const duo_call *call, const duo_call *local,
                                 int64_t *done)
{
    const int i = call->operation == DUO_SGEMM ? DUO_C : DUO_RESULT;
    const duo_operand *const o = &call->operand[i];
    *done = 0;
    if (local->operand[i].pending) return DUO_OK; /* it stays there */
    /* Straight into pinned memory only where a half-written C could be computed again from nothing.
     */
    const duo_status status =
        duo_stage_download(ctx, o->address, o->ld, local->operand[i].address, local->operand[i].ld,
                           o->rows, o->columns, o->residence == DUO_AT_PINNED && !o->read, done);
    /* Also of what came before a failure: the device's copy is old there. */
    const duo_status told = *done > 0 ? wrote_host(ctx, o) : DUO_OK;
    return status == DUO_OK ? told : status;
}

/* ---- To the host ---- */

/* A device operand: a compact copy in host memory. */
static duo_status borrow(duo_context *ctx, const duo_operand *o, duo_operand *local)
{
    local->address = malloc((size_t)o->rows * (size_t)o->columns * sizeof(float));
    local->ld = o->rows;
    if (local->address == NULL) return DUO_ERR_MEMORY;
    duo_status status = duo_context_reach(ctx, o->region);
    if (status != DUO_OK) return status;
    duo_residency_lock();
    status = duo_region_claim(ctx, o->region);
    duo_residency_unlock();
    if (status != DUO_OK || !o->read) return status;
    /* A vector with a negative or zero increment is gathered element by element on the host side.
     */
    if (o->rows == 1 && o->ld <= 0) {
        uintptr_t low, high;
        duo_operand_span(o, &low, &high);
        const int64_t elements = (int64_t)((high - low) / sizeof(float));
        float *const all = malloc((size_t)elements * sizeof(float));
        if (all == NULL) return DUO_ERR_MEMORY;
        status = duo_stage_download(ctx, all, elements, (const float *)low, elements, elements, 1,
                                    false, NULL);
        if (status == DUO_OK) {
            const float *element = all + ((uintptr_t)o->address - low) / sizeof(float);
            for (int64_t i = 0; i < o->columns; i++, element += o->ld) local->address[i] = *element;
        }
        free(all);
        return status;
    }
    return duo_stage_download(ctx, local->address, local->ld, o->address, o->ld, o->rows,
                              o->columns, false, NULL);
}

duo_status duo_place_on_host(duo_context *ctx, const duo_call *call, duo_call *local)
{
    *local = *call;
    duo_status status = DUO_OK;
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!touched(o)) continue;
        if (o->residence == DUO_AT_DEVICE) {
            status = borrow(ctx, o, &local->operand[i]);
            continue;
        }
        status = bring_home(ctx, local, i);
    }
    return status;
}

duo_status duo_place_from_host(duo_context *ctx, const duo_call *call, const duo_call *local)
{
    const int i = call->operation == DUO_SGEMM ? DUO_C : DUO_RESULT;
    const duo_operand *const o = &call->operand[i];
    if (o->residence != DUO_AT_DEVICE) return wrote_host(ctx, o);
    const duo_status status = duo_stage_upload(ctx, o->address, o->ld, local->operand[i].address,
                                               local->operand[i].ld, o->rows, o->columns, false);
    duo_residency_lock();
    if (status == DUO_OK) claim_again(ctx, o->region);
    duo_packed_stale(o->region, part_of(o).from, part_of(o).to); /* a part may be there anyway */
    duo_residency_unlock();
    return status;
}

duo_status duo_place_result(duo_context *ctx, const duo_operand *o, float value)
{
    if (o->region == NULL && !o->crosses) {
        *o->address = value;
        return DUO_OK;
    }
    /* Nobody fetches between the two. What comes after a failure may read it as an operand. */
    duo_residency_lock();
    const float before = *o->address;
    *o->address = value;
    const duo_status status = wrote_host(ctx, o);
    if (status != DUO_OK) *o->address = before;
    duo_residency_unlock();
    return status;
}

void duo_place_end(const duo_call *call, const duo_call *local)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (!touched(o)) continue;
        if (o->residence == DUO_AT_DEVICE && local->operand[i].address != o->address)
            free(local->operand[i].address);
        if (!local->operand[i].host_written) continue;
        duo_residency_lock();
        duo_residency_host_wrote(&local->host_write);
        duo_residency_unlock();
    }
}
