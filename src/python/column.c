/* SPDX-License-Identifier: MIT */
/* strata.Column: numbers of one type. numpy.asarray(column) and memoryview(column) do not copy them. */
#include "python/strata_module.h"

#define FIRST_ROOM 1024

static Py_ssize_t size_of(char format)
{
    return format == '?' ? 1 : format == 'i' || format == 'I' ? 4 : 8;
}

struct py_column *py_column_new(char format)
{
    struct py_column *self = PyObject_New(struct py_column, &py_column_type);

    if (self) {
        self->format = format;
        self->size = size_of(format);
        self->n = self->room = self->exports = 0;
        self->data = NULL;
    }
    return self;
}

void *py_column_grow(struct py_column *column)
{
    Py_ssize_t room = column->room ? 2 * column->room : FIRST_ROOM;
    char *bigger;

    if (column->exports > 0) {
        PyErr_SetString(PyExc_BufferError, "the column is in use");
        return NULL;
    }
    bigger = PyMem_Realloc(column->data, (size_t)(room * column->size));
    if (!bigger)
        return PyErr_NoMemory();
    column->data = bigger;
    column->room = room;
    return column->data + column->n++ * column->size;
}

static void column_dealloc(PyObject *object)
{
    PyMem_Free(((struct py_column *)object)->data);
    PyObject_Free(object);
}

static Py_ssize_t column_length(PyObject *object)
{
    return ((struct py_column *)object)->n;
}

static PyObject *column_item(PyObject *object, Py_ssize_t i)
{
    const struct py_column *self = (const struct py_column *)object;
    const char *at;

    if (i < 0 || i >= self->n) {
        PyErr_SetString(PyExc_IndexError, "column index out of range");
        return NULL;
    }
    at = self->data + i * self->size;
    switch (self->format) {
    case 'q': return PyLong_FromLongLong(*(const int64_t *)(const void *)at);
    case 'Q': return PyLong_FromUnsignedLongLong(*(const uint64_t *)(const void *)at);
    case 'd': return PyFloat_FromDouble(*(const double *)(const void *)at);
    case 'i': return PyLong_FromLong(*(const int32_t *)(const void *)at);
    case 'I': return PyLong_FromUnsignedLong(*(const uint32_t *)(const void *)at);
    default: return PyBool_FromLong(*at);
    }
}

/* A slice is a list, as for a column of strings. */
static PyObject *column_subscript(PyObject *object, PyObject *key)
{
    PyObject *view, *part, *list;

    if (!PySlice_Check(key)) {
        Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);

        if (i == -1 && PyErr_Occurred())
            return NULL;
        return column_item(object, i < 0 ? i + column_length(object) : i);
    }
    view = PyMemoryView_FromObject(object);
    part = view ? PyObject_GetItem(view, key) : NULL;
    list = part ? PyObject_CallMethod(part, "tolist", NULL) : NULL;
    Py_XDECREF(part);
    Py_XDECREF(view);
    return list;
}

static int column_get_buffer(PyObject *object, Py_buffer *view, int flags)
{
    static char formats[][2] = {"q", "Q", "d", "i", "I", "?"};
    static char nothing[8];
    struct py_column *self = (struct py_column *)object;

    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "the column is read-only");
        return -1;
    }
    view->obj = Py_NewRef(object);
    view->buf = self->data ? self->data : nothing;
    view->len = self->n * self->size;
    view->readonly = 1;
    view->itemsize = self->size;
    view->format = NULL;
    for (unsigned i = 0; i < sizeof formats / sizeof formats[0] && (flags & PyBUF_FORMAT); i++)
        if (formats[i][0] == self->format)
            view->format = formats[i];
    view->ndim = 1;
    view->shape = flags & PyBUF_ND ? &self->n : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &self->size : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    self->exports++;
    return 0;
}

static void column_release_buffer(PyObject *object, Py_buffer *view)
{
    (void)view;
    ((struct py_column *)object)->exports--;
}

static PySequenceMethods column_sequence = {.sq_length = column_length, .sq_item = column_item};
static PyMappingMethods column_mapping = {.mp_length = column_length,
                                          .mp_subscript = column_subscript};
static PyBufferProcs column_buffer = {column_get_buffer, column_release_buffer};

PyTypeObject py_column_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "strata.Column",
    .tp_basicsize = sizeof(struct py_column),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Numbers of one type: numpy.asarray(column) and memoryview(column) do not copy them.",
    .tp_dealloc = column_dealloc,
    .tp_as_sequence = &column_sequence,
    .tp_as_mapping = &column_mapping,
    .tp_as_buffer = &column_buffer,
};
