/*
 * stage.h - the rings of pinned staging buffers of a context.
 *
 * While a device copies one stage, the host packs or unpacks another. A stage is free once the mark
 * behind its work has passed. A streamed product's work on it may be in any queue of any device,
 * and ends with the product.
 */
#ifndef DUO_STAGE_H
#define DUO_STAGE_H

#include "data/resources.h"

enum { DUO_LARGEST_STAGE = 8 << 20 }; /* bytes */

/* Bytes of a stage. Pinning takes 0.6 ms for a MiB, and many programs never need large stages.
 * Large ones copy faster: every piece costs the threads that copy it a start and an end. */
static inline size_t duo_stage_bytes(size_t bytes)
{
    enum { STAGES = DUO_STAGES, SMALL = 256 << 10, MEDIUM = 2 << 20 };
    if (bytes <= STAGES * (size_t)SMALL) return SMALL;
    return bytes <= STAGES * (size_t)MEDIUM ? MEDIUM : DUO_LARGEST_STAGE;
}

/* Makes the stages for a transfer of `bytes`. */
duo_status duo_stage_make(duo_resources *res, duo_ring *ring, size_t bytes);

/* The host waits until stage i is free. */
duo_status duo_stage_wait(duo_resources *res, duo_ring *ring, int i);

/* Is stage i free? Does not wait. */
duo_status duo_stage_look(duo_resources *res, duo_ring *ring, int i, bool *free);

/* The queue, on this device, has work on stage i now; the next piece takes the next stage. */
duo_status duo_stage_mark(duo_resources *res, duo_ring *ring, int i, duo_queue *queue, int device);

/* Is the device still usable? Copies from it are worthless once another thread has found it lost
 * and freed its memory. DUO_OK or DUO_ERR_LOST. */
duo_status duo_stage_still_there(int device);

/* Setting a mark or waiting for one has failed with `status`: waits for everything that was queued
 * instead. DUO_OK or DUO_ERR_LOST. */
duo_status duo_stage_wait_for_all(duo_resources *res, duo_queue *queue, int device,
                                  duo_status status, const char *doing);

/* A copy could not be queued. Earlier copies may still use memory that is about to be reused: waits
 * for them. Returns `status`, or DUO_ERR_LOST. */
duo_status duo_stage_give_up(duo_resources *res, duo_queue *queue, int device, duo_status status,
                             const char *doing);

#endif
