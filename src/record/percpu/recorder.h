/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of per-CPU trace buffers, of Xen or in shared memory with the same layout. In the directory of its
 * recording it writes:
 *
 *     NAME/trace.raw      the records, in the format of xentrace
 *     NAME/clock-pairs    how the time stamp counter relates to the host's clock (timeline/clock_map.h)
 *     NAME/events …       copies of the files that declare the user's own events
 *
 * If the recording has no directory, it writes only the records, to a descriptor. The recorder checks the buffers once
 * a second while they are idle, every `look_ns` while records come, and at once when a buffer is half full. */

#include "record/percpu/buffer_drain.h"
#include "record/recorder.h"

/* Borrowed for the life of the recorder, except what `userdata` owns. */
struct buffers_recorder_settings {
    const char *name; /* of the source, unique in the recording */
    struct trace_buffers_settings buffers;
    struct buffer_drain_settings drain;
    uint64_t look_ns;          /* between checks of the buffers while records come */
    const char *const *tables; /* files that declare events; they are copied */
    unsigned n_tables;
    bool leave_on; /* at the end, leave tracing on and the masks as they were set */
    /* A sentence: the option that makes the buffers larger, and what else helps. */
    const char *more_room;
    int fd;                                /* for a recording without a directory: the output */
    const char *path;                      /* name of `fd` in messages */
    void *userdata;                        /* freed with the recorder by free_userdata() */
    void (*free_userdata)(void *userdata); /* may be NULL */
};

/* Takes ownership of BUFFERS, even on failure. BUFFERS must be open and must not have begun. -ENOMEM: the caller still
 * owns `userdata`. */
int buffers_recorder_new(struct trace_buffers *buffers,
                         const struct buffers_recorder_settings *settings, struct recorder **ret);
/* The totals so far. Call it after the start. */
struct buffer_drain_totals buffers_recorder_totals(const struct recorder *recorder);
