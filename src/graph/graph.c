/* graph.c - graphs: made and ended, and the handles of their nodes (graph.h). */
#include "graph/graph.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/lock.h"
#include "host/machine.h"
#include "host/sized.h"

enum { SERIAL_AT = 32 };

static duo_graph *pool;  /* ended graphs, to be used again */
static uint32_t serials; /* graphs made so far; both under DUO_LOCK_GRAPHS */

duo_graph *duo_graph_make(void)
{
    duo_lock(DUO_LOCK_GRAPHS);
    duo_graph *const made = pool != NULL ? pool : duo_handle_allocate(sizeof *made);
    if (made != NULL) {
        if (made == pool) pool = made->next;
        serials = serials % INT_MAX + 1;
        *made = (duo_graph){.handled = made->handled, .serial = serials};
        duo_handle_begin(&made->handled, DUO_HANDLE_GRAPH);
    }
    duo_unlock(DUO_LOCK_GRAPHS);
    return made;
}

void duo_graph_unmake(duo_graph *graph)
{
    for (int i = 0; i < graph->nodes; i++) free(graph->node[i].after);
    free(graph->node);
    *graph = (duo_graph){.handled.generation = graph->handled.generation};
    duo_lock(DUO_LOCK_GRAPHS);
    graph->next = pool;
    pool = graph;
    duo_unlock(DUO_LOCK_GRAPHS);
}

int duo_graph_threads(const duo_graph *graph, int at_once)
{
    const int all = duo_machine_threads_for(graph->threads);
    return all > at_once ? all / at_once : 1;
}

const char *duo_graph_kind(duo_work_kind kind)
{
    static const char *const names[] = {
        [DUO_WORK_EMPTY] = "empty", [DUO_WORK_SGEMM] = "sgemm", [DUO_WORK_SASUM] = "sasum",
        [DUO_WORK_SSUM] = "ssum",   [DUO_WORK_SDOT] = "sdot",   [DUO_WORK_COPY] = "copy",
        [DUO_WORK_SET] = "set",     [DUO_WORK_HOST] = "host"};
    const unsigned kinds = sizeof names / sizeof names[0];
    return (unsigned)kind < kinds ? names[kind] : NULL;
}

duo_node duo_graph_handle(const duo_graph *graph, int number)
{
    return (duo_node)graph->serial << SERIAL_AT | (duo_node)(number + 1);
}

int duo_graph_number(const duo_graph *graph, duo_node node)
{
    const int64_t number = (node & UINT32_MAX) - 1;
    const bool here = node >> SERIAL_AT == (int64_t)graph->serial;
    return here && number >= 0 && number < graph->nodes ? (int)number : -1;
}

duo_status duo_graph_wrong(duo_graph *graph, int node, duo_status status, const char *what)
{
    if (node < 0)
        snprintf(graph->detail, sizeof graph->detail, "%s", what);
    else
        snprintf(graph->detail, sizeof graph->detail, "node %d (%s): %s", node + 1,
                 duo_graph_kind(graph->node[node].work.kind), what);
    return status;
}

/* Every version has these fields of a work. */
enum { LEAST = offsetof(duo_work, user) + sizeof(void *) };

duo_status duo_graph_take_work(duo_graph *graph, int node, const duo_work *given, duo_work *work)
{
    if (given == NULL) return duo_graph_wrong(graph, node, DUO_ERR_NULL, "no work");
    const duo_status status = duo_sized_take(work, sizeof *work, LEAST, given);
    if (status == DUO_ERR_SIZE)
        return duo_graph_wrong(graph, node, status, "duo_work.size is too small");
    if (status == DUO_ERR_UNSUPPORTED)
        return duo_graph_wrong(graph, node, status, "a duo_work of a later version");
    return DUO_OK;
}
