/* SPDX-License-Identifier: MIT */
/* strata record --attach: a QEMU that runs, a program that was started with writer=none, or another virtual machine
 * monitor. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/record/kernel.h"
#include "cmd/record/run.h"
#include "cmd/ring_drain.h"
#include "control/qmp.h"
#include "record/qemu/probe.h"
#include "record/rings/attached_recorder.h"
#include "record/rings/process.h"
#include "record/vmm/process.h"

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

/* The directory of the rings that the operand means; NULL: there is none. */
static char *find(const char *operand)
{
    struct {
        uint32_t pid;
        char *path;
    } wanted = {drain_stats_pid(operand), NULL};

    if (!wanted.pid)
        return strdup(operand);
    (void)process_foreach(NULL, find_one, &wanted);
    return wanted.path;
}

/* Whether each operand is a process that runs virtual machines of KVM: 1, with *RET_PIDS (malloc()ed); 0; -ENOMEM. ERROR:
 * why the first that is none is none. */
static int find_vmms(int n, char **operands, pid_t **ret_pids, struct error *error)
{
    _cleanup_free_ pid_t *pids = calloc((size_t)n, sizeof *pids);

    if (!pids)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    for (int i = 0; i < n; i++) {
        struct vmm_process process;
        int r;

        pids[i] = (pid_t)drain_stats_pid(operands[i]);
        r = pids[i] ? vmm_process_open(pids[i], &process, error) : -EINVAL;
        if (r < 0)
            return r == -ENOMEM ? r : 0;
        vmm_process_done(&process);
    }
    *ret_pids = TAKE_PTR(pids);
    return 1;
}

/* Why OPERAND, a process, cannot be recorded. ERROR: of find_vmms(). */
static void report_refusal(const char *operand, const struct error *error)
{
    if (error->code != -ENODEV)
        cli_print_error(error);
    else
        cli_error("process %s has no rings in " RINGS_PARENT
                  "%u: it is not traced, or has had no event yet, or they lie elsewhere (rings=); "
                  "nor does it run virtual machines of KVM",
                  operand, (unsigned)geteuid());
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct attached_program *program = attached_recorder_program(item->recorder);
    const struct drain_stats *stats = &program->stats;
    char pid[16];

    output_line(stdout, "%s (process %" PRIu32 "): %" PRIu64 " events written to %s",
                program->program, program->pid, stats->events, program->trace);
    drain_stats_tell_dropped(stats, " since it began", "");
    drain_stats_tell_unwritten(stats);
    drain_stats_tell_unreadable(stats);
    snprintf(pid, sizeof pid, "%" PRIu32, program->pid);
    drain_stats_tell_kept(stats, pid);
    if (stats->unwritten)
        return EXIT_FAILURE;
    return run->options->strict && !drain_stats_is_whole(stats) ? EXIT_LOSSES : EXIT_SUCCESS;
}

static int add_program(struct record_run *run, const char *rings)
{
    struct attached_recorder_settings settings = {
        .rings = rings,
        .output = run->options->output,
        .keep_rings = run->options->keep,
    };
    struct record_item item = {.sum_up = sum_up};

    if (attached_recorder_new(&settings, &item.recorder) < 0)
        return cli_no_memory();
    return record_run_add(run, &item) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The process of RINGS, for --host-threads; 0: it is not seen from here. */
static pid_t find_process(const char *rings)
{
    struct process *process;
    long pid;

    if (process_open(rings, false, &process, NULL) < 0)
        return 0;
    pid = process_find(process, NULL);
    process_free(process);
    return (pid_t)MAX(pid, 0);
}

/* Alone, the native trace is all that there is: a recording without a directory of its own, unless what is kept of it is
 * limited, and to be saved. */
static int record(const struct record_options *options, const char *rings)
{
    struct record_run run;
    int status;

    if (!record_run_init(options, false, &run))
        return EXIT_FAILURE;
    cmd_raise_files(); /* a file for each ring, and each CPU of each guest */
    status = record_kernels_add(&run, false, true, options->host_threads ? find_process(rings) : 0);
    if (status == EXIT_SUCCESS)
        status = record_buffers_add(&run);
    if (status == EXIT_SUCCESS) {
        bool is_alone = run.n == 0 && options->flight.ns == 0 && options->flight.bytes == 0;

        status = add_program(&run, rings); /* last, as a program that is started is */
        if (status == EXIT_SUCCESS)
            status = record_run(&run, is_alone ? NULL : options->output);
    }
    record_run_done(&run);
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
    return pid && vmm_is_qemu(path) && process_foreach(NULL, has_free_rings, &pid) <= 0;
}

/* The rings at PATH: where it is NULL, there are none of OPERAND. */
static int record_rings(const struct record_options *options, const char *operand, const char *path,
                        const struct error *error)
{
    if (!path && error->code == -ESRCH) {
        report_refusal(operand, error);
        return EXIT_FAILURE;
    }
    if (options->guest)
        return cli_usage_error(
            "record", "--guest without an endpoint is for QEMU; '%s' is not QEMU", operand);
    if (options->events.n > 0)
        return cli_usage_error("record",
                               "--event switches no events of a program that runs; leave it out, "
                               "and run: strata ctl PID on EVENTS");
    if (!options->output)
        return cli_usage_error("record", "--output=DIR is required");
    if (path)
        return record(options, path);
    report_refusal(operand, error);
    return EXIT_FAILURE;
}

int record_attached(const struct record_options *options, int n, char **operands)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ pid_t *pids = NULL;
    struct error error = {0};
    bool is_socket = n == 1 && qmp_is_socket(operands[0]);
    int r;

    if (n == 0 && options->host && *options->host)
        return cli_usage_error("record",
                               "--attach requires a PID or the socket of a QMP monitor; '%s' names "
                               "events of --host",
                               options->host);
    if (n == 0)
        return cli_usage_error("record", "--attach requires a PID or the socket of a QMP monitor");
    if (is_socket)
        return record_vm_attached(options, 0, operands[0]);
    if (n == 1 && is_machine(operands[0]))
        return record_vm_attached(options, (pid_t)drain_stats_pid(operands[0]), NULL);
    path = n == 1 ? find(operands[0]) : NULL;
    if (path)
        return record_rings(options, operands[0], path, NULL);
    r = find_vmms(n, operands, &pids, &error);
    if (r < 0)
        return cli_no_memory();
    if (r > 0)
        return record_vmms_attached(options, (unsigned)n, pids);
    if (n > 1)
        return cli_usage_error("record", "--attach accepts one process, or several that all run "
                                         "virtual machines of KVM");
    return record_rings(options, operands[0], NULL, &error);
}
