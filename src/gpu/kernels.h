/*
 * kernels.h - the GPU algorithms as device_cuda.cu sees them.
 *
 * An algorithm queues its kernels on the device that is current. Its functions return a cudaError_t as
 * int; anything but 0 means that nothing was queued that writes an output.
 */
#ifndef DUO_KERNELS_H
#define DUO_KERNELS_H

#include "call.h"

/* Partial sums that a reduction may leave for its last block: the scratch of a queue. */
enum { DUO_PARTIALS = 4096 };

/* What an algorithm needs beside the call. */
typedef struct duo_launch {
    void *stream; /* cudaStream_t */
    int multiprocessors;
    int capability;      /* 10 * major + minor */
    int64_t cache_bytes; /* L2 */

    /*
     * Workspace of an algorithm that has asked for some: 256-byte aligned, at most what it wanted, and
     * less under a limit or where memory is short. Its content is nobody's between launches.
     */
    char *workspace;
    size_t workspace_bytes;

    /* Reductions. The scratch belongs to one stream; the counter is 0 between launches. */
    double *partials;
    unsigned *counter;
    uint64_t *pinned_result; /* pinned, or NULL: the float goes to operand[DUO_RESULT] */
    uint32_t ticket;
} duo_launch;

#ifdef __cplusplus
extern "C" {
#endif

int duo_sgemm_gpu_naive(const duo_call *call, const duo_launch *how);
int duo_sgemm_gpu_tiled(const duo_call *call, const duo_launch *how);
int duo_sgemm_gpu_ffma(const duo_call *call, const duo_launch *how);
int duo_sgemm_gpu_bf16x6(const duo_call *call, const duo_launch *how);
int duo_sgemm_gpu_fp16x3(const duo_call *call, const duo_launch *how);
int duo_sgemm_gpu_fp16x1(const duo_call *call, const duo_launch *how);
int duo_sgemm_gpu_mma(const duo_call *call, const duo_launch *how);
int duo_sgemm_gpu_f64(const duo_call *call, const duo_launch *how);
int duo_sgemm_gpu_skinny(const duo_call *call, const duo_launch *how);
int duo_sasum_gpu_shuffle(const duo_call *call, const duo_launch *how);
int duo_sasum_gpu_float64(const duo_call *call, const duo_launch *how);
int duo_ssum_gpu_shuffle(const duo_call *call, const duo_launch *how);
int duo_ssum_gpu_float64(const duo_call *call, const duo_launch *how);
int duo_sdot_gpu_shuffle(const duo_call *call, const duo_launch *how);
int duo_sdot_gpu_float64(const duo_call *call, const duo_launch *how);

/* Bytes of workspace that an algorithm would like. */
size_t duo_sgemm_gpu_ffma_workspace(const duo_call *call, const duo_launch *how);
size_t duo_sgemm_gpu_bf16x6_workspace(const duo_call *call, const duo_launch *how);
size_t duo_sgemm_gpu_fp16x3_workspace(const duo_call *call, const duo_launch *how);
size_t duo_sgemm_gpu_fp16x1_workspace(const duo_call *call, const duo_launch *how);
size_t duo_sgemm_gpu_mma_workspace(const duo_call *call, const duo_launch *how);
size_t duo_sgemm_gpu_f64_workspace(const duo_call *call, const duo_launch *how);
size_t duo_sgemm_gpu_skinny_workspace(const duo_call *call, const duo_launch *how);

/*
 * The form in which an algorithm reads operand A or B (i), if it has one: its bytes, and queueing the writing of
 * it, without any workspace, to memory aligned to 256 bytes. Where operand[i].packed is not NULL the algorithm
 * finds it there.
 */
size_t duo_sgemm_gpu_bf16x6_packed_bytes(const duo_call *call, int i);
size_t duo_sgemm_gpu_fp16x3_packed_bytes(const duo_call *call, int i);
size_t duo_sgemm_gpu_fp16x1_packed_bytes(const duo_call *call, int i);
int duo_sgemm_gpu_bf16x6_pack(const duo_call *call, int i, void *packed, const duo_launch *how);
int duo_sgemm_gpu_fp16x3_pack(const duo_call *call, int i, void *packed, const duo_launch *how);
int duo_sgemm_gpu_fp16x1_pack(const duo_call *call, int i, void *packed, const duo_launch *how);

/* Bring an algorithm's kernels onto the current device, and set what they need to be launched: before an algorithm's
 * first launch. Where the device cannot run them there is nothing to do. */
int duo_sgemm_gpu_naive_load(void);
int duo_sgemm_gpu_tiled_load(void);
int duo_sgemm_gpu_ffma_load(void);
int duo_sgemm_gpu_bf16x6_load(void);
int duo_sgemm_gpu_fp16x3_load(void);
int duo_sgemm_gpu_fp16x1_load(void);
int duo_sgemm_gpu_mma_load(void);
int duo_sgemm_gpu_f64_load(void);
int duo_sgemm_gpu_skinny_load(void);
int duo_sasum_gpu_shuffle_load(void);
int duo_sasum_gpu_float64_load(void);
int duo_ssum_gpu_shuffle_load(void);
int duo_ssum_gpu_float64_load(void);
int duo_sdot_gpu_shuffle_load(void);
int duo_sdot_gpu_float64_load(void);

#ifdef __cplusplus
}
#endif

#endif
