/*
 * implementation.h - one type for all ways to do an operation: an algorithm of ours below the API,
 * the public API, a peer (another library, or a loop as users write it), a bare read.
 *
 * An implementation with a problem makes a benchmark.
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
    bool peer;              /* OpenBLAS or cuBLAS; ours on its side are compared with it */
    bool bare_read;         /* it only reads the operands: nothing can be faster */
    int threads;            /* on the CPU; 0 on the GPU */
    const duo_stock *stock; /* the data to work on */
    bool wait_each;         /* GPU: the host waits after every call, not only after the last */
    bool other_operation;   /* the peer lacks the operation and does the nearest */

    const duo_algorithm *algorithm; /* ours, below the API */
    duo_context *context;           /* for the public API */
    duo_queue *queue;               /* for GPU algorithms and peers */
    void *function;                 /* for peers: its address, or the stream for it */
    unsigned packed;      /* GPU algorithms of sgemm: bits of operands that are packed before */
    int variant;          /* a bare read's way of reading, a loop's way of summing; cuBLAS's math
                             mode, cuBLASXt's block, CUB's promise */
    const char *settings; /* for peers: see duo_settings_use; NULL: none */
    float *result;        /* a reduction's result in host memory; NULL: the stock's output */

    bool (*call)(const duo_implementation *self, const duo_call *call);
    bool (*finish)(const duo_implementation *self); /* waits for all calls; NULL: nothing to do */
};

/* An algorithm on the stock's host memory. */
duo_implementation duo_cpu_implementation(const duo_algorithm *algorithm, int threads,
                                          const duo_stock *stock);

/* An algorithm launched by the backend on the stock's device memory; its result stays there. */
duo_implementation duo_gpu_implementation(const duo_algorithm *algorithm, duo_queue *queue,
                                          const duo_stock *stock, bool wait_each);

/* The public API on the stock's memory, with its context's policy. A reduction's result goes to
 * plain host memory, so that the call waits for it; C stays in the stock's memory. */
duo_implementation duo_api_implementation(duo_context *context, const duo_stock *stock,
                                          bool wait_each);

/* Makes the call by the public API; a reduction's result goes to *result. */
bool duo_api_run(duo_context *context, const duo_call *call, float *result);

/* A `finish` for work that is queued on the GPU. */
bool duo_implementation_finish_queue(const duo_implementation *self);

/*
 * Makes a benchmark of an implementation and a problem; the implementation must outlive it. Each of
 * its calls takes the next slot of the stock. False: out of memory, or the problem does not fit.
 */
bool duo_benchmark_open(duo_benchmark *benchmark, const duo_implementation *implementation,
                        const duo_problem *problem);
/* Makes one more call, on slot 0, so that its output can be checked. */
bool duo_benchmark_call_once(const duo_benchmark *benchmark);
/* The results stay. */
void duo_benchmark_close(duo_benchmark *benchmark);

#endif
