/*
 * direct.c - the module duoblas._direct: the calls of nearly all programs, on NumPy's own float32
 * arrays in host memory, without a line of Python between. Everything else goes the long way, by
 * python/duoblas/_operations.py, which also raises the errors.
 *
 * Functions return None if a call has to go the long way, and then have done nothing; a number if
 * the library returned this status; else the result. The interpreter's lock is free while the
 * library works. The library is the one that the package has opened: it gives its addresses (use).
 * Nothing here is changed after that, so threads need no lock.
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

static PyObject *use(PyObject *module, PyObject *arguments)
{
    PyObject *given[4];
    void *address[4];
    (void)module;
    if (!PyArg_UnpackTuple(arguments, "use", 4, 4, &given[0], &given[1], &given[2], &given[3]))
        return NULL;
    for (int i = 0; i < 4; i++) {
        address[i] = PyLong_AsVoidPtr(given[i]);
        if (PyErr_Occurred()) return NULL;
    }
    memcpy(&library, address, sizeof library);
    Py_RETURN_NONE;
}

/* ---- Arguments ---- */

/* A context's handle; NULL: it is closed. */
static duo_context *context_of(PyObject *handle)
{
    void *const address = PyLong_CheckExact(handle) ? PyLong_AsVoidPtr(handle) : NULL;
    if (PyErr_Occurred()) PyErr_Clear();
    return address;
}

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

/* sgemm(handle, a, b, c or None, alpha, beta): c. */
static PyObject *sgemm(PyObject *module, PyObject *arguments)
{
    PyObject *handle, *given_a, *given_b, *given_c, *given_alpha, *given_beta;
    matrix a, b, c;
    float alpha, beta;
    (void)module;
    if (!PyArg_UnpackTuple(arguments, "sgemm", 6, 6, &handle, &given_a, &given_b, &given_c,
                           &given_alpha, &given_beta))
        return NULL;
    duo_context *const context = context_of(handle);
    if (context == NULL || !matrix_of(given_a, &a) || !matrix_of(given_b, &b) ||
        a.columns != b.rows || !real_of(given_alpha, &alpha) || !real_of(given_beta, &beta))
        Py_RETURN_NONE;
    const npy_intp shape[2] = {a.rows, b.columns};
    PyObject *result = given_c;
    if (given_c != Py_None) {
        if (!matrix_of(given_c, &c) || !PyArray_ISWRITEABLE((PyArrayObject *)given_c) ||
            c.rows != shape[0] || c.columns != shape[1] || may_overlap(&a, &c) ||
            may_overlap(&b, &c))
            Py_RETURN_NONE;
        Py_INCREF(result);
    } else {
        if (beta != 0.0f) Py_RETURN_NONE;
        result = PyArray_SimpleNew(2, shape, NPY_FLOAT);
        if (result == NULL) return NULL;
        (void)matrix_of(result, &c);
    }
    duo_status status;
    Py_BEGIN_ALLOW_THREADS status =
        library.sgemm(context, c.by_rows ? DUO_ROW_MAJOR : DUO_COL_MAJOR,
                      a.by_rows == c.by_rows ? DUO_NO_TRANS : DUO_TRANS,
                      b.by_rows == c.by_rows ? DUO_NO_TRANS : DUO_TRANS, a.rows, b.columns,
                      a.columns, alpha, a.x, a.ld, b.x, b.ld, beta, c.x, c.ld);
    Py_END_ALLOW_THREADS if (status == DUO_OK) return result;
    Py_DECREF(result);
    return PyLong_FromLong(status);
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

static PyObject *number(duo_status status, float value)
{
    if (status != DUO_OK) return PyLong_FromLong(status);
    PyArray_Descr *const type = PyArray_DescrFromType(NPY_FLOAT);
    PyObject *const scalar = PyArray_Scalar(&value, type, NULL);
    Py_DECREF(type);
    return scalar;
}

/* ssum(handle, x), sasum(handle, x) */
static PyObject *sum_by(PyObject *arguments, int which)
{
    PyObject *handle, *given;
    vector x;
    float value;
    if (!PyArg_UnpackTuple(arguments, "sum", 2, 2, &handle, &given)) return NULL;
    duo_context *const context = context_of(handle);
    if (context == NULL || !vector_of(given, &x) || x.step < 1) Py_RETURN_NONE;
    duo_status status;
    Py_BEGIN_ALLOW_THREADS status = library.sum[which](context, x.n, x.x, x.step, &value);
    Py_END_ALLOW_THREADS return number(status, value);
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

/* sdot(handle, x, y) */
static PyObject *sdot(PyObject *module, PyObject *arguments)
{
    PyObject *handle, *given_x, *given_y;
    vector x, y;
    float value;
    (void)module;
    if (!PyArg_UnpackTuple(arguments, "sdot", 3, 3, &handle, &given_x, &given_y)) return NULL;
    duo_context *const context = context_of(handle);
    if (context == NULL || !vector_of(given_x, &x) || !vector_of(given_y, &y) || x.n != y.n)
        Py_RETURN_NONE;
    duo_status status;
    Py_BEGIN_ALLOW_THREADS status = library.sdot(context, x.n, x.x, x.step, y.x, y.step, &value);
    Py_END_ALLOW_THREADS return number(status, value);
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
        {"use", use, METH_VARARGS, "use(sgemm, sasum, ssum, sdot): addresses in the library"},
        {"sgemm", sgemm, METH_VARARGS, "sgemm(handle, a, b, c, alpha, beta)"},
        {"sasum", sasum, METH_VARARGS, "sasum(handle, x)"},
        {"ssum", ssum, METH_VARARGS, "ssum(handle, x)"},
        {"sdot", sdot, METH_VARARGS, "sdot(handle, x, y)"},
        {NULL, NULL, 0, NULL},
    };
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, "_direct", NULL, -1, functions, NULL, NULL, NULL, NULL};
    if (!is_served_by_numpy()) return NULL;
    import_array();
    PyObject *const module = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED
    if (module != NULL) PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    return module;
}
