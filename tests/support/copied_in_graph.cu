/*
 * copied_in_graph.cu - a kernel writes an array, and a copy behind it in the same CUDA graph reads
 * it. The result is right. CUDA 13.0's initcheck says that the copy reads bytes that nothing has
 * written: it judges the copy at the launch, before the kernel has ended. So the kernel is slow
 * here; a short one has sometimes ended by then. The library's graphs have the same alarm
 * (scripts/compute-sanitizer). The exit status is 0 if the result was right.
 */
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kCount = 576;
constexpr long long kClocks = 200000000; /* a tenth of a second */

static __global__ void add_one(const float *x, float *y)
{
    const long long begun = clock64();
    while (clock64() - begun < kClocks) {}
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < kCount) y[i] = x[i] + 1.0f;
}

static bool good(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    return error == cudaSuccess;
}
#define GOOD(call) good(call, #call)

/* array[2] becomes array[0] + 1, by way of array[1]. */
static bool run_graph(float *const array[3])
{
    constexpr size_t kBytes = kCount * sizeof(float);
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    if (!GOOD(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) ||
        !GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed)))
        return false;
    add_one<<<3, 256, 0, stream>>>(array[0], array[1]);
    return GOOD(cudaGetLastError()) &&
           GOOD(cudaMemcpyAsync(array[2], array[1], kBytes, cudaMemcpyDeviceToDevice, stream)) &&
           GOOD(cudaStreamEndCapture(stream, &graph)) &&
           GOOD(cudaGraphInstantiateWithFlags(&exec, graph, 0)) &&
           GOOD(cudaGraphUpload(exec, stream)) && GOOD(cudaGraphLaunch(exec, stream)) &&
           GOOD(cudaStreamSynchronize(stream));
}

int main(void)
{
    float host[kCount], *array[3];
    for (float *&a : array)
        if (!GOOD(cudaMalloc(&a, sizeof host))) return 1;
    for (int i = 0; i < kCount; i++) host[i] = (float)i;
    if (!GOOD(cudaMemcpy(array[0], host, sizeof host, cudaMemcpyHostToDevice)) ||
        !run_graph(array) || !GOOD(cudaMemcpy(host, array[2], sizeof host, cudaMemcpyDeviceToHost)))
        return 1;
    for (int i = 0; i < kCount; i++)
        if (!(host[i] == (float)(i + 1))) return 1;
    return 0;
}
