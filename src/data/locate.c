/* locate.c - where the operands of a call are (locate.h). */
#include "data/locate.h"

#include <stdio.h>

#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "host/fork.h"

static double bytes_of(duo_range r) { return (double)(r.to - r.from); }

/* The operand overlaps regions without lying in one. That is a mistake at the end of device memory,
 * and allowed at the end of a kept array. */
static duo_status check_crossing(const duo_operand *o)
{
    for (const duo_region *r = duo_residency_first(o->low, o->high); r != NULL;
         r = duo_residency_next(r, o->high))
        if (duo_region_counts_as_device(r)) return DUO_ERR_RANGE;
    return DUO_OK;
}

static void locate_kept(int device, const duo_region *region, duo_range part, duo_operand *o)
{
    if (region->refused) return;
    o->on_host = !duo_range_meets(region->host_stale, part.from, part.to);
    o->on_device = duo_region_has_copy(region) && region->device == device &&
                   !duo_range_meets(region->device_stale, part.from, part.to);
    o->residence = o->on_device ? DUO_AT_KEPT : DUO_AT_STALE;
    o->credit_seconds = region->credit_seconds;
    o->send_bytes = bytes_of(region->device_stale);
    o->fetch_bytes = bytes_of(region->host_stale);
    o->prepared = duo_packed_hoped(&region->packed, part);
}

static duo_status locate_operand(int device, uint64_t number, duo_operand *o)
{
    duo_region *const region = duo_residency_find(o->low, o->high, &o->crosses);
    if (o->crosses) return check_crossing(o);
    if (region == NULL) return DUO_OK;
    const duo_range part = duo_region_part(region, o);
    o->region = region;
    o->registered = true;
    duo_region_use(region, number);
    o->promised = duo_packed_promised(&region->packed, part);
    if (region->lost) return DUO_ERR_LOST;
    switch (region->kind) {
    case DUO_REGION_DEVICE:
    case DUO_REGION_ADOPTED:
        o->residence = DUO_AT_DEVICE;
        o->counts_as_device = true;
        o->on_host = false;
        o->on_device = region->device == device;
        o->prepared = duo_packed_hoped(&region->packed, part);
        break;
    case DUO_REGION_PINNED:
        o->residence = DUO_AT_PINNED;
        break;
    case DUO_REGION_KEPT:
        o->in_kept = true;
        locate_kept(device, region, part, o);
        break;
    case DUO_REGION_HOSTED:
        o->counts_as_device = true;
        break;
    case DUO_REGION_PLAIN:
    case DUO_REGION_REMEMBERED: /* not in this table */
        break;
    }
    return DUO_OK;
}

duo_status duo_locate(int device, duo_call *call)
{
    uintptr_t low = UINTPTR_MAX, high = 0; /* of all operands */
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        o->on_host = o->on_device = o->crosses = false;
        o->promised = o->prepared = false;
        o->registered = o->counts_as_device = o->in_kept = false;
        o->host_written = false;
        o->held = o->region = o->fills = NULL;
        o->check_bytes = o->credit_seconds = 0.0;
        o->packed = NULL;
        o->packed_rows = o->packed_first = 0;
        o->low = o->high = 0;
        o->residence = DUO_AT_UNUSED;
        if (!o->read && !o->written) continue;
        o->residence = DUO_AT_PAGEABLE;
        o->on_host = true;
        duo_operand_span(o, &o->low, &o->high);
        low = o->low < low ? o->low : low;
        high = o->high > high ? o->high : high;
    }
    if (!duo_residency_near(low, high)) return DUO_OK;
    duo_status status = DUO_OK;
    duo_residency_lock();
    call->changes = duo_residency_changes();
    if (call->number == 0) call->number = duo_residency_number(); /* else it is located again */
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
        if (call->operand[i].on_host)
            status = locate_operand(device, call->number, &call->operand[i]);
    duo_residency_unlock();
    return status;
}

duo_status duo_locate_ask(duo_report *report, duo_call *call)
{
    const duo_backend *const backend = duo_backend_current();
    if (duo_forked()) return DUO_OK;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        duo_memory memory;
        if (o->registered || o->residence == DUO_AT_UNUSED) continue;
        if (backend->classify(o->address, &memory) != DUO_OK) continue;
        if (memory == DUO_MEMORY_DEVICE) {
            snprintf(report->detail, sizeof report->detail,
                     "operand %d is device memory that was never adopted", i);
            return DUO_ERR_FOREIGN;
        }
        if (memory == DUO_MEMORY_PINNED && o->residence == DUO_AT_PAGEABLE)
            o->residence = DUO_AT_PINNED;
    }
    return DUO_OK;
}
