/*
 * backend_none.c - the backend of a build without CUDA: no device, every request is refused.
 */
#include "gpu/backend/backend.h"

static duo_status count(int *number)
{
    *number = 0;
    return DUO_OK;
}

static duo_status describe(int device, duo_device_info *info)
{
    (void)device, (void)info;
    return DUO_ERR_DEVICE;
}

static duo_status load(int device)
{
    (void)device;
    return DUO_ERR_DEVICE;
}

static duo_status link_devices(int device, int other, bool *direct)
{
    (void)device, (void)other;
    *direct = false;
    return DUO_ERR_DEVICE;
}

static duo_status allocate(int device, size_t bytes, void **address)
{
    (void)device, (void)bytes;
    *address = NULL;
    return DUO_ERR_DEVICE;
}

static duo_status release(int device, void *address)
{
    (void)device, (void)address;
    return DUO_ERR_DEVICE;
}

static duo_status wipe(int device, void *address, size_t bytes)
{
    (void)device, (void)address, (void)bytes;
    return DUO_ERR_DEVICE;
}

static duo_status unpin(void *address)
{
    (void)address;
    return DUO_ERR_DEVICE;
}

static duo_status classify(const void *address, duo_memory *memory)
{
    (void)address;
    *memory = DUO_MEMORY_HOST;
    return DUO_OK;
}

static duo_status open_queue(int device, void *stream, duo_priority priority, duo_queue **queue)
{
    (void)device, (void)stream, (void)priority;
    *queue = NULL;
    return DUO_ERR_DEVICE;
}

static duo_status refuse(duo_queue *queue)
{
    (void)queue;
    return DUO_ERR_DEVICE;
}

static void *stream_of(duo_queue *queue)
{
    (void)queue;
    return NULL;
}

static duo_status capturing(int device, void *stream, bool *captured)
{
    (void)device, (void)stream;
    *captured = false;
    return DUO_OK;
}

static duo_status copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                       size_t src_pitch, size_t width, size_t height)
{
    (void)queue, (void)dst, (void)dst_pitch, (void)src, (void)src_pitch, (void)width, (void)height;
    return DUO_ERR_DEVICE;
}

static duo_status fill(duo_queue *queue, void *dst, size_t pitch, unsigned char value, size_t width,
                       size_t height)
{
    (void)queue, (void)dst, (void)pitch, (void)value, (void)width, (void)height;
    return DUO_ERR_DEVICE;
}

static duo_status launch(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                         uint64_t *pinned_result, uint32_t ticket)
{
    (void)queue, (void)algorithm, (void)call, (void)pinned_result, (void)ticket;
    return DUO_ERR_DEVICE;
}

static duo_status refuse_mark(duo_queue *queue, int mark)
{
    (void)queue, (void)mark;
    return DUO_ERR_DEVICE;
}

static duo_status passed(duo_queue *queue, int mark, bool *done)
{
    (void)queue, (void)mark;
    *done = false;
    return DUO_ERR_DEVICE;
}

static duo_status idle(duo_queue *queue, bool *done)
{
    (void)queue;
    *done = true;
    return DUO_ERR_DEVICE;
}

static duo_status after(duo_queue *later, duo_queue *earlier)
{
    (void)later, (void)earlier;
    return DUO_ERR_DEVICE;
}

static duo_status after_mark(duo_queue *later, duo_queue *earlier, int mark)
{
    (void)later, (void)earlier, (void)mark;
    return DUO_ERR_DEVICE;
}

static duo_status signal_open(int device, duo_signal **signal)
{
    (void)device;
    *signal = NULL;
    return DUO_ERR_DEVICE;
}

static void signal_close(duo_signal *signal) { (void)signal; }

static duo_status signal_set(duo_signal *signal, duo_queue *queue)
{
    (void)signal, (void)queue;
    return DUO_ERR_DEVICE;
}

static duo_status signal_passed(duo_signal *signal, bool *done)
{
    (void)signal;
    *done = true;
    return DUO_ERR_DEVICE;
}

