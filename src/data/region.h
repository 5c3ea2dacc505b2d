/*
 * region.h - a registered range of addresses: what it is, and where its current bytes are.
 *
 * Every field is read and written under the residency lock; docs/architecture.md has a table of who
 * changes which of them, and when.
 */
#ifndef DUO_REGION_H
#define DUO_REGION_H

#include "data/packed.h"
#include "data/range.h"
#include "gpu/backend/backend.h"

typedef enum duo_region_kind {
    DUO_REGION_DEVICE,  /* duo_malloc */
    DUO_REGION_ADOPTED, /* duo_adopt */
    DUO_REGION_HOSTED,  /* duo_malloc where no GPU could give it: host memory */
    DUO_REGION_PINNED,  /* duo_malloc_host */
    DUO_REGION_PLAIN,   /* duo_malloc_host where nothing could be pinned: host memory */
    DUO_REGION_KEPT     /* duo_keep */
} duo_region_kind;

struct duo_region {
    /* All kinds. */
    duo_region_kind kind;
    uintptr_t low, high; /* addresses [low, high) */
    int device;          /* of its bytes there, or where these would go */
    bool lost;           /* the only current copy was on a device that is lost */

    /* What has bytes on a device: DEVICE, ADOPTED, KEPT. */
    duo_queue *last; /* the queue that used them last; NULL: none, or all is done */
    int last_device; /* that queue's */
    int pending;     /* calls that hold an address of theirs and have not queued their work yet */
    int pending_writes; /* those of them that will write */
    duo_range writing;  /* where these will write; empty while there are none */
    duo_packed_list packed;

    /* KEPT: an array in host memory and its device copy. */
    void *device_copy; /* NULL until its first use there */
    bool refused;      /* the device had no room for it: used as plain host memory */
    duo_range host_stale, device_stale; /* bytes of each copy that are newer in the other */
    /* Of the next sending, so much has been earned by calls that went without. */
    double credit_seconds;
};

static inline bool duo_region_is_device(const duo_region *region)
{
    return region->kind == DUO_REGION_DEVICE || region->kind == DUO_REGION_ADOPTED;
}

static inline size_t duo_region_bytes(const duo_region *region)
{
    return region->high - region->low;
}

/* The part of it that an operand within it spans. */
duo_range duo_region_part(const duo_region *region, const duo_operand *o);

/* A device copy for a kept array; nothing in it is current. */
duo_status duo_region_make_copy(duo_region *region, int device);

/* Gives a kept array's device copy back, whatever is in it, and every packed operand. */
void duo_region_drop_copy(duo_region *region);

/* Its device is lost: what only that had is lost, too. */
void duo_region_lose(duo_region *region);

/* In a child process: the device and the other threads are gone, and nothing may be given back. */
void duo_region_in_child(duo_region *region);

#endif
