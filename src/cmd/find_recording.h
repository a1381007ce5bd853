/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds the recording that an operand of strata top or strata ctl means. */

#include <stdbool.h>
#include <sys/types.h>

struct found_recording {
    char *path;     /* 0 if unknown */
    pid_t recorder; /* 0: not known */
};

/* OPERAND is a directory, a process (of a recorder, or recorded), or the name of a machine; NULL: the only running
 * recording. COMMAND is for messages: "top". An exit status; errors are printed. */
int find_recording(const char *operand, const char *command, struct found_recording *ret);

/* Finds the process of the QEMU called NAME; 0 if there is none. EXIT_FAILURE with a message if there are several. */
int find_qemu_by_name(const char *name, pid_t *ret_pid);
