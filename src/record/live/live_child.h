/* SPDX-License-Identifier: MIT */
#pragma once

/* The code of the process that prints events while they are recorded (record/live/live_recorder.h): it puts the events of all
 * kernels in order and passes them to a sink. Only for files of this directory. */

#include "record/live/live_recorder.h"

/* Exit statuses of the process. */
#define LIVE_STATUS_UNREAD 10

/* Reads the streams FDS, one for each kernel of SETTINGS, until all have ended; then exits. KEPT: a descriptor that
 * stays open as long as the process runs. REPORT may be NULL. */
_Noreturn void live_child_run(const struct live_recorder_settings *settings, const int *fds,
                              int kept, void (*report)(void *userdata, const char *text),
                              void *userdata);
