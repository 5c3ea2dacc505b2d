/*
 * coherence.h - brings the two copies of a kept array up to date, and orders the work of several
 * queues on one region.
 *
 * All functions need the residency lock. A failure leaves a region as it was, unless its device was
 * lost.
 */
#ifndef DUO_COHERENCE_H
#define DUO_COHERENCE_H

#include "data/resources.h"

/* The context's queue is about to read or write the region's bytes on the device, or their packed
 * operands. It is made to wait for other queues as region.h says, and becomes one of the region's
 * users. */
duo_status duo_coherence_claim_read(duo_resources *res, duo_region *region);
duo_status duo_coherence_claim_write(duo_resources *res, duo_region *region);
duo_status duo_coherence_claim(duo_resources *res, duo_region *region, bool written);

/* Makes the device copy of a kept array current and claims it to write. The array has a device
 * copy. */
duo_status duo_coherence_send(duo_resources *res, duo_region *region);

/* Makes the host copy of a kept array current. */
duo_status duo_coherence_fetch(duo_resources *res, duo_region *region);

/* Fetches every kept array that [low, high) touches. A failure does not stop it; returns the
 * first. */
duo_status duo_coherence_fetch_all(duo_resources *res, uintptr_t low, uintptr_t high);

/* Takes a kept array off its device: fetches the newer bytes, waits for work on the device copy,
 * and frees the copy and the packed operands. DUO_DECLINED: a call that was given the copy has not
 * queued its work yet. After a failure the copy is still there, unless its device was lost. */
duo_outcome duo_coherence_leave(duo_resources *res, duo_region *region);

/* Removes a vacated region, after the work on it, and frees it with its device copy and packed
 * operands. */
void duo_coherence_remove(duo_region *region);

/* The host wrote bytes [from, to) of a kept array: they are stale on the device, or are sent. */
duo_status duo_coherence_written(duo_resources *res, duo_region *region, size_t from, size_t to);

/* The host wrote [low, high): the same for every kept array that this touches. A failure does not
 * stop it; returns the first. */
duo_status duo_coherence_written_all(duo_resources *res, uintptr_t low, uintptr_t high);

/* The user wrote [low, high): the same, and packed operands of device memory become stale, too. If
 * a kept array's changes cannot be sent because its device is lost, the array is lost. */
duo_status duo_coherence_changed(duo_resources *res, uintptr_t low, uintptr_t high);

#endif
