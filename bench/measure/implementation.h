/*
 * implementation.h - who does an operation, behind one type: an algorithm of ours below the API,
 * the public API itself, a peer (another library, or a loop as users write it), a bare read.
 *
 * An implementation at a problem is a benchmark.
 */
#ifndef DUO_IMPLEMENTATION_H
#define DUO_IMPLEMENTATION_H

#include "bench/measure/benchmark.h"
#include "bench/measure/stock.h"
#include "choice/algorithm.h"
#include "gpu/backend/backend.h"

typedef struct duo_implementation duo_implementation;

struct duo_implementation {
    const char *name;
    duo_side side;
    bool peer;              /* OpenBLAS or cuBLAS, which ours of the same side are compared with */
    bool bare_read;         /* it only reads the operands: nothing can be faster */
    int threads;            /* on the CPU; 0 on the GPU */
    const duo_stock *stock; /* whose data it works on */
    bool wait_each;         /* GPU: the host waits after every call, not only after the last */
    bool other_operation;   /* a peer that lacks the operation and does the nearest one */

    const duo_algorithm *algorithm; /* of ours, below the API */
    duo_context *context;           /* of the public API */
    duo_queue *queue;               /* of the GPU's algorithms and peers */
    void *function;                 /* of peers: its address, or the stream to launch it in */
    unsigned packed; /* a GPU algorithm of sgemm: operands that are packed beforehand, by bits */
    int variant;     /* a bare read's way of reading, a loop's way of summing */
    float *result;   /* a reduction's, in host memory; NULL: it goes to the stock's output */

    bool (*call)(const duo_implementation *self, const duo_call *call);
    bool (*finish)(const duo_implementation *self); /* waits for all calls; NULL: nothing to do */
};

/* An algorithm on the stock's host memory. */
duo_implementation duo_cpu_implementation(const duo_algorithm *algorithm, int threads,
                                          const duo_stock *stock);

/* An algorithm launched through the backend on the stock's device memory, its result left there. */
duo_implementation duo_gpu_implementation(const duo_algorithm *algorithm, duo_queue *queue,
                                          const duo_stock *stock, bool wait_each);

/* The public API on the stock's memory, with the policy of its context. A result of a reduction
 * goes to plain host memory, so that the call waits for it; C goes where A and B are. */
duo_implementation duo_api_implementation(duo_context *context, const duo_stock *stock,
                                          bool wait_each);

/* The call by the public API; the result of a reduction goes to *result. */
bool duo_api_run(duo_context *context, const duo_call *call, float *result);

/* A `finish` of what is queued on the GPU. */
bool duo_implementation_finish_queue(const duo_implementation *self);

/*
 * A benchmark of an implementation, which must outlive it, at a problem. Each of its calls takes
 * the next slot of the stock. False: out of memory, or the problem does not fit.
 */
bool duo_benchmark_open(duo_benchmark *benchmark, const duo_implementation *implementation,
                        const duo_problem *problem);
/* One more call, on slot 0, so that its output can be looked at. */
bool duo_benchmark_call_once(const duo_benchmark *benchmark);
/* What was measured stays. */
void duo_benchmark_close(duo_benchmark *benchmark);

#endif
