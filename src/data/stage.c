/* stage.c - the ring of pinned staging buffers (stage.h). */
#include "data/stage.h"

#include "gpu/backend/devices.h"

/* Bytes of a stage. Pinning takes long, and many programs never need large stages. */
enum { SMALL_STAGE = 64 << 10, LARGE_STAGE = DUO_LARGEST_STAGE };
_Static_assert((int)DUO_STAGES < (int)DUO_MARKS,
               "every stage has a mark, and duo_upload_consumed the last");

duo_status duo_stage_still_there(const duo_resources *res)
{
    return duo_device_usable(res->queue_device) ? DUO_OK : DUO_ERR_LOST;
}

duo_status duo_stage_wait_for_all(duo_resources *res, duo_status status, const char *doing)
{
    (void)duo_resources_failed(res, status, doing);
    if (status == DUO_ERR_LOST) return status;
    if (duo_queue_drain(res->queue) == DUO_OK) return duo_stage_still_there(res);
    return duo_resources_failed(res, DUO_ERR_LOST, doing);
}

duo_status duo_stage_give_up(duo_resources *res, duo_status status, const char *doing)
{
    return duo_stage_wait_for_all(res, status, doing) == DUO_OK ? status : DUO_ERR_LOST;
}

duo_status duo_stage_wait(duo_resources *res, int i)
{
    if (!res->stage_busy[i]) return DUO_OK;
    res->stage_busy[i] = false;
    const duo_status status = duo_queue_wait_mark(res->queue, i);
    return status == DUO_OK ? duo_stage_still_there(res)
                            : duo_stage_wait_for_all(res, status, "wait for a transfer");
}

duo_status duo_stage_mark(duo_resources *res, int i)
{
    const duo_status status = duo_queue_mark(res->queue, i);
    res->stage_next = (i + 1) % DUO_STAGES;
    res->stage_busy[i] = status == DUO_OK;
    if (status == DUO_OK) return status;
    return duo_stage_wait_for_all(res, status, "mark a transfer");
}

duo_status duo_stage_make(duo_resources *res, size_t bytes)
{
    const size_t wanted = bytes <= SMALL_STAGE ? SMALL_STAGE : LARGE_STAGE;
    for (int i = 0; i < DUO_STAGES; i++) {
        if (res->stage[i].bytes >= wanted) continue;
        duo_status status = duo_stage_wait(res, i);
        if (status != DUO_OK) return status;
        if (res->stage[i].address != NULL)
            (void)duo_backend_current()->unpin(res->stage[i].address);
        res->stage[i] = (duo_space){0};
        status = duo_backend_current()->pin(res->queue_device, wanted, &res->stage[i].address);
        if (status != DUO_OK) {
            res->stage[i].address = NULL;
            return duo_resources_failed(res, status, "pin a stage");
        }
        res->stage[i].bytes = wanted;
    }
    return DUO_OK;
}
