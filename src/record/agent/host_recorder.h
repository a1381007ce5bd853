/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of this machine's kernel, by a strata-agent that it starts, into the directory "host" of its recording.
 * It is ready when the kernel is traced; a kernel that cannot be traced is a failure of its start. */

#include "record/agent/guests.h"
#include "record/recorder.h"

/* All borrowed, for as long as the recorder is there. */
struct host_recorder_settings {
    const struct trace_config *config;
    const char *agent; /* the program strata-agent: a path, or a name to be looked for in PATH */
    pid_t pid_filter; /* only what happens in threads of that process and of its children; 0: all */
};

/* -ENOMEM. */
int host_recorder_new(const struct host_recorder_settings *settings, struct recorder **ret);
/* What came of it; NULL: nothing was recorded. */
const struct guest *host_recorder_guest(const struct recorder *recorder);
