/*
 * fault.h - faults that the tests have to find.
 *
 * A build with -DDUOBLAS_FAULTS=ON holds all of them, and DUOBLAS_FAULT=name in the environment
 * plants one. In every other build DUO_FAULT is the constant 0 and leaves no code behind.
 * tests/faults.txt lists them, scripts/mutation plants one after the other.
 */
#ifndef DUO_FAULT_H
#define DUO_FAULT_H

#ifdef DUOBLAS_FAULTS

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Asked for once in each file; threads that come at once get the same answer. */
static inline bool duo_fault(const char *name)
{
    static const char *planted;
    const char *now = __atomic_load_n(&planted, __ATOMIC_RELAXED);
    if (now == NULL) {
        now = getenv("DUOBLAS_FAULT");
        if (now == NULL) now = "";
        __atomic_store_n(&planted, now, __ATOMIC_RELAXED);
    }
    return strcmp(now, name) == 0;
}

#define DUO_FAULT(name) duo_fault(#name)

#else

#define DUO_FAULT(name) 0

#endif

#endif
