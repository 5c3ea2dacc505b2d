/* cuda_algorithms.cu - the GPU's algorithms: their table, loading and launches. */
#include "gpu/backend/cuda.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels.h"

/* ---- The table ---- */

struct table_entry {
    const char *name;
    const duo_gpu_algorithm *algorithm; /* NULL: it runs on the CPU */
};

/* By duo_algorithm_id. */
#define ALGORITHM_ON_CPU(name)                    nullptr
#define ALGORITHM_ON_GPU(name)                    &duo_##name
#define TABLE_ENTRY(operation, side, maths, name) {#name, ALGORITHM_ON_##side(name)},
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

static const char kTags[] = "tag_blocks", kFreivalds[] = "freivalds";

/* The kernels by which an algorithm does batches. */
static const duo_gpu_batch *batch_of(duo_algorithm_id id)
{
    return id == DUO_sgemm_gpu_mma ? &duo_sgemm_gpu_batched_mma : &duo_sgemm_gpu_batched_ffma;
}

static bool all_loaded[DUO_MOST_DEVICES]; /* atomic: was that tried? */

duo_status duo_cuda_load(int device)
{
    const duo_cuda_guard current(device);
    duo_status status = current.status;
    for (int id = 0; id < DUO_ALGORITHMS && status == DUO_OK; id++)
        if (algorithms[id].algorithm != nullptr)
            status = status_of(algorithms[id].algorithm->load(), (duo_algorithm_id)id);
    for (const duo_algorithm_id id : {DUO_sgemm_gpu_ffma, DUO_sgemm_gpu_mma})
        if (status == DUO_OK) status = status_of(batch_of(id)->load(), id);
    if (status == DUO_OK) status = status_of(duo_sgemm_gpu_grouped.load(), DUO_sgemm_gpu_mma);
    if (status == DUO_OK) status = duo_cuda_status(duo_tag_blocks_load(), kTags);
    if (status == DUO_OK) status = duo_cuda_status(duo_freivalds_load(), kFreivalds);
    __atomic_store_n(&all_loaded[device], true, __ATOMIC_RELEASE);
    return status;
}

/* ---- Launches ---- */

/*
 * Loads the algorithm's kernels if the queue has not launched any of them yet. The first launch on
 * a device loads those of all algorithms: to load one later the driver would wait until every queue
 * of the device is empty.
 */
static duo_status load_algorithm(duo_queue *queue, duo_algorithm_id id)
{
    static_assert(DUO_ALGORITHMS <= 32, "a queue has a bit for each");
    const uint32_t bit = 1u << id;
    if ((queue->loaded & bit) != 0) return DUO_OK;
    if (!__atomic_load_n(&all_loaded[queue->device], __ATOMIC_ACQUIRE))
        (void)duo_cuda_load(queue->device); /* if that fails this algorithm may still load */
    const duo_status status = status_of(algorithm_of(id)->load(), id);
    if (status == DUO_OK) queue->loaded |= bit;
    return status;
}

/* A launch gets at least this many: with fewer it could not hide its waiting. */
constexpr int kLeastMultiprocessors = 4;

void duo_cuda_share(duo_queue *queue, double part)
{
    const int shared = (int)ceil(part * queue->multiprocessors);
    queue->counted = shared > kLeastMultiprocessors ? shared : kLeastMultiprocessors;
    if (queue->counted > queue->multiprocessors) queue->counted = queue->multiprocessors;
}

static duo_launch launch_on(const duo_queue *queue)
{
    duo_launch how = {};
    how.stream = queue->stream;
    how.multiprocessors = queue->counted;
    how.capability = queue->capability;
    how.cache_bytes = queue->cache_bytes;
    how.memory_rate = queue->memory_rate;
    how.partials = (double *)queue->scratch;
    how.counters = (unsigned *)((char *)queue->scratch + kPartialsBytes);
    return how;
}

/* Finds workspace. In the caller's graph it does not grow: that would take it from work that is
 * captured already. */
