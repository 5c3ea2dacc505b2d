/*
 * stage.h - the ring of pinned staging buffers of a context.
 *
 * While the device copies one stage, the host packs or unpacks another. A stage is free once its
 * mark in the queue has passed.
 */
#ifndef DUO_STAGE_H
#define DUO_STAGE_H

#include "data/resources.h"

enum { DUO_LARGEST_STAGE = 4 << 20 }; /* bytes */

/* Makes stages for a transfer of so many bytes: all at least small, or all of the largest size. */
duo_status duo_stage_make(duo_resources *res, size_t bytes);

/* The host waits until stage i is free. */
duo_status duo_stage_wait(duo_resources *res, int i);

/* The queue has work on stage i now; the next transfer takes the next stage. */
duo_status duo_stage_mark(duo_resources *res, int i);

/* Is the queue's device still usable? What it copied is worth nothing once another thread has found
 * it lost and freed its memory. DUO_OK or DUO_ERR_LOST. */
duo_status duo_stage_still_there(const duo_resources *res);

/* Setting a mark or waiting for one has failed with `status`: waits for everything that was queued
 * instead. DUO_OK or DUO_ERR_LOST. */
duo_status duo_stage_wait_for_all(duo_resources *res, duo_status status, const char *doing);

/* A copy could not be queued. Earlier ones may still use memory that is about to be used otherwise:
 * waits for them. Returns `status`, or DUO_ERR_LOST. */
duo_status duo_stage_give_up(duo_resources *res, duo_status status, const char *doing);

#endif
