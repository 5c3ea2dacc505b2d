/*
 * state.c - bookkeeping of the simulated device; see state.h.
 */
#define _GNU_SOURCE
#include "sim/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

sim_state sim = {.devices = 1,
                 .memory = (uint64_t)1 << 30,
                 .pinned_memory = SIM_UNLIMITED,
                 .direct_links = true,
                 .last_algorithm = DUO_ALGORITHMS};

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_changed = PTHREAD_COND_INITIALIZER;

static _Thread_local char detail_text[160];

void sim_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail_text, sizeof detail_text, format, arguments);
    va_end(arguments);
}

const char *sim_said(void) { return detail_text; }

/* The sanitizer's, if there is one. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

void sim_violation(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    sim.violations++;
    fputs("simulated device: VIOLATION: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    if (__sanitizer_print_stack_trace != NULL) __sanitizer_print_stack_trace();
}

duo_queue *sim_queue_of(const void *stream)
{
    duo_queue *q = sim.queues;
    while (q != NULL && q != stream) q = q->next;
    return q;
}

void sim_must_not_wait(const duo_queue *queue, const char *who)
{
    const duo_queue *const of = queue->stream != NULL ? sim_queue_of(queue->stream) : queue;
    if (of != NULL && of->recording != NULL) sim_violation("%s: the queue is recorded", who);
}

bool sim_drained(int device)
{
    for (const duo_queue *q = sim.queues; q != NULL; q = q->next)
        if (q->device == device && q->progress->done < q->progress->queued) return false;
    return true;
}

duo_status sim_answer_lost(int device)
{
    sim.lost[device] = true;
    pthread_cond_broadcast(&sim_changed);
    while (!sim_drained(device)) pthread_cond_wait(&sim_changed, &sim_lock);
    for (int i = 0; i < sim.blocks; i++)
        if (sim.block[i].device == device && sim.block[i].kind != BLOCK_PINNED)
            sim.block[i].gone = true;
    sim_say("simulated device %d: lost", device);
    return DUO_ERR_LOST;
}

/* In a forked child there are no workers, and the lock may be held for ever. */
bool sim_in_child(void) { return sim.owner != 0 && sim.owner != getpid(); }

bool sim_forked(void)
{
    if (!sim_in_child()) return false;
    sim_violation("used in a forked child");
    return true;
}

bool sim_told(sim_kind kind, duo_status *status)
{
    order *const o = &sim.order[kind];
    if (o->nth <= 0 || --o->nth > 0) return false;
    if (o->times > 0) o->times--;
    o->nth = o->times != 0;
    *status = o->status;
    return true;
}

duo_status sim_enter(sim_kind kind, int device, bool *go)
{
    pthread_mutex_lock(&sim_lock);
    if (sim.owner == 0) sim.owner = getpid();
    *go = false;
    sim.count[kind]++;
    const bool any_device = kind == SIM_CLOSE || kind == SIM_CLASSIFY; /* or none */
    if (device >= SIM_DEVICES || device < 0 || (device >= sim.devices && !any_device)) {
        sim_violation("call %d on device %d of %d", (int)kind, device, sim.devices);
        return DUO_ERR_DEVICE;
    }
    duo_status told;
    if (sim_told(kind, &told)) {
        sim.wait_failed |= kind == SIM_WAIT;
        sim_say("simulated device %d: told to answer %d", device, (int)told);
        return told == DUO_ERR_LOST ? sim_answer_lost(device) : told;
    }
    if (sim.lost[device] && kind != SIM_CLOSE && kind != SIM_RELEASE)
        return sim_answer_lost(device);
    *go = true;
    return DUO_OK;
}

duo_status sim_leave(duo_status status)
{
    pthread_mutex_unlock(&sim_lock);
    return status;
}
