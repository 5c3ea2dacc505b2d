/* graph_record.c - records a part of the device (graph_steps.h): each node is queued in its lane,
 * and waits for the nodes that it depends on. */
#include "graph/graph_steps.h"

#include "gpu/backend/devices.h"

static duo_queue *queue_of(const duo_graph *g, int lane) { return g->lane[lane]->resources.queue; }

/* Queues the node's work in its lane. */
static duo_status queue_node(const duo_graph *g, const duo_graph_node *n)
{
    duo_queue *const queue = queue_of(g, n->lane);
    const duo_work *const w = &n->work;
    const duo_backend *const backend = duo_backend_current();
    const bool runs = w->width > 0 && w->height > 0;
    switch (w->kind) {
    case DUO_WORK_EMPTY:
        return DUO_OK;
    case DUO_WORK_COPY:
        return runs ? backend->copy(queue, w->dst, w->height > 1 ? w->dst_pitch : w->width, w->src,
                                    w->height > 1 ? w->src_pitch : w->width, w->width, w->height)
                    : DUO_OK;
    case DUO_WORK_SET:
        return runs ? backend->fill(queue, w->dst, w->height > 1 ? w->dst_pitch : w->width,
                                    (unsigned char)w->value, w->width, w->height)
                    : DUO_OK;
    default:
        if (n->choice.algorithm != NULL)
            return backend->launch(queue, n->choice.algorithm->id, &n->call, NULL, 0);
        if (w->kind == DUO_WORK_SGEMM) return DUO_OK; /* nothing to do */
        return backend->fill(queue, w->result, sizeof(float), 0, sizeof(float), 1);
    }
}

/* Sets a signal behind the work of a lane. */
static duo_status set_signal(const duo_graph *g, duo_signal **signal, int lane)
{
    duo_status status = DUO_OK;
    if (*signal == NULL) status = duo_backend_current()->signal_open(g->device, signal);
    return status == DUO_OK ? duo_backend_current()->signal_set(*signal, queue_of(g, lane))
                            : status;
}

/* A lane joins the recording: its work waits for the beginning of lane 0. */
static duo_status join(duo_graph *g, int lane, bool joined[DUO_GRAPH_LANES])
{
    if (joined[lane]) return DUO_OK;
    joined[lane] = true;
    return duo_backend_current()->after_signal(queue_of(g, lane), g->lane_signal[0]);
}

static duo_status record_node(duo_graph *g, duo_graph_node *n, bool joined[DUO_GRAPH_LANES])
{
    duo_status status = join(g, n->lane, joined);
    for (int a = 0; a < n->afters && status == DUO_OK; a++) {
        const duo_graph_node *const before = &g->node[n->after[a]];
        if (before->part == n->part && before->lane != n->lane)
            status = duo_backend_current()->after_signal(queue_of(g, n->lane), before->signal);
    }
    duo_backend_current()->share(queue_of(g, n->lane), n->share);
    if (status == DUO_OK) status = queue_node(g, n);
    duo_backend_current()->share(queue_of(g, n->lane), 1.0);
    if (status == DUO_OK && n->event != NULL) status = set_signal(g, &n->signal, n->lane);
    return status;
}

/* At the end lane 0 waits for all others. */
static duo_status join_back(duo_graph *g, const bool joined[DUO_GRAPH_LANES])
{
    duo_status status = DUO_OK;
    for (int i = 1; i < g->lanes && status == DUO_OK; i++) {
        if (!joined[i]) continue;
        status = set_signal(g, &g->lane_signal[i], i);
        if (status == DUO_OK)
            status = duo_backend_current()->after_signal(queue_of(g, 0), g->lane_signal[i]);
    }
    return status;
}

duo_status duo_graph_record(duo_graph *g, duo_graph_part *part)
{
    bool joined[DUO_GRAPH_LANES] = {true};
    duo_resources *const res = &g->lane[0]->resources;
    duo_recorded *recorded = part->recorded;
    duo_status status = duo_backend_current()->record_begin(res->queue);
    if (status != DUO_OK) return duo_resources_failed(res, status, "record a graph");
    status = set_signal(g, &g->lane_signal[0], 0);
    for (int at = part->from; at < part->to && status == DUO_OK; at++)
        status = record_node(g, &g->node[g->order[at]], joined);
    if (status == DUO_OK) status = join_back(g, joined);
    if (status != DUO_OK) recorded = NULL; /* half a recording does not replace the old one */
    const duo_status ended = duo_backend_current()->record_end(res->queue, &recorded);
    if (status == DUO_OK && ended == DUO_OK) {
        part->recorded = recorded;
        return DUO_OK;
    }
    if (recorded != NULL && recorded != part->recorded) duo_backend_current()->forget(recorded);
    return duo_resources_failed(res, status != DUO_OK ? status : ended, "record a graph");
}
