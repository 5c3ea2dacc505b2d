/*
 * graph.h - graphs: nodes, their layout when the graph is built, and the contexts that run them.
 *
 * A built graph is cut into parts. A launch does them in this order:
 *
 *   phase   a node of the launching thread (host work, calls on pageable memory) is in the phase of
 *           the nodes before it; device work that depends on it is in the next phase
 *   early   in a phase, the device's work that the thread waits for
 *   late    the other work of the device
 *   thread  the thread's work, wave by wave: a node's wave is one more than the last wave of the
 *           nodes that it depends on
 *
 * A part of the device is recorded (backend.h), and each launch replays it. It is recorded in the
 * queues of contexts that the graph owns, its lanes; if it could not be recorded, calls in the
 * lanes do the part. The team shares the thread's work.
 *
 * One thread at a time uses a graph. Graphs are never freed: an ended one waits in a pool
 * (host/handle.h). docs/inside/architecture.md tells who changes which field, and when.
 */
#ifndef DUO_GRAPH_H
#define DUO_GRAPH_H

#include <stdatomic.h>

#include "call/decide.h"
#include "data/event.h"

/* Lanes on the device, and contexts for nodes that the host does side by side. */
enum { DUO_GRAPH_LANES = 8, DUO_GRAPH_HOST_LANES = 32 };

typedef enum duo_node_side {
    DUO_NODE_HOST,   /* the host does it, with others of its wave */
    DUO_NODE_QUEUED, /* the device does it */
    DUO_NODE_CALLED  /* it uses device and pageable memory: the thread calls it */
} duo_node_side;

typedef struct duo_graph_node {
    duo_work work;
    int *after; /* numbers of the nodes that it depends on, sorted, each once */
    int afters;

    /* Laid out by the build. */
    duo_memory to, from; /* its memory counts as this: the ends of a copy; else both are the same */
    duo_node_side side;
    bool to_device; /* CALLED: its output lies on the device */
    int wave, phase;
    bool early;
    int part, lane;     /* lane: QUEUED */
    duo_event *event;   /* if another lane waits, or CALLED to the device; else NULL */
    duo_signal *signal; /* the same for a recording; made when first needed */

    /* Found out when the graph is settled. */
    bool fixed; /* an operation that need not be decided again */
    duo_call call;
    duo_choice choice; /* algorithm NULL: nothing to do, except that a reduction stores 0 */
    double share;      /* QUEUED: the part of the device that its launch counts on */
    int use;           /* its own uses of memory begin here in the graph's list */

    /* In the last launch. */
    duo_status status; /* its call's, or the failure of a node that it depends on */
} duo_graph_node;

/* Nodes that a launch does together, [from, to) of `order`. */
typedef struct duo_graph_part {
    bool queued; /* work of the device; else the thread does it */
    int from, to;
    duo_event *event; /* queued: behind it, if the thread waits for it; else NULL */
    bool fetches;     /* queued: it copies to the host, and a launch waits for that */
    int at_once;      /* thread: the number of nodes that the host does side by side */

    /* Found out when the graph is settled. */
    int use, uses; /* its uses in the graph's list: the first, and how many */
    duo_recorded *recorded;
} duo_graph_part;

/* Memory that a fixed node or a copy touches, and where it was when the graph was settled. While
 * `changes` is the same, it is still there. */
typedef struct duo_graph_use {
    uintptr_t low, high;
    duo_region *region;   /* NULL: it was in none */
    duo_region_kind kind; /* the region's; another one may have its address later */
    bool written;
    uint64_t packed; /* number of the packed operand read instead; 0: none */
    bool held;       /* the region is held while the part is recorded or replayed */
} duo_graph_use;

struct duo_graph {
    duo_handled handled;
    uint32_t serial; /* in the handles of its nodes; changes each time that it is made */
    duo_graph_node *node;
    int nodes, room;
    char detail[256];

    /* Laid out by the build. */
    bool built;
    bool moved; /* an update moved memory to the other side: the next launch lays out anew */
    int *order; /* the nodes, part by part */
    duo_graph_part *part;
    int parts;
    int *hosts; /* room for the host's nodes of one part */
    int lanes, host_lanes;
    int threads; /* duo_set_threads of the context that built it */
    int device;
    duo_context *lane[DUO_GRAPH_LANES];
    duo_context *caller;                          /* for CALLED nodes; NULL: there are none */
    duo_context *host;                            /* for nodes that the host does one by one */
    duo_context *host_lane[DUO_GRAPH_HOST_LANES]; /* for nodes side by side */
    duo_event *begin;                             /* behind the launching context's earlier work */
    duo_event *end;                               /* behind the last launch */
    atomic_bool failed; /* a node of the last launch failed: else all statuses are DUO_OK */
    duo_context *last;  /* the context of that launch; NULL: none yet */
    duo_event *lane_end[DUO_GRAPH_LANES];     /* behind calls in a lane */
    duo_signal *lane_signal[DUO_GRAPH_LANES]; /* behind its recorded work; made when needed */

    /* Found out when it is settled (graph_steps.h). */
    bool settled;
    uint64_t changes; /* duo_residency_changes() at that time */
    duo_graph_use *use;
    int uses, use_room;

    duo_graph *next; /* in the pool */
};

/* A new graph, or NULL: out of memory. */
duo_graph *duo_graph_make(void);
/* Ends a graph that is not built any more. */
void duo_graph_unmake(duo_graph *graph);
/* The live graph of a handle; or NULL. */
static inline duo_graph *duo_graph_of(duo_graph *handle)
{
    return duo_handle_object(handle, DUO_HANDLE_GRAPH);
}

/* The handle of a node from its number (0, 1, ...); and back. -1: no node of this graph. */
duo_node duo_graph_handle(const duo_graph *graph, int number);
int duo_graph_number(const duo_graph *graph, duo_node node);

/* CPU threads of each node, if the host does `at_once` nodes side by side. */
int duo_graph_threads(const duo_graph *graph, int at_once);

/* The name of a kind; NULL: no kind has this number. */
const char *duo_graph_kind(duo_work_kind kind);

/* The program's work for a node (-1: a new one), as this version knows it. */
duo_status duo_graph_take_work(duo_graph *graph, int node, const duo_work *given, duo_work *work);

/* Notes `what` as the fault of a node (-1: of no node); returns the status. */
duo_status duo_graph_wrong(duo_graph *graph, int node, duo_status status, const char *what);

#endif
