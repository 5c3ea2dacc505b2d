/* blas_function.h - a function of a BLAS, under any of the names in its builds. */
#ifndef DUO_BLAS_FUNCTION_H
#define DUO_BLAS_FUNCTION_H

#include <stdbool.h>

/*
 * Sets *function, a pointer to a function, to the library's `name`. PyPI's OpenBLAS calls it
 * scipy_NAME, or scipy_NAME64_ if its integers have 64 bits. False, and NULL: there is none.
 */
bool duo_blas_function(void *library, const char *name, void *function);

#endif
