/* cuda_error.cu - the meaning of CUDA's errors to the library. */
#include <stdarg.h>
#include <stdio.h>

#include "gpu/backend/cuda.cuh"

static thread_local char failure[kDuoCudaLine];

const char *duo_cuda_detail(void) { return failure; }

/* After these the process cannot use the device any more: every later call fails likewise. */
static bool is_lost(cudaError_t error)
{
    switch ((int)error) {
    case cudaErrorCudartUnloading: /* the process ends */
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
    case 201: /* cudaErrorDeviceUninitialized: its context was reset */
    case 226: /* cudaErrorContained, of CUDA 12.8 and later */
    case 721: /* cudaErrorTensorMemoryLeak, likewise */
        return true;
    default:
        return false;
    }
}

void duo_cuda_forget(cudaError_t error)
{
    if (error != cudaSuccess && cudaPeekAtLastError() == error) (void)cudaGetLastError();
}

duo_status duo_cuda_status(cudaError_t error, const char *function)
{
    if (error == cudaSuccess) return DUO_OK;
    duo_cuda_forget(error);
    snprintf(failure, sizeof failure, "%s: %s", function, cudaGetErrorString(error));
    if (error == cudaErrorMemoryAllocation) return DUO_ERR_MEMORY;
    return is_lost(error) ? DUO_ERR_LOST : DUO_ERR_DEVICE;
}

duo_status duo_cuda_refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    return DUO_ERR_DEVICE;
}
