/* stream_parts.c - where the parts of a streamed product are (stream_parts.h). */
#include "data/stream_parts.h"

#include "data/stage.h"
#include "gpu/backend/devices.h"

duo_lane *duo_stream_lane(const duo_stream *s, const duo_step *step)
{
    return &s->res->lane[step->device];
}

duo_space *duo_stream_spaces(const duo_stream *s, int lane)
{
    return lane == 0 ? s->res->workspace : s->res->lane[lane].space;
}

/* Where operand i is sent as a whole, in the layout of its array: the copy of a remembered one.
 * NULL: to slots. */
static char *filled(const duo_stream *s, int i)
{
    const duo_operand *const o = &s->local->operand[i];
    if (o->fills == NULL || !duo_stream_fills(s->plan)) return NULL;
    return (char *)o->fills->device_copy + ((uintptr_t)o->address - o->fills->low);
}

static bool in_slots(const duo_stream *s, int i)
{
    return i == DUO_C ? s->plan->of.fetched : s->plan->of.sent[i];
}

/* The call with operand i of a slot's size, for the backend's packed_bytes. */
static duo_call slot_call(const duo_stream *s, int i, int slot)
{
    const duo_plan_space *const space = &s->plan->space[i];
    duo_call call = *s->local;
    duo_call_set_sizes(&call, i == DUO_A ? space->extent : call.m,
                       i == DUO_B ? space->extent : call.n, space->depth[slot]);
    call.operand[i].ld = call.operand[i].rows;
    return call;
}

static size_t aligned(size_t bytes)
{
    enum { ALIGNMENT = 1024 };
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void duo_stream_place_slots(duo_stream *s)
{
    const duo_plan *const plan = s->plan;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_slot_places *const places = &s->places[i];
        *places = (duo_slot_places){.bytes = 0};
        for (int slot = 0; slot < plan->space[i].slots; slot++) {
            const size_t elements =
                (size_t)plan->space[i].extent * (size_t)plan->space[i].depth[slot];
            places->sent[slot] = places->bytes;
            if (in_slots(s, i) && filled(s, i) == NULL)
                places->bytes += aligned(elements * sizeof(float));
            places->packed[slot] = places->bytes;
            if (i == DUO_C || plan->of.packed_bytes[i] <= 0.0) continue;
            const duo_call call = slot_call(s, i, slot);
            places->bytes += aligned(duo_backend_current()->packed_bytes(s->algorithm, &call, i));
        }
    }
}

/* The matrices of a batch's step. */
static duo_part matrices(const duo_stream *s, const duo_step *step, int i)
{
    const duo_operand *const o = &s->local->operand[i];
    duo_part p = {.rows = o->rows, .columns = o->columns, .ld = o->ld};
    if (!in_slots(s, i)) return p;
    char *const memory = duo_stream_spaces(s, step->device)[i].address;
    p.runs = duo_runs_of_products(s->local, i, step->product, step->products);
    p.device_ld = p.runs.rows;
    p.host = duo_batch_address(s->local->batch, s->local, i, step->product);
    p.device = (float *)(void *)(memory + s->places[i].sent[step->slot[i]]);
    return p;
}

