/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts events with unknown times or threads in an export to a format without unknown values. Not thread-safe. */

#include "event/sink.h"

struct export_unknown {
    struct sink sink;
    struct sink *next; /* not owned */
    unsigned traits;   /* of the format: enum export_trait */
    uint64_t n_times, n_threads;
};

/* Counts the events that are put, and passes all items to NEXT. */
void export_unknown_init(struct export_unknown *unknown, unsigned traits, struct sink *next);
/* Prints how many events in the export of PATH have unknown times or threads. */
void export_unknown_report(const struct export_unknown *unknown, const char *path);
