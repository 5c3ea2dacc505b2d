/* graph_work.c - the work of one node, by calls (graph_steps.h). */
#include "graph/graph_steps.h"

#include <string.h>

#include "data/coherence.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"

static duo_status run_operation(duo_context *ctx, const duo_work *w)
{
    duo_status status = ctx->policy.math == w->math ? DUO_OK : duo_set_math(ctx, w->math);
    if (status != DUO_OK) return status;
    switch (w->kind) {
    case DUO_WORK_SGEMM:
        return duo_sgemm(ctx, w->layout, w->transa, w->transb, w->m, w->n, w->k, w->alpha, w->a,
                         w->lda, w->b, w->ldb, w->beta, w->c, w->ldc);
    case DUO_WORK_SASUM:
        return duo_sasum(ctx, w->n, w->x, w->incx, w->result);
    case DUO_WORK_SSUM:
        return duo_ssum(ctx, w->n, w->x, w->incx, w->result);
    default:
        return duo_sdot(ctx, w->n, w->x, w->incx, w->y, w->incy, w->result);
    }
}

/* Are there no gaps between the runs? Then they are one. */
static bool dense(const duo_work *w)
{
    return w->height == 1 ||
           (w->dst_pitch == w->width && (w->kind == DUO_WORK_SET || w->src_pitch == w->width));
}

static duo_status run_copy(duo_context *ctx, const duo_work *w)
{
    if (w->width == 0 || w->height == 0) return DUO_OK;
    if (dense(w)) return duo_copy(ctx, w->dst, w->src, w->width * w->height);
    duo_status status = DUO_OK;
    for (size_t run = 0; run < w->height && status == DUO_OK; run++)
        status = duo_copy(ctx, (char *)w->dst + run * w->dst_pitch,
                          (const char *)w->src + run * w->src_pitch, w->width);
    return status;
}

static duo_status set_on_host(duo_context *ctx, const duo_work *w)
{
    const uintptr_t low = (uintptr_t)w->dst;
    const uintptr_t high = low + (w->height - 1) * w->dst_pitch + w->width;
    for (size_t run = 0; run < w->height; run++)
        memset((char *)w->dst + run * w->dst_pitch, w->value, w->width);
    if (!duo_residency_near(low, high)) return DUO_OK;
    duo_residency_lock();
    const duo_status status = duo_coherence_written_all(&ctx->resources, low, high);
    duo_residency_unlock();
    return status;
}

static duo_status set_on_device(duo_context *ctx, const duo_work *w)
{
    duo_resources *const res = &ctx->resources;
    const uintptr_t low = (uintptr_t)w->dst;
    const uintptr_t high = low + (w->height - 1) * w->dst_pitch + w->width;
    bool crosses;
    duo_residency_lock();
    duo_region *const region = duo_residency_find(low, high, &crosses);
    duo_status status = region == NULL ? DUO_ERR_RANGE : region->lost ? DUO_ERR_LOST : DUO_OK;
    if (status == DUO_OK) status = duo_resources_reach(res, region->device);
    if (status == DUO_OK) status = duo_coherence_claim_write(res, region);
    if (status == DUO_OK) {
        duo_packed_stale(&region->packed, low - region->low, high - region->low);
        status = duo_queue_fill(res->queue, w->dst, w->dst_pitch, (unsigned char)w->value, w->width,
                                w->height);
        if (status == DUO_OK)
            res->unwaited = true;
        else
            (void)duo_resources_failed(res, status, "set memory");
    }
    duo_residency_unlock();
    return status;
}

duo_status duo_graph_run_node(duo_context *ctx, const duo_graph_node *n)
{
    const duo_work *const w = &n->work;
    switch (w->kind) {
    case DUO_WORK_EMPTY:
        return DUO_OK;
    case DUO_WORK_HOST:
        w->function(w->user);
        return DUO_OK;
    case DUO_WORK_COPY:
        return run_copy(ctx, w);
    case DUO_WORK_SET:
        if (w->width == 0 || w->height == 0) return DUO_OK;
        if (n->side != DUO_NODE_HOST) return set_on_device(ctx, w);
        return set_on_host(ctx, w);
    default:
        return run_operation(ctx, w);
    }
}
