/* SPDX-License-Identifier: MIT */
#pragma once

/* The recording that an operand of strata top or strata ctl means. */

#include <stdbool.h>
#include <sys/types.h>

struct found_recording {
    char *path;     /* allocated */
    pid_t recorder; /* 0: not known */
};

/* OPERAND is a directory, the process of a recorder or of what is recorded, or the name of a machine; NULL: the recording that
 * is under way. COMMAND is for messages: "top". An exit status; errors are printed. */
int find_recording(const char *operand, const char *command, struct found_recording *ret);

/* The process of the QEMU that is called NAME; 0: none is. EXIT_FAILURE, printed: several are. */
int find_qemu_by_name(const char *name, pid_t *ret_pid);
