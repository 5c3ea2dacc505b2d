/*
 * direct.c - the module duoblas._direct: the calls of nearly all programs, on float32 arrays of
 * NumPy and of libraries with DLPack's exchange in C, without a line of Python between. All else
 * goes the long way, by python/duoblas/_operations.py, which also raises the errors of arguments.
 *
 * Functions return None if a call has to go the long way, and then have done nothing; else the
 * result. The interpreter's lock is free while the library works. The library is the one that the
 * package has opened; the package gives its addresses, and what it knows of contexts (use). Nothing
 * here is changed after that, so threads need no lock.
 */
#include "context.h"
#include "exchange.h"
#include "python.h"

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION    NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

static struct library {
    duo_status (*sgemm)(duo_context *, duo_layout, duo_transpose, duo_transpose, int64_t, int64_t,
                        int64_t, float, const float *, int64_t, const float *, int64_t, float,
                        float *, int64_t);
    duo_status (*sum[2])(duo_context *, int64_t, const float *, int64_t, float *);
    duo_status (*sdot)(duo_context *, int64_t, const float *, int64_t, const float *, int64_t,
                       float *);
} library;

/* _arrays.empty_like: an array for a result, of the library that made another one. */
static PyObject *empty_like;

static PyObject *use(PyObject *module, PyObject *arguments)
{
    enum { OPERATIONS = 4 };
    PyObject *given[OPERATIONS + 1];
    void *address[OPERATIONS + 1];
    package of;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOO", &given[0], &given[1], &given[2], &given[3],
                          &given[OPERATIONS], &of.thread, &of.blocks, &of.context, &of.check,
                          &of.adopted, &empty_like))
        return NULL;
    for (int i = 0; i <= OPERATIONS; i++) {
        address[i] = PyLong_AsVoidPtr(given[i]);
        if (PyErr_Occurred()) return NULL;
    }
    memcpy(&library, address, sizeof library);
    memcpy(&of.synchronize, &address[OPERATIONS], sizeof of.synchronize);
    context_use(&of);
    Py_INCREF(empty_like);
    Py_RETURN_NONE;
}

