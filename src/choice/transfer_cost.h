/* transfer_cost.h - seconds to move a call's operands between host and device. */
#ifndef DUO_TRANSFER_COST_H
#define DUO_TRANSFER_COST_H

#include "choice/costs.h"

/* Seconds to bring what the call reads to this side, and what it writes to where it belongs. On the
 * GPU without the operands that are streamed: duo_stream_seconds has those. */
double duo_transfer_seconds(const duo_call *call, duo_side side, const duo_conditions *conditions);

/* As many bytes of pageable memory take as long to send, or fetch, as so many at the link's rate.
 * They pass through stages: while the device copies one the host packs another, but one of them
 * with nothing to overlap it. */
double duo_staged_bytes(double bytes);

#endif
