/* context.h - the context of a call, and what the call needs of it. */
#ifndef DUOBLAS_CONTEXT_H
#define DUOBLAS_CONTEXT_H

#include "duoblas.h"
#include "exchange.h"

enum { MOST_OPERANDS = 3 };

/* What the package knows: its thread-local object, the function that gives the blocks that the
 * caller is in, the class of contexts, the function that raises the exception of a status, and the
 * ranges that are adopted. */
typedef struct package {
    PyObject *thread, *blocks, *context, *check, *adopted;
} package;

/* Prepares the names of attributes; false: there is an exception. */
bool context_begin(void);

/* Holds the package's objects for ever. */
void context_use(const package *from);

/* A call, between call_begin and call_end. */
typedef struct call {
    PyObject *context;
    duo_context *handle;
    PyObject *held[MOST_OPERANDS]; /* ranges on the device, which stay known until the end */
    int count;
} call;

/* The caller's stream in which a call in this context runs; 0: there is none. None stands for the
 * innermost block's context. */
uintptr_t context_stream(PyObject *context);

/* Begins a call in a context, and locks it until call_end. None stands for the innermost block's
 * context, or the thread's own. False: the call goes the long way, or there is an exception. */
bool call_begin(call *of, PyObject *context, bool on_device);

/* The operand takes part. On a device it has to be known for longer than the call, and its library
 * to work in the context's stream: then nothing has to be waited for. False: the call goes the long
 * way; call_end is still due. */
bool call_add(call *of, const operand *o);

/* Raises the exception of a status; false: there is one. */
bool call_end(call *of, duo_status status);

#endif
