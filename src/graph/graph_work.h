/* graph_work.h - the work of one node, by calls. */
#ifndef DUO_GRAPH_WORK_H
#define DUO_GRAPH_WORK_H

#include "graph/graph.h"

/* Does the node's work in a context of the graph. */
duo_status duo_graph_run_node(duo_context *ctx, const duo_graph_node *node);

#endif
