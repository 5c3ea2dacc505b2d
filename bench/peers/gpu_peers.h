/* gpu_peers.h - reductions on the GPU in our queue's stream, on device 0, of resident data. */
#ifndef DUO_GPU_PEERS_H
#define DUO_GPU_PEERS_H

#include <stdbool.h>

#include "bench/measure/implementation.h"

/* One variant of the bare read. False: there are no more. */
bool duo_bare_read_gpu(duo_implementation *read, int variant, duo_queue *queue,
                       const duo_stock *stock, bool wait_each);

/* `host`: NULL, or a pinned float: each result is copied there, and the host waits for it. */
bool duo_peer_cub(duo_implementation *peer, duo_operation operation, duo_queue *queue,
                  const duo_stock *stock, float *host);

/* ---- cuda_graph.c ---- */

/* The peer of graphs: calls that a program makes in a stream of its own, recorded there by CUDA
 * itself, and launched as a CUDA graph. The driver is opened at run time. */

/* NULL, or why not. From now on, what this thread queues in the device's stream is recorded and not
 * done. */
const char *duo_peer_cuda_graph_begin(int device, void *stream);
/* Ends that, also where a call has failed meanwhile. NULL, and *graph can be launched; or why
 * not. */
const char *duo_peer_cuda_graph_end(void *stream, void **graph);

/* Queues the graph's work; false: it failed. */
bool duo_peer_cuda_graph_launch(void *graph, void *stream);
void duo_peer_cuda_graph_close(void *graph); /* NULL does nothing */

#endif