static void find_workspace(duo_queue *queue, size_t wanted, duo_launch *how)
{
    if (wanted == 0) return;
    const bool captured = duo_cuda_is_captured(queue);
    if (captured && (!queue->own_stream || queue->recorded))
        queue->workspace.held = true;
    else if (wanted > queue->workspace.bytes && !captured)
        duo_cuda_grow_workspace(&queue->workspace, wanted);
    how->workspace = queue->workspace.address;
    how->workspace_bytes = wanted < queue->workspace.bytes ? wanted : queue->workspace.bytes;
}

/* Prepares a launch: loads its kernels and finds workspace. In the caller's graph loading is
 * allowed in any capture mode. */
static duo_status prepare(duo_queue *queue, duo_algorithm_id id, const duo_call *call,
                          duo_launch *how)
{
    const duo_gpu_algorithm *const algorithm = algorithm_of(id);
    if (algorithm == nullptr) return duo_cuda_refuse("no GPU algorithm has this number");
    const bool capture = !queue->own_stream && duo_cuda_is_captured(queue);
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    if (capture) duo_cuda_forget(cudaThreadExchangeStreamCaptureMode(&mode));
    const duo_status status = load_algorithm(queue, id);
    if (capture) duo_cuda_forget(cudaThreadExchangeStreamCaptureMode(&mode));
    if (status != DUO_OK || algorithm->workspace == nullptr) return status;
    find_workspace(queue, algorithm->workspace(call, how), how);
    return DUO_OK;
}

duo_status duo_cuda_reserve(duo_queue *queue, duo_algorithm_id id, const duo_call *call)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    duo_launch how = launch_on(queue);
    queue->recorded = true;
    return prepare(queue, id, call, &how);
}

duo_status duo_cuda_launch(duo_queue *queue, duo_algorithm_id id, const duo_call *call,
                           uint64_t *pinned_result, uint32_t ticket)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    duo_launch how = launch_on(queue);
    how.pinned_result = pinned_result;
    how.ticket = ticket;
    const duo_status status = prepare(queue, id, call, &how);
    return status == DUO_OK ? status_of(algorithm_of(id)->launch(call, &how), id) : status;
}

/* The kernels of batches, of tags and of checks are loaded with all others. */
static duo_status load_others(const duo_queue *queue)
{
    if (__atomic_load_n(&all_loaded[queue->device], __ATOMIC_ACQUIRE)) return DUO_OK;
    return duo_cuda_load(queue->device);
}

/* Makes the queue's staging memory this large. */
static duo_status make_staging(duo_queue *queue, size_t wanted)
{
    if (wanted <= queue->staging_bytes) return DUO_OK;
    void *const staging = malloc(wanted);
    if (staging == nullptr) return duo_cuda_refuse("out of host memory");
    free(queue->staging);
    queue->staging = staging;
    queue->staging_bytes = wanted;
    return DUO_OK;
}

/* Makes the workspace as large as a launch needs. */
static duo_status make_workspace(duo_queue *queue, size_t wanted, duo_launch *how)
{
    if (wanted > queue->workspace.bytes) duo_cuda_grow_workspace(&queue->workspace, wanted);
    if (wanted > queue->workspace.bytes) return duo_cuda_refuse("no memory for lists");
    how->workspace = queue->workspace.address;
    how->workspace_bytes = queue->workspace.bytes;
    return DUO_OK;
}

/* Queues a copy to the workspace. The driver has copied the host memory when this returns. */
static duo_status send(const duo_queue *queue, char *to, const void *from, size_t bytes)
{
    return duo_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, queue->stream),
                           "cudaMemcpyAsync");
}

