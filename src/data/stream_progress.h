/*
 * stream_progress.h - how far a streamed product is: an event a second, where events are told.
 */
#ifndef DUO_STREAM_PROGRESS_H
#define DUO_STREAM_PROGRESS_H

#include "data/resources.h"

typedef struct duo_stream_progress {
    bool told;            /* false: nobody wants to know; nothing else is set */
    double begin, next;   /* of the clock, in seconds: the call's, and of the next event */
    const duo_call *call; /* the whole product */
    const duo_resources *res;
} duo_stream_progress;

/* Begins to tell of a product that runs by res->plan. */
void duo_stream_progress_begin(duo_stream_progress *progress, const duo_resources *res,
                               const duo_call *call);

/*
 * Tells, if it is time. `marks`: so many marks serve the plan's products of a device by turns, and
 * so many its tiles. Products stand in the queues up to step `queued`, tiles up to step `fetched`.
 */
void duo_stream_progress_tell(duo_stream_progress *progress, int marks, int queued, int fetched);

#endif
