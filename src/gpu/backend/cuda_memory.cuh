/* cuda_memory.cuh - device memory, and pinned host memory, for the backend (backend.h). */
#ifndef DUO_CUDA_MEMORY_CUH
#define DUO_CUDA_MEMORY_CUH

#include <stddef.h>

#include "duoblas.h"

duo_status duo_cuda_allocate(int device, size_t bytes, void **address);
duo_status duo_cuda_release(int device, void *address);
duo_status duo_cuda_pin(int device, size_t bytes, void **address);
duo_status duo_cuda_unpin(void *address);

#endif
