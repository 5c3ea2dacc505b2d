/*
 * checks.c - may an operation touch the memory that it is given? See checks.h.
 */
#include "sim/checks.h"

#include "sim/memory.h"

/* Is [low, high) memory that this device can reach? Needs the lock. */
static bool reachable(int device, uintptr_t low, uintptr_t high, bool any_device, bool plain,
                      const char *what)
{
    if (plain && !sim_in_range((const void *)low)) return true;
    const block *b = sim_block_around(low, high);
    if (b == NULL) {
        sim_violation("%s: [%#jx, %#jx) is not in live device or pinned memory", what,
                      (uintmax_t)low, (uintmax_t)high);
        return false;
    }
    if (b->kind != BLOCK_PINNED && b->device != device && !any_device) {
        sim_violation("%s: memory of device %d used on device %d", what, b->device, device);
        return false;
    }
    return true;
}

static uintptr_t copy_end(const char *first, size_t pitch, size_t width, size_t height)
{
    return (uintptr_t)first + (height - 1) * pitch + width;
}

int sim_copy_other(const work *w, int device)
{
    const int dst = sim_device_of(w->dst), src = sim_device_of(w->src);
    return dst >= 0 && dst != device ? dst : src >= 0 && src != device ? src : -1;
}

int sim_copy_lost(const work *w)
{
    const int dst = sim_device_of(w->dst), src = sim_device_of(w->src);
    return dst >= 0 && sim.lost[dst] ? dst : src >= 0 && sim.lost[src] ? src : -1;
}

bool sim_copy_legal(const work *w, int device)
{
    if (w->height > 1 && (w->dst_pitch < w->width || w->src_pitch < w->width)) {
        sim_violation("copy: a pitch is smaller than the width");
        return false;
    }
    const bool dst =
        reachable(device, (uintptr_t)w->dst, copy_end(w->dst, w->dst_pitch, w->width, w->height),
                  true, w->plain, "copy to");
    const bool src =
        reachable(device, (uintptr_t)w->src, copy_end(w->src, w->src_pitch, w->width, w->height),
                  true, w->plain, "copy from");
    return dst && src && sim_freivalds_legal(w, device);
}

/* NULL counts as legal. */
static bool doubles_legal(const double *x, int64_t count, int device, const char *what)
{
    const uintptr_t low = (uintptr_t)x;
    return x == NULL ||
           reachable(device, low, low + (uintptr_t)count * sizeof(double), false, false, what);
}

bool sim_freivalds_legal(const work *w, int device)
{
    const duo_freivalds_product *const p = &w->product;
    const duo_freivalds_rows *const r = &w->rows;
    bool legal = true;
    if (p->x != NULL) {
        const int64_t columns = p->trans ? p->rows : p->columns;
        const int64_t along = p->trans ? p->columns : p->rows;
        const uintptr_t low = (uintptr_t)p->x;
        const int64_t last = (columns - 1) * p->ld + along;
        uintptr_t first = low, end = low + (uintptr_t)last * sizeof(float);
        const intptr_t far = (intptr_t)((p->count - 1) * p->stride) * (intptr_t)sizeof(float);
        if (far < 0) first += (uintptr_t)far;
        if (far > 0) end += (uintptr_t)far;
        legal &= reachable(device, first, end, false, false, "a matrix that is checked");
        legal &= doubles_legal(p->magnitude, p->rows * p->count, device, "magnitudes");
        legal &= doubles_legal(p->largest, p->rows * p->count, device, "largest magnitudes");
        legal &= doubles_legal(p->by_largest, p->columns * p->count, device, "a vector");
        legal &= doubles_legal(p->by, p->columns * p->count, device, "a vector");
        legal &= doubles_legal(p->by_magnitude, p->columns * p->count, device, "a vector");
    }
    const double *const sums[] = {
        r->product, r->product_magnitude, r->product_largest, r->old, r->old_magnitude,
        r->result,  r->result_magnitude};
    for (int i = 0; i < 7 && r->rows > 0; i++)
        legal &= doubles_legal(sums[i], r->rows, device, "sums");
    if (r->rows > 0) {
        const block *const b = sim_block_around((uintptr_t)w->wrong, (uintptr_t)(w->wrong + 1));
        if (b == NULL || b->kind != BLOCK_PINNED) {
            sim_violation("freivalds: the word is not in live pinned memory");
            legal = false;
        }
    }
    return legal;
}

bool sim_packed_legal(const duo_call *call, int i, const void *memory, int device)
{
    const duo_operand *const o = &call->operand[i];
    const int64_t all = duo_call_packed_rows(call, i), first = o->packed_first;
    const int64_t rows = i == DUO_A ? call->m : call->n, end = first + rows;
    if (first < 0 || first % 64 != 0 || end > all || (end % 64 != 0 && end != all)) {
        sim_violation("packed: [%jd, %jd) is no range of %jd rows", (intmax_t)first, (intmax_t)end,
                      (intmax_t)all);
        return false;
    }
    const uintptr_t low = (uintptr_t)memory;
    return reachable(device, low, low + (uintptr_t)(all * call->k) * sizeof(float), false, false,
                     "packed");
}

bool sim_launch_legal(const work *w, int device)
{
    static const char *const name[DUO_OPERANDS] = {"operand a/x", "operand b/y",
                                                   "operand c/result"};
    bool legal = true;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *o = &w->call.operand[i];
        if ((!o->read && !o->written) || o->rows <= 0 || o->columns <= 0) continue;
        if (i == DUO_RESULT && w->pinned_result != NULL) continue;
        uintptr_t low, high;
        if (w->list[i] != NULL) { /* it is not known yet where the operand is */
            low = (uintptr_t)w->list[i];
            if (!reachable(device, low, low + sizeof(float *), false, false, "list")) legal = false;
            continue;
        }
        duo_operand_span(o, &low, &high);
        if (low % sizeof(float) != 0) {
            sim_violation("launch: %s is not aligned to 4 bytes", name[i]);
            legal = false;
        }
        if (!reachable(device, low, high, false, false, name[i])) legal = false;
    }
    if (w->pinned_result != NULL) {
        const block *b =
            sim_block_around((uintptr_t)w->pinned_result, (uintptr_t)(w->pinned_result + 1));
        if (b == NULL || b->kind != BLOCK_PINNED || (uintptr_t)w->pinned_result % 8 != 0) {
            sim_violation("launch: the pinned result is not 8 aligned bytes of live pinned memory");
            legal = false;
        }
    }
    if (w->call.unrounded != NULL) {
        const uintptr_t low = (uintptr_t)w->call.unrounded;
        if (low % sizeof(double) != 0) {
            sim_violation("launch: the unrounded sum is not aligned to 8 bytes");
            legal = false;
        }
        if (!reachable(device, low, low + sizeof(double), false, false, "unrounded sum"))
            legal = false;
    }
    return legal;
}
