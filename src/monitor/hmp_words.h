/* SPDX-License-Identifier: MIT */
#pragma once

/* Splits a line of the human monitor into the arguments of a command. A line has a NUL only at its end. */

#include <stdbool.h>
#include <stdint.h>

#include "monitor/buffer.h"

enum argument_kind {
    ARGUMENT_NONE, /* end of the list */
    ARGUMENT_STRING,
    ARGUMENT_FILE,
    ARGUMENT_ON_OFF,
    ARGUMENT_NUMBER,
    ARGUMENT_REST, /* the rest of the line; optional */
};

#define ARGUMENTS_MAX 3

struct argument_spec {
    uint8_t kind;
    bool optional;
};

struct argument {
    bool given;
    bool on;
    int32_t number;
    char *text;
};

/* Parses the arguments at AT by SPECS, and cuts the line into words in place. Returns false if the arguments of COMMAND
 * are wrong; OUT says why. */
bool hmp_read_arguments(char *at, const char *command, const struct argument_spec *specs,
                        struct argument ret[ARGUMENTS_MAX], struct buffer *out);

/* Cuts off the next word; "" if there is none. */
char *hmp_next_word(char **at);
