/*
 * exchange.h - arrays of other libraries, by DLPack.
 *
 * By its exchange in C (DLPack 1.3): a table of functions, in a capsule that is the attribute
 * __dlpack_c_exchange_api__ of the array's type. PyTorch has it from 2.10 on. Nothing of it waits,
 * or has work wait. Arrays on a device that do not have it, as CuPy's, are asked by __dlpack__.
 */
#ifndef DUOBLAS_EXCHANGE_H
#define DUOBLAS_EXCHANGE_H

#include "python.h"

typedef struct exchange_api exchange_api;

enum { HOST = -1 };

/* Elements of an array, where they are. */
typedef struct operand {
    const exchange_api *api; /* NULL: it has none */
    float *x;
    int device;       /* HOST: in host memory */
    uintptr_t stream; /* without api: the one that was told to the array, or 0 */
    int axes;
    int64_t shape[2], steps[2]; /* in elements */
} operand;

/* The addresses from its lowest element to behind its highest. */
void operand_span(const operand *o, uintptr_t *low, uintptr_t *high);

/* Prepares the names of attributes; false: there is an exception. */
bool exchange_begin(void);

/* Reads an array of float32 in host memory or on a CUDA device. It has at most two axes, and
 * elements. If it is `written`, its memory may be written. False: it is another array, or its
 * library has no such exchange. Raises no exception. */
bool exchange_read(PyObject *array, bool written, operand *o);

/* The CUDA device that an array is on, as it says itself; HOST: on none, or it does not say.
 * There may be an exception. */
int exchange_device(PyObject *array);

/* The same as exchange_read of an array on a CUDA device, by its __dlpack__ of DLPack 1.0. Its work
 * so far is then in order before what comes in this stream. False also if there is an exception, as
 * of Ctrl-C. */
bool exchange_ask(PyObject *array, bool written, uintptr_t stream, operand *o);

/* Is all work on the operand so far in order before what comes in this stream? */
bool exchange_precedes(const operand *o, uintptr_t stream);

#endif
