/* SPDX-License-Identifier: MIT */
/* strata.Event and strata.Loss */
#include <stddef.h>

#include "python/strata_module.h"

PyObject *py_event_new(struct strata_reader *reader, const struct strata_reader_item *item,
                       struct py_class *class, bool names)
{
    struct py_event *self = PyObject_NewVar(struct py_event, &py_event_type, class->n_fields);

    if (!self)
        return NULL;
    self->class = (struct py_class *)Py_NewRef(class);
    self->time = py_time_ns(item->time, class->hz);
    self->time_error = item->time_error_ns;
    self->cpu = item->cpu;
    self->pid = item->pid;
    self->vcpu = item->vcpu;
    for (unsigned i = 0; i < class->n_fields; i++) {
        struct strata_value value = strata_reader_field(reader, i);

        self->values[i] = py_value(&value, names);
        if (!self->values[i]) {
            Py_SET_SIZE(self, i);
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

static void event_dealloc(PyObject *object)
{
    struct py_event *self = (struct py_event *)object;

    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++)
        Py_DECREF(self->values[i]);
    Py_DECREF(self->class);
    PyObject_Free(self);
}

/* The number of field KEY. -1 if there is none, or with an exception. */
static Py_ssize_t field_of(const struct py_event *self, PyObject *key)
{
    PyObject *number = PyDict_GetItemWithError(self->class->places, key);

    return number ? PyLong_AsSsize_t(number) : -1;
}

static PyObject *event_subscript(PyObject *object, PyObject *key)
{
    const struct py_event *self = (const struct py_event *)object;
    Py_ssize_t i = field_of(self, key);

    if (i < 0) {
        if (!PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, key);
        return NULL;
    }
    return Py_NewRef(self->values[i]);
}

static PyObject *event_get(PyObject *object, PyObject *const *args, Py_ssize_t n)
{
    const struct py_event *self = (const struct py_event *)object;
    Py_ssize_t i;

    if (n < 1 || n > 2) {
        PyErr_SetString(PyExc_TypeError, "get() requires a field's name, and maybe a default");
        return NULL;
    }
    i = field_of(self, args[0]);
    if (i < 0 && PyErr_Occurred())
        return NULL;
    return Py_NewRef(i >= 0 ? self->values[i] : n == 2 ? args[1] : Py_None);
}

static int event_contains(PyObject *object, PyObject *key)
{
    Py_ssize_t i = field_of((const struct py_event *)object, key);

    return i >= 0 ? 1 : PyErr_Occurred() ? -1 : 0;
}

static PyObject *event_values(PyObject *object, void *closure)
{
    const struct py_event *self = (const struct py_event *)object;
    PyObject *tuple = PyTuple_New(Py_SIZE(self));

    (void)closure;
    for (Py_ssize_t i = 0; i < Py_SIZE(self) && tuple; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(self->values[i]));
    return tuple;
}

static PyObject *event_as_dict(PyObject *object, PyObject *unused)
{
    const struct py_event *self = (const struct py_event *)object;
    PyObject *dict = PyDict_New();

    (void)unused;
    for (Py_ssize_t i = 0; i < Py_SIZE(self) && dict; i++)
        if (!PyDict_SetDefault(dict, PyTuple_GET_ITEM(self->class->fields, i), self->values[i]))
            Py_CLEAR(dict);
    return dict;
}

static PyObject *event_repr(PyObject *object)
{
    const struct py_event *self = (const struct py_event *)object;
    PyObject *dict = event_as_dict(object, NULL);
    PyObject *repr =
        dict ? PyUnicode_FromFormat("<strata.Event %U:%U time=%lld %R>", self->class->layer,
                                    self->class->name, (long long)self->time, dict)
             : NULL;

    Py_XDECREF(dict);
    return repr;
}

#define CLASS_MEMBER(function, member)                                      \
    static PyObject *function(PyObject *object, void *closure)              \
    {                                                                       \
        (void)closure;                                                      \
        return Py_NewRef(((const struct py_event *)object)->class->member); \
    }
CLASS_MEMBER(event_name, name)
CLASS_MEMBER(event_group, group)
CLASS_MEMBER(event_layer, layer)
CLASS_MEMBER(event_source, source)
CLASS_MEMBER(event_fields, fields)

static PyObject *event_time(PyObject *object, void *closure)
{
    (void)closure;
    return py_time(((const struct py_event *)object)->time, 0);
}

static PyObject *error_of(uint32_t ns)
{
    if (ns == UINT32_MAX)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(ns);
}

static PyObject *event_time_error(PyObject *object, void *closure)
{
    (void)closure;
    return error_of(((const struct py_event *)object)->time_error);
}

static PyGetSetDef event_getset[] = {
    {"name", event_name, NULL, "The event's name: 'sched_switch'.", NULL},
    {"group", event_group, NULL, "The kernel's group: 'sched'; '' where there are no groups.",
     NULL},
    {"layer", event_layer, NULL, "'vmm', 'hypervisor', 'guest', 'host' or 'program'.", NULL},
    {"source", event_source, NULL, "The path of the trace that it is from.", NULL},
    {"fields", event_fields, NULL, "The names of its fields.", NULL},
    {"values", event_values, NULL, "The values of its fields, in their order.", NULL},
    {"time", event_time, NULL,
     "Nanoseconds of the trace's timeline; ticks where the rate of the clock is unknown; None\n"
     "where the time is not known.",
     NULL},
    {"time_error", event_time_error, NULL,
     "The largest possible error of the time in ns; 0: its own clock; None: it is not known, or\n"
     "4294967295 or more.",
     NULL},
    {NULL},
};

static PyMemberDef event_members[] = {
    {"cpu", T_INT, offsetof(struct py_event, cpu), READONLY, "-1: not known."},
    {"pid", T_INT, offsetof(struct py_event, pid), READONLY, "The thread's number; -1: not known."},
    {"vcpu", T_INT, offsetof(struct py_event, vcpu), READONLY,
     "-1: not known. Of Xen: 65536 times the domain's number plus its number in the domain."},
    {"event_class", T_OBJECT, offsetof(struct py_event, class), READONLY, "Its EventClass."},
    {NULL},
};

static PyMethodDef event_methods[] = {
    {"get", (PyCFunction)(void (*)(void))event_get, METH_FASTCALL,
     "get(field, default=None): the value of a field, or the default where there is no such "
     "field."},
    {"as_dict", event_as_dict, METH_NOARGS, "The values by the names of their fields."},
    {NULL},
};

static PyMappingMethods event_mapping = {.mp_subscript = event_subscript};
static PySequenceMethods event_sequence = {.sq_contains = event_contains};

PyTypeObject py_event_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "strata.Event",
    .tp_basicsize = offsetof(struct py_event, values),
    .tp_itemsize = sizeof(PyObject *),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "An event: event['prev_pid'] is the value of a field.",
    .tp_dealloc = event_dealloc,
    .tp_repr = event_repr,
    .tp_as_mapping = &event_mapping,
    .tp_as_sequence = &event_sequence,
    .tp_getset = event_getset,
    .tp_members = event_members,
    .tp_methods = event_methods,
};

/* ---- Losses ---- */

PyObject *py_loss_new(const struct strata_reader_item *item)
{
    const char *path = item->source->path;
    struct py_loss *self = PyObject_New(struct py_loss, &py_loss_type);

    if (!self)
        return NULL;
    self->layer = PyUnicode_FromString(item->source->layer);
    self->source = PyUnicode_DecodeUTF8(path, (Py_ssize_t)strlen(path), "surrogateescape");
    self->time = py_time_ns(item->time, item->source->clock_hz);
    self->since = py_time_ns(item->lost_since, item->source->clock_hz);
    self->time_error = item->time_error_ns;
    self->cpu = item->cpu;
    self->lost = item->lost;
    self->skipped = item->skipped;
    if (!self->layer || !self->source)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void loss_dealloc(PyObject *object)
{
    struct py_loss *self = (struct py_loss *)object;

    Py_XDECREF(self->layer);
    Py_XDECREF(self->source);
    PyObject_Free(self);
}

static PyObject *loss_time(PyObject *object, void *closure)
{
    const struct py_loss *self = (const struct py_loss *)object;

    return py_time(closure ? self->since : self->time, 0);
}

static PyObject *loss_lost(PyObject *object, void *closure)
{
    const struct py_loss *self = (const struct py_loss *)object;

    (void)closure;
    if (self->lost == STRATA_READER_LOST_UNKNOWN)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(self->lost);
}

static PyObject *loss_time_error(PyObject *object, void *closure)
{
    (void)closure;
    return error_of(((const struct py_loss *)object)->time_error);
}

static PyGetSetDef loss_getset[] = {
    {"time_error", loss_time_error, NULL, "As an event's.", NULL},
    {"time", loss_time, NULL, "When it ended, in ns; None: not known.", NULL},
    {"since", loss_time, NULL, "When it began, in ns; None: not known.", &py_loss_type},
    {"lost", loss_lost, NULL, "How many events are missing; None: an unknown number.", NULL},
    {NULL},
};

static PyMemberDef loss_members[] = {
    {"layer", T_OBJECT, offsetof(struct py_loss, layer), READONLY, "As an event's."},
    {"source", T_OBJECT, offsetof(struct py_loss, source), READONLY, "As an event's."},
    {"cpu", T_INT, offsetof(struct py_loss, cpu), READONLY, "-1: not known."},
    {"skipped", T_ULONGLONG, offsetof(struct py_loss, skipped), READONLY,
     "Bytes of damaged input that were skipped; 0: the tracer lost the events."},
    {NULL},
};

static PyObject *loss_repr(PyObject *object)
{
    PyObject *lost = loss_lost(object, NULL);
    PyObject *repr = lost ? PyUnicode_FromFormat("<strata.Loss %U lost=%R>",
                                                 ((struct py_loss *)object)->layer, lost)
                          : NULL;

    Py_XDECREF(lost);
    return repr;
}

PyTypeObject py_loss_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "strata.Loss",
    .tp_basicsize = sizeof(struct py_loss),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Events that are missing from the trace.",
    .tp_dealloc = loss_dealloc,
    .tp_repr = loss_repr,
    .tp_getset = loss_getset,
    .tp_members = loss_members,
};
