/* batch.c - finds the operands of a batch, or of its groups, and claims those that are not placed
 * (execution.h). */
#include "call/execution.h"
#include "data/coherence.h"
#include "data/locate.h"
#include "data/residency.h"

/* The address range of an operand that begins at `begin`. */
static void span_from(const duo_operand *operand, uintptr_t begin, uintptr_t *low, uintptr_t *high)
{
    duo_operand o = *operand;
    o.address = (float *)begin;
    duo_operand_span(&o, low, high);
}

static void span_of(const duo_call *call, int i, uintptr_t *low, uintptr_t *high)
{
    const duo_operand *const o = &call->operand[i];
    const duo_batch *const batch = call->batch;
    uintptr_t first = batch->list[i].lowest, last = batch->list[i].highest, any;
    if (duo_batch_even(batch, i)) {
        const uintptr_t begin = (uintptr_t)duo_batch_address(batch, call, i, 0);
        const uintptr_t end = (uintptr_t)duo_batch_address(batch, call, i, batch->count - 1);
        first = begin < end ? begin : end;
        last = begin < end ? end : begin;
    }
    span_from(o, first, low, &any);
    span_from(o, last, &any, high);
}

bool duo_batch_has_gaps(const duo_call *call, int i, uintptr_t low, uintptr_t high)
{
    const duo_operand *const o = &call->operand[i];
    return (double)(high - low) > duo_operand_bytes(o) * (double)call->batch->count;
}

static void set_span(duo_call *call, int i, uintptr_t low, uintptr_t high)
{
    const duo_operand *const o = &call->operand[i];
    const int64_t floats = (int64_t)((high - low) / sizeof(float));
    call->batch->spans.operand[i] =
        (duo_operand){.address = (float *)low,
                      .rows = floats,
                      .columns = 1,
                      .ld = floats,
                      .read = o->read || duo_batch_has_gaps(call, i, low, high),
                      .written = o->written};
}

/* Finds the products of a list that do not all lie in one region. Under the residency lock. False:
 * they are partly in host memory and partly on a device, or on another device, or in kept
 * arrays. */
static bool find_products(duo_call *call, int i, int device)
{
    const duo_operand *const o = &call->operand[i];
    const duo_region *region = NULL;
    bool hosted = true, on_device = true;
    for (int64_t p = 0; p < call->batch->count && (hosted || on_device); p++) {
        uintptr_t low, high;
        bool crosses;
        span_from(o, (uintptr_t)call->batch->pointer[i][p], &low, &high);
        if (region != NULL && region->low <= low && high <= region->high) continue;
        region = duo_residency_find(low, high, &crosses);
        hosted &= !crosses && (region == NULL || duo_region_lies_in_host(region));
        on_device &= region != NULL && duo_region_lies_on_device(region) && !region->lost &&
                     region->device == device;
    }
    call->batch->where[i] = hosted ? DUO_BATCH_HOSTED : DUO_BATCH_SCATTERED;
    return hosted || on_device;
}

/* Finds the products of a list, which spans [low, high). False: as find_products. */
static bool find_list(duo_call *call, int i, int device, uintptr_t low, uintptr_t high)
{
    bool found = true, crosses = false;
    call->batch->where[i] = DUO_BATCH_HOSTED;
    if (!duo_residency_near(low, high)) return true;
    duo_residency_lock();
    if (duo_residency_find(low, high, &crosses) != NULL) call->batch->where[i] = DUO_BATCH_TOGETHER;
    if (crosses) found = find_products(call, i, device);
    duo_residency_unlock();
    return found;
}

/* Does a list lie on this device? */
static bool list_is_on(const duo_batch *batch, int i, int device)
{
    const uintptr_t low = (uintptr_t)batch->pointer[i];
    bool crosses;
    duo_residency_lock();
    const duo_region *const region =
        duo_residency_find(low, low + (size_t)batch->count * sizeof(float *), &crosses);
    const bool on = region != NULL && duo_region_lies_on_device(region) && !region->lost &&
                    region->device == device;
    duo_residency_unlock();
    return on;
}

/* False: the batch goes product by product. */
static bool find_operand(duo_call *call, int i, int device)
{
    uintptr_t low, high;
    call->batch->where[i] = DUO_BATCH_UNREAD;
    if (call->batch->unread[i]) return list_is_on(call->batch, i, device);
    span_of(call, i, &low, &high);
    call->batch->where[i] = DUO_BATCH_TOGETHER;
    if (call->batch->pointer[i] != NULL && !find_list(call, i, device, low, high)) return false;
    if (call->batch->where[i] == DUO_BATCH_TOGETHER) set_span(call, i, low, high);
    return call->batch->where[i] == DUO_BATCH_HOSTED || (high - low) % sizeof(float) == 0;
}

