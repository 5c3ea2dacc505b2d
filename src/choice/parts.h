/* parts.h - what the predicted seconds of a candidate consist of. */
#ifndef DUO_PARTS_H
#define DUO_PARTS_H

#include "choice/select.h"

/*
 * Parts of choice->seconds, which was predicted for this call under these conditions.
 * Transfers: what the call takes longer than if the link took no time. Launch: what it would take
 * with nothing to move or to compute; on the CPU, to share the work among threads. The rest is
 * compute. A candidate that does not accept has infinite compute alone.
 */
duo_parts duo_parts_of(const duo_call *call, const duo_conditions *conditions,
                       const duo_choice *choice);

#endif
