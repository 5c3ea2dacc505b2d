/*
 * residency.h - the table of registered regions: which address ranges the library knows.
 *
 * One table for the process, sorted by address; regions never overlap. All functions but
 * duo_residency_near need the lock.
 */
#ifndef DUO_RESIDENCY_H
#define DUO_RESIDENCY_H

#include <stdatomic.h>

#include "data/region.h"

/* The lock on all regions, held also while they are sent and fetched. Whoever takes it finds the
 * regions of lost devices swept. */
void duo_residency_lock(void);
void duo_residency_unlock(void);

/* Regions of devices that were found lost meanwhile lose what only these had: for holders of the
 * lock, after a failure. */
void duo_residency_sweep(void);

/* From the lowest address of all regions to the highest, for calls that have to do with none. */
extern _Atomic uintptr_t duo_residency_lowest, duo_residency_highest;

/* May a region meet [low, high)? Lock-free; false means certainly not. */
static inline bool duo_residency_near(uintptr_t low, uintptr_t high)
{
    return low < atomic_load_explicit(&duo_residency_highest, memory_order_acquire) &&
           high > atomic_load_explicit(&duo_residency_lowest, memory_order_acquire);
}

/* The region that holds [low, high) whole; else NULL, and *crosses says whether it overlaps any. */
duo_region *duo_residency_find(uintptr_t low, uintptr_t high, bool *crosses);

/* The region that begins at this address, or NULL. */
duo_region *duo_residency_starting_at(const void *address);

/* The first region that overlaps [low, high), in order of address; then each next. NULL after the
 * last. */
duo_region *duo_residency_first(uintptr_t low, uintptr_t high);
duo_region *duo_residency_next(const duo_region *region, uintptr_t high);

/* DUO_ERR_RANGE: overlaps a region that is there. DUO_ERR_MEMORY. *region may be NULL if not
 * wanted. */
duo_status duo_residency_add(duo_region_kind kind, void *address, size_t bytes, int device,
                             duo_region **region);
void duo_residency_remove(duo_region *region); /* and frees it */

/*
 * Calls that write to host memory in or around kept arrays are noted from duo_residency_host_write
 * until they have told what they wrote, in duo_residency_host_wrote. Meanwhile no call begins to
 * write to the device copy of an array that theirs meet. The note is the call's.
 */
void duo_residency_host_write(duo_host_write *note, uintptr_t low, uintptr_t high);
void duo_residency_host_wrote(const duo_host_write *note);
bool duo_residency_host_written(const duo_region *region);

/* The queue is about to end and all its work is done. */
void duo_residency_forget_queue(const duo_queue *queue);

#endif
