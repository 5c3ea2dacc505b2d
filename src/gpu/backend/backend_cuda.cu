/*
 * device_cuda.cu - the backend to CUDA: memory, algorithms and queues.
 *
 * The runtime is linked statically. Devices and whose context is current: cuda_devices.cu; errors:
 * cuda_error.cu.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/environment.h"
#include "gpu/backend/cuda_devices.cuh"
#include "gpu/backend/cuda_error.cuh"
#include "gpu/backend/backend.h"
#include "gpu/backend/memory_cap.h"
#include "gpu/kernels.h"

/* ---- Memory ---- */

static duo_status allocate(int device, size_t bytes, void **address)
{
    *address = nullptr;
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaMalloc(address, bytes), "cudaMalloc");
}

static duo_status release(int device, void *address)
{
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaFree(address), "cudaFree");
}

static duo_status pin(int device, size_t bytes, void **address)
{
    *address = nullptr;
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(
        cudaHostAlloc(address, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
        "cudaHostAlloc");
}

static duo_status unpin(void *address)
{
    /* Portable memory belongs to no device; without a guard the runtime would make a context. */
    const duo_cuda_guard current(duo_cuda_some_device());
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaFreeHost(address), "cudaFreeHost");
}

/* ---- Algorithms ---- */

struct table_entry {
    const char *name;
    const duo_gpu_algorithm *algorithm; /* NULL: it runs on the CPU */
};

#define ALGORITHM_ON_CPU(name)                    nullptr
#define ALGORITHM_ON_GPU(name)                    &duo_##name
#define TABLE_ENTRY(operation, side, maths, name) {#name, ALGORITHM_ON_##side(name)},
/* By duo_algorithm_id. */
static const table_entry algorithms[] = {DUO_ALGORITHM_LIST(TABLE_ENTRY)};
#undef TABLE_ENTRY
#undef ALGORITHM_ON_GPU
#undef ALGORITHM_ON_CPU

/* NULL: no GPU algorithm has this number. */
static const duo_gpu_algorithm *algorithm_of(duo_algorithm_id id)
{
    return id >= 0 && id < DUO_ALGORITHMS ? algorithms[id].algorithm : nullptr;
}

static duo_status status_of(cudaError_t error, duo_algorithm_id id)
{
    return duo_cuda_status(error, algorithms[id].name);
}

static duo_status load(int device)
{
    const duo_cuda_guard current(device);
    duo_status status = current.status;
    for (int id = 0; id < DUO_ALGORITHMS && status == DUO_OK; id++)
        if (algorithms[id].algorithm != nullptr)
            status = status_of(algorithms[id].algorithm->load(), (duo_algorithm_id)id);
    return status;
}

/* ---- Queues ---- */

struct duo_queue {
    int device;
    bool own_stream;
    cudaStream_t stream;
    cudaEvent_t marks[DUO_MARKS];
    cudaEvent_t behind; /* marks the place in another queue that this one follows */
    void *scratch;      /* the reductions' partial sums, then their counter */
    uint32_t loaded;    /* a bit for each algorithm that this queue has launched before */
    char *workspace;    /* of the algorithms that want one; grows */
    size_t workspace_bytes;
    size_t workspace_refused; /* this much there was not when it was last asked for; 0: never */
    size_t memory_bytes;      /* that the device has; 0: not asked yet */
    int multiprocessors, capability, cache_bytes;
};

constexpr size_t kPartialsBytes = DUO_PARTIALS * sizeof(double);
constexpr size_t kScratchBytes = kPartialsBytes + 256;

/* ---- Workspace ---- */

static duo_status give_workspace_back(duo_queue *queue)
{
    if (queue->workspace == nullptr) return DUO_OK;
    char *const address = queue->workspace;
    const size_t bytes = queue->workspace_bytes;
    queue->workspace = nullptr;
    queue->workspace_bytes = queue->workspace_refused = 0;
    duo_memory_give(queue->device, bytes);
    return release(queue->device, address); /* waits for the device */
}

/*
 * Makes the workspace as large as wanted, if DUOBLAS_WORKSPACE and the device's memory allow; else
 * as large as they do, down to kLeastWorkspace. An algorithm that cannot work with what there is says so.
 */
constexpr size_t kLeastWorkspace = (size_t)1 << 20;
constexpr size_t kWorkspaceUnit = (size_t)2 << 20;

