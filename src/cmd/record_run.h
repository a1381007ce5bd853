/* SPDX-License-Identifier: MIT */
#pragma once

/* Recording from per-CPU trace buffers, as `strata record` and `xentrace` both do: until the time is up, a
 * signal comes or a limit is reached, and telling people what happens meanwhile. */

#include "record/percpu/recorder.h"
#include "record/percpu/recording.h"

struct record_run {
    struct trace_buffers *buffers; /* open, not begun */
    struct trace_buffers_settings settings;
    struct recorder_settings recorder;
    struct stream *output;
    struct recording *recording; /* NULL: the records alone */
    uint64_t time;               /* ns; 0: no limit */
    bool leave;                  /* tracing on, and the masks as they were set, at the end */
    const char *more_room; /* which option makes the buffers larger, and whatever else helps */
};

/* Blocks and catches the signals that end it; before the buffers are opened. */
void record_catch_signals(void);
/* Sleeps for NS, behind record_catch_signals(). True: one of them came. */
bool record_sleep(uint64_t ns);
/* Opens the file FILE to write, behind record_catch_signals(): one of them ends the wait for a FIFO's reader.
 * Negative errno; -EINTR: a signal came. */
int record_open(const char *file);

/* From begin() to restore(). An exit status: EXIT_FAILURE, and why was told; EXIT_SUCCESS. *ret_begun: there
 * is something in the output. */
int record_run(struct record_run *run, struct recorder_totals *ret_totals, bool *ret_begun);
