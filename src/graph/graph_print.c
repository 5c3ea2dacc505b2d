/* graph_print.c - duo_graph_print: a graph in the language of Graphviz (graph.h). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "graph/graph.h"

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
