/* log.c - the log of operations; see clock.h and timing.h. */
#include "sim/checks.h"
#include "sim/memory.h"
#include "sim/timing.h"

#include <stdlib.h>

static struct {
    bool logs; /* is a log asked for? */
    sim_operation *entry;
    size_t count, room;
} entries;

static sim_operation_kind kind_of(const work *w)
{
    if (w->kind == WORK_LAUNCH) return SIM_COMPUTE;
    const int to = sim_device_of(w->dst), from = sim_device_of(w->src);
    if (from < 0) return SIM_UP;
    if (to < 0) return SIM_DOWN;
    return to == from ? SIM_WITHIN : SIM_ACROSS;
}

static sim_span span_of_copy(const char *first, size_t pitch, const work *w)
{
    return (sim_span){first, first + (w->height - 1) * pitch + w->width};
}

static sim_span span_of_operand(const duo_operand *o)
{
    uintptr_t low, high;
    if (o->rows <= 0 || o->columns <= 0) return (sim_span){NULL, NULL};
    duo_operand_span(o, &low, &high);
    return (sim_span){(const char *)low, (const char *)high};
}

sim_operation sim_log_entry(const duo_queue *queue, const work *w)
{
    sim_operation o = {
        .kind = kind_of(w), .device = queue->device, .other = -1, .queue = queue->number};
    if (w->kind == WORK_COPY) {
        if (o.kind == SIM_ACROSS) o.other = sim_copy_other(w, queue->device);
        o.bytes = (uint64_t)w->width * w->height;
        o.written = span_of_copy(w->dst, w->dst_pitch, w);
        o.read[0] = span_of_copy(w->src, w->src_pitch, w);
        return o;
    }
    o.m = w->call.m, o.n = w->call.n, o.k = w->call.k;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (w->call.operand[i].read) o.read[i] = span_of_operand(&w->call.operand[i]);
    if (w->pinned_result != NULL)
        o.written =
            (sim_span){(const char *)w->pinned_result, (const char *)(w->pinned_result + 1)};
    else if (w->call.operand[DUO_RESULT].written)
        o.written = span_of_operand(&w->call.operand[DUO_RESULT]);
    return o;
}

void sim_log_add(const sim_operation *o)
{
    if (!entries.logs) return;
    if (entries.count == entries.room) {
        entries.room = 2 * entries.room + 64;
        entries.entry = realloc(entries.entry, entries.room * sizeof *entries.entry);
        if (entries.entry == NULL) abort();
    }
    entries.entry[entries.count++] = *o;
}

void sim_log_stop(void)
{
    entries.logs = false;
    entries.count = 0;
}

void sim_log_reset(void)
{
    pthread_mutex_lock(&sim_lock);
    entries.count = 0;
    entries.logs = true;
    pthread_mutex_unlock(&sim_lock);
}

size_t sim_log(const sim_operation **log)
{
    pthread_mutex_lock(&sim_lock);
    const size_t operations = entries.count;
    *log = entries.entry;
    pthread_mutex_unlock(&sim_lock);
    return operations;
}
