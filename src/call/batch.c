/* batch.c - finds the operands of a batch, and claims those in lists (execution.h). */
#include "call/execution.h"
#include "data/coherence.h"
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

/* False: the batch goes product by product. */
static bool find_operand(duo_call *call, int i, int device)
{
    uintptr_t low, high;
    span_of(call, i, &low, &high);
    call->batch->where[i] = DUO_BATCH_TOGETHER;
    if (call->batch->pointer[i] != NULL && !find_list(call, i, device, low, high)) return false;
    if (call->batch->where[i] == DUO_BATCH_TOGETHER) set_span(call, i, low, high);
    return call->batch->where[i] == DUO_BATCH_HOSTED || (high - low) % sizeof(float) == 0;
}

void duo_batch_find(duo_call *call, int device)
{
    duo_batch *const batch = call->batch;
    batch->mixed = false;
    batch->spans = (duo_call){.operation = DUO_SGEMM, .threads = 1};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        batch->where[i] = DUO_BATCH_TOGETHER;
        if (duo_operand_touched(&call->operand[i])) batch->mixed |= !find_operand(call, i, device);
    }
}

/* Sets [*low, *high) to the span of product p of a scattered list. Returns its region, mostly the
 * same as `before`, the previous product's; NULL: it has gone meanwhile. */
static duo_region *along_list(const duo_execution *e, int i, int64_t p, duo_region *before,
                              uintptr_t *low, uintptr_t *high)
{
    bool crosses;
    span_from(&e->call->operand[i], (uintptr_t)e->call->batch->pointer[i][p], low, high);
    if (before != NULL && before->low <= *low && *high <= before->high) return before;
    return duo_residency_find(*low, *high, &crosses);
}

/* Claims every region of a scattered list; with `holds` also holds it. Under the residency lock. */
static duo_status claim_list(duo_execution *e, int i, bool holds)
{
    const bool written = e->call->operand[i].written;
    duo_region *before = NULL;
    for (int64_t p = 0; p < e->call->batch->count; p++) {
        uintptr_t low, high;
        duo_region *const region = along_list(e, i, p, before, &low, &high);
        if (region == NULL || region->lost) return DUO_ERR_RANGE;
        if (region != before) {
            const duo_status status = duo_coherence_claim(&e->ctx->resources, region, written);
            if (status != DUO_OK) return status;
        }
        if (region != before && holds) {
            duo_residency_hold(region, NULL);
            e->held[i]++;
        }
        if (written) duo_packed_stale(&region->packed, low - region->low, high - region->low);
        before = region;
    }
    return DUO_OK;
}

/* Under the residency lock. */
static void let_list_go(duo_execution *e, int i)
{
    duo_region *before = NULL;
    for (int64_t p = 0; e->held[i] > 0; p++) {
        uintptr_t low, high;
        duo_region *const region = along_list(e, i, p, before, &low, &high);
        if (region == before) continue;
        duo_residency_let_go(region, false);
        e->held[i]--;
        before = region;
    }
}

static duo_status claim(duo_execution *e, bool holds)
{
    duo_status status = DUO_OK;
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
        if (e->call->batch->where[i] == DUO_BATCH_SCATTERED) status = claim_list(e, i, holds);
    return status;
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
    for (int i = 0; i < DUO_OPERANDS; i++) let_list_go(e, i);
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
        region = along_list(e, DUO_C, p, region, &low, &high);
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
