/* batch_find.c - where the operands of a batch are (batch_call.h). */
#include "call/batch_call.h"
#include "data/coherence.h"
#include "data/residency.h"

/* What an operand spans, from where it begins. */
static void span_from(const duo_operand *operand, uintptr_t begin, uintptr_t *low, uintptr_t *high)
{
    duo_operand o = *operand;
    o.address = (float *)begin;
    duo_operand_span(&o, low, high);
}

static void span_of(const duo_batch_call *b, int i, uintptr_t *low, uintptr_t *high)
{
    const duo_operand *const o = &b->call->operand[i];
    const duo_batch *const batch = b->batch;
    uintptr_t first = batch->list[i].lowest, last = batch->list[i].highest, any;
    if (duo_batch_even(batch, i)) {
        const uintptr_t begin = (uintptr_t)duo_batch_address(batch, b->call, i, 0);
        const uintptr_t end = (uintptr_t)duo_batch_address(batch, b->call, i, batch->count - 1);
        first = begin < end ? begin : end;
        last = begin < end ? end : begin;
    }
    span_from(o, first, low, &any);
    span_from(o, last, &any, high);
}

/* Does anything lie within the span that is not the operand's? */
bool duo_batch_has_gaps(const duo_batch_call *b, int i, uintptr_t low, uintptr_t high)
{
    const duo_operand *const o = &b->call->operand[i];
    return (double)(high - low) > duo_operand_bytes(o) * (double)b->batch->count;
}

static void set_span(duo_batch_call *b, int i, uintptr_t low, uintptr_t high)
{
    const duo_operand *const o = &b->call->operand[i];
    const int64_t floats = (int64_t)((high - low) / sizeof(float));
    b->spans.operand[i] = (duo_operand){.address = (float *)low,
                                        .rows = floats,
                                        .columns = 1,
                                        .ld = floats,
                                        .read = o->read || duo_batch_has_gaps(b, i, low, high),
                                        .written = o->written};
}

/* A list that leads to several places, or to one that is no region, under the residency lock.
 * False: some are in host memory and some on a device, or it is not this one, or they are kept. */
static bool find_products(duo_batch_call *b, int i)
{
    const duo_operand *const o = &b->call->operand[i];
    const duo_region *region = NULL;
    bool hosted = true, on_device = true;
    for (int64_t p = 0; p < b->batch->count && (hosted || on_device); p++) {
        uintptr_t low, high;
        bool crosses;
        span_from(o, (uintptr_t)b->batch->pointer[i][p], &low, &high);
        if (region != NULL && region->low <= low && high <= region->high) continue;
        region = duo_residency_find(low, high, &crosses);
        hosted &= !crosses && (region == NULL || duo_region_lies_in_host(region));
        on_device &= region != NULL && duo_region_lies_on_device(region) && !region->lost &&
                     region->device == b->ctx->resources.device;
    }
    b->where[i] = hosted ? DUO_BATCH_HOSTED : DUO_BATCH_SCATTERED;
    return hosted || on_device;
}

/* Where a list leads that spans [low, high). */
static bool find_list(duo_batch_call *b, int i, uintptr_t low, uintptr_t high)
{
    bool found = true, crosses = false;
    b->where[i] = DUO_BATCH_HOSTED;
    if (!duo_residency_near(low, high)) return true;
    duo_residency_lock();
    if (duo_residency_find(low, high, &crosses) != NULL) b->where[i] = DUO_BATCH_TOGETHER;
    if (crosses) found = find_products(b, i);
    duo_residency_unlock();
    return found;
}

/* False: the batch goes product by product. */
static bool find_operand(duo_batch_call *b, int i)
{
    uintptr_t low, high;
    span_of(b, i, &low, &high);
    b->where[i] = DUO_BATCH_TOGETHER;
    if (b->batch->pointer[i] != NULL && !find_list(b, i, low, high)) return false;
    if (b->where[i] == DUO_BATCH_TOGETHER) set_span(b, i, low, high);
    return b->where[i] == DUO_BATCH_HOSTED || (high - low) % sizeof(float) == 0;
}

bool duo_batch_find(duo_batch_call *b)
{
    b->spans = (duo_call){.operation = DUO_SGEMM, .threads = 1};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        b->where[i] = DUO_BATCH_TOGETHER;
        if (duo_operand_touched(&b->call->operand[i]) && !find_operand(b, i)) return false;
    }
    return true;
}

/* Product p of a scattered list spans [*low, *high). The region of that, by the one before; NULL:
 * it has gone meanwhile. */
static duo_region *along_list(const duo_batch_call *b, int i, int64_t p, duo_region *before,
                              uintptr_t *low, uintptr_t *high)
{
    bool crosses;
    span_from(&b->call->operand[i], (uintptr_t)b->batch->pointer[i][p], low, high);
    if (before != NULL && before->low <= *low && *high <= before->high) return before;
    return duo_residency_find(*low, *high, &crosses);
}

/* Claims every region that a scattered list leads to; `holds`: and holds it. Under the residency
 * lock. */
static duo_status claim_list(duo_batch_call *b, int i, bool holds)
{
    const bool written = b->call->operand[i].written;
    duo_region *before = NULL;
    for (int64_t p = 0; p < b->batch->count; p++) {
        uintptr_t low, high;
        duo_region *const region = along_list(b, i, p, before, &low, &high);
        if (region == NULL || region->lost) return DUO_ERR_RANGE;
        if (region != before) {
            const duo_status status = duo_coherence_claim(&b->ctx->resources, region, written);
            if (status != DUO_OK) return status;
        }
        if (region != before && holds) {
            duo_residency_hold(region, NULL);
            b->held[i]++;
        }
        if (written) duo_packed_stale(&region->packed, low - region->low, high - region->low);
        before = region;
    }
    return DUO_OK;
}

/* Under the residency lock. */
static void let_list_go(duo_batch_call *b, int i)
{
    duo_region *before = NULL;
    for (int64_t p = 0; b->held[i] > 0; p++) {
        uintptr_t low, high;
        duo_region *const region = along_list(b, i, p, before, &low, &high);
        if (region == before) continue;
        duo_residency_let_go(region, false);
        b->held[i]--;
        before = region;
    }
}

static duo_status claim(duo_batch_call *b, bool holds)
{
    duo_status status = DUO_OK;
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
        if (b->where[i] == DUO_BATCH_SCATTERED) status = claim_list(b, i, holds);
    return status;
}

duo_status duo_batch_claim(duo_batch_call *b)
{
    duo_residency_lock();
    const duo_status status = claim(b, true);
    duo_residency_unlock();
    return status;
}

duo_status duo_batch_queued(duo_batch_call *b, bool queued)
{
    duo_residency_lock();
    const duo_status status = queued ? claim(b, false) : DUO_OK;
    for (int i = 0; i < DUO_OPERANDS; i++) let_list_go(b, i);
    duo_residency_unlock();
    return status;
}

/* The copies that are used instead of what the call and the lists say. */
void duo_batch_use_copies(const duo_batch_call *b, const duo_call *local, duo_call *call,
                          duo_batch *batch)
{
    *call = *b->call;
    *batch = *b->batch;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (b->where[i] != DUO_BATCH_TOGETHER || !duo_operand_touched(&call->operand[i])) continue;
        const uintptr_t to = (uintptr_t)local->operand[i].address;
        batch->shift[i] = (int64_t)(to - (uintptr_t)b->spans.operand[i].address);
        if (batch->pointer[i] == NULL)
            call->operand[i].address =
                (float *)((uintptr_t)call->operand[i].address + (uintptr_t)batch->shift[i]);
    }
}
