/*
 * resources.h - what a context holds on a device: its queue there, workspace, staging buffers and a
 * pinned word for results. All is made when first needed; closing the queue gives the rest back.
 *
 * Used by the one thread that uses the context.
 */
#ifndef DUO_RESOURCES_H
#define DUO_RESOURCES_H

#include "data/region.h"
#include "gpu/backend/backend.h"
#include "host/report.h"

enum { DUO_STAGES = 4 };

/* Memory that grows and is used again. */
typedef struct duo_space {
    void *address;
    size_t bytes;
} duo_space;

typedef struct duo_resources {
    duo_report report; /* told of every failure here */

    /* Set by the user. */
    int device;
    bool rank_device; /* `device` is a rank's number as yet: the devices had not been counted */
    void *stream;     /* the user's, or NULL */
    int threads;      /* most CPU threads; 0: the default */

    /* The queue, and what goes with it. */
    duo_queue *queue; /* NULL: none */
    int queue_device; /* where it is: `device`, or that of a region where `device` is lost */
    bool opened;      /* since somebody has last looked at the device's name */
    duo_space workspace[DUO_OPERANDS]; /* device copies of host operands */
    duo_space stage[DUO_STAGES];       /* pinned; stage i is free after mark i of the queue */
    bool stage_busy[DUO_STAGES];
    int stage_next;
    uint64_t *pinned_result; /* of a reduction: ticket and float; NULL: not needed yet */
    uint32_t ticket;         /* the last reduction's: its result is there once the word has it */
    bool reading_host;       /* transfers straight from the user's pinned memory may be under way */
    bool unwaited; /* outputs on the device were queued, and nobody has waited for them yet */
    bool on_gpu;   /* a GPU algorithm is under way: the queue stays where it is */
} duo_resources;

/* Ranks of one machine are spread over its devices, once these were counted. */
void duo_resources_settle_device(duo_resources *res);

/* The queue on the device, opened if need be. DUO_ERR_DEVICE: no usable GPU (noted). */
duo_status duo_resources_open(duo_resources *res);

/*
 * The same for transfers with a region: where `device` is lost, the queue goes to the region's
 * device. DUO_ERR_LOST: that is lost, too. Under the residency lock.
 */
duo_status duo_resources_reach(duo_resources *res, const duo_region *region);

/* Waits for the queue's work and closes it. The status is DUO_OK unless outputs on the device were
 * unwaited. */
duo_status duo_resources_close(duo_resources *res);

/* Gives workspace and staging buffers back; the queue stays. */
void duo_resources_trim(duo_resources *res);

/* In a child process: all of it is the parent's. */
void duo_resources_in_child(duo_resources *res);

/* The word for a result that the host waits for. */
duo_status duo_resources_pin_result(duo_resources *res);

/* A space on the queue's device of at least so many bytes; DUO_ERR_MEMORY leaves it empty. */
duo_status duo_resources_grow(duo_resources *res, duo_space *space, size_t bytes);

/* Something failed on the queue's device: notes it, and where the device is lost marks that.
 * Returns status. */
duo_status duo_resources_failed(duo_resources *res, duo_status status, const char *doing);

#endif
