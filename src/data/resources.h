/*
 * resources.h - what a context holds on its devices: a queue, workspace, staging buffers, a pinned
 * word for results, and the lanes of streamed products. Each is made when first needed; closing the
 * queue frees the others.
 *
 * Only the thread that uses the context uses its resources.
 */
#ifndef DUO_RESOURCES_H
#define DUO_RESOURCES_H

#include "data/deferred.h"
#include "data/plan.h"
#include "data/residency.h"
#include "gpu/backend/backend.h"
#include "host/report.h"

enum { DUO_STAGES = 4, DUO_LANES = DUO_PLAN_DEVICES };

/* A buffer that grows and is used again. */
typedef struct duo_space {
    void *address;
    size_t bytes;
} duo_space;

/* A pinned staging buffer. It is free once the mark that was set behind its work has passed. */
typedef struct duo_stage {
    duo_space space;
    duo_queue *queue; /* where the mark was set; NULL: the stage is free */
    int device;       /* of that queue */
} duo_stage;

/* Stage i has mark first_mark + i, in the queue that has its work. */
typedef struct duo_ring {
    duo_stage stage[DUO_STAGES];
    int next, first_mark; /* next: the stage that the next piece takes */
} duo_ring;

/* The queues and slots of a streamed product on one device (data/stream.h). */
typedef struct duo_lane {
    int device;
    duo_queue *up, *down;          /* NULL: the lane is not open */
    duo_queue *peer;               /* copies from other lanes; NULL: there was only one lane */
    duo_queue *compute;            /* lane 0: the context's queue */
    duo_space space[DUO_OPERANDS]; /* slots; lane 0: the context's workspace */
} duo_lane;

typedef struct duo_resources {
    duo_report report; /* gets a note of every failure here */

    /* The user's settings. */
    int device;
    bool rank_device; /* `device` is still an MPI rank's number: the devices were not counted yet */
    int other[DUO_LANES - 1];     /* devices that streamed products may use beside `device` */
    int others;                   /* how many; -1: every other device */
    void *stream;                 /* the user's CUDA stream, or NULL */
    duo_priority priority;        /* of the queues, on each device */
    int threads;                  /* most CPU threads of a call; 0: the default */
    duo_remember remember;        /* are factors in plain host memory remembered? */
    int (*program_threads)(void); /* how many the program's BLAS may use now; NULL: nothing tells */

    /* The queue. */
    duo_queue *queue; /* NULL: it is not open */
    int queue_device; /* its device: `device`, or another one (duo_resources_reach) */
    bool opened;      /* set when a queue is opened, until context.c has seen the device's name */
    duo_status owed;  /* status of earlier work, until duo_synchronize or duo_destroy tells it */

    /* Buffers that belong to the queue. */
    duo_space workspace[DUO_OPERANDS]; /* device memory with copies of host operands */
    duo_ring up, down;                 /* stages; transfers in the queue itself use only `up` */

    /* Streamed products. */
    duo_lane lane[DUO_LANES];
    bool unlinked;                   /* two lanes' devices do not reach each other's memory */
    duo_plan plan;                   /* the last product's: made again only for another problem */
    struct duo_recording *recording; /* the caller's, for measuring (recording.h); NULL: none */

    /* The pinned word that brings the result of a reduction to the host. */
    uint64_t *pinned_result; /* ticket and float of the last result; NULL: not needed yet */
    uint32_t ticket;         /* of the last reduction: the word has it once its result is there */

    /* Results that may come later than their calls return. */
    bool async;             /* the user allows it */
    duo_deferred *deferred; /* NULL: never asked for. It stays when the context ends */

    /* Checks of results on the device (call/verify.h). */
    duo_space checks;       /* device memory for their sums */
    uint32_t *wrong;        /* pinned: the number of the last one that has found a wrong result */
    uint32_t checks_queued; /* the number of the last one */
    uint32_t wrong_told;

    /* Work that is under way. */
    bool reading_host; /* transfers straight from the user's pinned memory may be under way */
    bool unwaited;     /* outputs on the device were queued, and nobody has waited for them */
    bool on_gpu;       /* a GPU algorithm is being placed or run: the queue stays on its device */
    duo_host_write host_write; /* the placed call's, while an operand of it is host_written */
} duo_resources;

/* Once the devices are counted, an MPI rank's number becomes a device's: modulo their count. */
void duo_resources_settle_device(duo_resources *res);

/* Sets the devices beside the context's own; others -1: all. Closes the lanes of the old ones. */
void duo_resources_set_others(duo_resources *res, const int *other, int others);

/* The usable ones among `device` and the others, in this order, and how many: at most DUO_LANES. 0:
 * devices were not looked for yet, or there is none. */
int duo_resources_devices(const duo_resources *res, int device[DUO_LANES]);

/* Why `device` is not usable; "": it is, or devices were not looked for yet. */
const char *duo_resources_no_gpu(const duo_resources *res);

/* If `device` is not usable and another one is, the other takes its place from now on. No lock may
 * be held. */
void duo_resources_replace_device(duo_resources *res);

/* Closes a lane: waits for its work and frees its slots. The context's queue and workspace, which
 * lane 0 uses, stay. */
void duo_resources_close_lane(duo_resources *res, int lane);

/* Opens the queue on `device`, if it is not open. DUO_ERR_DEVICE: there is no usable GPU, and the
 * report says why. */
duo_status duo_resources_open(duo_resources *res);

/*
 * Opens the queue for work with memory of the device `there`; if `device` is lost, opens it on
 * `there`. DUO_ERR_LOST: `there` is lost, too. Under the residency lock.
 */
duo_status duo_resources_reach(duo_resources *res, int there);

/* CPU threads for a call by the calling thread: what was set, but no more than the program lets its
 * own BLAS use. */
int duo_resources_threads(const duo_resources *res);

/* Waits for the queue's work. If a check has found a wrong result, that is owed to the program.
 * DUO_ERR_LOST also if all was done before its device was lost. */
duo_status duo_resources_finish(duo_resources *res);

/* Waits for the queue's work and closes the queue; frees the plan. If outputs on the device were
 * unwaited, or results deferred, a failure is owed to the program. */
void duo_resources_close(duo_resources *res);

/* The first keeps a status that the program has to be told; the second tells it, once. DUO_OK:
 * there is none. */
void duo_resources_owe(duo_resources *res, duo_status status);
duo_status duo_resources_tell(duo_resources *res);

/* Frees the workspace, once the device's work with it is done. */
void duo_resources_free_workspace(duo_resources *res);

/* Frees workspace and staging buffers; the queue stays open. */
void duo_resources_trim(duo_resources *res);

/* In a child process: forgets the queue and its buffers; they belong to the parent. */
void duo_resources_in_child(duo_resources *res);

/* Does the caller capture the context's stream for a CUDA graph of its own? */
bool duo_resources_captured(const duo_resources *res);

/* Makes the pinned word, if it is not there. */
duo_status duo_resources_pin_result(duo_resources *res);

/* Makes the pinned word for checks, if it is not there. */
duo_status duo_resources_pin_wrong(duo_resources *res);

/* Makes a space on a device at least `bytes` large. On failure the space is empty. */
duo_status duo_resources_grow(duo_resources *res, int device, duo_space *space, size_t bytes);

/* Something failed on the queue's device, or on `device`: notes the failure, and marks the device
 * as lost if status says so. Returns status. */
duo_status duo_resources_failed(duo_resources *res, duo_status status, const char *doing);
duo_status duo_resources_failed_on(duo_resources *res, int device, duo_status status,
                                   const char *doing);

#endif
