/* run_stream.h - runs a product whose operands are partly in host memory, on the GPU. */
#ifndef DUO_RUN_STREAM_H
#define DUO_RUN_STREAM_H

#include "choice/select.h"
#include "data/resources.h"

/* Places the call, makes its plan and runs it. Outcomes and *partly as of duo_run_gpu. */
duo_outcome duo_run_stream(duo_resources *res, const duo_call *call, duo_call *local,
                           const duo_algorithm *algorithm, const duo_conditions *conditions,
                           bool *partly);

#endif
