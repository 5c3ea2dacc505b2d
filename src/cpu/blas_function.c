/* blas_function.c - see blas_function.h */
#include "cpu/blas_function.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

bool duo_blas_function(void *library, const char *name, void *function)
{
    static const char *const forms[] = {"%s", "scipy_%s", "scipy_%s64_"};
    void *address = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && address == NULL; i++) {
        char formed[64];
        snprintf(formed, sizeof formed, forms[i], name);
        address = dlsym(library, formed);
    }
    /* dlsym returns pointers to data, which by POSIX can hold pointers to functions. */
    memcpy(function, &address, sizeof address);
    return address != NULL;
}
