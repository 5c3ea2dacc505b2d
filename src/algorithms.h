/*
 * algorithms.h - the list of all algorithms.
 *
 * A line is one algorithm: its operation, the side it runs on, the maths it serves (DUO_SERVES_ in
 * choice/algorithm.h) and its name, which is also its file's and its function's. The library makes
 * from this list an algorithm's number, its entry in the dispatch table, its curve in a profile and
 * its kernels. The algorithms of one operation are neighbours. Predictions come in this order; if
 * two algorithms cost the same, the first is chosen.
 */
#ifndef DUO_ALGORITHMS_H
#define DUO_ALGORITHMS_H

#include <stdbool.h>

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DUO_ALGORITHM_LIST(X)                                                                      \
    X(SGEMM, GPU, FLOAT32, sgemm_gpu_naive)                                                        \
    X(SGEMM, GPU, FLOAT32, sgemm_gpu_tiled)                                                        \
    X(SGEMM, GPU, FLOAT32, sgemm_gpu_ffma)                                                         \
    X(SGEMM, GPU, ACCURATE, sgemm_gpu_bf16x6)                                                      \
    X(SGEMM, GPU, ACCURATE, sgemm_gpu_fp16x3)                                                      \
    X(SGEMM, GPU, TF32, sgemm_gpu_fp16x1)                                                          \
    X(SGEMM, GPU, FLOAT32, sgemm_gpu_skinny)                                                       \
    X(SGEMM, GPU, FLOAT32, sgemm_gpu_rank_k)                                                       \
    X(SGEMM, GPU, ACCURATE, sgemm_gpu_mma)                                                         \
    X(SGEMM, CPU, FLOAT32, sgemm_cpu_ffma)                                                         \
    X(SGEMM, CPU, ACCURATE, sgemm_cpu_openblas)                                                    \
    X(SGEMM, GPU, FLOAT64, sgemm_gpu_f64)                                                          \
    X(SGEMM, CPU, FLOAT64, sgemm_cpu_float64)                                                      \
    X(SASUM, GPU, FLOAT32, sasum_gpu_shuffle)                                                      \
    X(SASUM, CPU, FLOAT32, sasum_cpu_lanes)                                                        \
    X(SASUM, GPU, FLOAT64, sasum_gpu_float64)                                                      \
    X(SASUM, CPU, FLOAT64, sasum_cpu_float64)                                                      \
    X(SSUM, GPU, FLOAT32, ssum_gpu_shuffle)                                                        \
    X(SSUM, CPU, FLOAT32, ssum_cpu_lanes)                                                          \
    X(SSUM, GPU, FLOAT64, ssum_gpu_float64)                                                        \
    X(SSUM, CPU, FLOAT64, ssum_cpu_float64)                                                        \
    X(SDOT, GPU, FLOAT32, sdot_gpu_shuffle)                                                        \
    X(SDOT, CPU, FLOAT32, sdot_cpu_lanes)                                                          \
    X(SDOT, GPU, FLOAT64, sdot_gpu_float64)                                                        \
    X(SDOT, CPU, FLOAT64, sdot_cpu_float64)

typedef enum duo_algorithm_id {
#define DUO_ALGORITHM_ENUM(operation, side, maths, name) DUO_##name,
    DUO_ALGORITHM_LIST(DUO_ALGORITHM_ENUM)
#undef DUO_ALGORITHM_ENUM
        DUO_ALGORITHMS
} duo_algorithm_id;

const char *duo_algorithm_name(duo_algorithm_id id);
duo_operation duo_algorithm_operation(duo_algorithm_id id);
duo_side duo_algorithm_side(duo_algorithm_id id);
const char *duo_operation_name(duo_operation operation);

#ifdef __cplusplus
}
#endif

#endif
