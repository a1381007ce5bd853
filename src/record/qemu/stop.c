/* SPDX-License-Identifier: MIT */
/* How the recording of a QEMU stops: QEMU is asked to end, then made to; and how its process ends. */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "record/kernel/kernel_recorder.h"
#include "record/qemu/attach.h"

/* How long the guest has to send the rest at the end of the recording, also on a busy machine. */
#define GUEST_TIMEOUT_NS (15 * NSEC_PER_SEC)
/* Until QEMU has a handler for SIGTERM, the signal kills it. So QEMU gets this long to start before SIGTERM. */
#define START_TIMEOUT_NS (20 * NSEC_PER_SEC)
/* QEMU 7.2 may hang at its end, until the next signal, if its monitor gets a command just then. The recorder sends none,
 * but other clients may. So QEMU gets the signal again. */
#define AGAIN_NS NSEC_PER_SEC
/* When QEMU does not end after SIGTERM: the recorder prints how to kill it … */
#define REMIND_NS (10 * NSEC_PER_SEC)
/* … and kills it, unless a user sent the signal. */
#define END_TIMEOUT_NS (20 * NSEC_PER_SEC)
/* An agent that is missing for so long ended before its machine, and is not back at once. */
#define LOSS_NS (NSEC_PER_SEC / 2)
/* How long after the end of the program that starts QEMU the recorder waits for QEMU. */
#define COME_TIMEOUT_NS (60 * NSEC_PER_SEC)

bool qemu_has_ended(struct qemu_recorder *self)
{
    struct pollfd line = {self->line, POLLIN, 0};

    if (!child_has_ended(&self->child))
        return false;
    if (!self->settings.wrapped || self->has_come || self->is_stopping || self->child.status != 0)
        return self->qemu.pid == 0 || child_has_ended(&self->qemu);
    /* If it has left something in the background, that may be QEMU, about to come. */
    if (self->come_by == 0)
        self->come_by = clock_ns(CLOCK_MONOTONIC) + COME_TIMEOUT_NS;
    return (poll(&line, 1, 0) != 0 && children_count_orphans(&self->others, &self->child) == 0) ||
           clock_ns(CLOCK_MONOTONIC) >= self->come_by;
}

void qemu_signal(const struct qemu_recorder *self, int signal)
{
    bool has_it = child_signal_adopted(&self->qemu, signal);

    if (!has_it || signal == SIGKILL)
        child_signal(&self->child, signal);
}

/* Whose options are behind those that it was to be given. */
static void check_log(struct qemu_recorder *self, pid_t pid)
{
    char fifo[REGISTRY_NAME_MAX];
    struct qemu_process running;
    const char *own;

    if (self->log.in < 0 || qemu_process_open(pid, &running, NULL) < 0)
        return;
    registry_name(recording_registry_entry(self->recorder.recording), "log", fifo);
    own = qemu_process_log(&running);
    if (own && strcmp(own, fifo) != 0) {
        _cleanup_free_ char *full = qemu_process_path(&running, own);
        _cleanup_free_ char *log = full ? realpath(full, NULL) : NULL;

        recorder_problem(&self->recorder,
                         "QEMU's events are in %s, and not recorded: %s has an option -D or "
                         "-trace of its own after those that it hands on",
                         log ? log : own, self->settings.command[0]);
    }
    qemu_process_done(&running);
}

void qemu_connected(struct qemu_recorder *self)
{
    pid_t before = self->qemu.pid ? self->qemu.pid : self->child.pid;
    pid_t pid = self->monitor.pid;
    int claim;

    if (self->settings.running || !self->monitor.qmp)
        return;
    if (!self->has_come && self->settings.wrapped)
        check_log(self, pid);
    self->has_come = true;
    if (pid == before)
        return;
    child_done(&self->qemu);
    (void)child_adopt(pid, &self->qemu);
    if (qemu_process_claim(pid, NULL, &claim, NULL) < 0)
        return;
    if (self->claim >= 0)
        close(self->claim);
    self->claim = claim;
}

/* ---- Resets ---- */

void qemu_note_reset(struct qemu_recorder *self)
{
    const struct guest *guest =
        self->settings.guest ? kernel_recorder_guest(self->settings.guest) : NULL;

    if (self->n_resets == self->monitor.resets)
        return;
    self->n_resets = self->monitor.resets;
    self->boots_at_reset = guest && guest->was_traced ? guest->n_boots : 0;
}

