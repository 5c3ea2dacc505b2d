/*
 * device_cuda.cu - the door to CUDA.
 *
 * The runtime is linked statically, the driver (libcuda.so.1) is opened where it is there. The
 * caller's current context is kept by pushing ours on top of it and popping it again, at the level
 * of the driver: cudaSetDevice would leave a trace, and restoring a device that the caller never
 * touched would even make a context there. Errors are taken from what each function returns, and
 * cudaGetLastError only takes away what such an error left behind, so that an error which the
 * caller has pending survives all that succeeds here.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../environment.h"
#include "device.h"
#include "kernels.h"

constexpr int kMostDevices = 64;
constexpr int kLeastCapability = 75; /* 10 * major + minor: Turing, the oldest one compiled for */

/* ---- The text of the last failure ---- */

static thread_local char failure[192]; /* thread-local storage is scarce: one line */

static const char *detail(void) { return failure; }

/* ---- Errors ---- */

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

/* Takes away the pending error that a failed call of ours left, and no other. */
static void forget(cudaError_t error)
{
    if (error != cudaSuccess && cudaPeekAtLastError() == error) (void)cudaGetLastError();
}

static duo_status status_of(cudaError_t error, const char *function)
{
    if (error == cudaSuccess) return DUO_OK;
    forget(error);
    snprintf(failure, sizeof failure, "%s: %s", function, cudaGetErrorString(error));
    if (error == cudaErrorMemoryAllocation) return DUO_ERR_MEMORY;
    return is_lost(error) ? DUO_ERR_LOST : DUO_ERR_DEVICE;
}

static duo_status refuse(const char *why)
{
    snprintf(failure, sizeof failure, "%s", why);
    return DUO_ERR_DEVICE;
}

/* ---- The driver ---- */

/* Its functions return CUresult, whose values are those of cudaError_t. */
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

/* Is the driver there? `flags`: RTLD_NOLOAD to see only one that someone else has loaded. */
static bool open_driver(int flags)
{
    if (__atomic_load_n(&driver_ready, __ATOMIC_ACQUIRE)) return true;
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | flags);
    if (library == nullptr) return false;
    driver_functions found;
    /* The names with the version that cuda.h declares the functions by. */
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
    return 1; /* the first object tells it all */
}

/*
 * Has the program loaded the driver itself? To look for a library that is not loaded takes 50 us, in
 * all the folders where it could be: only where something was loaded since there was none.
 */
static bool driver_is_loaded()
{
    static unsigned long long loads_without; /* that the process had made when it was not there */
    unsigned long long loads = 0;
    if (__atomic_load_n(&driver_ready, __ATOMIC_ACQUIRE)) return true;
    (void)dl_iterate_phdr(note_loads, &loads);
    if (loads == __atomic_load_n(&loads_without, __ATOMIC_RELAXED)) return false;
    if (open_driver(RTLD_NOLOAD)) return true;
    __atomic_store_n(&loads_without, loads, __ATOMIC_RELAXED);
    return false;
}

/* ---- Devices ---- */

/* CUDA's ordinals of the usable devices. Those left out do not count. */
static int ordinals[kMostDevices];
static int devices; /* written by count() alone, before any other function is called */

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

/* Makes a device's context current for the life of the object. Every function that needs one stands
 * behind a guard, and does nothing more if the guard failed. */
class guard
{
  public:
    explicit guard(int device)
    {
        if (device < 0 || device >= devices) {
            status = refuse("there is no such device");
            return;
        }
        CUcontext wanted = nullptr, current = nullptr;
        cudaError_t error = context_of(device, &wanted);
        if (error == cudaSuccess) error = (cudaError_t)driver.get_current(&current);
        if (error == cudaSuccess && current != wanted) {
            error = (cudaError_t)driver.push(wanted);
            pushed = error == cudaSuccess;
        }
        status = status_of(error, "making the device current");
    }
    ~guard()
    {
        CUcontext ours;
        if (pushed) (void)driver.pop(&ours);
    }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;

    duo_status status;

  private:
    bool pushed = false;
};

