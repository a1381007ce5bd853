/* SPDX-License-Identifier: MIT */
#pragma once

/* `strata io`: how long disk requests took in each of their stages (requests/io_tracker.h), and why the slowest ones
 * did.
 *
 * Not thread-safe. */

#include "analysis/path/path_finder.h"
#include "analysis/result/result_rows.h"

#define IO_GROUPS_MAX 4096 /* of a device and a kind */

/* Appended to the names of stages of guest requests without a matching VMM request, if other requests with the same
 * keys have one. So the rows of both have different names. */
#define IO_NOT_JOINED " (guest only)"

/* The beginning of the note that names the events of missing stages. These stages are part of the next stage. */
#define IO_NOTE_MISSING "not in the trace: "

#define IO_OWN_KEYS 4   /* of rows: layer, device, kind and stage */
#define IO_BY_MAX 1024u /* groups by the keys of `--by`; further ones are in "(others)" */

/* The thread of a VMM that handles the requests of a guest's device. */
#define IO_HANDLERS_MAX 64
struct io_handler {
    const struct origin *origin; /* the guest's */
    uint64_t device;
    int32_t pid; /* PID_UNKNOWN: several threads do */
};

/* `strata io`: rows of durations by layer, device, kind and stage. Between kind and stage come the keys of `--by`. */
struct io {
    struct analysis analysis; /* first */
    struct io_tracker tracker;
    struct path_finder finder; /* for the slowest requests, if any are kept */
    struct rows rows;
    struct rows by; /* without durations: keys of the groups of requests */
    struct duration_columns columns;
    unsigned bytes, part; /* columns */
    struct io_group *groups;
    unsigned n_groups;
    struct io_handler handlers[IO_HANDLERS_MAX]; /* if any of the slowest requests are kept */
    unsigned n_handlers;
    bool has_unselected; /* an incomplete request is not selected */
};

/* -EINVAL if there are more keys than rows have; 0, -ENOMEM. */
int io_init(struct io *io, const struct analysis_settings *settings);
void io_done(struct io *io);
