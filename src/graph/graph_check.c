/* graph_check.c - the arguments of nodes, and where their operands are (graph_check.h). */
#include "graph/graph_check.h"

#include "api/describe.h"
#include "data/locate.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "host/fork.h"

/* ---- Operations ---- */

duo_status duo_graph_describe(const duo_work *w, duo_call *call)
{
    switch (w->kind) {
    case DUO_WORK_SGEMM:
        return duo_sgemm_describe(call, w->layout, w->transa, w->transb, w->m, w->n, w->k, w->alpha,
                                  w->a, w->lda, w->b, w->ldb, w->beta, w->c, w->ldc);
    case DUO_WORK_SASUM:
        return duo_reduce_describe(call, DUO_SASUM, w->n, w->x, w->incx, NULL, 0, w->result);
    case DUO_WORK_SSUM:
        return duo_reduce_describe(call, DUO_SSUM, w->n, w->x, w->incx, NULL, 0, w->result);
    default:
        return duo_reduce_describe(call, DUO_SDOT, w->n, w->x, w->incx, w->y, w->incy, w->result);
    }
}

/* How many operands are on each side: of those that the call touches, or of the others. */
typedef struct sides {
    int host, device;
} sides;

/* Where the operands are. Those that the call does not touch, for alpha is 0, say, may be anywhere;
 * they tell the side of a call that touches none. */
static duo_status find_sides(duo_graph *graph, int node, const duo_call *described, bool touched,
                             sides *found)
{
    duo_call call = *described;
    duo_report report = {.log = NULL};
    *found = (sides){0, 0};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call.operand[i];
        const bool there = o->address != NULL && o->rows > 0 && o->columns > 0;
        o->read = there && duo_operand_touched(o) == touched;
        o->written = false;
    }
    duo_status status = duo_locate(graph->device, &call);
    if (status == DUO_OK) status = duo_locate_ask(&report, &call);
    if (status != DUO_OK) return touched ? status : DUO_OK;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &call.operand[i];
        if (!o->read) continue;
        found->device += o->residence == DUO_AT_DEVICE;
        found->host += o->residence != DUO_AT_DEVICE;
        if (!touched) continue;
        if (duo_operand_kept(o) || (o->crosses && !o->on_device))
            return duo_graph_wrong(graph, node, DUO_ERR_HIDDEN, "an operand is in a kept array");
        if (o->residence == DUO_AT_DEVICE && !o->on_device)
            return duo_graph_wrong(graph, node, DUO_ERR_HIDDEN, "an operand is on another device");
    }
    return DUO_OK;
}

static duo_status check_operation(duo_graph *graph, int node, const duo_work *w,
                                  duo_node_side *side, bool *anywhere)
{
    duo_call call;
    sides touched = {0, 0}, others = {0, 0};
    if ((unsigned)w->math > DUO_MATH_FLOAT64)
        return duo_graph_wrong(graph, node, DUO_ERR_ENUM, "no such math");
    duo_status status = duo_graph_describe(w, &call);
    if (status == DUO_OK) status = find_sides(graph, node, &call, true, &touched);
    if (status == DUO_OK) status = find_sides(graph, node, &call, false, &others);
    if (status == DUO_ERR_HIDDEN) return status;
    if (status != DUO_OK) return duo_graph_wrong(graph, node, status, duo_status_string(status));
    if (touched.host > 0 && touched.device > 0)
        return duo_graph_wrong(graph, node, DUO_ERR_HIDDEN,
                               "operands are on the device and in host memory");
    *anywhere = touched.host + touched.device == 0;
    *side =
        touched.device > 0 || (*anywhere && others.device > 0) ? DUO_NODE_QUEUED : DUO_NODE_HOST;
    return DUO_OK;
}

/* ---- Copies ---- */

/* Where one end of a copy is. Of pinned memory only what the library has given. */
typedef enum place { PAGEABLE, PINNED, DEVICE } place;

