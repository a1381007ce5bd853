/* SPDX-License-Identifier: MIT */
#pragma once

/* The steps of a compiled template section: written by template.c, executed by template_run.c. */

#include "gen/template.h"
#include "gen/variables.h"

enum step_kind {
    STEP_TEXT,
    STEP_VALUE,
    STEP_FOR_EVENTS, /* `to` is after the body */
    STEP_FOR_ARGUMENTS,
    STEP_IF,   /* goes to `to` if the flag is not as wanted */
    STEP_GOTO, /* from the end of an executed branch to after the @end */
    STEP_BACKENDS,
};

struct template_step {
    enum step_kind kind;
    uint32_t line; /* of the template */
    uint32_t to;   /* a step */
    bool negated;  /* @if not */
    bool joined;   /* inside of @line */
    union {
        struct {
            const char *start;
            size_t len;
        } text; /* STEP_TEXT; STEP_BACKENDS: the section's name */
        const struct gen_value *value;
        const struct gen_flag *flag;
    };
};
