/* cuda_devices.cu - the driver, the devices, the current context; device memory, and its links. */
#include "gpu/backend/cuda.cuh"

#include <ctype.h>
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lock.h"

constexpr int kMostDevices = 64;
constexpr int kLeastCapability = 75; /* 10 * major + minor: Turing, the oldest one compiled for */

/* ---- The driver ---- */

/* Its functions return CUresult, with the same values as cudaError_t. */
struct driver_functions {
    decltype(&cuDeviceGet) device_get;
    decltype(&cuDevicePrimaryCtxRetain) retain;
    decltype(&cuCtxGetCurrent) get_current;
    decltype(&cuCtxPushCurrent) push;
    decltype(&cuCtxPopCurrent) pop;
    decltype(&cuPointerGetAttributes) pointer_attributes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for what is found out once */
static driver_functions driver;
static bool driver_ready; /* read and set by the __atomic functions */

template <class Function>
static bool find(void *library, Function *function, const char *name)
{
    void *const address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != nullptr;
}

/* Is the driver there? `flags`: RTLD_NOLOAD to find it only if it is loaded already. */
static bool open_driver(int flags)
{
    if (__atomic_load_n(&driver_ready, __ATOMIC_ACQUIRE)) return true;
    duo_lock(DUO_LOCK_LOADER);
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | flags);
    duo_unlock(DUO_LOCK_LOADER);
    if (library == nullptr) return false;
    driver_functions found;
    /* The names, with the versions that cuda.h declares. */
    const bool complete = find(library, &found.device_get, "cuDeviceGet") &&
                          find(library, &found.retain, "cuDevicePrimaryCtxRetain") &&
                          find(library, &found.get_current, "cuCtxGetCurrent") &&
                          find(library, &found.push, "cuCtxPushCurrent_v2") &&
                          find(library, &found.pop, "cuCtxPopCurrent_v2") &&
                          find(library, &found.pointer_attributes, "cuPointerGetAttributes");
    if (!complete) {
        dlclose(library);
        return false;
    }
    pthread_mutex_lock(&lock);
    if (!driver_ready) {
        driver = found;
        __atomic_store_n(&driver_ready, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return true; /* the library stays open */
}

static int note_loads(dl_phdr_info *object, size_t size, void *loads)
{
    (void)size;
    *static_cast<unsigned long long *>(loads) = object->dlpi_adds;
    return 1; /* the first object tells the number */
}

/*
 * Has the program loaded the driver itself? Looking for a library that is not loaded takes 50 us,
 * in many folders. So this looks again only if the process has loaded something since.
 */
static bool driver_is_loaded()
{
    static unsigned long long loads_without; /* of the process when the driver was not there */
    unsigned long long loads = 0;
    if (__atomic_load_n(&driver_ready, __ATOMIC_ACQUIRE)) return true;
    (void)dl_iterate_phdr(note_loads, &loads);
    if (loads == __atomic_load_n(&loads_without, __ATOMIC_RELAXED)) return false;
    if (open_driver(RTLD_NOLOAD)) return true;
    __atomic_store_n(&loads_without, loads, __ATOMIC_RELAXED);
    return false;
}

/* ---- Devices ---- */

/* CUDA's ordinals of the usable devices. Our numbers count only these. */
static int ordinals[kMostDevices];
static int devices; /* written only by duo_cuda_count(), before any other function is called */

static CUcontext contexts[kMostDevices]; /* the primary ones, held for good; by our number */
static int some_device;                  /* one with a context, for what belongs to no device */

static cudaError_t context_of(int device, CUcontext *context)
{
    *context = __atomic_load_n(&contexts[device], __ATOMIC_ACQUIRE);
    if (*context != nullptr) return cudaSuccess;
    pthread_mutex_lock(&lock);
    CUresult result = CUDA_SUCCESS;
    if (contexts[device] == nullptr) {
        CUdevice handle;
        CUcontext made = nullptr;
        result = driver.device_get(&handle, ordinals[device]);
        if (result == CUDA_SUCCESS) result = driver.retain(&made, handle);
        if (result == CUDA_SUCCESS) {
            __atomic_store_n(&contexts[device], made, __ATOMIC_RELEASE);
            __atomic_store_n(&some_device, device, __ATOMIC_RELEASE);
        }
    }
    *context = contexts[device];
    pthread_mutex_unlock(&lock);
    return (cudaError_t)result;
}

duo_cuda_guard::duo_cuda_guard(int device)
{
    if (device < 0 || device >= devices) {
        status = duo_cuda_refuse("there is no such device");
        return;
    }
    CUcontext wanted = nullptr, current = nullptr;
    cudaError_t error = context_of(device, &wanted);
    if (error == cudaSuccess) error = (cudaError_t)driver.get_current(&current);
    if (error == cudaSuccess && current != wanted) {
        error = (cudaError_t)driver.push(wanted);
        pushed = error == cudaSuccess;
    }
    status = duo_cuda_status(error, "making the device current");
}

duo_cuda_guard::~duo_cuda_guard()
{
    CUcontext ours;
    if (pushed) (void)driver.pop(&ours);
}

int duo_cuda_some_device(void) { return __atomic_load_n(&some_device, __ATOMIC_ACQUIRE); }

int duo_cuda_ordinal(int device) { return ordinals[device]; }

/* A number about a device, asked without a context; 0 if it is not available. */
static int attribute(int ordinal, cudaDeviceAttr which)
{
    int value = 0;
    const cudaError_t error = cudaDeviceGetAttribute(&value, which, ordinal);
    duo_cuda_forget(error);
    return error == cudaSuccess ? value : 0;
}

int duo_cuda_attribute(int device, cudaDeviceAttr which)
{
    return attribute(ordinals[device], which);
}

/* Leaves out devices that cannot be used, and says so in the text. */
static int usable_devices(int found)
{
    int usable = 0;
    size_t length = 0;
    char text[kDuoCudaLine] = "";
    for (int ordinal = 0; ordinal < found && usable < kMostDevices; ordinal++) {
        const int major = attribute(ordinal, cudaDevAttrComputeCapabilityMajor);
        const int minor = attribute(ordinal, cudaDevAttrComputeCapabilityMinor);
        const bool forbidden =
            attribute(ordinal, cudaDevAttrComputeMode) == cudaComputeModeProhibited;
        if (!forbidden && 10 * major + minor >= kLeastCapability) {
            ordinals[usable++] = ordinal;
            continue;
        }
        if (length >= sizeof text) continue;
        char *const end = text + length;
        const size_t room = sizeof text - length;
        const char *const separator = length > 0 ? "; " : "";
        length +=
            (size_t)(forbidden ? snprintf(end, room, "%sdevice %d is in prohibited compute mode",
                                          separator, ordinal)
                               : snprintf(end, room,
                                          "%sdevice %d has compute capability %d.%d, too old: "
                                          "%d.%d is needed",
                                          separator, ordinal, major, minor, kLeastCapability / 10,
                                          kLeastCapability % 10));
    }
    (void)duo_cuda_refuse("%s", text);
    return usable;
}

duo_status duo_cuda_count(int *number)
{
    *number = devices = 0;
    if (!open_driver(0)) {
        (void)duo_cuda_refuse("no NVIDIA driver (libcuda.so.1)");
        return DUO_OK;
    }
    int found = 0;
    const cudaError_t error = cudaGetDeviceCount(&found);
    duo_cuda_forget(error);
    if (error == cudaSuccess) {
        *number = devices = usable_devices(found);
        if (found == 0) (void)duo_cuda_refuse("no CUDA device");
        return DUO_OK;
    }
    int driver_version = 0, runtime_version = 0;
    switch (error) {
    case cudaErrorNoDevice:
        (void)duo_cuda_refuse("no CUDA device (or CUDA_VISIBLE_DEVICES hides it)");
        break;
    case cudaErrorInsufficientDriver:
        duo_cuda_forget(cudaDriverGetVersion(&driver_version));
        duo_cuda_forget(cudaRuntimeGetVersion(&runtime_version));
        if (driver_version == 0)
            (void)duo_cuda_refuse("libcuda.so.1 is there, but no NVIDIA driver answers");
        else
            (void)duo_cuda_refuse(
                "the NVIDIA driver (CUDA %d.%d) is too old for this CUDA runtime (%d.%d)",
                driver_version / 1000, driver_version % 1000 / 10, runtime_version / 1000,
                runtime_version % 1000 / 10);
        break;
    default:
        (void)duo_cuda_status(error, "counting devices");
    }
    return DUO_OK;
}

/* A line of a file in the PCI device's folder in sysfs; false if there is none. */
static bool read_pci(int ordinal, const char *file, char *line, int size)
{
    char bus[32] = "", path[96];
    const cudaError_t error = cudaDeviceGetPCIBusId(bus, sizeof bus, ordinal);
    duo_cuda_forget(error);
    if (error != cudaSuccess) return false;
    for (char *c = bus; *c != '\0'; c++) *c = (char)tolower((unsigned char)*c);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", bus, file);
    FILE *const in = fopen(path, "re");
    if (in == nullptr) return false;
    const bool read = fgets(line, size, in) != nullptr;
    fclose(in);
    return read;
}

/* From "16.0 GT/s PCIe". Only the whole number is read, so that no locale matters. */
static int pcie_generation(int ordinal)
{
    char line[64];
    if (!read_pci(ordinal, "current_link_speed", line, sizeof line)) return 0;
    switch (atoi(line)) {
    case 2:
        return 1;
    case 5:
        return 2;
    case 8:
        return 3;
    case 16:
        return 4;
    case 32:
        return 5;
    case 64:
        return 6;
    default:
        return 0;
    }
}

static int pcie_width(int ordinal)
{
    char line[64];
    if (!read_pci(ordinal, "current_link_width", line, sizeof line)) return 0;
    const int width = atoi(line);
    return width >= 1 && width <= 32 ? width : 0;
}

duo_status duo_cuda_describe(int device, duo_device_info *info)
{
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    size_t free_bytes = 0, total_bytes = 0;
    duo_status status =
        duo_cuda_status(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    if (status != DUO_OK) return status;
    const int ordinal = ordinals[device];
    cudaDeviceProp properties;
    status =
        duo_cuda_status(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    if (status != DUO_OK) return status;

    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->capability_major = properties.major;
    info->capability_minor = properties.minor;
    info->multiprocessors = properties.multiProcessorCount;
    info->memory_bytes = total_bytes;
    info->memory_free_bytes = free_bytes;
    info->driver_version = 0;
    duo_cuda_forget(cudaDriverGetVersion(&info->driver_version));
    info->clock_khz = attribute(ordinal, cudaDevAttrClockRate);
    info->memory_clock_khz = attribute(ordinal, cudaDevAttrMemoryClockRate);
    info->memory_bus_bits = attribute(ordinal, cudaDevAttrGlobalMemoryBusWidth);
    info->pcie_generation = pcie_generation(ordinal);
    info->pcie_width = pcie_width(ordinal);
    return DUO_OK;
}

duo_status duo_cuda_classify(const void *address, duo_memory *memory)
{
    *memory = DUO_MEMORY_HOST;
    if (!driver_is_loaded()) return DUO_OK; /* there can be no device memory */
    unsigned type = 0, managed = 0;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *values[] = {&type, &managed};
    /* Fails before the driver is initialized; unknown addresses have type 0. */
    const CUresult result = driver.pointer_attributes(2, which, values, (CUdeviceptr)address);
    if (result != CUDA_SUCCESS || managed != 0) return DUO_OK; /* managed: the host may touch it */
    if (type == CU_MEMORYTYPE_DEVICE) *memory = DUO_MEMORY_DEVICE;
    if (type == CU_MEMORYTYPE_HOST) *memory = DUO_MEMORY_PINNED;
    return DUO_OK;
}

/* ---- Which devices reach each other's memory: CUDA's peer access ---- */

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

/* ---- Device memory, and pinned host memory ---- */

constexpr size_t kChunk = 16; /* kernels copy whole ones: the last may reach beyond an operand */

duo_status duo_cuda_allocate(int device, size_t bytes, void **address)
{
    *address = nullptr;
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    const size_t whole = bytes > SIZE_MAX - kChunk ? bytes : (bytes + kChunk - 1) / kChunk * kChunk;
    return duo_cuda_status(cudaMalloc(address, whole), "cudaMalloc");
}

duo_status duo_cuda_release(int device, void *address)
{
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaFree(address), "cudaFree");
}

duo_status duo_cuda_pin(int device, size_t bytes, void **address)
{
    *address = nullptr;
    const duo_cuda_guard current(device);
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(
        cudaHostAlloc(address, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
        "cudaHostAlloc");
}

duo_status duo_cuda_unpin(void *address)
{
    /* Portable memory belongs to no device; without a guard the runtime would make a context. */
    const duo_cuda_guard current(duo_cuda_some_device());
    if (current.status != DUO_OK) return current.status;
    return duo_cuda_status(cudaFreeHost(address), "cudaFreeHost");
}

/* In a stream of the thread's own: no stream that the program captures waits for that one. */
duo_status duo_cuda_wipe(int device, void *address, size_t bytes)
{
    const duo_cuda_guard current(device);
    duo_status status = current.status;
    if (status == DUO_OK)
        status = duo_cuda_status(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (status == DUO_OK)
        status = duo_cuda_status(cudaMemsetAsync(address, 0, bytes, cudaStreamPerThread),
                                 "cudaMemsetAsync");
    if (status == DUO_OK)
        status =
            duo_cuda_status(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
    return status;
}
