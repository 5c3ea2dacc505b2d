/* prepared.c - operands that are packed once and kept (prepared.h). */
#include "data/prepared.h"

#include <stdlib.h>

#include "cpu/kernels.h"
#include "data/coherence.h"
#include "data/room.h"
#include "gpu/backend/devices.h"
#include "host/pages.h"

/* Packed operands of a region take on each side at most MOST_TIMES its size (on the GPU the three
 * algorithms that pack take 1.5, 1 and 0.5 times an operand, on the CPU the two take 1 and 2) plus
 * MOST_MORE bytes (small matrices fill no tile). */
enum { MOST_TIMES = 4, MOST_MORE = 1 << 18 };

static bool may_take(const duo_region *region, duo_side side, size_t bytes)
{
    const size_t most = MOST_TIMES * duo_region_bytes(region) + MOST_MORE;
    return duo_packed_bytes(&region->packed, side) + bytes <= most;
}

/* ---- On the device ---- */

/* Allocates a packed operand, not written yet. NULL: there is no room. */
static duo_packed *make(duo_resources *res, duo_region *region, const duo_packed *wanted,
                        size_t bytes)
{
    if (!may_take(region, DUO_SIDE_GPU, bytes)) return NULL;
    void *memory;
    const duo_status status = duo_room_allocate(res, bytes, region->used_before, &memory);
    if (status != DUO_OK) {
        (void)duo_resources_failed(res, status, "allocate a prepared operand");
        return NULL;
    }
    duo_packed *const packed = duo_packed_add(&region->packed, wanted, res->device, memory, bytes);
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
    const duo_packed wanted = duo_packed_of(algorithm, NULL, local, i, part);
    duo_packed *packed = duo_packed_find(list, &wanted);
    if (packed == NULL && !list->full[DUO_SIDE_GPU]) {
        packed = make(res, region, &wanted, bytes);
        list->full[DUO_SIDE_GPU] = packed == NULL;
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

/* ---- In host memory ---- */

static duo_packed *make_on_host(duo_region *region, const duo_packed *wanted, size_t bytes)
{
    size_t all;
    if (!may_take(region, DUO_SIDE_CPU, bytes)) return NULL;
    void *const memory = duo_pages_allocate(bytes, &all);
    if (memory == NULL) return NULL;
    duo_packed *const packed =
        duo_packed_add(&region->packed, wanted, region->device, memory, bytes);
    if (packed == NULL) free(memory);
    return packed;
}

void *duo_prepared_on_host(duo_algorithm_id algorithm, const duo_call *local, int i,
                           duo_region *region, duo_range part)
{
    duo_packed_list *const list = &region->packed;
    if (!duo_packed_promised(list, part)) return NULL;
    const duo_packed_form form = duo_ffma_packed_form(algorithm, local, i);
    if (form.bytes == 0) return NULL;
    const duo_packed wanted = duo_packed_of(algorithm, form.clone, local, i, part);
    duo_packed *packed = duo_packed_find(list, &wanted);
    const bool perhaps_read = packed != NULL && region->pending > 0;
    if (packed == NULL && !list->full[DUO_SIDE_CPU]) {
        packed = make_on_host(region, &wanted, form.bytes);
        list->full[DUO_SIDE_CPU] = packed == NULL;
    }
    if (packed == NULL) return NULL;
    if (!packed->current) {
        if (perhaps_read) return NULL;
        duo_ffma_pack(algorithm, local, i, packed->memory);
        packed->current = true;
    }
    return packed->memory;
}
