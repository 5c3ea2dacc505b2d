/* packed.c - the packed operands of a region (packed.h). */
#include "data/packed.h"

#include <stdlib.h>

#include "gpu/backend/devices.h"
#include "host/fork.h"

bool duo_packed_promised(const duo_packed_list *list, duo_range part)
{
    return list->promised.from <= part.from && part.to <= list->promised.to;
}

bool duo_packed_hoped(const duo_packed_list *list, duo_range part)
{
    if (list->promised.to == 0 || !duo_packed_promised(list, part)) return false;
    if (!list->full) return true;
    for (const duo_packed *p = list->first; p != NULL; p = p->next)
        if (p->part.from == part.from && p->part.to == part.to) return true;
    return false;
}

duo_packed *duo_packed_find(const duo_packed_list *list, duo_algorithm_id algorithm,
                            const duo_call *call, int i, duo_range part)
{
    const duo_operand *const o = &call->operand[i];
    for (duo_packed *p = list->first; p != NULL; p = p->next)
        if (p->algorithm == algorithm && p->part.from == part.from && p->rows == o->rows &&
            p->columns == o->columns && p->ld == o->ld && p->along_k == duo_call_along_k(call, i))
            return p;
    return NULL;
}

duo_packed *duo_packed_in(const duo_packed_list *list, const void *memory)
{
    duo_packed *p = list->first;
    while (p != NULL && p->memory != memory) p = p->next;
    return p;
}

size_t duo_packed_bytes(const duo_packed_list *list)
{
    size_t bytes = 0;
    for (const duo_packed *p = list->first; p != NULL; p = p->next) bytes += p->bytes;
    return bytes;
}

duo_packed *duo_packed_add(duo_packed_list *list, duo_algorithm_id algorithm, const duo_call *call,
                           int i, duo_range part, int device, void *memory, size_t bytes)
{
    static uint64_t last;
    const duo_operand *const o = &call->operand[i];
    duo_packed *const packed = malloc(sizeof *packed);
    if (packed == NULL) return NULL;
    *packed = (duo_packed){.next = list->first,
                           .algorithm = algorithm,
                           .part = part,
                           .rows = o->rows,
                           .columns = o->columns,
                           .ld = o->ld,
                           .along_k = duo_call_along_k(call, i),
                           .number = ++last,
                           .memory = memory,
                           .bytes = bytes};
    list->first = packed;
    duo_device_count_copy(device, (double)bytes);
    return packed;
}

void duo_packed_stale(duo_packed_list *list, size_t from, size_t to)
{
    for (duo_packed *p = list->first; p != NULL; p = p->next)
        if (duo_range_meets(p->part, from, to)) p->current = false;
}

void duo_packed_drop(duo_packed_list *list, int device)
{
    while (list->first != NULL) {
        duo_packed *const packed = list->first;
        list->first = packed->next;
        if (!duo_forked()) {
            (void)duo_device_release(device, packed->memory, packed->bytes);
            duo_device_count_copy(device, -(double)packed->bytes);
        }
        free(packed);
    }
    list->full = false;
}
