/*
 * backend_cuda.cu - the backend to CUDA, a table of functions.
 *
 * The runtime is linked statically. Devices, their contexts and memory: cuda_devices.cu; queues and
 * signals: cuda_queue.cu; recorded work: cuda_record.cu; algorithms: cuda_algorithms.cu; the
 * meaning of errors: cuda_error.cu.
 */
#include "gpu/backend/cuda.cuh"

extern "C" const duo_backend *duo_backend_default(void)
{
    static const duo_backend backend = {
        .name = "cuda",
        .absent = nullptr,
        .count = duo_cuda_count,
        .describe = duo_cuda_describe,
        .load = duo_cuda_load,
        .link = duo_cuda_link,
        .allocate = duo_cuda_allocate,
        .release = duo_cuda_release,
        .pin = duo_cuda_pin,
        .unpin = duo_cuda_unpin,
        .wipe = duo_cuda_wipe,
        .classify = duo_cuda_classify,
        .open = duo_cuda_open,
        .close = duo_cuda_close,
        .stream = duo_cuda_stream,
        .capturing = duo_cuda_capturing,
        .copy = duo_cuda_copy,
        .copy_now = duo_cuda_copy_now,
        .fill = duo_cuda_fill,
        .launch = duo_cuda_launch,
        .launch_batch = duo_cuda_launch_batch,
        .packed_bytes = duo_cuda_packed_bytes,
        .pack = duo_cuda_pack,
        .tag = duo_cuda_tag,
        .freivalds_multiply = duo_cuda_freivalds_multiply,
        .freivalds_compare = duo_cuda_freivalds_compare,
        .trim = duo_cuda_trim,
        .mark = duo_cuda_mark,
        .wait_mark = duo_cuda_wait_mark,
        .passed = duo_cuda_passed,
        .finish = duo_cuda_finish,
        .idle = duo_cuda_idle,
        .after = duo_cuda_after,
        .after_mark = duo_cuda_after_mark,
        .signal_open = duo_cuda_signal_open,
        .signal_close = duo_cuda_signal_close,
        .signal_set = duo_cuda_signal_set,
        .signal_passed = duo_cuda_signal_passed,
        .signal_wait = duo_cuda_signal_wait,
        .after_signal = duo_cuda_after_signal,
        .reserve = duo_cuda_reserve,
        .share = duo_cuda_share,
        .record_begin = duo_cuda_record_begin,
        .record_end = duo_cuda_record_end,
        .replay = duo_cuda_replay,
        .forget = duo_cuda_record_forget,
        .stamp = duo_cuda_stamp,
        .stamp_seconds = duo_cuda_stamp_seconds,
        .detail = duo_cuda_detail,
    };
    return &backend;
}
