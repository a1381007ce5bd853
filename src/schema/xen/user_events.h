/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads a user's own Xen events: from a file in the language of schema/xen/table.h, or from a `formats` file of
 * xentrace_format (schema/xen/formats.h). The content determines which.
 *
 * From a rule of a formats file,
 *
 *     0x0800f123  CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  my_guest  [ phase = %(1)d, at = 0x%(3)08x%(2)08x ]
 *
 * the event gets the name after the time and the text within the brackets, with a field for each %(N): `phase` from
 * word 1, and `at`, 64 bits, from words 2 and 3. A file with a rule for CPU_CHANGE is Xen's own file, perhaps with
 * additions. Only its events that are not in the table are used, because the table is more exact. */

#include "schema/xen/table.h"

/* -EINVAL with the line in ERROR; an errno from opening or reading the file; -ENOMEM. */
int xen_user_events_read(struct xen_table *table, const char *path, struct error *error);
/* The same of LEN bytes at TEXT; FILE is for messages. */
int xen_user_events_parse(struct xen_table *table, const char *file, const char *text, size_t len,
                          struct error *error);
