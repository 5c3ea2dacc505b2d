/* graph_check.h - checks a node's arguments, and finds the side on which it runs. */
#ifndef DUO_GRAPH_CHECK_H
#define DUO_GRAPH_CHECK_H

#include "graph/graph.h"

/* Describes the call of an operation with these arguments. Returns its status for bad ones. */
duo_status duo_graph_describe(const duo_work *work, duo_call *call);

/* Where a node's memory is. What it counts as, to the program, decides about refusals; where it
 * lies decides how the node is done (data/region.h). */
typedef struct duo_node_place {
    duo_memory to, from; /* what it counts as: the ends of a copy; else both are the same */
    bool anywhere;       /* with these arguments the node touches nothing, and fits both sides */
    duo_node_side side;
    bool to_device; /* its output lies on the device */
} duo_node_place;

/* Checks the arguments of a node, and finds out where it is. */
duo_status duo_graph_check(duo_graph *graph, int node, const duo_work *work, duo_node_place *place);

#endif
