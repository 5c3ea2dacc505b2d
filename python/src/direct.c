/*
 * direct.c - the module duoblas._direct: the calls of nearly all programs, on NumPy's own float32
 * arrays in host memory, without a line of Python between. Everything else goes the long way, by
 * python/duoblas/_operations.py, which also raises the errors of arguments.
 *
 * Functions return None if a call has to go the long way, and then have done nothing; else the
 * result. The interpreter's lock is free while the library works. The library is the one that the
 * package has opened; the package gives its addresses, and what it knows of contexts (use). Nothing
 * here is changed after that, so threads need no lock.
 */
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x03090000 /* one file for every Python */
#endif
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION    NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <stdbool.h>
#include <stdint.h>

#include "duoblas.h"

static struct library {
    duo_status (*sgemm)(duo_context *, duo_layout, duo_transpose, duo_transpose, int64_t, int64_t,
                        int64_t, float, const float *, int64_t, const float *, int64_t, float,
                        float *, int64_t);
    duo_status (*sum[2])(duo_context *, int64_t, const float *, int64_t, float *);
    duo_status (*sdot)(duo_context *, int64_t, const float *, int64_t, const float *, int64_t,
                       float *);
} library;

/* Of the package: its thread-local object, the function that gives the blocks that the caller is
 * in, the class of contexts, and the function that raises the exception of a status. */
static PyObject *thread, *blocks_around, *context_class, *raise_status;

/* Names of attributes: of the thread-local object (_scope.py), of a context (_context.py), and of
 * its lock. */
static PyObject *in_own, *in_last, *in_last_call, *in_blocks, *in_long_way, *in_handle, *in_lock,
    *in_acquire, *in_release;

static PyObject *use(PyObject *module, PyObject *arguments)
{
    PyObject *given[4];
    void *address[4];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOO", &given[0], &given[1], &given[2], &given[3],
                          &thread, &blocks_around, &context_class, &raise_status))
        return NULL;
    for (int i = 0; i < 4; i++) {
        address[i] = PyLong_AsVoidPtr(given[i]);
        if (PyErr_Occurred()) return NULL;
    }
    memcpy(&library, address, sizeof library);
    Py_INCREF(thread);
    Py_INCREF(blocks_around);
    Py_INCREF(context_class);
    Py_INCREF(raise_status);
    Py_RETURN_NONE;
}

/* ---- The context of a call ---- */

/* True or false, of an attribute that is a bool or an int; absent counts as false. */
static bool is_set(PyObject *object, PyObject *name)
{
    PyObject *const value = PyObject_GetAttr(object, name);
    const bool set = value != NULL && PyObject_IsTrue(value) == 1;
    Py_XDECREF(value);
    PyErr_Clear();
    return set;
}

/* The context of a call without one: of the innermost block, or the thread's own. NULL: it has to
 * be made, or looked for. */
static PyObject *context_around(void)
{
    PyObject *found = NULL;
    PyObject *const blocks = PyObject_CallObject(blocks_around, NULL);
    const Py_ssize_t count = blocks != NULL ? PyTuple_Size(blocks) : -1;
    if (count == 0) {
        found = PyObject_GetAttr(thread, in_own);
    } else if (count > 0) {
        found = PyTuple_GetItem(blocks, count - 1);
        if (is_set(found, in_blocks))
            Py_INCREF(found);
        else
            found = NULL;
    }
    Py_XDECREF(blocks);
    PyErr_Clear();
    return found;
}

/* Was the thread's last call in it, too? Then nothing has to be noted of this one. */
static bool is_noted(PyObject *context)
{
    PyObject *const last = PyObject_GetAttr(thread, in_last);
    PyObject *const of_context = PyObject_GetAttr(context, in_last_call);
    const bool noted = last != NULL && last != Py_None && of_context != NULL &&
                       PyWeakref_CheckRef(of_context) && PyWeakref_GetObject(of_context) == last;
    Py_XDECREF(of_context);
    Py_XDECREF(last);
    PyErr_Clear();
    return noted;
}

/* The handle of an open context; NULL: it goes the long way, or there is an exception. The context
 * is locked, and has to be let go. */
