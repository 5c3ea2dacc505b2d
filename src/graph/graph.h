/*
 * graph.h - graphs: nodes, how they are laid out when the graph is built, and what runs them.
 *
 * A graph runs by the library's own contexts and events. Nodes that the host does are pieces of a
 * job of the team, wave by wave: a node's wave is one behind the last of those that it depends on.
 * Nodes that are queued on the device are calls of contexts that the graph owns, its lanes, and
 * follow each other by events where they are in different lanes.
 *
 * One thread at a time uses a graph. Graphs are never freed: an ended one waits in a pool, so that
 * a stale handle is recognised. docs/architecture.md tells who changes which field, and when.
 */
#ifndef DUO_GRAPH_H
#define DUO_GRAPH_H

#include "call/context.h"
#include "data/event.h"

/* Lanes on the device, and contexts for nodes that the host does at once. */
enum { DUO_GRAPH_LANES = 8, DUO_GRAPH_HOST_LANES = 32 };

typedef enum duo_node_side {
    DUO_NODE_HOST,    /* the host does it, with others of its wave */
    DUO_NODE_QUEUED,  /* a lane queues it on the device */
    DUO_NODE_FETCHING /* a lane copies it to host memory, and waits for that */
} duo_node_side;

typedef struct duo_graph_node {
    duo_work work;
    int *after; /* numbers of the nodes on which it depends, each once, from the least */
    int afters;

    /* Laid out by the build. */
    duo_node_side side;
    int wave;
    int lane;                        /* QUEUED, FETCHING */
    double seconds_one, seconds_all; /* HOST: predicted, on one thread and on all */
    duo_event *event; /* QUEUED: behind it, where the host or another lane follows; else NULL */

    /* Of the last launch. */
    duo_status status; /* of its own call, or of one that it depends on */
} duo_graph_node;

struct duo_graph {
    uint32_t magic;
    uint32_t serial; /* in the handles of its nodes; another one each time that it is made */
    duo_graph_node *node;
    int nodes, room;
    char detail[256];

    /* Laid out by the build. */
    bool built;
    int *order;    /* the nodes, wave by wave */
    int *wave_end; /* of each wave, in `order` */
    int *at_once;  /* of each wave: so many nodes does the host do side by side */
    int *hosts;    /* room for the nodes that the host does in one wave */
    int waves, lanes, host_lanes;
    int threads; /* of the context that it was built with: duo_set_threads */
    int device;
    duo_context *lane[DUO_GRAPH_LANES];
    duo_context *host;                            /* for nodes that the host does alone */
    duo_context *host_lane[DUO_GRAPH_HOST_LANES]; /* for those that it does at once */
    duo_event *begin;                             /* behind what the launching context had before */
    duo_event *end[DUO_GRAPH_LANES];              /* behind the last launch in each lane */

    duo_graph *next; /* in the pool */
};

/* A new graph, or NULL: out of memory. */
duo_graph *duo_graph_make(void);
/* Ends a graph of which nothing is built any more. */
void duo_graph_end(duo_graph *graph);
/* Is it a live graph? NULL is not. */
bool duo_graph_live(const duo_graph *graph);

/* The handle of a node by its number, from 0; and back, -1: this graph has no such node. */
duo_node duo_graph_handle(const duo_graph *graph, int number);
int duo_graph_number(const duo_graph *graph, duo_node node);

/* What a node of this kind does, in a word; NULL: there is no such kind. */
const char *duo_graph_kind(duo_work_kind kind);

/* Notes what is wrong with a node (-1: with none); returns the status. */
duo_status duo_graph_wrong(duo_graph *graph, int node, duo_status status, const char *what);

#endif