static duo_status signal_wait(duo_signal *signal)
{
    (void)signal;
    return DUO_ERR_DEVICE;
}

static duo_status after_signal(duo_queue *later, duo_signal *signal)
{
    return signal_set(signal, later);
}

static duo_status launch_batch(duo_queue *queue, duo_algorithm_id algorithm, const duo_group *group,
                               int64_t groups)
{
    (void)queue, (void)algorithm, (void)group, (void)groups;
    return DUO_ERR_DEVICE;
}

static size_t packed_bytes(duo_algorithm_id algorithm, const duo_call *call, int i)
{
    (void)algorithm, (void)call, (void)i;
    return 0;
}

static duo_status pack(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call, int i,
                       void *memory)
{
    (void)queue, (void)algorithm, (void)call, (void)i, (void)memory;
    return DUO_ERR_DEVICE;
}

static duo_status tag(duo_queue *queue, const void *memory, size_t blocks, const void *key,
                      void *tags)
{
    (void)queue, (void)memory, (void)blocks, (void)key, (void)tags;
    return DUO_ERR_DEVICE;
}

static duo_status freivalds_multiply(duo_queue *queue, const duo_freivalds_product *product)
{
    (void)queue, (void)product;
    return DUO_ERR_DEVICE;
}

static duo_status freivalds_compare(duo_queue *queue, const duo_freivalds_rows *rows,
                                    uint32_t *wrong, uint32_t number)
{
    (void)queue, (void)rows, (void)wrong, (void)number;
    return DUO_ERR_DEVICE;
}

static duo_status stamp_seconds(duo_queue *queue, int number, duo_queue *since, int since_number,
                                double *seconds)
{
    (void)queue, (void)number, (void)since, (void)since_number;
    *seconds = 0.0;
    return DUO_ERR_DEVICE;
}

static duo_status reserve(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call)
{
    (void)queue, (void)algorithm, (void)call;
    return DUO_ERR_DEVICE;
}

static void share(duo_queue *queue, double part) { (void)queue, (void)part; }

static duo_status record_end(duo_queue *queue, duo_recorded **recorded)
{
    (void)queue, (void)recorded;
    return DUO_ERR_DEVICE;
}

static duo_status replay(duo_queue *queue, duo_recorded *recorded)
{
    (void)queue, (void)recorded;
    return DUO_ERR_DEVICE;
}

static void forget(duo_recorded *recorded) { (void)recorded; }

static const char absent[] = "built without CUDA";

static const char *detail(void) { return absent; }

const duo_backend *duo_backend_default(void)
{
    static const duo_backend backend = {
        .name = "none",
        .absent = absent,
        .count = count,
        .describe = describe,
        .load = load,
        .link = link_devices,
        .allocate = allocate,
        .release = release,
        .pin = allocate,
        .unpin = unpin,
        .wipe = wipe,
        .classify = classify,
        .open = open_queue,
        .close = refuse,
        .stream = stream_of,
        .capturing = capturing,
        .copy = copy,
        .copy_now = copy,
        .fill = fill,
        .launch = launch,
        .launch_batch = launch_batch,
        .packed_bytes = packed_bytes,
        .pack = pack,
        .tag = tag,
        .freivalds_multiply = freivalds_multiply,
        .freivalds_compare = freivalds_compare,
        .trim = refuse,
        .mark = refuse_mark,
        .wait_mark = refuse_mark,
        .passed = passed,
        .finish = refuse,
        .idle = idle,
        .after = after,
        .after_mark = after_mark,
        .signal_open = signal_open,
        .signal_close = signal_close,
        .signal_set = signal_set,
        .signal_passed = signal_passed,
        .signal_wait = signal_wait,
        .after_signal = after_signal,
        .reserve = reserve,
        .share = share,
        .record_begin = refuse,
        .record_end = record_end,
        .replay = replay,
        .forget = forget,
        .stamp = refuse_mark,
        .stamp_seconds = stamp_seconds,
        .detail = detail,
    };
    return &backend;
}
