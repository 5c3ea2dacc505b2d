/*
 * piece.h - copies of pieces between runs on a device and a packed buffer on the host.
 *
 * A piece is a range of elements of the runs (data/runs.h), counted in order.
 */
#ifndef DUO_PIECE_H
#define DUO_PIECE_H

#include "data/runs.h"
#include "gpu/backend/backend.h"

/* duo_queue_copy; or duo_queue_copy_now if the packed buffer is plain memory. */
typedef duo_status (*duo_copying)(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                                  size_t src_pitch, size_t width, size_t height);

/* Queues the copies of elements [from, from + count) between a packed buffer and runs device_ld
 * apart on the device. */
duo_status duo_piece_copy(duo_queue *queue, duo_copying copy, const duo_runs *r, float *device,
                          int64_t device_ld, float *packed, int64_t from, int64_t count,
                          bool to_device);

#endif
