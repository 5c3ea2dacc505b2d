/* control.c - controls and counters of the simulated device; see sim.h. */
#include "sim/sim.h"

#include "sim/memory.h"
#include "sim/state.h"
#include "sim/timing.h"

#include <string.h>
#include <unistd.h>

void sim_reset(void)
{
    pthread_mutex_lock(&sim_lock);
    sim.hold = false;
    pthread_cond_broadcast(&sim_changed);
    for (int d = 0; d < SIM_DEVICES; d++)
        while (!sim_drained(d)) pthread_cond_wait(&sim_changed, &sim_lock);
    sim.devices = 1;
    memset(sim.lost, 0, sizeof sim.lost);
    sim.memory = (uint64_t)1 << 30;
    sim.pinned_memory = SIM_UNLIMITED;
    sim.direct_links = true;
    sim.delay_microseconds = 0;
    memset(sim.order, 0, sizeof sim.order);
    sim.err_nth = 0;
    sim.async_nth = 0;
    memset(sim.count, 0, sizeof sim.count);
    sim.uploaded = sim.downloaded = 0;
    sim.last_algorithm = DUO_ALGORITHMS;
    sim.violations = 0;
    sim.wait_failed = false;
    sim.count_unwiped = false;
    sim.unwiped = 0;
    sim.opened = 0;
    memset(sim.linked, 0, sizeof sim.linked);
    sim_timing_reset();
    sim_log_stop();
    pthread_mutex_unlock(&sim_lock);
}

void sim_set_devices(int count)
{
    pthread_mutex_lock(&sim_lock);
    sim.devices = count < SIM_DEVICES ? count : SIM_DEVICES;
    pthread_mutex_unlock(&sim_lock);
}

void sim_set_memory(uint64_t bytes)
{
    pthread_mutex_lock(&sim_lock);
    sim.memory = bytes;
    pthread_mutex_unlock(&sim_lock);
}

void sim_set_pinned(uint64_t bytes)
{
    pthread_mutex_lock(&sim_lock);
    sim.pinned_memory = bytes;
    pthread_mutex_unlock(&sim_lock);
}

void sim_count_unwiped(void)
{
    pthread_mutex_lock(&sim_lock);
    sim.count_unwiped = true;
    pthread_mutex_unlock(&sim_lock);
}

void sim_give_again(void)
{
    pthread_mutex_lock(&sim_lock);
    memset(sim.next, 0, sizeof sim.next);
    pthread_mutex_unlock(&sim_lock);
}

void sim_tidy(void)
{
    pthread_mutex_lock(&sim_lock);
    for (int i = sim.blocks - 1; i >= 0; i--)
        if (sim.block[i].gone) sim_drop_block(i);
    for (int d = 0; d < SIM_DEVICES; d++)
        if (sim_used_bytes(d, false) == 0) sim_clear_memory(d);
    pthread_mutex_unlock(&sim_lock);
}

void sim_set_links(bool direct)
{
    pthread_mutex_lock(&sim_lock);
    sim.direct_links = direct;
    pthread_mutex_unlock(&sim_lock);
}

void sim_set_delay(int microseconds)
{
    pthread_mutex_lock(&sim_lock);
    sim.delay_microseconds = microseconds;
    pthread_mutex_unlock(&sim_lock);
}

void sim_hold(bool hold)
{
    pthread_mutex_lock(&sim_lock);
    sim.hold = hold;
    pthread_cond_broadcast(&sim_changed);
    pthread_mutex_unlock(&sim_lock);
}

void sim_fail(sim_kind kind, int nth, duo_status status, int times)
{
    pthread_mutex_lock(&sim_lock);
    sim.order[kind] = (order){nth, times, status};
    pthread_mutex_unlock(&sim_lock);
}

void sim_fail_async(int nth, bool garbage)
{
    pthread_mutex_lock(&sim_lock);
    sim.async_nth = nth;
    sim.async_garbage = garbage;
    pthread_mutex_unlock(&sim_lock);
}