/* One number of a device that needs no context; 0 where it cannot be had. */
static int attribute(int ordinal, cudaDeviceAttr which)
{
    int value = 0;
    const cudaError_t error = cudaDeviceGetAttribute(&value, which, ordinal);
    forget(error);
    return error == cudaSuccess ? value : 0;
}

/* Leaves out what cannot be used, and says so in the text. */
static int usable_devices(int found)
{
    int usable = 0;
    size_t length = 0;
    failure[0] = '\0';
    for (int ordinal = 0; ordinal < found && usable < kMostDevices; ordinal++) {
        const int major = attribute(ordinal, cudaDevAttrComputeCapabilityMajor);
        const int minor = attribute(ordinal, cudaDevAttrComputeCapabilityMinor);
        const bool forbidden =
            attribute(ordinal, cudaDevAttrComputeMode) == cudaComputeModeProhibited;
        if (!forbidden && 10 * major + minor >= kLeastCapability) {
            ordinals[usable++] = ordinal;
            continue;
        }
        if (length >= sizeof failure) continue;
        char *const text = failure + length;
        const size_t room = sizeof failure - length;
        const char *const separator = length > 0 ? "; " : "";
        length +=
            (size_t)(forbidden ? snprintf(text, room, "%sdevice %d is in prohibited compute mode",
                                          separator, ordinal)
                               : snprintf(text, room,
                                          "%sdevice %d has compute capability %d.%d, too old: "
                                          "%d.%d is needed",
                                          separator, ordinal, major, minor, kLeastCapability / 10,
                                          kLeastCapability % 10));
    }
    return usable;
}

static duo_status count(int *number)
{
    *number = devices = 0;
    if (!open_driver(0)) {
        (void)refuse("no NVIDIA driver (libcuda.so.1)");
        return DUO_OK;
    }
    int found = 0;
    const cudaError_t error = cudaGetDeviceCount(&found);
    forget(error);
    if (error == cudaSuccess) {
        *number = devices = usable_devices(found);
        if (found == 0) (void)refuse("no CUDA device");
        return DUO_OK;
    }
    int driver_version = 0, runtime_version = 0;
    switch (error) {
    case cudaErrorNoDevice:
        (void)refuse("no CUDA device (or CUDA_VISIBLE_DEVICES hides it)");
        break;
    case cudaErrorInsufficientDriver:
        forget(cudaDriverGetVersion(&driver_version));
        forget(cudaRuntimeGetVersion(&runtime_version));
        if (driver_version == 0)
            (void)refuse("libcuda.so.1 is there, but no NVIDIA driver answers");
        else
            snprintf(failure, sizeof failure,
                     "the NVIDIA driver (CUDA %d.%d) is too old for this CUDA runtime (%d.%d)",
                     driver_version / 1000, driver_version % 1000 / 10, runtime_version / 1000,
                     runtime_version % 1000 / 10);
        break;
    default:
        (void)status_of(error, "counting devices");
    }
    return DUO_OK;
}

/* A line of the PCI device's folder in sysfs; false where there is none. */
static bool read_pci(int ordinal, const char *file, char *line, int size)
{
    char bus[32] = "", path[96];
    const cudaError_t error = cudaDeviceGetPCIBusId(bus, sizeof bus, ordinal);
    forget(error);
    if (error != cudaSuccess) return false;
    for (char *c = bus; *c != '\0'; c++) *c = (char)tolower((unsigned char)*c);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", bus, file);
    FILE *const in = fopen(path, "re");
    if (in == nullptr) return false;
    const bool read = fgets(line, size, in) != nullptr;
    fclose(in);
    return read;
}

/* From "16.0 GT/s PCIe". Whole numbers decide, so that no locale matters. */
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

