/* SPDX-License-Identifier: MIT */
/* strata.Batch: events of one class, as columns; and the iterator that makes them. */
#include <stddef.h>

#include "python/strata_module.h"

struct py_batches {
    PyObject_HEAD struct py_trace *trace;
    Py_ssize_t size;
    struct py_batch **batches; /* by the number of their class; NULL before it begins */
    unsigned n_batches;
    unsigned next; /* after the end of the trace: the next batch to return */
    bool ended;
};

static char format_of(enum strata_value_type type)
{
    switch (type) {
    case STRATA_VALUE_UINT:
    case STRATA_VALUE_POINTER: return 'Q';
    case STRATA_VALUE_INT: return 'q';
    case STRATA_VALUE_BOOL: return '?';
    case STRATA_VALUE_FLOAT: return 'd';
    default: return 0;
    }
}

/* Makes a batch without the columns that all events have. */
static struct py_batch *batch_new(struct py_class *class, const char *formats)
{
    struct py_batch *self = PyObject_NewVar(struct py_batch, &py_batch_type, class->n_fields);

    if (!self)
        return NULL;
    memset((char *)self + offsetof(struct py_batch, class), 0,
           offsetof(struct py_batch, fields) - offsetof(struct py_batch, class) +
               class->n_fields * sizeof self->fields[0]);
    self->class = (struct py_class *)Py_NewRef(class);
    for (unsigned i = 0; i < class->n_fields; i++) {
        if (formats[i])
            self->fields[i].numbers = py_column_new(formats[i]);
        else
            self->fields[i].objects = PyList_New(0);
        if (!self->fields[i].numbers && !self->fields[i].objects) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return self;
}

static struct py_batch *events_new(struct py_class *class)
{
    char *formats = PyMem_Malloc(class->n_fields + 1);
    struct py_batch *self;

    if (!formats) {
        PyErr_NoMemory();
        return NULL;
    }
    for (unsigned i = 0; i < class->n_fields; i++)
        formats[i] = format_of(class->class->fields[i].value_type);
    self = batch_new(class, formats);
    PyMem_Free(formats);
    if (!self)
        return NULL;
    self->time = py_column_new('q');
    self->time_error = py_column_new('I');
    self->cpu = py_column_new('i');
    self->pid = py_column_new('i');
    self->vcpu = py_column_new('i');
    if (!self->time || !self->time_error || !self->cpu || !self->pid || !self->vcpu)
        Py_CLEAR(self);
    return self;
}

struct py_batch *py_batch_of(const char *name, const char *const *names, const char *formats,
                             unsigned n)
{
    struct py_class *class = py_class_of(name, names, n);
    struct py_batch *self = class ? batch_new(class, formats) : NULL;

    Py_XDECREF(class);
    return self;
}

static void batch_dealloc(PyObject *object)
{
    struct py_batch *self = (struct py_batch *)object;

    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) {
        Py_XDECREF(self->fields[i].numbers);
        Py_XDECREF(self->fields[i].objects);
        Py_XDECREF(self->fields[i].valid);
    }
    Py_XDECREF(self->time);
    Py_XDECREF(self->time_error);
    Py_XDECREF(self->cpu);
    Py_XDECREF(self->pid);
    Py_XDECREF(self->vcpu);
    Py_DECREF(self->class);
    PyObject_Free(self);
}

/* If numbers can be missing, marks the last number as VALID or not. */
static bool put_valid(struct batch_field *field, bool valid)
{
    bool *at;

    if (!field->valid) {
        if (valid)
            return true;
        field->valid = py_column_new('?');
        for (Py_ssize_t i = 1; i < field->numbers->n && field->valid; i++) {
            at = py_column_add(field->valid);
            if (!at)
                return false;
            *at = true;
        }
        if (!field->valid)
            return false;
    }
    at = py_column_add(field->valid);
    if (at)
        *at = valid;
    return at;
}

bool py_batch_put_number(struct py_batch *batch, unsigned i, uint64_t number, bool valid)
{
    struct batch_field *field = &batch->fields[i];
    void *at = py_column_add(field->numbers);

    if (!at)
        return false;
    if (field->numbers->format == '?')
        *(bool *)at = valid && number;
    else
        *(uint64_t *)at = valid ? number : 0;
    return put_valid(field, valid);
}

bool py_batch_put_object(struct py_batch *batch, unsigned i, PyObject *object)
{
    return PyList_Append(batch->fields[i].objects, object) == 0;
}

