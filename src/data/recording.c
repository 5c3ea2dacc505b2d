/* recording.c - when each step of a streamed product ran (recording.h). */
#define _GNU_SOURCE
#include "data/recording.h"

#include <math.h>
#include <stdlib.h>

#include "gpu/backend/devices.h"
#include "host/clock.h"

static duo_queue *queue_of(const duo_resources *res, int lane, duo_row row)
{
    return row == DUO_ROW_UP     ? res->lane[lane].up
           : row == DUO_ROW_DOWN ? res->lane[lane].down
           : row == DUO_ROW_PEER ? res->lane[lane].peer
                                 : res->lane[lane].compute;
}

/* Returns the number of the stamp that is now behind the queue's work. */
static int stamp(duo_resources *res, int lane, duo_row row)
{
    duo_recording *const r = res->recording;
    const int number = r->stamps[lane][row]++;
    if (duo_backend_current()->stamp(queue_of(res, lane, row), number) != DUO_OK)
        r->complete = false;
    return number;
}

void duo_recording_begin(duo_resources *res)
{
    duo_recording *const r = res->recording;
    if (r == NULL) return;
    *r = (duo_recording){.record = r->record, .room = r->room, .complete = true};
    for (int lane = 0; lane < res->plan.of.devices; lane++) (void)stamp(res, lane, DUO_ROW_UP);
    r->origin = duo_now_seconds();
}

void duo_record_begin(duo_resources *res, const duo_step *step, duo_row row)
{
    duo_recording *const r = res->recording;
    if (r == NULL) return;
    if (r->count == r->room) {
        const int room = r->room > 0 ? 2 * r->room : 256;
        duo_record *const grown = realloc(r->record, (size_t)room * sizeof *grown);
        if (grown == NULL) {
            r->complete = false;
            return;
        }
        r->record = grown;
        r->room = room;
    }
    duo_record *const record = &r->record[r->count++];
    *record = (duo_record){.step = (int)(step - res->plan.step), .row = row};
    if (row == DUO_ROW_HOST)
        record->begin = duo_now_seconds() - r->origin;
    else
        record->stamp = stamp(res, step->device, row);
}

void duo_record_end(duo_resources *res, const duo_step *step, duo_row row)
{
    duo_recording *const r = res->recording;
    if (r == NULL || r->count == 0) return;
    if (row == DUO_ROW_HOST)
        r->record[r->count - 1].end = duo_now_seconds() - r->origin;
    else
        (void)stamp(res, step->device, row);
}

/* Seconds from the lane's first stamp. Work that was queued before the call may end before it. */
static double time_of(duo_resources *res, int lane, duo_row row, int number)
{
    double seconds = 0.0;
    if (duo_backend_current()->stamp_seconds(queue_of(res, lane, row), number, res->lane[lane].up,
                                             0, &seconds) != DUO_OK)
        res->recording->complete = false;
    return fmax(seconds, 0.0);
}

void duo_recording_end(duo_resources *res)
{
    duo_recording *const r = res->recording;
    if (r == NULL) return;
    for (int lane = 0; lane < res->plan.of.devices; lane++)
        for (int row = 0; row < DUO_ROW_HOST; row++) {
            duo_queue *const queue = queue_of(res, lane, (duo_row)row);
            r->complete &= queue == NULL || duo_queue_finish(queue) == DUO_OK;
        }
    for (int i = 0; i < r->count && r->complete; i++) {
        duo_record *const record = &r->record[i];
        const int lane = res->plan.step[record->step].device;
        if (record->row == DUO_ROW_HOST) continue;
        record->begin = time_of(res, lane, record->row, record->stamp);
        record->end = time_of(res, lane, record->row, record->stamp + 1);
    }
}
