/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads the `formats` files of Xen's xentrace_format. Each line is a rule,
 *
 *     ID  FORMAT
 *
 * ID is an integer in Python's syntax (0x1f003, 127, 0b1, 1_000), or several joined by `|` and `+`. FORMAT is
 * everything from the next nonblank character to the line's end, for Python's % operator (%(cpu)d, …). Empty lines and
 * lines that begin with `#` are ignored. The last rule for an ID counts. The rule for 0 is for all events without a
 * rule. xentrace_format evaluates the ID as any Python expression; other expressions are refused here. */

#include "base/arena.h"
#include "base/error.h"

struct xen_format_rule {
    uint64_t id;
    const char *format; /* unchanged from the file, ended by a NUL */
    size_t len;
    uint32_t line;
};

struct xen_formats {
    struct arena arena;
    struct xen_format_rule *rules; /* in the order of the file */
    unsigned n_rules;
    unsigned capacity;
};

/* -EINVAL with the line in ERROR; an errno from opening or reading the file; -ENOMEM. */
int xen_formats_read(struct xen_formats *formats, const char *path, struct error *error);
int xen_formats_parse(struct xen_formats *formats, const char *name, const char *text, size_t len,
                      struct error *error);
void xen_formats_done(struct xen_formats *formats);