static void grow_workspace(duo_queue *queue, size_t wanted)
{
    const double limit = duo_environment_get()->workspace_bytes;
    wanted = (wanted + kWorkspaceUnit - 1) / kWorkspaceUnit * kWorkspaceUnit;
    if ((double)wanted > limit) wanted = (size_t)limit;
    if (wanted <= queue->workspace_bytes) return;
    if (queue->workspace_refused > 0 && wanted >= queue->workspace_refused &&
        queue->workspace != nullptr)
        return;
    (void)give_workspace_back(queue);
    size_t free_bytes;
    if (queue->memory_bytes == 0)
        duo_cuda_forget(cudaMemGetInfo(&free_bytes, &queue->memory_bytes));
    for (; wanted >= kLeastWorkspace; wanted /= 2) {
        void *address;
        const bool room = duo_memory_take(queue->device, wanted, (double)queue->memory_bytes);
        if (!room || allocate(queue->device, wanted, &address) != DUO_OK) {
            if (room) duo_memory_give(queue->device, wanted);
            queue->workspace_refused = wanted;
            continue;
        }
        queue->workspace = (char *)address;
        queue->workspace_bytes = wanted;
        return;
    }
}

static duo_status close_queue(duo_queue *queue)
{
    const duo_cuda_guard current(queue->device);
    duo_status status = current.status;
    if (status == DUO_OK) {
        /* On a lost device each of these fails at once. */
        status = duo_cuda_status(cudaStreamSynchronize(queue->stream), "cudaStreamSynchronize");
        for (cudaEvent_t mark : queue->marks)
            if (mark != nullptr) duo_cuda_forget(cudaEventDestroy(mark));
        if (queue->behind != nullptr) duo_cuda_forget(cudaEventDestroy(queue->behind));
        if (queue->scratch != nullptr) duo_cuda_forget(cudaFree(queue->scratch));
        (void)give_workspace_back(queue);
        if (queue->own_stream) duo_cuda_forget(cudaStreamDestroy(queue->stream));
    }
    free(queue);
    return status;
}

static duo_status open_queue(int device, void *stream, duo_queue **opened)
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
    queue->capability = 10 * duo_cuda_attribute(device, cudaDevAttrComputeCapabilityMajor) +
                        duo_cuda_attribute(device, cudaDevAttrComputeCapabilityMinor);
    queue->cache_bytes = duo_cuda_attribute(device, cudaDevAttrL2CacheSize);
    duo_status status = DUO_OK;
    if (stream == nullptr) {
        status = duo_cuda_status(cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking),
                                 "cudaStreamCreate");
        if (status != DUO_OK) { /* closing would wait for the default stream */
            free(queue);
            return status;
        }
        queue->own_stream = true;
    }
    for (cudaEvent_t &mark : queue->marks)
        if (status == DUO_OK)
            status = duo_cuda_status(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming),
                                     "cudaEventCreate");
    if (status == DUO_OK)
        status = duo_cuda_status(cudaEventCreateWithFlags(&queue->behind, cudaEventDisableTiming),
                                 "cudaEventCreate");
    if (status == DUO_OK)
        status = duo_cuda_status(cudaMalloc(&queue->scratch, kScratchBytes), "cudaMalloc");
    /* In the stream itself, so that it precedes every kernel; a foreign stream fails here. */
    if (status == DUO_OK)
        status = duo_cuda_status(cudaMemsetAsync(queue->scratch, 0, kScratchBytes, queue->stream),
                                 "cudaMemsetAsync");
    if (status != DUO_OK) {
        char why[kDuoCudaLine];
        snprintf(why, sizeof why, "%s", duo_cuda_detail());
        (void)close_queue(queue);
        (void)duo_cuda_refuse("%s", why);
        return status;
    }
    *opened = queue;
    return DUO_OK;
}

static void *stream_of(duo_queue *queue) { return queue->stream; }

static duo_status copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
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

/* Loads the algorithm's kernels if the queue has not launched any of them yet. */
static duo_status load_algorithm(duo_queue *queue, duo_algorithm_id id)
{
    static_assert(DUO_ALGORITHMS <= 32, "a queue has a bit for each");
    const uint32_t bit = 1u << id;
    if ((queue->loaded & bit) != 0) return DUO_OK;
    const duo_status status = status_of(algorithm_of(id)->load(), id);
    if (status == DUO_OK) queue->loaded |= bit;
    return status;
}

static duo_launch launch_on(const duo_queue *queue)
{
    duo_launch how = {};
    how.stream = queue->stream;
    how.multiprocessors = queue->multiprocessors;
    how.capability = queue->capability;
    how.cache_bytes = queue->cache_bytes;
    how.partials = (double *)queue->scratch;
    how.counter = (unsigned *)((char *)queue->scratch + kPartialsBytes);
    return how;
}

