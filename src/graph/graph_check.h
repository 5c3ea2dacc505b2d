/* graph_check.h - what a node's arguments are worth, and on which side it runs. */
#ifndef DUO_GRAPH_CHECK_H
#define DUO_GRAPH_CHECK_H

#include "graph/graph.h"

/* The call of an operation: arguments as they are; or the status of that call. */
duo_status duo_graph_describe(const duo_work *work, duo_call *call);

/* Checks the arguments of a node, and finds out on which side it runs. *anywhere: with these
 * arguments it touches nothing, and could run on the other one. */
duo_status duo_graph_check(duo_graph *graph, int node, const duo_work *work, duo_node_side *side,
                           bool *anywhere);

#endif
