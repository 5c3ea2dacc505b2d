/*
 * backend.c - the simulated device behind the backend's table: devices and memory. Queues are in
 * backend_queue.c, backend_wait.c and backend_signal.c.
 */
#include "sim/backend.h"

#include "sim/memory.h"
#include "sim/state.h"
#include "sim/timing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static duo_status backend_count(int *count)
{
    pthread_mutex_lock(&sim_lock);
    sim.count[SIM_COUNT]++;
    if (sim.owner == 0) sim.owner = getpid();
    *count = sim.devices;
    duo_status status = DUO_OK;
    if (sim_told(SIM_COUNT, &status)) {
        *count = 0;
        sim_say("simulated driver: told to answer %d", (int)status);
    } else if (sim.devices == 0) {
        sim_say("simulated driver: no device");
    }
    return sim_leave(status);
}

static duo_status backend_describe(int device, duo_device_info *info)
{
    if (sim_forked()) return DUO_ERR_LOST;
    pthread_mutex_lock(&sim_lock);
    if (device < 0 || device >= sim.devices) {
        sim_violation("describe: device %d of %d", device, sim.devices);
        return sim_leave(DUO_ERR_DEVICE);
    }
    if (sim.lost[device]) return sim_leave(sim_answer_lost(device));
    const size_t size = info->size;
    *info = (duo_device_info){.size = size,
                              .name = "Simulated GPU",
                              .capability_major = 9,
                              .multiprocessors = 2,
                              .memory_bytes = sim.memory,
                              .memory_free_bytes = sim.memory - sim_used_bytes(device, false),
                              .driver_version = 13000,
                              .clock_khz = 1000000,
                              .memory_clock_khz = 2619000,
                              .memory_bus_bits = 5120};
    return sim_leave(DUO_OK);
}

static duo_status backend_load(int device)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    return sim_leave(sim_enter(SIM_LOAD, device, &go));
}

static duo_status backend_link(int device, int other, bool *direct)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    *direct = false;
    const duo_status status = sim_enter(SIM_LINK, device, &go);
    if (!go) return sim_leave(status);
    if (other < 0 || other >= sim.devices) {
        sim_violation("link: to device %d of %d", other, sim.devices);
        return sim_leave(DUO_ERR_DEVICE);
    }
    if (sim.lost[other]) return sim_leave(sim_answer_lost(other));
    *direct = other == device || sim.direct_links;
    sim.linked[device][other] = *direct;
    return sim_leave(DUO_OK);
}

static duo_status backend_allocate(int device, size_t bytes, void **address)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_ALLOCATE, device, &go);
    if (go && bytes == 0) {
        sim_violation("allocate: 0 bytes");
        status = DUO_ERR_DEVICE;
    } else if (go) {
        status = sim_take_memory(device, bytes, BLOCK_DEVICE, address);
    }
    return sim_leave(status);
}

static duo_status backend_release(int device, void *address)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_RELEASE, device, &go);
    if (!go) return sim_leave(status);
    while (!sim_drained(device)) pthread_cond_wait(&sim_changed, &sim_lock);
    sim_timing_waited(sim_timing_end(device));
    const int index = sim_find_block(address, BLOCK_DEVICE);
    if (index < 0 || sim.block[index].device != device) {
        sim_violation("release: %p is no live allocation of device %d", address, device);
        return sim_leave(DUO_ERR_DEVICE);
    }
    sim_drop_block(index);
    return sim_leave(sim.lost[device] ? sim_answer_lost(device) : DUO_OK);
}

static duo_status backend_pin(int device, size_t bytes, void **address)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_PIN, device, &go);
    if (!go) return sim_leave(status);
    const uint64_t used = sim_used_bytes(0, true);
    if (bytes == 0) {
        sim_violation("pin: 0 bytes");
        return sim_leave(DUO_ERR_DEVICE);
    }
    if (bytes > sim.pinned_memory || used > sim.pinned_memory - bytes) {
        sim_say("simulated device %d: cannot pin so much", device);
        return sim_leave(DUO_ERR_MEMORY);
    }
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (memory == NULL) return sim_leave(DUO_ERR_MEMORY);
    memset(memory, 0xff, bytes < SIM_POISON_BYTES ? bytes : SIM_POISON_BYTES);
    sim_add_block((uintptr_t)memory, bytes, device, BLOCK_PINNED);
    *address = memory;
    return sim_leave(DUO_OK);
}

