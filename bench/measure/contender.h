/*
 * contender.h - whatever can be timed on a problem, behind one type: a row below the API, the
 * public API itself, and the peers of baselines.h.
 */
#ifndef DUO_CONTENDER_H
#define DUO_CONTENDER_H

#include "bench/measure/measure.h"
#include "bench/measure/problem.h"
#include "call/context.h"
#include "choice/algorithm.h"

typedef struct duo_contender duo_contender;

struct duo_contender {
    const char *name;
    duo_side side;
    bool peer;              /* the one that its side's rows are compared with */
    bool yardstick;         /* it only reads the operands: nothing can be faster */
    int threads;            /* on the CPU; 0 on the GPU */
    const duo_stock *stock; /* whose data it works on */
    bool wait_each;         /* GPU: the host waits after every call, not only after the last */
    bool other_operation;   /* a peer that lacks the operation and does the nearest one */

    const duo_algorithm *algorithm; /* a row below the API */
    duo_context *context;           /* the public API */
    duo_queue *queue;               /* the GPU's rows and peers */
    void *function;                 /* peers: the address of theirs */
    unsigned prepared; /* a GPU row of sgemm: operands whose form is written beforehand, by bits */
    int variant;       /* a yardstick's way of reading, a loop's way of summing */
    float *result;     /* a reduction's, in host memory; NULL: it goes to the stock's output */

    bool (*call)(const duo_contender *self, const duo_call *call);
    bool (*finish)(const duo_contender *self); /* waits for all calls; NULL: nothing to wait for */
};

/* A CPU row on the stock's host memory. */
duo_contender duo_contender_cpu_algorithm(const duo_algorithm *row, int threads,
                                          const duo_stock *stock);

/* A GPU row launched through the backend on the stock's device memory, its result left there. */
duo_contender duo_contender_gpu_algorithm(const duo_algorithm *row, duo_queue *queue,
                                          const duo_stock *stock, bool wait_each);

/* The public API on the stock's memory, with the policy of its context. A result of a reduction
 * goes to plain host memory, so that the call waits for it; C goes where A and B are. */
duo_contender duo_contender_api(duo_context *context, const duo_stock *stock, bool wait_each);

/* One contender at one problem: duo_trial_run is for a duo_task. */
typedef struct duo_trial {
    const duo_contender *contender;
    duo_call *prepared; /* one call per slot */
    int64_t slots, next;
    duo_space *packed; /* of A and B of each slot; NULL: none */
} duo_trial;

bool duo_trial_open(duo_trial *trial, const duo_contender *contender, const duo_problem *problem);
void duo_trial_close(duo_trial *trial);
bool duo_trial_run(void *trial, int64_t calls);

#endif
