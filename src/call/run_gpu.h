/* run_gpu.h - runs an algorithm of the GPU, with all operands brought there and results taken
 * home. */
#ifndef DUO_RUN_GPU_H
#define DUO_RUN_GPU_H

#include "call/context.h"

/* DUO_OK; DUO_DECLINED with the first *done elements of C final; or an error for the user. The
 * queue is open. */
duo_outcome duo_run_gpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm,
                        int64_t *done);

#endif
