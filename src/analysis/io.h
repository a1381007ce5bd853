/* SPDX-License-Identifier: MIT */
#pragma once

/* `strata io`: how long requests to disks took in each of their stages (requests/io_tracker.h), and why the slowest did.
 *
 * Not thread-safe. */

#include "analysis/path/path_finder.h"
#include "analysis/result/result_rows.h"

#define IO_GROUPS_MAX 4096 /* of a device and a kind */

/* What follows the stages of a guest's requests that are not joined with one of a VMM, where others of the same keys are:
 * the rows of both have different names. */
#define IO_NOT_JOINED " (guest only)"

/* How the note begins that names the events of stages that the trace lacks: these are part of the next stage. */
#define IO_NOTE_MISSING "not in the trace: "

#define IO_OWN_KEYS 4   /* of rows: layer, device, kind and stage */
#define IO_BY_MAX 1024u /* groups by the keys of `--by`; what comes beyond is in one, "(others)" */

/* Which thread of a VMM handles the requests of a guest's device. */
#define IO_HANDLERS_MAX 64
struct io_handler {
    const struct origin *origin; /* the guest's */
    uint64_t device;
    int32_t pid; /* PID_UNKNOWN: several do */
};

/* `strata io`: rows of durations by layer, device, kind and stage, and between the last two by the keys of `--by`. */
struct io {
    struct analysis analysis; /* first */
    struct io_tracker tracker;
    struct path_finder finder; /* for the slowest, if any are kept */
    struct rows rows;
    struct rows by; /* without durations: the keys of requests' groups */
    struct duration_columns columns;
    unsigned bytes, part; /* columns */
    struct io_group *groups;
    unsigned n_groups;
    struct io_handler handlers[IO_HANDLERS_MAX]; /* if any of the slowest are kept */
    unsigned n_handlers;
    bool has_unselected; /* a request that is not complete is not selected */
};

/* -EINVAL: more keys than rows have; 0, -ENOMEM. */
int io_init(struct io *io, const struct analysis_settings *settings);
void io_done(struct io *io);
