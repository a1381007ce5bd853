/* SPDX-License-Identifier: MIT */
/* The module: strata.open(), and its types. */
#include "python/strata_module.h"

PyObject *py_error;

/* Passes each string of VALUE to ADD. VALUE is a string, a path, or an iterable of these. */
static int add_each(struct strata_reader *reader, PyObject *value, bool paths,
                    int (*add)(struct strata_reader *reader, const char *text))
{
    PyObject *items = NULL, *item, *bytes = NULL;
    int r = 0;

    if (!value || value == Py_None)
        return 0;
    if (PyUnicode_Check(value) || PyBytes_Check(value) ||
        PyObject_HasAttrString(value, "__fspath__"))
        items = PyTuple_Pack(1, value);
    else
        items = PySequence_Tuple(value);
    if (!items)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items) && r == 0; i++) {
        item = PyTuple_GET_ITEM(items, i);
        if (paths)
            r = PyUnicode_FSConverter(item, &bytes) ? 0 : -1;
        else
            r = PyUnicode_Check(item) && (bytes = PyUnicode_AsUTF8String(item)) ? 0 : -1;
        if (r < 0 && !PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a string, or a list of strings, is required");
        if (r == 0) {
            r = add(reader, PyBytes_AS_STRING(bytes));
            if (r < 0)
                py_raise(reader, r);
            Py_CLEAR(bytes);
        }
    }
    Py_DECREF(items);
    return r < 0 ? -1 : 0;
}

/* Calls SET with VALUE: a string, a number, or an iterable of numbers, which become "1,2,3". */
static int set_list(struct strata_reader *reader, PyObject *value,
                    int (*set)(struct strata_reader *reader, const char *text))
{
    PyObject *text = NULL, *comma = NULL, *items = NULL;
    int r = -1;

    if (!value || value == Py_None)
        return 0;
    if (PyUnicode_Check(value)) {
        text = Py_NewRef(value);
    } else if (PyLong_Check(value) || PyFloat_Check(value)) {
        text = PyObject_Str(value);
    } else {
        comma = PyUnicode_FromString(",");
        items = PySequence_List(value);
        for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items); i++) {
            PyObject *part = PyObject_Str(PyList_GET_ITEM(items, i));

            if (!part || PyList_SetItem(items, i, part) < 0)
                Py_CLEAR(items);
        }
        text = comma && items ? PyUnicode_Join(comma, items) : NULL;
    }
    if (text) {
        const char *utf8 = PyUnicode_AsUTF8(text);

        r = utf8 ? set(reader, utf8) : -1;
        if (r < 0 && utf8)
            py_raise(reader, r);
    }
    Py_XDECREF(text);
    Py_XDECREF(comma);
    Py_XDECREF(items);
    return r < 0 ? -1 : 0;
}

static int add_path(struct strata_reader *reader, const char *text)
{
    return strata_reader_add(reader, text);
}

struct open_arguments {
    PyObject *paths, *events, *declarations, *layers, *cpus, *pids, *vcpus, *since, *until;
    PyObject *source, *xen_version, *cpu_vendor, *limit;
    unsigned long long cpu_hz;
    int keep_going, host_time, stated_clocks, losses, names, no_header, file_order;
};

/* Without a limit, or with None, all events are read. */
static int set_limit(struct strata_reader *reader, PyObject *limit)
{
    long long n;
    int r;

    if (!limit || limit == Py_None)
        return 0;
    n = PyLong_AsLongLong(limit);
    if (n == -1 && PyErr_Occurred())
        return -1;
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "limit is negative");
        return -1;
    }
    r = strata_reader_set_limit(reader, (uint64_t)n);
    if (r < 0)
        py_raise(reader, r);
    return r < 0 ? -1 : 0;
}

static int set_up(struct strata_reader *reader, const struct open_arguments *arguments)
{
    if (add_each(reader, arguments->paths, true, add_path) < 0 ||
        add_each(reader, arguments->events, false, strata_reader_add_filter) < 0 ||
        add_each(reader, arguments->declarations, true, strata_reader_add_events) < 0 ||
        set_list(reader, arguments->layers, strata_reader_set_layers) < 0 ||
        set_list(reader, arguments->cpus, strata_reader_set_cpus) < 0 ||
        set_list(reader, arguments->pids, strata_reader_set_pids) < 0 ||
        set_list(reader, arguments->vcpus, strata_reader_set_vcpus) < 0 ||
        set_list(reader, arguments->since, strata_reader_set_from) < 0 ||
        set_list(reader, arguments->until, strata_reader_set_until) < 0 ||
        set_list(reader, arguments->source, strata_reader_set_source) < 0 ||
        set_list(reader, arguments->xen_version, strata_reader_set_xen_version) < 0 ||
        set_list(reader, arguments->cpu_vendor, strata_reader_set_cpu_vendor) < 0)
        return -1;
    if (strata_reader_set_keep_going(reader, arguments->keep_going) < 0 ||
        strata_reader_set_host_time(reader, arguments->host_time) < 0 ||
        strata_reader_set_stated_clocks(reader, arguments->stated_clocks) < 0 ||
        strata_reader_set_no_header(reader, arguments->no_header) < 0 ||
        strata_reader_set_file_order(reader, arguments->file_order) < 0 ||
        (arguments->cpu_hz > 0 && strata_reader_set_cpu_hz(reader, arguments->cpu_hz) < 0)) {
        py_raise(reader, -EINVAL);
        return -1;
    }
    return set_limit(reader, arguments->limit);
}

