/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* True if the trace directory PATH is being recorded. *RET_RECORDER is then the recording process, or unchanged if it
 * is unknown. RUNTIME_DIR is $XDG_RUNTIME_DIR. */
bool tracedir_is_recorded(const char *path, const char *runtime_dir, pid_t *ret_recorder);
