/* SPDX-License-Identifier: MIT */
#pragma once

/* The process that takes apart what one guest sends. It is confined (capture/confine.h): it holds the
 * connection, the channel to the collector and the files for pages that it was given, and nothing else. */

#include <sys/types.h>

#include "capture/confine.h"
#include "capture/guest_channel.h"

/* Forks it. *RET_CHANNEL: the collector's end, which does not block. MAX_FILE: bytes that no file of
 * pages may exceed, 0: any. The caller has one thread. -errno with FAULT. */
int guest_child_start(const struct guest_wishes *wishes, const struct confine_user *user,
                      uint64_t max_file, pid_t *ret_pid, int *ret_channel, struct fault *fault);
