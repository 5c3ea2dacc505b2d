/*
 * form.c - operands in the form that an algorithm multiplies, kept beside the array they were made of.
 *
 * An algorithm that splits its operands spends time on each call to write what it wrote before. Where
 * duo_prepare has promised that an array rarely changes, its form is written once, in device memory
 * of its own, and each later product of the algorithm with the same part of the array finds it there. Forms
 * are written and changed in order with all other work on the region: under the lock, behind a claim.
 */
#include <stdlib.h>

#include "call/context.h"

struct duo_packed {
    duo_packed *next;
    duo_algorithm_id algorithm;
    duo_range part; /* of the region */
    int64_t rows, columns, ld;
    bool along_k; /* neighbours in memory are neighbours in k */
    bool current;
    void *memory;
    size_t bytes;
};

/* Most that a region's forms take: times its own size, and for the tiles of small matrices. */
enum { MOST_TIMES = 4, MOST_MORE = 1 << 18 };

static bool promised(const duo_region *region, duo_range part)
{
    return region->promised.from <= part.from && part.to <= region->promised.to;
}

bool duo_packed_hoped(const duo_region *region, duo_range part)
{
    if (!promised(region, part) || !region->packed_full) return promised(region, part);
    for (const duo_packed *f = region->packed; f != NULL; f = f->next)
        if (f->part.from == part.from && f->part.to == part.to) return true;
    return false;
}

static bool along_k(const duo_call *call, int i)
{
    return i == DUO_A ? call->transa : !call->transb;
}

static duo_packed *find(const duo_region *region, duo_algorithm_id algorithm, const duo_call *call,
                        int i, duo_range part)
{
    const duo_operand *const o = &call->operand[i];
    for (duo_packed *f = region->packed; f != NULL; f = f->next)
        if (f->algorithm == algorithm && f->part.from == part.from && f->rows == o->rows &&
            f->columns == o->columns && f->ld == o->ld && f->along_k == along_k(call, i))
            return f;
    return NULL;
}

/* NULL: there is no room. */
static duo_packed *make(duo_context *ctx, duo_region *region, duo_algorithm_id algorithm,
                        const duo_call *call, int i, duo_range part, size_t bytes)
{
    const duo_operand *const o = &call->operand[i];
    size_t taken = 0;
    for (const duo_packed *f = region->packed; f != NULL; f = f->next) taken += f->bytes;
    if (taken + bytes > MOST_TIMES * (region->high - region->low) + MOST_MORE) return NULL;
    void *memory;
    const duo_status status = duo_device_allocate(ctx->device, bytes, &memory);
    if (status != DUO_OK) {
        (void)duo_context_failed(ctx, status, "allocate a prepared operand");
        return NULL;
    }
    duo_packed *const form = malloc(sizeof *form);
    if (form == NULL) {
        (void)duo_device_release(ctx->device, memory, bytes);
        return NULL;
    }
    *form = (duo_packed){region->packed, algorithm,        part,  o->rows, o->columns,
                         o->ld,          along_k(call, i), false, memory,  bytes};
    region->packed = form;
    return form;
}

void *duo_packed_of(duo_context *ctx, duo_algorithm_id algorithm, const duo_call *local, int i,
                    duo_range part)
{
    duo_region *const region = local->operand[i].region;
    if (!promised(region, part)) return NULL;
    const size_t bytes = duo_backend_current()->packed_bytes(algorithm, local, i);
    if (bytes == 0) return NULL;
    duo_packed *form = find(region, algorithm, local, i, part);
    if (form == NULL && !region->packed_full) {
        form = make(ctx, region, algorithm, local, i, part, bytes);
        region->packed_full = form == NULL;
    }
    if (form == NULL) return NULL; /* preparing is a hint */
    if (!form->current) {
        const duo_status status =
            duo_backend_current()->pack(ctx->queue, algorithm, local, i, form->memory);
        if (status != DUO_OK) {
            (void)duo_context_failed(ctx, status, "prepare an operand");
            return NULL;
        }
        form->current = true;
    }
    return form->memory;
}

void duo_packed_stale(duo_region *region, size_t from, size_t to)
{
    for (duo_packed *f = region->packed; f != NULL; f = f->next)
        if (duo_range_meets(f->part, from, to)) f->current = false;
}

void duo_packed_drop(duo_region *region)
{
    while (region->packed != NULL) {
        duo_packed *const form = region->packed;
        region->packed = form->next;
        if (!duo_machine_forked())
            (void)duo_device_release(region->device, form->memory, form->bytes);
        free(form);
    }
    region->packed_full = false;
}

duo_status duo_prepare(duo_context *given, const void *address, size_t bytes)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (address == NULL) return DUO_ERR_NULL;
    const uintptr_t low = (uintptr_t)address, high = low + (bytes > 0 ? bytes : 1);
    if (high < low) return DUO_ERR_SIZE;
    bool crosses;
    duo_residency_lock();
    duo_region *const region = duo_residency_find(low, high, &crosses);
    duo_status status = DUO_OK;
    if (region == NULL || region->kind == DUO_REGION_PINNED || region->kind == DUO_REGION_PLAIN)
        status = DUO_ERR_RANGE;
    else if (bytes > 0)
        region->promised = duo_range_join(region->promised, low - region->low, high - region->low);
    else
        region->promised = (duo_range){0, 0};
    if (status == DUO_OK) {
        region->packed_full = false;
        /* A call may be about to use one: then they go with the array. */
        if (bytes == 0 && region->pending == 0) duo_packed_drop(region);
    }
    duo_residency_unlock();
    return status;
}
