/* graph_steps.h - the steps of a graph, from its check to its launch, file by file. */
#ifndef DUO_GRAPH_STEPS_H
#define DUO_GRAPH_STEPS_H

#include "graph/graph.h"

/* ---- graph_build.c ---- */

/* Lays out a graph with checked nodes, and settles it. The old layout goes, once the last launch is
 * done. On failure the graph has no layout. */
duo_status duo_graph_lay_out(duo_graph *graph);

/* ---- graph_check.c ---- */

/* Describes the call of an operation with these arguments. Returns its status for bad ones. */
duo_status duo_graph_describe(const duo_work *work, duo_call *call);

/* Where a node's memory is. The kind that it counts as, to the program, decides about refusals; the
 * place where it lies decides how the node is done (data/region.h). */
typedef struct duo_node_place {
    duo_memory to, from; /* it counts as this: the ends of a copy; else both are the same */
    bool anywhere;       /* with these arguments the node touches nothing, and fits both sides */
    duo_node_side side;
    bool to_device; /* its output lies on the device */
} duo_node_place;

/* Checks the arguments of a node, and finds out where it is. */
duo_status duo_graph_check(duo_graph *graph, int node, const duo_work *work, duo_node_place *place);

/* The number of these nodes that the host does side by side: `most`, if each gets a share of the
 * threads; 1: one after the other, each with all threads. */
int duo_graph_at_once(const duo_graph *graph, const int *node, int nodes, int most);

/* ---- graph_order.c ---- */

/* The nodes that depend on each node, in one array: the followers of node i are at [first[i],
 * first[i + 1]). */
typedef struct duo_followers {
    int *first, *node;
} duo_followers;

bool duo_followers_find(const duo_graph *graph, duo_followers *followers);
void duo_followers_free(duo_followers *followers);

/* Puts the nodes in order, and cuts the order into parts. It needs the nodes' sides. `missing`,
 * `order` and `part` have room for all nodes. DUO_ERR_CYCLE: there is no order. */
duo_status duo_graph_put_in_order(duo_graph *graph, const duo_followers *followers, int *missing);

/* ---- graph_record.c ---- */

/* Records a part of the device. Its operations are fixed, its lanes are open and have their memory.
 * On failure part->recorded is unchanged. */
duo_status duo_graph_record(duo_graph *graph, duo_graph_part *part);

/* ---- graph_settle.c ---- */

/* A graph is settled once, not at each launch: this chooses the algorithms of its operations, and
 * records its work on the device. It holds until a node is updated, or memory that the graph
 * touches moves. Then the next launch settles the graph again. */

/* Settles the graph, if it is not settled. Work that cannot be settled is done by calls, at each
 * launch. */
void duo_graph_settle(duo_graph *graph);

/* Holds the memory that a settled part of the device touches (data/residency.h). False: some memory
 * has moved or is about to go. Under the residency lock. */
bool duo_graph_hold(duo_graph *graph, const duo_graph_part *part);
void duo_graph_let_go(duo_graph *graph, const duo_graph_part *part);

/* Forgets the recordings. */
void duo_graph_unsettle(duo_graph *graph);

/* ---- graph_work.c ---- */

/* Does the node's work in a context of the graph. */
duo_status duo_graph_run_node(duo_context *ctx, const duo_graph_node *node);

#endif