/* Sends the batch's lists to the workspace: short ones by one copy, since each takes a while. */
static duo_status send_lists(duo_queue *queue, const duo_batch *batch, duo_launch *how)
{
    enum { SHORT = 1 << 16 };
    const size_t bytes = (size_t)batch->count * sizeof(float *);
    const size_t wanted = duo_batch_list_bytes(batch);
    size_t at = 0;
    if (wanted == 0) return DUO_OK;
    const bool at_once = wanted <= SHORT && make_staging(queue, SHORT) == DUO_OK;
    duo_status status = make_workspace(queue, wanted, how);
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++) {
        if (!duo_batch_sends_list(batch, i)) continue;
        if (at_once)
            memcpy((char *)queue->staging + at, batch->pointer[i], bytes);
        else
            status = send(queue, how->workspace + at, batch->pointer[i], bytes);
        at += bytes;
    }
    if (!at_once || status != DUO_OK) return status;
    return send(queue, how->workspace, queue->staging, wanted);
}

static duo_status launch_groups(duo_queue *queue, duo_algorithm_id id, const duo_group *group,
                                int64_t groups, duo_launch *how)
{
    const size_t wanted = duo_sgemm_gpu_grouped.bytes(group, groups);
    duo_status status = make_staging(queue, wanted);
    if (status == DUO_OK) status = make_workspace(queue, wanted, how);
    if (status != DUO_OK) return status;
    return status_of(
        duo_sgemm_gpu_grouped.launch(group, groups, id == DUO_sgemm_gpu_mma, queue->staging, how),
        id);
}

duo_status duo_cuda_launch_batch(duo_queue *queue, duo_algorithm_id id, const duo_group *group,
                                 int64_t groups)
{
    const duo_cuda_guard current(queue->device);
    duo_status status = current.status;
    duo_launch how = launch_on(queue);
    if (status == DUO_OK) status = load_others(queue);
    if (status == DUO_OK && groups > 1) return launch_groups(queue, id, group, groups, &how);
    if (status == DUO_OK && batch_of(id)->workspace != nullptr)
        find_workspace(queue, batch_of(id)->workspace(&group->call, &group->batch, &how), &how);
    if (status == DUO_OK) status = send_lists(queue, &group->batch, &how);
    if (status != DUO_OK) return status;
    return status_of(batch_of(id)->launch(&group->call, &group->batch, &how), id);
}

size_t duo_cuda_packed_bytes(duo_algorithm_id id, const duo_call *call, int i)
{
    const duo_gpu_algorithm *const algorithm = algorithm_of(id);
    return algorithm != nullptr && algorithm->packed_bytes != nullptr
               ? algorithm->packed_bytes(call, i)
               : 0;
}

duo_status duo_cuda_pack(duo_queue *queue, duo_algorithm_id id, const duo_call *call, int i,
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

duo_status duo_cuda_tag(duo_queue *queue, const void *memory, size_t blocks, const void *key,
                        void *tags)
{
    const duo_cuda_guard current(queue->device);
    duo_status status = current.status;
    if (status == DUO_OK) status = load_others(queue);
    if (status != DUO_OK) return status;
    const duo_launch how = launch_on(queue);
    return duo_cuda_status(duo_tag_blocks(memory, blocks, key, tags, &how), kTags);
}

duo_status duo_cuda_freivalds_multiply(duo_queue *queue, const duo_freivalds_product *product)
{
    const duo_cuda_guard current(queue->device);
    duo_status status = current.status;
    if (status == DUO_OK) status = load_others(queue);
    if (status != DUO_OK) return status;
    const duo_launch how = launch_on(queue);
    return duo_cuda_status(duo_freivalds_multiply(product, &how), kFreivalds);
}

duo_status duo_cuda_freivalds_compare(duo_queue *queue, const duo_freivalds_rows *rows,
                                      uint32_t *wrong, uint32_t number)
{
    const duo_cuda_guard current(queue->device);
    duo_status status = current.status;
    if (status == DUO_OK) status = load_others(queue);
    if (status != DUO_OK) return status;
    const duo_launch how = launch_on(queue);
    return duo_cuda_status(duo_freivalds_compare(rows, wrong, number, &how), kFreivalds);
}
