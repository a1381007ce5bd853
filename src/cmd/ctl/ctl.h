/* SPDX-License-Identifier: MIT */
#pragma once

/* strata ctl: what it does to a program by its control socket, and to a QEMU by QMP. */

#include <sys/types.h>

#include "print/table.h"

struct ctl_request {
    char **words; /* a command and its arguments */
    unsigned n;   /* words */
    enum table_format format;
};

/* Return the exit status. */
int ctl_process(const char *which, const struct ctl_request *request);
int ctl_qmp(const char *socket, const struct ctl_request *request);
/* The same of any monitor, of process PID; 0: which process it is shows when it is connected to. */
struct qmp_endpoint;
struct libvirt_domain;
/* DOMAIN: of libvirt, whose QEMU it is; NULL: none. */
int ctl_monitor(const struct qmp_endpoint *monitor, pid_t pid, struct libvirt_domain *domain,
                const struct ctl_request *request);

/* WHICH is the directory of a recording, a socket, or a process: a QEMU or one that links libstrata. */
int ctl_any(const char *which, const struct ctl_request *request);

/* The command of a table that REQUEST has, whose number of arguments fits and which has the format; else prints what
 * is wrong, and returns NULL. TARGET says what the commands are for: "a QEMU". */
struct ctl_command {
    const char *name; /* NULL: after the last one */
    const char *arguments;
    unsigned min, max; /* how many arguments */
    int (*function)(void *target, unsigned n, char **arguments);
    bool is_table; /* in the format of the request; any other is text */
};
const struct ctl_command *ctl_find(const struct ctl_command *commands, const char *target,
                                   const struct ctl_request *request);
bool ctl_has_command(const struct ctl_command *commands, const char *name);
/* Reports the command of TABLES, which end with NULL, that WORD, which is none of them, probably means. False: no command is
 * similar. */
bool ctl_suggest(const struct ctl_command *const *tables, const char *word);

/* The commands of each kind of target. */
extern const struct ctl_command ctl_process_commands[];
extern const struct ctl_command ctl_qmp_commands[];
extern const struct ctl_command ctl_recording_commands[];

/* The table of `list`, whose columns are these. */
enum ctl_event_column {
    CTL_STATE,
    CTL_EVENT,
    CTL_WHERE, /* text alone */
    CTL_FILE,
    CTL_LINE,
    CTL_CONDITION,
    CTL_EVENT_COLUMNS,
};
extern const struct table_form ctl_event_form;

/* Where commands put. -ENOMEM, which was reported. */
int ctl_open(struct text *out, enum table_format format);
/* Writes out what commands have put; the exit status. */
int ctl_end(struct text *out, int status);
