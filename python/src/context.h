/* context.h - the context of a call, and what the call needs of it. */
#ifndef DUOBLAS_CONTEXT_H
#define DUOBLAS_CONTEXT_H

#include "duoblas.h"
#include "exchange.h"

enum { MOST_OPERANDS = 3 };

/* What the package knows: duo_synchronize, its thread-local object, the function that gives the
 * blocks that the caller is in, the class of contexts, the function that raises the exception of a
 * status, and the ranges that are adopted. */
typedef struct package {
    duo_status (*synchronize)(duo_context *);
    PyObject *thread, *blocks, *context, *check, *adopted;
} package;

/* Prepares the names of attributes; false: there is an exception. */
bool context_begin(void);

/* Holds the package's objects for ever. */
void context_use(const package *from);

/* A range on the device, which stays known until the end of a call. */
typedef struct held {
    PyObject *range;
    uintptr_t low, high;
} held;

/* A call, between call_begin and call_end. */
typedef struct call {
    PyObject *context;
    duo_context *handle;
    uintptr_t stream;
    int device;
    held held[MOST_OPERANDS];
    int count;
    bool waits; /* its work on the device is done when it ends */
} call;

/* The caller's stream in which a call in this context runs; 0: there is none. None stands for the
 * innermost block's context, or the thread's own for this device. */
uintptr_t context_stream(PyObject *context, int device);

/* Begins a call in a context, and locks it until call_end. None stands for the innermost block's
 * context, or the thread's own for this device (or HOST). False: the call goes the long way, or
 * there is an exception. */
bool call_begin(call *of, PyObject *context, int device);

/* The operand takes part. If it is on a device, its library has to work in the context's stream. If
 * it is not known for longer than the call, the call waits. False: the call goes the long way, or
 * there is an exception; call_end is still due. */
bool call_add(call *of, const operand *o);

/* Waits if that is due, and raises the exception of a status; false: there is one. */
bool call_end(call *of, duo_status status);

#endif
