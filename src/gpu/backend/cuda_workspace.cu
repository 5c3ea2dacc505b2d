/* cuda_workspace.cu - see cuda_workspace.cuh */
#include "gpu/backend/cuda_workspace.cuh"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "gpu/backend/cuda_error.cuh"
#include "gpu/backend/cuda_memory.cuh"
#include "gpu/backend/memory_cap.h"
#include "host/environment.h"

constexpr size_t kLeast = (size_t)1 << 20; /* smaller ones are not tried */
constexpr size_t kUnit = (size_t)2 << 20;  /* cudaMalloc takes whole ones from the device */

struct duo_cuda_held {
    char *address;
    size_t bytes;
    duo_cuda_held *next;
};

static duo_status give_back(int device, char *address, size_t bytes)
{
    if (address == nullptr) return DUO_OK;
    duo_memory_give(device, bytes);
    return duo_cuda_release(device, address);
}

duo_status duo_cuda_free_workspace(duo_cuda_workspace *workspace, int device)
{
    while (workspace->replaced != nullptr) {
        duo_cuda_held *const held = workspace->replaced;
        workspace->replaced = held->next;
        (void)give_back(device, held->address, held->bytes);
        free(held);
    }
    const duo_status status = give_back(device, workspace->address, workspace->bytes);
    workspace->address = nullptr;
    workspace->held = false;
    workspace->bytes = workspace->refused = 0;
    return status;
}

/* Makes room for a larger one. False: what is there is held, and can't be noted. */
static bool replace(duo_cuda_workspace *workspace, int device)
{
    if (!workspace->held) {
        (void)give_back(device, workspace->address, workspace->bytes);
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

static char *take(int device, size_t bytes, size_t memory_bytes)
{
    void *address = nullptr;
    if (!duo_memory_take(device, bytes, (double)memory_bytes)) return nullptr;
    if (duo_cuda_allocate(device, bytes, &address) == DUO_OK) return (char *)address;
    duo_memory_give(device, bytes);
    return nullptr;
}

void duo_cuda_grow_workspace(duo_cuda_workspace *workspace, int device, size_t wanted)
{
    const double limit = duo_environment_get()->workspace_bytes;
    wanted = (wanted + kUnit - 1) / kUnit * kUnit;
    if ((double)wanted > limit) wanted = (size_t)limit;
    if (wanted <= workspace->bytes) return;
    if (workspace->refused > 0 && wanted >= workspace->refused && workspace->address != nullptr)
        return;
    if (!replace(workspace, device)) return;
    size_t free_bytes;
    if (workspace->memory_bytes == 0)
        duo_cuda_forget(cudaMemGetInfo(&free_bytes, &workspace->memory_bytes));
    for (; wanted >= kLeast; wanted /= 2) {
        workspace->address = take(device, wanted, workspace->memory_bytes);
        if (workspace->address != nullptr) {
            workspace->bytes = wanted;
            return;
        }
        workspace->refused = wanted;
    }
}
