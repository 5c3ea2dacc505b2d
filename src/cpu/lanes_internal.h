/* lanes_internal.h - what the clones of lanes_body.h and lanes.c, lanes_reduce.c share. */
#ifndef DUO_LANES_INTERNAL_H
#define DUO_LANES_INTERNAL_H

#include "lanes.h"

extern const duo_lanes duo_lanes_avx512, duo_lanes_avx2, duo_lanes_portable;

typedef double (*duo_lanes_node)(int64_t n, const float *x, const float *y);

double duo_lanes_block_float64(duo_operation operation, int n, const float *x, const float *y);
float duo_lanes_round(double sum);
float duo_lanes_in_default_mode(duo_lanes_node unit, int64_t n, const float *x, const float *y);

#endif
