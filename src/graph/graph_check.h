/* graph_check.h - what a node's arguments are worth, and on which side it runs. */
#ifndef DUO_GRAPH_CHECK_H
#define DUO_GRAPH_CHECK_H

#include "graph/graph.h"

/* The call of an operation: arguments as they are; or the status of that call. */
duo_status duo_graph_describe(const duo_work *work, duo_call *call);

/* Checks the arguments of a node, and finds out on which side it runs. *to_device: a copy or
 * setting writes to the device. *anywhere: with these arguments the node touches nothing, and could
 * run on the other side. */
duo_status duo_graph_check(duo_graph *graph, int node, const duo_work *work, duo_node_side *side,
                           bool *to_device, bool *anywhere);

#endif
