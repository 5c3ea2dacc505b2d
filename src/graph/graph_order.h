/* graph_order.h - the order of a graph's nodes: waves, phases and parts (graph.h). */
#ifndef DUO_GRAPH_ORDER_H
#define DUO_GRAPH_ORDER_H

#include "graph/graph.h"

/* The nodes that depend on each node, as lists in one array: those of node i are
 * [first[i], first[i + 1]). */
typedef struct duo_followers {
    int *first, *node;
} duo_followers;

bool duo_followers_find(const duo_graph *graph, duo_followers *followers);
void duo_followers_free(duo_followers *followers);

/* Puts the nodes in order, and cuts the order into parts. The nodes' sides are known. `missing`,
 * `order` and `part` have room for all nodes. DUO_ERR_CYCLE: there is no order. */
duo_status duo_graph_put_in_order(duo_graph *graph, const duo_followers *followers, int *missing);

#endif
