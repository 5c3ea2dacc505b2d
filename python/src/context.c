#include "context.h"

static package of;

/* Names of attributes: of the thread-local object (_scope.py), of a context (_context.py), of a
 * lock, and of ranges (_ranges.py). */
static PyObject *in_contexts, *in_last, *in_last_call, *in_note_call, *in_blocks, *in_long_way,
    *in_handle, *in_device, *in_stream, *in_waits, *in_lock, *in_acquire, *in_release, *in_known,
    *in_low, *in_high, *in_needed, *in_lasting, *in_need, *in_let_go;

bool context_begin(void)
{
    const struct {
        PyObject **to;
        const char *name;
    } names[] = {{&in_contexts, "contexts"}, {&in_last, "last"},
                 {&in_last_call, "_last"},   {&in_note_call, "_note_call"},
                 {&in_blocks, "_blocks"},    {&in_long_way, "_long_way"},
                 {&in_handle, "_handle"},    {&in_device, "_device"},
                 {&in_stream, "_stream"},    {&in_waits, "_waits"},
                 {&in_lock, "_own"},         {&in_acquire, "acquire"},
                 {&in_release, "release"},   {&in_known, "_known"},
                 {&in_low, "low"},           {&in_high, "high"},
                 {&in_needed, "needed"},     {&in_lasting, "lasting"},
                 {&in_need, "need"},         {&in_let_go, "let_go"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((*names[i].to = PyUnicode_InternFromString(names[i].name)) == NULL) return false;
    return true;
}

void context_use(const package *from)
{
    of = *from;
    Py_INCREF(of.thread);
    Py_INCREF(of.blocks);
    Py_INCREF(of.context);
    Py_INCREF(of.check);
    Py_INCREF(of.adopted);
}

/* ---- Attributes ---- */

/* True or false, of an attribute that is a bool or an int; absent counts as false. */
static bool is_set(PyObject *object, PyObject *name)
{
    PyObject *const value = PyObject_GetAttr(object, name);
    const bool set = value != NULL && PyObject_IsTrue(value) == 1;
    Py_XDECREF(value);
    PyErr_Clear();
    return set;
}

/* An attribute that is an int; false: it is not. */
static bool number_of(PyObject *object, PyObject *name, uintptr_t *number)
{
    PyObject *const value = PyObject_GetAttr(object, name);
    const bool is_int = value != NULL && PyLong_CheckExact(value);
    if (is_int) *number = (uintptr_t)PyLong_AsVoidPtr(value);
    Py_XDECREF(value);
    const bool good = is_int && PyErr_Occurred() == NULL;
    PyErr_Clear();
    return good;
}

/* False: there is an exception, as of Ctrl-C. */
static bool call_method(PyObject *object, PyObject *name)
{
    PyObject *const done = PyObject_CallMethodObjArgs(object, name, NULL);
    Py_XDECREF(done);
    return done != NULL;
}

/* Releases a lock; an exception that there is stays. False: there is a new one. */
static bool release(PyObject *lock)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const bool done = call_method(lock, in_release);
    if (type == NULL) return done;
    PyErr_Restore(type, value, trace); /* in place of a new one */
    return true;
}

/* ---- The context ---- */

/* The thread's own context for arrays on a device, or in host memory. NULL: it has to be made. */
static PyObject *own_context(int device)
{
    PyObject *const contexts = PyObject_GetAttr(of.thread, in_contexts);
    PyObject *const key = device != HOST ? PyLong_FromLong(device) : NULL;
    PyObject *const found =
        contexts != NULL ? PyDict_GetItem(contexts, key != NULL ? key : Py_None) : NULL;
    Py_XINCREF(found);
    Py_XDECREF(key);
    Py_XDECREF(contexts);
    return found;
}

/* The context of a call without one: of the innermost block, or the thread's own. NULL: it has to
 * be made, or looked for. */
static PyObject *context_around(int device)
{
    PyObject *found = NULL;
    PyObject *const blocks = PyObject_CallObject(of.blocks, NULL);
    const Py_ssize_t count = blocks != NULL ? PyTuple_Size(blocks) : -1;
    if (count == 0) {
        found = own_context(device);
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
    PyObject *const last = PyObject_GetAttr(of.thread, in_last);
    PyObject *const of_context = PyObject_GetAttr(context, in_last_call);
    const bool noted = last != NULL && last != Py_None && of_context != NULL &&
                       PyWeakref_CheckRef(of_context) && PyWeakref_GetObject(of_context) == last;
    Py_XDECREF(of_context);
    Py_XDECREF(last);
    PyErr_Clear();
    return noted;
}

/* `explain` has to find this call, if the thread's last one was in another context. False: there is
 * an exception. */
static bool note_call(PyObject *context)
{
    if (is_noted(context)) return true;
    PyObject *const handle = PyObject_GetAttr(context, in_handle);
    PyObject *const none =
        handle != NULL ? PyObject_CallMethodObjArgs(context, in_note_call, handle, NULL) : NULL;
    Py_XDECREF(none);
    Py_XDECREF(handle);
    return none != NULL;
}

uintptr_t context_stream(PyObject *given, int device)
{
    uintptr_t stream = 0;
    PyObject *const found = given == Py_None ? context_around(device) : given;
    if (found != NULL && (PyObject *)Py_TYPE(found) == of.context)
        (void)number_of(found, in_stream, &stream);
    if (found != given) Py_XDECREF(found);
    return stream;
}

/* What the call has to know of a context that is locked; false: it goes the long way, or there is
 * an exception. */
static bool look_at(call *this, PyObject *context, int device)
{
    uintptr_t handle, own = (uintptr_t)HOST, stream = 0;
    if (!number_of(context, in_handle, &handle) || !note_call(context)) return false;
    if (device != HOST &&
        !(number_of(context, in_device, &own) && number_of(context, in_stream, &stream)))
        return false;
    *this = (call){.context = context,
                   .handle = (duo_context *)handle,
                   .device = (int)own,
                   .stream = stream,
                   .waits = device != HOST && is_set(context, in_waits)};
    return true;
}

bool call_begin(call *this, PyObject *given, int device)
{
    PyObject *const found = given == Py_None ? context_around(device) : given;
    if (found != NULL && found == given) Py_INCREF(found);
    PyObject *lock = NULL;
    if (found != NULL && (PyObject *)Py_TYPE(found) == of.context && !is_set(found, in_long_way)) {
        lock = PyObject_GetAttr(found, in_lock);
        if (lock == NULL) PyErr_Clear();
    }
    bool begun = lock != NULL && call_method(lock, in_acquire);
    if (begun && !look_at(this, found, device)) {
        (void)release(lock);
        begun = false;
    }
    Py_XDECREF(lock);
    if (!begun) Py_XDECREF(found);
    return begun;
}

/* ---- Ranges on a device ---- */

/* The range that holds these bytes, if it is known for longer than a call; else NULL. The ranges
 * are in the order of their addresses, and locked. */
static PyObject *lasting_range(PyObject *known, uintptr_t low, uintptr_t high)
{
    Py_ssize_t first = 0, last = PyList_Size(known); /* the first one above `low` is between */
    uintptr_t from, to;
    while (first < last) {
        const Py_ssize_t middle = first + (last - first) / 2;
        if (!number_of(PyList_GetItem(known, middle), in_low, &from)) return NULL;
        if (from > low)
            last = middle;
        else
            first = middle + 1;
    }
    PyObject *const range = first > 0 ? PyList_GetItem(known, first - 1) : NULL;
    if (range == NULL || !number_of(range, in_high, &to) || to < high || !is_set(range, in_lasting))
        return NULL;
    return range;
}

/* Adds to the number of those who need a range; false: there is an exception. */
static bool add_need(PyObject *range, int more)
{
    uintptr_t needed;
    PyObject *const sum =
        number_of(range, in_needed, &needed) ? PyLong_FromLong((long)needed + more) : NULL;
    const bool done = sum != NULL && PyObject_SetAttr(range, in_needed, sum) == 0;
    Py_XDECREF(sum);
    return done;
}

/* The range that holds these bytes for longer than the call, which needs it now. NULL: there is no
 * such range, or there is an exception. */
static PyObject *hold_lasting(uintptr_t low, uintptr_t high)
{
    PyObject *const lock = PyObject_GetAttr(of.adopted, in_lock);
    PyObject *range = NULL;
    if (lock != NULL && call_method(lock, in_acquire)) {
        PyObject *const known = PyObject_GetAttr(of.adopted, in_known);
        if (known != NULL) range = lasting_range(known, low, high);
        if (range != NULL && !add_need(range, 1)) range = NULL;
        Py_XINCREF(range);
        Py_XDECREF(known);
        (void)release(lock);
    }
    Py_XDECREF(lock);
    return range;
}

/* The allocation that holds these bytes, which is known from now on, or was before. NULL: there is
 * an exception. */
static PyObject *hold_for_call(const call *this, uintptr_t low, uintptr_t high)
{
    PyObject *const handle = PyLong_FromVoidPtr(this->handle);
    PyObject *const from = PyLong_FromVoidPtr((void *)low);
    PyObject *const bytes = PyLong_FromVoidPtr((void *)(high - low));
    PyObject *const range =
        handle != NULL && from != NULL && bytes != NULL
            ? PyObject_CallMethodObjArgs(of.adopted, in_need, handle, from, bytes, Py_False, NULL)
            : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(from);
    Py_XDECREF(handle);
    return range;
}

/* The range of the operand stays known until the end of the call; false: there is an exception. */
static bool hold(call *this, const operand *o)
{
    uintptr_t low, high;
    operand_span(o, &low, &high);
    for (int i = 0; i < this->count; i++)
        if (this->held[i].low <= low && high <= this->held[i].high) return true;
    held *const h = &this->held[this->count];
    h->range = hold_lasting(low, high);
    if (h->range == NULL && PyErr_Occurred() == NULL) {
        h->range = hold_for_call(this, low, high);
        this->waits = true;
    }
    if (h->range == NULL) return false;
    this->count++;
    return number_of(h->range, in_low, &h->low) && number_of(h->range, in_high, &h->high);
}

/* As _ranges.py does; the last one leaves it to that. False: there is an exception. */
static bool let_go(PyObject *range)
{
    uintptr_t needed;
    PyObject *const lock = PyObject_GetAttr(of.adopted, in_lock);
    bool good = lock != NULL && call_method(lock, in_acquire);
    if (good) {
        const bool last = !number_of(range, in_needed, &needed) || needed <= 1;
        good = last || add_need(range, -1);
        good = release(lock) && good;
        if (good && last) {
            PyObject *const none =
                PyObject_CallMethodObjArgs(of.adopted, in_let_go, Py_None, range, Py_False, NULL);
            good = none != NULL;
            Py_XDECREF(none);
        }
    }
    Py_XDECREF(lock);
    return good;
}

bool call_add(call *this, const operand *o)
{
    return o->device == HOST ||
           (o->device == this->device && exchange_precedes(o, this->stream) && hold(this, o));
}

/* ---- The end ---- */

static bool check(const call *this, duo_status status)
{
    if (status == DUO_OK) return true;
    PyObject *const handle = PyObject_GetAttr(this->context, in_handle);
    PyObject *const none =
        handle != NULL ? PyObject_CallFunction(of.check, "iO", (int)status, handle) : NULL;
    Py_XDECREF(none);
    Py_XDECREF(handle);
    return none != NULL;
}

bool call_end(call *this, duo_status status)
{
    if (status == DUO_OK && this->waits && this->count > 0) {
        Py_BEGIN_ALLOW_THREADS status = of.synchronize(this->handle);
        Py_END_ALLOW_THREADS
    }
    bool good = PyErr_Occurred() == NULL && check(this, status);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    for (int i = 0; i < this->count; i++) {
        if (!let_go(this->held[i].range)) {
            good = false;
            if (type == NULL)
                PyErr_Fetch(&type, &value, &trace);
            else
                PyErr_Clear();
        }
        Py_DECREF(this->held[i].range);
    }
    PyObject *const lock = PyObject_GetAttr(this->context, in_lock);
    if (lock != NULL) (void)release(lock);
    Py_XDECREF(lock);
    if (type != NULL) PyErr_Restore(type, value, trace);
    Py_DECREF(this->context);
    return good;
}
