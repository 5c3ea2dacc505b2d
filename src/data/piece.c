/* piece.c - copies of pieces (piece.h). */
#include "data/piece.h"

duo_status duo_piece_copy(duo_queue *queue, duo_copying copy, const duo_runs *r, float *device,
                          int64_t device_ld, float *packed, int64_t from, int64_t count,
                          bool to_device)
{
    duo_status status = DUO_OK;
    int64_t i = 0;
    if (device_ld == r->rows) { /* no gaps there */
        float *const there = device + from;
        const size_t width = (size_t)count * sizeof(float);
        return to_device ? copy(queue, there, width, packed, width, width, 1)
                         : copy(queue, packed, width, there, width, width, 1);
    }
    while (i < count && status == DUO_OK) {
        const int64_t column = (from + i) / r->rows, row = (from + i) % r->rows;
        float *const there = device + column * device_ld + row;
        /* All whole runs in one copy; a partial run, first or last, in a copy of its own. */
        int64_t piece = r->rows - row < count - i ? r->rows - row : count - i, columns = 1;
        if (row == 0 && count - i >= r->rows) columns = (count - i) / r->rows;
        const size_t width = (size_t)piece * sizeof(float);
        const size_t pitch = columns > 1 ? (size_t)device_ld * sizeof(float) : width;
        if (to_device)
            status = copy(queue, there, pitch, packed + i, width, width, (size_t)columns);
        else
            status = copy(queue, packed + i, width, there, pitch, width, (size_t)columns);
        i += piece * columns;
    }
    return status;
}
