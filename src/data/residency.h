/*
 * residency.h - the table of registered regions: which address ranges the library knows.
 *
 * A table for the process, sorted by address; its regions never overlap. Remembered arrays are in a
 * table of their own: the program does not know of them, so they may overlap registered regions and
 * change nothing there. All functions except duo_residency_near need the lock.
 *
 * A region that was found is valid while the lock is held. To use it longer, hold it: then it is
 * not removed, and its device memory stays where it is. Otherwise find it again.
 */
#ifndef DUO_RESIDENCY_H
#define DUO_RESIDENCY_H

#include <stdatomic.h>

#include "data/region.h"

/* The lock on all regions. It is held also while regions are sent and fetched. Taking it sweeps. */
void duo_residency_lock(void);
void duo_residency_unlock(void);

/* Gives the lock away until a region has fewer holders or has gone. After it, find regions
 * again. */
void duo_residency_wait(void);

/* Sweeps: if devices were found lost since the last sweep, their regions lose the bytes that only
 * these devices had. Holders of the lock call it after a failure, before they look at a region
 * again. */
void duo_residency_sweep(void);

/* All regions lie in [lowest, highest): a call outside of it need not take the lock. */
extern _Atomic uintptr_t duo_residency_lowest, duo_residency_highest;

/* May a region meet [low, high)? Lock-free; false means certainly not. */
static inline bool duo_residency_near(uintptr_t low, uintptr_t high)
{
    return low < atomic_load_explicit(&duo_residency_highest, memory_order_acquire) &&
           high > atomic_load_explicit(&duo_residency_lowest, memory_order_acquire);
}

/* The region that holds all of [low, high); else NULL, and *crosses tells whether [low, high)
 * overlaps any region. */
duo_region *duo_residency_find(uintptr_t low, uintptr_t high, bool *crosses);

/* The region that holds all of the operand, or NULL. */
duo_region *duo_residency_of(const duo_operand *o);

/* The first region that overlaps [low, high), in order of address; then each next. NULL after the
 * last. */
duo_region *duo_residency_first(uintptr_t low, uintptr_t high);
duo_region *duo_residency_next(const duo_region *region, uintptr_t high);

/* The first remembered array that overlaps [low, high), in order of address; NULL: there is none.
 * Then each next is the first behind it. How many there are. */
duo_region *duo_residency_remembered(uintptr_t low, uintptr_t high);
size_t duo_residency_count_remembered(void);

/* How much memory of duo_malloc lies in host memory: pieces. */
size_t duo_residency_count_hosted(void);

/* Registers a region, which does not wrap around. DUO_ERR_MEMORY, or DUO_ERR_RANGE: it overlaps
 * another region. region may be NULL. */
duo_status duo_residency_add(duo_region_kind kind, const void *address, size_t bytes, int device,
                             duo_region **region);

/* Holds a region; `writes`: bytes that will be written on the device, or NULL. Then lets it go: the
 * last holder drops packed operands that are no longer promised, and copies on a lost device. */
void duo_residency_hold(duo_region *region, const duo_range *writes);
void duo_residency_let_go(duo_region *region, bool writes);

/*
 * A region to be removed. It has one of two kinds and begins at the address, or is KEPT and
 * contains the address. Waits until nobody holds the region; meanwhile no call is placed there on
 * the device. Then call duo_residency_remove or duo_residency_stay. NULL: there is none, or none
 * any more. The caller holds no region.
 */
duo_region *duo_residency_vacate(const void *address, duo_region_kind kind, duo_region_kind other);
void duo_residency_remove(duo_region *region);
void duo_residency_stay(duo_region *region);

/* Counts how often regions came, went or lost bytes. While it stays the same, everything is where
 * it was. Lock-free. */
uint64_t duo_residency_changes(void);

/* The number of a call that names regions: larger than every earlier call's. */
uint64_t duo_residency_number(void);

/* A note that a call is writing to the host memory [low, high). While it is in the list, other
 * threads change it under the lock; so it must not be in a struct that a call copies. */
typedef struct duo_host_write {
    struct duo_host_write *next;
    uintptr_t low, high;
} duo_host_write;

/*
 * A call that writes to host memory in or around kept arrays is noted in a list, from
 * duo_residency_host_write to duo_residency_host_wrote. Meanwhile no call is placed to write to the
 * device copy of an array that [low, high) meets (duo_residency_host_written). The caller owns the
 * note.
 */
void duo_residency_host_write(duo_host_write *note, uintptr_t low, uintptr_t high);
void duo_residency_host_wrote(const duo_host_write *note);
bool duo_residency_host_written(const duo_region *region);

/* Makes every region forget the queue. Before it is closed, when its work is done. */
void duo_residency_forget_queue(const duo_queue *queue);

#endif
