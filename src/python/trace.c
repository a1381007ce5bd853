/* SPDX-License-Identifier: MIT */
/* strata.Trace: an open trace, and its iterator. */
#include <errno.h>
#include <stddef.h>

#include "python/strata_module.h"

bool py_trace_is_open(const struct py_trace *trace)
{
    if (!trace->reader)
        PyErr_SetString(PyExc_ValueError, "the trace is closed");
    return trace->reader;
}

/* True if ERROR, an errno, is of a file operation. Other errors are about the trace. */
static bool is_of_file(int error)
{
    static const int of_files[] = {EACCES, EEXIST, EIO,    EISDIR,  ELOOP, EMFILE, ENAMETOOLONG,
                                   ENFILE, ENOENT, ENOSPC, ENOTDIR, ENXIO, EPERM,  EROFS};

    for (size_t i = 0; i < sizeof of_files / sizeof of_files[0]; i++)
        if (of_files[i] == error)
            return true;
    return false;
}

/* Replaces the names of commands' options in TEXT by the names of arguments of open() and table(). */
static PyObject *make_message(const char *text)
{
    static const char *const names[][2] = {
        {"--keep-going", "keep_going=True"},   {"--host-time", "host_time=True"},
        {"--trace-events", "declarations="},   {"--cpu-hz", "cpu_hz="},
        {"--cpu-vendor=", "cpu_vendor="},      {"--source", "source="},
        {"--no-causal", "stated_clocks=True"},
    };
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");

    for (size_t i = 0; message && i < sizeof names / sizeof names[0]; i++) {
        PyObject *option = PyUnicode_FromString(names[i][0]);
        PyObject *argument = option ? PyUnicode_FromString(names[i][1]) : NULL;
        PyObject *replaced = argument ? PyUnicode_Replace(message, option, argument, -1) : NULL;

        Py_XDECREF(option);
        Py_XDECREF(argument);
        Py_DECREF(message);
        message = replaced;
    }
    return message;
}

void py_raise_text(const char *text, int error)
{
    bool of_file = is_of_file(-error);
    PyObject *message, *args;

    if (PyErr_Occurred())
        return;
    if (error == -ENOMEM) {
        PyErr_NoMemory();
        return;
    }
    message = make_message(text);
    args = !message  ? NULL
           : of_file ? Py_BuildValue("(iO)", -error, message)
                     : PyTuple_Pack(1, message);
    if (args)
        PyErr_SetObject(of_file ? PyExc_OSError : py_error, args);
    Py_XDECREF(args);
    Py_XDECREF(message);
}

PyObject *py_raise(const struct strata_reader *reader, int error)
{
    py_raise_text(strata_reader_error(reader), error);
    return NULL;
}

struct py_class *py_trace_class(struct py_trace *trace, const struct strata_reader_item *item)
{
    unsigned i = item->event_class->index;

    if (i >= trace->n_classes) {
        unsigned n = i < 64 ? 128 : 2 * i;
        struct py_class **bigger = PyMem_Realloc(trace->classes, n * sizeof(struct py_class *));

        if (!bigger) {
            PyErr_NoMemory();
            return NULL;
        }
        memset(bigger + trace->n_classes, 0, (n - trace->n_classes) * sizeof *bigger);
        trace->classes = bigger;
        trace->n_classes = n;
    }
    if (!trace->classes[i])
        trace->classes[i] = py_class_new(item->event_class);
    /* Some formats tell the rate of their clock late. */
    if (trace->classes[i])
        trace->classes[i]->hz = item->source->clock_hz;
    return trace->classes[i];
}

void py_trace_count_loss(struct py_trace *trace, const struct strata_reader_item *item)
{
    trace->n_losses++;
    if (item->lost >= STRATA_READER_LOST_UNKNOWN - trace->lost)
        trace->lost_unknown = true;
    else
        trace->lost += item->lost;
}

/* Call at the end: a pattern that matches no event is probably misspelt. -1 with an exception, which warnings may
 * be. */
