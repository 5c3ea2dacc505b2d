/*
 * region.h - a registered range of addresses: its kind, and the place of its current bytes.
 *
 * Every field is read and written under the residency lock. `kind`, `low` and `high` never change,
 * and are also read without it. architecture.md tells who changes which field, and when.
 */
#ifndef DUO_REGION_H
#define DUO_REGION_H

#include "data/packed.h"
#include "data/range.h"
#include "data/samples.h"
#include "data/tags.h"
#include "gpu/backend/backend.h"

/*
 * The queues that have work on a region's bytes; other queues may have to wait for them. A reader
 * waits only for the last writer, so that readers run side by side. A writer waits for the last
 * writer and all readers; later queues then wait only for the new writer. Packing counts as
 * writing: the packed operands of a region count as its bytes.
 */

/* If all slots are taken, a new reader waits for one reader and takes its slot: waiting for the new
 * one covers both. */
enum { DUO_READERS = 8 };

typedef struct duo_user {
    duo_queue *queue; /* NULL: none, or its work is done */
    int device;       /* of the queue */
} duo_user;

typedef struct duo_users {
    duo_user writer;
    duo_user reader[DUO_READERS]; /* since the writer; in no order, with gaps */
} duo_users;

static inline bool duo_users_reads(const duo_users *users, const duo_queue *queue)
{
    for (int i = 0; i < DUO_READERS; i++)
        if (users->reader[i].queue == queue) return true;
    return false;
}

static inline bool duo_users_none(const duo_users *users)
{
    bool none = users->writer.queue == NULL;
    for (int i = 0; i < DUO_READERS; i++) none &= users->reader[i].queue == NULL;
    return none;
}

/* All of the queue's work is done. */
static inline void duo_users_forget(duo_users *users, const duo_queue *queue)
{
    if (users->writer.queue == queue) users->writer.queue = NULL;
    for (int i = 0; i < DUO_READERS; i++)
        if (users->reader[i].queue == queue) users->reader[i].queue = NULL;
}

typedef enum duo_region_kind {
    DUO_REGION_DEVICE,    /* duo_malloc */
    DUO_REGION_ADOPTED,   /* duo_adopt */
    DUO_REGION_HOSTED,    /* duo_malloc without a GPU that could give it: host memory */
    DUO_REGION_PINNED,    /* duo_malloc_host */
    DUO_REGION_PLAIN,     /* duo_malloc_host if nothing could be pinned: host memory */
    DUO_REGION_KEPT,      /* duo_keep */
    DUO_REGION_REMEMBERED /* plain host memory, perhaps with a device copy (remembered.h) */
} duo_region_kind;

struct duo_region {
    /* All kinds of region. */
    duo_region_kind kind;
    uintptr_t low, high; /* its addresses [low, high) */
    int device;          /* DEVICE, ADOPTED: where it is; KEPT: where its device copy is or was */
    bool lost;           /* the region's only current copy was on a device that is lost */

    /* Regions that have bytes on a device: DEVICE, ADOPTED, and KEPT by its device copy. */
    duo_users users;    /* queues with work on these bytes */
    int pending;        /* holders of the region: placed operands, graphs (residency.h) */
    int pending_writes; /* holders that will write it on the device */
    duo_range writing;  /* the bytes that pending_writes will write; empty while that is 0 */
    duo_packed_list packed;
    bool leaving; /* a thread waits until nobody holds it, to remove it */

    /* Every region that a call can name: numbers of the last two calls that used it (duo_call). An
     * array counts as used when it is registered. */
    uint64_t used, used_before;

    /* KEPT: an array in host memory and its device copy. */
    void *device_copy;      /* address of the copy on `device`; NULL: none yet, or none any more */
    bool refused;           /* larger than the device may hold: used as plain host memory */
    duo_range host_stale;   /* bytes that are newer in the device copy */
    duo_range device_stale; /* bytes that are newer in host memory */
    double credit_seconds;  /* reduces the price of the next sending; infinite before the first */
    duo_samples *samples;   /* DUOBLAS_CHECK: of the host copy when both were equal; or NULL */