static bool put_value(struct py_batch *self, unsigned i, const struct strata_value *value)
{
    PyObject *object;
    bool done;

    /* Numbers of all types have their 64 bits in one place. */
    if (self->fields[i].numbers)
        return py_batch_put_number(self, i, value->u, value->type != STRATA_VALUE_ABSENT);
    object = py_value(value, false);
    done = object && py_batch_put_object(self, i, object);
    Py_XDECREF(object);
    return done;
}

static bool batch_put(struct py_batch *self, struct strata_reader *reader,
                      const struct strata_reader_item *item)
{
    int64_t *time = py_column_add(self->time);
    uint32_t *time_error = py_column_add(self->time_error);
    int32_t *cpu = py_column_add(self->cpu);
    int32_t *pid = py_column_add(self->pid);
    int32_t *vcpu = py_column_add(self->vcpu);

    if (!time || !time_error || !cpu || !pid || !vcpu)
        return false;
    *time = py_time_ns(item->time, self->class->hz);
    *time_error = item->time_error_ns;
    *cpu = item->cpu;
    *pid = item->pid;
    *vcpu = item->vcpu;
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) {
        struct strata_value value = strata_reader_field(reader, (unsigned)i);

        if (!put_value(self, (unsigned)i, &value))
            return false;
    }
    self->n++;
    return true;
}

/* ---- Batch, for its user ---- */

/* The column KEY: a new reference. */
static PyObject *column_of(const struct py_batch *self, PyObject *key, bool valid)
{
    const struct {
        const char *name;
        struct py_column *column;
    } common[] = {{"time", self->time},
                  {"time_error", self->time_error},
                  {"cpu", self->cpu},
                  {"pid", self->pid},
                  {"vcpu", self->vcpu}};
    PyObject *number = PyDict_GetItemWithError(self->class->places, key);

    if (number) {
        const struct batch_field *field = &self->fields[PyLong_AsSsize_t(number)];

        if (valid)
            return Py_NewRef(field->valid ? (PyObject *)field->valid : Py_None);
        return Py_NewRef(field->numbers ? (PyObject *)field->numbers : field->objects);
    }
    if (PyErr_Occurred())
        return NULL;
    for (unsigned i = 0; i < sizeof common / sizeof common[0]; i++)
        if (common[i].column && PyUnicode_Check(key) &&
            PyUnicode_CompareWithASCIIString(key, common[i].name) == 0)
            return Py_NewRef(valid ? Py_None : (PyObject *)common[i].column);
    PyErr_SetObject(PyExc_KeyError, key);
    return NULL;
}

static PyObject *batch_subscript(PyObject *object, PyObject *key)
{
    return column_of((struct py_batch *)object, key, false);
}

static PyObject *batch_valid(PyObject *object, PyObject *key)
{
    return column_of((struct py_batch *)object, key, true);
}

static Py_ssize_t batch_length(PyObject *object)
{
    return ((struct py_batch *)object)->n;
}

