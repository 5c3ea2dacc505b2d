/*
 * coherence.h - the two copies of a kept array, and the order of work on any region: which bytes
 * are stale in which copy, and how they become current.
 *
 * All under the residency lock. A failure leaves the region as it was, unless its device was lost.
 */
#ifndef DUO_COHERENCE_H
#define DUO_COHERENCE_H

#include "data/resources.h"

/* The context's queue is about to use the region's bytes on the device: it follows what others
 * queued. */
duo_status duo_coherence_claim(duo_resources *res, duo_region *region);

/* A device copy for a kept array that has none; nothing in it is current. */
duo_status duo_coherence_make_copy(duo_resources *res, duo_region *region);

/* Makes the device copy of a kept array current, be it a new one. */
duo_status duo_coherence_send(duo_resources *res, duo_region *region);

/* Makes the host copy of a kept array current. */
duo_status duo_coherence_fetch(duo_resources *res, duo_region *region);

/* The same of every kept array that [low, high) touches; the first failure, after all. */
duo_status duo_coherence_fetch_all(duo_resources *res, uintptr_t low, uintptr_t high);

/* Waits for the work that was queued on a region, whoever queued it, before it goes. */
void duo_coherence_settle(duo_resources *res, duo_region *region);

/* The host wrote bytes [from, to) of a kept array. */
duo_status duo_coherence_written(duo_resources *res, duo_region *region, size_t from, size_t to);

/* The same of every kept array that [low, high) touches; the first failure, after all. */
duo_status duo_coherence_written_all(duo_resources *res, uintptr_t low, uintptr_t high);

/* The user says so of [low, high), also of device memory, where packed operands become stale. */
duo_status duo_coherence_changed(duo_resources *res, uintptr_t low, uintptr_t high);

#endif
