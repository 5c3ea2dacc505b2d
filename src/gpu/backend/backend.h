/*
 * backend.h - the only way to a GPU: a table of functions.
 *
 * There are three: backend_cuda.cu (CUDA), backend_none.c (built without CUDA) and, in tests, a
 * simulated GPU, with memory that the host cannot read, work done later on another thread, and
 * failures on demand. Which of the first two is compiled decides duo_backend_default().
 *
 * Every function may be called from any thread; a queue's functions from one thread at a time,
 * `after` excepted. Every function leaves the caller's current device and pending CUDA error as it
 * found them.
 *
 * Status DUO_OK DUO_ERR_MEMORY out of device or pinned memory; nothing happened DUO_ERR_DEVICE this
 *            one thing could not be done; nothing happened, the device works on DUO_ERR_LOST the
 *            device is gone for this process (a sticky error)
 * and after a failure detail() says more, for the calling thread.
 */
#ifndef DUO_BACKEND_H
#define DUO_BACKEND_H

#include "call.h"
#include "algorithms.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DUO_MOST_DEVICES = 64 }; /* more are not looked at */

typedef struct duo_queue duo_queue; /* an in-order queue of work on one device */

typedef enum duo_memory { DUO_MEMORY_HOST, DUO_MEMORY_PINNED, DUO_MEMORY_DEVICE } duo_memory;

/* Marks that one queue has for the host to wait on: one per staging buffer, one spare. */
enum { DUO_MARKS = 8 };

typedef struct duo_backend {
    const char *name; /* "cuda", "none", "simulated" */

    /* Devices that can be used; 0 with the reason in detail() is DUO_OK too. The first call may
     * take long. */
    duo_status (*count)(int *count);
    duo_status (*describe)(int device, duo_device_info *info); /* fills all but info->size */
    /* Load every kernel, so that no later launch has to. */
    duo_status (*load)(int device);

    duo_status (*allocate)(int device, size_t bytes,
                           void **address);           /* 256-byte aligned; bytes > 0 */
    duo_status (*release)(int device, void *address); /* waits for the device */
    /* Pinned host memory, mapped: kernels reach it by the same address. */
    duo_status (*pin)(int device, size_t bytes, void **address);
    /* Nothing that is queued uses it any more; where waiting for that has failed, it waits
     * itself. */
    duo_status (*unpin)(void *address);
    /* What the driver knows of an address. Never creates a context; costs well under a microsecond.
     */
    duo_status (*classify)(const void *address, duo_memory *memory);

    /* stream: the caller's cudaStream_t to wrap, or NULL for one of its own (non-blocking). */
    duo_status (*open)(int device, void *stream, duo_queue **queue);
    duo_status (*close)(duo_queue *queue); /* waits, then ends; also on a lost device */
    void *(*stream)(
        duo_queue *queue); /* the cudaStream_t, for peers in benchmarks; NULL elsewhere */

    /*
     * Queue a copy of `height` runs of `width` bytes, from runs src_pitch apart to runs dst_pitch
     * apart, in any direction; host addresses must be pinned, and live until the copy is done.
     */
    duo_status (*copy)(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                       size_t src_pitch, size_t width, size_t height);
    /* The same between the device and plain host memory; it has been done when this returns. */
    duo_status (*copy_now)(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                           size_t src_pitch, size_t width, size_t height);
    /*
     * Queue the algorithm's kernels. All operand addresses are device (or pinned) addresses.
     * Reductions write a float to operand[DUO_RESULT].address, or, if pinned_result is not NULL,
     * one 8-byte store (uint64_t)ticket << 32 | float bits there, which the host polls.
     * DUO_ERR_DEVICE means nothing was queued.
     */
    duo_status (*launch)(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                         uint64_t *pinned_result, uint32_t ticket);

    /*
     * An algorithm may have a form of its own of operand A or B (i) of sgemm, which it reads where
     * operand[i].packed says so. Its bytes, 0 for none; and queue the writing of it to device
     * memory, from the operand's device address.
     */
    size_t (*packed_bytes)(duo_algorithm_id algorithm, const duo_call *call, int i);
    duo_status (*pack)(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call, int i,
                       void *memory);

    duo_status (*trim)(duo_queue *queue); /* give the workspace of its algorithms back */

    duo_status (*mark)(duo_queue *queue, int mark); /* 0 <= mark < DUO_MARKS: "here" in the queue */
    duo_status (*wait_mark)(duo_queue *queue, int mark); /* host waits until the queue is past it */
    duo_status (*finish)(duo_queue *queue);              /* host waits for everything queued */
    duo_status (*idle)(duo_queue *queue, bool *idle);    /* is everything done? does not wait */
    duo_status (*after)(duo_queue *later,
                        duo_queue *earlier); /* later's next work follows earlier's so far */

    const char *(*detail)(void); /* text of this thread's last failure; never NULL */
} duo_backend;

/* The backend this library was built with. */
const duo_backend *duo_backend_default(void);

#ifdef __cplusplus
}
#endif

#endif
