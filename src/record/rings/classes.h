/* SPDX-License-Identifier: MIT */
#pragma once

/* The event classes that a traced process described in its process file (runtime/ring/process_file.h), by
 * which the records of its packets are parsed. The file is checked before it is believed. */

#include "base/error.h"
#include "runtime/events.h"
#include "runtime/ring/ring.h"

struct classes {
    struct trace_class **by_id; /* CLASS_ID_MAX + 1, NULL: not described */
    struct trace_class **in_order;
    unsigned n;
    uint64_t used; /* bytes of descriptions that were read */
};

/* Reads on in BYTES, SIZE of descriptions from the first one on, what has come since the last call. PATH
 * is what errors call the file. -EBADMSG: they are damaged; those before the damage are there. -ENOMEM. */
int classes_read(struct classes *classes, const uint8_t *bytes, uint64_t size, const char *path,
                 struct error *error);
void classes_done(struct classes *classes);

/* NULL: it is not described. */
const struct trace_class *classes_find(const struct classes *classes, uint32_t id);

/* Counts the records of a packet. Returns how many bytes of its content can be parsed: all, or those
 * before the first record whose class is not described, or that is incomplete. */
size_t classes_count(const struct classes *classes, const struct ring_packet *packet,
                     uint64_t *ret_records);
