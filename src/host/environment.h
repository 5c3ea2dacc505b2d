/* environment.h - the DUOBLAS_ variables, read once, with secure_getenv. */
#ifndef DUO_ENVIRONMENT_H
#define DUO_ENVIRONMENT_H

#include <stdbool.h>

#include "duoblas.h"

typedef struct duo_environment {
    duo_path path;
    duo_math math;
    int verbose;
    int device;
    bool device_by_rank;        /* it is an MPI rank's number here: modulo the number of devices */
    double device_memory_bytes; /* infinite if not set */
    double workspace_bytes;     /* most that the algorithms of one queue may take for themselves */
    const char *profile;        /* NULL: not set */
    const char *cpu_blas;       /* NULL: not set */
    const char *complaint;      /* the name of a variable whose value was not understood, or NULL */
} duo_environment;

#ifdef __cplusplus
extern "C" {
#endif

const duo_environment *duo_environment_get(void);

#ifdef __cplusplus
}
#endif

#endif
