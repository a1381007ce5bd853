/* SPDX-License-Identifier: MIT */
#pragma once

/* Events of unknown times and threads, on their way into a format that has no such thing. Not thread-safe. */

#include "event/sink.h"

struct export_unknown {
    struct sink sink;
    struct sink *next; /* not owned */
    unsigned traits;   /* of the format: enum export_trait */
    uint64_t n_times, n_threads;
};

/* Counts the events that are put, and gives all items to NEXT. */
void export_unknown_init(struct export_unknown *unknown, unsigned traits, struct sink *next);
/* Prints what the export of PATH says of them that is not known. */
void export_unknown_report(const struct export_unknown *unknown, const char *path);
