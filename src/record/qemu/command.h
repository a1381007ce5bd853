/* SPDX-License-Identifier: MIT */
#pragma once

/* A command that starts a virtual machine: QEMU itself, QEMU after programs that run the program in their arguments (env,
 * nice, taskset), or a script that starts QEMU. */

#include "base/error.h"

struct qemu_command {
    char *program;     /* QEMU's file, malloc()ed */
    unsigned n_before; /* words in front of QEMU's own */
};

/* 1: COMMAND, N words, is of the first two kinds. 0: neither its words nor its file name a QEMU. -errno with ERROR: it
 * starts QEMU in a way that the user has to state (--qemu), or where it cannot be recorded. PATH is $PATH or NULL. */
int qemu_command_find(const char *const *command, unsigned n, const char *path,
                      struct qemu_command *ret, struct error *error);

/* Whether PROGRAM is one of QEMU's that runs no machine, and has --trace. */
bool qemu_command_is_tool(const char *program);