static duo_status backend_unpin(void *address)
{
    if (sim_forked()) return DUO_ERR_LOST;
    pthread_mutex_lock(&sim_lock);
    sim.count[SIM_UNPIN]++;
    for (int d = 0; d < SIM_DEVICES && sim.wait_failed; d++)
        while (!sim_drained(d)) pthread_cond_wait(&sim_changed, &sim_lock);
    const int index = sim_find_block(address, BLOCK_PINNED);
    if (index < 0) {
        sim_violation("unpin: %p is not pinned", address);
        return sim_leave(DUO_ERR_DEVICE);
    }
    sim_drop_block(index);
    return sim_leave(DUO_OK);
}

static duo_status backend_wipe(int device, void *address, size_t bytes)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_WIPE, device, &go);
    if (!go) return sim_leave(status);
    while (!sim_drained(device)) pthread_cond_wait(&sim_changed, &sim_lock);
    sim_timing_waited(sim_timing_end(device));
    const uintptr_t low = (uintptr_t)address;
    if (sim.lost[device]) return sim_leave(sim_answer_lost(device));
    if (sim_block_around(low, low + bytes) == NULL)
        sim_violation("wipe: %p lies in no live memory", address);
    else
        memset(sim_behind(address), 0, bytes);
    return sim_leave(DUO_OK);
}

static duo_status backend_classify(const void *address, duo_memory *memory)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_CLASSIFY, 0, &go);
    if (!go) return sim_leave(status);
    const block *b = sim_block_around((uintptr_t)address, (uintptr_t)address + 1);
    *memory = b == NULL                 ? DUO_MEMORY_HOST
              : b->kind == BLOCK_PINNED ? DUO_MEMORY_PINNED
                                        : DUO_MEMORY_DEVICE;
    return sim_leave(DUO_OK);
}

const duo_backend *sim_backend(void)
{
    static const duo_backend backend = {
        .name = "simulated",
        .count = backend_count,
        .describe = backend_describe,
        .load = backend_load,
        .link = backend_link,
        .allocate = backend_allocate,
        .release = backend_release,
        .pin = backend_pin,
        .unpin = backend_unpin,
        .wipe = backend_wipe,
        .classify = backend_classify,
        .open = sim_backend_open,
        .close = sim_backend_close,
        .stream = sim_backend_stream,
        .capturing = sim_backend_capturing,
        .copy = sim_backend_copy,
        .copy_now = sim_backend_copy_now,
        .fill = sim_backend_fill,
        .launch = sim_backend_launch,
        .launch_batch = sim_backend_launch_batch,
        .packed_bytes = sim_backend_packed_bytes,
        .pack = sim_backend_pack,
        .tag = sim_backend_tag,
        .freivalds_multiply = sim_backend_freivalds_multiply,
        .freivalds_compare = sim_backend_freivalds_compare,
        .trim = sim_backend_trim,
        .mark = sim_backend_mark,
        .wait_mark = sim_backend_wait_mark,
        .passed = sim_backend_passed,
        .finish = sim_backend_finish,
        .idle = sim_backend_idle,
        .after = sim_backend_after,
        .after_mark = sim_backend_after_mark,
        .signal_open = sim_backend_signal_open,
        .signal_close = sim_backend_signal_close,
        .signal_set = sim_backend_signal_set,
        .signal_passed = sim_backend_signal_passed,
        .signal_wait = sim_backend_signal_wait,
        .after_signal = sim_backend_after_signal,
        .reserve = sim_backend_reserve,
        .share = sim_backend_share,
        .record_begin = sim_backend_record_begin,
        .record_end = sim_backend_record_end,
        .replay = sim_backend_replay,
        .forget = sim_backend_forget,
        .stamp = sim_backend_stamp,
        .stamp_seconds = sim_backend_stamp_seconds,
        .detail = sim_said,
    };
    return &backend;
}
