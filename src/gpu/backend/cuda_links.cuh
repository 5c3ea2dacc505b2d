/* cuda_links.cuh - which devices reach each other's memory. */
#ifndef DUO_CUDA_LINKS_CUH
#define DUO_CUDA_LINKS_CUH

#include "gpu/backend/backend.h"

/* A function of the backend (backend.h). */
duo_status duo_cuda_link(int device, int other, bool *direct);

#endif
