/* SPDX-License-Identifier: MIT */
#pragma once

/* The event classes that a traced process has described in its process file (runtime/ring/process_file.h). The records
 * of its packets are parsed by them. The file is checked before it is used. */

#include "base/error.h"
#include "runtime/events.h"
#include "runtime/ring/ring.h"

struct classes {
    struct trace_class **by_id; /* CLASS_ID_MAX + 1 entries; NULL: not described */
    struct trace_class **in_order;
    unsigned n;
    uint64_t used; /* bytes of descriptions that were parsed */
};

/* Parses the new descriptions in BYTES: SIZE bytes with all descriptions from the first one, of which earlier calls
 * have parsed some. PATH: the file's name in errors. -EBADMSG: damaged; the descriptions before the damage are added.
 * -ENOMEM. */
int classes_read(struct classes *classes, const uint8_t *bytes, uint64_t size, const char *path,
                 struct error *error);
void classes_done(struct classes *classes);

/* Returns the class of number ID, or NULL if it is not described. */
const struct trace_class *classes_find(const struct classes *classes, uint32_t id);

/* Counts the records of a packet. Returns how many bytes of its content can be parsed: all bytes, or the bytes before
 * the first record that is incomplete or whose class is not described. */
size_t classes_count(const struct classes *classes, const struct ring_packet *packet,
                     uint64_t *ret_records);