static PyObject *open_trace(const struct open_arguments *arguments)
{
    struct strata_reader *reader = strata_reader_new();
    struct py_trace *trace;
    int r;

    if (!reader)
        return PyErr_NoMemory();
    if (set_up(reader, arguments) < 0) {
        strata_reader_free(reader);
        return NULL;
    }
    r = strata_reader_open(reader);
    if (r < 0) {
        py_raise(reader, r);
        strata_reader_free(reader);
        return NULL;
    }
    trace = PyObject_New(struct py_trace, &py_trace_type);
    if (!trace) {
        strata_reader_free(reader);
        return NULL;
    }
    memset((char *)trace + sizeof(PyObject), 0, sizeof *trace - sizeof(PyObject));
    trace->reader = reader;
    trace->losses = arguments->losses;
    trace->names = arguments->names;
    return (PyObject *)trace;
}

static PyObject *module_open(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static const char *const keywords[] = {
        "path",      "events",     "layers",        "cpus",   "pids",        "vcpus",
        "since",     "until",      "limit",         "losses", "names",       "keep_going",
        "host_time", "source",     "declarations",  "cpu_hz", "xen_version", "cpu_vendor",
        "no_header", "file_order", "stated_clocks", NULL};
    struct open_arguments arguments = {0};

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O|O$OOOOOOOppppOOKOOppp:open", (char **)(void *)keywords,
            &arguments.paths, &arguments.events, &arguments.layers, &arguments.cpus,
            &arguments.pids, &arguments.vcpus, &arguments.since, &arguments.until, &arguments.limit,
            &arguments.losses, &arguments.names, &arguments.keep_going, &arguments.host_time,
            &arguments.source, &arguments.declarations, &arguments.cpu_hz, &arguments.xen_version,
            &arguments.cpu_vendor, &arguments.no_header, &arguments.file_order,
            &arguments.stated_clocks))
        return NULL;
    return open_trace(&arguments);
}

static PyMethodDef methods[] = {
    {"open", (PyCFunction)(void (*)(void))module_open, METH_VARARGS | METH_KEYWORDS,
     "open(path, events=None, *, layers=None, cpus=None, pids=None, vcpus=None, since=None,\n"
     "     until=None, limit=None, losses=False, names=False, keep_going=False, host_time=False,\n"
     "     source=None, declarations=None, cpu_hz=0, xen_version=None, cpu_vendor=None,\n"
     "     no_header=False, file_order=False, stated_clocks=False)\n"
     "--\n\n"
     "Opens a trace, or several on one timeline, and returns a Trace.\n\n"
     "path          a path, or a list of paths: any trace that strata reads\n"
     "events        a pattern as of `strata report -e`, or a list: 'sched:*,-sched_stat_*'\n"
     "layers        'guest,host', or a list\n"
     "cpus, pids, vcpus  '0,2-5', a number, or a list of numbers\n"
     "since, until  seconds of the timeline: '12.5'; after its first event: '+0.5'\n"
     "limit         the most events that are read; None: all\n"
     "losses        the iterator returns a Loss where events are missing\n"
     "names         numbers that have a name, as the kernel's enumerations, are that name\n"
     "keep_going    continue after damaged input where the format permits it\n"
     "host_time     convert all times to CLOCK_MONOTONIC of the recording host\n"
     "source        read only this source of a trace directory\n"
     "declarations  files that declare events, for traces that do not\n"
     "cpu_hz        the rate of a time stamp counter, for traces that do not record it\n"
     "xen_version, cpu_vendor  of the Xen that wrote a trace: '4.17', 'amd'\n"
     "no_header     event numbers of a simpletrace file are places in the declarations\n"
     "file_order    the events of a single source as they were written, not in order of time\n"
     "stated_clocks  clocks as they were recorded, not tightened by causes and effects\n\n"
     "Raises Error for what is not a trace, or is damaged, and OSError if a file cannot be read."},
    {"_table", py_table, METH_VARARGS, NULL},
    {"_dispatch", py_dispatch, METH_VARARGS, NULL},
    {NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "strata._strata", .m_doc = "Reads traces of virtual machines.",
    .m_size = -1,          .m_methods = methods,
};

PyMODINIT_FUNC PyInit__strata(void);

PyMODINIT_FUNC PyInit__strata(void)
{
    static struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {{"EventClass", &py_class_type}, {"Event", &py_event_type},
                 {"Loss", &py_loss_type},        {"Column", &py_column_type},
                 {"Trace", &py_trace_type},      {"Batch", &py_batch_type},
                 {"Batches", &py_batches_type}};
    PyObject *module = PyModule_Create(&definition);

    if (!module)
        return NULL;
    py_error = PyErr_NewExceptionWithDoc("strata.Error", "What is wrong with a trace, and where.",
                                         PyExc_ValueError, NULL);
    if (!py_error || PyModule_AddObjectRef(module, "Error", py_error) < 0 ||
        PyModule_AddStringConstant(module, "__version__", strata_read_version()) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++)
        if (PyType_Ready(types[i].type) < 0 ||
            PyModule_AddObjectRef(module, types[i].name, (PyObject *)types[i].type) < 0) {
            Py_DECREF(module);
            return NULL;
        }
    return module;
}
