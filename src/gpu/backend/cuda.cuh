/*
 * cuda.cuh - what the files of the backend to CUDA define for each other and for its table
 * (backend.h).
 */
#ifndef DUO_BACKEND_CUDA_CUH
#define DUO_BACKEND_CUDA_CUH

#include <cuda_runtime.h>
#include <stddef.h>

#include "duoblas.h"
#include "gpu/backend/backend.h"
#include "gpu/kernels.h"

/* ---- Errors: cuda_error.cu ---- */

/*
 * Errors are taken from the return values. cudaGetLastError only clears the error that a failed
 * call of ours left, so a pending error of the caller survives every success here.
 */

constexpr int kDuoCudaLine = 192; /* thread-local storage is scarce: one line */

/* The text of the calling thread's last failure. */
const char *duo_cuda_detail(void);

/* Takes away the pending error that a failed call of ours left, and no other. */
void duo_cuda_forget(cudaError_t error);

/* The backend's status for the error; clears the error and describes it in the text. */
duo_status duo_cuda_status(cudaError_t error, const char *function);

/* DUO_ERR_DEVICE, with a text of our own. */
duo_status duo_cuda_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- The driver, the devices, the current context, memory: cuda_devices.cu ---- */

/*
 * The driver (libcuda.so.1) is opened if there is one. The caller's current context survives: the
 * driver pushes ours on top of it and pops it again. cudaSetDevice would leave a trace, and
 * restoring a device that the caller never touched would even make a context there.
 */

/* Functions of the backend (backend.h). */
duo_status duo_cuda_count(int *number);
duo_status duo_cuda_describe(int device, duo_device_info *info);
duo_status duo_cuda_classify(const void *address, duo_memory *memory);

/* Makes a device's context current for the life of the object. Every function that needs a context
 * makes a guard first, and does nothing more if the guard failed. */
class duo_cuda_guard
{
  public:
    explicit duo_cuda_guard(int device);
    ~duo_cuda_guard();
    duo_cuda_guard(const duo_cuda_guard &) = delete;
    duo_cuda_guard &operator=(const duo_cuda_guard &) = delete;

    duo_status status;

  private:
    bool pushed = false;
};

/* A device with a context, for calls that belong to no device. */
int duo_cuda_some_device(void);

int duo_cuda_ordinal(int device); /* CUDA's own number of a device */

/* A number about a device; 0 if it is not available. */
int duo_cuda_attribute(int device, cudaDeviceAttr which);

duo_status duo_cuda_link(int device, int other, bool *direct); /* a function of the backend */

duo_status duo_cuda_allocate(int device, size_t bytes, void **address);
duo_status duo_cuda_release(int device, void *address);
duo_status duo_cuda_pin(int device, size_t bytes, void **address);
duo_status duo_cuda_unpin(void *address);
duo_status duo_cuda_wipe(int device, void *address, size_t bytes);

/* ---- Memory that a queue's algorithms share, one after the other: cuda_workspace.cu ---- */

struct duo_cuda_workspace {
    int device;
    cudaStream_t stream; /* the queue's */
    bool pooled;         /* the device takes and gives memory in the stream's order */
    char *address;
    size_t bytes;
    bool held;                      /* a graph uses it */
    struct duo_cuda_held *replaced; /* smaller ones that were held when it grew */
    size_t refused;                 /* bytes that were last asked for in vain; 0: none */
    size_t memory_bytes;            /* of the device; 0: not asked yet */
};

/* For a queue that is being opened; it has no memory yet. */
void duo_cuda_open_workspace(duo_cuda_workspace *workspace, int device, cudaStream_t stream);

/*
 * Makes it as large as wanted, if DUOBLAS_WORKSPACE and the device's memory allow; else as large as
 * they allow, or empty: an algorithm that cannot work with that says so. If the device can, memory
 * is taken and given back in the order of the queue's work, so that nobody waits. The device is
 * current, here and below.
 */
void duo_cuda_grow_workspace(duo_cuda_workspace *workspace, size_t wanted);

/* Gives all the memory back, after the queue's work and the graphs that use it are done. */
duo_status duo_cuda_free_workspace(duo_cuda_workspace *workspace);

/* ---- A queue, a stream of one device: cuda_queue.cu ---- */

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
    void *staging; /* host memory, from which lists and what describes groups are sent */
    size_t staging_bytes;
    bool recorded; /* filled for recordings: the memory of its launches has to stay */
    int multiprocessors, capability, cache_bytes;
    double memory_rate;
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

/* Signals: CUDA events (backend.h). */
duo_status duo_cuda_signal_open(int device, duo_signal **signal);
void duo_cuda_signal_close(duo_signal *signal);
duo_status duo_cuda_signal_set(duo_signal *signal, duo_queue *queue);
duo_status duo_cuda_signal_passed(duo_signal *signal, bool *passed);
duo_status duo_cuda_signal_wait(duo_signal *signal);
duo_status duo_cuda_after_signal(duo_queue *later, duo_signal *signal);

/* ---- Recorded work as CUDA graphs, by stream capture: cuda_record.cu ---- */

duo_status duo_cuda_capturing(int device, void *stream, bool *capturing);
duo_status duo_cuda_record_begin(duo_queue *queue);
duo_status duo_cuda_record_end(duo_queue *queue, duo_recorded **recorded);
duo_status duo_cuda_replay(duo_queue *queue, duo_recorded *recorded);
void duo_cuda_record_forget(duo_recorded *recorded);

/* ---- Loading and launching algorithms: cuda_algorithms.cu ---- */

duo_status duo_cuda_load(int device);
duo_status duo_cuda_reserve(duo_queue *queue, duo_algorithm_id id, const duo_call *call);
void duo_cuda_share(duo_queue *queue, double part);
duo_status duo_cuda_launch_batch(duo_queue *queue, duo_algorithm_id id, const duo_group *group,
                                 int64_t groups);
duo_status duo_cuda_launch(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                           uint64_t *pinned_result, uint32_t ticket);
size_t duo_cuda_packed_bytes(duo_algorithm_id algorithm, const duo_call *call, int i);
duo_status duo_cuda_pack(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call, int i,
                         void *memory);
duo_status duo_cuda_tag(duo_queue *queue, const void *memory, size_t blocks, const void *key,
                        void *tags);
duo_status duo_cuda_freivalds_multiply(duo_queue *queue, const duo_freivalds_product *product);
duo_status duo_cuda_freivalds_compare(duo_queue *queue, const duo_freivalds_rows *rows,
                                      uint32_t *wrong, uint32_t number);

#endif
