/* stage.c - the rings of pinned staging buffers (stage.h). */
#include "data/stage.h"

#include "gpu/backend/devices.h"

_Static_assert(2 * DUO_STAGES < DUO_MARKS, "every stage of two rings has a mark in any queue");

duo_status duo_stage_still_there(int device)
{
    return duo_device_usable(device) ? DUO_OK : DUO_ERR_LOST;
}

duo_status duo_stage_wait_for_all(duo_resources *res, duo_queue *queue, int device,
                                  duo_status status, const char *doing)
{
    const int of = status == DUO_ERR_LOST ? duo_device_found_lost(device) : device;
    (void)duo_resources_failed_on(res, of, status, doing);
    if (status == DUO_ERR_LOST) return status;
    if (duo_queue_drain(queue) == DUO_OK) return duo_stage_still_there(device);
    return duo_resources_failed_on(res, device, DUO_ERR_LOST, doing);
}

duo_status duo_stage_give_up(duo_resources *res, duo_queue *queue, int device, duo_status status,
                             const char *doing)
{
    const duo_status all = duo_stage_wait_for_all(res, queue, device, status, doing);
    return all == DUO_OK ? status : DUO_ERR_LOST;
}

duo_status duo_stage_wait(duo_resources *res, duo_ring *ring, int i)
{
    duo_stage *const stage = &ring->stage[i];
    duo_queue *const queue = stage->queue;
    if (queue == NULL) return DUO_OK;
    stage->queue = NULL;
    const duo_status status = duo_queue_wait_mark(queue, ring->first_mark + i);
    return status == DUO_OK
               ? duo_stage_still_there(stage->device)
               : duo_stage_wait_for_all(res, queue, stage->device, status, "wait for a transfer");
}

duo_status duo_stage_look(duo_resources *res, duo_ring *ring, int i, bool *free)
{
    duo_stage *const stage = &ring->stage[i];
    *free = stage->queue == NULL;
    if (*free) return DUO_OK;
    const duo_status status = duo_queue_passed(stage->queue, ring->first_mark + i, free);
    if (status != DUO_OK) {
        *free = false;
        return duo_stage_wait(res, ring, i);
    }
    if (!*free) return DUO_OK;
    stage->queue = NULL;
    return duo_stage_still_there(stage->device);
}

duo_status duo_stage_mark(duo_resources *res, duo_ring *ring, int i, duo_queue *queue, int device)
{
    const duo_status status = duo_queue_mark(queue, ring->first_mark + i);
    ring->next = (i + 1) % DUO_STAGES;
    ring->stage[i].queue = status == DUO_OK ? queue : NULL;
    ring->stage[i].device = device;
    if (status == DUO_OK) return status;
    return duo_stage_wait_for_all(res, queue, device, status, "mark a transfer");
}

duo_status duo_stage_make(duo_resources *res, duo_ring *ring, size_t bytes)
{
    const size_t wanted = duo_stage_bytes(bytes);
    ring->first_mark = ring == &res->down ? DUO_STAGES : 0;
    for (int i = 0; i < DUO_STAGES; i++) {
        duo_space *const space = &ring->stage[i].space;
        if (space->bytes >= wanted) continue;
        duo_status status = duo_stage_wait(res, ring, i);
        if (status != DUO_OK) return status;
        if (space->address != NULL)
            (void)duo_pinned_release(res->queue_device, space->address, space->bytes);
        *space = (duo_space){0};
        status = duo_backend_current()->pin(res->queue_device, wanted, &space->address);
        if (status != DUO_OK) {
            space->address = NULL;
            return duo_resources_failed(res, status, "pin a stage");
        }
        space->bytes = wanted;
    }
    return DUO_OK;
}
