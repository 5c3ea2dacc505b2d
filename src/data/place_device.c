/* place_device.c - operands of a call on the device (place_device.h). */
#include "data/place_device.h"

#include "data/coherence.h"
#include "data/forgotten.h"
#include "data/place_host.h"
#include "data/prepared.h"
#include "data/residency.h"
#include "data/room.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"

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
    if (!o->read) return DUO_OK;
    return duo_upload(res, local->address, local->ld, o->address, o->ld, o->rows, o->columns,
                      o->residence == DUO_AT_PINNED);
}

/* Places an operand in a region that has bytes on a device, and holds the region: `o->region`, or
 * where regions have `changed` since the operand was located, what is there now. Under the residency
 * lock. */
static duo_outcome place_in_region(duo_resources *res, const duo_operand *o, bool changed,
                                   duo_operand *local)
{
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

/* A reduction's result for the host comes by the pinned word, not by a copy. What is in memory of
 * another device is not on this one either. */
static where where_to(const duo_call *call, int i)
{
    const duo_operand *const o = &call->operand[i];
    const bool device = o->residence == DUO_AT_DEVICE;
    if (!o->read && !o->written) return NOWHERE;
    if (call->operation != DUO_SGEMM && i == DUO_RESULT && !o->on_device && !device) return BY_WORD;
    return device || duo_operand_kept(o) ? IN_REGION : OUTSIDE;
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
        duo_place_claim_again(res, region, written);
    }
    duo_residency_unlock();
}
