/* locate.c - where the operands of a call are (locate.h). */
#include "data/locate.h"

#include <stdio.h>

#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "host/fork.h"

static double bytes_of(duo_range r) { return (double)(r.to - r.from); }

static duo_status locate_operand(int device, uint64_t number, duo_operand *o)
{
    uintptr_t low, high;
    duo_operand_span(o, &low, &high);
    duo_region *const region = duo_residency_find(low, high, &o->crosses);
    if (o->crosses) {
        /* An operand that runs over the end of device memory is a mistake. One that runs over the
         * end of a kept array is allowed. */
        for (const duo_region *r = duo_residency_first(low, high); r != NULL;
             r = duo_residency_next(r, high))
            if (duo_region_counts_as_device(r)) return DUO_ERR_RANGE;
        return DUO_OK;
    }
    if (region == NULL) return DUO_OK;
    o->registered = true;
    o->counts_as_device = duo_region_counts_as_device(region);
    o->in_kept = region->kind == DUO_REGION_KEPT;
    duo_region_use(region, number);
    if (region->lost) return DUO_ERR_LOST;
    const duo_range part = duo_region_part(region, o);
    switch (region->kind) {
    case DUO_REGION_DEVICE:
    case DUO_REGION_ADOPTED:
        o->residence = DUO_AT_DEVICE;
        o->on_host = false;
        o->on_device = region->device == device;
        o->prepared = duo_packed_hoped(&region->packed, part);
        break;
    case DUO_REGION_PINNED:
        o->residence = DUO_AT_PINNED;
        break;
    case DUO_REGION_KEPT:
        if (region->refused) break;
        o->on_host = !duo_range_meets(region->host_stale, part.from, part.to);
        o->on_device = duo_region_has_copy(region) && region->device == device &&
                       !duo_range_meets(region->device_stale, part.from, part.to);
        o->residence = o->on_device ? DUO_AT_KEPT : DUO_AT_STALE;
        o->credit_seconds = region->credit_seconds;
        o->send_bytes = bytes_of(region->device_stale);
        o->fetch_bytes = bytes_of(region->host_stale);
        o->prepared = duo_packed_hoped(&region->packed, part);
        break;
    case DUO_REGION_HOSTED:
    case DUO_REGION_PLAIN:
        break;
    }
    return DUO_OK;
}

duo_status duo_locate(int device, duo_call *call)
{
    bool near = false;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        uintptr_t low, high;
        o->on_host = o->on_device = o->crosses = o->prepared = false;
        o->registered = o->counts_as_device = o->in_kept = false;
        o->host_written = false;
        o->held = NULL;
        o->packed = NULL;
        o->packed_rows = o->packed_first = 0;
        o->residence = DUO_AT_UNUSED;
        if (!duo_operand_touched(o)) continue;
        o->residence = DUO_AT_PAGEABLE;
        o->on_host = true;
        duo_operand_span(o, &low, &high);
        near |= duo_residency_near(low, high);
    }
    if (!near) return DUO_OK;
    duo_status status = DUO_OK;
    duo_residency_lock();
    if (call->number == 0) call->number = duo_residency_number(); /* else it is located again */
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
        if (duo_operand_touched(&call->operand[i]))
            status = locate_operand(device, call->number, &call->operand[i]);
    duo_residency_unlock();
    return status;
}

duo_status duo_locate_ask(duo_report *report, duo_call *call)
{
    if (duo_forked()) return DUO_OK;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        duo_memory memory;
        if (!duo_operand_touched(o) || o->registered) continue;
        if (duo_backend_current()->classify(o->address, &memory) != DUO_OK) continue;
        if (memory == DUO_MEMORY_DEVICE) {
            snprintf(report->detail, sizeof report->detail,
                     "operand %d is device memory that was never adopted", i);
            return DUO_ERR_FOREIGN;
        }
        if (memory == DUO_MEMORY_PINNED) o->residence = DUO_AT_PINNED;
    }
    return DUO_OK;
}
