/* SPDX-License-Identifier: MIT */
#pragma once

/* strata ctl: controls a program by its control socket, and a QEMU by QMP. */

#include <sys/types.h>

#include "print/table.h"

struct ctl_request {
    char **words; /* a command and its arguments */
    unsigned n;   /* number of words */
    enum table_format format;
};

/* Return the exit status. */
int ctl_process(const char *which, const struct ctl_request *request);
int ctl_qmp(const char *socket, const struct ctl_request *request);
/* The same for any monitor, of process PID; 0 if the process is known only after connecting. DOMAIN: libvirt's domain
 * of the QEMU, or NULL. */
struct qmp_endpoint;
struct libvirt_domain;
int ctl_monitor(const struct qmp_endpoint *monitor, pid_t pid, struct libvirt_domain *domain,
                const struct ctl_request *request);

/* WHICH is the directory of a recording, a socket, or a process: a QEMU or one that links libstrata. */
int ctl_any(const char *which, const struct ctl_request *request);

/* Finds the command of REQUEST in a table, with a permitted number of arguments and format. Otherwise prints what is
 * wrong, and returns NULL. TARGET says what the commands control: "a QEMU". */
struct ctl_command {
    const char *name; /* NULL terminates the table */
    const char *arguments;
    unsigned min, max; /* number of arguments */
    int (*function)(void *target, unsigned n, char **arguments);
    bool is_table; /* printed in the format of the request; other commands print text */
};
const struct ctl_command *ctl_find(const struct ctl_command *commands, const char *target,
                                   const struct ctl_request *request);
bool ctl_has_command(const struct ctl_command *commands, const char *name);
/* WORD is not a command. Reports the command in TABLES, terminated by NULL, that it probably means. False if no command
 * is similar. */
bool ctl_suggest(const struct ctl_command *const *tables, const char *word);

/* The commands of each kind of target. */
extern const struct ctl_command ctl_process_commands[];
extern const struct ctl_command ctl_qmp_commands[];
extern const struct ctl_command ctl_recording_commands[];

/* The columns of the table of `list`. */
enum ctl_event_column {
    CTL_STATE,
    CTL_EVENT,
    CTL_WHERE, /* text only */
    CTL_FILE,
    CTL_LINE,
    CTL_CONDITION,
    CTL_EVENT_COLUMNS,
};
extern const struct table_form ctl_event_form;

/* Opens the output of commands. -ENOMEM, after reporting it. */
int ctl_open(struct text *out, enum table_format format);
/* Writes the output of commands. Returns the exit status. */
int ctl_end(struct text *out, int status);
