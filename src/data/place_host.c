/* place_host.c - operands of a call on the host side (place_host.h). */
#include "data/place_host.h"

#include <stdlib.h>

#include "data/coherence.h"
#include "data/residency.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"

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

void duo_place_claim_again(duo_resources *res, duo_region *region, bool written)
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
    return status == DUO_ERR_LOST && local->held != NULL && duo_device_usable(local->held->device);
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
        status = duo_download(res, all, elements, (const float *)low, elements, elements, 1, false);
        if (status == DUO_OK) {
            const float *element = all + ((uintptr_t)o->address - low) / sizeof(float);
            for (int64_t i = 0; i < o->columns; i++, element += o->ld) local->address[i] = *element;
        }
        free(all);
    } else {
        status = duo_download(res, local->address, local->ld, o->address, o->ld, o->rows,
                              o->columns, false);
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
    if (status == DUO_OK) duo_place_claim_again(res, region, true);
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

void duo_place_end(duo_resources *res, const duo_call *call, duo_call *local)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call->operand[i];
        if (o->residence == DUO_AT_DEVICE && local->operand[i].address != o->address)
            free(local->operand[i].address);
        duo_operand *const placed = &local->operand[i];
        if (!placed->host_written && placed->held == NULL) continue;
        duo_residency_lock();
        if (placed->host_written) duo_residency_host_wrote(&res->host_write);
        if (placed->held != NULL) duo_residency_let_go(placed->held, false);
        placed->held = NULL;
        duo_residency_unlock();
    }
}
