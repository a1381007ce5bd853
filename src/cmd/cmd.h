/* SPDX-License-Identifier: MIT */
#pragma once

/* The verbs of the one command, each in a file of its own. Only this layer prints to people and
 * decides exit statuses. */

#include "base/fault.h"

enum {
    EXIT_FINE = 0,
    EXIT_COULD_NOT = 1,
    EXIT_USAGE = 2,
    EXIT_LOSSES = 3, /* --strict, and something was lost */
};

/* Picks the verb by argv[0] (an old tool's name) or argv[1]. Returns the exit status. */
int strata_main(int argc, char **argv);

/* A verb: argv[0] is its name. */
typedef int (*cmd_function)(int argc, char **argv);

/* TEXT and a newline on standard error, as output_line() has it. */
void cmd_message(const char *format, ...) _printf_(1, 2);
/* "strata: TEXT" on standard error, as output_line() has it; the second with what a fault says. */
void cmd_error(const char *format, ...) _printf_(1, 2);
void cmd_fault(const struct fault *fault);
/* Tells that there is none; returns -ENOMEM. */
int cmd_no_memory(void);
/* Tells of -errno from writing to standard output; quietly by SIGPIPE where a reader went away. Returns
 * EXIT_COULD_NOT. */
int cmd_output_error(int error);
/* "strata VERB: TEXT", and where to find help; returns EXIT_USAGE. */
int cmd_usage_error(const char *verb, const char *format, ...) _printf_(2, 3);

/* Lets the process have as many open files as it may. */
void cmd_raise_files(void);

/* The verbs. */
struct command;
extern const struct command agent_command, collect_command, ctl_command, export_command,
    gen_command, info_command, list_command, merge_command, record_command, recover_command,
    report_command, stat_command;
int cmd_agent(int argc, char **argv);
int cmd_collect(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_gen(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_stat(int argc, char **argv);

/* The old tools. */
int cmd_simpletrace(int argc, char **argv);
int cmd_tracetool(int argc, char **argv);
int cmd_xentrace(int argc, char **argv);
int cmd_xentrace_format(int argc, char **argv);
