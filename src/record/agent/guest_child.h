/* SPDX-License-Identifier: MIT */
#pragma once

/* The process that takes apart what one guest sends. It is confined (record/agent/confine.h): it holds the
 * connection, the channel to the collector and the files for pages that it was given, and nothing else. */

#include <sys/types.h>

#include "record/agent/confine.h"
#include "record/agent/guest_channel.h"

/* Descriptors that it needs beside the files for pages. */
#define GUEST_CHILD_OPEN_MIN 24u
/* … and with them; more makes it no faster, as files of CPUs that have no turn are closed. */
#define GUEST_CHILD_OPEN_MAX 1024u

struct guest_child_options {
    const struct trace_config *wishes; /* borrowed */
    struct confine_user user;
    uint64_t max_file; /* bytes that no file of pages may exceed, 0: any */
    bool keeps;        /* what it takes goes into files */
    unsigned
        max_open; /* descriptors that it may have: one for each CPU's file, as far as they go */
    int live; /* an end of record/agent/live_stream.h's, by which it is shown, too; -1: it is not. Borrowed */
};

/* Forks it. *RET_CHANNEL: the collector's end, which does not block. The caller has one thread. -errno with ERROR. */
int guest_child_start(const struct guest_child_options *options, pid_t *ret_pid, int *ret_channel,
                      struct error *error);
