/*
 * residency.h - which address ranges the library knows, and where their current bytes are.
 *
 * One table for the process, sorted by address; ranges never overlap. A kept range has two copies,
 * host and device, each with at most one hull of bytes that are stale in it; the two hulls are
 * never both non-empty while the device copy is being written. Work on a range is ordered across
 * queues: `last` is the queue that used it last, and another queue waits for it first.
 *
 * The functions below that take a region need the lock.
 */
#ifndef DUO_RESIDENCY_H
#define DUO_RESIDENCY_H

#include <stdatomic.h>

#include "gpu/backend/backend.h"

typedef struct duo_context duo_context;
typedef struct duo_packed duo_packed; /* form.c */

typedef enum duo_region_kind {
    DUO_REGION_DEVICE,  /* duo_malloc */
    DUO_REGION_ADOPTED, /* duo_adopt */
    DUO_REGION_HOSTED,  /* duo_malloc where no GPU could give it: host memory */
    DUO_REGION_PINNED,  /* duo_malloc_host */
    DUO_REGION_PLAIN,   /* duo_malloc_host where nothing could be pinned: host memory */
    DUO_REGION_KEPT     /* duo_keep */
} duo_region_kind;

typedef struct duo_range {
    size_t from, to; /* bytes from the start of the region; from >= to: empty */
} duo_range;

struct duo_region {
    duo_region_kind kind;
    uintptr_t low, high;
    int device;
    bool lost;       /* the only current copy was on a lost device */
    duo_queue *last; /* the queue that used its device copy last; NULL: none, or done */
    int last_device; /* that queue's */
    int pending;     /* calls that know where that is and have not queued their work yet */
    /* Kept ranges: */
    int device_writers; /* those of them that will write to it; `writing` covers where */
    duo_range writing;
    duo_range promised; /* by duo_prepare: rarely changes */
    duo_packed *packed; /* of operands in it */
    bool packed_full;   /* there was no room for one: there will be no more of them */

    /* DUO_REGION_KEPT */
    void *device_copy; /* device copy; NULL until its first use there */
    bool refused;      /* the device had no room for it: used as plain host memory */
    duo_range host_stale, device_stale;
    double credit_seconds; /* how much of the next sending has been paid for; see place.c */
};

void duo_residency_lock(void);
void duo_residency_unlock(void);

/* The hull of all ranges, for calls that have nothing to do with any of them. */
extern _Atomic uintptr_t duo_residency_lowest, duo_residency_highest;

/* Is any registered range within [low, high)'s reach? Lock-free; false means certainly not. */
static inline bool duo_residency_near(uintptr_t low, uintptr_t high)
{
    return low < atomic_load_explicit(&duo_residency_highest, memory_order_acquire) &&
           high > atomic_load_explicit(&duo_residency_lowest, memory_order_acquire);
}

/* The region that holds [low, high) whole; else NULL, and *crosses says whether it overlaps any. */
duo_region *duo_residency_find(uintptr_t low, uintptr_t high, bool *crosses);

/* The first region that overlaps [low, high), in order of address; then each next. NULL after the
 * last. */
duo_region *duo_residency_first(uintptr_t low, uintptr_t high);
duo_region *duo_residency_next(const duo_region *region, uintptr_t high);

/* DUO_ERR_RANGE: overlaps a range that is there. DUO_ERR_MEMORY. *region may be NULL if not wanted.
 */
duo_status duo_residency_add(duo_region_kind kind, void *address, size_t bytes, int device,
                             duo_region **region);
void duo_residency_remove(duo_region *region); /* and frees it */

/*
 * Calls that write to host memory in or around kept ranges, from duo_residency_host_write until they have
 * told, in duo_residency_host_wrote. Meanwhile no call begins to write to the device copy of a range that
 * theirs meet. The note is the call's.
 */
void duo_residency_host_write(duo_host_write *note, uintptr_t low, uintptr_t high);
void duo_residency_host_wrote(const duo_host_write *note);
bool duo_residency_host_written(const duo_region *region);

/* The queue is about to end and all its work is done. */
void duo_residency_forget_queue(const duo_queue *queue);
/* The device is lost: what only it had is lost too. Takes the lock itself. */
void duo_residency_lose_device(int device);
/* In a child process every device is lost, and nothing on it may be touched. */
void duo_residency_in_child(void);

/* Gives a kept region's device copy back, whatever is in it, and all forms. */
void duo_region_drop_copy(duo_region *region);

static inline bool duo_range_empty(duo_range hull) { return hull.from >= hull.to; }

static inline bool duo_range_meets(duo_range hull, size_t from, size_t to)
{
    return hull.from < hull.to && hull.from < to && from < hull.to;
}

static inline duo_range duo_range_join(duo_range hull, size_t from, size_t to)
{
    if (duo_range_empty(hull)) return (duo_range){from, to};
    return (duo_range){from < hull.from ? from : hull.from, to > hull.to ? to : hull.to};
}

#endif
