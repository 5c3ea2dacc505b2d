/*
 * cuda_graph.h - the peer of graphs: calls that a program makes in a stream of its own, recorded
 * there by CUDA itself, and launched as a CUDA graph. The driver is opened at run time.
 */
#ifndef DUO_CUDA_GRAPH_H
#define DUO_CUDA_GRAPH_H

#include <stdbool.h>

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
