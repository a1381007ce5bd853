/* SPDX-License-Identifier: MIT */
/* strata record -- QEMU: a virtual machine, from its start to its end, at every layer that can be reached. */

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "analysis/needs.h"
#include "base/process_root.h"
#include "base/suggest.h"
#include "base/text.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/record/kernel.h"
#include "cmd/record/run.h"
#include "control/qmp.h"
#include "control/socket_process.h"
#include "record/kernel/guest_recorder.h"
#include "record/qemu/arguments.h"
#include "record/qemu/recorder.h"

/* ---- What is asked for ---- */

/* That QEMU, which is PROGRAM, has each of the events. What switches off is taken as it is. */
static int check_events(const struct qemu_probe *probe, const char *program,
                        const struct strings *events)
{
    if (events->n > 0 && probe->backend == VMM_BACKEND_NONE) {
        cli_error("this QEMU was built without a trace backend that can be recorded (log, simple): "
                  "leave --event out");
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; i < events->n; i++) {
        const char *pattern = events->items[i];
        const char *near;

        if (pattern[0] == '-' || qemu_probe_count(probe, pattern) > 0)
            continue;
        near = suggest_pattern(pattern, (const char *const *)probe->events);
        cli_error("QEMU %s has no event that matches '%s'%s%s%s; '%s -trace help' lists them",
                  probe->version, pattern, near ? "; did you mean '" : "", near ? near : "",
                  near ? "'?" : "", program);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/* Adds to RET those of N PATTERNS that this QEMU has events for. */
static int add_existing(const struct qemu_probe *probe, const char *const *patterns, size_t n,
                        struct strings *ret)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n && patterns[i]; i++)
        if (qemu_probe_count(probe, patterns[i]) > 0)
            r = strings_add(ret, patterns[i]);
    return r;
}

/* -e as it was given, a list in each, and what --for needs; without either, what is usual. Of the latter two, what is
 * there. */
static int choose_events(const struct record_options *options, const struct qemu_probe *probe,
                         const char *program, struct strings *ret)
{
    const struct strings *needed = &options->needs.vmm;
    struct error error = {0};
    int r = 0;

    if (probe->backend == VMM_BACKEND_SIMPLE &&
        (options->flight.ns > 0 || options->flight.bytes > 0)) {
        cli_error(
            "this QEMU writes its trace by itself, with the backend simple, and --flight cannot "
            "limit it; leave --flight out, or use a QEMU with the backend log");
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; r >= 0 && i < options->events.n; i++)
        r = strings_split(ret, (char *)(uintptr_t)options->events.items[i], &error);
    if (r == -EINVAL)
        return cli_usage_error("record", "--event '%s' %s", options->events.items[ret->n],
                               error.what);
    if (needed->n > 0)
        r = r < 0 ? r : add_existing(probe, needed->items, needed->n, ret);
    else if (r >= 0 && options->events.n == 0)
        r = add_existing(probe, needs_usual.vmm, SIZE_MAX, ret);
    if (r < 0)
        return cli_no_memory();
    return check_events(probe, program, ret);
}

/* ---- What came of it ---- */

/* What the recorder borrows. */
struct vm {
    struct qemu_recorder_settings settings;
    struct qemu_arguments arguments;
    struct qemu_probe probe;
    pid_t root_of;               /* of a running QEMU that has other files than are here; 0: none */
    struct record_kernel kernel; /* the guest's */
    struct recorder *machine,
        *guest; /* as they were added; guest NULL: its kernel is not recorded */
    struct strings events;
    struct arena arena; /* patterns of some of them */
    struct termios terminal;
    bool has_terminal;
};

static void vm_done(struct vm *vm)
{
    record_kernel_done(&vm->kernel);
    strings_done(&vm->events);
    arena_done(&vm->arena);
    qemu_probe_done(&vm->probe);
    qmp_free(vm->settings.connection);
}

