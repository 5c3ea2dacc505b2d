/* sgemm_scale.h - sgemm without a product: C := beta C. */
#ifndef DUO_SGEMM_SCALE_H
#define DUO_SGEMM_SCALE_H

#include "call.h"

/* The number of pieces of an m x n C; m and n are not 0. */
int64_t duo_sgemm_scale_pieces(int64_t m, int64_t n);

/*
 * Every algorithm of the CPU does this if alpha or k is 0, so all give the same bits and take the
 * same time. An element is rounded once. beta = 0: C becomes 0, and is not read.
 */
duo_outcome duo_sgemm_scale(const duo_call *call);

#endif