static int warn_of_unmatched(struct py_trace *self)
{
    const char *pattern;

    /* What a warning runs may close the trace. */
    for (unsigned i = 0; self->reader && (pattern = strata_reader_unmatched(self->reader, i)); i++)
        if (PyErr_WarnFormat(PyExc_UserWarning, 1, "no event that was read matches '%s'", pattern) <
            0)
            return -1;
    return 0;
}

static PyObject *trace_next(PyObject *object)
{
    struct py_trace *self = (struct py_trace *)object;

    if (!py_trace_is_open(self))
        return NULL;
    for (;;) {
        int kind = strata_reader_next(self->reader);
        const struct strata_reader_item *item;
        struct py_class *class;

        if (kind == STRATA_READER_END) {
            if (!self->ended && warn_of_unmatched(self) < 0)
                return NULL;
            self->ended = true;
            return NULL;
        }
        if (kind < 0)
            return py_raise(self->reader, kind);
        item = strata_reader_item(self->reader);
        if (!item)
            return PyErr_NoMemory();
        if (kind == STRATA_READER_LOSS) {
            py_trace_count_loss(self, item);
            if (!self->losses)
                continue;
            return py_loss_new(item);
        }
        class = py_trace_class(self, item);
        return class ? py_event_new(self->reader, item, class, self->names) : NULL;
    }
}

static PyObject *trace_close(PyObject *object, PyObject *unused)
{
    struct py_trace *self = (struct py_trace *)object;

    (void)unused;
    strata_reader_free(self->reader);
    self->reader = NULL;
    Py_RETURN_NONE;
}

static void trace_dealloc(PyObject *object)
{
    struct py_trace *self = (struct py_trace *)object;

    strata_reader_free(self->reader);
    for (unsigned i = 0; i < self->n_classes; i++)
        Py_XDECREF(self->classes[i]);
    PyMem_Free(self->classes);
    PyObject_Free(self);
}

static PyObject *trace_enter(PyObject *object, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(object);
}

static PyObject *trace_exit(PyObject *object, PyObject *args)
{
    (void)args;
    return trace_close(object, NULL);
}

static PyObject *trace_text(PyObject *object, PyObject *unused)
{
    struct py_trace *self = (struct py_trace *)object;
    char buf[512], *big = NULL;
    PyObject *text;
    int len;

    (void)unused;
    if (!py_trace_is_open(self))
        return NULL;
    len = strata_reader_text(self->reader, buf, sizeof buf);
    if (len < 0)
        return py_raise(self->reader, len);
    if ((size_t)len >= sizeof buf) {
        big = PyMem_Malloc((size_t)len + 1);
        if (!big)
            return PyErr_NoMemory();
        len = strata_reader_text(self->reader, big, (size_t)len + 1);
    }
    text = PyUnicode_DecodeUTF8(big ? big : buf, len, "surrogateescape");
    PyMem_Free(big);
    return text;
}

static PyObject *trace_batches(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static const char *const keywords[] = {"size", NULL};
    struct py_trace *self = (struct py_trace *)object;
    Py_ssize_t size = 65536;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|n:batches", (char **)(void *)keywords, &size))
        return NULL;
    if (size < 1) {
        PyErr_SetString(PyExc_ValueError, "size must be 1 or more");
        return NULL;
    }
    return py_trace_is_open(self) ? py_batches_new(self, size) : NULL;
}

/* A list of the results of GET for 0, 1, … up to NULL. */
static PyObject *strings(struct strata_reader *reader,
                         const char *(*get)(struct strata_reader *reader, unsigned i))
{
    PyObject *list = PyList_New(0);
    const char *text;

    for (unsigned i = 0; list && (text = get(reader, i)); i++) {
        PyObject *string = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");

        if (!string || PyList_Append(list, string) < 0)
            Py_CLEAR(list);
        Py_XDECREF(string);
    }
    return list;
}

static const char *note(struct strata_reader *reader, unsigned i)
{
    return strata_reader_note(reader, i);
}

