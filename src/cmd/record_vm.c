/* SPDX-License-Identifier: MIT */
/* strata record -- QEMU: a virtual machine, from its start to its end, at every layer that can be reached. */

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/suggest.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "cmd/record.h"
#include "cmd/record_kernel.h"
#include "cmd/run_signals.h"
#include "control/qmp.h"
#include "record/qemu/recording.h"

#define SECOND UINT64_C(1000000000)
/* What is told to end because its time is up, and does not, is made to. */
#define TIMEOUT (20 * SECOND)
/* … and for another reason, so much later people are told how. */
#define KEEPALIVE_TIMEOUT (10 * SECOND)

/* What tells how a machine fares, and costs next to nothing. A QEMU may lack some. */
static const char *const usual_events[] = {
    "runstate_set",          "vm_state_notify",   "qemu_system_*",
    "system_wakeup_request", "virtio_set_status", "virtio_queue_notify",
    "virtio_notify",         "blk_co_preadv",     "blk_co_pwritev",
};
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

/* -e as it was given, a list in each; else what is usual and there. */
static int choose_events(const struct record_options *options, const struct qemu_probe *probe,
                         const char *program, struct strings *ret)
{
    struct error error = {0};
    int r = 0;

    for (unsigned i = 0; r >= 0 && i < options->events.n; i++)
        r = strings_split(ret, (char *)(uintptr_t)options->events.items[i], &error);
    if (r == -EINVAL)
        return cli_usage_error("record", "--event '%s' %s", options->events.items[ret->n],
                               error.what);
    for (size_t i = 0; r >= 0 && options->events.n == 0 && i < ARRAY_SIZE(usual_events); i++)
        if (qemu_probe_count(probe, usual_events[i]) > 0)
            r = strings_add(ret, usual_events[i]);
    if (r < 0) {
        cli_error("out of memory");
        return EXIT_FAILURE;
    }
    return check_events(probe, program, ret);
}

/* ---- The course ---- */

/* Whether what a terminal sends reaches QEMU as well. */
static bool shares_terminal(const struct qemu_recording *recording)
{
    pid_t qemu = recording->monitor.pid ? recording->monitor.pid : recording->child.pid;

    return !recording->settings.running && getpgid(qemu) == getpgrp();
}

/* Until QEMU has ended. False: the recording could not go on. */
static bool run(struct qemu_recording *recording, uint64_t time, const sigset_t *waiting)
{
    uint64_t until = time ? clock_ns(CLOCK_MONOTONIC) + time : UINT64_MAX;
    bool early = run_signals_waiting();
    struct error error = {0};
    unsigned heard = 0;
    bool impatient = false;
    int r;

    while ((r = qemu_recording_step(recording, waiting, &error)) > 0) {
        bool alone;
        int signal;
        unsigned n = run_signals_count(&signal, &alone);

        if (n > heard) {
            /* QEMU, which ends by it, has had it as well, if it was there then. */
            if (alone || early || heard > 0 || !shares_terminal(recording))
                qemu_recording_stop(recording);
            heard = n;
        }
        if (!impatient && recording->told_at > 0 &&
            clock_ns(CLOCK_MONOTONIC) >= recording->told_at + KEEPALIVE_TIMEOUT) {
            cli_error("QEMU has not ended %u seconds after SIGTERM; another signal "
                      "kills it",
                      (unsigned)(KEEPALIVE_TIMEOUT / SECOND));
            impatient = true;
        }
        if (clock_ns(CLOCK_MONOTONIC) >= until) {
            qemu_recording_stop(recording);
            until = clock_ns(CLOCK_MONOTONIC) + TIMEOUT;
        }
    }
    if (r < 0)
        cli_print_error(&error);
    return r >= 0;
}