static duo_status launch(duo_queue *queue, duo_algorithm_id id, const duo_call *call,
                         uint64_t *pinned_result, uint32_t ticket)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    const duo_gpu_algorithm *const algorithm = algorithm_of(id);
    if (algorithm == nullptr) return duo_cuda_refuse("no GPU algorithm has this number");
    const duo_status status = load_algorithm(queue, id);
    if (status != DUO_OK) return status;
    duo_launch how = launch_on(queue);
    how.pinned_result = pinned_result;
    how.ticket = ticket;
    if (algorithm->workspace != nullptr) {
        const size_t wanted = algorithm->workspace(call, &how);
        if (wanted > 0) grow_workspace(queue, wanted);
        how.workspace = queue->workspace;
        how.workspace_bytes = wanted < queue->workspace_bytes ? wanted : queue->workspace_bytes;
    }
    return status_of(algorithm->launch(call, &how), id);
}

static size_t packed_bytes(duo_algorithm_id id, const duo_call *call, int i)
{
    const duo_gpu_algorithm *const algorithm = algorithm_of(id);
    return algorithm != nullptr && algorithm->packed_bytes != nullptr
               ? algorithm->packed_bytes(call, i)
               : 0;
}

static duo_status pack(duo_queue *queue, duo_algorithm_id id, const duo_call *call, int i,
                       void *memory)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    const duo_gpu_algorithm *const algorithm = algorithm_of(id);
    if (algorithm == nullptr || algorithm->pack == nullptr)
        return duo_cuda_refuse("no algorithm that packs has this number");
    const duo_status status = load_algorithm(queue, id);
    if (status != DUO_OK) return status;
    const duo_launch how = launch_on(queue);
    return status_of(algorithm->pack(call, i, memory, &how), id);
}

static duo_status trim(duo_queue *queue)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return give_workspace_back(queue);
}

static duo_status mark(duo_queue *queue, int index)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaEventRecord(queue->marks[index], queue->stream), "cudaEventRecord");
}

static duo_status wait_mark(duo_queue *queue, int index)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaEventSynchronize(queue->marks[index]), "cudaEventSynchronize");
}

static duo_status finish(duo_queue *queue)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaStreamSynchronize(queue->stream), "cudaStreamSynchronize");
}

static duo_status idle(duo_queue *queue, bool *done)
{
    *done = false;
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    const cudaError_t error = cudaStreamQuery(queue->stream);
    *done = error == cudaSuccess;
    if (error == cudaErrorNotReady) { /* an answer, not a failure, but some versions note it */
        duo_cuda_forget(error);
        return DUO_OK;
    }
    return duo_cuda_status(error, "cudaStreamQuery");
}

/* Pageable memory is copied by way of the driver's own; when the stream is done, so is that. */
static duo_status copy_now(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                           size_t src_pitch, size_t width, size_t height)
{
    const duo_status status = copy(queue, dst, dst_pitch, src, src_pitch, width, height);
    return status == DUO_OK ? finish(queue) : status;
}

/* Only the later queue's event is touched, and recording into the earlier stream is safe beside
 * anything that its own thread queues. */
static duo_status after(duo_queue *later, duo_queue *earlier)
{
    if (later == earlier) return DUO_OK;
    cudaEvent_t here = later->behind;
    const bool across = later->device != earlier->device; /* an event belongs to its device */
    duo_status status;
    {
        const duo_cuda_guard current(earlier->device);
        status = current.status;
        if (status == DUO_OK && across)
            status = duo_cuda_status(cudaEventCreateWithFlags(&here, cudaEventDisableTiming),
                                     "cudaEventCreate");
        if (status != DUO_OK) return status;
        status = duo_cuda_status(cudaEventRecord(here, earlier->stream), "cudaEventRecord");
    }
    {
        const duo_cuda_guard current(later->device);
        if (status == DUO_OK) status = current.status;
        if (status == DUO_OK)
            status =
                duo_cuda_status(cudaStreamWaitEvent(later->stream, here, 0), "cudaStreamWaitEvent");
    }
    if (across) duo_cuda_forget(cudaEventDestroy(here)); /* what waits for it keeps it */
    return status;
}

/* ---- The backend ---- */

extern "C" const duo_backend *duo_backend_default(void)
{
    static const duo_backend backend = {
        .name = "cuda",
        .count = duo_cuda_count,
        .describe = duo_cuda_describe,
        .load = load,
        .allocate = allocate,
        .release = release,
        .pin = pin,
        .unpin = unpin,
        .classify = duo_cuda_classify,
        .open = open_queue,
        .close = close_queue,
        .stream = stream_of,
        .copy = copy,
        .copy_now = copy_now,
        .launch = launch,
        .packed_bytes = packed_bytes,
        .pack = pack,
        .trim = trim,
        .mark = mark,
        .wait_mark = wait_mark,
        .finish = finish,
        .idle = idle,
        .after = after,
        .detail = duo_cuda_detail,
    };
    return &backend;
}
