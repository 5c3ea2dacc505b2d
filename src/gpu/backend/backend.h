/*
 * backend.h - the only way to a GPU: a table of functions.
 *
 * There are three: backend_cuda.cu (CUDA), backend_none.c (built without CUDA) and, in tests, a
 * simulated GPU. The host cannot read the simulated GPU's memory; it does its work later on another
 * thread, and fails on demand. One of the first two is compiled: duo_backend_default() returns it.
 *
 * Every function may be called from any thread, but functions of one queue only from one thread at
 * a time. The exception is the earlier queue of `after` or `after_mark`: it may be another
 * thread's. Every function leaves the caller's current CUDA device and pending CUDA error as it
 * found them.
 *
 * Status     DUO_OK
 *            DUO_ERR_MEMORY   out of device or pinned memory; nothing happened
 *            DUO_ERR_DEVICE   this could not be done; nothing happened, and the device still works
 *            DUO_ERR_LOST     the device is gone for this process (a sticky error). If a call
 *                             concerns two devices it does not say which: idle() of a queue of each
 *                             tells
 * After a failure detail() says more, to the calling thread.
 */
#ifndef DUO_BACKEND_H
#define DUO_BACKEND_H

#include "call.h"
#include "algorithms.h"
#include "batch.h"
#include "freivalds.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DUO_MOST_DEVICES = 64 }; /* any others are ignored */

/* A device's memory, bytes a second: it moves some twice a clock. */
static inline double duo_memory_rate(int clock_khz, int bus_bits)
{
    return 2.0 * 1e3 * clock_khz * (bus_bits / 8.0);
}

typedef struct duo_queue duo_queue; /* an in-order queue of work on one device */

/* A place in a queue's work that others may follow and wait for, on any thread. While it is set
 * anew, it is the old or the new place. It may outlive its queue. */
typedef struct duo_signal duo_signal;

/* Work that was recorded once, to be done any number of times. */
typedef struct duo_recorded duo_recorded;

typedef enum duo_memory { DUO_MEMORY_HOST, DUO_MEMORY_PINNED, DUO_MEMORY_DEVICE } duo_memory;

/* Marks of one queue, for the host and for other queues to wait for: enough for each staging buffer
 * and each tile in flight. The last is for duo_upload_consumed. */
enum { DUO_MARKS = 64 };

