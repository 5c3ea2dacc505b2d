/*
 * resources.h - what a context holds on a device: a queue, workspace, staging buffers and a pinned
 * word for results. Each is made when first needed; closing the queue frees the others.
 *
 * Only the thread that uses the context uses its resources.
 */
#ifndef DUO_RESOURCES_H
#define DUO_RESOURCES_H

#include "data/region.h"
#include "gpu/backend/backend.h"
#include "host/report.h"

enum { DUO_STAGES = 4 };

/* A buffer that grows and is used again. */
typedef struct duo_space {
    void *address;
    size_t bytes;
} duo_space;

typedef struct duo_resources {
    duo_report report; /* gets a note of every failure here */

    /* What the user asks for. */
    int device;
    bool rank_device; /* `device` is still an MPI rank's number: the devices were not counted yet */
    void *stream;     /* the user's CUDA stream, or NULL */
    int threads;      /* most CPU threads of a call; 0: the default */

    /* The queue. */
    duo_queue *queue; /* NULL: it is not open */
    int queue_device; /* its device: `device`, or that of a region (duo_resources_reach) */
    bool opened;      /* set when a queue is opened, until context.c has seen the device's name */

    /* Buffers that belong to the queue. */
    duo_space workspace[DUO_OPERANDS]; /* device memory with copies of host operands */
    duo_space stage[DUO_STAGES];       /* pinned; stage i is free once mark i has passed */
    bool stage_busy[DUO_STAGES];       /* mark i was set and not waited for */
    int stage_next;                    /* the stage that the next transfer takes */

    /* The pinned word, by which the result of a reduction comes to the host. */
    uint64_t *pinned_result; /* ticket and float of the last result; NULL: not needed yet */
    uint32_t ticket;         /* of the last reduction: the word has it once its result is there */

    /* Work that is under way. */
    bool reading_host; /* transfers straight from the user's pinned memory may be under way */
    bool unwaited;     /* outputs on the device were queued, and nobody has waited for them */
    bool on_gpu;       /* a GPU algorithm is being placed or run: the queue stays on its device */
} duo_resources;

/* Once the devices are counted, makes an MPI rank's number that of a device: modulo their count. */
void duo_resources_settle_device(duo_resources *res);

/* Opens the queue on `device`, if it is not open. DUO_ERR_DEVICE: there is no usable GPU, and the
 * report says why. */
duo_status duo_resources_open(duo_resources *res);

/*
 * Opens the queue for transfers with a region: where `device` is lost, on the region's device.
 * DUO_ERR_LOST: the region's device is lost. Under the residency lock.
 */
duo_status duo_resources_reach(duo_resources *res, const duo_region *region);

/* Waits for the queue's work and closes the queue. A failure is returned only if outputs on the
 * device were unwaited. */
duo_status duo_resources_close(duo_resources *res);

/* Frees the workspace, once the device has done what it does with it. */
void duo_resources_free_workspace(duo_resources *res);

/* Frees workspace and staging buffers; the queue stays open. */
void duo_resources_trim(duo_resources *res);

/* In a child process: forgets the queue and its buffers, which are the parent's. */
void duo_resources_in_child(duo_resources *res);

/* Makes the pinned word, if it is not there. */
duo_status duo_resources_pin_result(duo_resources *res);

/* Makes a space on the queue's device at least so large. On failure the space is empty. */
duo_status duo_resources_grow(duo_resources *res, duo_space *space, size_t bytes);

/* Something failed on the queue's device: notes the failure, and marks the device as lost if status
 * says so. Returns status. */
duo_status duo_resources_failed(duo_resources *res, duo_status status, const char *doing);

#endif