static duo_status describe(int device, duo_device_info *info)
{
    const guard current(device);
    if (current.status != DUO_OK) return current.status;
    size_t free_bytes = 0, total_bytes = 0;
    duo_status status = status_of(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    if (status != DUO_OK) return status;
    const int ordinal = ordinals[device];
    cudaDeviceProp properties;
    status = status_of(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    if (status != DUO_OK) return status;

    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->capability_major = properties.major;
    info->capability_minor = properties.minor;
    info->multiprocessors = properties.multiProcessorCount;
    info->memory_bytes = total_bytes;
    info->memory_free_bytes = free_bytes;
    info->driver_version = 0;
    forget(cudaDriverGetVersion(&info->driver_version));
    info->clock_khz = attribute(ordinal, cudaDevAttrClockRate);
    info->memory_clock_khz = attribute(ordinal, cudaDevAttrMemoryClockRate);
    info->memory_bus_bits = attribute(ordinal, cudaDevAttrGlobalMemoryBusWidth);
    info->pcie_generation = pcie_generation(ordinal);
    info->pcie_width = pcie_width(ordinal);
    return DUO_OK;
}

/* ---- Memory ---- */

static duo_status allocate(int device, size_t bytes, void **address)
{
    *address = nullptr;
    const guard current(device);
    if (current.status != DUO_OK) return current.status;
    return status_of(cudaMalloc(address, bytes), "cudaMalloc");
}

static duo_status release(int device, void *address)
{
    const guard current(device);
    if (current.status != DUO_OK) return current.status;
    return status_of(cudaFree(address), "cudaFree");
}

static duo_status pin(int device, size_t bytes, void **address)
{
    *address = nullptr;
    const guard current(device);
    if (current.status != DUO_OK) return current.status;
    return status_of(cudaHostAlloc(address, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
                     "cudaHostAlloc");
}

static duo_status unpin(void *address)
{
    /* Portable memory belongs to no device; without a guard the runtime would make a context. */
    const guard current(__atomic_load_n(&some_device, __ATOMIC_ACQUIRE));
    if (current.status != DUO_OK) return current.status;
    return status_of(cudaFreeHost(address), "cudaFreeHost");
}

static duo_status classify(const void *address, duo_memory *memory)
{
    *memory = DUO_MEMORY_HOST;
    if (!driver_is_loaded()) return DUO_OK; /* nobody can have device memory */
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

/* ---- Rows ---- */

struct gpu_row {
    duo_row_id id;
    const char *name;
    int (*launch)(const duo_call *call, const duo_launch *how);
    int (*load)(void);
    /* Bytes of workspace that it would like; how->workspace is not there yet. NULL: needs none. */
    size_t (*workspace)(const duo_call *call, const duo_launch *how);
    /* NULL: reads operands as they are. */
    size_t (*form_bytes)(const duo_call *call, int i);
    int (*form)(const duo_call *call, int i, void *form, const duo_launch *how);
};

#define GPU_ROW(name)                                                                              \
    {                                                                                              \
        DUO_ROW_##name, #name, duo_##name, duo_##name##_load, nullptr, nullptr, nullptr            \
    }
#define GPU_ROW_WITH_WORKSPACE(name)                                                               \
    {                                                                                              \
        DUO_ROW_##name, #name, duo_##name, duo_##name##_load, duo_##name##_workspace, nullptr,     \
            nullptr                                                                                \
    }
#define GPU_ROW_WITH_FORMS(name)                                                                   \
    {                                                                                              \
        DUO_ROW_##name, #name, duo_##name, duo_##name##_load, duo_##name##_workspace,              \
            duo_##name##_form_bytes, duo_##name##_form                                             \
    }
static const gpu_row rows[] = {
    GPU_ROW_WITH_WORKSPACE(sgemm_gpu_skinny),
    GPU_ROW_WITH_FORMS(sgemm_gpu_fp16x3),
    GPU_ROW_WITH_FORMS(sgemm_gpu_bf16x6),
    GPU_ROW_WITH_FORMS(sgemm_gpu_fp16x1),
    GPU_ROW_WITH_WORKSPACE(sgemm_gpu_mma),
    GPU_ROW_WITH_WORKSPACE(sgemm_gpu_ffma),
    GPU_ROW(sgemm_gpu_tiled),
    GPU_ROW(ssum_gpu_shuffle),
    GPU_ROW(sasum_gpu_shuffle),
    GPU_ROW(sdot_gpu_shuffle),
    GPU_ROW(sgemm_gpu_naive),
    GPU_ROW(ssum_gpu_float64),
    GPU_ROW(sasum_gpu_float64),
    GPU_ROW(sdot_gpu_float64),
    GPU_ROW_WITH_WORKSPACE(sgemm_gpu_f64),
};
static_assert(sizeof rows / sizeof rows[0] <= 32, "a queue has a bit for each");
#undef GPU_ROW_WITH_FORMS
#undef GPU_ROW_WITH_WORKSPACE
#undef GPU_ROW

static duo_status load(int device)
{
    const guard current(device);
    duo_status status = current.status;
    for (const gpu_row &row : rows)
        if (status == DUO_OK) status = status_of((cudaError_t)row.load(), row.name);
    return status;
}

/* ---- Queues ---- */

struct duo_queue {
    int device;
    bool own_stream;
    cudaStream_t stream;
    cudaEvent_t marks[DUO_MARKS];
    cudaEvent_t behind; /* marks the place in another queue that this one follows */
    void *scratch;      /* the reductions' partial sums, then their counter */
    uint32_t loaded;    /* a bit for each of rows[] that this queue has launched before */
    char *workspace;    /* of the rows that want one; grows */
    size_t workspace_bytes;
    size_t workspace_refused; /* this much there was not when it was last asked for; 0: never */
    int multiprocessors, capability, cache_bytes;
};

constexpr size_t kPartialsBytes = DUO_PARTIALS * sizeof(double);
constexpr size_t kScratchBytes = kPartialsBytes + 256;

/* ---- Workspace ---- */

static duo_status give_workspace_back(duo_queue *queue)
{
    if (queue->workspace == nullptr) return DUO_OK;
    char *const address = queue->workspace;
    const size_t bytes = queue->workspace_bytes;
    queue->workspace = nullptr;
    queue->workspace_bytes = queue->workspace_refused = 0;
    return duo_device_release(queue->device, address, bytes); /* waits for the device */
}

/*
 * Makes the workspace as large as wanted, if DUOBLAS_WORKSPACE and the device's memory allow; else
 * as large as they do, down to kLeastWorkspace. A row that cannot work with what there is says so.
 */
constexpr size_t kLeastWorkspace = (size_t)1 << 20;
constexpr size_t kWorkspaceUnit = (size_t)2 << 20;

static void grow_workspace(duo_queue *queue, size_t wanted)
{
    const double limit = duo_environment_get()->workspace_bytes;
    wanted = (wanted + kWorkspaceUnit - 1) / kWorkspaceUnit * kWorkspaceUnit;
    if ((double)wanted > limit) wanted = (size_t)limit;
    if (wanted <= queue->workspace_bytes) return;
    if (queue->workspace_refused > 0 && wanted >= queue->workspace_refused &&
        queue->workspace != nullptr)
        return;
    (void)give_workspace_back(queue);
    for (; wanted >= kLeastWorkspace; wanted /= 2) {
        void *address;
        if (duo_device_allocate(queue->device, wanted, &address) != DUO_OK) {
            queue->workspace_refused = wanted;
            continue;
        }
        queue->workspace = (char *)address;
        queue->workspace_bytes = wanted;
        return;
    }
}

static duo_status close_queue(duo_queue *queue)
{
    const guard current(queue->device);
    duo_status status = current.status;
    if (status == DUO_OK) {
        /* On a lost device each of these fails at once. */
        status = status_of(cudaStreamSynchronize(queue->stream), "cudaStreamSynchronize");
        for (cudaEvent_t mark : queue->marks)
            if (mark != nullptr) forget(cudaEventDestroy(mark));
        if (queue->behind != nullptr) forget(cudaEventDestroy(queue->behind));
        if (queue->scratch != nullptr) forget(cudaFree(queue->scratch));
        (void)give_workspace_back(queue);
        if (queue->own_stream) forget(cudaStreamDestroy(queue->stream));
    }
    free(queue);
    return status;
}

static duo_status open_queue(int device, void *stream, duo_queue **opened)
{
    *opened = nullptr;
    const guard current(device);
    if (current.status != DUO_OK) return current.status;
    duo_queue *const queue = (duo_queue *)calloc(1, sizeof *queue);
    if (queue == nullptr) {
        (void)refuse("out of host memory");
        return DUO_ERR_MEMORY;
    }
    queue->device = device;
    queue->stream = (cudaStream_t)stream;
    queue->multiprocessors = attribute(ordinals[device], cudaDevAttrMultiProcessorCount);
    queue->capability = 10 * attribute(ordinals[device], cudaDevAttrComputeCapabilityMajor) +
                        attribute(ordinals[device], cudaDevAttrComputeCapabilityMinor);
    queue->cache_bytes = attribute(ordinals[device], cudaDevAttrL2CacheSize);
    duo_status status = DUO_OK;
    if (stream == nullptr) {
        status = status_of(cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking),
                           "cudaStreamCreate");
        if (status != DUO_OK) { /* closing would wait for the default stream */
            free(queue);
            return status;
        }
        queue->own_stream = true;
    }
    for (cudaEvent_t &mark : queue->marks)
        if (status == DUO_OK)
            status = status_of(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming),
                               "cudaEventCreate");
    if (status == DUO_OK)
        status = status_of(cudaEventCreateWithFlags(&queue->behind, cudaEventDisableTiming),
                           "cudaEventCreate");
    if (status == DUO_OK)
        status = status_of(cudaMalloc(&queue->scratch, kScratchBytes), "cudaMalloc");
    /* In the stream itself, so that it precedes every kernel; a foreign stream fails here. */
    if (status == DUO_OK)
        status = status_of(cudaMemsetAsync(queue->scratch, 0, kScratchBytes, queue->stream),
                           "cudaMemsetAsync");
    if (status != DUO_OK) {
        char why[sizeof failure];
        memcpy(why, failure, sizeof why);
        (void)close_queue(queue);
        memcpy(failure, why, sizeof why);
        return status;
    }
    *opened = queue;
    return DUO_OK;
}

static void *stream_of(duo_queue *queue) { return queue->stream; }

static duo_status copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                       size_t src_pitch, size_t width, size_t height)
{
    constexpr size_t kLargestPitch = INT32_MAX; /* of a two-dimensional copy */
    if (width == 0 || height == 0) return DUO_OK;
    const guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    if (height == 1 || (dst_pitch == width && src_pitch == width))
        return status_of(
            cudaMemcpyAsync(dst, src, width * height, cudaMemcpyDefault, queue->stream),
            "cudaMemcpyAsync");
    if (width <= dst_pitch && width <= src_pitch && dst_pitch <= kLargestPitch &&
        src_pitch <= kLargestPitch)
        return status_of(cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height,
                                           cudaMemcpyDefault, queue->stream),
                         "cudaMemcpy2DAsync");
    /* Runs more than 2 GiB apart are few. */
    for (size_t run = 0; run < height; run++) {
        const duo_status status = status_of(
            cudaMemcpyAsync((char *)dst + run * dst_pitch, (const char *)src + run * src_pitch,
                            width, cudaMemcpyDefault, queue->stream),
            "cudaMemcpyAsync");
        if (status != DUO_OK) return status;
    }
    return DUO_OK;
}

