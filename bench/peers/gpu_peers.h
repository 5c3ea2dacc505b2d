/* gpu_peers.h - reductions of resident data on device 0, in our queue's stream. */
#ifndef DUO_GPU_PEERS_H
#define DUO_GPU_PEERS_H

#include <stdbool.h>

#include "bench/measure/implementation.h"
#include "bench/peers/gpu_kernels.h"

/* A variant of the bare read. False: there are no more. */
bool duo_bare_read_gpu(duo_implementation *read, int variant, duo_queue *queue,
                       const duo_stock *stock, bool wait_each);

/* CUB with a promise. `host`: NULL, or a pinned float. Each result is copied there, and the host
 * waits for it. False: CUB lacks it. */
bool duo_peer_cub(duo_implementation *peer, duo_operation operation, duo_cub_promise promise,
                  duo_queue *queue, const duo_stock *stock, float *host);

/* ---- cuda_graph.c ---- */

/* The peer of graphs: calls of a program in its own stream, recorded there by CUDA, and launched as
 * a CUDA graph. The driver is opened at run time. */

/* From now on this thread's work for the device's stream is recorded, not done. Returns NULL, or
 * the reason of a failure. */
const char *duo_peer_cuda_graph_begin(int device, void *stream);
/* Ends the recording, also if a call has failed meanwhile. Returns NULL, with *graph to launch; or
 * the reason of a failure. */
const char *duo_peer_cuda_graph_end(void *stream, void **graph);

/* Queues the graph's work. False: it failed. */
bool duo_peer_cuda_graph_launch(void *graph, void *stream);
void duo_peer_cuda_graph_close(void *graph); /* NULL does nothing */

#endif