/* ---- What came of it ---- */

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* Of a QEMU that links libstrata, and whatever it started that does. */
static bool tell_rings(const struct qemu_recording *recording)
{
    uint64_t events = 0, lost = 0;

    for (unsigned i = 0; i < recording->programs.n; i++) {
        const struct drain_stats *taken = &recording->programs.items[i]->taken;

        events += taken->events;
        lost += taken->discarded + taken->no_ring + taken->unwritten + taken->undecoded;
    }
    cli_message("  vmm    %" PRIu64 " event%s, %" PRIu64 " lost, of libstrata's rings; QEMU %s",
                events, plural(events), lost, recording->settings.probe->version);
    return lost == 0;
}

/* Whether the trace of QEMU itself was cut off. */
static bool is_cut_off(const struct qemu_recording *recording)
{
    bool cut = recording->log.error < 0;

    for (unsigned i = 0; i < recording->programs.n; i++)
        cut |= recording->programs.items[i]->taken.error < 0;
    return cut;
}

static bool tell_vmm(const struct qemu_recording *recording)
{
    const struct qemu_probe *probe = recording->settings.probe;
    char size[16];

    if (probe->backend == VMM_BACKEND_SIMPLE) {
        cli_message("  vmm    %s of events, by the host's clock; QEMU %s",
                    bytes_text(size, sizeof size, recording->simple_size), probe->version);
        return true;
    }
    if (probe->backend == VMM_BACKEND_RING)
        return tell_rings(recording);
    cli_message("  vmm    %" PRIu64 " line%s of events, %" PRIu64
                " lost, times within %.1f us; QEMU %s",
                recording->log.lines, plural(recording->log.lines), recording->log.lost_lines,
                (double)recording->clock.worst / 1000, probe->version);
    return recording->log.lost_lines == 0;
}

/* Whether nothing was lost. */
static bool tell(const struct qemu_recording *recording)
{
    double seconds =
        (double)(recording->ended.monotonic_ns - recording->began.monotonic_ns) / (double)SECOND;
    const char *dir = recording->settings.dir;
    bool whole;

    cli_message("strata: %.1f seconds were recorded into %s", seconds, dir);
    whole = tell_vmm(recording);
    for (unsigned i = 0; i < recording->guests.n; i++)
        whole &= record_kernel_tell(dir, &recording->guests.guests[i]);
    for (unsigned i = 0; i < recording->n_problems; i++)
        cli_message("  %s", recording->problems[i]);
    for (unsigned i = 0; i < recording->guests.n; i++) {
        const struct guest *guest = &recording->guests.guests[i];
        const struct guest_boot *part = &guest->parts[guest->n_parts - 1];

        for (unsigned j = 0; !guest_is_silent(guest) && j < part->n_problems; j++)
            cli_message("  %s: %s", guest->plan.name, part->problems[j]);
    }
    cli_message("  strata report %s", dir);
    return whole;
}

