/* SPDX-License-Identifier: MIT */
/* strata record: takes what programs trace while they run. */

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/duration.h"
#include "cli/options.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/record_kernel.h"
#include "cmd/record_run.h"
#include "record/qemu/command.h"
#include "record/qemu/probe.h"

static const struct option where[] = {
    {OPTION_FLAG, 'a', "attach", NULL, "a running QEMU, or a program with writer=none",
     offsetof(struct record_options, attach)},
    {OPTION_FLAG, 0, "xen", NULL, "the Xen of this machine, as root in dom0",
     offsetof(struct record_options, xen)},
    {OPTION_STRINGS, 0, "percpu", "NAME", "per-CPU buffers of a program; repeatable",
     offsetof(struct record_options, buffers.names)},
    {OPTION_END},
};

static const struct option record_option_table[] = {
    {OPTION_STRING, 'o', "output", "DIR", "directory for the trace",
     offsetof(struct record_options, output)},
    {OPTION_STRINGS, 'e', "event", "EVENTS",
     "events to record: names with * and ?; for Xen also\nclasses",
     offsetof(struct record_options, events)},
    {OPTION_PARSED, 't', "time", "SECONDS", "stop after SECONDS (0.5 is half a second)",
     offsetof(struct record_options, time), NULL, duration_parse},
    {OPTION_PARSED, 0, "max-size", "SIZE",
     "stop writing at SIZE; a VM keeps running and further\nevents count as lost",
     offsetof(struct record_options, max_size), NULL, size_parse},
    {OPTION_PARSED, 0, "min-free", "SIZE",
     "stop before less is free on the disk (64M with --xen\nand --percpu)",
     offsetof(struct record_options, min_free), NULL, size_parse},
    {OPTION_FLAG, 0, "strict", NULL, "exit with 3 if events were lost",
     offsetof(struct record_options, strict)},
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0},
    {OPTION_END},
};

static const struct option vm_options[] = {
    {OPTION_MAYBE, 0, "guest", "EVENTS", "also record the guest kernel (by its strata-agent)",
     offsetof(struct record_options, guest)},
    {OPTION_MAYBE, 0, "host", "EVENTS", "also record the kernel of this host",
     offsetof(struct record_options, host)},
    {OPTION_FLAG, 0, "host-threads", NULL, "host kernel only while recorded threads run",
     offsetof(struct record_options, host_threads)},
    {OPTION_STRING, 0, "qemu", "PROGRAM", "QEMU binary that COMMAND (a script) starts",
     offsetof(struct record_options, qemu)},
    {OPTION_END},
};

static const struct option attach_options[] = {
    {OPTION_FLAG, 'k', "keep-rings", NULL, "do not remove the rings of a program that has ended",
     offsetof(struct record_options, keep)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"What is recorded", where, 0},
    {"Options", record_option_table, 0},
    {"With a command after -- (--guest: QEMU only; --host: with Xen and buffers, too)", vm_options,
     0},
    {"With --xen and --percpu", record_buffers_options, offsetof(struct record_options, buffers)},
    {"With --attach", attach_options, 0},
    {NULL},
};

const struct command record_command = {
    .name = "record",
    .summary = "record a trace of a virtual machine, a program, or Xen",
    .operands = "[PID|RINGS|-- COMMAND...]",
    .about = "Runs COMMAND, any QEMU, with options for tracing added. Records QEMU's events,\n"
             "and on request the kernels of the guest and the host, until QEMU ends. Or runs a\n"
             "program that links libstrata and records it and its children until all have\n"
             "ended.\n\n"
             "--attach records a running QEMU, or a running program that was started with\n"
             "writer=none among its trace options. PID is a process of this user; RINGS is\n"
             "the directory of a program's rings.\n\n"
             "--xen records Xen's trace buffers with everything that decoding needs. --percpu\n"
             "records the buffers of a program that traces as Xen does (strata-percpu(7)):\n"
             "NAME is a file, or an object of shm_open().\n\n"
             "A recording ends with what is recorded, by --time, or by SIGINT or SIGTERM.",
    .groups = groups,
    .examples = "  strata record --guest -o boot -- qemu-system-x86_64 -m 512 disk.img\n"
                "  strata record -o trace -e 'blk_*' -- ./program\n"
                "  strata record --xen -o trace -t 10 -e sched,vmexit",
};

