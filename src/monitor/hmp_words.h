/* SPDX-License-Identifier: MIT */
#pragma once

/* The words of a line that was typed into the human monitor, as the arguments of a command. A line has
 * no NUL in it but at its end. */

#include <stdbool.h>
#include <stdint.h>

#include "monitor/buffer.h"

enum argument_kind {
    ARGUMENT_NONE, /* after the last one */
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

/* Parses the arguments at AT by SPECS, cutting the line into words in place. False: OUT says what is
 * wrong with the arguments of COMMAND. */
bool hmp_read_arguments(char *at, const char *command, const struct argument_spec *specs,
                        struct argument ret[ARGUMENTS_MAX], struct buffer *out);

/* Cuts off the next word; "" if there is none. */
char *hmp_next_word(char **at);
