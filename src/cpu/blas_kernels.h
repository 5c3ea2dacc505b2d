/*
 * blas_kernels.h - are an OpenBLAS's kernels those for this CPU?
 *
 * It picks them by the CPU's model when it starts, and a build that is older than the CPU takes the
 * oldest it has: Debian's 0.3.21 runs SSE kernels on Xeons of 2023, at a seventh of their speed.
 */
#ifndef DUO_BLAS_KERNELS_H
#define DUO_BLAS_KERNELS_H

typedef enum duo_width { DUO_WIDTH_UNKNOWN, DUO_SSE, DUO_AVX, DUO_AVX2, DUO_AVX512 } duo_width;

/* "SSE" and so on */
const char *duo_width_name(duo_width width);

/* The vectors of this CPU, and of the kernels with OpenBLAS's name for them. */
duo_width duo_width_of_cpu(void);
duo_width duo_width_of_kernels(const char *core);

/* OpenBLAS's name of kernels for vectors of this CPU, where those with the name `core` are narrower; else
 * NULL. */
const char *duo_better_kernels(const char *core, duo_width cpu);

#endif
