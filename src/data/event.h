/*
 * event.h - events: places in the work of contexts.
 *
 * An event has a signal for each device that it was recorded on. Events are never freed: an ended
 * one waits in a pool (host/handle.h). docs/inside/architecture.md tells who changes which field.
 */
#ifndef DUO_EVENT_H
#define DUO_EVENT_H

#include "data/resources.h"
#include "host/handle.h"

/* Where an event was recorded last. */
typedef struct duo_event_place {
    int device;    /* its signal was set; -1: all work was done then, or the event is new */
    bool lost;     /* the context's device was lost already */
    bool unwaited; /* the context had outputs on a device, and nobody had waited for them */
    bool owed;     /* it had lost outputs with another device, and not told the program */
    struct duo_capture *capture; /* the unfinished one it was recorded in, or NULL */
    duo_deferred_range results;  /* results that the program did not have yet */
} duo_event_place;

struct duo_event {
    duo_handled handled;
    duo_event_place place; /* under DUO_LOCK_EVENTS */
    duo_node *node;        /* with place.capture: the event is behind these; under that lock */
    int nodes;
    duo_signal *signal[DUO_MOST_DEVICES]; /* by device; each made when first needed */
    duo_event *next;                      /* in the pool */
    duo_event *older;                     /* in the list of all: the one made before */
};

/* A new event, or NULL: out of memory. */
duo_event *duo_event_make(void);
/* Ends an event. Nobody waits for it. */
void duo_event_end(duo_event *event);
/* The live event of a handle; or NULL. */
static inline duo_event *duo_event_of(duo_event *handle)
{
    return duo_handle_object(handle, DUO_HANDLE_EVENT);
}

/* Marks the place behind all work that was queued so far. If the device cannot set a signal, waits
 * for that work instead. */
void duo_event_set(duo_event *event, duo_resources *res);
/* The same, but waiting for it tells only of its work, not of results that come later or were lost
 * before. */
void duo_event_set_work(duo_event *event, duo_resources *res);

/* The open queue follows the event: work that it is given from now on comes later. If the device
 * cannot do that, the host waits. Work that was lost with a device is not followed. DUO_ERR_DEVICE:
 * the host could not wait. */
duo_status duo_event_follow(duo_event *event, duo_resources *res);

/* May work or results before the event still have to be waited for? */
bool duo_event_pending(const duo_event *event);

/* The host waits, and delivers results. DUO_ERR_LOST: outputs or results were lost with the device.
 * DUO_ERR_DEVICE: it could not be waited for. */
duo_status duo_event_finish(duo_event *event);
/* Is all done? Does not wait. The same statuses; *done is true with DUO_ERR_LOST. */
duo_status duo_event_passed(duo_event *event, bool *done);

/* The unfinished capture that the event was recorded in; or NULL. */
struct duo_capture *duo_event_capture(const duo_event *event);
/* Marks the place behind these nodes of a graph that is being captured. `node` is from malloc, and
 * belongs to the event from now on. */
void duo_event_set_captured(duo_event *event, struct duo_capture *capture, duo_node *node,
                            int nodes);
/* A capture ends: its events count as reached. */
void duo_event_end_capture(const struct duo_capture *capture);

#endif
