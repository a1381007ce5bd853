/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds QEMU in a command that starts a virtual machine: QEMU itself, QEMU after programs that run the program in their
 * arguments (env, nice, taskset), or a script that starts QEMU. */

#include "base/error.h"

struct qemu_command {
    char *program;     /* QEMU's file, malloc()ed */
    unsigned n_before; /* number of words before QEMU's own */
};

/* Returns 1 if COMMAND, N words, is of the first two kinds; 0 if neither its words nor its file name a QEMU. -errno
 * with ERROR: the user must state how it starts QEMU (--qemu), or it cannot be recorded. PATH is $PATH or NULL. */
int qemu_command_find(const char *const *command, unsigned n, const char *path,
                      struct qemu_command *ret, struct error *error);

/* True if PROGRAM is a program of QEMU that runs no machine and has the option --trace. */
bool qemu_command_is_tool(const char *program);
