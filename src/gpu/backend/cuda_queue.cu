/* cuda_queue.cu - streams: opening and closing, copies, marks, waiting, stamps; signals. */
#include "gpu/backend/cuda.cuh"

#include <stdio.h>
#include <stdlib.h>

#include "host/environment.h"

/* ---- Opening and closing ---- */

duo_status duo_cuda_make_event(cudaEvent_t *event)
{
    return duo_cuda_status(cudaEventCreateWithFlags(event, cudaEventDisableTiming),
                           "cudaEventCreate");
}

/* Partial sums of the program's data are left in it. */
static void free_scratch(duo_queue *queue)
{
    if (!duo_environment_get()->wipe ||
        duo_cuda_wipe(queue->device, queue->scratch, kScratchBytes) == DUO_OK)
        (void)duo_cuda_release(queue->device, queue->scratch);
}

duo_status duo_cuda_close(duo_queue *queue)
{
    const duo_cuda_guard current(queue->device);
    duo_status status = current.status;
    if (status == DUO_OK) {
        /* On a lost device each of these fails at once. */
        status = duo_cuda_status(cudaStreamSynchronize(queue->stream), "cudaStreamSynchronize");
        for (cudaEvent_t mark : queue->marks)
            if (mark != nullptr) duo_cuda_forget(cudaEventDestroy(mark));
        for (int i = 0; i < queue->stamps_room; i++)
            if (queue->stamps[i] != nullptr) duo_cuda_forget(cudaEventDestroy(queue->stamps[i]));
        if (queue->behind != nullptr) duo_cuda_forget(cudaEventDestroy(queue->behind));
        if (queue->scratch != nullptr) free_scratch(queue);
        (void)duo_cuda_free_workspace(&queue->workspace);
        if (queue->own_stream) duo_cuda_forget(cudaStreamDestroy(queue->stream));
    }
    free(queue->stamps);
    free(queue->staging);
    free(queue);
    return status;
}

/* A stream of the current device. 0 is CUDA's default priority. */
static duo_status make_stream(duo_priority priority, cudaStream_t *stream)
{
    int least, greatest = 0;
    duo_status status = DUO_OK;
    if (priority == DUO_PRIORITY_HIGH)
        status = duo_cuda_status(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                                 "cudaDeviceGetStreamPriorityRange");
    if (status != DUO_OK) return status;
    return duo_cuda_status(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, greatest),
                           "cudaStreamCreate");
}

duo_status duo_cuda_open(int device, void *stream, duo_priority priority, duo_queue **opened)
{
    *opened = nullptr;
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    duo_queue *const queue = (duo_queue *)calloc(1, sizeof *queue);
    if (queue == nullptr) {
        (void)duo_cuda_refuse("out of host memory");
        return DUO_ERR_MEMORY;
    }
    queue->device = device;
    queue->stream = (cudaStream_t)stream;
    queue->multiprocessors = duo_cuda_attribute(device, cudaDevAttrMultiProcessorCount);
    queue->counted = queue->multiprocessors;
    queue->capability = 10 * duo_cuda_attribute(device, cudaDevAttrComputeCapabilityMajor) +
                        duo_cuda_attribute(device, cudaDevAttrComputeCapabilityMinor);
    queue->cache_bytes = duo_cuda_attribute(device, cudaDevAttrL2CacheSize);
    queue->memory_rate =
        duo_memory_rate(duo_cuda_attribute(device, cudaDevAttrMemoryClockRate),
                        duo_cuda_attribute(device, cudaDevAttrGlobalMemoryBusWidth));
    duo_status status = DUO_OK;
    if (stream == nullptr) {
        status = make_stream(priority, &queue->stream);
        if (status != DUO_OK) { /* closing would wait for the default stream */
            free(queue);
            return status;
        }
        queue->own_stream = true;
    }
    duo_cuda_open_workspace(&queue->workspace, device, queue->stream);
    if (status == DUO_OK) status = duo_cuda_make_event(&queue->behind);
    if (status == DUO_OK)
        status = duo_cuda_status(cudaMalloc(&queue->scratch, kScratchBytes), "cudaMalloc");
    /* In the stream itself, so that it precedes every kernel; a stream of another device fails
     * here. */
    if (status == DUO_OK)
        status = duo_cuda_status(cudaMemsetAsync(queue->scratch, 0, kScratchBytes, queue->stream),
                                 "cudaMemsetAsync");
    if (status != DUO_OK) {
        char why[kDuoCudaLine];
        snprintf(why, sizeof why, "%s", duo_cuda_detail());
        (void)duo_cuda_close(queue);
        (void)duo_cuda_refuse("%s", why);
        return status;
    }
    *opened = queue;
    return DUO_OK;
}

