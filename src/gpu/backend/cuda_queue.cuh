/* cuda_queue.cuh - a queue: a stream of one device, and the memory that its algorithms share. */
#ifndef DUO_CUDA_QUEUE_CUH
#define DUO_CUDA_QUEUE_CUH

#include <cuda_runtime.h>

#include "gpu/backend/backend.h"
#include "gpu/backend/cuda_workspace.cuh"
#include "gpu/kernels.h"

struct duo_queue {
    int device;
    bool own_stream;
    cudaStream_t stream;
    cudaEvent_t marks[DUO_MARKS]; /* each made when it is first set; nullptr before */
    cudaEvent_t *stamps;          /* with times; made when first set. nullptr: none is */
    int stamps_room;
    cudaEvent_t behind; /* marks the place in another queue that this one follows */
    void *scratch;      /* kScratchBytes */
    uint32_t loaded;    /* a bit for each algorithm that this queue has launched before */
    duo_cuda_workspace workspace;
    bool recorded; /* filled for recordings: the memory of its launches has to stay */
    int multiprocessors, capability, cache_bytes;
    int counted; /* multiprocessors on which launches count (backend.h, share) */
};

/* A queue's scratch: the partial sums of a reduction, then the counters. */
constexpr size_t kPartialsBytes = DUO_PARTIALS * sizeof(double);
constexpr size_t kScratchBytes = kPartialsBytes + DUO_COUNTERS * sizeof(unsigned);

/* Functions of the backend (backend.h). */
duo_status duo_cuda_open(int device, void *stream, duo_priority priority, duo_queue **queue);
duo_status duo_cuda_close(duo_queue *queue);
duo_status duo_cuda_trim(duo_queue *queue);
void *duo_cuda_stream(duo_queue *queue);
duo_status duo_cuda_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                         size_t src_pitch, size_t width, size_t height);
duo_status duo_cuda_copy_now(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                             size_t src_pitch, size_t width, size_t height);
duo_status duo_cuda_fill(duo_queue *queue, void *dst, size_t pitch, unsigned char value,
                         size_t width, size_t height);
duo_status duo_cuda_mark(duo_queue *queue, int mark);
duo_status duo_cuda_wait_mark(duo_queue *queue, int mark);
duo_status duo_cuda_passed(duo_queue *queue, int mark, bool *passed);
duo_status duo_cuda_finish(duo_queue *queue);
duo_status duo_cuda_idle(duo_queue *queue, bool *idle);
duo_status duo_cuda_after(duo_queue *later, duo_queue *earlier);
duo_status duo_cuda_after_mark(duo_queue *later, duo_queue *earlier, int mark);
duo_status duo_cuda_stamp(duo_queue *queue, int number);
duo_status duo_cuda_stamp_seconds(duo_queue *queue, int number, duo_queue *since, int since_number,
                                  double *seconds);

/* Is the queue's stream captured, by the caller or by us? */
bool duo_cuda_is_captured(const duo_queue *queue);

/* The answer of cudaStreamQuery or cudaEventQuery; `function` is its name. */
duo_status duo_cuda_is_done(cudaError_t error, const char *function, bool *done);

/* The queue follows an event; it may belong to another device. */
duo_status duo_cuda_follow(duo_queue *later, cudaEvent_t event);

/* An event without times, of the current device. */
duo_status duo_cuda_make_event(cudaEvent_t *event);

/* ---- Signals: CUDA events ---- */

duo_status duo_cuda_signal_open(int device, duo_signal **signal);
void duo_cuda_signal_close(duo_signal *signal);
duo_status duo_cuda_signal_set(duo_signal *signal, duo_queue *queue);
duo_status duo_cuda_signal_passed(duo_signal *signal, bool *passed);
duo_status duo_cuda_signal_wait(duo_signal *signal);
duo_status duo_cuda_after_signal(duo_queue *later, duo_signal *signal);

#endif
