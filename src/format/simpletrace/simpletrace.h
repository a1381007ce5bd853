/* SPDX-License-Identifier: MIT */
#pragma once

/* Files of QEMU's simple trace backend, versions 0, 2, 3 and 4; the byte tables stand in
 * simpletrace.c. */

#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"
#include "schema/trace_events/qemu_class.h"

/* The input's capacity must hold the longest record; the writer's own buffer has 256 KiB. */
#define SIMPLETRACE_INPUT_SIZE ((size_t)320 * 1024)

struct simpletrace_options {
    const struct qemu_events *events; /* declarations, or NULL; they must outlive the source */
    bool no_header;                   /* version 4 without its header, ids by declaration order */
    struct reader_options reader;
};

/* Whether the N bytes at HEAD begin a simpletrace file, of whatever version. */
#define SIMPLETRACE_HEAD_SIZE 24
bool simpletrace_probe(const uint8_t *head, size_t n);
/* Whether they begin one of a version before 4. */
bool simpletrace_is_old(const uint8_t *head, size_t n);

/* Takes IN over (its capacity: SIMPLETRACE_INPUT_SIZE), also when it fails. Classes and the origin go
 * into CATALOGUE. The source is not `ordered`: a writer reads the time before it reserves its place in the file.
 *
 * An event that is not declared, or whose id has no name, has a class with `declared_in` NULL and
 * one field of raw words.
 *
 * -EBADMSG: not such a file, or a version that is not known; -ENOMEM. */
int simpletrace_open(struct input *in, struct catalogue *catalogue,
                     const struct simpletrace_options *options, struct source **ret_source,
                     struct error *error);

/* 0, 2, 3 or 4. Before version 3 there is no pid in the file. */
unsigned simpletrace_version(const struct source *source);
