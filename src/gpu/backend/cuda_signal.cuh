/* cuda_signal.cuh - signals: CUDA events (backend.h). */
#ifndef DUO_CUDA_SIGNAL_CUH
#define DUO_CUDA_SIGNAL_CUH

#include "gpu/backend/backend.h"

duo_status duo_cuda_signal_open(int device, duo_signal **signal);
void duo_cuda_signal_close(duo_signal *signal);
duo_status duo_cuda_signal_set(duo_signal *signal, duo_queue *queue);
duo_status duo_cuda_signal_passed(duo_signal *signal, bool *passed);
duo_status duo_cuda_signal_wait(duo_signal *signal);
duo_status duo_cuda_after_signal(duo_queue *later, duo_signal *signal);

#endif
