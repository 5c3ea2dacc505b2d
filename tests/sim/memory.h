/*
 * memory.h - memory of the simulated devices, and pinned host memory.
 *
 * Device addresses lie in a range that the host may not touch. Their bytes are in a shadow of the
 * same size, at a fixed distance; only the workers and sim_read/sim_write use it. All functions
 * here except sim_in_range, sim_device_of and sim_behind need the lock.
 */
#ifndef DUO_TESTS_SIM_MEMORY_H
#define DUO_TESTS_SIM_MEMORY_H

#include "sim/state.h"

#define SIM_POISON_BYTES ((size_t)16 << 20) /* a new allocation begins with NaNs */

bool sim_in_range(const void *address); /* a device address? */

/* The device that has this address in its range, live or not; -1: host memory. */
int sim_device_of(const void *address);

/* Where the bytes of a device address are; pinned addresses are their own. */
void *sim_behind(const void *address);

uint64_t sim_used_bytes(int device, bool pinned);
void sim_add_block(uintptr_t start, size_t bytes, int device, block_kind kind);

/* The live block that starts at an address, or -1. */
int sim_find_block(const void *address, block_kind kind);
/* The live block that holds [low, high), or NULL. */
const block *sim_block_around(uintptr_t low, uintptr_t high);

/* Addresses are handed out upwards and used again late, so that use after release is seen. */
duo_status sim_take_memory(int device, size_t bytes, block_kind kind, void **address);
void sim_drop_block(int index);

/* A device without blocks hands out its addresses from the first on, and keeps no pages. */
void sim_clear_memory(int device);

#endif