    /* REMEMBERED (remembered.h); of KEPT's fields it has device_copy and device_stale. */
    bool seen;        /* a product on the GPU was sent it, and no call has written to it since */
    int same;         /* checks in a row that found no change, since all of it was sent */
    int rests;        /* times that it is still to be sent without a copy */
    int rested;       /* and how often the last time */
    bool watched;     /* its pages are watched: what has been written is known (host/written.h) */
    bool unwatched;   /* they cannot be */
    unsigned turn;    /* of the blocks that are compared all the same */
    uint64_t checked; /* the last call that checked all of it */
    bool tagged;      /* `tag` is of the device copy as it is */
    duo_tag *tag;     /* of each block, from the page on in which the array begins; or NULL */
};

/*
 * Two questions with different answers for HOSTED. The place where a region lies decides how bytes
 * get to an algorithm, and how long that takes. The memory that it counts as decides what the
 * program may expect: calls on device memory are in order, and the program does not read it itself.
 */

/* Are its bytes on a device, and nowhere else? */
static inline bool duo_region_lies_on_device(const duo_region *region)
{
    return region->kind == DUO_REGION_DEVICE || region->kind == DUO_REGION_ADOPTED;
}

/* Is it host memory that has no other copy? */
static inline bool duo_region_lies_in_host(const duo_region *region)
{
    return region->kind == DUO_REGION_HOSTED || region->kind == DUO_REGION_PINNED ||
           region->kind == DUO_REGION_PLAIN;
}

/* Is it device memory to the program? */
static inline bool duo_region_counts_as_device(const duo_region *region)
{
    return duo_region_lies_on_device(region) || region->kind == DUO_REGION_HOSTED;
}

/* Is an operand in this region (NULL: in none) host memory to the program, but no kept array? */
static inline bool duo_region_counts_as_host(const duo_region *region)
{
    return region == NULL || region->kind == DUO_REGION_PINNED || region->kind == DUO_REGION_PLAIN;
}

static inline size_t duo_region_bytes(const duo_region *region)
{
    return region->high - region->low;
}

/* The bytes of the region that an operand within it spans, as it was located. */
static inline duo_range duo_region_part(const duo_region *region, const duo_operand *o)
{
    return (duo_range){o->low - region->low, o->high - region->low};
}

/* A call of this number uses the region. */
static inline void duo_region_use(duo_region *region, uint64_t call)
{
    if (region->used == call) return;
    region->used_before = region->used;
    region->used = call;
}

/* How many blocks of a remembered array have tags. Blocks are pages of memory: the array may begin
 * and end within one. */
static inline size_t duo_region_blocks(const duo_region *region)
{
    const uintptr_t first = region->low / DUO_TAG_BLOCK;
    return (region->high - 1) / DUO_TAG_BLOCK - first + 1;
}

/* Bytes to allocate for an array's device copy; for a remembered one also for its blocks' tags, and
 * the key. */
size_t duo_region_copy_bytes(const duo_region *region);

/* Bytes that evicting frees: the region's device copy and its packed operands on the device. */
size_t duo_region_evictable_bytes(const duo_region *region);

/* The kept array's device copy is in this new allocation; none of its bytes are current. */
void duo_region_set_copy(duo_region *region, int device, void *allocation);

/*
 * Frees every packed operand; the second those on the device, and a kept array's device copy with
 * all data in it. While somebody holds the region all stay: the last holder drops them when it lets
 * the region go.
 */
void duo_region_drop_packed(duo_region *region);
void duo_region_drop_copy(duo_region *region);

/* The device copy of a remembered array is not current any more, and goes unless it is held. */
void duo_region_forget_copy(duo_region *region);

/* A transfer has made these bytes of both copies equal. */
static inline void duo_region_made_equal(duo_region *region, duo_range range)
{
    if (region->samples != NULL) duo_samples_take(region->samples, (void *)region->low, range);
}

/* Is the device lost that the region has or had bytes on? Host memory never has bytes on a device,
 * even if it was pinned for one. */
bool duo_region_device_lost(const duo_region *region);

/* Waits for all queues' work on the region, except on lost devices. It needs no queue of its own:
 * opening one could fail. To be called before anything of the region is freed. */
void duo_region_settle(duo_region *region);

/* Has a kept array a device copy that is of use? On a lost device one may remain while the region
 * is held, but is of no use. */
bool duo_region_has_copy(const duo_region *region);

/* The region's device is lost: bytes that were current only there are lost, too, and the device
 * copy is dropped. */
void duo_region_lose(duo_region *region);

/* For a child process, which has no devices and no other threads. No device memory is freed. */
void duo_region_in_child(duo_region *region);

#endif
