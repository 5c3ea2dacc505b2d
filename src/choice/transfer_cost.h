/* transfer_cost.h - seconds to move a call's operands between host and device. */
#ifndef DUO_TRANSFER_COST_H
#define DUO_TRANSFER_COST_H

#include "choice/costs.h"

/* Rate at which the host copies pageable memory to stages, over that at which it is sent: the link
 * takes its part of the latter. 72 and 50 GB/s on an H100 with 16 threads. */
static const double kCopying = 1.5;

/* Seconds to bring what the call reads to this side, and what it writes to where it belongs. On the
 * GPU without the operands that are streamed: duo_stream_seconds has those. */
double duo_transfer_seconds(const duo_call *call, duo_side side, const duo_conditions *conditions);

/* Seconds to move one operand over the link, to the device or from it. */
double duo_link_seconds(const duo_operand *o, const duo_conditions *conditions, bool to_device);

/* Bytes of pageable memory pass through stages: while the device copies one the host packs another,
 * but one of them with nothing to overlap it. That takes as long as to copy so many bytes more. */
double duo_bytes_not_overlapped(double bytes);

#endif
