/* SPDX-License-Identifier: MIT */
/* Calls a Python function for each event, for the module `simpletrace`. The functions get values as from QEMU's
 * simpletrace.py: numbers as unsigned 64 bits, strings as bytes. */
#include "python/strata_module.h"

/* The arguments of the function. */
enum call_style {
    CALL_VALUES = 0,   /* the values */
    CALL_TIME = 1,     /* the time, the values */
    CALL_TIME_PID = 2, /* the time, the thread, the values */
    CALL_CATCHALL = 3, /* the event, a tuple: name, time, thread, values */
    /* The values, and event, event_id, timestamp_ns and pid as keyword arguments. */
    CALL_KEYWORDS = 4,
    CALL_NOTHING = 5,
};

#define ARGUMENTS_MAX 160

struct handler {
    PyObject *function; /* NULL before look_up was called */
    PyObject *event;    /* what the caller passes as the event */
    PyObject *id;       /* its name */
    enum call_style style;
};

struct dispatch {
    struct py_trace *trace;
    /* Called with an EventClass, or with None for lost events; returns (function, event, id, style). */
    PyObject *look_up;
    PyObject *make_time;      /* called with the number of a time */
    PyObject *keywords;       /* ("event", "event_id", "timestamp_ns", "pid") */
    struct handler *handlers; /* by class number; the first one is for losses */
    unsigned n_handlers;
};

static PyObject *raw_value(const struct strata_value *value)
{
    switch (value->type) {
    case STRATA_VALUE_STRING:
    case STRATA_VALUE_BYTES:
    case STRATA_VALUE_ARRAY: return PyBytes_FromStringAndSize(value->data, (Py_ssize_t)value->size);
    default: return PyLong_FromUnsignedLongLong(value->u);
    }
}

static bool look_up(struct dispatch *dispatch, struct handler *handler, PyObject *class)
{
    PyObject *found = PyObject_CallOneArg(dispatch->look_up, class);
    int style;
    bool done = found && PyArg_ParseTuple(found, "OOOi", &handler->function, &handler->event,
                                          &handler->id, &style);

    if (done) {
        Py_INCREF(handler->function);
        Py_INCREF(handler->event);
        Py_INCREF(handler->id);
        handler->style = (enum call_style)style;
    } else {
        handler->function = NULL;
    }
    Py_XDECREF(found);
    return done;
}

/* The handler of ITEM. NULL with an exception. */
static struct handler *handler_of(struct dispatch *dispatch, const struct strata_reader_item *item)
{
    unsigned i = item->event_class ? item->event_class->index + 1 : 0;
    struct handler *handler;
    PyObject *class = Py_None;

    if (i >= dispatch->n_handlers) {
        unsigned n = i < 64 ? 128 : 2 * i;
        struct handler *bigger = PyMem_Realloc(dispatch->handlers, n * sizeof *bigger);

        if (!bigger) {
            PyErr_NoMemory();
            return NULL;
        }
        memset(bigger + dispatch->n_handlers, 0, (n - dispatch->n_handlers) * sizeof *bigger);
        dispatch->handlers = bigger;
        dispatch->n_handlers = n;
    }
    handler = &dispatch->handlers[i];
    if (handler->function)
        return handler;
    if (item->event_class)
        class = (PyObject *)py_trace_class(dispatch->trace, item);
    return class && look_up(dispatch, handler, class) ? handler : NULL;
}

/* Puts the values of ITEM into ARGS. False with an exception. In both cases *N of ARGS are set. */
static bool put_values(const struct dispatch *dispatch, const struct strata_reader_item *item,
                       PyObject **args, unsigned *n)
{
    unsigned n_fields = item->event_class ? item->event_class->n_fields : 1;

    for (unsigned i = 0; i < n_fields && *n < ARGUMENTS_MAX; i++) {
        if (item->event_class) {
            struct strata_value value = strata_reader_field(dispatch->trace->reader, i);

            args[*n] = raw_value(&value);
        } else {
            args[*n] = PyLong_FromUnsignedLongLong(item->lost);
        }
        if (!args[*n])
            return false;
        ++*n;
    }
    return true;
}

static bool add(PyObject **args, unsigned *n, PyObject *object)
{
    args[*n] = object;
    *n += object != NULL;
    return object;
}

static PyObject *time_of(const struct strata_reader_item *item)
{
    return PyLong_FromUnsignedLongLong((uint64_t)py_time_ns(item->time, item->source->clock_hz));
}

