/* packed.c - the packed operands of a region (packed.h). */
#include "data/packed.h"

#include <stdlib.h>

#include "gpu/backend/devices.h"
#include "host/fork.h"

static duo_side side_of(const duo_packed *p) { return duo_algorithm_side(p->algorithm); }

bool duo_packed_promised(const duo_packed_list *list, duo_range part)
{
    return list->promised.from <= part.from && part.to <= list->promised.to;
}

bool duo_packed_hoped(const duo_packed_list *list, duo_range part)
{
    if (list->promised.to == 0 || !duo_packed_promised(list, part)) return false;
    if (!list->full[DUO_SIDE_GPU]) return true;
    for (const duo_packed *p = list->first; p != NULL; p = p->next)
        if (side_of(p) == DUO_SIDE_GPU && p->part.from == part.from && p->part.to == part.to)
            return true;
    return false;
}

duo_packed duo_packed_of(duo_algorithm_id algorithm, const void *clone, const duo_call *call, int i,
                         duo_range part)
{
    const duo_operand *const o = &call->operand[i];
    return (duo_packed){.algorithm = algorithm,
                        .part = part,
                        .rows = o->rows,
                        .columns = o->columns,
                        .ld = o->ld,
                        .along_k = duo_call_along_k(call, i),
                        .clone = clone,
                        .as = clone != NULL ? i : 0};
}

duo_packed *duo_packed_find(const duo_packed_list *list, const duo_packed *wanted)
{
    for (duo_packed *p = list->first; p != NULL; p = p->next)
        if (p->algorithm == wanted->algorithm && p->part.from == wanted->part.from &&
            p->rows == wanted->rows && p->columns == wanted->columns && p->ld == wanted->ld &&
            p->along_k == wanted->along_k && p->clone == wanted->clone && p->as == wanted->as)
            return p;
    return NULL;
}

duo_packed *duo_packed_in(const duo_packed_list *list, const void *memory)
{
    duo_packed *p = list->first;
    while (p->memory != memory) p = p->next;
    return p;
}

size_t duo_packed_bytes(const duo_packed_list *list, duo_side side)
{
    size_t bytes = 0;
    for (const duo_packed *p = list->first; p != NULL; p = p->next)
        if (side_of(p) == side) bytes += p->bytes;
    return bytes;
}

duo_packed *duo_packed_add(duo_packed_list *list, const duo_packed *wanted, int device,
                           void *memory, size_t bytes)
{
    static uint64_t last;
    duo_packed *const packed = malloc(sizeof *packed);
    if (packed == NULL) return NULL;
    *packed = *wanted;
    packed->next = list->first;
    packed->number = ++last;
    packed->memory = memory;
    packed->bytes = bytes;
    list->first = packed;
    if (side_of(packed) == DUO_SIDE_GPU) duo_device_count_copy(device, (double)bytes);
    return packed;
}

void duo_packed_stale(duo_packed_list *list, size_t from, size_t to)
{
    for (duo_packed *p = list->first; p != NULL; p = p->next)
        if (duo_range_meets(p->part, from, to)) p->current = false;
}

static void end(duo_packed *packed, int device)
{
    if (side_of(packed) == DUO_SIDE_CPU) {
        free(packed->memory);
    } else if (!duo_forked()) {
        (void)duo_device_release(device, packed->memory, packed->bytes);
        duo_device_count_copy(device, -(double)packed->bytes);
    }
    free(packed);
}

void duo_packed_drop(duo_packed_list *list, duo_side side, int device)
{
    for (duo_packed **link = &list->first; *link != NULL;) {
        duo_packed *const packed = *link;
        if (side_of(packed) != side) {
            link = &packed->next;
            continue;
        }
        *link = packed->next;
        end(packed, device);
    }
    list->full[side] = false;
}
