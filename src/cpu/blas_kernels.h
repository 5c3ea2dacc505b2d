/*
 * blas_kernels.h - are an OpenBLAS's kernels those for this CPU?
 *
 * It picks them by the CPU's model when it starts, and a build that is older than the CPU takes the
 * oldest it has: Debian's 0.3.21 runs SSE kernels on Xeons of 2023, at a seventh of their speed.
 */
#ifndef DUO_BLAS_KERNELS_H
#define DUO_BLAS_KERNELS_H

#include <stdbool.h>

typedef enum duo_width { DUO_WIDTH_UNKNOWN, DUO_SSE, DUO_AVX, DUO_AVX2, DUO_AVX512 } duo_width;

/* "SSE" and so on */
const char *duo_width_name(duo_width width);

/* The vectors of this CPU, and of the kernels with OpenBLAS's name for them. */
duo_width duo_width_of_cpu(void);
duo_width duo_width_of_kernels(const char *core);

/*
 * Do these kernels give an element of C the same bits in every tile of C that it may be in? Those
 * for AVX-512 do, if tiles are whole multiples of 16 x 4 and none is so small that it goes without
 * packing (0.3.21, 0.3.23 and 0.3.34, 150 random products each); those for AVX2 do not.
 */
bool duo_kernels_suit_any_tile(const char *core);

/* OpenBLAS's name of kernels for vectors of this CPU, where those with the name `core` are
 * narrower; else NULL. */
const char *duo_better_kernels(const char *core, duo_width cpu);

#endif
