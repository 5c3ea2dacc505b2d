/* cuda_links.cu - which devices reach each other's memory: CUDA's peer access. */
#include "gpu/backend/cuda_links.cuh"

#include "gpu/backend/cuda_devices.cuh"
#include "gpu/backend/cuda_error.cuh"

enum link_state { kUnknown, kDirect, kThroughHost };

/* By device and other; read and set by the __atomic functions. Two threads that ask for a link at
 * once get the same answer. */
static int links[DUO_MOST_DEVICES][DUO_MOST_DEVICES];

/* May `device` reach the memory of `other`? Its context is current. */
static duo_status enable(int device, int other, int *link)
{
    const int theirs = duo_cuda_ordinal(other);
    int can = 0;
    *link = kThroughHost;
    const duo_status status = duo_cuda_status(
        cudaDeviceCanAccessPeer(&can, duo_cuda_ordinal(device), theirs), "cudaDeviceCanAccessPeer");
    if (status != DUO_OK || can == 0) return status;
    const cudaError_t error = cudaDeviceEnablePeerAccess(theirs, 0);
    switch (error) {
    case cudaSuccess:
    case cudaErrorPeerAccessAlreadyEnabled: /* by the program itself */
        *link = kDirect;
        break;
    case cudaErrorPeerAccessUnsupported:
    case cudaErrorTooManyPeers:
        break;
    default:
        return duo_cuda_status(error, "cudaDeviceEnablePeerAccess");
    }
    duo_cuda_forget(error);
    return DUO_OK;
}

duo_status duo_cuda_link(int device, int other, bool *direct)
{
    *direct = device == other;
    if (device == other) return DUO_OK;
    {
        const duo_cuda_guard theirs(
            other); /* its context has to be there; refuses a wrong number */
        if (theirs.status != DUO_OK) return theirs.status;
    }
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    int link = __atomic_load_n(&links[device][other], __ATOMIC_ACQUIRE);
    if (link == kUnknown) {
        const duo_status status = enable(device, other, &link);
        if (status != DUO_OK) return status;
        __atomic_store_n(&links[device][other], link, __ATOMIC_RELEASE);
    }
    *direct = link == kDirect;
    return DUO_OK;
}
