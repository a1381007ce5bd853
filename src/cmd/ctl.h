/* SPDX-License-Identifier: MIT */
#pragma once

/* strata ctl: what it does to a program by its control socket, and to a QEMU by QMP. */

#include "base/text.h"

/* WORDS are a command and its N - 1 arguments. Return the exit status. */
int ctl_process(const char *which, unsigned n, char **words);
int ctl_qmp(const char *socket, unsigned n, char **words);

/* WHICH is the directory of a recording, a socket, or a process: a QEMU or one that links libstrata. */
int ctl_any(const char *which, unsigned n, char **words);

/* The one command of a table that WORDS begin with, whose number of arguments fits; else tells what is
 * wrong, and returns NULL. */
struct ctl_command {
    const char *name; /* NULL: behind the last one */
    const char *arguments;
    unsigned min, max; /* how many arguments */
    int (*function)(void *target, unsigned n, char **arguments);
};
const struct ctl_command *ctl_find(const struct ctl_command *commands, unsigned n, char **words);

/* A line about an event. WHERE may be NULL. */
void ctl_put_event(struct text *out, const char *state, const char *name, const char *where);
/* Writes out what commands have put; the exit status. */
int ctl_end(struct text *out, int status);
