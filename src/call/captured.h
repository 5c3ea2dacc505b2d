/*
 * captured.h - calls of a context while the caller captures its stream for a CUDA graph: their
 * kernels become nodes of that graph.
 *
 * Nothing is allocated, awaited or moved: all operands are in device memory. The caller also orders
 * the graph and the work of other contexts.
 */
#ifndef DUO_CAPTURED_H
#define DUO_CAPTURED_H

#include "call/context.h"

/* Notes why a call cannot be recorded: an operand is elsewhere, or the queue is not open yet.
 * Returns DUO_ERR_CAPTURE. */
duo_status duo_captured_refuse(duo_resources *res);

/* Records a call that only stores 0; or a copy of bytes. */
duo_status duo_captured_zero(duo_context *ctx, float *result);
duo_status duo_captured_copy(duo_context *ctx, void *dst, const void *src, size_t bytes);

#endif
