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
    bool pooled;         /* the device has memory that is taken and given back in its order */
    char *address;
    size_t bytes;
    bool held;                      /* a graph uses it */
    struct duo_cuda_held *replaced; /* smaller ones, which were held when it grew */
    size_t refused;                 /* so much there was not when it was last asked for; 0: never */
    size_t memory_bytes;            /* that the device has; 0: not asked yet */
};

/* Of a queue that is opened; there is no memory in it yet. */
void duo_cuda_open_workspace(duo_cuda_workspace *workspace, int device, cudaStream_t stream);

/*
 * Makes it as large as wanted, if DUOBLAS_WORKSPACE and the device's memory
 * allow; else as large as they do, or leaves none: an algorithm that cannot work with what there is
 * says so. Memory is taken and given back in the order of the queue's work, so that nobody waits,
 * where the device has such memory. It is current, here and below.
 */
void duo_cuda_grow_workspace(duo_cuda_workspace *workspace, size_t wanted);

/* Gives the memory back, all of it, after the queue's work and the graphs that use it are done. */
duo_status duo_cuda_free_workspace(duo_cuda_workspace *workspace);

#endif
