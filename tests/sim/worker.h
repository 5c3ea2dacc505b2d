/*
 * worker.h - work that is queued, and the thread of each queue that carries it out later.
 */
#ifndef DUO_TESTS_SIM_WORKER_H
#define DUO_TESTS_SIM_WORKER_H

#include "choice/algorithm.h"
#include "sim/state.h"

typedef enum work_kind { WORK_COPY, WORK_LAUNCH, WORK_AFTER } work_kind;

struct work {
    struct work *next;
    work_kind kind;
    bool fails, garbage; /* an asynchronous failure */
    bool plain;          /* a copy: its host memory need not be pinned */
    bool fills;          /* no copy: `value` fills dst, and src is dst */
    unsigned char value;
    const char *key; /* no copy: dst gets the tags of blocks at src, made with this key; or NULL */
    /* No copy: a step of Freivalds' check; src is dst. x is not NULL: dst gets the sums. rows is
     * not 0: dst has the sums, and `wrong` gets the ticket if they are not within their bounds. */
    duo_freivalds_product product;
    duo_freivalds_rows rows;
    uint32_t *wrong;

    char *dst; /* copy */
    const char *src;
    size_t dst_pitch, src_pitch, width, height;

    duo_call call;                    /* launch */
    float *const *list[DUO_OPERANDS]; /* on the device: where the operand's address is; or NULL */
    int64_t shift[DUO_OPERANDS];      /* bytes from there to the operand */
    const duo_algorithm *algorithm;
    uint64_t *pinned_result;
    uint32_t ticket;

    progress *earlier; /* after */
    uint64_t target;
};

/* The body of a queue's thread; argument: its duo_queue. */
void *sim_work_on(void *argument);

/* Appends a copy of an operation, to the queue or to what it records; needs the lock. */
duo_status sim_append(duo_queue *queue, const work *what);

#endif
