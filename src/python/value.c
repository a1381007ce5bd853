/* SPDX-License-Identifier: MIT */
/* Converts values of libstrata-read to Python objects. */
#include "python/strata_module.h"

#include "base/wide.h"

#define NS_PER_S 1000000000u

int64_t py_time_ns(int64_t time, uint64_t hz)
{
    if (hz == NS_PER_S || hz == 0 || time == STRATA_READER_TIME_UNKNOWN)
        return time;
    return narrow(wide_div(wide_product(time, NS_PER_S), wide_of_u64(hz)));
}

PyObject *py_time(int64_t time, uint64_t hz)
{
    if (time == STRATA_READER_TIME_UNKNOWN)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(py_time_ns(time, hz));
}

/* Element I of an array. */
static PyObject *element(const struct strata_value *value, size_t i)
{
    const bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    unsigned char bytes[8] = {0};
    unsigned size = value->element_size;
    uint64_t u = 0;

    memcpy(bytes, value->data + i * size, size);
    for (unsigned k = 0; k < size; k++)
        u |= (uint64_t)bytes[is_big != value->element_is_swapped ? size - 1 - k : k] << (8 * k);
    if (!value->element_is_signed)
        return PyLong_FromUnsignedLongLong(u);
    return PyLong_FromLongLong((int64_t)(u << (64 - 8 * size)) >> (64 - 8 * size));
}

static PyObject *array(const struct strata_value *value)
{
    size_t n = value->element_size > 0 ? value->size / value->element_size : 0;
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; i < n && tuple; i++) {
        PyObject *number = element(value, i);

        if (!number)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, number);
    }
    return tuple;
}

PyObject *py_value(const struct strata_value *value, bool names)
{
    if (names && value->name)
        return PyUnicode_DecodeUTF8(value->name, (Py_ssize_t)strlen(value->name),
                                    "surrogateescape");
    switch (value->type) {
    case STRATA_VALUE_ABSENT: Py_RETURN_NONE;
    case STRATA_VALUE_UINT:
    case STRATA_VALUE_POINTER: return PyLong_FromUnsignedLongLong(value->u);
    case STRATA_VALUE_INT: return PyLong_FromLongLong(value->i);
    case STRATA_VALUE_BOOL: return PyBool_FromLong(value->u != 0);
    case STRATA_VALUE_FLOAT: return PyFloat_FromDouble(value->f);
    case STRATA_VALUE_STRING:
        return PyUnicode_DecodeUTF8(value->data, (Py_ssize_t)value->size, "surrogateescape");
    case STRATA_VALUE_BYTES: return PyBytes_FromStringAndSize(value->data, (Py_ssize_t)value->size);
    case STRATA_VALUE_ARRAY: return array(value);
    }
    Py_RETURN_NONE;
}
