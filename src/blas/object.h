/* object.h - how a loaded object, a library or the program, uses BLAS: for unreached.c. */
#ifndef DUO_BLAS_OBJECT_H
#define DUO_BLAS_OBJECT_H

#include <stdbool.h>

enum { DUO_BLAS_OBJECT_TEXT = 64 };

/* A name for each finding; "": not found. */
typedef struct duo_blas_object {
    char title[DUO_BLAS_OBJECT_TEXT];
    bool program;                       /* the program itself, not a library */
    char asks[DUO_BLAS_OBJECT_TEXT];    /* served by the drop-in, and not defined here */
    char double_[DUO_BLAS_OBJECT_TEXT]; /* the same in float64, not served */
    char direct[DUO_BLAS_OBJECT_TEXT];  /* an operation of duoblas.h that it calls */
    char bound[DUO_BLAS_OBJECT_TEXT];   /* asked for, and bound by the loader to a library ... */
    char to[DUO_BLAS_OBJECT_TEXT];      /* ... of this name */
    char has[DUO_BLAS_OBJECT_TEXT];     /* served, defined here, and visible to others */
    char keeps[DUO_BLAS_OBJECT_TEXT];   /* served, defined here, hidden from others */
    char other[DUO_BLAS_OBJECT_TEXT];   /* an sgemm that is not served */
    bool mkl, duoblas;
} duo_blas_object;

/* The drop-in itself. */
typedef struct duo_blas_ours {
    void *handle;
    const void *where; /* its address */
} duo_blas_ours;

/* Looks at the object of this path; "": the program. False: it is DuoBLAS, or was opened by it. */
bool duo_blas_object_look(duo_blas_object *o, const duo_blas_ours *ours, const char *path);

#endif
