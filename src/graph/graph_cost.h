/* graph_cost.h - how long the host takes for nodes, and how many of a wave it does at once. */
#ifndef DUO_GRAPH_COST_H
#define DUO_GRAPH_COST_H

#include "graph/graph.h"

/* Predicted seconds of a node that the host does, on at most so many threads of this context. */
double duo_graph_seconds(duo_context *ctx, const duo_work *work, int threads);

/* Of `nodes` nodes that the host does, how many at once: the most, or one after the other, each
 * with all threads. */
int duo_graph_at_once(const duo_graph *graph, const int *node, int nodes, int most);

#endif