static int record(const struct record_options *options, const struct qemu_settings *settings,
                  const sigset_t *waiting)
{
    struct qemu_recording recording;
    struct termios terminal;
    bool has_terminal = !settings->running && tcgetattr(STDIN_FILENO, &terminal) == 0;
    struct error error = {0};
    bool fine, whole;
    int status;

    if (qemu_recording_begin(settings, &recording, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    fine = run(&recording, options->time, waiting);
    if (qemu_recording_end(&recording, &error) < 0) {
        cli_print_error(&error);
        fine = false;
    }
    /* One that was killed leaves the terminal as it had made it. */
    if (has_terminal && tcgetpgrp(STDIN_FILENO) == getpgrp())
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal);
    whole = tell(&recording);
    fine &= recording.has_come || !settings->wrapped;
    status = child_exit_status(&recording.child);
    if (status == EXIT_SUCCESS && (!fine || is_cut_off(&recording)))
        status = EXIT_FAILURE;
    else if (status == EXIT_SUCCESS && options->strict && !whole)
        status = EXIT_LOSSES;
    qemu_recording_done(&recording);
    return status;
}

/* Of a kernel that is wished for. */
static int choose_kernel(const char *given, bool is_host, struct record_kernel *kernel,
                         const struct trace_config **ret)
{
    struct error error = {0};
    int r = given ? record_kernel_choose((char *)(uintptr_t)given, is_host, kernel, &error) : 0;

    if (r == -EINVAL)
        return cli_usage_error("record", "--%s '%s' %s", is_host ? "host" : "guest", given,
                               error.what);
    if (r < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    *ret = given ? &kernel->wishes : NULL;
    return EXIT_SUCCESS;
}

static void report_now(const char *what, const char *path)
{
    cli_error("%s: %s", path, what);
}

/* SETTINGS has what is to be recorded. */
static int record_machine(const struct record_options *options, struct qemu_settings *settings)
{
    char name[64], agent[PATH_MAX];
    struct record_kernel guest = {0}, host = {0};
    struct qemu_arguments arguments;
    struct strings events = {0};
    struct qemu_probe probe;
    struct error error = {0};
    sigset_t waiting;
    int status;

    settings->dir = record_output(options, name, sizeof name);
    settings->probe = &probe;
    settings->agent = record_kernel_agent(agent, sizeof agent);
    settings->host_threads = options->host_threads;
    settings->max_size = options->max_size;
    settings->passes = output_locale();
    settings->runtime = getenv("XDG_RUNTIME_DIR");
    settings->trace = getenv("STRATA_TRACE");
    settings->mask = &waiting;
    settings->report = report_now;
    while (settings->command[settings->n_command])
        settings->n_command++;
    cmd_raise_files(); /* a file for each CPU of a guest */
    run_signals_catch(&waiting);
    qemu_arguments_read(settings->program, settings->command + settings->n_before,
                        settings->n_command - settings->n_before, &arguments);
    if (qemu_probe(settings->program, arguments.accelerator, settings->runtime, &probe, &error) <
        0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    status = choose_kernel(options->guest, false, &guest, &settings->guest);
    if (status == EXIT_SUCCESS)
        status = choose_kernel(options->host, true, &host, &settings->host);
    if (status == EXIT_SUCCESS)
        status = choose_events(options, &probe, settings->program, &events);
    settings->events = events.items;
    settings->n_events = events.n;
    if (status == EXIT_SUCCESS)
        status = record(options, settings, &waiting);
    record_kernel_done(&guest);
    record_kernel_done(&host);
    strings_done(&events);
    qemu_probe_done(&probe);
    return status;
}

int record_vm(const struct record_options *options, const char *program, unsigned n_before,
              char **command)
{
    struct qemu_settings settings = {
        .command = (const char *const *)command,
        .n_before = n_before,
        .program = program,
        .wrapped = options->qemu != NULL,
    };

    return record_machine(options, &settings);
}

/* ---- One that runs ---- */

/* Who serves the socket. */
static int find_peer(const char *socket, pid_t *ret)
{
    _cleanup_(qmp_freep) struct qmp *qmp = NULL;
    struct error error = {0};

    if (qmp_open(socket, &qmp, &error) < 0) {
        cli_print_error(&error);
        return -ENOENT;
    }
    *ret = qmp_peer(qmp);
    return 0;
}

int record_vm_attached(const struct record_options *options, pid_t pid, const char *socket)
{
    struct qemu_settings settings = {0};
    struct qemu_running running;
    struct error error = {0};
    char program[64];
    int status;

    if (socket && find_peer(socket, &pid) < 0)
        return EXIT_FAILURE;
    if (qemu_running_open(pid, &running, &error) < 0) {
        if (socket)
            cli_error("%s: cannot find the QEMU that serves this socket (%s); give its "
                      "process ID",
                      socket, error.what);
        else
            cli_print_error(&error);
        return EXIT_FAILURE;
    }
    settings.running = &running;
    settings.command = running.argv;
    settings.qmp = socket;
    /* What it executes may have been replaced since, by another version. */
    settings.program = running.program;
    snprintf(program, sizeof program, "/proc/%ld/exe", (long)pid);
    if (access(running.program, X_OK) < 0)
        settings.program = program;
    if (!socket && qemu_running_monitor(&running, &settings.qmp, &error) < 0) {
        cli_print_error(&error);
        status = EXIT_FAILURE;
    } else {
        status = record_machine(options, &settings);
    }
    qemu_running_done(&running);
    return status;
}
