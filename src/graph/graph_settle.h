/*
 * graph_settle.h - what a built graph need not find out at each launch: the algorithms of its
 * operations, and its work on the device as it is recorded.
 *
 * That holds as long as no node is updated, and everything it touches stays where it is. Else the
 * next launch finds it out anew.
 */
#ifndef DUO_GRAPH_SETTLE_H
#define DUO_GRAPH_SETTLE_H

#include "graph/graph.h"

/* Settles the graph, if it is not. What cannot be settled is left to calls. */
void duo_graph_settle(duo_graph *graph);

/* Holds the memory that a settled part of the device touches (data/residency.h). False: some of it
 * is no longer where it was, or about to go. Under the residency lock. */
bool duo_graph_hold(duo_graph *graph, const duo_graph_part *part);
void duo_graph_let_go(duo_graph *graph, const duo_graph_part *part);

/* Forgets what was recorded. */
void duo_graph_unsettle(duo_graph *graph);

#endif
