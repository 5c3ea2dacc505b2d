/*
 * pump.h - moves runs of host memory to and from a device, piece by piece: the host packs a piece
 * into a pinned stage, or unpacks one, while the device copies others. If nothing can be pinned,
 * pieces go one by one through plain memory.
 */
#ifndef DUO_PUMP_H
#define DUO_PUMP_H

#include "data/resources.h"
#include "data/runs.h"

/* Elements [from, from + count) of runs, which are device_ld apart on the device. */
typedef struct duo_piece {
    const duo_runs *runs;
    float *host, *device; /* where the runs begin */
    int64_t device_ld, from, count;
} duo_piece;

typedef struct duo_pump {
    duo_resources *res;
    duo_ring *ring; /* the stages */
    float *plain;   /* instead of them, if nothing can be pinned; else NULL */
    int threads;    /* that pack and unpack */
    duo_packing_way packing;
    const duo_step *step; /* the piece's step of a streamed product; else NULL */
} duo_pump;

/* Most elements of the next piece. */
int64_t duo_pump_room(const duo_pump *pump);

/* Packs a piece into the next stage, which is free, and queues its copy to the device. */
duo_status duo_pump_up(const duo_pump *pump, duo_queue *queue, int device, const duo_piece *piece);

/* Queues the copy of a piece from the device into the next stage, which is free. *stage: its
 * number; -1: the piece has arrived in plain memory. Unpack a piece after it has arrived. */
duo_status duo_pump_down(const duo_pump *pump, duo_queue *queue, int device, const duo_piece *piece,
                         int *stage);
void duo_pump_unpack(const duo_pump *pump, int stage, const duo_piece *piece);

#endif
