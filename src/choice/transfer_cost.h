/* transfer_cost.h - seconds to move a call's operands between host and device. */
#ifndef DUO_TRANSFER_COST_H
#define DUO_TRANSFER_COST_H

#include "choice/costs.h"

/* The host's rate of copying pageable memory to stages, relative to the rate of sending it, which
 * includes the link: 72 and 50 GB/s on an H100 with 16 threads. */
static const double kCopying = 1.5;

/* Seconds to bring the call's inputs to this side, and its outputs to where they belong. On the GPU
 * without streamed operands: duo_stream_seconds includes those. */
double duo_transfer_seconds(const duo_call *call, duo_side side, const duo_conditions *conditions);

/* Seconds to move one operand over the link, to the device or from it. */
double duo_link_seconds(const duo_operand *o, const duo_conditions *conditions, bool to_device);

/* Pageable memory passes through stages: while the device copies one, the host packs another. Only
 * one stage is not overlapped; it takes as long as copying this many more bytes. */
double duo_bytes_not_overlapped(double bytes);

/* Seconds of the team to check that a remembered operand has the same bytes. */
double duo_check_seconds(const duo_operand *o, const duo_conditions *conditions);

#endif
