/* event.c - events (event.h). */
#define _GNU_SOURCE
#include "data/event.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "host/fork.h"
#include "host/lock.h"

enum { NO_DEVICE = -1 };

static duo_event *pool;   /* ended events, to be used again */
static duo_event *newest; /* the head of the list of all events, ended ones too */

static const duo_event_place nothing = {.device = NO_DEVICE};

/* Under DUO_LOCK_EVENTS. */
static void set_place(duo_event *event, duo_event_place place, duo_node *node, int nodes)
{
    free(event->node);
    event->place = place;
    event->node = node;
    event->nodes = nodes;
}

/* ---- Making ---- */

duo_event *duo_event_make(void)
{
    duo_lock(DUO_LOCK_EVENTS);
    duo_event *const event = pool != NULL ? pool : duo_handle_allocate(sizeof *event);
    if (event != NULL && event == pool) {
        pool = event->next;
    } else if (event != NULL) {
        event->older = newest;
        newest = event;
    }
    if (event != NULL) {
        event->place = nothing;
        duo_handle_begin(&event->handled, DUO_HANDLE_EVENT);
    }
    duo_unlock(DUO_LOCK_EVENTS);
    return event;
}

void duo_event_end(duo_event *event)
{
    for (int d = 0; d < DUO_MOST_DEVICES; d++)
        if (event->signal[d] != NULL) duo_backend_current()->signal_close(event->signal[d]);
    memset(event->signal, 0, sizeof event->signal);
    event->handled.kind = DUO_HANDLE_NONE;
    duo_lock(DUO_LOCK_EVENTS);
    set_place(event, nothing, NULL, 0);
    event->next = pool;
    pool = event;
    duo_unlock(DUO_LOCK_EVENTS);
}

static duo_event_place place_of(const duo_event *event)
{
    duo_lock(DUO_LOCK_EVENTS);
    const duo_event_place place = event->place;
    duo_unlock(DUO_LOCK_EVENTS);
    return place;
}

/* ---- Recording ---- */

static duo_status set_signal(duo_event *event, const duo_resources *res)
{
    duo_signal **const signal = &event->signal[res->queue_device];
    duo_status status = DUO_OK;
    if (*signal == NULL) status = duo_signal_open(res->queue_device, signal);
    return status == DUO_OK ? duo_signal_set(*signal, res->queue) : status;
}

static void record(duo_event *event, duo_resources *res, duo_event_place place)
{
    if (res->queue != NULL) {
        duo_status status = set_signal(event, res);
        if (status == DUO_OK) place.device = res->queue_device;
        if (status == DUO_ERR_MEMORY || status == DUO_ERR_DEVICE)
            status = duo_queue_drain(res->queue);
        if (status != DUO_OK) (void)duo_resources_failed(res, DUO_ERR_LOST, "record an event");
    }
    place.lost = !duo_device_usable(res->queue != NULL ? res->queue_device : res->device);
    duo_lock(DUO_LOCK_EVENTS);
    set_place(event, place, NULL, 0);
    duo_unlock(DUO_LOCK_EVENTS);
}

void duo_event_set(duo_event *event, duo_resources *res)
{
    record(event, res,
           (duo_event_place){.device = NO_DEVICE,
                             .unwaited = res->unwaited,
                             .owed = res->owed == DUO_ERR_LOST,
                             .results = duo_deferred_awaited(res->deferred)});
}

void duo_event_set_work(duo_event *event, duo_resources *res)
{
    record(event, res, (duo_event_place){.device = NO_DEVICE, .unwaited = res->unwaited});
}

/* ---- Waiting ---- */

bool duo_event_pending(const duo_event *event)
{
    const duo_event_place place = place_of(event);
    return place.device != NO_DEVICE && duo_device_usable(place.device);
}

/* The status of waiting after a failure of the backend: a loss matters only if outputs were on that
 * device. */
