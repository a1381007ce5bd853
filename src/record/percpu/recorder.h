/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of per-CPU trace buffers: those of Xen, or shared memory in the same layout. In the directory of its
 * recording:
 *
 *     NAME/trace.raw      the records, as xentrace writes them
 *     NAME/clock-pairs    how the time stamp counter relates to the host's clock (timeline/clock_map.h)
 *     NAME/events …       copies of the files that declare the user's own events
 *
 * Where the recording has no directory, the records alone, into a descriptor. An idle recorder looks into the buffers
 * once a second; one that gets records as often as `look_ns` says, and at once when a buffer is half full. */

#include "record/percpu/buffer_drain.h"
#include "record/recorder.h"

/* Borrowed for as long as the recorder is there, unless `userdata` has it. */
struct buffers_recorder_settings {
    const char *name; /* of the source, unique in the recording */
    struct trace_buffers_settings buffers;
    struct buffer_drain_settings drain;
    uint64_t look_ns;          /* between looks into the buffers, while records come */
    const char *const *tables; /* files that declare events; they are copied */
    unsigned n_tables;
    bool leave_on; /* tracing, and the masks as they were set, at the end */
    /* the option that makes the buffers larger, and what else helps; a sentence */
    const char *more_room;
    int fd;           /* for a recording without a directory: where the records go, and … */
    const char *path; /* … its name for messages */
    void *userdata;   /* freed with the recorder by … */
    void (*free_userdata)(void *userdata); /* … or NULL */
};

/* Takes ownership of BUFFERS, which are open and have not begun, also on failure. -ENOMEM: `userdata` is still the caller's. */
int buffers_recorder_new(struct trace_buffers *buffers,
                         const struct buffers_recorder_settings *settings, struct recorder **ret);
/* What came of it, after it has started. */
struct buffer_drain_totals buffers_recorder_totals(const struct recorder *recorder);
