/* graph_build.h - lays out a graph. */
#ifndef DUO_GRAPH_BUILD_H
#define DUO_GRAPH_BUILD_H

#include "graph/graph.h"

/* Lays out a graph with checked nodes, and settles it. The old layout goes, once the last launch is
 * done. On failure the graph has no layout. */
duo_status duo_graph_lay_out(duo_graph *graph);

#endif
