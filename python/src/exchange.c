#include "exchange.h"

/* ---- DLPack's structures, under names of our own ---- */

enum { MAJOR = 1, FLOAT = 2, READ_ONLY = 1, COPIED = 2 }; /* flags: the last two */
enum { CPU = 1, CUDA = 2, PINNED = 3 };

typedef struct tensor {
    void *data;
    int32_t device_type, device;
    int32_t axes;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides NULL: in C order */
    uint64_t offset;          /* in bytes */
} tensor;

typedef struct managed {
    uint32_t major, minor;
    void *manager;
    void (*end)(struct managed *);
    uint64_t flags;
    tensor tensor;
} managed;

struct exchange_api {
    uint32_t major, minor;
    const struct exchange_api *previous;
    void (*allocate)(void);
    int (*managed_of)(void *array, managed **out);
    void (*array_of)(void);
    void (*tensor_of)(void);
    int (*stream_of)(int32_t device_type, int32_t device, void **stream);
};

/* CUDA's default stream: its own name, and the library's and the package's (_cuda.py). */
enum { DEFAULT_STREAM = 0, LEGACY_STREAM = 1 };

void operand_span(const operand *o, uintptr_t *low, uintptr_t *high)
{
    const float *first = o->x, *last = o->x;
    for (int i = 0; i < o->axes; i++) {
        const int64_t reach = (o->shape[i] - 1) * o->steps[i];
        *(reach < 0 ? &first : &last) += reach;
    }
    *low = (uintptr_t)first;
    *high = (uintptr_t)(last + 1);
}

/* ---- Reading ---- */

static PyObject *in_exchange, *in_dlpack, *in_dlpack_device, *in_requires_grad, *in_is_neg;

bool exchange_begin(void)
{
    in_exchange = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
    in_dlpack = PyUnicode_InternFromString("__dlpack__");
    in_dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
    in_requires_grad = PyUnicode_InternFromString("requires_grad");
    in_is_neg = PyUnicode_InternFromString("is_neg");
    return in_exchange != NULL && in_dlpack != NULL && in_dlpack_device != NULL &&
           in_requires_grad != NULL && in_is_neg != NULL;
}

/* The table lives as long as the process. */
static const exchange_api *api_of(PyObject *array)
{
    PyObject *const capsule = PyObject_GetAttr((PyObject *)Py_TYPE(array), in_exchange);
    const exchange_api *const api =
        capsule != NULL ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    Py_XDECREF(capsule);
    PyErr_Clear();
    return api != NULL && api->major == MAJOR ? api : NULL;
}

/* Does PyTorch know more of a tensor than its elements in memory? Its exchange does not tell: a
 * gradient that is wanted, or a minus sign that is still to be applied. */
static bool is_more(PyObject *array)
{
    PyObject *answer = PyObject_GetAttr(array, in_requires_grad);
    if (answer == NULL) { /* it has no such attribute: it is not PyTorch's */
        const bool refused = !PyErr_ExceptionMatches(PyExc_AttributeError);
        PyErr_Clear();
        return refused;
    }
    if (answer == Py_False) {
        Py_DECREF(answer);
        answer = PyObject_CallMethodObjArgs(array, in_is_neg, NULL);
    }
    const bool more = answer != Py_False;
    Py_XDECREF(answer);
    PyErr_Clear();
    return more;
}

static bool is_usable(const managed *m, bool written)
{
    const tensor *const t = &m->tensor;
    if (m->major != MAJOR || (m->flags & COPIED) != 0 || (written && (m->flags & READ_ONLY) != 0))
        return false;
    if (t->device_type != CPU && t->device_type != CUDA && t->device_type != PINNED) return false;
    if (t->code != FLOAT || t->bits != 8 * sizeof(float) || t->lanes != 1 || t->axes < 0 ||
        t->axes > 2 || t->data == NULL || ((uintptr_t)t->data + t->offset) % sizeof(float) != 0)
        return false;
    for (int i = 0; i < t->axes; i++)
        if (t->shape[i] == 0) return false;
    return true;
}

static operand described(const tensor *t, const exchange_api *api, uintptr_t stream)
{
    operand o = {.api = api, .stream = stream, .axes = t->axes};
    o.x = (float *)((char *)t->data + t->offset);
    o.device = t->device_type == CUDA ? t->device : HOST;
    int64_t next = 1;
    for (int i = t->axes - 1; i >= 0; i--) {
        o.shape[i] = t->shape[i];
        o.steps[i] = t->strides != NULL ? t->strides[i] : next;
        next *= t->shape[i];
    }
    return o;
}

bool exchange_read(PyObject *array, bool written, operand *o)
{
    const exchange_api *const api = api_of(array);
    managed *m = NULL;
    if (api == NULL || is_more(array)) return false;
    if (api->managed_of(array, &m) != 0 || m == NULL) {
        PyErr_Clear();
        return false;
    }
    const bool usable = is_usable(m, written);
    if (usable) *o = described(&m->tensor, api, 0);
    if (m->end != NULL) m->end(m); /* the array itself keeps its memory */
    return usable;
}

/* An exception ends the quick way. One that the long way raises again is forgotten here; others, as
 * of Ctrl-C, stay. */
static void forget_exception(void)
{
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
}

int exchange_device(PyObject *array)
{
    PyObject *const where = PyObject_CallMethodObjArgs(array, in_dlpack_device, NULL);
    int device = HOST;
    if (where != NULL && PyTuple_Check(where) && PyTuple_Size(where) == 2 &&
        PyLong_AsLong(PyTuple_GetItem(where, 0)) == CUDA)
        device = (int)PyLong_AsLong(PyTuple_GetItem(where, 1));
    Py_XDECREF(where);
    forget_exception();
    return device;
}

/* NULL: there is an exception. */
static PyObject *capsule_of(PyObject *array, uintptr_t stream)
{
    PyObject *const method = PyObject_GetAttr(array, in_dlpack);
    PyObject *const none = PyTuple_New(0);
    PyObject *const named = Py_BuildValue("{s:K,s:(ii)}", "stream", (unsigned long long)stream,
                                          "max_version", MAJOR, 0);
    PyObject *const capsule =
        method != NULL && none != NULL && named != NULL ? PyObject_Call(method, none, named) : NULL;
    Py_XDECREF(named);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return capsule;
}

bool exchange_ask(PyObject *array, bool written, uintptr_t stream, operand *o)
{
    PyObject *const capsule = !is_more(array) ? capsule_of(array, stream) : NULL;
    const char *const name = "dltensor_versioned";
    const managed *const m = capsule != NULL && PyCapsule_IsValid(capsule, name)
                                 ? PyCapsule_GetPointer(capsule, name)
                                 : NULL;
    const bool usable = m != NULL && is_usable(m, written) && m->tensor.device_type == CUDA;
    if (usable) *o = described(&m->tensor, NULL, stream);
    Py_XDECREF(capsule); /* the array itself keeps its memory */
    forget_exception();
    return usable;
}

bool exchange_precedes(const operand *o, uintptr_t stream)
{
    void *current = NULL;
    if (o->api == NULL) return o->stream == stream;
    if (o->api->stream_of(CUDA, o->device, &current) != 0) {
        PyErr_Clear();
        return false;
    }
    return ((uintptr_t)current == DEFAULT_STREAM ? LEGACY_STREAM : (uintptr_t)current) == stream;
}
