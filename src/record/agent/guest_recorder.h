/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of one kernel by its strata-agent: of a guest, into the directory "guest-NAME" of its recording, or of
 * this machine, by an agent that the recorder starts, into the directory "host".
 *
 * A guest's recorder waits for an agent as long as the recording lasts. When it is stopped, it reads what the agent
 * still has; hurried, it ends at once. What goes wrong with a guest is in its `error` and `what`, and in the trace, and
 * is no failure of the recorder. This machine's recorder is ready when the kernel is traced; a kernel that cannot be
 * traced is a failure of its start. */

#include "record/agent/guests.h"
#include "record/recorder.h"

/* Of a guest, where the recording has a directory and no limit of its own: a guest may send without end. */
#define GUEST_MAX_SIZE_DEFAULT (UINT64_C(16) << 30)

/* All borrowed, for as long as the recorder is there. */
struct guest_recorder_settings {
    /* With `wishes`. Of this machine's kernel: these alone. */
    struct guest_config config;
    /* Of this machine's kernel: the program strata-agent, a path, or a name to be looked for in PATH. NULL: of a guest. */
    const char *agent;
    pid_t
        pid_filter; /* … only what happens in threads of that process and of its children; 0: all */
    bool is_optional; /* one from which nothing came leaves nothing in the trace */
    bool leads;
};

/* -ENOMEM. */
int guest_recorder_new(const struct guest_recorder_settings *settings, struct recorder **ret);
/* What came of it; NULL: nothing was recorded. */
const struct guest *guest_recorder_guest(const struct recorder *recorder);
