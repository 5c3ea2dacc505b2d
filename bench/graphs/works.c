/* works.c - see works.h */
#include "bench/graphs/works.h"

#include <stdio.h>

duo_work duo_work_product(int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                          const float *b, float *c)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SGEMM,
                      .layout = DUO_COL_MAJOR,
                      .transa = DUO_NO_TRANS,
                      .transb = DUO_NO_TRANS,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = alpha,
                      .a = a,
                      .lda = m,
                      .b = b,
                      .ldb = k,
                      .c = c,
                      .ldc = m};
}

duo_work duo_work_reduction(duo_work_kind kind, int64_t n, const float *x, const float *y,
                            float *result)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = kind,
                      .n = n,
                      .x = x,
                      .incx = 1,
                      .y = y,
                      .incy = 1,
                      .result = result};
}

duo_status duo_work_call(duo_context *context, const duo_work *w)
{
    switch (w->kind) {
    case DUO_WORK_SGEMM:
        return duo_sgemm(context, w->layout, w->transa, w->transb, w->m, w->n, w->k, w->alpha, w->a,
                         w->lda, w->b, w->ldb, w->beta, w->c, w->ldc);
    case DUO_WORK_SASUM:
        return duo_sasum(context, w->n, w->x, w->incx, w->result);
    case DUO_WORK_SSUM:
        return duo_ssum(context, w->n, w->x, w->incx, w->result);
    default:
        return duo_sdot(context, w->n, w->x, w->incx, w->y, w->incy, w->result);
    }
}

static duo_status add(duo_graph *graph, const duo_work *work, int count, duo_pattern pattern)
{
    duo_node node[DUO_MOST_WORKS];
    duo_status status = DUO_OK;
    for (int i = 0; i < count && status == DUO_OK; i++) {
        const bool join = pattern == DUO_FORK_JOIN && i == count - 1;
        const int first = pattern == DUO_CHAIN ? i - 1 : join ? 1 : 0;
        const int afters = i == 0 || pattern == DUO_SIDE_BY_SIDE ? 0 : join ? count - 2 : 1;
        status = duo_graph_add(graph, &work[i], afters > 0 ? &node[first] : NULL, afters, &node[i]);
    }
    return status;
}

duo_graph *duo_works_graph(duo_context *context, const duo_work *work, int count,
                           duo_pattern pattern)
{
    duo_graph *graph = NULL;
    duo_status status = duo_graph_create(&graph);
    if (status == DUO_OK) status = add(graph, work, count, pattern);
    if (status == DUO_OK) status = duo_graph_build(graph, context);
    if (status == DUO_OK) return graph;
    fprintf(stderr, "duoblas: no graph: %s: %s\n", duo_status_string(status),
            graph != NULL ? duo_graph_detail(graph) : "");
    (void)duo_graph_destroy(graph);
    return NULL;
}

bool duo_works_run(void *user, int64_t times)
{
    const duo_works *const w = user;
    duo_status status = DUO_OK;
    for (int64_t t = 0; t < times && status == DUO_OK; t++) {
        if (w->graph != NULL) status = duo_graph_launch(w->graph, w->context);
        for (int i = 0; w->graph == NULL && i < w->count && status == DUO_OK; i++)
            status = duo_work_call(w->context, &w->work[i]);
    }
    return (duo_synchronize(w->context) == DUO_OK) & (status == DUO_OK);
}
