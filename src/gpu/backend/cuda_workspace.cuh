/* cuda_workspace.cuh - the device memory that the algorithms of a queue share, one after the
 * other. */
#ifndef DUO_CUDA_WORKSPACE_CUH
#define DUO_CUDA_WORKSPACE_CUH

#include <cuda_runtime.h>
#include <stddef.h>

#include "duoblas.h"

struct duo_cuda_workspace {
    int device;
    cudaStream_t stream; /* the queue's */
    bool pooled;         /* the device takes and gives memory in the stream's order */
    char *address;
    size_t bytes;
    bool held;                      /* a graph uses it */
    struct duo_cuda_held *replaced; /* smaller ones that were held when it grew */
    size_t refused;                 /* bytes that were last asked for in vain; 0: none */
    size_t memory_bytes;            /* of the device; 0: not asked yet */
};

/* For a queue that is being opened; it has no memory yet. */
void duo_cuda_open_workspace(duo_cuda_workspace *workspace, int device, cudaStream_t stream);

/*
 * Makes it as large as wanted, if DUOBLAS_WORKSPACE and the device's memory allow; else as large as
 * they allow, or empty: an algorithm that cannot work with that says so. If the device can, memory
 * is taken and given back in the order of the queue's work, so that nobody waits. The device is
 * current, here and below.
 */
void duo_cuda_grow_workspace(duo_cuda_workspace *workspace, size_t wanted);

/* Gives all the memory back, after the queue's work and the graphs that use it are done. */
duo_status duo_cuda_free_workspace(duo_cuda_workspace *workspace);

#endif
