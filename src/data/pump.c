/* pump.c - see pump.h */
#include "data/pump.h"

#include "data/recording.h"
#include "data/stage.h"
#include "gpu/backend/devices.h"

/* duo_queue_copy; or duo_queue_copy_now for plain memory. */
typedef duo_status (*copying)(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                              size_t src_pitch, size_t width, size_t height);

/* Queues the copies of a piece between a packed buffer and the device. */
static duo_status copy_piece(duo_queue *queue, copying copy, const duo_piece *p, float *packed,
                             bool to_device)
{
    duo_status status = DUO_OK;
    int64_t i = 0;
    if (p->device_ld == p->runs->rows) { /* no gaps there */
        float *const there = p->device + p->from;
        const size_t width = (size_t)p->count * sizeof(float);
        return to_device ? copy(queue, there, width, packed, width, width, 1)
                         : copy(queue, packed, width, there, width, width, 1);
    }
    while (i < p->count && status == DUO_OK) {
        const int64_t column = (p->from + i) / p->runs->rows, row = (p->from + i) % p->runs->rows;
        float *const there = p->device + column * p->device_ld + row;
        /* All whole runs in one copy; a partial run, first or last, in a copy of its own. */
        int64_t piece = p->runs->rows - row < p->count - i ? p->runs->rows - row : p->count - i,
                columns = 1;
        if (row == 0 && p->count - i >= p->runs->rows) columns = (p->count - i) / p->runs->rows;
        const size_t width = (size_t)piece * sizeof(float);
        const size_t pitch = columns > 1 ? (size_t)p->device_ld * sizeof(float) : width;
        if (to_device)
            status = copy(queue, there, pitch, packed + i, width, width, (size_t)columns);
        else
            status = copy(queue, packed + i, width, there, pitch, width, (size_t)columns);
        i += piece * columns;
    }
    return status;
}

/* A copy could not be queued. A streamed product waits for its queues when it gives up. */
static duo_status failed(const duo_pump *pump, duo_queue *queue, int device, duo_status status)
{
    return pump->step != NULL
               ? duo_resources_failed_on(pump->res, device, status, "queue a transfer")
               : duo_stage_give_up(pump->res, queue, device, status, "queue a transfer");
}

static float *memory_of(const duo_pump *pump, int stage)
{
    return pump->plain != NULL ? pump->plain : pump->ring->stage[stage].space.address;
}

int64_t duo_pump_room(const duo_pump *pump)
{
    const size_t bytes = pump->plain != NULL ? (size_t)DUO_LARGEST_STAGE
                                             : pump->ring->stage[pump->ring->next].space.bytes;
    return (int64_t)(bytes / sizeof(float));
}

/* Queues the copy of a piece that is in the next stage, or comes there. */
static duo_status queue_copy(const duo_pump *pump, duo_queue *queue, int device,
                             const duo_piece *piece, bool to_device)
{
    const int stage = pump->ring->next;
    const duo_row row = to_device ? DUO_ROW_UP : DUO_ROW_DOWN;
    if (pump->step != NULL) duo_record_begin(pump->res, pump->step, row);
    const duo_status status =
        copy_piece(queue, pump->plain != NULL ? duo_queue_copy_now : duo_queue_copy, piece,
                   memory_of(pump, stage), to_device);
    if (pump->step != NULL) duo_record_end(pump->res, pump->step, row);
    if (status != DUO_OK) return failed(pump, queue, device, status);
    return pump->plain != NULL ? duo_stage_still_there(device)
                               : duo_stage_mark(pump->res, pump->ring, stage, queue, device);
}

static void pack(const duo_pump *pump, int stage, const duo_piece *p, duo_packing_way way)
{
    if (pump->step != NULL) duo_record_begin(pump->res, pump->step, DUO_ROW_HOST);
    duo_runs_pack(p->runs, p->host, memory_of(pump, stage), p->from, p->count, way, pump->threads);
    if (pump->step != NULL) duo_record_end(pump->res, pump->step, DUO_ROW_HOST);
}

duo_status duo_pump_up(const duo_pump *pump, duo_queue *queue, int device, const duo_piece *piece)
{
    pack(pump, pump->ring->next, piece, pump->packing);
    return queue_copy(pump, queue, device, piece, true);
}

duo_status duo_pump_down(const duo_pump *pump, duo_queue *queue, int device, const duo_piece *piece,
                         int *stage)
{
    *stage = pump->plain != NULL ? -1 : pump->ring->next;
    return queue_copy(pump, queue, device, piece, false);
}

void duo_pump_unpack(const duo_pump *pump, int stage, const duo_piece *piece)
{
    pack(pump, stage, piece, duo_unpacking_way_of(pump->packing));
}
