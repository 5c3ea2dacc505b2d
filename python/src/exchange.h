/*
 * exchange.h - arrays of other libraries, by DLPack's exchange in C (DLPack 1.3): a table of
 * functions, in a capsule that is the attribute __dlpack_c_exchange_api__ of the array's type.
 * PyTorch has it from 2.10 on. Nothing of it waits, or has work wait.
 */
#ifndef DUOBLAS_EXCHANGE_H
#define DUOBLAS_EXCHANGE_H

#include "python.h"

typedef struct exchange_api exchange_api;

/* Elements of an array, where they are. */
typedef struct operand {
    const exchange_api *api; /* NULL: it is NumPy's */
    float *x;
    bool on_device;
    int device;
    int axes;
    int64_t shape[2], steps[2]; /* in elements */
} operand;

/* The addresses from its lowest element to behind its highest. */
void operand_span(const operand *o, uintptr_t *low, uintptr_t *high);

/* Prepares the names of attributes; false: there is an exception. */
bool exchange_begin(void);

/* An array of float32 with at most two axes, none of them empty, in host memory or on a CUDA
 * device; for an output (written) one whose memory may be written. False: it is not, or its library
 * has no such exchange. It raises no exception. */
bool exchange_read(PyObject *array, bool written, operand *o);

/* Is this the stream that the array's library works in at present, on the array's device? */
bool exchange_works_in(const operand *o, uintptr_t stream);

#endif
