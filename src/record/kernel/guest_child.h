/* SPDX-License-Identifier: MIT */
#pragma once

/* The process that parses what one guest sends. It is confined (base/sandbox.h): it has the connection, the channel to
 * the collector (record/kernel/guest_channel.h), the stream to the live view and the files for pages, and nothing else. */

#include <sys/types.h>

#include "base/sandbox.h"
#include "record/kernel/guest_channel.h"

/* Descriptors that it needs besides the files for pages. */
#define GUEST_CHILD_OPEN_MIN 24u
/* … and together with them: files are closed and opened again where there are more CPUs. */
#define GUEST_CHILD_OPEN_MAX 1024u

struct guest_child_options {
    const struct trace_config *config; /* borrowed */
    struct sandbox_user user;
    uint64_t max_file; /* bytes that no file of pages may exceed, 0: any */
    bool keeps;        /* write files; false: only show */
    unsigned max_open; /* descriptors */
    int live; /* the sending end of the stream to the live view (record/kernel/live_stream.h); -1: none. Borrowed */
};

/* Forks it. *RET_CHANNEL: the collector's end, which does not block. The caller has one thread. -errno with ERROR. */
int guest_child_start(const struct guest_child_options *options, pid_t *ret_pid, int *ret_channel,
                      struct error *error);
