/* run_gpu.h - runs an algorithm of the GPU: operands are brought to the device, and results that
 * belong in host memory come home. */
#ifndef DUO_RUN_GPU_H
#define DUO_RUN_GPU_H

#include "call/context.h"

/* The context's queue is open. DUO_OK; DUO_DECLINED, where the first *done elements of C, in order
 * of columns, are final; or an error for the user. */
duo_outcome duo_run_gpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm,
                        int64_t *done);

#endif