static duo_status met(duo_event_place place, duo_status status)
{
    if (status == DUO_ERR_LOST) duo_device_lose(place.device, duo_backend_current()->detail());
    return status == DUO_ERR_LOST && !place.unwaited ? DUO_OK : status;
}

/* The status of an event that has no usable signal any more. */
static duo_status settled(duo_event_place place)
{
    const bool lost = place.lost || place.device != NO_DEVICE;
    return lost && place.unwaited ? DUO_ERR_LOST : DUO_OK;
}

duo_status duo_event_follow(duo_event *event, duo_resources *res)
{
    bool idle;
    const duo_event_place place = place_of(event);
    if (place.device == NO_DEVICE || !duo_device_usable(place.device)) return DUO_OK;
    duo_signal *const signal = event->signal[place.device];
    duo_status status = duo_queue_after_signal(res->queue, signal);
    if (status == DUO_ERR_LOST && duo_queue_idle(res->queue, &idle) == DUO_ERR_LOST) {
        (void)duo_resources_failed(res, status, "follow an event");
        return DUO_OK; /* later calls go elsewhere */
    }
    if (status == DUO_ERR_MEMORY || status == DUO_ERR_DEVICE) status = duo_signal_wait(signal);
    if (status == DUO_ERR_LOST) duo_device_lose(place.device, duo_backend_current()->detail());
    return status == DUO_ERR_LOST ? DUO_OK : status;
}

static duo_status wait_for(const duo_event *event, duo_event_place place)
{
    if (place.device == NO_DEVICE || !duo_device_usable(place.device)) return settled(place);
    return met(place, duo_signal_wait(event->signal[place.device]));
}

static duo_status ask(const duo_event *event, duo_event_place place, bool *done)
{
    *done = true;
    if (place.device == NO_DEVICE || !duo_device_usable(place.device)) return settled(place);
    const duo_status status = duo_signal_passed(event->signal[place.device], done);
    if (status == DUO_ERR_LOST) *done = true;
    return met(place, status);
}

/* The place was reached: delivers the results before it. */
static duo_status deliver(duo_event_place place, duo_status reached, bool *all)
{
    *all = true;
    if (reached != DUO_OK && reached != DUO_ERR_LOST) return reached;
    const duo_status results = duo_deferred_deliver(&place.results, all);
    return place.owed ? DUO_ERR_LOST : reached == DUO_OK ? results : reached;
}

duo_status duo_event_finish(duo_event *event)
{
    const duo_event_place place = place_of(event);
    for (;;) {
        bool all;
        const duo_status status = deliver(place, wait_for(event, place), &all);
        if (all) return status;
        /* It was recorded in another context meanwhile, and that place was waited for. */
        (void)sched_yield();
    }
}

duo_status duo_event_passed(duo_event *event, bool *done)
{
    const duo_event_place place = place_of(event);
    const duo_status reached = ask(event, place, done);
    return *done ? deliver(place, reached, done) : reached;
}

/* ---- Captures ---- */

struct duo_capture *duo_event_capture(const duo_event *event) { return place_of(event).capture; }

void duo_event_set_captured(duo_event *event, struct duo_capture *capture, duo_node *node,
                            int nodes)
{
    const duo_event_place place = {.device = NO_DEVICE, .capture = capture};
    duo_lock(DUO_LOCK_EVENTS);
    set_place(event, place, node, nodes);
    duo_unlock(DUO_LOCK_EVENTS);
}

void duo_event_end_capture(const struct duo_capture *capture)
{
    duo_lock(DUO_LOCK_EVENTS);
    for (duo_event *event = newest; event != NULL; event = event->older)
        if (event->place.capture == capture) set_place(event, nothing, NULL, 0);
    duo_unlock(DUO_LOCK_EVENTS);
}

/* ---- Forks ---- */

/* The child has no device, and work of a context there belongs to the parent. A capture goes on. */
static void in_child(void)
{
    for (duo_event *event = newest; event != NULL; event = event->older) {
        memset(event->signal, 0, sizeof event->signal);
        if (event->place.capture == NULL) event->place = nothing;
    }
}

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}
