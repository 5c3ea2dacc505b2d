/* place.c - operands of a call on the device, and in host memory (place.h). */
#include "data/place.h"

#include <stdlib.h>

#include "data/coherence.h"
#include "data/forgotten.h"
#include "data/prepared.h"
#include "data/remembered.h"
#include "data/residency.h"
#include "data/room.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"

/* ---- On the host ---- */

/*
 * If the call writes to the arrays, no call may write to their device copies until duo_place_end: a
 * region has one stale range for each copy, and columns of two matrices C may lie between each
 * other. So calls that were placed to write to a device copy finish placing first; they wait for
 * nobody.
 */
duo_status duo_place_bring_home(duo_resources *res, duo_call *local, int i)
{
    const duo_operand *const o = &local->operand[i];
    const uintptr_t low = o->low, high = o->high;
    duo_residency_lock();
    if (o->written) {
        local->operand[i].host_written = true;
        duo_residency_host_write(&res->host_write, low, high);
        for (duo_region *r = duo_residency_first(low, high); r != NULL;) {
            if (r->kind != DUO_REGION_KEPT || r->pending_writes == 0) {
                r = duo_residency_next(r, high);
                continue;
            }
            duo_residency_wait();
            r = duo_residency_first(low, high);
        }
    }
    const duo_status status = duo_coherence_fetch_all(res, low, high);
    duo_residency_unlock();
    return status;
}

duo_status duo_place_wrote_host(duo_resources *res, const duo_operand *o)
{
    if (!o->registered && !o->crosses) return DUO_OK;
    duo_residency_lock();
    const duo_status status = duo_coherence_written_all(res, o->low, o->high);
    duo_residency_unlock();
    return status;
}

/*
 * Work on a region has been queued. Since the region was claimed for it, another queue may have
 * claimed the region without following this work. So it is claimed once more: the next queue
 * follows both. Under the residency lock.
 */
static void claim_again(duo_resources *res, duo_region *region, bool written)
{
    if (!duo_device_usable(res->queue_device)) return;
    if (duo_coherence_claim(res, region, written) != DUO_OK) (void)duo_queue_finish(res->queue);
}

/* Opens the queue for transfers with an operand in device memory, behind other queues' work there.
 * Holds its region even if that is leaving: the CPU comes last, and declines nothing. */
static duo_status reach(duo_resources *res, const duo_operand *o, duo_operand *local)
{
    duo_residency_lock();
    duo_region *const region = local->held != NULL ? local->held : duo_residency_of(o);
    const bool there = region != NULL && duo_region_lies_on_device(region);
    duo_status status = there ? duo_resources_reach(res, region->device) : DUO_ERR_FOREIGN;
    if (there && local->held == NULL) {
        local->held = region;
        duo_residency_hold(region, NULL);
    }
    if (status == DUO_OK) status = duo_coherence_claim(res, region, o->written);
    duo_residency_unlock();
    return status;
}

/* Did a transfer fail because only the queue's device is lost, not the operand's? Then a second try
 * uses a queue on the operand's device. */
static bool only_own_lost(duo_status status, const duo_operand *local)
{
    return status == DUO_ERR_LOST && duo_device_usable(local->held->device);
}

/* Copies an operand from device to host memory, without gaps. */
static duo_status download(duo_resources *res, const duo_operand *o, duo_operand *local)
{
    duo_status status = reach(res, o, local);
    if (status != DUO_OK || !o->read) return status;
    /* A transfer takes no negative or zero increment on the device. So all the memory that the
     * vector spans is copied, and its elements are gathered here. */
    if (o->rows == 1 && o->ld <= 0) {
        uintptr_t low, high;
        duo_operand_span(o, &low, &high);
        const int64_t elements = (int64_t)((high - low) / sizeof(float));
        float *const all = malloc((size_t)elements * sizeof(float));
        if (all == NULL) return DUO_ERR_MEMORY;
        status = duo_download(res, all, elements, (const float *)low, elements, elements, 1);
        if (status == DUO_OK) {
            const float *element = all + ((uintptr_t)o->address - low) / sizeof(float);
            for (int64_t i = 0; i < o->columns; i++, element += o->ld) local->address[i] = *element;
        }
        free(all);
    } else {
        status =
            duo_download(res, local->address, local->ld, o->address, o->ld, o->rows, o->columns);
    }
    return status == DUO_OK ? duo_transfer_across(res, local->held->device) : status;
}

static duo_status copy_to_host(duo_resources *res, const duo_operand *o, duo_operand *local)
{
    local->address = malloc((size_t)o->rows * (size_t)o->columns * sizeof(float));
    local->ld = o->rows;
    if (local->address == NULL) return DUO_ERR_MEMORY;
    const duo_status status = download(res, o, local);
    return only_own_lost(status, local) ? download(res, o, local) : status;
}

