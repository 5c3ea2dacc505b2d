/* graph_cost.h - how many nodes of a wave the host does side by side, by their predicted times. */
#ifndef DUO_GRAPH_COST_H
#define DUO_GRAPH_COST_H

#include "graph/graph.h"

/* How many of these nodes the host does side by side: `most`, each with its share of the threads;
 * or 1: one after the other, each with all threads. */
int duo_graph_at_once(const duo_graph *graph, const int *node, int nodes, int most);

#endif
