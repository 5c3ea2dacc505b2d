/* prepared.c - operands that are packed once and kept (prepared.h). */
#include "data/prepared.h"

#include "data/coherence.h"
#include "data/room.h"
#include "gpu/backend/devices.h"

/* Packed operands of a region take at most MOST_TIMES its size (the three algorithms that pack take
 * 1.5, 1 and 0.5 times an operand) plus MOST_MORE bytes (small matrices fill no tile). */
enum { MOST_TIMES = 4, MOST_MORE = 1 << 18 };

/* Allocates a packed operand, not written yet. NULL: there is no room. */
static duo_packed *make(duo_resources *res, duo_region *region, duo_algorithm_id algorithm,
                        const duo_call *call, int i, duo_range part, size_t bytes)
{
    const size_t most = MOST_TIMES * duo_region_bytes(region) + MOST_MORE;
    if (duo_packed_bytes(&region->packed) + bytes > most) return NULL;
    void *memory;
    const duo_status status = duo_room_allocate(res, bytes, region->used_before, &memory);
    if (status != DUO_OK) {
        (void)duo_resources_failed(res, status, "allocate a prepared operand");
        return NULL;
    }
    duo_packed *const packed =
        duo_packed_add(&region->packed, algorithm, call, i, part, res->device, memory, bytes);
    if (packed == NULL) (void)duo_device_release(res->device, memory, bytes);
    return packed;
}

void *duo_prepared(duo_resources *res, duo_algorithm_id algorithm, const duo_call *local, int i,
                   duo_region *region, duo_range part)
{
    duo_packed_list *const list = &region->packed;
    if (!duo_packed_promised(list, part)) return NULL;
    const duo_backend *const backend = duo_backend_current();
    const size_t bytes = backend->packed_bytes(algorithm, local, i);
    if (bytes == 0) return NULL;
    duo_packed *packed = duo_packed_find(list, algorithm, local, i, part);
    if (packed == NULL && !list->full) {
        packed = make(res, region, algorithm, local, i, part, bytes);
        list->full = packed == NULL;
    }
    if (packed == NULL) return NULL; /* preparing is a hint: each call packs for itself */
    if (!packed->current) {
        duo_status status = duo_coherence_claim_write(res, region);
        if (status != DUO_OK) return NULL;
        status = backend->pack(res->queue, algorithm, local, i, packed->memory);
        if (status != DUO_OK) {
            (void)duo_resources_failed(res, status, "prepare an operand");
            return NULL;
        }
        packed->current = true;
    }
    return packed->memory;
}
