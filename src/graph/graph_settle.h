/*
 * graph_settle.h - finds out once, not at each launch of a built graph: the algorithms of its
 * operations, and the recording of its work on the device.
 *
 * This holds as long as no node is updated, and all memory that it touches stays where it is. Else
 * the next launch finds it out anew.
 */
#ifndef DUO_GRAPH_SETTLE_H
#define DUO_GRAPH_SETTLE_H

#include "graph/graph.h"

/* Settles the graph, if it is not settled. Calls do the work that cannot be settled. */
void duo_graph_settle(duo_graph *graph);

/* Holds the memory that a settled part of the device touches (data/residency.h). False: some of it
 * has moved or is about to go. Under the residency lock. */
bool duo_graph_hold(duo_graph *graph, const duo_graph_part *part);
void duo_graph_let_go(duo_graph *graph, const duo_graph_part *part);

/* Forgets the recordings. */
void duo_graph_unsettle(duo_graph *graph);

#endif
