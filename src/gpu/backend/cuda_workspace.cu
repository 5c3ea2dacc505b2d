/* cuda_workspace.cu - the device memory that the algorithms of a queue share. */
#include "gpu/backend/cuda.cuh"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "gpu/backend/memory_cap.h"
#include "host/environment.h"

constexpr size_t kLeast = (size_t)1 << 20; /* smaller ones are not tried */
constexpr size_t kUnit = (size_t)2 << 20;  /* cudaMalloc takes whole ones from the device */

struct duo_cuda_held {
    char *address;
    size_t bytes;
    duo_cuda_held *next;
};

/* Pooled, because cudaFree would wait for the work of all queues on the device. */
static duo_status allocate(const duo_cuda_workspace *workspace, size_t bytes, void **address)
{
    if (!workspace->pooled) return duo_cuda_allocate(workspace->device, bytes, address);
    return duo_cuda_status(cudaMallocAsync(address, bytes, workspace->stream), "cudaMallocAsync");
}

/* Zeroes memory that is to be given back, if that is wanted. False: that failed. */
static bool wiped(const duo_cuda_workspace *workspace, char *address, size_t bytes)
{
    if (!duo_environment_get()->wipe) return true;
    if (!workspace->pooled) return duo_cuda_wipe(workspace->device, address, bytes) == DUO_OK;
    return duo_cuda_status(cudaMemsetAsync(address, 0, bytes, workspace->stream),
                           "cudaMemsetAsync") == DUO_OK;
}

static void give_back(const duo_cuda_workspace *workspace, char *address, size_t bytes)
{
    if (address == nullptr) return;
    if (!wiped(workspace, address, bytes)) return;
    duo_memory_give(workspace->device, bytes);
    if (workspace->pooled)
        duo_cuda_forget(cudaFreeAsync(address, workspace->stream));
    else
        (void)duo_cuda_release(workspace->device, address);
}

static duo_status finish(const duo_cuda_workspace *workspace)
{
    return duo_cuda_status(cudaStreamSynchronize(workspace->stream), "cudaStreamSynchronize");
}

void duo_cuda_open_workspace(duo_cuda_workspace *workspace, int device, cudaStream_t stream)
{
    *workspace = {};
    workspace->device = device;
    workspace->stream = stream;
    workspace->pooled = duo_cuda_attribute(device, cudaDevAttrMemoryPoolsSupported) > 0;
}

duo_status duo_cuda_free_workspace(duo_cuda_workspace *workspace)
{
    duo_status status = DUO_OK;
    if (workspace->held || workspace->replaced != nullptr) /* graphs are launched in any stream */
        status = duo_cuda_status(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    while (workspace->replaced != nullptr) {
        duo_cuda_held *const held = workspace->replaced;
        workspace->replaced = held->next;
        give_back(workspace, held->address, held->bytes);
        free(held);
    }
    give_back(workspace, workspace->address, workspace->bytes);
    workspace->address = nullptr;
    workspace->held = false;
    workspace->bytes = workspace->refused = 0;
    const duo_status finished = finish(workspace); /* then others may have the memory */
    return status == DUO_OK ? finished : status;
}

/* Makes room for a larger one. False: a graph holds this one, and it cannot be noted. */
static bool replace(duo_cuda_workspace *workspace)
{
    if (!workspace->held) {
        give_back(workspace, workspace->address, workspace->bytes);
    } else {
        duo_cuda_held *const held = (duo_cuda_held *)malloc(sizeof *held);
        if (held == nullptr) return false;
        *held = {workspace->address, workspace->bytes, workspace->replaced};
        workspace->replaced = held;
    }
    workspace->held = false;
    workspace->address = nullptr;
    workspace->bytes = workspace->refused = 0;
    return true;
}

static char *take(const duo_cuda_workspace *workspace, size_t bytes)
{
    void *address = nullptr;
    if (!duo_memory_take(workspace->device, bytes, (double)workspace->memory_bytes)) return nullptr;
    if (allocate(workspace, bytes, &address) == DUO_OK) return (char *)address;
    /* Memory given back in the queue's order is available when the queue's work is done. */
    if (workspace->pooled && finish(workspace) == DUO_OK &&
        allocate(workspace, bytes, &address) == DUO_OK)
        return (char *)address;
    duo_memory_give(workspace->device, bytes);
    return nullptr;
}

void duo_cuda_grow_workspace(duo_cuda_workspace *workspace, size_t wanted)
{
    const double limit = duo_environment_get()->workspace_bytes;
    wanted = (wanted + kUnit - 1) / kUnit * kUnit;
    if ((double)wanted > limit) wanted = (size_t)limit;
    if (wanted <= workspace->bytes) return;
    if (workspace->refused > 0 && wanted >= workspace->refused && workspace->address != nullptr)
        return;
    if (!replace(workspace)) return;
    size_t free_bytes;
    if (workspace->memory_bytes == 0)
        duo_cuda_forget(cudaMemGetInfo(&free_bytes, &workspace->memory_bytes));
    for (; wanted >= kLeast; wanted /= 2) {
        workspace->address = take(workspace, wanted);
        if (workspace->address != nullptr) {
            workspace->bytes = wanted;
            return;
        }
        workspace->refused = wanted;
    }
}
