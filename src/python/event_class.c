/* SPDX-License-Identifier: MIT */
/* strata.EventClass */
#include <stddef.h>

#include "python/strata_module.h"

static PyObject *text(const char *s)
{
    return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "surrogateescape");
}

static int add_field(struct py_class *self, unsigned i, const char *field, const char *field_type)
{
    PyObject *name = text(field), *type = text(field_type);
    PyObject *number = PyLong_FromUnsignedLong(i);
    int r = -1;

    if (name && type && number) {
        PyUnicode_InternInPlace(&name);
        /* Of two fields with one name, the first is found. */
        r = PyDict_SetDefault(self->places, name, number) ? 0 : -1;
    }
    if (r == 0) {
        PyTuple_SET_ITEM(self->fields, i, Py_NewRef(name));
        PyTuple_SET_ITEM(self->types, i, Py_NewRef(type));
    }
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(number);
    return r;
}

/* Makes a class whose fields are not set yet. */
static struct py_class *make(const char *name, const char *group, const char *layer,
                             const char *source, unsigned n)
{
    struct py_class *self = PyObject_New(struct py_class, &py_class_type);

    if (!self)
        return NULL;
    self->name = text(name);
    self->group = text(group);
    self->layer = text(layer);
    self->source = text(source);
    self->fields = PyTuple_New(n);
    self->types = PyTuple_New(n);
    self->places = PyDict_New();
    self->n_fields = n;
    self->hz = 0;
    self->class = NULL;
    if (!self->name || !self->group || !self->layer || !self->source || !self->fields ||
        !self->types || !self->places)
        Py_CLEAR(self);
    else
        PyUnicode_InternInPlace(&self->name);
    return self;
}

struct py_class *py_class_of(const char *name, const char *const *fields, unsigned n)
{
    struct py_class *self = make(name, "", "", "", n);

    for (unsigned i = 0; i < n && self; i++)
        if (add_field(self, i, fields[i], "") < 0)
            Py_CLEAR(self);
    return self;
}

struct py_class *py_class_new(const struct strata_reader_class *class)
{
    struct py_class *self =
        make(class->name, class->group, class->source->layer, class->source->path, class->n_fields);

    if (self) {
        self->hz = class->source->clock_hz;
        self->class = class;
    }
    for (unsigned i = 0; i < class->n_fields && self; i++)
        if (add_field(self, i, class->fields[i].name, class->fields[i].type) < 0)
            Py_CLEAR(self);
    return self;
}

static void class_dealloc(PyObject *object)
{
    struct py_class *self = (struct py_class *)object;

    Py_XDECREF(self->name);
    Py_XDECREF(self->group);
    Py_XDECREF(self->layer);
    Py_XDECREF(self->source);
    Py_XDECREF(self->fields);
    Py_XDECREF(self->types);
    Py_XDECREF(self->places);
    PyObject_Free(self);
}

static PyObject *class_repr(PyObject *object)
{
    const struct py_class *self = (const struct py_class *)object;

    return PyUnicode_FromFormat("<strata.EventClass %U:%U>", self->layer, self->name);
}

static PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(struct py_class, name), READONLY, "Its name: 'sched_switch'."},
    {"group", T_OBJECT, offsetof(struct py_class, group), READONLY,
     "The kernel's group: 'sched'; '' where there are no groups."},
    {"layer", T_OBJECT, offsetof(struct py_class, layer), READONLY,
     "'vmm', 'hypervisor', 'guest', 'host' or 'program'."},
    {"source", T_OBJECT, offsetof(struct py_class, source), READONLY,
     "The path of the trace that it is from."},
    {"fields", T_OBJECT, offsetof(struct py_class, fields), READONLY, "The names of its fields."},
    {"types", T_OBJECT, offsetof(struct py_class, types), READONLY,
     "The types of its fields, as they were declared where it was traced."},
    {NULL},
};

PyTypeObject py_class_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "strata.EventClass",
    .tp_basicsize = sizeof(struct py_class),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "What all events of one kind have in common.",
    .tp_dealloc = class_dealloc,
    .tp_repr = class_repr,
    .tp_members = members,
};