static duo_context *take(PyObject *given, PyObject **context)
{
    PyObject *const found = given == Py_None ? context_around() : given;
    if (found != NULL && found == given) Py_INCREF(found);
    PyObject *handle = NULL, *lock = NULL, *locked = NULL;
    void *address = NULL;
    if (found != NULL && (PyObject *)Py_TYPE(found) == context_class && is_noted(found) &&
        !is_set(found, in_long_way))
        lock = PyObject_GetAttr(found, in_lock);
    if (lock != NULL) locked = PyObject_CallMethodObjArgs(lock, in_acquire, NULL);
    if (locked != NULL) handle = PyObject_GetAttr(found, in_handle);
    if (handle != NULL && PyLong_CheckExact(handle)) address = PyLong_AsVoidPtr(handle);
    if (address == NULL && locked != NULL)
        Py_XDECREF(PyObject_CallMethodObjArgs(lock, in_release, NULL));
    if (lock == NULL || locked != NULL) PyErr_Clear(); /* else Ctrl-C ended the wait for the lock */
    Py_XDECREF(handle);
    Py_XDECREF(locked);
    Py_XDECREF(lock);
    if (address == NULL) Py_XDECREF(found);
    *context = found;
    return address;
}

static PyObject *long_way(void)
{
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

/* Raises the exception of a status; false: there is one. */
static bool let_go(PyObject *context, duo_status status)
{
    bool good = true;
    if (status != DUO_OK) {
        PyObject *const handle = PyObject_GetAttr(context, in_handle);
        PyObject *const none =
            handle != NULL ? PyObject_CallFunction(raise_status, "iO", (int)status, handle) : NULL;
        good = none != NULL;
        Py_XDECREF(none);
        Py_XDECREF(handle);
    }
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *const lock = PyObject_GetAttr(context, in_lock);
    if (lock != NULL) Py_XDECREF(PyObject_CallMethodObjArgs(lock, in_release, NULL));
    Py_XDECREF(lock);
    PyErr_Restore(type, value, trace);
    Py_DECREF(context);
    return good;
}

/* ---- Arguments ---- */

/* A number as a float; false: it goes the long way. */
static bool real_of(PyObject *number, float *value)
{
    double wide;
    if (PyFloat_CheckExact(number))
        wide = PyFloat_AsDouble(number);
    else if (PyLong_CheckExact(number))
        wide = PyLong_AsDouble(number);
    else
        return false;
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    *value = (float)wide;
    return true;
}

/* float32 with this number of axes, in this machine's order of bytes, aligned, and not empty; NULL:
 * it goes the long way. */
static PyArrayObject *array_of(PyObject *object, int axes)
{
    if (!PyArray_CheckExact(object)) return NULL;
    PyArrayObject *const array = (PyArrayObject *)object;
    if (PyArray_TYPE(array) != NPY_FLOAT || PyArray_NDIM(array) != axes ||
        !PyArray_ISALIGNED(array) || PyArray_ISBYTESWAPPED(array))
        return NULL;
    for (int i = 0; i < axes; i++)
        if (PyArray_DIM(array, i) == 0 || PyArray_STRIDE(array, i) % (npy_intp)sizeof(float) != 0)
            return NULL;
    return array;
}

typedef struct matrix {
    float *x;
    int64_t rows, columns, ld;
    bool by_rows; /* rows are contiguous in memory, else columns */
} matrix;

/* Are these runs contiguous, and do they follow each other? Then *ld is their distance. */
static bool has_runs(npy_intp count, npy_intp next, npy_intp length, npy_intp step, int64_t *ld)
{
    const npy_intp size = (npy_intp)sizeof(float);
    if (length > 1 && step != size) return false;
    *ld = count > 1 ? next / size : length;
    return *ld >= length;
}

static bool matrix_of(PyObject *object, matrix *m)
{
    PyArrayObject *const array = array_of(object, 2);
    if (array == NULL) return false;
    const npy_intp *const shape = PyArray_DIMS(array), *const steps = PyArray_STRIDES(array);
    m->x = PyArray_DATA(array);
    m->rows = shape[0];
    m->columns = shape[1];
    m->by_rows = has_runs(shape[0], steps[0], shape[1], steps[1], &m->ld);
    return m->by_rows || has_runs(shape[1], steps[1], shape[0], steps[0], &m->ld);
}

/* Might they have an element in common? */
static bool may_overlap(const matrix *x, const matrix *y)
{
    const int64_t runs[2] = {x->by_rows ? x->rows : x->columns, y->by_rows ? y->rows : y->columns};
    const int64_t run[2] = {x->by_rows ? x->columns : x->rows, y->by_rows ? y->columns : y->rows};
    return (uintptr_t)x->x < (uintptr_t)(y->x + ((runs[1] - 1) * y->ld + run[1])) &&
           (uintptr_t)y->x < (uintptr_t)(x->x + ((runs[0] - 1) * x->ld + run[0]));
}

/* ---- Operations ---- */

/* sgemm(context or None, a, b, c or None, alpha, beta): c. */
static PyObject *sgemm(PyObject *module, PyObject *arguments)
{
    PyObject *given, *context, *given_a, *given_b, *given_c, *given_alpha, *given_beta;
    matrix a, b, c;
    float alpha, beta;
    (void)module;
    if (!PyArg_UnpackTuple(arguments, "sgemm", 6, 6, &given, &given_a, &given_b, &given_c,
                           &given_alpha, &given_beta))
        return NULL;
    if (!matrix_of(given_a, &a) || !matrix_of(given_b, &b) || a.columns != b.rows ||
        !real_of(given_alpha, &alpha) || !real_of(given_beta, &beta))
        Py_RETURN_NONE;
    const npy_intp shape[2] = {a.rows, b.columns};
    PyObject *result = given_c;
    if (given_c != Py_None) {
        if (!matrix_of(given_c, &c) || !PyArray_ISWRITEABLE((PyArrayObject *)given_c) ||
            c.rows != shape[0] || c.columns != shape[1] || may_overlap(&a, &c) ||
            may_overlap(&b, &c))
            Py_RETURN_NONE;
    } else if (beta != 0.0f) {
        Py_RETURN_NONE;
    }
    duo_context *const handle = take(given, &context);
    if (handle == NULL) return long_way();
    if (given_c == Py_None) {
        result = PyArray_SimpleNew(2, shape, NPY_FLOAT);
        if (result == NULL) {
            (void)let_go(context, DUO_OK);
            return NULL;
        }
        (void)matrix_of(result, &c);
    } else {
        Py_INCREF(result);
    }
    duo_status status;
    Py_BEGIN_ALLOW_THREADS status =
        library.sgemm(handle, c.by_rows ? DUO_ROW_MAJOR : DUO_COL_MAJOR,
                      a.by_rows == c.by_rows ? DUO_NO_TRANS : DUO_TRANS,
                      b.by_rows == c.by_rows ? DUO_NO_TRANS : DUO_TRANS, a.rows, b.columns,
                      a.columns, alpha, a.x, a.ld, b.x, b.ld, beta, c.x, c.ld);
    Py_END_ALLOW_THREADS if (let_go(context, status)) return result;
    Py_DECREF(result);
    return NULL;
}

typedef struct vector {
    const float *x; /* the lowest element in memory */
    int64_t n, step;
} vector;

static bool vector_of(PyObject *object, vector *v)
{
    PyArrayObject *const array = array_of(object, 1);
    if (array == NULL) return false;
    v->n = PyArray_DIM(array, 0);
    v->step = v->n > 1 ? PyArray_STRIDE(array, 0) / (npy_intp)sizeof(float) : 1;
    v->x = (const float *)PyArray_DATA(array) + (v->step < 0 ? (v->n - 1) * v->step : 0);
    return true;
}

static PyObject *number(float value)
{
    PyArray_Descr *const type = PyArray_DescrFromType(NPY_FLOAT);
    PyObject *const scalar = PyArray_Scalar(&value, type, NULL);
    Py_DECREF(type);
    return scalar;
}

/* ssum(context or None, x), sasum(context or None, x) */
static PyObject *sum_by(PyObject *arguments, int which)
{
    PyObject *given, *context, *given_x;
    vector x;
    float value;
    if (!PyArg_UnpackTuple(arguments, "sum", 2, 2, &given, &given_x)) return NULL;
    if (!vector_of(given_x, &x) || x.step < 1) Py_RETURN_NONE;
    duo_context *const handle = take(given, &context);
    if (handle == NULL) return long_way();
    duo_status status;
    Py_BEGIN_ALLOW_THREADS status = library.sum[which](handle, x.n, x.x, x.step, &value);
    Py_END_ALLOW_THREADS return let_go(context, status) ? number(value) : NULL;
}
static PyObject *sasum(PyObject *module, PyObject *arguments)
{
    (void)module;
    return sum_by(arguments, 0);
}
static PyObject *ssum(PyObject *module, PyObject *arguments)
{
    (void)module;
    return sum_by(arguments, 1);
}

/* sdot(context or None, x, y) */
static PyObject *sdot(PyObject *module, PyObject *arguments)
{
    PyObject *given, *context, *given_x, *given_y;
    vector x, y;
    float value;
    (void)module;
    if (!PyArg_UnpackTuple(arguments, "sdot", 3, 3, &given, &given_x, &given_y)) return NULL;
    if (!vector_of(given_x, &x) || !vector_of(given_y, &y) || x.n != y.n) Py_RETURN_NONE;
    duo_context *const handle = take(given, &context);
    if (handle == NULL) return long_way();
    duo_status status;
    Py_BEGIN_ALLOW_THREADS status = library.sdot(handle, x.n, x.x, x.step, y.x, y.step, &value);
    Py_END_ALLOW_THREADS return let_go(context, status) ? number(value) : NULL;
}

/* ---- The module ---- */

/* Is it the NumPy that this was compiled for, or a later one that serves it? NumPy 2 does not serve
 * what was compiled with NumPy 1, and prints so. */
static bool is_served_by_numpy(void)
{
#if NPY_ABI_VERSION < 0x02000000
    PyObject *const numpy = PyImport_ImportModule("numpy");
    PyObject *const version = numpy != NULL ? PyObject_GetAttrString(numpy, "__version__") : NULL;
    PyObject *const one = version != NULL ? PyUnicode_FromString("2") : NULL;
    const bool served = one != NULL && PyUnicode_Compare(version, one) < 0;
    Py_XDECREF(one);
    Py_XDECREF(version);
    Py_XDECREF(numpy);
    if (!served && !PyErr_Occurred())
        PyErr_SetString(PyExc_ImportError, "_direct was compiled for NumPy 1");
    return served;
#else
    return true;
#endif
}

PyMODINIT_FUNC PyInit__direct(void)
{
    static PyMethodDef functions[] = {
        {"use", use, METH_VARARGS,
         "use(addresses of sgemm, sasum, ssum, sdot; thread, blocks, Context, check)"},
        {"sgemm", sgemm, METH_VARARGS, "sgemm(ctx, a, b, c, alpha, beta)"},
        {"sasum", sasum, METH_VARARGS, "sasum(ctx, x)"},
        {"ssum", ssum, METH_VARARGS, "ssum(ctx, x)"},
        {"sdot", sdot, METH_VARARGS, "sdot(ctx, x, y)"},
        {NULL, NULL, 0, NULL},
    };
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, "_direct", NULL, -1, functions, NULL, NULL, NULL, NULL};
    if (!is_served_by_numpy()) return NULL;
    import_array();
    const struct {
        PyObject **to;
        const char *name;
    } names[] = {{&in_own, "own"},        {&in_last, "last"},          {&in_last_call, "_last"},
                 {&in_blocks, "_blocks"}, {&in_long_way, "_long_way"}, {&in_handle, "_handle"},
                 {&in_lock, "_own"},      {&in_acquire, "acquire"},    {&in_release, "release"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((*names[i].to = PyUnicode_InternFromString(names[i].name)) == NULL) return NULL;
    PyObject *const module = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED
    if (module != NULL) PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    return module;
}
