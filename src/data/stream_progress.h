/* stream_progress.h - how far a streamed product is: an event each second, if events are told. */
#ifndef DUO_STREAM_PROGRESS_H
#define DUO_STREAM_PROGRESS_H

#include "data/resources.h"

typedef struct duo_stream_progress {
    bool told;            /* false: nobody wants to know; nothing else is set */
    double begin, next;   /* seconds of the clock: of the call, of the next event */
    const duo_call *call; /* the whole product */
    const duo_resources *res;
} duo_stream_progress;

/* Begins to tell of the product that runs by res->plan. */
void duo_stream_progress_begin(duo_stream_progress *progress, const duo_resources *res,
                               const duo_call *call);

/*
 * Tells, if it is time. `marks`: how many marks a device's products use in turn, and as many its
 * tiles. Products are queued up to step `queued`, tiles up to step `fetched`.
 */
void duo_stream_progress_tell(duo_stream_progress *progress, int marks, int queued, int fetched);

#endif