static void find(duo_call *call, int device)
{
    duo_batch *const batch = call->batch;
    batch->mixed = false;
    batch->spans = (duo_call){.operation = DUO_SGEMM, .threads = 1};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        batch->where[i] = DUO_BATCH_TOGETHER;
        if (duo_operand_touched(&call->operand[i])) batch->mixed |= !find_operand(call, i, device);
    }
}

/* The operands of an unread list are where the caller says. */
static void settle_unread(duo_call *call)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        if (!call->batch->unread[i] || !duo_operand_touched(o)) continue;
        o->residence = DUO_AT_DEVICE;
        o->registered = o->counts_as_device = o->on_device = true;
        o->on_host = false;
    }
}

static duo_status locate_one(duo_call *call, int device)
{
    duo_batch *const batch = call->batch;
    find(call, device);
    settle_unread(call);
    const duo_status spans = duo_locate(device, &batch->spans);
    for (int i = 0; i < DUO_OPERANDS; i++) batch->spans.operand[i].prepared = false;
    if (call->number == 0) call->number = batch->spans.number;
    return spans;
}

duo_status duo_batch_locate(duo_call *call, int device)
{
    duo_status status = DUO_OK;
    for (int64_t g = 0; g < duo_batch_groups(call->batch) && status == DUO_OK; g++)
        status = locate_one(duo_call_group(call, g), device);
    settle_unread(call);
    return status;
}

bool duo_batch_by_list(const duo_call *call, int i)
{
    return call->batch->where[i] == DUO_BATCH_SCATTERED ||
           call->batch->where[i] == DUO_BATCH_UNREAD;
}

static bool resides(const duo_call *call)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const span = &call->batch->spans.operand[i];
        if (!duo_operand_touched(&call->operand[i]) || duo_batch_by_list(call, i)) continue;
        if (call->batch->where[i] != DUO_BATCH_TOGETHER || span->residence != DUO_AT_DEVICE ||
            !span->on_device)
            return false;
    }
    return !call->batch->mixed;
}

bool duo_batch_resides(const duo_call *call)
{
    if (call->batch->group == NULL) return resides(call);
    for (int64_t g = 0; g < call->batch->groups; g++)
        if (!resides(&call->batch->group[g].call)) return false;
    return true;
}

/* Is all of the operand in memory that is in no region? */
static bool is_plain(const duo_call *call, int i)
{
    uintptr_t low, high;
    if (!duo_operand_touched(&call->operand[i])) return true;
    if (call->batch->unread[i]) return false;
    span_of(call, i, &low, &high);
    return !duo_residency_near(low, high);
}

static bool all_plain(const duo_call *call)
{
    return is_plain(call, DUO_A) && is_plain(call, DUO_B) && is_plain(call, DUO_C);
}

bool duo_batch_plain(const duo_call *call)
{
    if (call->batch->group == NULL) return all_plain(call);
    for (int64_t g = 0; g < call->batch->groups; g++)
        if (!all_plain(&call->batch->group[g].call)) return false;
    return true;
}

/* The region of a range that comes after one in the region `before`: mostly the same. NULL: none
 * holds all of it. Under the residency lock. */
static duo_region *next_region(duo_region *before, uintptr_t low, uintptr_t high)
{
    bool crosses;
    if (before != NULL && before->low <= low && high <= before->high) return before;
    return duo_residency_find(low, high, &crosses);
}

/* ---- Regions without one place: scattered lists, unread lists, groups ---- */

/* How many address ranges of an operand are claimed one by one. */
static int64_t ranges_of(const duo_call *call, int i, bool grouped)
{
    const duo_batch *const batch = call->batch;
    if (!duo_operand_touched(&call->operand[i])) return 0;
    if (batch->where[i] == DUO_BATCH_SCATTERED) return batch->count;
    return grouped || batch->where[i] == DUO_BATCH_UNREAD;
}

/* Sets [*low, *high) to range p: of a scattered list the product p, of an unread one the list
 * itself. Returns its region; NULL: it has gone meanwhile. */
