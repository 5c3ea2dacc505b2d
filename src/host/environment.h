/* environment.h - the DUOBLAS_ variables, read once, with secure_getenv. */
#ifndef DUO_ENVIRONMENT_H
#define DUO_ENVIRONMENT_H

#include <stdbool.h>

#include "duoblas.h"

enum {
    DUO_ENVIRONMENT_DEVICES = 8,    /* most in a list */
    DUO_ENVIRONMENT_COMPLAINTS = 12 /* variables that may have wrong values */
};

typedef struct duo_environment {
    duo_path path;
    duo_math math;
    int verbose;
    bool check;            /* DUOBLAS_CHECK */
    bool wipe;             /* DUOBLAS_WIPE */
    bool adapt;            /* DUOBLAS_ADAPT */
    duo_remember remember; /* DUOBLAS_REMEMBER */
    duo_open open;         /* DUOBLAS_OPEN */
    double verify;         /* DUOBLAS_VERIFY */
    int device;
    bool device_by_rank; /* `device` is an MPI rank's number: to be taken modulo devices */
    int device_count;    /* of DUOBLAS_DEVICES; 0: all, `device` first */
    int devices[DUO_ENVIRONMENT_DEVICES]; /* these; the first one is `device` */
    double device_memory_bytes;           /* DUOBLAS_DEVICE_MEMORY; infinite if not set */
    double workspace_bytes; /* DUOBLAS_WORKSPACE: most that one queue's algorithms may take */
    const char *profile;    /* DUOBLAS_PROFILE; NULL: not set */
    const char *cpu_blas;   /* DUOBLAS_CPU_BLAS; NULL: not set */
    int complaints;         /* values that were not understood: a sentence about each */
    char complaint[DUO_ENVIRONMENT_COMPLAINTS][128];
} duo_environment;

#ifdef __cplusplus
extern "C" {
#endif

const duo_environment *duo_environment_get(void);

/* The math's name in variables, logs and options. */
const char *duo_math_name(duo_math math);

#ifdef __cplusplus
}
#endif

#endif
