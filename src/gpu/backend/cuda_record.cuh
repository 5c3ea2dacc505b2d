/* cuda_record.cuh - recorded work as CUDA graphs, by stream capture; does the caller capture?
 * (backend.h) */
#ifndef DUO_CUDA_RECORD_CUH
#define DUO_CUDA_RECORD_CUH

#include "gpu/backend/backend.h"

duo_status duo_cuda_capturing(int device, void *stream, bool *capturing);
duo_status duo_cuda_record_begin(duo_queue *queue);
duo_status duo_cuda_record_end(duo_queue *queue, duo_recorded **recorded);
duo_status duo_cuda_replay(duo_queue *queue, duo_recorded *recorded);
void duo_cuda_record_forget(duo_recorded *recorded);

#endif