static duo_region *region_of(const duo_call *call, int i, int64_t p, duo_region *before,
                             uintptr_t *low, uintptr_t *high)
{
    const duo_batch *const batch = call->batch;
    if (batch->where[i] == DUO_BATCH_SCATTERED) {
        span_from(&call->operand[i], (uintptr_t)duo_batch_address(batch, call, i, p), low, high);
    } else if (batch->where[i] == DUO_BATCH_UNREAD) {
        *low = (uintptr_t)batch->pointer[i];
        *high = *low + (size_t)batch->count * sizeof(float *);
    } else {
        *low = batch->spans.operand[i].low;
        *high = batch->spans.operand[i].high;
    }
    return next_region(before, *low, *high);
}

/* Claims the regions of an operand; with `holds` also holds them. Under the residency lock. */
static duo_status claim_operand(duo_execution *e, const duo_call *call, int i, bool holds)
{
    const bool written = call->operand[i].written && !call->batch->unread[i];
    const int64_t ranges = ranges_of(call, i, e->call->batch->group != NULL);
    duo_region *before = NULL;
    for (int64_t p = 0; p < ranges; p++) {
        uintptr_t low, high;
        duo_region *const region = region_of(call, i, p, before, &low, &high);
        if (region == NULL || region->lost) return DUO_ERR_RANGE;
        if (region != before) {
            const duo_status status = duo_coherence_claim(&e->ctx->resources, region, written);
            if (status != DUO_OK) return status;
        }
        if (region != before && holds) {
            duo_residency_hold(region, NULL);
            e->held++;
        }
        if (written) duo_packed_stale(&region->packed, low - region->low, high - region->low);
        before = region;
    }
    return DUO_OK;
}

static duo_status claim(duo_execution *e, bool holds)
{
    duo_status status = DUO_OK;
    for (int64_t g = 0; g < duo_batch_groups(e->call->batch); g++)
        for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
            status = claim_operand(e, duo_call_group(e->call, g), i, holds);
    return status;
}

/* In the order in which they were held. Under the residency lock. */
static void let_go(duo_execution *e)
{
    for (int64_t g = 0; e->held > 0; g++) {
        const duo_call *const call = duo_call_group(e->call, g);
        for (int i = 0; i < DUO_OPERANDS; i++) {
            const int64_t ranges = ranges_of(call, i, e->call->batch->group != NULL);
            duo_region *before = NULL;
            for (int64_t p = 0; p < ranges && e->held > 0; p++) {
                uintptr_t low, high;
                duo_region *const region = region_of(call, i, p, before, &low, &high);
                if (region == before) continue;
                duo_residency_let_go(region, false);
                e->held--;
                before = region;
            }
        }
    }
}

duo_status duo_batch_claim(duo_execution *e)
{
    duo_residency_lock();
    const duo_status status = claim(e, true);
    duo_residency_unlock();
    return status;
}

duo_status duo_batch_queued(duo_execution *e, bool queued)
{
    duo_residency_lock();
    const duo_status status = queued ? claim(e, false) : DUO_OK;
    let_go(e);
    duo_residency_unlock();
    return status;
}

void duo_batch_wrote_list(duo_execution *e)
{
    const duo_list *const list = &e->call->batch->list[DUO_C];
    duo_region *region = NULL;
    if (e->call->batch->where[DUO_C] != DUO_BATCH_HOSTED ||
        !duo_residency_near(list->lowest, list->highest + 1))
        return;
    duo_residency_lock();
    for (int64_t p = 0; p < e->call->batch->count; p++) {
        uintptr_t low, high;
        span_from(&e->call->operand[DUO_C], (uintptr_t)e->call->batch->pointer[DUO_C][p], &low,
                  &high);
        region = next_region(region, low, high);
        if (region != NULL)
            duo_packed_stale(&region->packed, low - region->low, high - region->low);
    }
    duo_residency_unlock();
}

void duo_batch_use_copies(const duo_call *from, const duo_call *local, duo_call *call,
                          duo_batch *batch)
{
    *call = *from;
    *batch = *from->batch;
    call->batch = batch;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (batch->where[i] != DUO_BATCH_TOGETHER || !duo_operand_touched(&call->operand[i]))
            continue;
        const uintptr_t to = (uintptr_t)local->operand[i].address;
        batch->shift[i] = (int64_t)(to - (uintptr_t)batch->spans.operand[i].address);
        if (batch->pointer[i] == NULL)
            call->operand[i].address =
                (float *)((uintptr_t)call->operand[i].address + (uintptr_t)batch->shift[i]);
    }
}