static duo_status locate_range(duo_graph *graph, int node, const void *address, size_t bytes,
                               place *where)
{
    const uintptr_t low = (uintptr_t)address, high = low + bytes;
    bool crosses, kept = false, cut = false;
    duo_memory memory;
    duo_residency_lock();
    const duo_region *const region = duo_residency_find(low, high, &crosses);
    for (const duo_region *r = duo_residency_first(low, high); r != NULL;
         r = duo_residency_next(r, high)) {
        kept |= r->kind == DUO_REGION_KEPT;
        cut |= crosses && duo_region_is_device(r);
    }
    const bool registered = region != NULL, lost = registered && region->lost;
    const bool on_device = registered && duo_region_is_device(region);
    const bool elsewhere = on_device && region->device != graph->device;
    const bool pinned = registered && region->kind == DUO_REGION_PINNED;
    duo_residency_unlock();
    *where = on_device ? DEVICE : pinned ? PINNED : PAGEABLE;
    if (cut) return duo_graph_wrong(graph, node, DUO_ERR_RANGE, "runs over the end of an array");
    if (lost) return duo_graph_wrong(graph, node, DUO_ERR_LOST, "its data are lost");
    if (kept) return duo_graph_wrong(graph, node, DUO_ERR_HIDDEN, "an operand is in a kept array");
    if (elsewhere)
        return duo_graph_wrong(graph, node, DUO_ERR_HIDDEN, "an operand is on another device");
    if (!registered && !duo_forked() &&
        duo_backend_current()->classify(address, &memory) == DUO_OK && memory == DUO_MEMORY_DEVICE)
        return duo_graph_wrong(graph, node, DUO_ERR_FOREIGN, duo_status_string(DUO_ERR_FOREIGN));
    return DUO_OK;
}

/* Bytes from the first to the last of these runs. False: they do not fit the address space. */
static bool span_of(const void *address, size_t pitch, size_t width, size_t height, size_t *bytes)
{
    return !__builtin_mul_overflow(height - 1, pitch, bytes) &&
           !__builtin_add_overflow(*bytes, width, bytes) &&
           *bytes <= UINTPTR_MAX - (uintptr_t)address;
}

static duo_status check_runs(duo_graph *graph, int node, const void *address, size_t pitch,
                             const duo_work *w, place *where)
{
    size_t bytes;
    if (address == NULL) return duo_graph_wrong(graph, node, DUO_ERR_NULL, "no address");
    if (w->height > 1 && pitch < w->width)
        return duo_graph_wrong(graph, node, DUO_ERR_SIZE, "a pitch is smaller than the width");
    if (!span_of(address, pitch, w->width, w->height, &bytes))
        return duo_graph_wrong(graph, node, DUO_ERR_SIZE, "beyond the address space");
    return locate_range(graph, node, address, bytes, where);
}

static duo_status check_copy(duo_graph *graph, int node, const duo_work *w, duo_node_side *side,
                             bool *to_device)
{
    place from = DEVICE, to = PAGEABLE;
    duo_status status = DUO_OK;
    if (w->width == 0 || w->height == 0) {
        *to_device = false;
        return DUO_OK;
    }
    status = check_runs(graph, node, w->dst, w->dst_pitch, w, &to);
    if (status == DUO_OK && w->kind == DUO_WORK_COPY)
        status = check_runs(graph, node, w->src, w->src_pitch, w, &from);
    *to_device = to == DEVICE;
    if (to != DEVICE && (from != DEVICE || w->kind == DUO_WORK_SET)) return status;
    *side = to == PAGEABLE || from == PAGEABLE ? DUO_NODE_COPYING : DUO_NODE_QUEUED;
    return status;
}

/* ---- All ---- */

duo_status duo_graph_check(duo_graph *graph, int node, const duo_work *work, duo_node_side *side,
                           bool *to_device, bool *anywhere)
{
    *side = DUO_NODE_HOST;
    *to_device = false;
    *anywhere = work->kind == DUO_WORK_EMPTY;
    switch (work->kind) {
    case DUO_WORK_EMPTY:
        return DUO_OK;
    case DUO_WORK_HOST:
        return work->function != NULL
                   ? DUO_OK
                   : duo_graph_wrong(graph, node, DUO_ERR_NULL, "there is no function");
    case DUO_WORK_COPY:
    case DUO_WORK_SET:
        return check_copy(graph, node, work, side, to_device);
    default:
        return check_operation(graph, node, work, side, anywhere);
    }
}