duo_part duo_stream_part(const duo_stream *s, const duo_step *step, int i)
{
    if (s->local->batch != NULL) return matrices(s, step, i);
    const duo_operand *const o = &s->local->operand[i];
    const bool k_first = duo_call_along_k(s->local, i);
    const int64_t extent = i == DUO_B ? step->n : step->m, depth = i == DUO_C ? step->n : step->k;
    const int64_t from = i == DUO_B ? step->j : step->i, p_or_j = i == DUO_C ? step->j : step->p;
    const duo_plan_space *const space = &s->plan->space[i];
    duo_part p = {
        .rows = k_first ? depth : extent, .columns = k_first ? extent : depth, .ld = o->ld};
    if (!duo_operand_touched(o)) return p;
    float *const here = o->address + (k_first ? p_or_j + from * o->ld : from + p_or_j * o->ld);
    if (!in_slots(s, i)) {
        p.device = here;
        p.device_ld = o->ld;
        return p;
    }
    const int slot = step->slot[i];
    char *const copy = filled(s, i);
    char *const memory = copy != NULL ? copy
                                      : (char *)duo_stream_spaces(s, step->device)[i].address +
                                            s->places[i].sent[slot];
    const int64_t first = step->first[i];
    p.host = here;
    p.device_ld = k_first ? space->depth[slot] : space->extent;
    const int64_t deep = i == DUO_C ? step->column : step->deep; /* within the slot */
    p.device = (float *)(void *)memory +
               (k_first ? deep + first * p.device_ld : first + deep * p.device_ld);
    p.runs = duo_runs_of(p.rows, p.columns, p.ld, p.device_ld);
    return p;
}

static duo_call products(const duo_stream *s, const duo_step *step, duo_batch *batch)
{
    duo_call call = *s->local;
    *batch = *s->local->batch;
    batch->count = step->products;
    call.batch = batch;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call.operand[i];
        if (!duo_operand_touched(o)) continue;
        const duo_part p = matrices(s, step, i);
        if (in_slots(s, i)) {
            o->address = p.device;
            o->ld = o->rows;
            batch->stride[i] = duo_batch_shares(batch, i) ? 0 : p.rows * p.columns;
            batch->pointer[i] = NULL;
        } else {
            duo_batch_skip(&call, batch, i, step->product);
        }
    }
    return call;
}

duo_call duo_stream_call(const duo_stream *s, const duo_step *step, duo_batch *batch)
{
    if (s->local->batch != NULL) return products(s, step, batch);
    duo_call call = duo_call_part(s->local, step->m, step->n, step->k);
    if (!step->starts) call.beta = 1.0f;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call.operand[i];
        const duo_part p = duo_stream_part(s, step, i);
        const bool whole = step->k == s->local->k;
        o->address = p.device;
        o->rows = p.rows;
        o->columns = p.columns;
        o->ld = p.device_ld;
        o->on_device = true;
        if (i == DUO_C) continue;
        if (s->plan->of.packed_bytes[i] > 0.0) {
            o->packed = (char *)duo_stream_spaces(s, step->device)[i].address +
                        s->places[i].packed[step->slot[i]];
            o->packed_rows = step->all[i];
            o->packed_first = step->first[i];
        } else if (o->packed != NULL && whole) { /* by duo_prepare, as a whole */
            o->packed_rows = i == DUO_A ? s->local->m : s->local->n;
            o->packed_first = i == DUO_A ? step->i : step->j;
        } else {
            o->packed = NULL;
        }
    }
    call.operand[DUO_C].read = call.beta != 0.0f;
    return call;
}

int64_t duo_stream_piece(const duo_pump *pump, const duo_runs *r, int64_t of, int64_t least,
                         int64_t left)
{
    const int64_t most = duo_pump_room(pump), wanted = of / 2 > least ? of / 2 : least;
    const int64_t piece = wanted < most ? wanted : most;
    if (piece >= left) return left;
    return piece > r->rows ? piece / r->rows * r->rows : piece;
}

duo_status duo_stream_failed(const duo_stream *s, const duo_step *step, duo_status status,
                             const char *doing)
{
    return duo_resources_failed_on(s->res, duo_stream_lane(s, step)->device, status, doing);
}

duo_status duo_stream_follow(const duo_stream *s, const duo_step *step, duo_queue *queue)
{
    if (step->follows < 0) return DUO_OK;
    const duo_step *const before = &s->plan->step[step->follows];
    const duo_lane *const lane = duo_stream_lane(s, before);
    return duo_queue_after_mark(queue, before->kind == DUO_STEP_FETCH ? lane->down : lane->compute,
                                before->mark);
}
