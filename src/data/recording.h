/*
 * recording.h - when each step of a streamed product ran: by the devices' own clocks, between two
 * stamps in its queue. Copies by the host are timed by the host's clock.
 *
 * Only for measuring: set res->recording before the call and read it after. It names steps of
 * res->plan, which are there until the next call.
 */
#ifndef DUO_RECORDING_H
#define DUO_RECORDING_H

#include "data/resources.h"

/* Where a step works. DUO_ROW_HOST: the host copies pageable memory to or from a stage. */
typedef enum duo_row {
    DUO_ROW_UP,
    DUO_ROW_COMPUTE,
    DUO_ROW_DOWN,
    DUO_ROW_PEER,
    DUO_ROW_HOST,
    DUO_ROWS
} duo_row;

/* A step, or a piece of one. */
typedef struct duo_record {
    int step; /* of the plan */
    duo_row row;
    int stamp;         /* the one before it; the next is behind it. Unused in the host's row */
    double begin, end; /* seconds since the call's steps were begun */
} duo_record;

typedef struct duo_recording {
    duo_record *record; /* in the order of duo_record_begin; free() it */
    int count, room;
    bool complete; /* false: there was no memory, or no stamp could be set or read */
    int stamps[DUO_LANES][DUO_ROW_HOST]; /* set so far */
    double origin;                       /* of the host's clock */
} duo_recording;

/* All of these do nothing if res->recording is NULL. */

/* Begins anew, with a stamp in each device's queue up: its times count from there. */
void duo_recording_begin(duo_resources *res);

/* Right before and right behind the work of a step, or a piece of it, is queued or done. The
 * pieces of one row do not overlap. */
void duo_record_begin(duo_resources *res, const duo_step *step, duo_row row);
void duo_record_end(duo_resources *res, const duo_step *step, duo_row row);

/* Waits for the queues, and reads the stamps. */
void duo_recording_end(duo_resources *res);

#endif