static PyObject *trace_notes(PyObject *object, void *closure)
{
    struct py_trace *self = (struct py_trace *)object;

    (void)closure;
    return py_trace_is_open(self) ? strings(self->reader, note) : NULL;
}

static PyObject *trace_unmatched(PyObject *object, void *closure)
{
    struct py_trace *self = (struct py_trace *)object;

    (void)closure;
    return py_trace_is_open(self) ? strings(self->reader, strata_reader_unmatched) : NULL;
}

static PyObject *trace_classes(PyObject *object, void *closure)
{
    struct py_trace *self = (struct py_trace *)object;
    PyObject *list = PyList_New(0);

    (void)closure;
    for (unsigned i = 0; i < self->n_classes && list; i++)
        if (self->classes[i] && PyList_Append(list, (PyObject *)self->classes[i]) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *source_dict(const struct strata_reader_source *source)
{
    PyObject *path = PyUnicode_DecodeFSDefault(source->path);

    return path ? Py_BuildValue("{sNsssssssKsI}", "path", path, "layer", source->layer, "format",
                                source->format, "clock", source->clock, "clock_hz",
                                (unsigned long long)source->clock_hz, "cpus", source->n_cpus)
                : NULL;
}

static PyObject *trace_sources(PyObject *object, void *closure)
{
    struct py_trace *self = (struct py_trace *)object;
    const struct strata_reader_source *source;
    PyObject *list;

    (void)closure;
    if (!py_trace_is_open(self))
        return NULL;
    list = PyList_New(0);
    for (unsigned i = 0; list && (source = strata_reader_source(self->reader, i)); i++) {
        PyObject *dict = source_dict(source);

        if (!dict || PyList_Append(list, dict) < 0)
            Py_CLEAR(list);
        Py_XDECREF(dict);
    }
    return list;
}

static PyObject *trace_lost(PyObject *object, void *closure)
{
    const struct py_trace *self = (const struct py_trace *)object;

    (void)closure;
    if (self->lost_unknown)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(self->lost);
}

static PyMethodDef methods[] = {
    {"batches", (PyCFunction)(void (*)(void))trace_batches, METH_VARARGS | METH_KEYWORDS,
     "batches(size=65536): an iterator of Batch, which each have the next events of one class, at\n"
     "most `size`, as columns. Batches of different classes are not in order of time."},
    {"text", trace_text, METH_NOARGS,
     "text(): the text of the event that the iterator returned last, as strata report prints it."},
    {"close", trace_close, METH_NOARGS, "close(): closes the files."},
    {"__enter__", trace_enter, METH_NOARGS, NULL},
    {"__exit__", trace_exit, METH_VARARGS, NULL},
    {NULL},
};

static PyGetSetDef getset[] = {
    {"notes", trace_notes, NULL, "Remarks on the trace, such as that a source is missing.", NULL},
    {"unmatched", trace_unmatched, NULL,
     "Patterns of `events` that match no event that was seen so far. The iterator of the trace "
     "warns\n"
     "of them at its end; batches() does not.",
     NULL},
    {"classes", trace_classes, NULL, "The EventClass of each event that was seen so far.", NULL},
    {"sources", trace_sources, NULL,
     "A dict for each tracer's part: path, layer, format, clock, clock_hz (0: times are ticks), "
     "cpus.",
     NULL},
    {"lost", trace_lost, NULL,
     "How many events are missing so far; None: an unknown number of them.", NULL},
    {NULL},
};

static PyMemberDef members[] = {
    {"losses", T_ULONGLONG, offsetof(struct py_trace, n_losses), READONLY,
     "In how many places events are missing so far."},
    {NULL},
};

PyTypeObject py_trace_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "strata.Trace",
    .tp_basicsize = sizeof(struct py_trace),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "An open trace: an iterator of its events in order of time, and a context manager.",
    .tp_dealloc = trace_dealloc,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = trace_next,
    .tp_methods = methods,
    .tp_getset = getset,
    .tp_members = members,
};
