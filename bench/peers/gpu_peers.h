/* gpu_peers.h - reductions on the GPU in our queue's stream, on device 0, of resident data. */
#ifndef DUO_GPU_PEERS_H
#define DUO_GPU_PEERS_H

#include "bench/measure/implementation.h"

/* One variant of the bare read. False: there are no more. */
bool duo_bare_read_gpu(duo_implementation *read, int variant, duo_queue *queue,
                       const duo_stock *stock, bool wait_each);

/* `host`: NULL, or a pinned float: each result is copied there, and the host waits for it. */
bool duo_peer_cub(duo_implementation *peer, duo_operation operation, duo_queue *queue,
                  const duo_stock *stock, float *host);

#endif
