/*
 * graph.h - graphs: nodes, how they are laid out when the graph is built, and what runs them.
 *
 * A built graph is cut into parts, which a launch does in this order:
 *
 *   phase   a node that the launching thread does (host work, calls on pageable memory) is in the
 *           phase of what it depends on; what the device does behind it is in the next one
 *   early   of a phase, what the device does and the thread waits for
 *   late    the other work of the device
 *   thread  what the thread does, wave by wave: a wave is one behind the last of the nodes that its
 *           nodes depend on
 *
 * A part of the device is recorded (backend.h) and replayed by each launch. What is recorded runs
 * in queues of contexts that the graph owns, its lanes; where it could not be recorded, calls in
 * the lanes do the part. The thread's work is shared by the team.
 *
 * One thread at a time uses a graph. Graphs are never freed: an ended one waits in a pool
 * (host/handle.h). docs/architecture.md tells who changes which field, and when.
 */
#ifndef DUO_GRAPH_H
#define DUO_GRAPH_H

#include <stdatomic.h>

#include "call/decide.h"
#include "data/event.h"

/* Lanes on the device, and contexts for nodes that the host does at once. */
enum { DUO_GRAPH_LANES = 8, DUO_GRAPH_HOST_LANES = 32 };

typedef enum duo_node_side {
    DUO_NODE_HOST,   /* the host does it, with others of its wave */
    DUO_NODE_QUEUED, /* it is work of the device */
    DUO_NODE_CALLED  /* it has memory on the device and in pageable memory: the thread calls it */
} duo_node_side;

typedef struct duo_graph_node {
    duo_work work;
    int *after; /* numbers of the nodes on which it depends, each once, from the least */
    int afters;

    /* Laid out by the build. */
    duo_memory to,
        from; /* what its memory counts as: of a copy either end, else both are the same */
    duo_node_side side;
    bool to_device; /* CALLED: what it writes lies on the device */
    int wave, phase;
    bool early;
    int part, lane;     /* lane: QUEUED */
    duo_event *event;   /* where another lane follows, or CALLED to the device; else NULL */
    duo_signal *signal; /* the same in what is recorded; made when first needed */

    /* Found out when the graph is settled. */
    bool fixed; /* an operation that need not be decided again */
    duo_call call;
    duo_choice choice; /* algorithm NULL: there is nothing to do but, of a reduction, store 0 */
    double share;      /* QUEUED: the part of the device that its launch counts on */
    int use;           /* the first of the graph's uses that are its own */

    /* Of the last launch. */
    duo_status status; /* of its own call, or of one that it depends on */
} duo_graph_node;

/* Nodes that a launch does at once, [from, to) of `order`. */
typedef struct duo_graph_part {
    bool queued; /* on the device; else by the thread */
    int from, to;
    duo_event *event; /* queued: behind it, where the thread waits for it; else NULL */
    bool fetches;     /* queued: it copies to the host, for which a launch waits */
    int at_once;      /* thread: so many nodes does the host do side by side */

    /* Found out when the graph is settled. */
    int use, uses; /* of the graph's: from, and how many */
    duo_recorded *recorded;
} duo_graph_part;

/* Memory that a fixed node or a copy touches, and where it was when the graph was settled: a look
 * at `changes` tells whether it is still there. */
typedef struct duo_graph_use {
    uintptr_t low, high;
    duo_region *region;   /* NULL: it was in none */
    duo_region_kind kind; /* of that, as another one may have its address since */
    bool written;
    uint64_t packed; /* number of the packed operand that is read instead; 0: none */
    bool held;       /* the region is: while the part is recorded or replayed */
} duo_graph_use;

struct duo_graph {
    duo_handled handled;
    uint32_t serial; /* in the handles of its nodes; another one each time that it is made */
    duo_graph_node *node;
    int nodes, room;
    char detail[256];

    /* Laid out by the build. */
    bool built;
    bool moved; /* memory of an update lies on another side: the next launch lays it out anew */
    int *order; /* the nodes, part by part */
    duo_graph_part *part;
    int parts;
    int *hosts; /* room for the nodes that the host does in one part */
    int lanes, host_lanes;
    int threads; /* of the context that it was built with: duo_set_threads */
    int device;
    duo_context *lane[DUO_GRAPH_LANES];
    duo_context *caller;                          /* does what is CALLED; NULL: nothing is */
    duo_context *host;                            /* for nodes that the host does alone */
    duo_context *host_lane[DUO_GRAPH_HOST_LANES]; /* for those that it does at once */
    duo_event *begin;                             /* behind what the launching context had before */
    duo_event *end;                               /* behind the last launch */
    atomic_bool failed; /* some node of the last launch did: else all statuses are DUO_OK */
    duo_context *last;  /* in which that was; NULL: nowhere yet */
    duo_event *lane_end[DUO_GRAPH_LANES];     /* behind calls in a lane */
    duo_signal *lane_signal[DUO_GRAPH_LANES]; /* behind what is recorded there; made when needed */

    /* Found out when it is settled (graph_settle.h). */
    bool settled;
    uint64_t changes; /* duo_residency_changes() then */
    duo_graph_use *use;
    int uses, use_room;

    duo_graph *next; /* in the pool */
};

/* A new graph, or NULL: out of memory. */
duo_graph *duo_graph_make(void);
/* Ends a graph of which nothing is built any more. */
void duo_graph_unmake(duo_graph *graph);
/* The live graph of a handle; or NULL. */
static inline duo_graph *duo_graph_of(duo_graph *handle)
{
    return duo_handle_object(handle, DUO_HANDLE_GRAPH);
}

/* The handle of a node by its number, from 0; and back, -1: this graph has no such node. */
duo_node duo_graph_handle(const duo_graph *graph, int number);
int duo_graph_number(const duo_graph *graph, duo_node node);

/* CPU threads of each node, where the host does so many at once. */
int duo_graph_threads(const duo_graph *graph, int at_once);

/* What a node of this kind does, in a word; NULL: there is no such kind. */
const char *duo_graph_kind(duo_work_kind kind);

/* The work that a program gave for a node (-1: a new one), as this version knows it. */
duo_status duo_graph_take_work(duo_graph *graph, int node, const duo_work *given, duo_work *work);

/* Notes what is wrong with a node (-1: with none); returns the status. */
duo_status duo_graph_wrong(duo_graph *graph, int node, duo_status status, const char *what);

#endif
