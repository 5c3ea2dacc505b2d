/*
 * state.h - the state of the simulated device, and how a call of the backend enters and leaves it.
 *
 * One lock guards all bookkeeping; the work itself runs outside it. Whenever a call answers that
 * the device is lost, nothing runs on that device any more, as with a real sticky error.
 */
#ifndef DUO_TESTS_SIM_STATE_H
#define DUO_TESTS_SIM_STATE_H

#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

#include "sim/sim.h"

#define SIM_UNLIMITED UINT64_MAX

typedef enum block_kind { BLOCK_DEVICE, BLOCK_FOREIGN, BLOCK_PINNED } block_kind;

typedef struct block {
    uintptr_t start;
    size_t bytes;
    int device;
    block_kind kind;
    bool gone; /* its device was lost; it may still be released */
} block;

/* How far a queue is. It outlives the queue while others wait for it. */
typedef struct progress {
    uint64_t queued, done;
    int references;
} progress;

/* A place in a queue: behind its first `queued` operations. */
typedef struct sim_mark {
    bool set;
    uint64_t queued;
    uint64_t clock; /* the queue's clock there */
} sim_mark;

typedef struct work work; /* worker.h */

struct duo_queue {
    int device;
    void *stream;
    duo_priority priority;
    pthread_t worker;
    work *first, **last;
    progress *progress;
    sim_mark mark[DUO_MARKS];
    uint64_t *stamp; /* virtual times */
    int stamps;
    int number;              /* queues are counted from 0 since sim_reset */
    uint64_t clock;          /* virtual time: when all that is queued is done (timing.h) */
    duo_recorded *recording; /* queued work goes there; NULL: it is carried out */
    bool closing;
    uint64_t random;
    struct duo_queue *next;
};

typedef struct order {
    int nth, times; /* nth == 0: not armed */
    duo_status status;
} order;

typedef struct sim_state {
    _Atomic pid_t owner;  /* the process that used it first; read without the lock */
    char *range, *shadow; /* SIM_DEVICES times DEVICE_RANGE */
    size_t next[SIM_DEVICES];
    block *block;
    int blocks, block_room;
    duo_queue *queues;

    int devices;
    bool lost[SIM_DEVICES];
    uint64_t memory, pinned_memory;
    bool direct_links;
    bool linked[SIM_DEVICES][SIM_DEVICES]; /* [asked device][the other device] */
    int delay_microseconds;
    bool hold;
    order order[SIM_KINDS];
    _Atomic int err_nth;
    int async_nth;
    bool async_garbage;

    int opened;   /* queues since sim_reset */
    int signals;  /* open ones */
    int recorded; /* recorded works that are not forgotten */
    uint64_t count[SIM_KINDS], uploaded, downloaded;
    duo_algorithm_id last_algorithm;
    int violations;
    bool count_unwiped;
    uint64_t unwiped;
    bool wait_failed; /* was a wait told to fail? Then callers cannot know which work is done */
} sim_state;

extern sim_state sim;
extern pthread_mutex_t sim_lock;
extern pthread_cond_t sim_changed; /* an operation was queued or done, or a control was used */

/* The first sets the text that the backend's detail() gives this thread; the second returns it. */
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *sim_said(void);

/* ---- All of these functions need the lock ---- */

/* Counts and tells a breach of the backend's contract. */
void sim_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Has this call been told to answer *status? Counts down to it. */
bool sim_told(sim_kind kind, duo_status *status);

duo_queue *sim_queue_of(const void *stream); /* the open queue that owns this stream; or NULL */

/* A violation if the queue's work is recorded, or captured in the caller's stream. */
void sim_must_not_wait(const duo_queue *queue, const char *who);

bool sim_drained(int device); /* has all queued work of the device been done? */

/* Every answer "lost" goes through here. It waits until nothing runs on the device any more. */
duo_status sim_answer_lost(int device);

/* ---- Entering and leaving ---- */

bool sim_in_child(void); /* is this a child of the process that used the device first? */
bool sim_forked(void);   /* the same, and a violation if so */

/*
 * Counts a call and gives the answer that it has been told to give. Takes the lock, which the
 * caller gives back with sim_leave(). Sets *go if the call is to be carried out.
 */
duo_status sim_enter(sim_kind kind, int device, bool *go);
duo_status sim_leave(duo_status status);

#endif
