/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads files of QEMU's simple trace backend, versions 0, 2, 3 and 4. simpletrace.c has the byte tables. */

#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"
#include "schema/trace_events/qemu_class.h"

/* Capacity of the input, which must hold the longest record; the writer's own buffer has 256 KiB. */
#define SIMPLETRACE_INPUT_SIZE ((size_t)320 * 1024)

struct simpletrace_options {
    /* declarations, which must outlive the source; or NULL */
    const struct qemu_events *events;
    bool no_header; /* version 4 without its header; IDs are in declaration order */
    struct reader_options reader;
};

/* True if the N bytes at HEAD are the begin of a simpletrace file of any version. */
#define SIMPLETRACE_HEAD_SIZE 24
bool simpletrace_probe(const uint8_t *head, size_t n);
/* True if they are the begin of a file of a version before 4. */
bool simpletrace_is_old(const uint8_t *head, size_t n);

/* Opens a file. Takes over IN, with capacity SIMPLETRACE_INPUT_SIZE, even on failure. Adds classes and the origin to
 * CATALOGUE. The source is not `ordered`, because a writer reads the time before it reserves its place in the file.
 *
 * An event that is not declared, or whose ID has no name, has a class with `declared_in` NULL and one field of raw
 * words.
 *
 * -EBADMSG: not such a file, or an unknown version; -ENOMEM. */
int simpletrace_open(struct input *in, struct catalogue *catalogue,
                     const struct simpletrace_options *options, struct source **ret_source,
                     struct error *error);

/* 0, 2, 3 or 4. Files before version 3 have no PIDs. */
unsigned simpletrace_version(const struct source *source);
