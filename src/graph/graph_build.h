/* graph_build.h - how a graph is laid out. */
#ifndef DUO_GRAPH_BUILD_H
#define DUO_GRAPH_BUILD_H

#include "graph/graph.h"

/* Lays out a graph whose nodes were checked, and settles it. What it was laid out as goes, once the
 * last launch is done. On failure it is laid out as nothing. */
duo_status duo_graph_lay_out(duo_graph *graph);

#endif