static PyObject *batch_keys(PyObject *object, PyObject *unused)
{
    const struct py_batch *self = (const struct py_batch *)object;
    PyObject *list = self->time
                         ? Py_BuildValue("[sssss]", "time", "time_error", "cpu", "pid", "vcpu")
                         : PyList_New(0);
    Py_ssize_t at = 0;
    PyObject *name, *number;

    (void)unused;
    while (list && PyDict_Next(self->class->places, &at, &name, &number)) {
        int is_common = PySequence_Contains(list, name);

        if (is_common < 0 || (!is_common && PyList_Append(list, name) < 0))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *batch_repr(PyObject *object)
{
    const struct py_batch *self = (const struct py_batch *)object;

    return PyUnicode_FromFormat("<strata.Batch: %zd of %U%s%U>", self->n, self->class->layer,
                                PyUnicode_GET_LENGTH(self->class->layer) ? ":" : "",
                                self->class->name);
}

static PyObject *batch_name(PyObject *object, void *closure)
{
    (void)closure;
    return Py_NewRef(((struct py_batch *)object)->class->name);
}

static PyObject *batch_layer(PyObject *object, void *closure)
{
    (void)closure;
    return Py_NewRef(((struct py_batch *)object)->class->layer);
}

static PyGetSetDef batch_getset[] = {
    {"name", batch_name, NULL, "The name of its events.", NULL},
    {"layer", batch_layer, NULL, "The layer of its events.", NULL},
    {NULL},
};

static PyMemberDef batch_members[] = {
    {"event_class", T_OBJECT, offsetof(struct py_batch, class), READONLY, "Their EventClass."},
    {NULL},
};

static PyMethodDef batch_methods[] = {
    {"keys", batch_keys, METH_NOARGS, "keys(): the names of its columns."},
    {"valid", batch_valid, METH_O,
     "valid(name): a Column that is False where an event does not have the field, or None: all "
     "have."},
    {NULL},
};

static PyMappingMethods batch_mapping = {.mp_length = batch_length,
                                         .mp_subscript = batch_subscript};

PyTypeObject py_batch_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "strata.Batch",
    .tp_basicsize = offsetof(struct py_batch, fields),
    .tp_itemsize = sizeof(struct batch_field),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Events of one class, as columns: batch['time'], batch['prev_pid']. Numbers are a\n"
              "Column, strings and raw memory a list. Where a field has the name of a column that\n"
              "all events have, as `cpu`, the field is meant.",
    .tp_dealloc = batch_dealloc,
    .tp_repr = batch_repr,
    .tp_as_mapping = &batch_mapping,
    .tp_getset = batch_getset,
    .tp_members = batch_members,
    .tp_methods = batch_methods,
};

/* ---- The iterator ---- */

PyObject *py_batches_new(struct py_trace *trace, Py_ssize_t size)
{
    struct py_batches *self = PyObject_New(struct py_batches, &py_batches_type);

    if (!self)
        return NULL;
    self->trace = (struct py_trace *)Py_NewRef(trace);
    self->size = size;
    self->batches = NULL;
    self->n_batches = self->next = 0;
    self->ended = false;
    return (PyObject *)self;
}

static void batches_dealloc(PyObject *object)
{
    struct py_batches *self = (struct py_batches *)object;

    for (unsigned i = 0; i < self->n_batches; i++)
        Py_XDECREF(self->batches[i]);
    PyMem_Free(self->batches);
    Py_DECREF(self->trace);
    PyObject_Free(self);
}

/* Where the batch of class number I is stored. NULL with an exception. */
static struct py_batch **batch_at(struct py_batches *self, unsigned i)
{
    if (i >= self->n_batches) {
        unsigned n = i < 64 ? 128 : 2 * i;
        struct py_batch **bigger = PyMem_Realloc(self->batches, n * sizeof(struct py_batch *));

        if (!bigger) {
            PyErr_NoMemory();
            return NULL;
        }
        memset(bigger + self->n_batches, 0, (n - self->n_batches) * sizeof *bigger);
        self->batches = bigger;
        self->n_batches = n;
    }
    return &self->batches[i];
}

/* Puts the reader's current event into its batch. *RET_FULL is the batch if it is full, otherwise NULL. */
static bool put_event(struct py_batches *self, PyObject **ret_full)
{
    const struct strata_reader_item *item = strata_reader_item(self->trace->reader);
    struct py_class *class = item ? py_trace_class(self->trace, item) : NULL;
    struct py_batch **at;

    *ret_full = NULL;
    if (!class) {
        if (!item)
            PyErr_NoMemory();
        return false;
    }
    at = batch_at(self, item->event_class->index);
    if (!at || (!*at && !(*at = events_new(class))) || !batch_put(*at, self->trace->reader, item))
        return false;
    if ((*at)->n >= self->size) {
        *ret_full = (PyObject *)*at;
        *at = NULL;
    }
    return true;
}

static PyObject *batches_next(PyObject *object)
{
    struct py_batches *self = (struct py_batches *)object;
    PyObject *full = NULL;

    if (!py_trace_is_open(self->trace))
        return NULL;
    while (!self->ended) {
        int kind = strata_reader_next(self->trace->reader);

        if (kind < 0)
            return py_raise(self->trace->reader, kind);
        if (kind == STRATA_READER_END)
            self->ended = true;
        else if (kind == STRATA_READER_LOSS)
            py_trace_count_loss(self->trace, strata_reader_item(self->trace->reader));
        else if (!put_event(self, &full))
            return NULL;
        if (full)
            return full;
    }
    while (self->next < self->n_batches && !self->batches[self->next])
        self->next++;
    if (self->next == self->n_batches)
        return NULL;
    full = (PyObject *)self->batches[self->next];
    self->batches[self->next++] = NULL;
    return full;
}

PyTypeObject py_batches_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "strata.Batches",
    .tp_basicsize = sizeof(struct py_batches),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = batches_dealloc,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = batches_next,
};
