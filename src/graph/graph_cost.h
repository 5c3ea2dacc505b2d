/* graph_cost.h - how many nodes of a wave the host does at once, by their predicted times. */
#ifndef DUO_GRAPH_COST_H
#define DUO_GRAPH_COST_H

#include "graph/graph.h"

/* Of `nodes` nodes that the host does, how many at once: the most, each with its share of the
 * threads, or one after the other, each with all. */
int duo_graph_at_once(const duo_graph *graph, const int *node, int nodes, int most);

#endif
