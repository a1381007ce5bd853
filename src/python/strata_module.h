/* SPDX-License-Identifier: MIT */
#pragma once

/* The types of the Python module `strata`, over libstrata-read.
 *
 *     Trace       an open trace: an iterator of events (trace.c)
 *     EventClass  a kind of events: their name and fields (event_class.c)
 *     Event       one event, with copies of its values, so that it outlives the trace (event.c)
 *     Loss        events that are missing (event.c)
 *     Batch       events of one class, as columns (batch.c)
 *     Column      numbers of one type, with the buffer protocol, which NumPy reads without a copy (column.c)
 *
 * Everything runs with the interpreter's lock. Reading does not release the lock, because a batch of events takes less
 * time than other threads would wait for it. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "strata/read.h"
#include <structmember.h>

/* ---- Classes of events ---- */

struct py_class {
    PyObject_HEAD PyObject *name, *group, *layer, *source; /* str; source: the path */
    PyObject *fields;                                      /* tuple of str */
    PyObject *types;                                       /* tuple of str, as declared */
    PyObject *places;                                      /* dict: number of a field by its name */
    unsigned n_fields;
    uint64_t hz;                             /* of its events' times; 0 if unknown */
    const struct strata_reader_class *class; /* NULL after the trace was closed */
};

extern PyTypeObject py_class_type;
/* A new reference, or NULL with an exception. */
struct py_class *py_class_of(const char *name, const char *const *fields, unsigned n);
struct py_class *py_class_new(const struct strata_reader_class *class);

/* ---- Values ---- */

/* The time in ns, or in ticks if HZ is 0. */
int64_t py_time_ns(int64_t time, uint64_t hz);
/* None if the time is unknown. */
PyObject *py_time(int64_t time, uint64_t hz);
/* VALUE as a Python object: int, bool, float, str, bytes, a tuple of int, or None if the event does not have the field.
 * NAMES: numbers with a name become the name. */
PyObject *py_value(const struct strata_value *value, bool names);

/* ---- Events ---- */

struct py_event {
    PyObject_VAR_HEAD struct py_class *class;
    int64_t time; /* ns or ticks; or STRATA_READER_TIME_UNKNOWN */
    uint32_t time_error;
    int32_t cpu, pid, vcpu;
    PyObject *values[];
};

struct py_loss {
    PyObject_HEAD PyObject *layer, *source;
    int64_t since, time;
    uint64_t lost, skipped;
    uint32_t time_error;
    int32_t cpu;
};

extern PyTypeObject py_event_type, py_loss_type;
/* A new reference to the current item of READER, whose class is CLASS. NULL with an exception. */
PyObject *py_event_new(struct strata_reader *reader, const struct strata_reader_item *item,
                       struct py_class *class, bool names);
PyObject *py_loss_new(const struct strata_reader_item *item);

/* ---- Columns ---- */

struct py_column {
    PyObject_HEAD char format; /* as in the module struct: 'q', 'Q', 'd', 'i', 'I', '?' */
    Py_ssize_t size;           /* size of an element in bytes */
    Py_ssize_t n, room;
    Py_ssize_t exports; /* buffers that are lent, so it cannot grow */
    char *data;
};

extern PyTypeObject py_column_type;
struct py_column *py_column_new(char format);
/* Returns room for another element, which the caller fills. NULL with an exception. */
void *py_column_grow(struct py_column *column);

static inline void *py_column_add(struct py_column *column)
{
    if (column->n < column->room)
        return column->data + column->n++ * column->size;
    return py_column_grow(column);
}

/* ---- Traces ---- */

struct py_trace;
extern PyTypeObject py_trace_type, py_batches_type, py_batch_type;
extern PyObject *py_error; /* strata.Error */

/* Raises strata.Error, MemoryError, or the errno's OSError, for READER's last error. Returns NULL. */
PyObject *py_raise(const struct strata_reader *reader, int error);

struct py_trace {
    PyObject_HEAD struct strata_reader *reader; /* NULL after closing */
    struct py_class **classes;                  /* by index; NULL before the first event */
    unsigned n_classes;
    unsigned long long lost; /* lost events, as far as they were counted */
    unsigned long long n_losses;
    bool lost_unknown; /* some loss had no number */
    bool losses;       /* the iterator also returns losses */
    bool names;
    bool ended;
};

/* The class of ITEM; borrowed. NULL with an exception. */
struct py_class *py_trace_class(struct py_trace *trace, const struct strata_reader_item *item);
/* Counts a loss. */
void py_trace_count_loss(struct py_trace *trace, const struct strata_reader_item *item);
/* True if it is open; otherwise raises ValueError. */
bool py_trace_is_open(const struct py_trace *trace);

/* Raises the exception of ERROR, a negative errno, with TEXT. */
void py_raise_text(const char *text, int error);

/* ---- Batches ---- */

/* A field of the events of a batch: a column of numbers, or a list of objects. */
struct batch_field {
    struct py_column *numbers; /* NULL: use `objects` */
    PyObject *objects;         /* list of str, bytes or tuples, with None for missing values */
    struct py_column *valid;   /* for numbers: which are present; NULL: all are */
};

struct py_batch {
    PyObject_VAR_HEAD struct py_class *class;
    Py_ssize_t n;
    struct py_column *time, *time_error, *cpu, *pid, *vcpu; /* for events; otherwise NULL */
    struct batch_field fields[];
};

/* Makes a batch without events: NAME, and N columns of FORMATS. Format 0 is a list of objects. */
struct py_batch *py_batch_of(const char *name, const char *const *names, const char *formats,
                             unsigned n);
/* Adds a cell to column I. After all cells, the caller adds the row. NUMBER has the bits of the column's type. False
 * with an exception. */
bool py_batch_put_number(struct py_batch *batch, unsigned i, uint64_t number, bool valid);
bool py_batch_put_object(struct py_batch *batch, unsigned i, PyObject *object);

/* Returns an iterator of batches with at most SIZE events each. */
PyObject *py_batches_new(struct py_trace *trace, Py_ssize_t size);

/* _dispatch(trace, look_up, make_time): calls a function for each event; for the module `simpletrace`. */
PyObject *py_dispatch(PyObject *module, PyObject *args);
/* _table(): for table(), spans() and states(). */
PyObject *py_table(PyObject *module, PyObject *args);