/* NULL: no GPU row has this number. */
static const gpu_row *row_of(duo_row_id id)
{
    for (const gpu_row &row : rows)
        if (row.id == id) return &row;
    return nullptr;
}

/* Loads the row's kernels if the queue has not launched any of them yet. */
static duo_status load_row(duo_queue *queue, const gpu_row *row)
{
    const uint32_t bit = 1u << (row - rows);
    if ((queue->loaded & bit) != 0) return DUO_OK;
    const duo_status status = status_of((cudaError_t)row->load(), row->name);
    if (status == DUO_OK) queue->loaded |= bit;
    return status;
}

static duo_launch launch_on(const duo_queue *queue)
{
    duo_launch how = {};
    how.stream = queue->stream;
    how.multiprocessors = queue->multiprocessors;
    how.capability = queue->capability;
    how.cache_bytes = queue->cache_bytes;
    how.partials = (double *)queue->scratch;
    how.counter = (unsigned *)((char *)queue->scratch + kPartialsBytes);
    return how;
}

static duo_status launch(duo_queue *queue, duo_row_id id, const duo_call *call, uint64_t *slot,
                         uint32_t ticket)
{
    const guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    const gpu_row *const row = row_of(id);
    if (row == nullptr) return refuse("no GPU row has this number");
    const duo_status status = load_row(queue, row);
    if (status != DUO_OK) return status;
    duo_launch how = launch_on(queue);
    how.slot = slot;
    how.ticket = ticket;
    if (row->workspace != nullptr) {
        const size_t wanted = row->workspace(call, &how);
        if (wanted > 0) grow_workspace(queue, wanted);
        how.workspace = queue->workspace;
        how.workspace_bytes = wanted < queue->workspace_bytes ? wanted : queue->workspace_bytes;
    }
    return status_of((cudaError_t)row->launch(call, &how), row->name);
}

