/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "monitor/buffer.h"

/* What a command of QMP takes. The list ends with a NULL name. */
struct qmp_argument {
    const char *name;
    json_type type; /* JSON_TRUE: a boolean */
    bool optional;
};

/* Whether ARGUMENTS, an object or NULL, are as SPECS want them; if not PROBLEM says what is wrong. */
bool qmp_check_arguments(const json_t *arguments, const struct qmp_argument *specs,
                         struct buffer *problem);
