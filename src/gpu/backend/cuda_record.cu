/* cuda_record.cu - records work as CUDA graphs, by stream capture; tells if the caller captures. */
#include "gpu/backend/cuda.cuh"

#include <stdlib.h>

struct duo_recorded {
    int device;
    cudaGraph_t graph; /* exec is made from it */
    cudaGraphExec_t exec;
};

/* A failed capture counts as well: until it is ended its stream takes no work. */
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

/* Relaxed: other threads may allocate and wait meanwhile. */
duo_status duo_cuda_record_begin(duo_queue *queue)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaStreamBeginCapture(queue->stream, cudaStreamCaptureModeRelaxed),
                           "cudaStreamBeginCapture");
}

static bool good(cudaError_t error)
{
    duo_cuda_forget(error);
    return error == cudaSuccess;
}

/* Do two nodes differ only in parameters that can be changed in an executable graph? */
static bool alike_nodes(cudaGraphNode_t a, cudaGraphNode_t b)
{
    cudaGraphNodeType type, other;
    if (!good(cudaGraphNodeGetType(a, &type)) || !good(cudaGraphNodeGetType(b, &other)) ||
        type != other)
        return false;
    cudaKernelNodeParams kernel[2];
    cudaMemcpy3DParms copy[2];
    cudaMemsetParams fill[2];
    switch (type) {
    case cudaGraphNodeTypeEmpty:
        return true;
    case cudaGraphNodeTypeKernel:
        return good(cudaGraphKernelNodeGetParams(a, &kernel[0])) &&
               good(cudaGraphKernelNodeGetParams(b, &kernel[1])) &&
               kernel[0].func == kernel[1].func;
    case cudaGraphNodeTypeMemcpy: /* copies of one run */
        return good(cudaGraphMemcpyNodeGetParams(a, &copy[0])) &&
               good(cudaGraphMemcpyNodeGetParams(b, &copy[1])) && copy[0].extent.height == 1 &&
               copy[1].extent.height == 1 && copy[0].kind == copy[1].kind;
    case cudaGraphNodeTypeMemset:
        return good(cudaGraphMemsetNodeGetParams(a, &fill[0])) &&
               good(cudaGraphMemsetNodeGetParams(b, &fill[1])) && fill[0].height == 1 &&
               fill[1].height == 1 && fill[0].elementSize == fill[1].elementSize;
    default:
        return false;
    }
}

/* Nodes come in the order in which they were captured, and so do the edges' ends. */
static bool alike(cudaGraph_t a, cudaGraph_t b)
{
    size_t count = 0, other = 0;
    if (!good(cudaGraphGetNodes(a, nullptr, &count)) ||
        !good(cudaGraphGetNodes(b, nullptr, &other)) || count != other || count == 0)
        return false;
    cudaGraphNode_t *const nodes = (cudaGraphNode_t *)malloc(2 * count * sizeof *nodes);
    bool same = nodes != nullptr && good(cudaGraphGetNodes(a, nodes, &count)) &&
                good(cudaGraphGetNodes(b, nodes + count, &other));
    for (size_t i = 0; i < count && same; i++) same = alike_nodes(nodes[i], nodes[count + i]);
    free(nodes);
    return same;
}

/* Can the new graph update the old executable one? Updating takes a tenth of the time of making
 * it. */
static bool renewed(const duo_recorded *r, cudaGraph_t graph)
{
    if (r->exec == nullptr || !alike(r->graph, graph)) return false;
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    const cudaError_t error = cudaGraphExecUpdate(r->exec, graph, &info);
#else
    cudaGraphNode_t node;
    cudaGraphExecUpdateResult result;
    const cudaError_t error = cudaGraphExecUpdate(r->exec, graph, &node, &result);
#endif
    return good(error);
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

/* The graph belongs to this function from now on. */
static duo_status make_or_renew(duo_queue *queue, cudaGraph_t graph, duo_recorded **recorded)
{
    duo_recorded *const r = *recorded != nullptr ? *recorded : (duo_recorded *)calloc(1, sizeof *r);
    cudaGraphExec_t exec = nullptr;
    duo_status status = DUO_OK;
    if (r == nullptr) {
        (void)duo_cuda_refuse("out of host memory");
        status = DUO_ERR_MEMORY;
    } else if (!renewed(r, graph)) {
        status = instantiate(graph, queue->stream, &exec);
        if (status != DUO_OK && *recorded == nullptr) free(r);
    }
    if (status != DUO_OK) {
        duo_cuda_forget(cudaGraphDestroy(graph));
        return status;
    }
    if (exec != nullptr && r->exec != nullptr) duo_cuda_forget(cudaGraphExecDestroy(r->exec));
    if (exec != nullptr) r->exec = exec;
    if (r->graph != nullptr) duo_cuda_forget(cudaGraphDestroy(r->graph));
    r->graph = graph;
    r->device = queue->device;
    *recorded = r;
    return DUO_OK;
}

duo_status duo_cuda_record_end(duo_queue *queue, duo_recorded **recorded)
{
    const duo_cuda_guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    cudaGraph_t graph = nullptr;
    const duo_status status =
        duo_cuda_status(cudaStreamEndCapture(queue->stream, &graph), "cudaStreamEndCapture");
    return status == DUO_OK ? make_or_renew(queue, graph, recorded) : status;
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
    if (current.status == DUO_OK) {
        duo_cuda_forget(cudaGraphExecDestroy(recorded->exec));
        duo_cuda_forget(cudaGraphDestroy(recorded->graph));
    }
    free(recorded);
}
