/* blas_function.h - a function of a BLAS, by any of the names that its builds give it. */
#ifndef DUO_BLAS_FUNCTION_H
#define DUO_BLAS_FUNCTION_H

#include <stdbool.h>

/*
 * Sets *function, a pointer to a function, to the library's `name`; OpenBLAS as PyPI has it calls
 * that scipy_NAME, and scipy_NAME64_ where its integers have 64 bits. False, and NULL: there is
 * none.
 */
bool duo_blas_function(void *library, const char *name, void *function);

#endif
