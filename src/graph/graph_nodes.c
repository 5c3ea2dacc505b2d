/* graph_nodes.c - duo_graph_create, duo_graph_print, nodes until the graph is built (graph.h). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"

duo_status duo_graph_create(duo_graph **graph)
{
    if (graph == NULL) return DUO_ERR_NULL;
    duo_graph *const made = duo_graph_make();
    *graph = made != NULL ? duo_handle_give(&made->handled) : NULL;
    return made != NULL ? DUO_OK : DUO_ERR_MEMORY;
}

const char *duo_graph_detail(duo_graph *handle)
{
    const duo_graph *const graph = duo_graph_of(handle);
    return graph != NULL ? graph->detail : "";
}

duo_status duo_graph_node_at(duo_graph *handle, int64_t number, duo_node *node)
{
    duo_graph *const graph = duo_graph_of(handle);
    if (graph == NULL) return DUO_ERR_GRAPH;
    if (node == NULL) return duo_graph_wrong(graph, -1, DUO_ERR_NULL, "no room for the node");
    if (number < 1 || number > graph->nodes)
        return duo_graph_wrong(graph, -1, DUO_ERR_NODE, "there is no node of this number");
    *node = duo_graph_handle(graph, (int)number - 1);
    return DUO_OK;
}

static int compare(const void *x, const void *y)
{
    const int a = *(const int *)x, b = *(const int *)y;
    return a < b ? -1 : a > b;
}

/* The numbers of these nodes, sorted, each once; the caller frees them. */
static duo_status numbers_of(duo_graph *graph, const duo_node *after, int count, int **numbers,
                             int *left)
{
    *numbers = NULL;
    *left = 0;
    if (count < 0) return duo_graph_wrong(graph, -1, DUO_ERR_SIZE, "a negative count");
    if (count == 0) return DUO_OK;
    if (after == NULL) return duo_graph_wrong(graph, -1, DUO_ERR_NULL, "no nodes to depend on");
    int *const found = malloc((size_t)count * sizeof *found);
    if (found == NULL) return duo_graph_wrong(graph, -1, DUO_ERR_MEMORY, "out of memory");
    for (int i = 0; i < count; i++) {
        found[i] = duo_graph_number(graph, after[i]);
        if (found[i] >= 0) continue;
        free(found);
        return duo_graph_wrong(graph, -1, DUO_ERR_NODE, "depends on a node of another graph");
    }
    qsort(found, (size_t)count, sizeof *found, compare);
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (kept == 0 || found[i] != found[kept - 1]) found[kept++] = found[i];
    *numbers = found;
    *left = kept;
    return DUO_OK;
}

/* Takes the work of a new node; refuses kinds that do not exist. */
static duo_status take_new_work(duo_graph *graph, const duo_work *given, duo_work *work)
{
    const duo_status status = duo_graph_take_work(graph, -1, given, work);
    if (status != DUO_OK || duo_graph_kind(work->kind) != NULL) return status;
    return duo_graph_wrong(graph, -1, DUO_ERR_ENUM, "no such kind of work");
}

static duo_status make_room(duo_graph *graph)
{
    if (graph->nodes < graph->room) return DUO_OK;
    const int room = graph->room > 0 ? 2 * graph->room : 16;
    duo_graph_node *const grown =
        room > graph->room ? realloc(graph->node, (size_t)room * sizeof *grown) : NULL;
    if (grown == NULL) return duo_graph_wrong(graph, -1, DUO_ERR_MEMORY, "out of memory");
    graph->node = grown;
    graph->room = room;
    return DUO_OK;
}

static duo_status not_built(duo_graph *graph)
{
    return !graph->built ? DUO_OK : duo_graph_wrong(graph, -1, DUO_ERR_BUILT, "it is built");
}

duo_status duo_graph_add(duo_graph *handle, const duo_work *work, const duo_node *after, int count,
                         duo_node *node)
{
    int *numbers, left;
    duo_work taken;
    duo_graph *const graph = duo_graph_of(handle);
    if (graph == NULL) return DUO_ERR_GRAPH;
    duo_status status = not_built(graph);
    if (status == DUO_OK) status = take_new_work(graph, work, &taken);
    if (status == DUO_OK) status = make_room(graph);
    if (status == DUO_OK) status = numbers_of(graph, after, count, &numbers, &left);
    if (status != DUO_OK) return status;
    graph->node[graph->nodes] = (duo_graph_node){.work = taken, .after = numbers, .afters = left};
    if (node != NULL) *node = duo_graph_handle(graph, graph->nodes);
    graph->nodes++;
    return DUO_OK;
}

duo_status duo_graph_alter(duo_graph *handle, duo_node node, const duo_work *work,
                           const duo_node *after, int count)
{
    int *numbers = NULL, left = 0;
    duo_work taken;
    duo_graph *const graph = duo_graph_of(handle);
    if (graph == NULL) return DUO_ERR_GRAPH;
    duo_status status = not_built(graph);
    const int number = duo_graph_number(graph, node);
    if (status == DUO_OK && number < 0)
        status = duo_graph_wrong(graph, -1, DUO_ERR_NODE, "a node of another graph");
    if (status == DUO_OK && work != NULL) status = take_new_work(graph, work, &taken);
    if (status == DUO_OK && count != -1) status = numbers_of(graph, after, count, &numbers, &left);
    if (status != DUO_OK) return status;
    duo_graph_node *const n = &graph->node[number];
    if (work != NULL) n->work = taken;
    if (count == -1) return DUO_OK;
    free(n->after);
    n->after = numbers;
    n->afters = left;
    return DUO_OK;
}

/* ---- Printing ---- */

/* Text that is cut at the end of its room, but counted as a whole. */
typedef struct printed {
    char *text;
    size_t size, length;
} printed;

static __attribute__((format(printf, 2, 3))) void print(printed *p, const char *format, ...)
{
    va_list arguments;
    const bool room = p->length < p->size;
    va_start(arguments, format);
    const int length = vsnprintf(room ? p->text + p->length : NULL, room ? p->size - p->length : 0,
                                 format, arguments);
    va_end(arguments);
    if (length > 0) p->length += (size_t)length;
}

static void print_node(printed *p, const duo_graph_node *n, int number)
{
    const duo_work *const w = &n->work;
    print(p, "    n%d [label=\"%d: %s", number + 1, number + 1, duo_graph_kind(w->kind));
    if (w->kind == DUO_WORK_SGEMM)
        print(p, " %" PRId64 " x %" PRId64 " x %" PRId64, w->m, w->n, w->k);
    else if (w->kind >= DUO_WORK_SASUM && w->kind <= DUO_WORK_SDOT)
        print(p, " %" PRId64, w->n);
    else if (w->kind == DUO_WORK_COPY || w->kind == DUO_WORK_SET)
        print(p, " %zu x %zu bytes", w->height, w->width);
    print(p, "\"];\n");
    for (int a = 0; a < n->afters; a++) print(p, "    n%d -> n%d;\n", n->after[a] + 1, number + 1);
}

duo_status duo_graph_print(duo_graph *handle, char *text, size_t size, size_t *length)
{
    duo_graph *const graph = duo_graph_of(handle);
    if (graph == NULL) return DUO_ERR_GRAPH;
    if (text == NULL && size > 0)
        return duo_graph_wrong(graph, -1, DUO_ERR_NULL, "no room for the text");
    printed p = {text, size, 0};
    print(&p, "digraph {\n");
    for (int i = 0; i < graph->nodes; i++) print_node(&p, &graph->node[i], i);
    print(&p, "}\n");
    if (length != NULL) *length = p.length;
    return DUO_OK;
}
