/* kernels.h - the GPU's algorithms as the backend to CUDA sees them. */
#ifndef DUO_KERNELS_H
#define DUO_KERNELS_H

#include <cuda_runtime_api.h>

#include "algorithms.h"
#include "batch.h"
#include "freivalds.h"
#include "call.h"

/* Partial sums that the blocks of a reduction may leave for the last one, in a queue's scratch. */
enum { DUO_PARTIALS = 4096 };

/* Counters in a queue's scratch. */
enum { DUO_COUNTERS = 4096 };

/* Input of a launch's kernels beside the call. */
typedef struct duo_launch {
    cudaStream_t stream;
    int multiprocessors;
    int capability;      /* 10 * major + minor */
    int64_t cache_bytes; /* L2 */
    double memory_rate;  /* bytes a second, by its clock and width; 0: unknown */

    /*
     * Workspace of an algorithm that has asked for some: 256-byte aligned, at most as large as it
     * wanted, and smaller under a limit or if memory is short. Its content does not last between
     * launches.
     */
    char *workspace;
    size_t workspace_bytes;

    /* The scratch belongs to one stream; the counters are 0 between launches. */
    double *partials;   /* DUO_PARTIALS, for reductions */
    unsigned *counters; /* DUO_COUNTERS */

    /* Reductions. */
    uint64_t *pinned_result; /* pinned; or NULL: the sum goes to call->unrounded or, if
                                that is NULL, too, the float to operand[DUO_RESULT] */
    uint32_t ticket;
} duo_launch;

/* An algorithm. Its functions work on the current device; NULL: it does not need this function. */
typedef struct duo_gpu_algorithm {
    /* Queues its kernels. An error means that nothing was queued that writes an output. */
    cudaError_t (*launch)(const duo_call *call, const duo_launch *how);
    /*
     * Loads its kernels onto the device and sets their attributes, before the first launch there.
     * Does nothing if the device cannot run them.
     */
    cudaError_t (*load)(void);
    /* Bytes of workspace that it wants; how->workspace is not set yet. NULL: none. */
    size_t (*workspace)(const duo_call *call, const duo_launch *how);
    /*
     * Operand A or B (i) may be packed into the layout in which the algorithm reads it.
     * packed_bytes: its bytes; 0: the algorithm reads the operand as it is. pack: queues the kernel
     * that packs it, without workspace, to memory aligned to 256 bytes. If operand[i].packed is not
     * NULL, launch reads it there. packed_rows and packed_first (call.h) may give a range of an
     * operand that is packed as a whole or in parts. Both NULL: the algorithm reads all operands as
     * they are.
     */
    size_t (*packed_bytes)(const duo_call *call, int i);
    cudaError_t (*pack)(const duo_call *call, int i, void *packed, const duo_launch *how);
} duo_gpu_algorithm;

/* Many products in one launch. */
typedef struct duo_gpu_batch {
    /* Like an algorithm's. The batch's lists are at the beginning of the workspace, one behind the
     * other. */
    cudaError_t (*launch)(const duo_call *call, const duo_batch *batch, const duo_launch *how);
    cudaError_t (*load)(void);
    /* Bytes of workspace that it wants, with the lists; it does with the lists alone. NULL: no
     * more. */
    size_t (*workspace)(const duo_call *call, const duo_batch *batch, const duo_launch *how);
} duo_gpu_batch;

/* Batches of several shapes, side by side. */
typedef struct duo_gpu_groups {
    /* Bytes that a launch takes: at the beginning of the workspace, and in host memory. */
    size_t (*bytes)(const duo_group *group, int64_t groups);
    /* tensor: also by kernels of sgemm_gpu_mma. staging: the host memory, aligned to 8 bytes and
     * free again when this returns. */
    cudaError_t (*launch)(const duo_group *group, int64_t groups, bool tensor, void *staging,
                          const duo_launch *how);
    cudaError_t (*load)(void);
} duo_gpu_groups;

/* duo_NAME of every algorithm in the list that runs on the GPU, each defined in its NAME.cu. */
#ifdef __cplusplus
extern "C" {
#endif

#define DUO_DECLARE_CPU(name)
#define DUO_DECLARE_GPU(name)                     extern const duo_gpu_algorithm duo_##name;
#define DUO_DECLARE(operation, side, maths, name) DUO_DECLARE_##side(name)
DUO_ALGORITHM_LIST(DUO_DECLARE)
extern const duo_gpu_batch duo_sgemm_gpu_batched_ffma, duo_sgemm_gpu_batched_mma;
extern const duo_gpu_groups duo_sgemm_gpu_grouped;
/* Is there code for batches by Hopper's warpgroup products? Known once it was loaded there. */
bool duo_batched_has_wgmma(void);

/* Queues the tags of blocks in device memory; aligned to 16 bytes. */
cudaError_t duo_tag_blocks(const void *memory, size_t blocks, const void *key, void *tags,
                           const duo_launch *how);
cudaError_t duo_tag_blocks_load(void);
/* Queue the steps of Freivalds' check (freivalds.h). */
cudaError_t duo_freivalds_multiply(const duo_freivalds_product *product, const duo_launch *how);
cudaError_t duo_freivalds_compare(const duo_freivalds_rows *rows, uint32_t *wrong, uint32_t number,
                                  const duo_launch *how);
cudaError_t duo_freivalds_load(void);
#undef DUO_DECLARE
#undef DUO_DECLARE_GPU
#undef DUO_DECLARE_CPU

#ifdef __cplusplus
}
#endif

#endif