/* Copies it back. */
static duo_status upload(duo_resources *res, const duo_operand *o, duo_operand *local)
{
    duo_status status = reach(res, o, local);
    if (status == DUO_OK)
        status = duo_upload(res, o->address, o->ld, local->address, local->ld, o->rows, o->columns,
                            false);
    return status == DUO_OK ? duo_transfer_across(res, local->held->device) : status;
}

duo_status duo_place_on_host(duo_resources *res, const duo_call *call, duo_call *local)
{
    *local = *call;
    duo_status status = DUO_OK;
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++) {
        const duo_operand *const o = &call->operand[i];
        if (o->residence == DUO_AT_DEVICE)
            status = copy_to_host(res, o, &local->operand[i]);
        else if (o->registered || o->crosses)
            status = duo_place_bring_home(res, local, i);
    }
    return status;
}

/* The region in host memory whose packed operands this operand may use, or NULL. Under the
 * residency lock. */
static duo_region *packed_in(const duo_operand *o, bool changed)
{
    if (!o->promised || o->held != NULL) return NULL;
    duo_region *const region = changed ? duo_residency_of(o) : o->region;
    if (region == NULL || region->leaving || duo_region_lies_on_device(region)) return NULL;
    const duo_range part = duo_region_part(region, o);
    return duo_range_meets(region->host_stale, part.from, part.to) ? NULL : region;
}

/* All are packed before any region is held: an operand is not packed anew while its region is
 * held. */
void duo_place_packed(duo_algorithm_id algorithm, duo_call *local)
{
    duo_operand *const operand = local->operand;
    if (!operand[DUO_A].promised && !operand[DUO_B].promised) return;
    duo_region *region[DUO_OPERANDS] = {NULL};
    duo_residency_lock();
    const bool changed = duo_residency_changes() != local->changes;
    for (int i = DUO_A; i <= DUO_B; i++) {
        region[i] = packed_in(&operand[i], changed);
        if (region[i] == NULL) continue;
        const duo_range part = duo_region_part(region[i], &operand[i]);
        operand[i].packed = duo_prepared_on_host(algorithm, local, i, region[i], part);
    }
    for (int i = DUO_A; i <= DUO_B; i++) {
        if (operand[i].packed == NULL) continue;
        operand[i].held = region[i];
        duo_residency_hold(region[i], NULL);
    }
    duo_residency_unlock();
}

duo_status duo_place_from_host(duo_resources *res, const duo_call *call, duo_call *local)
{
    const int i = call->operation == DUO_SGEMM ? DUO_C : DUO_RESULT;
    const duo_operand *const o = &call->operand[i];
    if (!o->registered && !o->crosses) return DUO_OK;
    if (o->residence != DUO_AT_DEVICE) return duo_place_wrote_host(res, o);
    duo_operand *const there = &local->operand[i];
    duo_status status = upload(res, o, there);
    if (only_own_lost(status, there)) status = upload(res, o, there);
    duo_region *const region = there->held;
    duo_residency_lock();
    if (status == DUO_OK) claim_again(res, region, true);
    res->unwaited |= status == DUO_OK && region->device == res->queue_device;
    const duo_range part = duo_region_part(region, o);
    duo_packed_stale(&region->packed, part.from, part.to); /* a failed upload wrote a part */
    duo_residency_unlock();
    return status;
}

duo_status duo_place_result(duo_resources *res, const duo_operand *o, float value)
{
    if (!o->registered && !o->crosses) {
        *o->address = value;
        return DUO_OK;
    }
    /* Under the lock, so that nobody fetches old bytes over the result. On failure the old value
     * comes back: the algorithm that runs next may read it as an operand. */
    duo_residency_lock();
    const float before = *o->address;
    *o->address = value;
    const duo_status status = duo_coherence_written_all(res, o->low, o->high);
    if (status != DUO_OK) *o->address = before;
    duo_residency_unlock();
    return status;
}

/* ---- On the device ---- */

/* Gives a kept array that has none a device copy. Keeping is a hint: an array that is larger than
 * the device is not tried again. */
static duo_status make_copy(duo_resources *res, duo_region *region)
{
    const size_t bytes = duo_region_copy_bytes(region);
    void *allocation;
    const duo_status status = duo_room_allocate(res, bytes, region->used_before, &allocation);
    if (status == DUO_OK) {
        duo_region_set_copy(region, res->device, allocation);
        return DUO_OK;
    }
    region->refused = status == DUO_ERR_MEMORY && (double)bytes > duo_device_most(res->device);
    return duo_resources_failed(res, status, "allocate the copy of a kept array");
}