static bool awaits_migration(pid_t pid)
{
    struct qemu_process qemu;
    bool awaits;

    if (qemu_process_open(pid, &qemu, NULL) < 0)
        return false;
    awaits = qemu.awaits_migration;
    qemu_process_done(&qemu);
    return awaits;
}

void qemu_note_migration(struct qemu_recorder *self)
{
    const struct qemu_monitor *monitor = &self->monitor;
    struct recorder *guest = self->settings.guest;

    if (!guest)
        return;
    if (!self->is_arrival_noted && monitor->began_to_run) {
        self->is_arrival_noted = true;
        if (awaits_migration(monitor->pid))
            kernel_recorder_machine_came(guest, monitor->began_to_run);
    }
    if (self->is_departure_noted == monitor->is_migrated)
        return;
    /* A machine whose migration failed at its end goes on here. */
    self->is_departure_noted = monitor->is_migrated;
    kernel_recorder_machine_left(guest, monitor->is_migrated ? monitor->pause.stopped : 0);
}

void qemu_report_halt(struct qemu_recorder *self)
{
    if (self->n_halts == self->monitor.n_halts)
        return;
    self->n_halts = self->monitor.n_halts;
    recorder_report(&self->recorder,
                    "QEMU (process %d) is stopped by a signal, and its machine stands still; "
                    "continue it: kill -CONT %d",
                    self->monitor.pid, self->monitor.pid);
}

void qemu_report_loss(struct qemu_recorder *self, uint64_t now, uint64_t *next)
{
    const struct guest *guest =
        self->settings.guest ? kernel_recorder_guest(self->settings.guest) : NULL;
    uint64_t at;

    if (!guest || guest->ended || guest->lost_at == 0) {
        if (guest && guest->lost_at == 0 && self->is_loss_reported && guest->was_running) {
            recorder_report(&self->recorder, "the guest's agent is traced again");
            self->is_loss_reported = false;
        }
        return;
    }
    if (self->is_loss_reported || self->phase != QEMU_RUNS || self->is_stopping ||
        self->child.ended || self->monitor.is_migrated || qemu_lost_agent(self))
        return;
    /* Another agent has answered, and sets up the tracing. */
    if (guest->progress.state > GUEST_HELLO && guest->progress.state < GUEST_OVER)
        return;
    if (self->monitor.qmp && guest->closed_at &&
        (self->monitor.wants_status || qemu_monitor_is_asked(&self->monitor)))
        return;
    at = guest->lost_at + LOSS_NS;
    if (now < at) {
        *next = MIN(*next, at);
        return;
    }
    self->is_loss_reported = true;
    recorder_report(&self->recorder,
                    "the guest's agent %s: nothing of the guest is recorded until strata-agent is "
                    "started again in the guest",
                    guest->closed_at ? "has ended" : "does not answer any more");
}

bool qemu_lost_agent(const struct qemu_recorder *self)
{
    const struct guest *guest =
        self->settings.guest ? kernel_recorder_guest(self->settings.guest) : NULL;

    return guest && self->boots_at_reset > 0 && guest->n_boots == self->boots_at_reset;
}

/* ---- The end ---- */

/* Whether what a terminal sends reaches QEMU as well. */
static bool shares_terminal(const struct qemu_recorder *self)
{
    pid_t qemu = self->monitor.pid ? self->monitor.pid : self->child.pid;

    return !self->settings.running && getpgid(qemu) == getpgrp();
}

static void begin_stop(struct qemu_recorder *self, uint64_t now)
{
    const struct guest *guest =
        self->settings.guest ? kernel_recorder_guest(self->settings.guest) : NULL;

    self->is_stopping = true;
    self->monitor.ends = true;
    /* A guest that has migrated does not answer here any more, and a guest that was reset does not answer until its
     * agent returns. */
    self->stop_by =
        guest && guest->was_running && !self->monitor.is_migrated && !qemu_lost_agent(self)
            ? now + GUEST_TIMEOUT_NS
            : now;
    self->start_by = now + START_TIMEOUT_NS;
    if (guest)
        kernel_recorder_stop(self->settings.guest);
}

