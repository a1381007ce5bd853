/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder that provides metrics of a running recording, to Prometheus or in a file. docs/man/strata-metrics.7
 * lists every family. It has no sources, and ends when all others have ended. */

#include "record/recorder.h"
#include "record/watch/watch_child.h"

/* Strings are borrowed for the life of the recorder. */
struct metrics_recorder_settings {
    const char *listen; /* address in the form of base/address.h; NULL: does not serve */
    const char *file;   /* NULL: writes no file */
};

/* Creates the recorder, which listens from now on. -errno with ERROR. */
int metrics_recorder_new(const struct metrics_recorder_settings *settings, struct recorder **ret,
                         struct error *error);
/* The address at which it listens ("127.0.0.1:9100"), or NULL. */
const char *metrics_recorder_address(const struct recorder *recorder);
/* Adds metrics of analyses from the process that WATCH describes. ELSEWHERE: the recorder that starts this process and
 * passes on its lines; NULL: this recorder starts it. Both are borrowed. Call it before the recording begins.
 * -ENOMEM. */
int metrics_recorder_watch(struct recorder *recorder, const struct record_watch *watch,
                           const struct recorder *elsewhere);
/* Handles a line of that process, LEN bytes with the newline, like struct watch_process_handler. USERDATA: the
 * recorder. */
void metrics_recorder_line(void *userdata, const char *line, size_t len);
