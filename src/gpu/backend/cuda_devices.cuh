/*
 * cuda_devices.cuh - the driver, the devices, the current context, memory (backend.h).
 *
 * The driver (libcuda.so.1) is opened if there is one. The caller's current context survives: the
 * driver pushes ours on top of it and pops it again. cudaSetDevice would leave a trace, and
 * restoring a device that the caller never touched would even make a context there.
 */
#ifndef DUO_CUDA_DEVICES_CUH
#define DUO_CUDA_DEVICES_CUH

#include <cuda_runtime.h>
#include <stddef.h>

#include "duoblas.h"
#include "gpu/backend/backend.h"

/* Functions of the backend (backend.h). */
duo_status duo_cuda_count(int *number);
duo_status duo_cuda_describe(int device, duo_device_info *info);
duo_status duo_cuda_classify(const void *address, duo_memory *memory);

/* Makes a device's context current for the life of the object. Every function that needs a context
 * makes a guard first, and does nothing more if the guard failed. */
class duo_cuda_guard
{
  public:
    explicit duo_cuda_guard(int device);
    ~duo_cuda_guard();
    duo_cuda_guard(const duo_cuda_guard &) = delete;
    duo_cuda_guard &operator=(const duo_cuda_guard &) = delete;

    duo_status status;

  private:
    bool pushed = false;
};

/* A device with a context, for calls that belong to no device. */
int duo_cuda_some_device(void);

int duo_cuda_ordinal(int device); /* CUDA's own number of a device */

/* A number about a device; 0 if it is not available. */
int duo_cuda_attribute(int device, cudaDeviceAttr which);

/* ---- Which devices reach each other's memory ---- */

/* A function of the backend (backend.h). */
duo_status duo_cuda_link(int device, int other, bool *direct);

/* ---- Device memory, and pinned host memory ---- */

duo_status duo_cuda_allocate(int device, size_t bytes, void **address);
duo_status duo_cuda_release(int device, void *address);
duo_status duo_cuda_pin(int device, size_t bytes, void **address);
duo_status duo_cuda_unpin(void *address);

#endif
