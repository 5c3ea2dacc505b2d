/* cuda_record.cu - recorded work (cuda_record.cuh). */
#include "gpu/backend/cuda_record.cuh"

#include <stdlib.h>

#include "gpu/backend/cuda_devices.cuh"
#include "gpu/backend/cuda_error.cuh"
#include "gpu/backend/cuda_queue.cuh"

struct duo_recorded {
    int device;
    cudaGraphExec_t exec;
};

/* A capture that has failed counts as well: until it is ended its stream takes no work. */
duo_status duo_cuda_capturing(int device, void *stream, bool *capturing)
{
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    *capturing = false;
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    const duo_status status = duo_cuda_status(cudaStreamIsCapturing((cudaStream_t)stream, &capture),
                                              "cudaStreamIsCapturing");
    *capturing = capture != cudaStreamCaptureStatusNone;
    return status;
}

/* Other threads may allocate and wait meanwhile: only what is queued in the stream counts. */
duo_status duo_cuda_record_begin(duo_queue *queue)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaStreamBeginCapture(queue->stream, cudaStreamCaptureModeRelaxed),
                           "cudaStreamBeginCapture");
}

/* Can the graph take the place of what is there? Kernels with other arguments can. */
static bool renewed(cudaGraphExec_t exec, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    const cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
#else
    cudaGraphNode_t node;
    cudaGraphExecUpdateResult result;
    const cudaError_t error = cudaGraphExecUpdate(exec, graph, &node, &result);
#endif
    duo_cuda_forget(error);
    return error == cudaSuccess;
}

static duo_status instantiate(cudaGraph_t graph, cudaStream_t stream, cudaGraphExec_t *exec)
{
    duo_status status = duo_cuda_status(cudaGraphInstantiateWithFlags(exec, graph, 0),
                                        "cudaGraphInstantiateWithFlags");
    if (status != DUO_OK) return status;
    status = duo_cuda_status(cudaGraphUpload(*exec, stream), "cudaGraphUpload");
    if (status != DUO_OK) duo_cuda_forget(cudaGraphExecDestroy(*exec));
    return status;
}

static duo_status make_or_renew(duo_queue *queue, cudaGraph_t graph, duo_recorded **recorded)
{
    duo_recorded *const r = *recorded != nullptr ? *recorded : (duo_recorded *)calloc(1, sizeof *r);
    if (r == nullptr) {
        (void)duo_cuda_refuse("out of host memory");
        return DUO_ERR_MEMORY;
    }
    r->device = queue->device;
    if (r->exec != nullptr && renewed(r->exec, graph)) return DUO_OK;
    cudaGraphExec_t exec = nullptr;
    const duo_status status = instantiate(graph, queue->stream, &exec);
    if (status != DUO_OK) {
        if (*recorded == nullptr) free(r);
        return status;
    }
    if (r->exec != nullptr) duo_cuda_forget(cudaGraphExecDestroy(r->exec));
    r->exec = exec;
    *recorded = r;
    return DUO_OK;
}

duo_status duo_cuda_record_end(duo_queue *queue, duo_recorded **recorded)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    cudaGraph_t graph = nullptr;
    duo_status status =
        duo_cuda_status(cudaStreamEndCapture(queue->stream, &graph), "cudaStreamEndCapture");
    if (status == DUO_OK) status = make_or_renew(queue, graph, recorded);
    if (graph != nullptr) duo_cuda_forget(cudaGraphDestroy(graph));
    return status;
}

duo_status duo_cuda_replay(duo_queue *queue, duo_recorded *recorded)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaGraphLaunch(recorded->exec, queue->stream), "cudaGraphLaunch");
}

void duo_cuda_record_forget(duo_recorded *recorded)
{
    const duo_cuda_guard current(recorded->device);
    if (current.status == DUO_OK) duo_cuda_forget(cudaGraphExecDestroy(recorded->exec));
    free(recorded);
}
