/* SPDX-License-Identifier: MIT */
#pragma once

/* Metrics of a recording while it runs: `strata record --metrics` and `--metrics-file`. docs/man/strata-metrics.7 has
 * every family. */

#include "cli/options.h"
#include "metrics/metrics.h"
#include "record/recorder.h"

struct record_metrics_options {
    const char *listen; /* --metrics: as base/address.h has it; NULL: not given */
    const char *file;   /* --metrics-file; NULL: not given */
    uint64_t period;    /* --metrics-period, ns; 0: no analyses */
};

#define RECORD_METRICS_DEFAULT \
    {                          \
        .period = 10000000000  \
    }

extern const struct cli_option record_metrics_options[];

/* Whether OPTIONS can be meant. An exit status; errors are printed. */
int record_metrics_check(const struct record_metrics_options *options);
/* A recorder without sources, which ends when all others have ended. *RET is NULL where OPTIONS ask for none. Listens
 * already. An exit status. */
int record_metrics_new(const struct record_metrics_options *options, struct recorder **ret);
/* Metrics of analyses come from the process that WATCH describes. ELSEWHERE: the recorder that starts it, and hands on its lines;
 * NULL: this one does. Both are borrowed. Before the recording begins. An exit status. */
struct record_watch;
int record_metrics_watch(struct recorder *recorder, const struct record_watch *watch,
                         const struct recorder *elsewhere);
/* A line of that process, of LEN bytes with its end, as of struct watch_process_handler. USERDATA: the recorder. */
void record_metrics_line(void *userdata, const char *line, size_t len);
/* The set of such a recorder: families that are added to it are printed, too. */
struct metrics *record_metrics_set(struct recorder *recorder);
/* Calls COLLECT before each time that the set is printed, after what the recording itself puts there. One per recorder. */
void record_metrics_on_collect(struct recorder *recorder, void (*collect)(void *userdata),
                               void *userdata);
