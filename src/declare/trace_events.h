/* SPDX-License-Identifier: MIT */
#pragma once

/* trace-events files: QEMU's language for declaring events.
 *
 *     [property …] name(type arg, …) "format"
 *
 * One declaration a line; `#` starts a comment line. The grammar and its limits are those of QEMU's
 * tracetool (2.x to 10.x), whose documentation is docs/devel/tracing in QEMU's tree. */

#include "base/arena.h"
#include "base/fault.h"

enum declared_property {
    PROPERTY_DISABLE = 1 << 0,
    PROPERTY_VCPU = 1 << 1, /* until QEMU 8.x */
    PROPERTY_TCG = 1 << 2,  /* until QEMU 7.x */
};

struct declared_argument {
    const char *type; /* normalised: one blank between words, stars at the end, "const char *" */
    const char *name;
};

struct declared_event {
    const char *name;
    unsigned properties; /* enum declared_property */
    const struct declared_argument *arguments;
    unsigned n_arguments;
    const char *format; /* the C string literal's meaning, PRI macros put in; NULL: none given */
    const char *format_trans;  /* of `tcg` events, the format at translation time; else NULL */
    const char *format_source; /* as written, quotes and macros and all, for generated code */
    const char *file;
    uint32_t line;
};

struct declarations {
    struct arena arena;
    struct declared_event *events; /* in the order of the file */
    unsigned n_events;
    unsigned capacity;
};

/* Each error found, in the order of the lines. COLUMN counts from 1. */
typedef void (*declaration_error)(void *arg, const char *file, uint32_t line, uint32_t column,
                                  const char *what);

/* Adds the events of a file to DECLARATIONS. With ON_ERROR all errors are told and the rest is still
 * read; without it the first one ends the reading. -EINVAL with FAULT filled with the first error;
 * -ENOMEM; an errno from reading the file. */
int declarations_read(struct declarations *declarations, const char *path,
                      declaration_error on_error, void *arg, struct fault *fault);
/* The same from memory; NAME stands for the file. */
int declarations_parse(struct declarations *declarations, const char *name, const char *text,
                       size_t len, declaration_error on_error, void *arg, struct fault *fault);
void declarations_done(struct declarations *declarations);