duo_status duo_cuda_trim(duo_queue *queue)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_free_workspace(&queue->workspace);
}

void *duo_cuda_stream(duo_queue *queue) { return queue->stream; }

/* ---- Copies ---- */

duo_status duo_cuda_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                         size_t src_pitch, size_t width, size_t height)
{
    constexpr size_t kLargestPitch = INT32_MAX; /* of a two-dimensional copy */
    if (width == 0 || height == 0) return DUO_OK;
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    if (height == 1 || (dst_pitch == width && src_pitch == width))
        return duo_cuda_status(
            cudaMemcpyAsync(dst, src, width * height, cudaMemcpyDefault, queue->stream),
            "cudaMemcpyAsync");
    if (width <= dst_pitch && width <= src_pitch && dst_pitch <= kLargestPitch &&
        src_pitch <= kLargestPitch)
        return duo_cuda_status(cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height,
                                                 cudaMemcpyDefault, queue->stream),
                               "cudaMemcpy2DAsync");
    /* Runs more than 2 GiB apart are few. */
    for (size_t run = 0; run < height; run++) {
        const duo_status status = duo_cuda_status(
            cudaMemcpyAsync((char *)dst + run * dst_pitch, (const char *)src + run * src_pitch,
                            width, cudaMemcpyDefault, queue->stream),
            "cudaMemcpyAsync");
        if (status != DUO_OK) return status;
    }
    return DUO_OK;
}

/* The driver copies pageable memory through memory of its own; when the stream is done, so is the
 * copy. */
duo_status duo_cuda_copy_now(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                             size_t src_pitch, size_t width, size_t height)
{
    const duo_status status = duo_cuda_copy(queue, dst, dst_pitch, src, src_pitch, width, height);
    return status == DUO_OK ? duo_cuda_finish(queue) : status;
}

duo_status duo_cuda_fill(duo_queue *queue, void *dst, size_t pitch, unsigned char value,
                         size_t width, size_t height)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    if (height == 1 || pitch == width)
        return duo_cuda_status(cudaMemsetAsync(dst, value, width * height, queue->stream),
                               "cudaMemsetAsync");
    return duo_cuda_status(cudaMemset2DAsync(dst, pitch, value, width, height, queue->stream),
                           "cudaMemset2DAsync");
}

/* ---- Marks and waiting ---- */

duo_status duo_cuda_mark(duo_queue *queue, int index)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    cudaEvent_t *const mark = &queue->marks[index];
    /* Made here, not when the queue is opened: a first call waits for that. */
    const duo_status status = *mark == nullptr ? duo_cuda_make_event(mark) : DUO_OK;
    if (status != DUO_OK) return status;
    return duo_cuda_status(cudaEventRecord(*mark, queue->stream), "cudaEventRecord");
}

duo_status duo_cuda_wait_mark(duo_queue *queue, int index)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaEventSynchronize(queue->marks[index]), "cudaEventSynchronize");
}

duo_status duo_cuda_finish(duo_queue *queue)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaStreamSynchronize(queue->stream), "cudaStreamSynchronize");
}

duo_status duo_cuda_is_done(cudaError_t error, const char *function, bool *done)
{
    *done = error == cudaSuccess;
    if (error == cudaErrorNotReady) { /* an answer, not a failure, but some versions note it */
        duo_cuda_forget(error);
        return DUO_OK;
    }
    return duo_cuda_status(error, function);
}

duo_status duo_cuda_passed(duo_queue *queue, int index, bool *done)
{
    *done = false;
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_is_done(cudaEventQuery(queue->marks[index]), "cudaEventQuery", done);
}

duo_status duo_cuda_idle(duo_queue *queue, bool *done)
{
    *done = false;
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_is_done(cudaStreamQuery(queue->stream), "cudaStreamQuery", done);
}

/* The event may belong to another device than the stream that waits for it. */
duo_status duo_cuda_follow(duo_queue *later, cudaEvent_t event)
{
    const duo_cuda_guard current(later->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaStreamWaitEvent(later->stream, event, 0), "cudaStreamWaitEvent");
}

duo_status duo_cuda_after_mark(duo_queue *later, duo_queue *earlier, int index)
{
    return later == earlier ? DUO_OK : duo_cuda_follow(later, earlier->marks[index]);
}

