/* stream_down.h - steps of the down queue: what a streamed product fetches. */
#ifndef DUO_STREAM_DOWN_H
#define DUO_STREAM_DOWN_H

#include "data/stream_parts.h"

/* Queues what can be queued of the tiles whose products are queued. */
duo_status duo_stream_fetch(duo_stream *s, bool *moved);

/* Unpacks the first piece in flight if it has arrived. */
duo_status duo_stream_unpack(duo_stream *s, bool *moved);

/*
 * Is every device there? To be asked when a part of C has arrived, and before it is taken for good:
 * panels that a device copied from one that was lost before are garbage, and no queue of its own
 * fails (backend.h). If all are there now, they were when these panels were copied.
 */
duo_status duo_stream_all_there(const duo_stream *s);

#endif
