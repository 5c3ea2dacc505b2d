/* shared_memory.cuh - how much shared memory a multiprocessor has, and how many blocks it holds. */
#ifndef DUO_SHARED_MEMORY_CUH
#define DUO_SHARED_MEMORY_CUH

#include <stddef.h>

/* Bytes per multiprocessor, by compute capability (CUDA C++ Programming Guide, "Compute
 * Capabilities"). */
constexpr size_t shared_memory(int capability)
{
    switch (capability) {
    case 75:
        return (size_t)65 << 10; /* 64 KiB; a block takes no extra 1 KiB there */
    case 80:
    case 87:
        return (size_t)164 << 10;
    case 90:
    case 100:
    case 103:
        return (size_t)228 << 10;
    default:
        return (size_t)100 << 10; /* 8.6, 8.9, 12.0, and the least of all others */
    }
}

/* Blocks that a multiprocessor holds, at most `most`: each takes 1 KiB more than it asks for. */
constexpr int blocks_that_fit(size_t shared_bytes, int most, int capability)
{
    const size_t fit = shared_memory(capability) / (shared_bytes + 1024);
    return fit < (size_t)most ? (int)fit : most;
}

#endif