/* Does writing this operand, which spans `part`, write every byte of the region? */
static bool covers(const duo_operand *o, const duo_region *region, duo_range part)
{
    const bool without_gaps = o->columns == 1 || o->ld == o->rows;
    return without_gaps && part.from == 0 && part.to == duo_region_bytes(region);
}

/* Places an operand in a kept array: in its device copy, and makes the bytes that the call needs
 * current there. */
static duo_outcome place_kept(duo_resources *res, duo_region *region, const duo_operand *o,
                              duo_range part, duo_operand *local)
{
    duo_outcome outcome = DUO_OK;
    /* Since it was located the device may have been lost, or the array refused. */
    if (region->lost) return DUO_ERR_LOST;
    if (region->refused || !duo_device_usable(res->device)) return DUO_DECLINED;
    if (o->written && duo_residency_host_written(region)) return DUO_DECLINED;
    if (region->device_copy != NULL && region->device != res->device) {
        outcome = duo_coherence_leave(res, region);
        if (outcome != DUO_OK) return outcome;
    }
    if (region->device_copy == NULL)
        outcome = make_copy(res, region);
    else if (o->read && region->samples != NULL)
        outcome = duo_forgotten_look(res, region, part);
    if (outcome != DUO_OK) return outcome;
    const bool writes_all = o->written && !o->read && covers(o, region, part); /* nothing to send */
    if (!writes_all && (o->written || duo_range_meets(region->device_stale, part.from, part.to)))
        outcome = duo_coherence_send(res, region);
    else
        outcome = duo_coherence_claim(res, region, o->written);
    if (outcome != DUO_OK) return outcome;
    const size_t offset = (uintptr_t)o->address - region->low;
    local->address = (float *)(void *)((char *)region->device_copy + offset);
    return DUO_OK;
}

/* Places a vector in host memory: as a copy without gaps in the workspace. */
static duo_status place_workspace(duo_resources *res, const duo_call *call, int i,
                                  duo_operand *local)
{
    const duo_operand *const o = &call->operand[i];
    const size_t bytes = (size_t)o->rows * (size_t)o->columns * sizeof(float);
    const duo_status status = duo_room_grow(res, &res->workspace[i], bytes, call->number);
    if (status != DUO_OK) return status;
    local->address = res->workspace[i].address;
    local->ld = o->rows;
    return duo_upload(res, local->address, local->ld, o->address, o->ld, o->rows, o->columns,
                      o->residence == DUO_AT_PINNED);
}

/* Places an operand in a region that has bytes on a device, and holds the region: `o->region`, or,
 * if regions have `changed` since the operand was located, the region that is there now. Under the
 * residency lock. */
static duo_outcome place_in_region(duo_resources *res, const duo_operand *o, bool changed,
                                   duo_operand *local)
{
    if (o->residence == DUO_AT_REMEMBERED) return duo_remembered_place(res, o, local);
    duo_region *const region = changed ? duo_residency_of(o) : o->region;
    if (region == NULL || region->leaving) return DUO_DECLINED;
    if (duo_operand_kept(o) != (region->kind == DUO_REGION_KEPT)) return DUO_DECLINED;
    const duo_range part = duo_region_part(region, o);
    duo_outcome outcome;
    if (region->kind == DUO_REGION_KEPT)
        outcome = place_kept(res, region, o, part, local);
    else if (duo_region_lies_on_device(region) && region->device == res->device)
        outcome = duo_coherence_claim(res, region, o->written);
    else
        outcome = DUO_DECLINED; /* on another device: the CPU algorithm fetches it */
    if (outcome != DUO_OK) return outcome;
    local->held = region;
    duo_residency_hold(region, o->written ? &part : NULL);
    return DUO_OK;
}

/* Where an operand is placed. */
typedef enum where { NOWHERE, IN_REGION, OUTSIDE, BY_WORD } where;

/* A reduction's result for the host comes by the pinned word, not by a copy. An operand in memory
 * of another device is not on this one either. */
static where where_to(const duo_call *call, int i)
{
    const duo_operand *const o = &call->operand[i];
    const bool device = o->residence == DUO_AT_DEVICE;
    if (!o->read && !o->written) return NOWHERE;
    if (call->operation != DUO_SGEMM && i == DUO_RESULT && !o->on_device && !device) return BY_WORD;
    const bool copied = duo_operand_kept(o) || o->residence == DUO_AT_REMEMBERED;
    return device || copied ? IN_REGION : OUTSIDE;
}