/* More urgently than before. */
static void hurry(struct qemu_recorder *self, enum recorder_urgency urgency, uint64_t now)
{
    bool is_told = self->stop_by == UINT64_MAX;

    if (self->settings.running) {
        self->stop_by = 0;
        if (urgency == RECORDER_KILL)
            self->rest_by = now;
        return;
    }
    qemu_signal(self, is_told ? SIGKILL : SIGTERM);
    self->stop_by = UINT64_MAX;
    self->again_at = now + AGAIN_NS;
}

uint64_t qemu_stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    struct qemu_recorder *self = qemu_self(recorder);
    bool is_signal = stop->reason == RECORDER_BY_SIGNAL;

    /* QEMU, which ends by it, has had it as well. */
    if (is_signal && stop->urgency == RECORDER_STOP && !stop->is_alone && !stop->is_early &&
        shares_terminal(self))
        return UINT64_MAX;
    if (self->is_stopping)
        hurry(self, stop->urgency, now);
    else
        begin_stop(self, now);
    /* Its monitor may be asked something, and never answer. */
    if (self->settings.running && stop->urgency == RECORDER_KILL)
        return now;
    return is_signal ? UINT64_MAX : now + END_TIMEOUT_NS;
}

static bool is_guest_over(const struct qemu_recorder *self)
{
    return self->settings.guest && kernel_recorder_has_ended(self->settings.guest);
}

/* Whether QEMU gets SIGTERM now. True once. */
static bool is_to_end(const struct qemu_recorder *self, uint64_t now)
{
    bool starts = !self->settings.running &&
                  (!self->monitor.answers || qemu_monitor_is_asked(&self->monitor)) &&
                  (self->has_come || !self->settings.wrapped);

    if (!self->is_stopping || self->stop_by == UINT64_MAX)
        return false;
    return (is_guest_over(self) || now >= self->stop_by) && (!starts || now >= self->start_by);
}

/* QEMU itself, and nothing that was started to start it. */
static void report_again(struct qemu_recorder *self, uint64_t now)
{
    const struct qemu_recorder_settings *settings = &self->settings;

    self->again_at = now + AGAIN_NS;
    if (!child_signal_adopted(&self->qemu, SIGTERM) && !settings->wrapped &&
        settings->n_before == 0)
        child_signal(&self->child, SIGTERM);
}

bool qemu_stop_step(struct qemu_recorder *self, uint64_t now)
{
    if (is_to_end(self, now)) {
        if (self->settings.running)
            return true;
        qemu_signal(self, SIGTERM);
        self->stop_by = UINT64_MAX;
        self->again_at = now + AGAIN_NS;
        self->remind_at = now + REMIND_NS;
    }
    if (now >= self->again_at)
        report_again(self, now);
    if (now >= self->remind_at) {
        self->remind_at = UINT64_MAX;
        recorder_report(&self->recorder,
                        "QEMU has not ended %u seconds after SIGTERM; another signal kills it",
                        (unsigned)(REMIND_NS / NSEC_PER_SEC));
    }
    return false;
}

uint64_t qemu_next_pursuit(const struct qemu_recorder *self, uint64_t now)
{
    uint64_t next = MIN(self->again_at, self->remind_at);

    if (self->is_stopping && self->stop_by > now)
        next = MIN(next, self->stop_by);
    if (self->is_stopping && self->stop_by != UINT64_MAX && self->start_by > now)
        next = MIN(next, self->start_by);
    return next;
}

/* ---- What is to be known of it ---- */

/* A part from which nothing came has no source in the trace that could state this. */
static void note_silence(struct qemu_recorder *self)
{
    const struct guest *guest =
        self->settings.guest ? kernel_recorder_guest(self->settings.guest) : NULL;

    if (guest && guest_is_silent(guest))
        recorder_problem(&self->recorder, "recorded nothing of the %s: %s", guest->config.name,
                         guest->what);
}

static double paused_since(const struct qemu_recorder *self)
{
    uint64_t ended = (uint64_t)self->ended.monotonic_ns;

    return (double)(ended - MIN(self->monitor.pause.stopped, ended)) / (double)NSEC_PER_SEC;
}

