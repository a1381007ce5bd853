/* SPDX-License-Identifier: MIT */
#pragma once

/* A user's own events of Xen: a file in the language of schema/xen/table.h, or a `formats` file of
 * xentrace_format (schema/xen/formats.h), whichever it is.
 *
 * From a rule of a formats file,
 *
 *     0x0800f123  CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  my_guest  [ phase = %(1)d, at = 0x%(3)08x%(2)08x ]
 *
 * the event gets the name that stands behind the time, and the text within the brackets, with a field
 * for each %(N): `phase` of word 1, and `at` of 64 bits from words 2 and 3. A file that has a rule for
 * CPU_CHANGE is Xen's own, with or without additions: of that only what the table does not know is
 * taken, since the table is more exact. */

#include "schema/xen/table.h"

/* -EINVAL with the line in ERROR; an errno from opening or reading the file; -ENOMEM. */
int xen_custom_read(struct xen_table *table, const char *path, struct error *error);
/* The same of LEN bytes at TEXT; FILE is for messages. */
int xen_custom_parse(struct xen_table *table, const char *file, const char *text, size_t len,
                     struct error *error);
