/* graph_check.h - what a node's arguments are worth, and on which side it runs. */
#ifndef DUO_GRAPH_CHECK_H
#define DUO_GRAPH_CHECK_H

#include "graph/graph.h"

/* The call of an operation: arguments as they are; or the status of that call. */
duo_status duo_graph_describe(const duo_work *work, duo_call *call);

/* Where a node's memory is. What it counts as, to the program, decides what is refused; where it
 * lies, how the node is done (data/region.h). */
typedef struct duo_node_place {
    duo_memory to, from; /* what it counts as: of a copy either end, else both are the same */
    bool anywhere;       /* with these arguments the node touches nothing, and could be elsewhere */
    duo_node_side side;
    bool to_device; /* what it writes lies on the device */
} duo_node_place;

/* Checks the arguments of a node, and finds out where it is. */
duo_status duo_graph_check(duo_graph *graph, int node, const duo_work *work, duo_node_place *place);

#endif