/* All operands in regions, under one lock. */
static duo_outcome place_regions(duo_resources *res, const duo_call *call, duo_call *local,
                                 const where to[DUO_OPERANDS])
{
    duo_outcome outcome = DUO_OK;
    duo_residency_lock();
    const bool changed = duo_residency_changes() != call->changes;
    for (int i = 0; i < DUO_OPERANDS && outcome == DUO_OK; i++)
        if (to[i] == IN_REGION)
            outcome = place_in_region(res, &call->operand[i], changed, &local->operand[i]);
    duo_residency_unlock();
    return outcome;
}

static duo_outcome place_outside(duo_resources *res, const duo_call *call, duo_call *local, int i,
                                 bool by_word)
{
    duo_outcome outcome = DUO_OK;
    if (by_word) local->operand[i].address = NULL;
    if (call->operand[i].crosses) outcome = duo_place_bring_home(res, local, i);
    if (outcome == DUO_OK && !by_word && call->operation != DUO_SGEMM)
        outcome = place_workspace(res, call, i, &local->operand[i]);
    return outcome;
}

/* Finds, or makes, the packed operands of the call. This comes after all operands are placed, so
 * that packed operands take only the rest of the memory. An operand that another thread has changed
 * since it was placed is not packed. */
static void find_packed(duo_resources *res, duo_algorithm_id algorithm, const duo_call *call,
                        duo_call *local)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        duo_region *const region = local->operand[i].held;
        if (!o->prepared || o->written || region == NULL) continue;
        const duo_range part = duo_region_part(region, o);
        duo_residency_lock();
        if (!duo_range_meets(region->device_stale, part.from, part.to) &&
            duo_coherence_claim_read(res, region) == DUO_OK)
            local->operand[i].packed = duo_prepared(res, algorithm, local, i, region, part);
        duo_residency_unlock();
    }
}

duo_outcome duo_place_on_device(duo_resources *res, duo_algorithm_id algorithm,
                                const duo_call *call, duo_call *local)
{
    where to[DUO_OPERANDS];
    bool any = false;
    *local = *call;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        to[i] = where_to(call, i);
        any |= to[i] == IN_REGION;
    }
    duo_outcome outcome = any ? place_regions(res, call, local, to) : DUO_OK;
    for (int i = 0; i < DUO_OPERANDS && outcome == DUO_OK; i++)
        if (to[i] == OUTSIDE || to[i] == BY_WORD)
            outcome = place_outside(res, call, local, i, to[i] == BY_WORD);
    if (outcome == DUO_OK) find_packed(res, algorithm, call, local);
    return outcome;
}

/* Work was queued that writes this operand: its bytes are newer on the device than on the host. */
static void wrote_device(duo_region *region, const duo_operand *o)
{
    const duo_range part = duo_region_part(region, o);
    duo_packed_stale(&region->packed, part.from, part.to);
    if (!duo_operand_kept(o)) return;
    if (!duo_region_has_copy(region)) { /* the device was lost meanwhile, and the result with it */
        region->lost = true;
        return;
    }
    region->device_stale = (duo_range){0, 0};
    region->host_stale = duo_range_join(region->host_stale, part.from, part.to);
}

void duo_place_queued(duo_resources *res, const duo_call *call, duo_call *local, bool queued)
{
    bool any = false;
    for (int i = 0; i < DUO_OPERANDS; i++) any |= local->operand[i].held != NULL;
    if (!any) return;
    duo_residency_lock();
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_region *const region = local->operand[i].held;
        const bool written = call->operand[i].written;
        if (region == NULL) continue;
        local->operand[i].held = NULL;
        duo_residency_let_go(region, written);
        if (!queued) continue;
        if (written) wrote_device(region, &call->operand[i]);
        /* Last: it may find that the device is lost. */
        claim_again(res, region, written);
    }
    duo_residency_unlock();
}

/* ---- On either ---- */

void duo_place_let_go(duo_call *local)
{
    bool any = false;
    for (int i = 0; i < DUO_OPERANDS; i++) any |= local->operand[i].held != NULL;
    if (!any) return;
    duo_residency_lock();
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (local->operand[i].held != NULL) duo_residency_let_go(local->operand[i].held, false);
        local->operand[i].held = NULL;
    }
    duo_residency_unlock();
}

void duo_place_end(duo_resources *res, const duo_call *call, duo_call *local)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (o->residence == DUO_AT_DEVICE && local->operand[i].address != o->address)
            free(local->operand[i].address);
        if (!local->operand[i].host_written) continue;
        duo_residency_lock();
        duo_residency_host_wrote(&res->host_write);
        duo_residency_unlock();
    }
    duo_place_let_go(local);
}