typedef struct duo_backend {
    const char *name;   /* "cuda", "none", "simulated" */
    const char *absent; /* why there can be no device; NULL: ask count() */

    /* ---- Devices ---- */

    /* Counts the usable devices. DUO_OK also for none, with the reason in detail(). The first call
     * may take long. */
    duo_status (*count)(int *count);
    duo_status (*describe)(int device, duo_device_info *info); /* fills all but info->size */
    /* Loads every kernel, so that no later launch has to. */
    duo_status (*load)(int device);
    /*
     * May queues of `device` copy straight to and from the memory of `other`? Enables that if
     * possible; later calls only answer. If not (*direct false), the driver copies through host
     * memory.
     */
    duo_status (*link)(int device, int other, bool *direct);

    /* ---- Memory ---- */

    /* Aligned to 256 bytes; bytes > 0. */
    duo_status (*allocate)(int device, size_t bytes, void **address);
    duo_status (*release)(int device, void *address); /* waits for the device */
    /* Pinned host memory, mapped: kernels reach it by the same address. */
    duo_status (*pin)(int device, size_t bytes, void **address);
    /* The caller has waited for all queued work that uses the memory. If that failed, unpin waits
     * itself. */
    duo_status (*unpin)(void *address);
    /* Zeroes device or pinned memory behind all work that is queued on the device so far. Done when
     * this returns. On a lost device nothing more is written to pinned memory, and nothing is
     * zeroed. */
    duo_status (*wipe)(int device, void *address, size_t bytes);
    /* Asks the driver about an address. Never creates a CUDA context; takes well under a
     * microsecond. */
    duo_status (*classify)(const void *address, duo_memory *memory);

    /* ---- Queues ---- */

    /* stream: the caller's cudaStream_t to wrap (it keeps its priority), or NULL: the queue makes a
     * non-blocking one of its own. */
    duo_status (*open)(int device, void *stream, duo_priority priority, duo_queue **queue);
    duo_status (*close)(duo_queue *queue); /* waits, then ends; also on a lost device */
    /* The queue's cudaStream_t, for peers in benchmarks; NULL without CUDA. */
    void *(*stream)(duo_queue *queue);
    /*
     * Does the caller capture this stream for a CUDA graph of its own? Then only copies of pinned
     * memory, fills and launches are queued in it; they allocate nothing, and no function waits.
     * Their memory in the queue stays until the queue is trimmed or closed.
     */
    duo_status (*capturing)(int device, void *stream, bool *capturing);

    /*
     * Queues a copy of `height` runs of `width` bytes, from runs src_pitch apart to runs dst_pitch
     * apart, in any direction, on any device. Host memory must be pinned, and live until the copy
     * is done. If a device other than the queue's is lost before the copy is done, the copied bytes
     * are undefined, and the queue need not fail.
     */
    duo_status (*copy)(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                       size_t src_pitch, size_t width, size_t height);
    /* The same between the device and plain host memory. The copy is done when this returns. */
    duo_status (*copy_now)(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                           size_t src_pitch, size_t width, size_t height);
    /* Queues: `height` runs of `width` bytes of device memory, pitch apart, become `value`. */
    duo_status (*fill)(duo_queue *queue, void *dst, size_t pitch, unsigned char value, size_t width,
                       size_t height);
    /*
     * Queues the algorithm's kernels. All operands have device (or pinned) addresses. A reduction
     * writes its result to operand[DUO_RESULT].address; or, if pinned_result is not NULL, it writes
     * (uint64_t)ticket << 32 | bits of the result there, in one store of 8 bytes, which the host
     * polls; or, if call->unrounded is not NULL, its sum before rounding there. DUO_ERR_DEVICE:
     * nothing was queued.
     */
    duo_status (*launch)(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                         uint64_t *pinned_result, uint32_t ticket);

    /* Queues batches of products by the batch kernels of an algorithm, sgemm_gpu_ffma or
     * sgemm_gpu_mma, with operands as for launch. Several batches are `groups`, and their products
     * go side by side. Lists in host memory are read before this returns, others when the work is
     * done. DUO_ERR_DEVICE: nothing was queued. */
    duo_status (*launch_batch)(duo_queue *queue, duo_algorithm_id algorithm, const duo_group *group,
                               int64_t groups);

    /*
     * An algorithm may pack operand A or B of sgemm (i) before it multiplies. packed_bytes: bytes
     * of the call's operand when packed; 0: it packs nothing. pack: queues the packing, from the
     * operand's device address to `memory` on the device. A launch does not pack the operand again
     * if operand[i].packed is that memory. The operand's elements must be at its address all the
     * same: values that the packed form cannot hold (Inf, NaN, magnitudes far apart) are computed
     * from them.
     *
     * With packed_rows and packed_first (call.h) an operand may be packed in ranges of rows of
     * op(A), or columns of op(B), each to its place in memory for all of them: `memory` and
     * operand[i].packed are where that memory begins. A launch may read any range of rows that have
     * been packed by then, in any number of parts. Packing a range leaves all others as they are,
     * so they may be read meanwhile.
     */
    size_t (*packed_bytes)(duo_algorithm_id algorithm, const duo_call *call, int i);
    duo_status (*pack)(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call, int i,
                       void *memory);

    /* Queues: the tags of blocks in device memory are written to `tags` there (data/tags.h). All
     * addresses are the device's, aligned to 16 bytes. */
    duo_status (*tag)(duo_queue *queue, const void *memory, size_t blocks, const void *key,
                      void *tags);

    /* Queue: products of Freivalds' check; and its last step, which writes `number` to the pinned
     * word *wrong if a row is not within its bound (freivalds.h). All other addresses are the
     * device's. */
    duo_status (*freivalds_multiply)(duo_queue *queue, const duo_freivalds_product *product);
    duo_status (*freivalds_compare)(duo_queue *queue, const duo_freivalds_rows *rows,
                                    uint32_t *wrong, uint32_t number);

    duo_status (*trim)(duo_queue *queue); /* frees the workspace of the queue's algorithms */

    /* Sets a mark, 0 <= mark < DUO_MARKS, behind the work that is queued so far. It may be set
     * again: work that already waits for its old place still does. */
    duo_status (*mark)(duo_queue *queue, int mark);
    /* For marks that were set. wait_mark: the host waits for the mark's work. passed: is that work
     * done? Does not wait. */
    duo_status (*wait_mark)(duo_queue *queue, int mark);
    duo_status (*passed)(duo_queue *queue, int mark, bool *passed);
    duo_status (*finish)(duo_queue *queue);           /* the host waits for all queued work */
    duo_status (*idle)(duo_queue *queue, bool *idle); /* is all work done? Does not wait */
    /* Work queued in `later` from now on follows work queued in `earlier` so far. DUO_ERR_DEVICE
     * also if the caller captures the stream of `earlier`. */
    duo_status (*after)(duo_queue *later, duo_queue *earlier);
    /* The same, but it follows only the work before a mark of `earlier`, which was set. The queues
     * may be on two devices. If another thread sets the mark meanwhile, `later` follows its old or
     * its new place. */
    duo_status (*after_mark)(duo_queue *later, duo_queue *earlier, int mark);

    duo_status (*signal_open)(int device, duo_signal **signal);
    void (*signal_close)(duo_signal *signal); /* does not wait; its followers still follow it */
    /* Sets the signal behind the work queued so far in a queue of its device. */
    duo_status (*signal_set)(duo_signal *signal, duo_queue *queue);
    /* For signals that were set: like passed, wait_mark and after_mark. */
    duo_status (*signal_passed)(duo_signal *signal, bool *passed);
    duo_status (*signal_wait)(duo_signal *signal);
    duo_status (*after_signal)(duo_queue *later, duo_signal *signal);

    /*
     * Recording, like CUDA's stream capture. From record_begin to record_end work queued in `queue`
     * is recorded instead of done. So is work of other queues that were made to follow it by a
     * signal set during the recording. At the end `queue` follows all of those. A recording
     * allocates nothing: before it, reserve allocates for each of its launches. Nothing may wait
     * for queues that record, and only they may follow signals set in the recording.
     *
     * record_end makes *recorded, or renews it if it is not NULL; a running replay of the old work
     * goes on. On failure *recorded is as it was, and the queues are ordinary ones again. replay:
     * queues that work, in an ordinary queue of the same device; each replay follows the one
     * before. All memory that the work uses must still be there, also in the queues in which it was
     * recorded.
     */
    duo_status (*reserve)(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call);
    /* Launches and reservations from now on count on this part of the device, since others run
     * beside them: 0 < part <= 1. 1 after opening. */
    void (*share)(duo_queue *queue, double part);
    duo_status (*record_begin)(duo_queue *queue);
    duo_status (*record_end)(duo_queue *queue, duo_recorded **recorded);
    duo_status (*replay)(duo_queue *queue, duo_recorded *recorded);
    void (*forget)(duo_recorded *recorded); /* does not wait; replays go on */

    /* For measuring. Sets a stamp behind the work queued so far: the time when the device gets
     * there. Numbers count from 0 and may be used again; a queue keeps memory for all of them.
     * stamp_seconds: seconds from one stamp to another, in queues of one device, both waited for
     * since the stamps were set. */
    duo_status (*stamp)(duo_queue *queue, int number);
    duo_status (*stamp_seconds)(duo_queue *queue, int number, duo_queue *since, int since_number,
                                double *seconds);

    const char *(*detail)(void); /* text of this thread's last failure; never NULL */
} duo_backend;

/* The backend this library was built with. */
const duo_backend *duo_backend_default(void);

#ifdef __cplusplus
}
#endif

#endif