static void note_resets(struct qemu_recorder *self)
{
    const struct qemu_monitor *monitor = &self->monitor;
    uint64_t ended = (uint64_t)self->ended.monotonic_ns;
    double ago = (double)(ended - MIN(monitor->last_reset, ended)) / (double)NSEC_PER_SEC;
    const char *s = monitor->resets == 1 ? "" : "s";

    if (monitor->resets == 0)
        return;
    if (!qemu_lost_agent(self))
        recorder_problem(&self->recorder, "the virtual machine was reset %u time%s",
                         monitor->resets, s);
    else if (self->boots_at_reset == 1)
        recorder_problem(&self->recorder,
                         "the virtual machine was reset %u time%s, and the guest's agent did not "
                         "return: nothing of the guest is recorded after that; start strata-agent "
                         "when the guest boots",
                         monitor->resets, s);
    else
        recorder_problem(&self->recorder,
                         "the virtual machine was reset %u time%s, and the guest's agent did not "
                         "return after the last one, %.1f seconds before the recording ended: "
                         "nothing of the guest is recorded after that",
                         monitor->resets, s, ago);
}

uint64_t qemu_stopped_ns(const struct qemu_recorder *self, uint64_t until)
{
    const struct qemu_monitor *monitor = &self->monitor;

    return monitor->halted_ns + (monitor->is_halted ? until - MIN(monitor->halted_at, until) : 0);
}

uint64_t qemu_paused_ns(const struct qemu_recorder *self, uint64_t until)
{
    const struct qemu_monitor *monitor = &self->monitor;
    bool is_last = !monitor->is_migrated && qemu_monitor_stands_still(monitor, until);

    return monitor->paused_ns + (is_last ? until - MIN(monitor->pause.stopped, until) : 0);
}

static void note_pauses(struct qemu_recorder *self)
{
    const struct qemu_monitor *monitor = &self->monitor;
    unsigned n = monitor->n_pauses - monitor->is_paused;

    if (n > 0)
        recorder_problem(&self->recorder,
                         "the virtual machine stood still %u time%s, for %.3f seconds in all: its "
                         "guest recorded nothing meanwhile",
                         n, n == 1 ? "" : "s", (double)monitor->paused_ns / (double)NSEC_PER_SEC);
    if (monitor->n_halts > 0)
        recorder_problem(&self->recorder,
                         "QEMU's process was stopped by a signal %u time%s, for about %.1f seconds "
                         "in all: its machine did nothing meanwhile",
                         monitor->n_halts, monitor->n_halts == 1 ? "" : "s",
                         (double)qemu_stopped_ns(self, (uint64_t)self->ended.monotonic_ns) /
                             (double)NSEC_PER_SEC);
    note_resets(self);
    if (monitor->is_migrated && !monitor->is_paused)
        recorder_problem(&self->recorder,
                         "the virtual machine was migrated before the recording ended: a "
                         "recording of the QEMU that it went to has the rest");
    else if (monitor->is_migrated)
        recorder_problem(&self->recorder,
                         "the virtual machine was migrated, %.1f seconds before the recording "
                         "ended: a recording of the QEMU that it went to has the rest",
                         paused_since(self));
    else if (qemu_monitor_stands_still(monitor, (uint64_t)self->ended.monotonic_ns))
        recorder_problem(&self->recorder,
                         "the virtual machine stood still for the last %.1f seconds",
                         paused_since(self));
}

/* Notes a recorded event that the declarations lack because they are of another QEMU. */
static void note_undeclared(struct qemu_recorder *self)
{
    const struct qemu_probe *probe = self->settings.probe;
    const char *event = NULL;

    for (unsigned i = 0; !event && i < self->settings.n_events; i++)
        event = qemu_probe_undeclared(probe, self->settings.events[i]);
    if (event && !self->reads_rings)
        recorder_problem(&self->recorder,
                         "%s is of another version than QEMU %s: '%s' is not declared, so it has "
                         "no fields; read the trace with --trace-events=FILE of this QEMU",
                         probe->declarations, probe->version, event);
}

