/*
 * memory.c - memory of the simulated devices; see memory.h.
 */
#define _GNU_SOURCE
#include "sim/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DEVICE_RANGE ((size_t)64 << 30) /* addresses of each device */
#define GAP          ((size_t)4096)     /* dead bytes between allocations */
#define ALIGNMENT    ((size_t)256)

static void make_range(void)
{
    if (sim.range != NULL) return;
    const size_t bytes = SIM_DEVICES * DEVICE_RANGE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    sim.range = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
    sim.shadow = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (sim.range == MAP_FAILED || sim.shadow == MAP_FAILED) {
        perror("simulated device: no address space");
        exit(2);
    }
}

bool sim_in_range(const void *address)
{
    const uintptr_t a = (uintptr_t)address, first = (uintptr_t)sim.range;
    return sim.range != NULL && a >= first && a - first < SIM_DEVICES * DEVICE_RANGE;
}

int sim_device_of(const void *address)
{
    if (!sim_in_range(address)) return -1;
    return (int)(((uintptr_t)address - (uintptr_t)sim.range) / DEVICE_RANGE);
}

void *sim_behind(const void *address)
{
    const uintptr_t a = (uintptr_t)address;
    return sim_in_range(address) ? sim.shadow + (a - (uintptr_t)sim.range) : (void *)a;
}

uint64_t sim_used_bytes(int device, bool pinned)
{
    uint64_t bytes = 0;
    for (int i = 0; i < sim.blocks; i++)
        if ((sim.block[i].kind == BLOCK_PINNED) == pinned && !sim.block[i].gone &&
            (pinned || sim.block[i].device == device))
            bytes += sim.block[i].bytes;
    return bytes;
}

void sim_add_block(uintptr_t start, size_t bytes, int device, block_kind kind)
{
    if (sim.blocks == sim.block_room) {
        sim.block_room = 2 * sim.block_room + 64;
        sim.block = realloc(sim.block, (size_t)sim.block_room * sizeof *sim.block);
        if (sim.block == NULL) abort();
    }
    sim.block[sim.blocks++] = (block){start, bytes, device, kind, false};
}

int sim_find_block(const void *address, block_kind kind)
{
    for (int i = 0; i < sim.blocks; i++)
        if (sim.block[i].start == (uintptr_t)address && sim.block[i].kind == kind) return i;
    return -1;
}

const block *sim_block_around(uintptr_t low, uintptr_t high)
{
    for (int i = 0; i < sim.blocks; i++) {
        const block *b = &sim.block[i];
        if (low >= b->start && high <= b->start + b->bytes && low <= high && !b->gone) return b;
    }
    return NULL;
}

duo_status sim_take_memory(int device, size_t bytes, block_kind kind, void **address)
{
    make_range();
    const uint64_t used = sim_used_bytes(device, false);
    if (bytes > sim.memory || used > sim.memory - bytes) {
        sim_say("simulated device %d: out of memory", device);
        return DUO_ERR_MEMORY;
    }
    const size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GAP;
    const uintptr_t base = (uintptr_t)sim.range + (size_t)device * DEVICE_RANGE;
    if (room > DEVICE_RANGE) return DUO_ERR_MEMORY;
    if (sim.next[device] + room > DEVICE_RANGE) sim.next[device] = 0;
    uintptr_t start = base + sim.next[device];
    for (int i = 0; i < sim.blocks; i++) {
        const block *b = &sim.block[i];
        if (b->start < start + room && start < b->start + b->bytes + GAP) {
            start = b->start + (b->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GAP;
            i = -1;
        }
        if (start + room > base + DEVICE_RANGE) return DUO_ERR_MEMORY;
    }
    sim.next[device] = start + room - base;
    sim_add_block(start, bytes, device, kind);
    memset(sim_behind((void *)start), 0xff, bytes < SIM_POISON_BYTES ? bytes : SIM_POISON_BYTES);
    *address = (void *)start;
    return DUO_OK;
}

void sim_clear_memory(int device)
{
    if (sim.range == NULL) return;
    (void)madvise(sim.shadow + (size_t)device * DEVICE_RANGE, DEVICE_RANGE, MADV_DONTNEED);
    sim.next[device] = 0;
}

void sim_drop_block(int index)
{
    const block b = sim.block[index];
    if (sim.count_unwiped && !(b.kind == BLOCK_DEVICE && sim.lost[b.device])) {
        const char *const behind = sim_behind((void *)b.start);
        for (size_t i = 0; i < b.bytes; i++) sim.unwiped += behind[i] != 0;
    }
    sim.block[index] = sim.block[--sim.blocks];
    if (b.kind == BLOCK_PINNED) {
        free((void *)b.start);
        return;
    }
    const uintptr_t shadow = (uintptr_t)sim_behind((void *)b.start);
    const uintptr_t low = (shadow + 4095) / 4096 * 4096, high = (shadow + b.bytes) / 4096 * 4096;
    if (high > low) madvise((void *)low, high - low, MADV_DONTNEED);
}
