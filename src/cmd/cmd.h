/* SPDX-License-Identifier: MIT */
#pragma once

/* The verbs of the command, each in its own file. Only this layer prints to people and sets exit statuses. */

#include "cli/message.h"

/* Picks the verb by argv[0] (an old tool's name) or argv[1]. Returns the exit status. */
int strata_main(int argc, char **argv);

/* A verb: argv[0] is its name. */
typedef int (*cmd_function)(int argc, char **argv);

/* Raises the limit of open files of the process as far as permitted. */
void cmd_raise_files(void);
/* The URI of libvirt's daemon: GIVEN, otherwise $LIBVIRT_DEFAULT_URI, otherwise NULL, as for libvirt_domain_open(). No
 * daemon is started to find a domain. */
const char *cmd_libvirt_uri(const char *given);
/* Prints TEXT, a message of a recording (record/recording.h), instead of the progress line. */
void cmd_print_report(void *userdata, const char *text);

/* The verbs. */
struct command;
extern const struct command agent_command, collect_command, ctl_command, diff_command,
    exits_command, export_command, gen_command, info_command, io_command, irq_command,
    latency_command, list_command, merge_command, path_command, record_command, recover_command,
    report_command, sched_command, serve_command, sql_command, stat_command, summary_command,
    top_command, view_command;
int cmd_agent(int argc, char **argv);
int cmd_collect(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_exits(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_gen(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_io(int argc, char **argv);
int cmd_irq(int argc, char **argv);
int cmd_latency(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_path(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_sched(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_sql(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_summary(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_view(int argc, char **argv);

/* The old tools. */
int cmd_simpletrace(int argc, char **argv);
int cmd_tracetool(int argc, char **argv);
int cmd_xentrace(int argc, char **argv);
int cmd_xentrace_format(int argc, char **argv);