const char *record_output(const struct record_options *options, char *buf, size_t size)
{
    time_t now = time(NULL);
    struct tm tm;

    if (options->output)
        return options->output;
    if (!localtime_r(&now, &tm) || strftime(buf, size, "strata-%Y%m%d-%H%M%S", &tm) == 0)
        snprintf(buf, size, "strata-%ld", (long)getpid());
    /* Another one that began in the same second has that name. */
    if (access(buf, F_OK) == 0)
        snprintf(buf + strlen(buf), size - strlen(buf), "-%ld", (long)getpid());
    return buf;
}

/* How many words stand behind "--"; -1: it is not there. */
static int count_command(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return argc - i - 1;
    return -1;
}

/* A virtual machine monitor, or a program. */
static int record_command_line(const struct record_options *options, char **command)
{
    struct qemu_command found = {0};
    struct error error = {0};
    unsigned n = 0;
    int status, r = 1;

    while (command[n])
        n++;
    if (options->qemu)
        r = qemu_find_program(options->qemu, getenv("PATH"), &found.program, &error) < 0 ? -ENOENT
                                                                                         : 1;
    else
        r = qemu_command_find((const char *const *)command, n, getenv("PATH"), &found, &error);
    if (r < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (r > 0) {
        status = record_vm(options, found.program, found.n_before, command);
        free(found.program);
        return status;
    }
    if (options->guest)
        return cli_usage_error("record", "--guest is for QEMU; '%s' is not QEMU", command[0]);
    return record_program(options, command);
}

static int record_buffers(const struct record_options *options)
{
    struct record_run run;
    int status;

    if (!record_run_init(options, false, &run))
        return EXIT_FAILURE;
    status = record_host_add(&run, 0);
    if (status == EXIT_SUCCESS)
        status = record_buffers_add(&run);
    if (status == EXIT_SUCCESS)
        status = record_run(&run, options->output);
    record_run_done(&run);
    return status;
}

/* One of those that stand in `where`, or a command. */
static int dispatch(const struct record_options *options, int n_command, int n, char **operands)
{
    bool has_buffers = options->xen || options->buffers.names.n > 0;
    bool wanted = options->attach || has_buffers;
    bool runs = n_command >= 0; /* what stands at operands[n] */

    if (runs && (options->attach || n > 0))
        return cli_usage_error("record", "a command after '--' excludes %s",
                               n > 0 ? operands[0] : "--attach");
    if ((runs || options->attach) && has_buffers && options->events.n > 0)
        return cli_usage_error("record",
                               "--event does not say whose events: leave it out, or record "
                               "without --xen and --percpu");
    if (!runs && options->qemu)
        return cli_usage_error("record", "--qemu requires '-- COMMAND'");
    if (runs && n_command == 0)
        return cli_usage_error("record", "no command given after '--'");
    if (runs)
        return record_command_line(options, operands + n);
    if (!wanted && n > 0)
        return cli_usage_error(
            "record", "unknown argument '%s'; put '--' before the command: strata record -- %s",
            operands[0], operands[0]);
    if (!wanted)
        return cli_usage_error("record", "'-- COMMAND', --attach, --xen or --percpu is required");
    if (options->attach)
        return record_attached(options, n, operands);
    if (!options->output)
        return cli_usage_error("record", "--output=DIR is required");
    if (n > 0)
        return cli_usage_error("record", "unknown argument '%s'; --%s accepts no PID", operands[0],
                               options->xen ? "xen" : "percpu");
    return record_buffers(options);
}

int cmd_record(int argc, char **argv)
{
    int n_command = count_command(argc, argv);
    struct record_options options = {.min_free = RECORD_MIN_FREE_DEFAULT,
                                     .buffers = RECORD_BUFFERS_DEFAULT};
    int status = EXIT_FAILURE;
    int n;

    if (!options_parse(&record_command, argc, argv, &options, &n, &status))
        return status;
    argv[1 + n] = NULL; /* behind the command */
    status = dispatch(&options, n_command, n - MAX(n_command, 0), argv + 1);
    strings_done(&options.buffers.tables);
    strings_done(&options.buffers.names);
    strings_done(&options.events);
    return status;
}
