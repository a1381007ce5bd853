/* SPDX-License-Identifier: MIT */
#pragma once

/* The process that reads a running recording: one for the conditions of `--on` and for the metrics of analyses. The
 * recorder of triggers starts it if conditions need events; otherwise the recorder of metrics does
 * (record/watch_process.h). */

#include <stdint.h>

struct watch_condition;

/* Borrowed as long as the process may be started. */
struct record_watch {
    const char *dir;
    const struct watch_condition *conditions;
    unsigned n_conditions;
    uint64_t metrics_period; /* ns; 0: no metrics of analyses */
};

/* A watch_process_function. USERDATA: struct record_watch. */
int record_watch_run(void *userdata, uint64_t since, int out, int stop);
