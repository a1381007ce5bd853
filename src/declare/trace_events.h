/* SPDX-License-Identifier: MIT */
#pragma once

/* trace-events files: QEMU's language for declaring events.
 *
 *     [property …] name(type arg, …) "format"[, "format"]
 *
 * One declaration a line; `#` starts a comment line. The grammar and its limits are those of QEMU's
 * tracetool (2.x to 10.x), whose documentation is docs/devel/tracing in QEMU's tree. Where tracetool
 * passes over what no compiler would take (text behind the arguments that is no string, a string
 * without its end, an argument without a name), it is an error here. */

#include "base/arena.h"
#include "base/fault.h"
#include "declare/c_type.h"

enum declared_property {
    PROPERTY_DISABLE = 1 << 0,
    PROPERTY_VCPU = 1 << 1, /* until QEMU 8.x: an implicit first argument, the vCPU */
    PROPERTY_TCG = 1 << 2,  /* before QEMU 7.2: stands for two events, NAME_trans and NAME_exec */
};

#define DECLARED_ARGUMENTS_MAX 10

struct declared_argument {
    const char *type; /* one blank between words and before stars: "const char *" */
    const char *name;
    struct c_type c;
};

/* All strings live in the declarations' arena. */
struct declared_event {
    const char *name;
    unsigned properties;                       /* enum declared_property */
    const struct declared_argument *arguments; /* as declared: without the implicit vCPU */
    unsigned n_arguments;
    /* What the C string means, macros put in; NULL: none given, or it holds a macro that is not
     * known here. */
    const char *format;
    const char *format_trans; /* of `tcg` events: at translation time, `format` is at execution */
    /* The C source of it for generated code, quotes and macros and all: as written, with one blank
     * between pieces (c_literal_normalise). NULL: none given. */
    const char *format_source;
    const char *format_trans_source;
    const char *file;
    uint32_t line;
};

/* What to be strict or lenient about. */
enum declaration_rules {
    /* Any word will do as a type: old trees (2.9, for one) use their own. `c.unknown` tells. */
    DECLARE_ANY_TYPE = 1 << 0,
    /* No "\n" anywhere in a format, as in QEMU 10; else only not at its end. */
    DECLARE_NO_NEWLINE = 1 << 1,
};

struct declarations {
    unsigned rules; /* enum declaration_rules; set before reading */
    struct arena arena;
    struct declared_event *events; /* in the order of the files */
    unsigned n_events;
    unsigned capacity;
};

/* Each error found, in the order of the lines. COLUMN counts bytes from 1. */
typedef void (*declaration_error)(void *arg, const char *file, uint32_t line, uint32_t column,
                                  const char *what);

/* Adds the events of a file to DECLARATIONS ("-": standard input). With ON_ERROR all errors are told
 * and the rest is still read; without it the first one ends the reading. Events declared without
 * errors are added in any case. -EINVAL with FAULT filled with the first error; -ENOMEM; an errno
 * from reading the file. */
int declarations_read(struct declarations *declarations, const char *path,
                      declaration_error on_error, void *arg, struct fault *fault);
/* The same from memory; NAME stands for the file. */
int declarations_parse(struct declarations *declarations, const char *name, const char *text,
                       size_t len, declaration_error on_error, void *arg, struct fault *fault);
void declarations_done(struct declarations *declarations);
