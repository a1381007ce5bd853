/* SPDX-License-Identifier: MIT */
#pragma once

/* A command that somebody types to start a virtual machine: QEMU itself, QEMU behind programs that run another one
 * as they are told to (env, nice, taskset), or something that starts it in its own way. */

#include "base/error.h"

struct qemu_command {
    char *program;     /* QEMU's file, malloc()ed */
    unsigned n_before; /* words in front of QEMU's own */
};

/* 1: COMMAND, N words, is of the first two kinds; 0: it starts no QEMU, as far as its words and its file tell;
 * -errno with ERROR: it does, but in a way that needs to be known of. PATH is $PATH or NULL. */
int qemu_command_find(const char *const *command, unsigned n, const char *path,
                      struct qemu_command *ret, struct error *error);
