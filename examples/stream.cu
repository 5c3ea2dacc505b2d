/*
 * stream.cu - the program's own CUDA stream and memory: its kernels and the library's calls follow
 * each other in one stream, and the host waits only for the last one. x := x / |x|.
 *
 *     nvcc stream.cu -o stream $(pkg-config --cflags --libs duoblas)
 */
#include <duoblas.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

constexpr int kElements = 1 << 20, kThreads = 256, kBlocks = kElements / kThreads;

static void check(duo_status status)
{
    if (status == DUO_OK) return;
    std::fprintf(stderr, "%s\n", duo_status_string(status));
    std::exit(1);
}

static void check(cudaError_t error)
{
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

__global__ void fill(float *x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = i % 2 == 0 ? 3.0f : -3.0f;
}

__global__ void scale(float *x, const float *square)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] *= rsqrtf(*square);
}

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("there is no GPU");
        return 77; /* skipped */
    }
    cudaStream_t stream;
    float *x, after = NAN;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    check(cudaMalloc(&x, (kElements + 1) * sizeof *x));
    float *const square = x + kElements;

    duo_context *ctx;
    check(duo_create(&ctx));
    check(duo_set_stream(ctx, stream));
    check(duo_adopt(ctx, x, (kElements + 1) * sizeof *x)); /* now it may be an operand */

    fill<<<kBlocks, kThreads, 0, stream>>>(x);
    check(duo_sdot(ctx, kElements, x, 1, x, 1, square)); /* a result on the device: no wait */
    scale<<<kBlocks, kThreads, 0, stream>>>(x, square);
    check(cudaGetLastError());
    check(duo_sdot(ctx, kElements, x, 1, x, 1, &after)); /* a result on the host: waits */

    check(duo_disown(ctx, x)); /* before it is freed */
    check(duo_destroy(ctx));   /* before its stream ends */
    check(cudaFree(x));
    check(cudaStreamDestroy(stream));
    std::printf("|x|^2 = %.6f\n", static_cast<double>(after));
    return std::fabs(after - 1) <= 1e-5f ? 0 : 1;
}
