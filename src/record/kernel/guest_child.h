/* SPDX-License-Identifier: MIT */
#pragma once

/* The process that parses what one guest sends. It is confined (base/sandbox.h), and has only the connection, the
 * channel to the collector (record/kernel/guest_channel.h), the stream to the live view, and the files for pages. */

#include <sys/types.h>

#include "base/sandbox.h"
#include "record/kernel/guest_channel.h"

/* Descriptors that the child needs besides the files for pages. */
#define GUEST_CHILD_OPEN_MIN 24u
/* Limit of descriptors with the files for pages. With more CPUs, the child closes files and opens them again. */
#define GUEST_CHILD_OPEN_MAX 1024u

struct guest_child_options {
    const struct trace_config *config; /* borrowed */
    struct sandbox_user user;
    uint64_t max_file; /* limit of each file of pages, in bytes; 0: none */
    bool keeps;        /* write files; false: only show */
    unsigned max_open; /* descriptors */
    /* The sending end of the stream to the live view (record/kernel/live_stream.h), borrowed; -1: none. */
    int live;
};

/* Forks the child. *RET_CHANNEL: the collector's end, non-blocking. The calling process must have one thread. -errno
 * with ERROR. */
int guest_child_start(const struct guest_child_options *options, pid_t *ret_pid, int *ret_channel,
                      struct error *error);
