/* SPDX-License-Identifier: MIT */
#pragma once

/* trace-events files: QEMU's language for declaring events.
 *
 *     [property …] name(type arg, …) "format"[, "format"]
 *
 * One declaration per line; `#` starts a comment line. strata-trace-events(5) describes the grammar, its changes
 * between QEMU's versions, and how this parser differs from QEMU's tracetool: with DECLARE_GENERATE, it rejects
 * everything that tracetool rejects, and also declarations that tracetool accepts but no compiler would accept.
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

/* All strings are in the declarations' arena. */
struct declared_event {
    const char *name;
    unsigned properties;                       /* enum declared_property */
    const struct declared_argument *arguments; /* as declared: without the implicit vCPU */
    unsigned n_arguments;
    /* The meaning of the C string, with macros expanded; NULL: none declared, or an unknown macro. */
    const char *format;
    /* of `tcg` events: the format at translation time; `format` is at execution */
    const char *format_trans;
    /* Its C source for generated code, with quotes and macros, and one blank between pieces
     * (c_literal_normalise). NULL: none declared. */
    const char *format_source;
    const char *format_trans_source;
    const char *file;
    uint32_t line;
};

/* Rules for parsing. None: accepts everything that any QEMU has declared, for readers of traces. */
enum declaration_rules {
    /* Accepts any word as a type, because old trees (2.9, for example) use their own types; sets `c.unknown`. */
    DECLARE_ANY_TYPE = 1 << 0,
    /* Refuses "\n" anywhere in a format, as in QEMU 10; otherwise only at its end. */
    DECLARE_NO_NEWLINE = 1 << 1,
    DECLARE_NO_VCPU = 1 << 2, /* no property `vcpu`, as in QEMU 10.2 */
    DECLARE_NO_TCG = 1 << 3,  /* no property `tcg` and no type `TCGv`, as from QEMU 7.2 on */
    /* For generating code: rejects what no compiler would accept (names that are C keywords or
     * duplicate, also across files) and what QEMU's tracetool rejects although it is valid (a tab
     * inside a type). Warns about formats that do not fit their arguments. */
    DECLARE_GENERATE = 1 << 4,
    /* A format that would read a missing argument, or a number as a string's address, is an error. */
    DECLARE_FORMATS_FIT = 1 << 5,
    /* A ',' followed by a '"' separates two formats even if they are the last characters of a string, as before QEMU
     * 10. */
    DECLARE_COMMA_PARTS = 1 << 6,
};

/* The newest rules, for Strata's own code; and the rules of a QEMU version (10.2: 10, 2); 0, 0: everything that any
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

/* An error, or a warning of a likely error. All strings are borrowed for the call. Strings from the file may contain
 * anything but a NUL (`text`: anything). */
struct declaration_problem {
    bool warning;
    const char *file;
    uint32_t line;       /* from 1 */
    uint32_t column;     /* bytes, from 1 */
    uint32_t length;     /* bytes of the wrong part; 0: something is missing there */
    const char *what;    /* "unknown property 'disabled'" */
    const char *instead; /* what to do: "write 'disable'"; NULL: obvious */
    const char *text;    /* the line, without its newline and without a NUL */
    size_t text_len;
    /* If the name is declared twice: where it was declared first; otherwise NULL. */
    const char *first_file;
    uint32_t first_line;
};

/* Called for each problem, in the order of the lines. */
typedef void (*declaration_report)(void *arg, const struct declaration_problem *problem);

/* Adds the events of a file ("-": standard input) to DECLARATIONS. With REPORT, calls it for all problems and warnings
 * and continues; without it, stops at the first error. Events before an error are added in any case. -EINVAL with the
 * first error in ERROR; -ENOMEM; an errno from reading the file. */
int declarations_read(struct declarations *declarations, const char *path,
                      declaration_report report, void *arg, struct error *error);
/* The same from memory; NAME is the file's name. */
int declarations_parse(struct declarations *declarations, const char *name, const char *text,
                       size_t len, declaration_report report, void *arg, struct error *error);
void declarations_done(struct declarations *declarations);