void qemu_note_problems(struct qemu_recorder *self)
{
    const struct qemu_log_input *log = &self->log;
    double seconds =
        (double)(self->ended.monotonic_ns - self->began.monotonic_ns) / (double)NSEC_PER_SEC;
    /* A script may have become QEMU by exec. */
    bool is_qemu = self->has_come && self->qemu.pid == 0;
    const char *name = self->settings.wrapped && !is_qemu ? self->settings.command[0] : "QEMU";
    char end[CHILD_END_SIZE];

    if (!self->child.ended && !self->child.foreign)
        recorder_problem(&self->recorder, "killed %s: it did not end in time", name);
    else if (self->child.status != 0)
        recorder_problem(&self->recorder, "%s %s %s, %.1f seconds after %s", name,
                         WIFSIGNALED(self->child.status) ? "was" : "ended with",
                         child_end_text(&self->child, end, sizeof end), seconds,
                         self->child.foreign ? "its recording began" : "it was started");
    if (self->settings.wrapped && !self->has_come)
        recorder_problem(
            &self->recorder,
            "%s started no QEMU with the options that recording needs; the script must pass "
            "its arguments to QEMU (\"$@\")",
            name);
    note_pauses(self);
    if (self->settings.probe->backend == VMM_BACKEND_NONE)
        recorder_problem(&self->recorder,
                         "this QEMU has no trace backend that can be recorded; build it "
                         "with --enable-trace-backends=log");
    if (!self->settings.probe->declarations && !self->reads_rings && self->settings.n_events > 0)
        recorder_problem(&self->recorder, "found no trace-events-all of this QEMU; name it with "
                                          "--trace-events");
    note_undeclared(self);
    if (log->error < 0)
        recorder_problem(
            &self->recorder, "QEMU's log ends after %llu bytes: %s; %llu further lines are lost",
            (unsigned long long)log->bytes,
            log->error == -EFBIG ? "--max-size or the limit of a file's size is reached"
                                 : strerror(-log->error),
            (unsigned long long)(log->lost_lines - log->stated_lines));
    if (log->stated_lines > 0)
        recorder_problem(&self->recorder, VMM_LOG_DROPPED);
    for (unsigned i = 0; self->reads_rings && i < self->programs.n; i++)
        if (self->programs.items[i]->taken.full)
            recorder_problem(&self->recorder,
                             "the trace of process %lu ends: --max-size is reached; %llu further "
                             "events are lost",
                             (unsigned long)self->programs.items[i]->pid,
                             (unsigned long long)self->programs.items[i]->taken.unwritten);
    if (self->log_sharer && !log->has_pids && log->lines > 0)
        recorder_problem(
            &self->recorder,
            "QEMU's log is also that of process %ld, and its lines do not tell which is "
            "whose: events of both are in the trace; give each QEMU a log of its own",
            (long)self->log_sharer);
    if (log->was_disk_full)
        recorder_lost(&self->recorder,
                      "the disk of QEMU's log was full: QEMU may have dropped lines, which are not "
                      "counted");
    if (self->has_moved_log)
        recorder_lost(
            &self->recorder,
            "QEMU's log was moved by the monitor's command logfile while it was recorded; "
            "later events are missing and not counted");
    if (log->was_cut)
        recorder_problem(
            &self->recorder,
            "QEMU's log was made shorter while it was recorded; lines that were written shortly "
            "before may be missing");
    if (log->stamps && log->stamps_late == 0)
        recorder_problem(&self->recorder,
                         "QEMU's log has no times and no threads; each line has the time at which "
                         "the recorder read it, within %.0f ms; start QEMU with -msg timestamp=on",
                         (double)log->stamp_error / 1e6);
    if (log->stamps && log->stamps_late > 0)
        recorder_problem(
            &self->recorder,
            "QEMU's log has no times and no threads; each line has the time at which the recorder "
            "read it, within %.0f ms; %llu lines were read late, within %.1f ms; start QEMU with "
            "-msg timestamp=on",
            (double)log->stamp_error / 1e6, (unsigned long long)log->stamps_late,
            (double)self->clock.extra / 1e6);
    if (self->clock.stepped)
        recorder_problem(
            &self->recorder,
            "CLOCK_REALTIME, the clock of QEMU's log, was set by %.3f seconds during the "
            "recording; times of its events may be wrong by as much, and out of order",
            (double)self->clock.stepped / (double)NSEC_PER_SEC);
    if (self->clock.error < 0)
        recorder_problem(&self->recorder, "cannot write all samples of QEMU's clock: %s",
                         strerror(-self->clock.error));
    note_silence(self);
}
