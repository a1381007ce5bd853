/* SPDX-License-Identifier: MIT */
#pragma once

/* trace-events files: QEMU's language for declaring events.
 *
 *     [property …] name(type arg, …) "format"[, "format"]
 *
 * One declaration per line; `#` starts a comment line. strata-trace-events(5) describes the grammar,
 * its changes between QEMU's versions, and how this parser differs from QEMU's tracetool: with
 * DECLARE_GENERATE it rejects everything that tracetool rejects, and also what tracetool accepts but no
 * compiler would.
 *
 * file.c splits bytes into lines, trace_events.c a line into its parts, and argument.c and format.c
 * parse the parts. */

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
    /* The meaning of the C string, with macros expanded; NULL: none declared, or an unknown macro. */
    const char *format;
    const char *format_trans; /* of `tcg` events: at translation time, `format` is at execution */
    /* Its C source for generated code, with quotes and macros, and one blank between pieces
     * (c_literal_normalise). NULL: none declared. */
    const char *format_source;
    const char *format_trans_source;
    const char *file;
    uint32_t line;
};

/* What to be strict or lenient about. None: to read what any QEMU has declared, as readers of traces
 * do. */
enum declaration_rules {
    /* Any word is accepted as a type, because old trees (2.9, for example) use their own; sets
     * `c.unknown`. */
    DECLARE_ANY_TYPE = 1 << 0,
    /* No "\n" anywhere in a format, as in QEMU 10; otherwise only not at its end. */
    DECLARE_NO_NEWLINE = 1 << 1,
    DECLARE_NO_VCPU = 1 << 2, /* no property `vcpu`, as in QEMU 10.2 */
    DECLARE_NO_TCG = 1 << 3,  /* no property `tcg` and no type `TCGv`, as from QEMU 7.2 on */
    /* For generating code: rejects what no compiler would accept (names that are C keywords or
     * duplicate, also across files) and what QEMU's tracetool rejects although it is valid (a tab
     * inside a type). Warns about formats that do not fit their arguments. */
    DECLARE_GENERATE = 1 << 4,
    /* A format that would read what is not there, or a number as a string's address, is an error. */
    DECLARE_FORMATS_FIT = 1 << 5,
    /* A ',' and then a '"' part two formats even where they are a string's last characters, as
     * before QEMU 10. */
    DECLARE_COMMA_PARTS = 1 << 6,
};

/* The newest rules, for Strata's own code, or those of a QEMU version (10.2: 10, 2); 0, 0: whatever any
 * version accepts. */
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
typedef void (*declaration_report)(void *arg, const struct declaration_problem *problem);

/* Adds the events of a file ("-": standard input) to DECLARATIONS. With REPORT, calls it for all
 * problems and warnings and continues; without it, stops at the first error. Events declared before an
 * error are added in any case. -EINVAL with the first error in ERROR; -ENOMEM; an errno from reading
 * the file. */
int declarations_read(struct declarations *declarations, const char *path,
                      declaration_report report, void *arg, struct error *error);
/* The same from memory; NAME is the file's name. */
int declarations_parse(struct declarations *declarations, const char *name, const char *text,
                       size_t len, declaration_report report, void *arg, struct error *error);
void declarations_done(struct declarations *declarations);
