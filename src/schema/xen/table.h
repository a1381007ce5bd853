/* SPDX-License-Identifier: MIT */
#pragma once

/* Xen's trace events: their names and the layout of their payloads. The built-in table is the file
 * data/xen-events; a user's file in the same language adds to it or replaces parts.
 *
 *     ID NAME [CONDITION, …] FIELD:TYPE … "FORMAT"     an event
 *     enum NAME                                        names of values, on the indented lines that follow
 *         VALUE NAME                                     one value and its name
 *     bits NAME                                        the same for the bits of a set; 0 is the lowest
 *     call NUMBER ARGUMENT:NAME[=ENUM] …               names of the arguments of a hypercall, 0 to 5
 *
 * `#` starts a comment. TYPE is u, s or x (unsigned, signed, shown as hexadecimal) and a number of
 * bits, 1 to 64; fields follow each other from the payload's lowest bit. A type may be followed by
 * `[N]` or `[]` (an array of N elements, or up to the payload's end), `?` (may be absent), and `=ENUM`.
 * A field named `-` is a gap (`-:16`). Conditions, in brackets: `since 4.18`, `until 4.17` (versions of
 * Xen), `cpu amd`, `cpu intel`, `words N`, `words N+` (extra words of the record). FORMAT, a printf
 * format over the fields, is optional. If several lines define an event, the last one whose conditions
 * hold counts. */

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "event/class.h"

/* Versions as 100 * major + minor: 417 is Xen 4.17; 0: unknown. */
typedef uint16_t xen_version;

/* The processor that Xen ran on: VMX and SVM number some events differently. */
enum xen_cpu {
    XEN_CPU_UNKNOWN,
    XEN_CPU_AMD,   /* SVM */
    XEN_CPU_INTEL, /* VMX */
};

struct xen_event {
    uint32_t id;
    const char *name;
    const struct field *fields;
    unsigned n_fields;
    uint8_t words;      /* words of the fields and gaps */
    const char *format; /* or NULL */
    uint8_t words_min;
    uint8_t words_max;
    xen_version since; /* or 0 */
    xen_version until; /* or 0 */
    enum xen_cpu cpu;  /* or XEN_CPU_UNKNOWN: all */
    const char *file;  /* NULL: built in */
    uint32_t line;
    const struct xen_event *before; /* the previous line for the same ID, or NULL */
};

#define XEN_CALL_ARGUMENTS 6

/* The names of a hypercall's arguments. */
struct xen_call {
    uint32_t op;
    struct xen_argument {
        const char *name;                /* or NULL */
        const struct value_names *names; /* of its values, or NULL */
        const char *flag; /* name of bit 31, which is not part of the value; or NULL */
    } arguments[XEN_CALL_ARGUMENTS];
    struct xen_call *next;
};

struct xen_table {
    struct arena arena;
    struct map events; /* by ID: the struct xen_event of the last line */
    struct map enums;  /* by name: struct value_names */
    unsigned n_events;
    struct xen_call *calls; /* one for each hypercall with a line */
};

/* Adds the lines of LEN bytes at TEXT. FILE is for messages; NULL: the built-in table. -EINVAL with the line in ERROR;
 * -ENOMEM. */
int xen_table_parse(struct xen_table *table, const char *file, const char *text, size_t len,
                    struct error *error);
/* Adds a copy of EVENT and its fields; their strings must live as long as the table. -ENOMEM. */
int xen_table_add(struct xen_table *table, const struct xen_event *event);
int xen_table_built_in(struct xen_table *table, struct error *error);
void xen_table_done(struct xen_table *table);

/* The line for an event with WORDS extra words of Xen VERSION on CPU, or NULL. A line whose conditions depend on an
 * unknown fact is not chosen. */
const struct xen_event *xen_table_find(const struct xen_table *table, uint32_t id, unsigned words,
                                       xen_version version, enum xen_cpu cpu);

/* The group of an event by the class bits of its ID ("sched", "hvm", …); "other" for a class that Xen does not have. */
const char *xen_event_group(uint32_t id);
/* Parses "amd", "AuthenticAMD" and other names of SVM; "intel", "GenuineIntel" and other names of VMX. */
enum xen_cpu xen_cpu_parse(const char *s);
/* Parses "4.17" to 417; 0: not a version. */
xen_version xen_version_parse(const char *s, size_t len);
