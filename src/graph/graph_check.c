/* graph_check.c - the arguments of nodes, and where their operands are (graph_steps.h). */
#include "graph/graph_steps.h"

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

/* Where several operands are: the ones that the call touches, or the others. */
typedef struct sides {
    bool host, device;       /* some count as this memory */
    bool in_host, on_device; /* some lie there */
    bool output_on_device;
} sides;

static void add_operand(const duo_operand *o, sides *found)
{
    const bool device = o->counts_as_device;
    const bool on_device = o->residence == DUO_AT_DEVICE;
    found->host |= !device;
    found->device |= device;
    found->in_host |= !on_device;
    found->on_device |= on_device;
}

/* Why a graph refuses the operand; NULL: it does not. */
static const char *why_hidden(const duo_operand *o)
{
    if (o->crosses || o->in_kept) return "an operand is in a kept array";
    if (o->residence == DUO_AT_DEVICE && !o->on_device) return "an operand is on another device";
    return NULL;
}

/* Finds the sides of the operands that the call touches, or of the others. Operands that it does
 * not touch (alpha is 0, for instance) may be anywhere; they tell the call's side if it touches
 * none. */
static duo_status find_sides(duo_graph *graph, int node, const duo_call *described, bool touched,
                             sides *found)
{
    duo_call call = *described;
    duo_report report = {.log = NULL};
    *found = (sides){.host = false};
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
        add_operand(o, found);
        const char *const why = touched ? why_hidden(o) : NULL;
        if (why != NULL) return duo_graph_wrong(graph, node, DUO_ERR_HIDDEN, why);
    }
    found->output_on_device = call.operand[DUO_C].residence == DUO_AT_DEVICE;
    return DUO_OK;
}

static duo_status check_operation(duo_graph *graph, int node, const duo_work *w,
                                  duo_node_place *place)
{
    duo_call call;
    sides touched, others;
    if ((unsigned)w->math > DUO_MATH_FLOAT64)
        return duo_graph_wrong(graph, node, DUO_ERR_ENUM, "no such math");
    duo_status status = duo_graph_describe(w, &call);
    if (status == DUO_OK) status = find_sides(graph, node, &call, true, &touched);
    if (status == DUO_OK) status = find_sides(graph, node, &call, false, &others);
    if (status == DUO_ERR_HIDDEN) return status;
    if (status != DUO_OK) return duo_graph_wrong(graph, node, status, duo_status_string(status));
    if (touched.host && touched.device)
        return duo_graph_wrong(graph, node, DUO_ERR_HIDDEN,
                               "operands are on the device and in host memory");
    place->anywhere = !touched.host && !touched.device;
    const sides *const tells = place->anywhere ? &others : &touched;
    place->to = place->from = tells->device ? DUO_MEMORY_DEVICE : DUO_MEMORY_HOST;
    place->to_device = tells->output_on_device;
    place->side = !tells->on_device                    ? DUO_NODE_HOST
                  : tells->in_host && !place->anywhere ? DUO_NODE_CALLED
                                                       : DUO_NODE_QUEUED;
    return DUO_OK;
}

/* ---- Copies ---- */

/* An end of a copy: the memory that it counts as, and where it lies. Only the library's own pinned
 * memory counts as pinned. */
typedef struct end {
    duo_memory counts, lies;
} end;

static end end_in(const duo_region *region)
{
    const bool host = duo_region_counts_as_host(region);
    const duo_memory counts = !host            ? DUO_MEMORY_DEVICE
                              : region != NULL ? DUO_MEMORY_PINNED
                                               : DUO_MEMORY_HOST;
    const bool plain =
        region == NULL || region->kind == DUO_REGION_HOSTED || region->kind == DUO_REGION_PLAIN;
    return (end){counts, plain ? DUO_MEMORY_HOST : counts};
}

static duo_status locate_range(duo_graph *graph, int node, const void *address, size_t bytes,
                               end *where)
{
    const uintptr_t low = (uintptr_t)address, high = low + bytes;
    bool crosses, kept = false, cut = false;
    duo_memory memory;
    duo_residency_lock();
    const duo_region *const region = duo_residency_find(low, high, &crosses);
    for (const duo_region *r = duo_residency_first(low, high); r != NULL;
         r = duo_residency_next(r, high)) {
        kept |= r->kind == DUO_REGION_KEPT;
        cut |= crosses && duo_region_counts_as_device(r);
    }
    const bool registered = region != NULL, lost = registered && region->lost;
    *where = end_in(region);
    const bool elsewhere = where->lies == DUO_MEMORY_DEVICE && region->device != graph->device;
    duo_residency_unlock();
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

/* Bytes from the first to the last of these runs. False: beyond the address space. */
static bool span_of(const void *address, size_t pitch, size_t width, size_t height, size_t *bytes)
{
    return !__builtin_mul_overflow(height - 1, pitch, bytes) &&
           !__builtin_add_overflow(*bytes, width, bytes) &&
           *bytes <= UINTPTR_MAX - (uintptr_t)address;
}

static duo_status check_runs(duo_graph *graph, int node, const void *address, size_t pitch,
                             const duo_work *w, end *where)
{
    size_t bytes;
    if (address == NULL) return duo_graph_wrong(graph, node, DUO_ERR_NULL, "no address");
    if (w->height > 1 && pitch < w->width)
        return duo_graph_wrong(graph, node, DUO_ERR_SIZE, "a pitch is smaller than the width");
    if (!span_of(address, pitch, w->width, w->height, &bytes))
        return duo_graph_wrong(graph, node, DUO_ERR_SIZE, "beyond the address space");
    return locate_range(graph, node, address, bytes, where);
}

static duo_status check_copy(duo_graph *graph, int node, const duo_work *w, duo_node_place *place)
{
    end from, to;
    if (w->width == 0 || w->height == 0) return DUO_OK;
    duo_status status = check_runs(graph, node, w->dst, w->dst_pitch, w, &to);
    from = to;
    if (status == DUO_OK && w->kind == DUO_WORK_COPY)
        status = check_runs(graph, node, w->src, w->src_pitch, w, &from);
    if (status != DUO_OK) return status;
    const bool pageable = to.lies == DUO_MEMORY_HOST || from.lies == DUO_MEMORY_HOST;
    place->to = to.counts;
    place->from = from.counts;
    place->to_device = to.lies == DUO_MEMORY_DEVICE;
    if (place->to_device || from.lies == DUO_MEMORY_DEVICE)
        place->side = pageable ? DUO_NODE_CALLED : DUO_NODE_QUEUED;
    return DUO_OK;
}

/* ---- All ---- */

duo_status duo_graph_check(duo_graph *graph, int node, const duo_work *work, duo_node_place *place)
{
    *place = (duo_node_place){.anywhere = work->kind == DUO_WORK_EMPTY, .side = DUO_NODE_HOST};
    switch (work->kind) {
    case DUO_WORK_EMPTY:
        return DUO_OK;
    case DUO_WORK_HOST:
        return work->function != NULL
                   ? DUO_OK
                   : duo_graph_wrong(graph, node, DUO_ERR_NULL, "there is no function");
    case DUO_WORK_COPY:
    case DUO_WORK_SET:
        return check_copy(graph, node, work, place);
    default:
        return check_operation(graph, node, work, place);
    }
}