void sim_err(int nth) { sim.err_nth = nth; }

void sim_lose(int device)
{
    pthread_mutex_lock(&sim_lock);
    sim_answer_lost(device);
    pthread_mutex_unlock(&sim_lock);
}

/* ---- What happened ---- */

uint64_t sim_count(sim_kind kind)
{
    pthread_mutex_lock(&sim_lock);
    const uint64_t count = sim.count[kind];
    pthread_mutex_unlock(&sim_lock);
    return count;
}

uint64_t sim_uploaded_bytes(void)
{
    pthread_mutex_lock(&sim_lock);
    const uint64_t bytes = sim.uploaded;
    pthread_mutex_unlock(&sim_lock);
    return bytes;
}

uint64_t sim_downloaded_bytes(void)
{
    pthread_mutex_lock(&sim_lock);
    const uint64_t bytes = sim.downloaded;
    pthread_mutex_unlock(&sim_lock);
    return bytes;
}

duo_algorithm_id sim_last_algorithm(void)
{
    pthread_mutex_lock(&sim_lock);
    const duo_algorithm_id algorithm = sim.last_algorithm;
    pthread_mutex_unlock(&sim_lock);
    return algorithm;
}

int sim_violations(void)
{
    if (sim_in_child()) return sim.violations;
    pthread_mutex_lock(&sim_lock);
    const int violations = sim.violations;
    pthread_mutex_unlock(&sim_lock);
    return violations;
}

int sim_leaks(void)
{
    pthread_mutex_lock(&sim_lock);
    int leaks = 0;
    for (int i = 0; i < sim.blocks; i++)
        leaks += sim.block[i].kind != BLOCK_FOREIGN && !sim.block[i].gone;
    for (const duo_queue *q = sim.queues; q != NULL; q = q->next) leaks++;
    leaks += sim.signals + sim.recorded;
    pthread_mutex_unlock(&sim_lock);
    return leaks;
}

uint64_t sim_allocated_bytes(int device)
{
    pthread_mutex_lock(&sim_lock);
    const uint64_t bytes = sim_used_bytes(device, false);
    pthread_mutex_unlock(&sim_lock);
    return bytes;
}

uint64_t sim_unwiped_bytes(void)
{
    pthread_mutex_lock(&sim_lock);
    const uint64_t bytes = sim.unwiped;
    pthread_mutex_unlock(&sim_lock);
    return bytes;
}

int sim_queues(int device, duo_priority priority)
{
    int queues = 0;
    pthread_mutex_lock(&sim_lock);
    for (const duo_queue *q = sim.queues; q != NULL; q = q->next)
        queues += q->device == device && q->priority == priority;
    pthread_mutex_unlock(&sim_lock);
    return queues;
}

/* ---- Device memory that the library does not know ---- */

void *sim_foreign_malloc(int device, size_t bytes)
{
    void *address = NULL;
    pthread_mutex_lock(&sim_lock);
    if (sim.owner == 0) sim.owner = getpid();
    sim_take_memory(device, bytes, BLOCK_FOREIGN, &address);
    pthread_mutex_unlock(&sim_lock);
    return address;
}

void sim_foreign_free(void *address)
{
    pthread_mutex_lock(&sim_lock);
    const int index = sim_find_block(address, BLOCK_FOREIGN);
    if (index < 0)
        sim_violation("foreign free: %p is no live allocation", address);
    else
        sim_drop_block(index);
    pthread_mutex_unlock(&sim_lock);
}

void sim_read(void *host, const void *device_address, size_t bytes)
{
    memcpy(host, sim_behind(device_address), bytes);
}

void sim_write(void *device_address, const void *host, size_t bytes)
{
    memcpy(sim_behind(device_address), host, bytes);
}

bool sim_is_device(const void *address)
{
    pthread_mutex_lock(&sim_lock);
    const bool device = sim_in_range(address);
    pthread_mutex_unlock(&sim_lock);
    return device;
}
