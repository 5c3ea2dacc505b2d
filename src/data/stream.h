/*
 * stream.h - runs the plan of a product with operands in host memory (data/plan.h).
 *
 * The caller's thread queues the steps on the queues of each device. Pageable memory goes through
 * two rings of pinned stages, which the team fills and drains: the thread waits only when no stage
 * is free and nothing has arrived.
 */
#ifndef DUO_STREAM_H
#define DUO_STREAM_H

#include "data/resources.h"

/*
 * Runs res->plan. `local` is the placed call: operands that are sent or fetched have their
 * addresses in host memory, the others on the device. DUO_OK: C is home, or its last product is
 * queued, and the host's operands have been read. DUO_ERR_MEMORY: there is no room for the slots.
 * DUO_DECLINED: something failed; nothing runs any more, and the steps' `done` tells which parts of
 * C are final (data/plan.h).
 */
duo_outcome duo_stream_run(duo_resources *res, duo_algorithm_id algorithm, const duo_call *local);

#endif
