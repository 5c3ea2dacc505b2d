/* graph_works.c - works and graphs (graph_works.h). */
#include "support/graph_works.h"

#include "support/harness.h"

bool work_reduces(duo_work_kind kind) { return kind >= DUO_WORK_SASUM && kind <= DUO_WORK_SDOT; }

void work_take_rank(void *user)
{
    branch *const b = user;
    b->rank = atomic_fetch_add(b->taken, 1);
}

duo_work work_of(duo_work_kind kind) { return (duo_work){.size = sizeof(duo_work), .kind = kind}; }

duo_work work_product(int64_t n, const float *a, const float *b, float beta, float *c)
{
    duo_work v = work_of(DUO_WORK_SGEMM);
    v.layout = DUO_COL_MAJOR, v.transa = v.transb = DUO_NO_TRANS;
    v.m = v.n = v.k = v.lda = v.ldb = v.ldc = n;
    v.alpha = 1.0f, v.beta = beta;
    v.a = a, v.b = b, v.c = c;
    return v;
}

duo_work work_reduction(duo_work_kind kind, int64_t n, const float *x, float *result)
{
    duo_work v = work_of(kind);
    v.n = n, v.incx = v.incy = 1;
    v.x = x, v.y = kind == DUO_WORK_SDOT ? x : NULL, v.result = result;
    return v;
}

duo_work work_copying(void *dst, const void *src, size_t bytes)
{
    return (duo_work){sizeof(duo_work), DUO_WORK_COPY,  .dst = dst,
                      .src = src,       .width = bytes, .height = 1};
}

duo_work work_calling(void (*function)(void *), void *user)
{
    return (duo_work){sizeof(duo_work), DUO_WORK_HOST, .function = function, .user = user};
}

static void do_nothing(void *user) { (void)user; }

duo_work work_sample(duo_work_kind kind, const float *in, float *out)
{
    duo_work v = kind == DUO_WORK_SGEMM  ? work_product(10, in, in + 200, 1.0f, out)
                 : work_reduces(kind)    ? work_reduction(kind, 100, in, out)
                 : kind == DUO_WORK_HOST ? work_calling(do_nothing, NULL)
                                         : work_of(kind);
    if (kind == DUO_WORK_SGEMM) v.lda = v.ldb = v.ldc = 20;
    if (work_reduces(kind)) v.incx = 2, v.incy = -2;
    if (kind == DUO_WORK_COPY || kind == DUO_WORK_SET)
        v.dst = out, v.dst_pitch = 40, v.width = 24, v.height = 3, v.value = 65;
    if (kind == DUO_WORK_COPY) v.src = in, v.src_pitch = 48;
    return v;
}

duo_graph *graph_new(void)
{
    duo_graph *graph = NULL;
    CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
    return graph;
}

duo_node graph_add(duo_graph *graph, const duo_work *work, const duo_node *after, int count)
{
    duo_node node = 0;
    const duo_work empty = work_of(DUO_WORK_EMPTY);
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, work != NULL ? work : &empty, after, count, &node));
    CHECK(node != 0, "a node is none");
    return node;
}

duo_graph *graph_built(duo_context *ctx, const duo_work *works, int count, bool chain,
                       duo_node *node)
{
    duo_graph *const graph = graph_new();
    duo_node last = 0;
    for (int i = 0; i < count; i++) {
        last = graph_add(graph, &works[i], &last, chain && i > 0);
        if (node != NULL) node[i] = last;
    }
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    return graph;
}
