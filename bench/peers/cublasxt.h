/*
 * cublasxt.h - the peer for products in host memory: cuBLASXt, which cuts them into square blocks
 * and sends these to one or several GPUs. It is in cuBLAS's library.
 */
#ifndef DUO_CUBLASXT_H
#define DUO_CUBLASXT_H

#include "bench/measure/implementation.h"

/* On devices 0 to devices - 1, fp32 arithmetic alone (its default). NULL if it is there; otherwise
 * why not. */
const char *duo_peer_cublasxt_open(int devices);

/* With blocks of so many rows and columns; a call returns when C is there. False: it is not
 * open. */
bool duo_peer_cublasxt(duo_implementation *peer, int block);

#endif
