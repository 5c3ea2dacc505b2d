/* stream_product.h - runs a product whose operands are partly in host memory, on the GPU. */
#ifndef DUO_STREAM_PRODUCT_H
#define DUO_STREAM_PRODUCT_H

#include "choice/select.h"
#include "data/resources.h"

/* Places the call, makes its plan and runs it. Outcomes and *partly as of duo_run_gpu. */
duo_outcome duo_stream_product(duo_resources *res, const duo_call *call, duo_call *local,
                               const duo_algorithm *algorithm, const duo_conditions *conditions,
                               bool *partly);

#endif
