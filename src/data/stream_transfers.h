/* stream_transfers.h - steps of a streamed product that move bytes: sends and fetches. */
#ifndef DUO_STREAM_TRANSFERS_H
#define DUO_STREAM_TRANSFERS_H

#include "data/stream_parts.h"

/* Queues the copy of a part of A from another device. */
duo_status duo_stream_share(duo_stream *s, const duo_step *step);

/* Begins a SEND, or goes on with it. *done: is all of it under way? *moved: was something done? */
duo_status duo_stream_send(duo_stream *s, const duo_step *step, bool *done, bool *moved);

/* Queues as many fetches of tiles with queued products as it can. */
duo_status duo_stream_fetch(duo_stream *s, bool *moved);

/* Does the memory of C have its pages? Looks before the product begins. */
void duo_stream_look_for_pages(duo_stream *s);

/* Makes some of C's pages that are not there yet, for there is nothing else to do. False: they are
 * all there. */
bool duo_stream_make_pages(duo_stream *s);

/* Unpacks the first piece in flight if it has arrived; if its pages are not there yet, makes some
 * of them instead. */
duo_status duo_stream_unpack(duo_stream *s, bool *moved);

/*
 * Is every device there? Ask after a part of C has arrived, and before it counts as final. If a
 * device copied panels from one that was lost before, the panels are garbage, but no queue of its
 * own fails (backend.h). If all devices are there now, they were there when these panels were
 * copied.
 */
duo_status duo_stream_all_there(const duo_stream *s);

#endif
