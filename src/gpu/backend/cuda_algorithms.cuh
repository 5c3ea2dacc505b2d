/* cuda_algorithms.cuh - loading and launching algorithms, for the backend (backend.h). */
#ifndef DUO_CUDA_ALGORITHMS_CUH
#define DUO_CUDA_ALGORITHMS_CUH

#include "gpu/backend/backend.h"

duo_status duo_cuda_load(int device);
duo_status duo_cuda_reserve(duo_queue *queue, duo_algorithm_id id, const duo_call *call);
void duo_cuda_share(duo_queue *queue, double part);
duo_status duo_cuda_launch_batch(duo_queue *queue, const duo_call *call, const duo_batch *batch);
duo_status duo_cuda_launch(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                           uint64_t *pinned_result, uint32_t ticket);
size_t duo_cuda_packed_bytes(duo_algorithm_id algorithm, const duo_call *call, int i);
duo_status duo_cuda_pack(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call, int i,
                         void *memory);

#endif
