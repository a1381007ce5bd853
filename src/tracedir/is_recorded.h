/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether PATH, a trace directory, is being recorded, and by which process; *RET_RECORDER stays if that is not known. RUNTIME_DIR is
 * $XDG_RUNTIME_DIR. */
bool tracedir_is_recorded(const char *path, const char *runtime_dir, pid_t *ret_recorder);