static void print_vmm(const struct qemu_probe *probe, const struct qemu_summary *summary)
{
    const char *plural = summary->events == 1 ? "" : "s";
    char size[16], worst[24];

    if (probe->backend == VMM_BACKEND_SIMPLE)
        cli_message("  vmm    %s of events, by the host's clock; QEMU %s",
                    bytes_text(size, sizeof size, summary->simple_size), probe->version);
    else if (probe->backend == VMM_BACKEND_RING)
        cli_message("  vmm    %" PRIu64 " event%s, %" PRIu64 " lost, of libstrata's rings; QEMU %s",
                    summary->events, plural, summary->lost, probe->version);
    else
        cli_message(
            "  vmm    %" PRIu64 " line%s of events, %" PRIu64 " lost, times within %s; QEMU %s",
            summary->events, plural, summary->lost,
            record_error_text(worst, sizeof worst, (int64_t)summary->worst_ns), probe->version);
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct vm *vm = item->userdata;
    const struct recorder *recorder = item->recorder;
    const struct guest *guest = vm->guest ? guest_recorder_guest(vm->guest) : NULL;
    struct qemu_summary summary;
    bool is_whole;

    /* One that was killed leaves the terminal as it had made it. */
    if (vm->has_terminal && tcgetpgrp(STDIN_FILENO) == getpgrp())
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &vm->terminal);
    qemu_recorder_sum_up(recorder, &summary);
    is_whole = summary.lost == 0 && !recorder->has_lost_uncounted;
    if (!record_run_is_void(run)) {
        record_run_tell_length(run, summary.seconds);
        print_vmm(&vm->probe, &summary);
    }
    if (guest)
        is_whole &= record_kernel_tell(run->dir, guest);
    for (unsigned i = 0; i < recorder->n_problems; i++)
        cli_message("  %s", recorder->problems[i]);
    if (guest)
        record_kernel_tell_problems(guest);
    if (summary.is_cut_off || summary.is_refused || summary.is_left_changed ||
        (guest && (guest_is_silent(guest) || record_kernel_is_cut(guest))) ||
        (vm->settings.wrapped && !summary.has_come))
        return EXIT_FAILURE;
    return run->options->strict && !is_whole ? EXIT_LOSSES : EXIT_SUCCESS;
}

/* It has refused its command line, or printed its help: there was no machine. */
static bool is_void(const struct record_item *item)
{
    const struct vm *vm = item->userdata;
    struct qemu_summary summary;

    qemu_recorder_sum_up(item->recorder, &summary);
    return !vm->settings.running && !vm->settings.wrapped && !summary.is_running &&
           !summary.is_ended && summary.bytes + summary.events + summary.lost == 0;
}

/* ---- The course ---- */