static size_t form_bytes(duo_row_id id, const duo_call *call, int i)
{
    const gpu_row *const row = row_of(id);
    return row != nullptr && row->form_bytes != nullptr ? row->form_bytes(call, i) : 0;
}

static duo_status form(duo_queue *queue, duo_row_id id, const duo_call *call, int i, void *memory)
{
    const guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    const gpu_row *const row = row_of(id);
    if (row == nullptr || row->form == nullptr) return refuse("no row with forms has this number");
    const duo_status status = load_row(queue, row);
    if (status != DUO_OK) return status;
    const duo_launch how = launch_on(queue);
    return status_of((cudaError_t)row->form(call, i, memory, &how), row->name);
}

static duo_status trim(duo_queue *queue)
{
    const guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return give_workspace_back(queue);
}

static duo_status mark(duo_queue *queue, int index)
{
    const guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return status_of(cudaEventRecord(queue->marks[index], queue->stream), "cudaEventRecord");
}

static duo_status wait_mark(duo_queue *queue, int index)
{
    const guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return status_of(cudaEventSynchronize(queue->marks[index]), "cudaEventSynchronize");
}

static duo_status finish(duo_queue *queue)
{
    const guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    return status_of(cudaStreamSynchronize(queue->stream), "cudaStreamSynchronize");
}

