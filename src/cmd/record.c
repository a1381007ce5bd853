/* SPDX-License-Identifier: MIT */
/* strata record: takes what programs trace while they run. */

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "cli/duration.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/record_kernel.h"
#include "cmd/record_run.h"
#include "cmd/ring_drain.h"
#include "control/qmp.h"
#include "record/qemu/command.h"
#include "record/qemu/probe.h"
#include "record/rings/collect.h"
#include "tracedir/registry.h"

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

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
    (void)signal;
    stop = 1;
}

/* Until the program ends, the time is up, or a signal comes. The signals are blocked but while it
 * sleeps, so that none is missed. */
static int collect(struct collector *collector, const struct record_options *options,
                   bool *ret_ended, struct fault *fault)
{
    uint64_t until = options->time ? clock_ns(CLOCK_MONOTONIC) + options->time : UINT64_MAX;
    sigset_t blocked, before;
    int r = 1;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    while (!stop && clock_ns(CLOCK_MONOTONIC) < until) {
        struct pollfd end = {collector->pidfd, POLLIN, 0};
        uint64_t sleep = 0;
        struct timespec time;

        r = collector_step(collector, &sleep, fault);
        if (r <= 0)
            break;
        time = (struct timespec){.tv_nsec = (long)sleep};
        (void)ppoll(&end, 1, &time, &before);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    *ret_ended = r == 0;
    return r > 0 ? collector_finish(collector, fault) : r;
}

static int find_one(const char *path, void *userdata)
{
    struct process *process;
    struct {
        uint32_t pid;
        char *path;
    } *wanted = userdata;

    if (process_open(path, false, &process, NULL) < 0)
        return 0;
    /* Of several, the last: what the process executed before is over. */
    if (process->pid == wanted->pid && !process_is_replaced(process)) {
        free(wanted->path);
        wanted->path = strdup(path);
    }
    process_free(process);
    return 0;
}

/* The directory of the rings that the operand means; NULL, and a message: there is none. */
static char *find(const char *operand)
{
    struct {
        uint32_t pid;
        char *path;
    } wanted = {drain_stats_pid(operand), NULL};

    if (!wanted.pid)
        return strdup(operand);
    (void)process_foreach(NULL, find_one, &wanted);
    if (!wanted.path && kill((pid_t)wanted.pid, 0) < 0 && errno == ESRCH)
        cli_error("there is no process %" PRIu32, wanted.pid);
    else if (!wanted.path)
        cli_error("process %" PRIu32 " has no rings in " RINGS_PARENT
                  "%u: it is not traced, or has had no "
                  "event yet, or they lie elsewhere (rings=)",
                  wanted.pid, (unsigned)geteuid());
    return wanted.path;
}

static int tell(const struct process *process, const struct native *native,
                const struct drain_stats *taken, const struct record_options *options)
{
    output_line(stdout, "%s (process %" PRIu32 "): %" PRIu64 " events written to %s",
                process->program, process->pid, taken->events, native->path);
    if (taken->discarded)
        cli_message("  %" PRIu64 " events were lost since it began: its rings were full",
                    taken->discarded);
    if (taken->no_ring)
        cli_message("  %" PRIu64 " events were lost since it began: their threads got no ring",
                    taken->no_ring);
    if (taken->unwritten)
        cli_message("  %" PRIu64 " events were lost: they could not be written: %s",
                    taken->unwritten, strerror(-taken->error));
    drain_stats_tell_unreadable(taken);
    if (taken->unwritten)
        return EXIT_FAILURE;
    return options->strict && !drain_stats_is_whole(taken) ? EXIT_LOSSES : EXIT_SUCCESS;
}

static int record(const struct record_options *options, const char *path)
{
    struct collector collector = {.pidfd = -1};
    struct registry_entry registry_entry = REGISTRY_NONE;
    struct fault fault = {0};
    struct process *process;
    struct drain_stats taken;
    bool ended = false;
    int status = EXIT_FAILURE;
    int r = process_open(path, true, &process, &fault);

    if (r < 0) {
        cli_fault(&fault);
        return EXIT_FAILURE;
    }
    r = collector_init(&collector, process, options->output, false, &fault);
    if (r >= 0) {
        /* For others to know of, and no more. */
        (void)registry_add(getenv("XDG_RUNTIME_DIR"), options->output, &registry_entry, NULL);
        r = collect(&collector, options, &ended, &fault);
        taken = ring_drain_taken(collector.taker, NULL);
        status = tell(process, collector.native, &taken, options);
    }
    if (r >= 0 && ended && !options->keep && !taken.undecoded && !taken.damaged)
        r = process_remove(process, &fault);
    if (r < 0) {
        cli_fault(&fault);
        status = EXIT_FAILURE;
    }
    registry_remove(&registry_entry);
    collector_done(&collector);
    process_free(process);
    return status;
}

static int has_free_rings(const char *path, void *userdata)
{
    const uint32_t *pid = userdata;
    struct process *process;
    bool has;

    if (process_open(path, false, &process, NULL) < 0)
        return 0;
    has = process->pid == *pid && !process_is_replaced(process) &&
          !(process->file->flags & PROCESS_WRITES);
    process_free(process);
    return has;
}

/* Whether the operand is the process of a QEMU, and not one that links libstrata and was started to be recorded
 * as a program is. */
static bool is_machine(const char *operand)
{
    uint32_t pid = drain_stats_pid(operand);
    char path[64];

    snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
    return pid && vmm_is_qemu(path) && process_foreach(NULL, has_free_rings, &pid) == 0;
}

static int record_attached(const struct record_options *options, int n, char **operands)
{
    struct sigaction action = {.sa_handler = on_signal};
    _cleanup_free_ char *path = NULL;

    if (n != 1)
        return cli_usage_error("record",
                               n ? "--attach accepts one process" : "--attach requires a PID");
    if (qmp_is_socket(operands[0]))
        return record_vm_attached(options, 0, operands[0]);
    if (is_machine(operands[0]))
        return record_vm_attached(options, (pid_t)drain_stats_pid(operands[0]), NULL);
    if (!options->output)
        return cli_usage_error("record", "--output=DIR is required");
    path = find(operands[0]);
    if (!path)
        return EXIT_FAILURE;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    cmd_raise_files(); /* a file for each ring */
    return record(options, path);
}

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
    struct fault fault = {0};
    unsigned n = 0;
    int status, r = 1;

    while (command[n])
        n++;
    if (options->qemu)
        r = qemu_find_program(options->qemu, getenv("PATH"), &found.program, &fault) < 0 ? -ENOENT
                                                                                         : 1;
    else
        r = qemu_command_find((const char *const *)command, n, getenv("PATH"), &found, &fault);
    if (r < 0) {
        cli_fault(&fault);
        return EXIT_FAILURE;
    }
    if (r > 0 && (options->xen || options->buffers.names.n > 0)) {
        free(found.program);
        return cli_usage_error("record", "QEMU excludes --xen and --percpu");
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
    status = record_host_add(&run);
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
    if (runs && has_buffers && options->events.n > 0)
        return cli_usage_error("record",
                               "--event does not say whose events: leave it out, or record the "
                               "command without --xen and --percpu");
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
    if (options->attach && has_buffers)
        return cli_usage_error("record", "--attach excludes --xen and --percpu");
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
    struct record_options options = {.buffers = RECORD_BUFFERS_DEFAULT};
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