static int choose_guest(const struct record_options *options, struct vm *vm)
{
    struct error error = {0};
    int r = 0;

    if (options->guest)
        r = record_kernel_choose((char *)(uintptr_t)options->guest, &options->needs.guest, false,
                                 options->buffers.buffer_size, &vm->kernel, &error);
    vm->kernel.trace.holds = record_kernel_may_hold(options);
    if (r == -EINVAL)
        return cli_usage_error("record", "--guest '%s' %s", options->guest, error.what);
    if (r < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/* That it is QEMU, and what of it is to be recorded. An exit status. */
static int choose(const struct record_options *options, struct vm *vm)
{
    struct qemu_recorder_settings *settings = &vm->settings;
    struct qemu_arguments *arguments = &vm->arguments;
    struct error error = {0};
    int status;

    if (qemu_arguments_read(settings->program, settings->command + settings->n_before,
                            settings->n_command - settings->n_before, arguments) < 0) {
        cli_error("out of memory");
        return EXIT_FAILURE;
    }
    settings->name = arguments->name[0] ? arguments->name : NULL;
    settings->uuid = arguments->uuid;
    /* The user that runs it there may not use what its command names. */
    if (qemu_probe(settings->program, vm->root_of, vm->root_of ? "" : arguments->accelerator,
                   getenv("XDG_RUNTIME_DIR"), &vm->probe, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    status = choose_guest(options, vm);
    if (status == EXIT_SUCCESS)
        status = choose_events(options, &vm->probe, settings->program, &vm->events);
    if (status == EXIT_SUCCESS)
        status = record_triggers_add_vmm(
            &options->triggers, (const char *const *)vm->probe.events,
            vm->probe.backend == VMM_BACKEND_LOG ? vm->probe.declarations : NULL, &vm->arena,
            &vm->events);
    settings->probe = &vm->probe;
    settings->events = vm->events.items;
    settings->n_events = vm->events.n;
    return status;
}

/* sum_up() has its counts beside those of QEMU. */
static int sum_up_guest(const struct record_run *run, const struct record_item *item)
{
    (void)run;
    (void)item;
    return EXIT_SUCCESS;
}

/* QEMU, which has the guest's recorder started when there is a port for it. */
static int add_machine(struct record_run *run, struct vm *vm)
{
    struct guest_recorder_settings settings = {
        .config = {.name = RECORD_GUEST_OF_QEMU,
                   .trace = &vm->kernel.trace,
                   .n_guests = record_guests_count(run) + 1},
        .is_optional = true,
        .is_led = true,
    };
    struct record_item item = {.sum_up = sum_up, .is_void = is_void, .userdata = vm};
    struct record_item guest = {.sum_up = sum_up_guest};

    if (run->options->guest && guest_recorder_new(&settings, &guest.recorder) < 0)
        return cli_no_memory();
    vm->settings.guest = guest.recorder;
    if (qemu_recorder_new(&vm->settings, &item.recorder) < 0) {
        if (guest.recorder)
            guest.recorder->ops->free(guest.recorder);
        return cli_no_memory();
    }
    vm->settings.connection = NULL; /* the recorder has it */
    vm->machine = item.recorder;
    vm->guest = guest.recorder;
    if (!record_run_add(run, &item)) {
        if (guest.recorder)
            guest.recorder->ops->free(guest.recorder);
        return EXIT_FAILURE;
    }
    return !guest.recorder || record_run_add(run, &guest) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The settings have the command. */
static int record_machine(const struct record_options *options, struct vm *vm)
{
    struct qemu_recorder_settings *settings = &vm->settings;
    struct qemu_summary summary;
    struct record_run run;
    char name[64];
    int status;

    settings->passes = output_locale();
    settings->trace = getenv("STRATA_TRACE");
    while (settings->command[settings->n_command])
        settings->n_command++;
    vm->has_terminal = !settings->running && tcgetattr(STDIN_FILENO, &vm->terminal) == 0;
    if (!record_run_init(options, true, &run)) {
        vm_done(vm);
        return EXIT_FAILURE;
    }
    cmd_raise_files(); /* a file for each CPU of a guest */
    status = choose(options, vm);
    if (status == EXIT_SUCCESS)
        status =
            record_kernels_add(&run, false, true, settings->running ? settings->running->pid : 0);
    if (status == EXIT_SUCCESS)
        status = record_buffers_add(&run);
    if (status == EXIT_SUCCESS)
        status = add_machine(&run, vm); /* last: what QEMU does first is seen by the others */
    if (status == EXIT_SUCCESS) {
        status = record_run(&run, record_output(options, name, sizeof name));
        if (recording_has_begun(run.recording)) {
            qemu_recorder_sum_up(vm->machine, &summary);
            /* How QEMU ends when the recorder ends it is no result of QEMU's, nor is the end of one that it has not started
             * a result of the recorder's. */
            if (!summary.is_ended && !settings->running && child_exit_status(summary.child) != 0)
                status = child_exit_status(summary.child);
        }
    }
    record_run_done(&run);
    vm_done(vm);
    return status;
}

int record_vm(const struct record_options *options, const char *program, unsigned n_before,
              char **command)
{
    struct vm vm = {
        .settings = {.command = (const char *const *)command,
                     .n_before = n_before,
                     .program = program,
                     .wrapped = options->qemu != NULL},
    };

    return record_machine(options, &vm);
}

/* ---- One that runs ---- */

/* The connection, which shows the process, is the one that is used: each that is closed unused takes the place of a client
 * that waits, until the monitor comes to it. */
static int connect_monitor(const char *socket, struct qmp **ret, pid_t *ret_pid)
{
    struct socket_process server = {0};
    struct error error = {0};
    int r = qmp_connect(socket, ret, &error);

    if (r >= 0) {
        *ret_pid = qmp_peer(*ret);
        return 0;
    }
    /* The recorder connects, when there is room. */
    if (r == -EAGAIN && socket_find_server(socket, &server) > 0 && server.pid > 0) {
        *ret_pid = server.pid;
        return 0;
    }
    cli_print_error(&error);
    return r;
}

int record_vm_running(const struct record_options *options,
                      const struct qemu_recorder_settings *how)
{
    const struct qemu_process *running = how->running;
    struct vm vm = {.settings = *how};
    char program[64];

    vm.settings.command = running->argv;
    /* What it executes may have been replaced since, by another version. */
    vm.settings.program = running->program;
    if (!running->libvirt && running->has_root) {
        vm.root_of = running->pid;
        vm.settings.program = process_root_inside(running->pid, running->program);
    }
    snprintf(program, sizeof program, "/proc/%ld/exe", (long)running->pid);
    if (!vm.root_of && faccessat(AT_FDCWD, running->program, X_OK, AT_EACCESS) < 0)
        vm.settings.program = program;
    return record_machine(options, &vm);
}

int record_vm_attached(const struct record_options *options, pid_t pid, const char *socket)
{
    struct qemu_process running;
    struct qmp_endpoint monitor;
    struct qemu_recorder_settings how = {.running = &running, .monitor = &monitor, .qmp = socket};
    struct error error = {0};
    int status;

    if (socket && connect_monitor(socket, &how.connection, &pid) < 0)
        return EXIT_FAILURE;
    if (qemu_process_open(pid, &running, &error) < 0) {
        qmp_free(how.connection);
        if (socket)
            cli_error("%s: cannot find the QEMU that serves this socket (%s); give its "
                      "process ID",
                      socket, error.what);
        else
            cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (!socket && running.libvirt && running.n_qmp == 0) {
        status = record_libvirt_process(options, &running);
    } else if (!socket && qemu_process_monitor(&running, &how.qmp, &error) < 0) {
        cli_print_error(&error);
        status = EXIT_FAILURE;
    } else {
        monitor = qmp_socket_endpoint(how.qmp);
        status = record_vm_running(options, &how);
    }
    qemu_process_done(&running);
    return status;
}
