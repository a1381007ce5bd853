/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder that has metrics of a recording while it runs: served to Prometheus, or in a file. docs/man/strata-metrics.7 has
 * every family. It has no sources, and ends when all others have ended. */

#include "record/recorder.h"
#include "record/watch/process.h"

/* Strings are borrowed for as long as the recorder is there. */
struct metrics_recorder_settings {
    const char *listen; /* as base/address.h has it; NULL: it serves none */
    const char *file;   /* NULL: it writes none */
};

/* Listens already. -errno with ERROR. */
int metrics_recorder_new(const struct metrics_recorder_settings *settings, struct recorder **ret,
                         struct error *error);
/* "127.0.0.1:9100": where it listens; NULL: nowhere. */
const char *metrics_recorder_address(const struct recorder *recorder);
/* Metrics of analyses come from the process that WATCH describes. ELSEWHERE: the recorder that starts it, and hands on its lines;
 * NULL: this one does. Both are borrowed. Before the recording begins. -ENOMEM. */
int metrics_recorder_watch(struct recorder *recorder, const struct record_watch *watch,
                           const struct recorder *elsewhere);
/* A line of that process, of LEN bytes with its end, as of struct watch_process_handler. USERDATA: the recorder. */
void metrics_recorder_line(void *userdata, const char *line, size_t len);
