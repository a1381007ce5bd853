/* SPDX-License-Identifier: MIT */
#pragma once

/* trace-events files: QEMU's language for declaring events.
 *
 *     [property …] name(type arg, …) "format"[, "format"]
 *
 * One declaration a line; `#` starts a comment line. strata-trace-events(5) has the grammar in full,
 * how it changed with QEMU's versions, and where QEMU's tracetool and this parser differ: nothing that
 * tracetool refuses is taken (with DECLARE_GENERATE), and what it takes though no compiler would take
 * what comes of it is refused.
 *
 * A file goes through trace_events_file.c (bytes to lines), trace_events.c (a line's parts),
 * trace_events_argument.c and trace_events_format.c (the parts). */

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "schema/trace_events/c_type.h"

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

/* What to be strict or lenient about. None: to read what any QEMU has declared, as readers of traces
 * do. */
enum declaration_rules {
    /* Any word will do as a type: old trees (2.9, for one) use their own. `c.unknown` tells. */
    DECLARE_ANY_TYPE = 1 << 0,
    /* No "\n" anywhere in a format, as in QEMU 10; else only not at its end. */
    DECLARE_NO_NEWLINE = 1 << 1,
    DECLARE_NO_VCPU = 1 << 2, /* no property `vcpu`, as in QEMU 10.2 */
    DECLARE_NO_TCG = 1 << 3,  /* no property `tcg` and no type `TCGv`, as from QEMU 7.2 on */
    /* Code is to be made of it: refuses what no compiler would take (names that are C's own or there
     * twice, also in different files) and what QEMU's tracetool refuses though nothing is wrong with
     * it (a tab inside of a type). Warns of formats that do not fit their arguments. */
    DECLARE_GENERATE = 1 << 4,
    /* A format that would read what is not there, or a number as a string's address, is an error. */
    DECLARE_FORMATS_FIT = 1 << 5,
    /* A ',' and then a '"' part two formats even where they are a string's last characters, as
     * before QEMU 10. */
    DECLARE_COMMA_PARTS = 1 << 6,
};

/* For code of one's own, and for QEMU's tree of some version (10.2: 10, 2), as its own tracetool has
 * it; 0, 0 stands for any: what one version or another takes. */
#define DECLARATION_RULES_NEWEST \
    (DECLARE_NO_NEWLINE | DECLARE_NO_VCPU | DECLARE_NO_TCG | DECLARE_GENERATE | DECLARE_FORMATS_FIT)
unsigned declaration_rules_of_qemu(unsigned major, unsigned minor);

struct declarations {
    unsigned rules; /* enum declaration_rules; set before reading */
    struct arena arena;
    struct declared_event *events; /* in the order of the files */
    unsigned n_events;
    unsigned capacity;
    struct map names; /* with DECLARE_GENERATE: upper-case name -> index + 1 */
};

/* Something that is wrong, or (warning) likely to be. All strings are borrowed for the call; those
 * that come from the file may hold anything but a NUL (`text`: anything). */
struct declaration_problem {
    bool warning;
    const char *file;
    uint32_t line;       /* from 1 */
    uint32_t column;     /* bytes, from 1 */
    uint32_t length;     /* bytes of what is wrong; 0: something is missing there */
    const char *what;    /* "unknown property 'disabled'" */
    const char *instead; /* what to do about it: "write 'disable'"; NULL: that is clear */
    const char *text;    /* the line, without its end; not ended by a NUL */
    size_t text_len;
    const char
        *first_file; /* where the name was declared before; NULL: that is not what is wrong */
    uint32_t first_line;
};

/* Called for each, in the order of the lines. */
typedef void (*declaration_told)(void *arg, const struct declaration_problem *problem);

/* Adds the events of a file to DECLARATIONS ("-": standard input). With TOLD all problems are told and
 * the rest is still read; without it the first error ends the reading, and nobody warns. Events declared
 * without errors are added in any case. -EINVAL with ERROR filled with the first error; -ENOMEM; an
 * errno from reading the file. */
int declarations_read(struct declarations *declarations, const char *path, declaration_told told,
                      void *arg, struct error *error);
/* The same from memory; NAME stands for the file. */
int declarations_parse(struct declarations *declarations, const char *name, const char *text,
                       size_t len, declaration_told told, void *arg, struct error *error);
void declarations_done(struct declarations *declarations);