static duo_status idle(duo_queue *queue, bool *done)
{
    *done = false;
    const guard current(queue->device);
    if (current.status != DUO_OK) return current.status;
    const cudaError_t error = cudaStreamQuery(queue->stream);
    *done = error == cudaSuccess;
    if (error == cudaErrorNotReady) { /* an answer, not a failure, but some versions note it */
        forget(error);
        return DUO_OK;
    }
    return status_of(error, "cudaStreamQuery");
}

/* Only the later queue's event is touched, and recording into the earlier stream is safe beside
 * anything that its own thread queues. */
static duo_status after(duo_queue *later, duo_queue *earlier)
{
    if (later == earlier) return DUO_OK;
    cudaEvent_t here = later->behind;
    const bool across = later->device != earlier->device; /* an event belongs to its device */
    duo_status status;
    {
        const guard current(earlier->device);
        status = current.status;
        if (status == DUO_OK && across)
            status = status_of(cudaEventCreateWithFlags(&here, cudaEventDisableTiming),
                               "cudaEventCreate");
        if (status != DUO_OK) return status;
        status = status_of(cudaEventRecord(here, earlier->stream), "cudaEventRecord");
    }
    {
        const guard current(later->device);
        if (status == DUO_OK) status = current.status;
        if (status == DUO_OK)
            status = status_of(cudaStreamWaitEvent(later->stream, here, 0), "cudaStreamWaitEvent");
    }
    if (across) forget(cudaEventDestroy(here)); /* what waits for it keeps it */
    return status;
}

/* ---- The door ---- */

extern "C" const duo_door *duo_door_default(void)
{
    static const duo_door door = {
        "cuda",   count,      describe,    load,      allocate, release, pin,        unpin,
        classify, open_queue, close_queue, stream_of, copy,     launch,  form_bytes, form,
        trim,     mark,       wait_mark,   finish,    idle,     after,   detail,
    };
    return &door;
}
