/* run_gpu.h - runs an algorithm of the GPU: operands are brought to the device, and results that
 * belong in host memory come home. */
#ifndef DUO_RUN_GPU_H
#define DUO_RUN_GPU_H

#include "call/context.h"

/*
 * The context's queue is open. DUO_OK or DUO_DECLINED; what is lost with a device, locating tells.
 * *partly: it declined, but parts of C are final already, as the steps of resources.plan tell:
 * call/rest.c does what is left.
 */
duo_outcome duo_run_gpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm,
                        const duo_conditions *conditions, bool *partly);

#endif
