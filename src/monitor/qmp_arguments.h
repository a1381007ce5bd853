/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "monitor/buffer.h"

/* The arguments of a QMP command. The list ends with a NULL name. */
struct qmp_argument {
    const char *name;
    json_type type; /* JSON_TRUE: a boolean */
    bool optional;
};

/* Checks ARGUMENTS, an object or NULL, against SPECS; if false, PROBLEM says what is wrong. */
bool qmp_check_arguments(const json_t *arguments, const struct qmp_argument *specs,
                         struct buffer *problem);
