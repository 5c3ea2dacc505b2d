/* stream_parts.h - a streamed product while it runs, and where the parts in its steps are. */
#ifndef DUO_STREAM_PARTS_H
#define DUO_STREAM_PARTS_H

#include "data/pump.h"
#include "data/resources.h"
#include "data/runs.h"

/* Marks of a lane's queues: first the marks of the rings' stages, then the marks of products and
 * tiles. A mark that is set again stands behind more work than before, so waiting for it is long
 * enough. */
enum { DUO_FIRST_MARK = 2 * DUO_STAGES, DUO_STEP_MARKS = 32 };
_Static_assert(DUO_FIRST_MARK + DUO_STEP_MARKS < DUO_MARKS,
               "the last mark is duo_upload_consumed's");

/* A piece of a tile of C that is on its way to a stage. */
typedef struct duo_flight {
    int stage, step;
    int64_t from, count;
} duo_flight;

/* Where the slots of an operand begin in the lane's space: as sent, and packed. */
typedef struct duo_slot_places {
    size_t sent[DUO_PLAN_SLOTS], packed[DUO_PLAN_SLOTS], bytes;
} duo_slot_places;

typedef struct duo_stream {
    duo_resources *res;
    duo_algorithm_id algorithm;
    const duo_call *local;
    duo_plan *plan;
    duo_slot_places places[DUO_OPERANDS];
    int threads;
    duo_packing_way packing;
    float *plain; /* instead of stages, if nothing can be pinned; else NULL */

    int next;       /* the step that is begun next */
    int64_t sent;   /* elements of a SEND through stages that are under way */
    int64_t pieces; /* elements that all SENDs through stages have sent */
    /* Must the compute queue still be told to follow the up queue, and the peer queue? */
    bool follows[DUO_LANES], follows_peer[DUO_LANES];

    int fetch;       /* pieces of this FETCH are queued next; or a step before it */
    int64_t fetched; /* elements of it that are under way */
    duo_flight flying[DUO_STAGES];
    int first, count;   /* the ring of flights */
    int64_t pages_from; /* C may have pages that are not there yet, from this element on; -1: no */
    int products[DUO_LANES], tiles[DUO_LANES];

    /* Progress, if events are told. */
    bool told;
    double begin_seconds, tell_seconds; /* the call's begin; the next event's time */
} duo_stream;

/* A part of an operand, in host memory and on the device. Of a batch: matrices, `rows` and
 * `columns` of each. On the device they, and so the runs, stand one behind the other. */
typedef struct duo_part {
    int64_t rows, columns, ld, device_ld;
    float *host, *device;
    duo_runs runs; /* in host memory */
} duo_part;

/* The lane of the step's device, and the memory of a lane's slots. */
duo_lane *duo_stream_lane(const duo_stream *s, const duo_step *step);
duo_space *duo_stream_spaces(const duo_stream *s, int lane);

/* Finds a place in the lanes' memory for every slot of the plan. */
void duo_stream_place_slots(duo_stream *s);

/* Are operands sent as a whole, to memory with the layout of the operand? */
static inline bool duo_stream_fills(const duo_plan *plan)
{
    return plan->held && plan->of.devices == 1;
}

/* The part of operand i that the step works on. */
duo_part duo_stream_part(const duo_stream *s, const duo_step *step, int i);

/* The step as a call on the device, for the backend. Of a batch, `batch` becomes its products. */
duo_call duo_stream_call(const duo_stream *s, const duo_step *step, duo_batch *batch);

/* Elements of the next piece of these runs: half of `of`, at least `least`, whole runs if
 * possible. */
int64_t duo_stream_piece(const duo_pump *pump, const duo_runs *r, int64_t of, int64_t least,
                         int64_t left);

/* Makes the queue follow the step that used the memory before. */
duo_status duo_stream_follow(const duo_stream *s, const duo_step *step, duo_queue *queue);

/* Notes that a step failed; returns the status. */
duo_status duo_stream_failed(const duo_stream *s, const duo_step *step, duo_status status,
                             const char *doing);

#endif