bool duo_cuda_is_captured(const duo_queue *queue)
{
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    duo_cuda_forget(cudaStreamIsCapturing(queue->stream, &capture));
    return capture != cudaStreamCaptureStatusNone;
}

/* Touches only the later queue's event. Recording it in the earlier stream is safe while the thread
 * of that queues work. */
duo_status duo_cuda_after(duo_queue *later, duo_queue *earlier)
{
    if (later == earlier) return DUO_OK;
    cudaEvent_t here = later->behind;
    const bool across = later->device != earlier->device; /* an event belongs to its device */
    duo_status status;
    {
        const duo_cuda_guard current(earlier->device);
        status = current.status;
        if (status == DUO_OK && !earlier->own_stream && duo_cuda_is_captured(earlier))
            return duo_cuda_refuse("a stream that is captured cannot be followed");
        if (status == DUO_OK && across) status = duo_cuda_make_event(&here);
        if (status != DUO_OK) return status;
        status = duo_cuda_status(cudaEventRecord(here, earlier->stream), "cudaEventRecord");
    }
    if (status == DUO_OK) status = duo_cuda_follow(later, here);
    if (across) duo_cuda_forget(cudaEventDestroy(here)); /* the driver keeps it for its waiters */
    return status;
}

/* ---- Stamps ---- */

static duo_status make_room(duo_queue *queue, int number)
{
    if (number < queue->stamps_room) return DUO_OK;
    const int room = number < 128 ? 256 : 2 * number;
    cudaEvent_t *const stamps =
        (cudaEvent_t *)realloc(queue->stamps, (size_t)room * sizeof *stamps);
    if (stamps == nullptr) {
        (void)duo_cuda_refuse("out of host memory");
        return DUO_ERR_MEMORY;
    }
    for (int i = queue->stamps_room; i < room; i++) stamps[i] = nullptr;
    queue->stamps = stamps;
    queue->stamps_room = room;
    return DUO_OK;
}

duo_status duo_cuda_stamp(duo_queue *queue, int number)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    duo_status status = make_room(queue, number);
    if (status != DUO_OK) return status;
    cudaEvent_t *const stamp = &queue->stamps[number];
    if (*stamp == nullptr) status = duo_cuda_status(cudaEventCreate(stamp), "cudaEventCreate");
    if (status != DUO_OK) return status;
    return duo_cuda_status(cudaEventRecord(*stamp, queue->stream), "cudaEventRecord");
}

duo_status duo_cuda_stamp_seconds(duo_queue *queue, int number, duo_queue *since, int since_number,
                                  double *seconds)
{
    float milliseconds = 0.0f;
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    const duo_status status = duo_cuda_status(
        cudaEventElapsedTime(&milliseconds, since->stamps[since_number], queue->stamps[number]),
        "cudaEventElapsedTime");
    *seconds = 1e-3 * (double)milliseconds;
    return status;
}

/* ---- Signals ---- */

/* CUDA lets any thread record, query and wait for an event at any time. */

struct duo_signal {
    int device;
    cudaEvent_t event;
};

duo_status duo_cuda_signal_open(int device, duo_signal **opened)
{
    *opened = nullptr;
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    duo_signal *const signal = (duo_signal *)calloc(1, sizeof *signal);
    if (signal == nullptr) {
        (void)duo_cuda_refuse("out of host memory");
        return DUO_ERR_MEMORY;
    }
    signal->device = device;
    const duo_status status = duo_cuda_make_event(&signal->event);
    if (status == DUO_OK)
        *opened = signal;
    else
        free(signal);
    return status;
}

void duo_cuda_signal_close(duo_signal *signal)
{
    const duo_cuda_guard current(signal->device);
    if (current.status == DUO_OK) duo_cuda_forget(cudaEventDestroy(signal->event));
    free(signal);
}

duo_status duo_cuda_signal_set(duo_signal *signal, duo_queue *queue)
{
    const duo_cuda_guard current(signal->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaEventRecord(signal->event, queue->stream), "cudaEventRecord");
}

duo_status duo_cuda_signal_passed(duo_signal *signal, bool *passed)
{
    *passed = false;
    const duo_cuda_guard current(signal->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_is_done(cudaEventQuery(signal->event), "cudaEventQuery", passed);
}

duo_status duo_cuda_signal_wait(duo_signal *signal)
{
    const duo_cuda_guard current(signal->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaEventSynchronize(signal->event), "cudaEventSynchronize");
}

duo_status duo_cuda_after_signal(duo_queue *later, duo_signal *signal)
{
    return duo_cuda_follow(later, signal->event);
}
