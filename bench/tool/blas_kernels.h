/*
 * blas_kernels.h - do the kernels of an OpenBLAS suit this CPU?
 *
 * OpenBLAS picks its kernels by the CPU's model when it starts, and a build that is older than the
 * CPU takes its oldest ones: on Xeons of 2023 Debian's 0.3.21 runs SSE kernels, at a seventh of the
 * speed of AVX-512 ones. As a peer it would make any library look fast.
 */
#ifndef DUO_BLAS_KERNELS_H
#define DUO_BLAS_KERNELS_H

/* OpenBLAS's name for kernels with the CPU's vectors, if the kernels called `core` are narrower;
 * else NULL. */
const char *duo_better_kernels(const char *core);

#endif
