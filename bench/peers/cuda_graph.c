/* cuda_graph.c - a CUDA graph of recorded calls (gpu_peers.h) */
#define _GNU_SOURCE
#include "bench/peers/gpu_peers.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads' calls do not disturb it. */
enum { THREAD_LOCAL = 1 };

/* The driver's functions; they accept the runtime's streams. All return 0 on success. */
static struct {
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*instantiate)(void **executable, void *graph, unsigned long long flags);
    int (*launch)(void *executable, void *stream);
    int (*destroy)(void *graph);
    int (*destroy_executable)(void *executable);
} driver;

static bool find(void *library, void *function, const char *name)
{
    void *const address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* Makes the runtime's context current, as the driver's functions need one. Returns NULL, or the
 * reason of a failure. */
static const char *use_device(void *library, int device)
{
    int (*get)(int *handle, int number), (*retain)(void **context, int handle);
    int (*set_current)(void *context);
    int handle;
    void *context;
    if (!find(library, &get, "cuDeviceGet") ||
        !find(library, &retain, "cuDevicePrimaryCtxRetain") ||
        !find(library, &set_current, "cuCtxSetCurrent"))
        return "the driver lacks functions";
    if (get(&handle, device) != 0 || retain(&context, handle) != 0 || set_current(context) != 0)
        return "the driver refuses the device";
    return NULL;
}

static const char *open_driver(int device)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return "libcuda.so.1 was not found";
    if (!find(library, &driver.begin, "cuStreamBeginCapture_v2") ||
        !find(library, &driver.end, "cuStreamEndCapture") ||
        !find(library, &driver.instantiate, "cuGraphInstantiateWithFlags") ||
        !find(library, &driver.launch, "cuGraphLaunch") ||
        !find(library, &driver.destroy, "cuGraphDestroy") ||
        !find(library, &driver.destroy_executable, "cuGraphExecDestroy"))
        return "the driver lacks functions";
    return use_device(library, device);
}

const char *duo_peer_cuda_graph_begin(int device, void *stream)
{
    const char *const why = open_driver(device);
    if (why != NULL) return why;
    return driver.begin(stream, THREAD_LOCAL) == 0 ? NULL : "the stream cannot record";
}

const char *duo_peer_cuda_graph_end(void *stream, void **executable)
{
    void *graph = NULL;
    *executable = NULL;
    if (driver.end(stream, &graph) != 0 || graph == NULL) return "the record is void";
    const bool good = driver.instantiate(executable, graph, 0) == 0;
    (void)driver.destroy(graph);
    return good ? NULL : "the record cannot be instantiated";
}

bool duo_peer_cuda_graph_launch(void *executable, void *stream)
{
    return driver.launch(executable, stream) == 0;
}

void duo_peer_cuda_graph_close(void *executable)
{
    if (executable != NULL) (void)driver.destroy_executable(executable);
}
