/* stream_up.h - steps of the up queue: a streamed product's sends. */
#ifndef DUO_STREAM_UP_H
#define DUO_STREAM_UP_H

#include "data/stream_parts.h"

/* Queues the copy of a part of A from another device. */
duo_status duo_stream_share(duo_stream *s, const duo_step *step);

/* Begins a SEND, or goes on with it. *done: is all of it under way? *moved: was something done? */
duo_status duo_stream_send(duo_stream *s, const duo_step *step, bool *done, bool *moved);

#endif
