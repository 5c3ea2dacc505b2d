/* cuda_signal.cu - signals (cuda_signal.cuh). CUDA lets any thread record, query and wait for an
 * event at any time. */
#include "gpu/backend/cuda_signal.cuh"

#include <stdlib.h>

#include "gpu/backend/cuda_devices.cuh"
#include "gpu/backend/cuda_error.cuh"
#include "gpu/backend/cuda_queue.cuh"

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
