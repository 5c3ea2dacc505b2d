/*
 * blas_kernels.h - how builds of a BLAS differ: the names of functions; kernels, and whether they
 * suit this CPU.
 */
#ifndef DUO_BLAS_KERNELS_H
#define DUO_BLAS_KERNELS_H

#include <stdbool.h>

/* ---- Functions ---- */

/*
 * Sets *function, a pointer to a function, to the library's `name`. PyPI's OpenBLAS calls it
 * scipy_NAME, or scipy_NAME64_ if its integers have 64 bits. False, and NULL: there is none.
 */
bool duo_blas_function(void *library, const char *name, void *function);

/* ---- Kernels ---- */

/*
 * Do the kernels of an OpenBLAS suit this CPU?
 *
 * OpenBLAS picks its kernels by the CPU's model when it starts, and a build that is older than the
 * CPU takes its oldest ones: on Xeons of 2023 Debian's 0.3.21 runs SSE kernels, at a seventh of the
 * speed of AVX-512 ones.
 */

typedef enum duo_width { DUO_WIDTH_UNKNOWN, DUO_SSE, DUO_AVX, DUO_AVX2, DUO_AVX512 } duo_width;

/* "SSE" and so on. */
const char *duo_width_name(duo_width width);

/* The widest vectors of this CPU; the vectors of the kernels that OpenBLAS calls `core`. */
duo_width duo_width_of_cpu(void);
duo_width duo_width_of_kernels(const char *core);

/*
 * Do these kernels give an element of C the same bits in every tile of C? Those for AVX-512 do, if
 * tiles are multiples of 16 x 4 and large enough that OpenBLAS packs them (tried with 150 random
 * products each of 0.3.21, 0.3.23 and 0.3.34). Those for AVX2 do not.
 */
bool duo_kernels_suit_any_tile(const char *core);

/* OpenBLAS's name for kernels with the CPU's vectors, if the kernels called `core` are narrower;
 * else NULL. */
const char *duo_better_kernels(const char *core, duo_width cpu);

#endif