/* Makes a tuple of the name, the time, the thread and the values. */
static PyObject *record_of(const struct dispatch *dispatch, const struct handler *handler,
                           const struct strata_reader_item *item)
{
    PyObject *args[ARGUMENTS_MAX + 3];
    PyObject *tuple = NULL;
    unsigned n = 0;

    if (add(args, &n, Py_NewRef(handler->id)) && add(args, &n, time_of(item)) &&
        add(args, &n, PyLong_FromUnsignedLong((uint32_t)item->pid)) &&
        put_values(dispatch, item, args, &n))
        tuple = PyTuple_New(n);
    for (unsigned i = 0; i < n; i++) {
        if (tuple)
            PyTuple_SET_ITEM(tuple, i, args[i]);
        else
            Py_DECREF(args[i]);
    }
    return tuple;
}

static PyObject *call(const struct dispatch *dispatch, const struct handler *handler,
                      const struct strata_reader_item *item)
{
    PyObject *args[ARGUMENTS_MAX + 8];
    PyObject *result = NULL, *time = NULL;
    unsigned n = 0, n_named = 0;
    bool done = true;

    switch (handler->style) {
    case CALL_NOTHING: Py_RETURN_NONE;
    case CALL_CATCHALL:
        done = add(args, &n, Py_NewRef(handler->event)) &&
               add(args, &n, record_of(dispatch, handler, item));
        break;
    case CALL_TIME:
        time = time_of(item);
        done = time && add(args, &n, PyObject_CallOneArg(dispatch->make_time, time)) &&
               put_values(dispatch, item, args, &n);
        Py_XDECREF(time);
        break;
    case CALL_TIME_PID:
        done = add(args, &n, time_of(item)) &&
               add(args, &n, PyLong_FromUnsignedLong((uint32_t)item->pid)) &&
               put_values(dispatch, item, args, &n);
        break;
    case CALL_KEYWORDS:
        done = put_values(dispatch, item, args, &n);
        n_named = n;
        done = done && add(args, &n, Py_NewRef(handler->event)) &&
               add(args, &n, Py_NewRef(handler->id)) && add(args, &n, time_of(item)) &&
               add(args, &n, PyLong_FromUnsignedLong((uint32_t)item->pid));
        n_named = n - n_named;
        break;
    case CALL_VALUES: done = put_values(dispatch, item, args, &n); break;
    }
    if (done)
        result = PyObject_Vectorcall(handler->function, args, n - n_named,
                                     n_named ? dispatch->keywords : NULL);
    for (unsigned i = 0; i < n; i++)
        Py_DECREF(args[i]);
    return result;
}

static bool run(struct dispatch *dispatch)
{
    struct strata_reader *reader = dispatch->trace->reader;
    unsigned long n = 0;
    int kind;

    while ((kind = strata_reader_next(reader)) > 0) {
        const struct strata_reader_item *item = strata_reader_item(reader);
        struct handler *handler = item ? handler_of(dispatch, item) : NULL;
        PyObject *result;

        if (!handler) {
            if (!item)
                PyErr_NoMemory();
            return false;
        }
        if (kind == STRATA_READER_LOSS)
            py_trace_count_loss(dispatch->trace, item);
        result = call(dispatch, handler, item);
        if (!result)
            return false;
        Py_DECREF(result);
        /* A function in C does not look for Ctrl-C. */
        if (++n % 4096 == 0 && PyErr_CheckSignals() < 0)
            return false;
        if (!dispatch->trace->reader) {
            PyErr_SetString(PyExc_ValueError, "the trace is closed");
            return false;
        }
    }
    if (kind < 0)
        py_raise(reader, kind);
    return kind == 0;
}

PyObject *py_dispatch(PyObject *module, PyObject *args)
{
    struct dispatch dispatch = {0};
    bool done;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!OO:_dispatch", &py_trace_type, (PyObject **)&dispatch.trace,
                          &dispatch.look_up, &dispatch.make_time) ||
        !py_trace_is_open(dispatch.trace))
        return NULL;
    dispatch.keywords = Py_BuildValue("(ssss)", "event", "event_id", "timestamp_ns", "pid");
    done = dispatch.keywords && run(&dispatch);
    for (unsigned i = 0; i < dispatch.n_handlers; i++) {
        Py_XDECREF(dispatch.handlers[i].function);
        if (dispatch.handlers[i].function) {
            Py_DECREF(dispatch.handlers[i].event);
            Py_DECREF(dispatch.handlers[i].id);
        }
    }
    PyMem_Free(dispatch.handlers);
    Py_XDECREF(dispatch.keywords);
    if (!done)
        return NULL;
    Py_RETURN_NONE;
}
