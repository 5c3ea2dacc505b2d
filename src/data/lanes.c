/* lanes.c - the queues of a streamed product on each device (lanes.h). */
#include "data/lanes.h"

#include "gpu/backend/devices.h"

static duo_status open_queue(duo_resources *res, int device, duo_queue **queue)
{
    if (*queue != NULL) return DUO_OK;
    const duo_status status = duo_queue_open(device, NULL, res->priority, queue);
    if (status == DUO_OK) return DUO_OK;
    *queue = NULL;
    return duo_resources_failed_on(res, device, status, "open a queue");
}

/* Opens a lane on a device. If it was open on another device it is closed first: a device may have
 * been lost meanwhile. *fresh: it was not open before. */
static duo_status open_lane(duo_resources *res, int i, int device, bool several, bool *fresh)
{
    duo_lane *const lane = &res->lane[i];
    if (lane->compute != NULL && lane->device != device) duo_resources_close_lane(res, i);
    *fresh |= several ? lane->peer == NULL : lane->down == NULL;
    lane->device = device;
    if (i == 0) lane->compute = res->queue;
    duo_status status = open_queue(res, device, &lane->compute);
    if (status == DUO_OK) status = open_queue(res, device, &lane->up);
    if (status == DUO_OK) status = open_queue(res, device, &lane->down);
    if (status == DUO_OK && several) status = open_queue(res, device, &lane->peer);
    return status;
}

duo_status duo_lanes_failed_between(duo_resources *res, const duo_lane *one, const duo_lane *other,
                                    duo_status status, const char *doing)
{
    const duo_lane *const lanes[] = {one, other};
    bool idle, found = false;
    for (int i = 0; i < 2 && status == DUO_ERR_LOST; i++)
        if (duo_queue_idle(lanes[i]->up, &idle) == DUO_ERR_LOST) {
            (void)duo_resources_failed_on(res, lanes[i]->device, DUO_ERR_LOST, doing);
            found = true;
        }
    return found ? status : duo_resources_failed_on(res, one->device, status, doing);
}

/* Links every two lanes. */
static duo_status link_lanes(duo_resources *res, int devices)
{
    res->unlinked = false;
    for (int i = 0; i < devices; i++)
        for (int other = 0; other < devices; other++) {
            const duo_lane *const lane = &res->lane[i], *const to = &res->lane[other];
            bool direct = true;
            if (i == other) continue;
            const duo_status status = duo_device_link(lane->device, to->device, &direct);
            if (status == DUO_ERR_LOST)
                return duo_lanes_failed_between(res, lane, to, status, "link devices");
            if (status != DUO_OK || !direct) res->unlinked = true;
        }
    return DUO_OK;
}

duo_status duo_lanes_open(duo_resources *res, const int *device, int devices)
{
    bool fresh = false;
    for (int i = 0; i < devices; i++) {
        const duo_status status = open_lane(res, i, device[i], devices > 1, &fresh);
        if (status != DUO_OK) return status;
    }
    return fresh && devices > 1 ? link_lanes(res, devices) : DUO_OK;
}
