/*
 * cuda_error.cuh - the meaning of CUDA's errors to the library.
 *
 * Errors are taken from the return values. cudaGetLastError only clears the error that a failed
 * call of ours left, so a pending error of the caller survives every success here.
 */
#ifndef DUO_CUDA_ERROR_CUH
#define DUO_CUDA_ERROR_CUH

#include <cuda_runtime.h>

#include "duoblas.h"

constexpr int kDuoCudaLine = 192; /* thread-local storage is scarce: one line */

/* The text of the calling thread's last failure. */
const char *duo_cuda_detail(void);

/* Takes away the pending error that a failed call of ours left, and no other. */
void duo_cuda_forget(cudaError_t error);

/* The backend's status for the error; clears the error and describes it in the text. */
duo_status duo_cuda_status(cudaError_t error, const char *function);

/* DUO_ERR_DEVICE, with a text of our own. */
duo_status duo_cuda_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