static PyObject *long_way(void)
{
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
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

/* NumPy's float32 with at most two axes, in this machine's order of bytes, aligned, and not empty.
 * Other kinds of NumPy's arrays have rules of their own. */
static bool of_numpy(PyObject *object, bool written, operand *o)
{
    if (!PyArray_CheckExact(object)) return false;
    PyArrayObject *const array = (PyArrayObject *)object;
    if (PyArray_TYPE(array) != NPY_FLOAT || PyArray_NDIM(array) > 2 || !PyArray_ISALIGNED(array) ||
        PyArray_ISBYTESWAPPED(array) || (written && !PyArray_ISWRITEABLE(array)))
        return false;
    *o = (operand){.x = PyArray_DATA(array), .device = HOST, .axes = PyArray_NDIM(array)};
    for (int i = 0; i < o->axes; i++) {
        o->shape[i] = PyArray_DIM(array, i);
        o->steps[i] = PyArray_STRIDE(array, i) / (npy_intp)sizeof(float);
        if (o->shape[i] == 0 || PyArray_STRIDE(array, i) % (npy_intp)sizeof(float) != 0)
            return false;
    }
    return true;
}

/* An operand of a call in this context, or None. False: it goes the long way, or there is an
 * exception. */
static bool operand_of(PyObject *context, PyObject *object, bool written, operand *o)
{
    if (PyArray_Check(object)) return of_numpy(object, written, o);
    if (exchange_read(object, written, o)) return true;
    const int device = exchange_device(object);
    const uintptr_t stream = device != HOST ? context_stream(context, device) : 0;
    return stream != 0 && exchange_ask(object, written, stream, o);
}

/* The device of the first that is on one, or HOST. */
static int device_of(const operand *x, const operand *y, const operand *z)
{
    return x->device != HOST ? x->device : y->device != HOST ? y->device : z->device;
}

typedef struct matrix {
    operand o;
    int64_t ld;
    bool by_rows; /* rows are contiguous in memory, else columns */
} matrix;

/* Are these runs contiguous, and do they follow each other? Then *ld is their distance. */
static bool has_runs(int64_t count, int64_t next, int64_t length, int64_t step, int64_t *ld)
{
    if (length > 1 && step != 1) return false;
    *ld = count > 1 ? next : length;
    return *ld >= length;
}

static bool matrix_of(PyObject *context, PyObject *object, bool written, matrix *m)
{
    if (!operand_of(context, object, written, &m->o) || m->o.axes != 2) return false;
    const int64_t *const shape = m->o.shape, *const steps = m->o.steps;
    m->by_rows = has_runs(shape[0], steps[0], shape[1], steps[1], &m->ld);
    return m->by_rows || has_runs(shape[1], steps[1], shape[0], steps[0], &m->ld);
}

/* Might they have an element in common? */
static bool may_overlap(const operand *x, const operand *y)
{
    uintptr_t low[2], high[2];
    operand_span(x, &low[0], &high[0]);
    operand_span(y, &low[1], &high[1]);
    return low[0] < high[1] && low[1] < high[0];
}

/* ---- Products ---- */

/* A matrix for a product with this left factor; NULL: there is an exception. */
static PyObject *new_matrix(PyObject *a, int64_t rows, int64_t columns)
{
    const npy_intp shape[2] = {rows, columns};
    return PyArray_Check(a)
               ? PyArray_SimpleNew(2, shape, NPY_FLOAT)
               : PyObject_CallFunction(empty_like, "O(LL)", a, (long long)rows, (long long)columns);
}

/* sgemm(context or None, a, b, c or None, alpha, beta): c. */
static PyObject *sgemm(PyObject *module, PyObject *arguments)
{
    PyObject *given, *given_a, *given_b, *given_c, *given_alpha, *given_beta;
    matrix a, b, c;
    float alpha, beta;
    call of;
    (void)module;
    if (!PyArg_UnpackTuple(arguments, "sgemm", 6, 6, &given, &given_a, &given_b, &given_c,
                           &given_alpha, &given_beta))
        return NULL;
    if (!matrix_of(given, given_a, false, &a) || !matrix_of(given, given_b, false, &b) ||
        !real_of(given_alpha, &alpha) || !real_of(given_beta, &beta))
        return long_way();
    const int64_t m = a.o.shape[0], k = a.o.shape[1], n = b.o.shape[1];
    const bool is_given = given_c != Py_None;
    if (b.o.shape[0] != k || (!is_given && beta != 0.0f)) Py_RETURN_NONE;
    if (is_given && (!matrix_of(given, given_c, true, &c) || may_overlap(&a.o, &c.o) ||
                     may_overlap(&b.o, &c.o)))
        return long_way();
    if (!call_begin(&of, given, device_of(&a.o, &b.o, is_given ? &c.o : &a.o))) return long_way();
    PyObject *result = NULL;
    duo_status status = DUO_OK;
    bool good = call_add(&of, &a.o) && call_add(&of, &b.o);
    if (good) {
        result = is_given ? given_c : new_matrix(given_a, m, n);
        if (is_given) Py_INCREF(result);
        good = result != NULL && (is_given || matrix_of(given, result, true, &c)) &&
               call_add(&of, &c.o) && c.o.shape[0] == m && c.o.shape[1] == n;
    }
    if (good) {
        Py_BEGIN_ALLOW_THREADS status =
            library.sgemm(of.handle, c.by_rows ? DUO_ROW_MAJOR : DUO_COL_MAJOR,
                          a.by_rows == c.by_rows ? DUO_NO_TRANS : DUO_TRANS,
                          b.by_rows == c.by_rows ? DUO_NO_TRANS : DUO_TRANS, m, n, k, alpha, a.o.x,
                          a.ld, b.o.x, b.ld, beta, c.o.x, c.ld);
        Py_END_ALLOW_THREADS
    }
    good = call_end(&of, status) && good;
    if (good) return result;
    Py_XDECREF(result);
    return long_way();
}

/* ---- Reductions ---- */

typedef struct vector {
    operand o;
    const float *x; /* the lowest element in memory */
    int64_t n, step;
} vector;

static bool vector_of(PyObject *context, PyObject *object, vector *v)
{
    if (!operand_of(context, object, false, &v->o) || v->o.axes != 1) return false;
    v->n = v->o.shape[0];
    v->step = v->n > 1 ? v->o.steps[0] : 1;
    v->x = v->o.x + (v->step < 0 ? (v->n - 1) * v->step : 0);
    return true;
}

static PyObject *number(float value)
{
    PyArray_Descr *const type = PyArray_DescrFromType(NPY_FLOAT);
    PyObject *const scalar = PyArray_Scalar(&value, type, NULL);
    Py_DECREF(type);
    return scalar;
}

/* An array of one element. */
static bool place_of(PyObject *context, PyObject *object, operand *o)
{
    if (!operand_of(context, object, true, o)) return false;
    for (int i = 0; i < o->axes; i++)
        if (o->shape[i] != 1) return false;
    return true;
}

enum { SASUM, SSUM, SDOT }; /* the first two as in library.sum */

/* A place for a reduction's result: an array without axes of the library that made x. None: it is a
 * number. NULL: there is an exception. */
static PyObject *new_place(PyObject *x)
{
    PyObject *place = Py_None;
    if (PyArray_Check(x))
        Py_INCREF(place);
    else
        place = PyObject_CallFunction(empty_like, "O()", x);
    if (place == NULL || !PyArray_Check(place)) return place;
    Py_DECREF(place);
    Py_RETURN_NONE;
}

/* A reduction of one vector, or of two, into `out`. None: to a number; NULL: to a new place. */
static PyObject *reduce(PyObject *given, int which, PyObject *given_x, PyObject *given_y,
                        PyObject *out)
{
    vector x, y = {.o = {.device = HOST}};
    float value;
    operand place = {.x = &value, .device = HOST};
    call of;
    if (!vector_of(given, given_x, &x) || (which != SDOT && x.step < 1)) return long_way();
    if (which == SDOT && (!vector_of(given, given_y, &y) || x.n != y.n)) return long_way();
    if (out != NULL && out != Py_None && !place_of(given, out, &place)) return long_way();
    if (!call_begin(&of, given, device_of(&x.o, &y.o, &place))) return long_way();
    PyObject *result = NULL;
    duo_status status = DUO_OK;
    bool good = call_add(&of, &x.o) && call_add(&of, &y.o);
    if (good) {
        result = out == NULL ? new_place(given_x) : out;
        if (out != NULL) Py_INCREF(out);
        good = result != NULL &&
               (result == Py_None || out != NULL || place_of(given, result, &place)) &&
               call_add(&of, &place);
    }
    if (good) {
        Py_BEGIN_ALLOW_THREADS status =
            which == SDOT ? library.sdot(of.handle, x.n, x.x, x.step, y.x, y.step, place.x)
                          : library.sum[which](of.handle, x.n, x.x, x.step, place.x);
        Py_END_ALLOW_THREADS
    }
    good = call_end(&of, status) && good;
    if (good && result != Py_None) return result;
    Py_XDECREF(result);
    return good ? number(value) : long_way();
}

/* ssum(context or None, x, out or None), sasum(context or None, x, out or None) */
static PyObject *sum_by(PyObject *arguments, int which)
{
    PyObject *given, *x, *out;
    if (!PyArg_UnpackTuple(arguments, "sum", 3, 3, &given, &x, &out)) return NULL;
    return reduce(given, which, x, NULL, out);
}
static PyObject *sasum(PyObject *module, PyObject *arguments)
{
    (void)module;
    return sum_by(arguments, SASUM);
}
static PyObject *ssum(PyObject *module, PyObject *arguments)
{
    (void)module;
    return sum_by(arguments, SSUM);
}

/* sdot(context or None, x, y, out or None) */
static PyObject *sdot(PyObject *module, PyObject *arguments)
{
    PyObject *given, *x, *y, *out;
    (void)module;
    if (!PyArg_UnpackTuple(arguments, "sdot", 4, 4, &given, &x, &y, &out)) return NULL;
    return reduce(given, SDOT, x, y, out);
}

/* dot(context or None, x, y): as sdot, to a new place. */
static PyObject *dot(PyObject *module, PyObject *arguments)
{
    PyObject *given, *x, *y;
    (void)module;
    if (!PyArg_UnpackTuple(arguments, "dot", 3, 3, &given, &x, &y)) return NULL;
    return reduce(given, SDOT, x, y, NULL);
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
         "use(addresses of sgemm, sasum, ssum, sdot, synchronize; thread, blocks, Context, check, "
         "adopted, empty_like)"},
        {"sgemm", sgemm, METH_VARARGS, "sgemm(ctx, a, b, c, alpha, beta)"},
        {"sasum", sasum, METH_VARARGS, "sasum(ctx, x, out)"},
        {"ssum", ssum, METH_VARARGS, "ssum(ctx, x, out)"},
        {"sdot", sdot, METH_VARARGS, "sdot(ctx, x, y, out)"},
        {"dot", dot, METH_VARARGS, "dot(ctx, x, y)"},
        {NULL, NULL, 0, NULL},
    };
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, "_direct", NULL, -1, functions, NULL, NULL, NULL, NULL};
    if (!is_served_by_numpy()) return NULL;
    import_array();
    if (!exchange_begin() || !context_begin()) return NULL;
    PyObject *const module = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED
    if (module != NULL) PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    return module;
}
