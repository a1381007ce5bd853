/* SPDX-License-Identifier: MIT */
#include "record/qemu/attach.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "proto/message.h"
#include "record/kernel/kernel_recorder.h"
#include "record/qemu/log_search.h"

/* For a thread of QMP commands at the end of the recording. */
#define QMP_THREAD_TIMEOUT_NS (20 * NSEC_PER_SEC)
/* Between two questions about the port of an agent that does not answer. */
#define ASK_INTERVAL_NS (2 * NSEC_PER_SEC)

static struct qemu_recorder *self_of(struct qmp_thread *thread)
{
    return container_of(thread, struct qemu_recorder, qmp_thread);
}

/* ---- QMP commands, in a thread: until it has ended, it owns what it uses ---- */

/* Restores what a killed recorder has left, so that this recorder finds QEMU in its original state. What is left then
 * is removed at the end. */
static int undo_left(struct qemu_recorder *self, struct qmp *qmp, struct error *error)
{
    const char *runtime = recording_settings(self->recorder.recording)->runtime;
    int r;

    if (!self->looks_for_left)
        return 0;
    self->looks_for_left = false;
    if (self->fifo_in_domain)
        self->left.fifo = NULL; /* this recorder's own has that name */
    r = qemu_leftover_undo(&self->left, qmp, self->settings.domain, runtime, !self->added,
                           &self->had_left, &self->left_error);
    self->changes.chardev = self->left.chardev;
    self->changes.serial = self->left.serial;
    self->changes.port = self->left.port;
    /* A refusal by QEMU or its guest is not a reason not to record it. */
    if (r >= 0 || r == -EREMOTE || r == -EBUSY)
        return 0;
    *error = self->left_error;
    return r;
}

static int add_port(struct qmp_thread *thread, struct qmp *qmp, struct error *error)
{
    struct qemu_recorder *self = self_of(thread);
    struct libvirt_domain *domain = self->settings.domain;
    int r = undo_left(self, qmp, error);

    if (r < 0)
        return r;
    if (!domain) {
        if (qemu_restore_port(&self->changes, qmp, PROTO_PORT, self->added, &thread->refused) < 0)
            self->port = NULL;
        return 0;
    }
    self->changes.domain_port = true;
    (void)qemu_leftover_save(&self->changes);
    if (libvirt_domain_add_port(domain, PROTO_PORT, &thread->refused) < 0) {
        self->changes.domain_port = false;
        return 0;
    }
    if (qemu_find_domain_port(self, &self->port, &thread->refused) == 0)
        error_set(&thread->refused, -EREMOTE, NULL, "libvirt has made no socket for it");
    return 0;
}

/* Has QEMU log a line, and looks for it in the files that QEMU writes. */
static int find_log(struct qmp_thread *thread, struct qmp *qmp, struct error *error)
{
    struct qemu_recorder *self = self_of(thread);
    struct log_search search;
    struct error why = {0};
    int r = undo_left(self, qmp, error);

    if (r < 0)
        return r;
    log_search_begin(self->settings.running->pid, self->log.is_file ? self->log.in : -1, &search);
    /* A QEMU without this event may have the log that its command line names. */
    if (search.n > 0 && qemu_restore_log_line(&self->changes, qmp, &why) >= 0) {
        self->has_logged = true;
        self->found_log = log_search_end(&search, QEMU_RESTORE_EVENT);
    }
    log_search_done(&search);
    return 0;
}

/* Whether QEMU does not log any more to where its log is recorded from: the monitor's command `logfile` has moved it. */
static bool has_moved_log(struct qemu_recorder *self, struct qmp *qmp)
{
    struct log_search search;
    struct error why = {0};
    struct stat st;
    int found;

    if (self->log.in < 0 || (!self->log_to && !self->has_logged))
        return false;
    if (!self->log.is_file)
        return fstat(self->log.in, &st) == 0 && !log_search_is_open(self->changes.pid, &st);
    log_search_begin(-1, self->log.in, &search);
    found = qemu_restore_log_line(&self->changes, qmp, &why);
    if (found >= 0)
        found = log_search_end(&search, QEMU_RESTORE_EVENT);
    else
        found = -1;
    log_search_done(&search);
    if (found >= 0)
        close(found);
    return found < 0 && !why.code;
}

static int switch_events(struct qmp_thread *thread, struct qmp *qmp, struct error *error)
{
    struct qemu_recorder *self = self_of(thread);
    const struct qemu_recorder_settings *settings = &self->settings;
    int r = undo_left(self, qmp, error);

    if (r < 0)
        return r;
    if (self->log_to)
        r = qemu_restore_log(&self->changes, qmp, self->log_to, qemu_process_log(settings->running),
                             &thread->refused);
    else if (self->simple_to)
        r = qemu_restore_simple(&self->changes, qmp, self->simple_to, &thread->refused);
    if (r < 0 || (!self->log_to && !self->simple_to && !self->log.is_file))
        return 0;
    return qemu_restore_events(&self->changes, qmp, settings->events, settings->n_events, error);
}

static int undo(struct qmp_thread *thread, struct qmp *qmp, struct error *error)
{
    struct qemu_recorder *self = self_of(thread);
    struct error first = {0};
    int r;

    self->has_moved_log = has_moved_log(self, qmp);
    if (self->has_moved_log)
        self->changes.log = NULL; /* that is not undone */
    r = qemu_restore_undo(&self->changes, qmp, &first);
    if (self->changes.domain_port) {
        int removed = libvirt_domain_remove_port(self->settings.domain, PROTO_PORT, &first);

        self->changes.domain_port =
            removed == -ENOTCONN; /* a port that the guest does not release stays */
        r = r < 0 ? r : removed;
    }
    if (r < 0)
        *error = first;
    return r;
}

/* Whether the guest has the port open: QEMU has no event for it without a connection, and its end of the socket stays open. */
static int ask_port(struct qmp_thread *thread, struct qmp *qmp, struct error *error)
{
    struct qemu_recorder *self = self_of(thread);
    json_t *chardevs, *chardev;
    size_t i;
    int r = qmp_execute(qmp, "query-chardev", NULL, &chardevs, error);

    if (r < 0)
        return r;
    json_array_foreach(chardevs, i, chardev)
    {
        const char *label = json_string_value(json_object_get(chardev, "label"));

        if (label && strcmp(label, self->port_chardev) == 0)
            self->is_port_closed = json_is_false(json_object_get(chardev, "frontend-open"));
    }
    json_decref(chardevs);
    return 0;
}

static bool is_changed(const struct qemu_recorder *self)
{
    return (qemu_restore_is_due(&self->changes) || self->changes.domain_port) &&
           !self->is_left_changed;
}

/* ---- Their order ---- */

static int start_thread(struct qemu_recorder *self, enum qemu_phase phase, struct error *error)
{
    static int (*const runs[])(struct qmp_thread * thread, struct qmp * qmp,
                               struct error * error) = {
        [QEMU_ADDS_PORT] = add_port,
        [QEMU_FINDS_LOG] = find_log,
        [QEMU_SWITCHES_EVENTS] = switch_events,
        [QEMU_RUNS] = ask_port,
        [QEMU_RESTORES] = undo,
    };

    struct stat st;

    self->phase = phase;
    if (phase == QEMU_RESTORES && self->log.is_file && fstat(self->log.in, &st) == 0) {
        self->log.has_end = true;
        self->log.end = (uint64_t)st.st_size;
    }
    self->qmp_thread.run = runs[phase];
    self->qmp_thread.endpoint = self->settings.monitor;
    self->qmp_thread.qmp = TAKE_PTR(self->settings.connection);
    return qmp_thread_start(&self->qmp_thread, error);
}

/* QEMU must reach what it writes to. If it is of another user, that user gets the FIFO, and the directory of simpletrace's file.
 * The FIFO is given by its descriptor: QEMU could replace a name in a directory that it owns. */
static int give_files(struct qemu_recorder *self, struct error *error)
{
    uid_t uid = 0;
    gid_t gid = 0;

    if (log_destination_user(self->settings.running->pid, &uid, &gid) < 0 || uid == geteuid())
        return 0;
    if ((self->log_to && fchown(self->log.in, uid, gid) < 0) ||
        (self->simple_to &&
         fchownat(recording_dir(self->recorder.recording), VMM_DIR, uid, gid, 0) < 0))
        return error_set(error, -errno, self->log_to ? self->log_to : self->simple_to,
                         "cannot be given to QEMU's user %u: %s", (unsigned)uid, strerror(errno));
    return 0;
}

/* Before it is changed. */
static void report_lost_log(struct qemu_recorder *self)
{
    static const char what[] =
        "QEMU's own log cannot be restored after the recording: %s is outside "
        "of the directory of its -chroot; QEMU logs nothing from then on";
    pid_t pid = self->settings.running->pid;
    const char *own = qemu_process_log(self->settings.running);
    const char *name = own ? own : log_destination_stderr(pid);

    if (!self->log_to || log_destination_is_reachable(pid, name))
        return;
    recorder_report(&self->recorder, what, own ? own : "its standard error");
    recorder_problem(&self->recorder, what, own ? own : "its standard error");
}

static int begin_events(struct qemu_recorder *self, struct error *error)
{
    report_lost_log(self);
    return start_thread(self, QEMU_SWITCHES_EVENTS, error);
}

/* Of a log in threads' files, none is the log. */
static int begin_log(struct qemu_recorder *self, struct error *error)
{
    if (self->settings.probe->backend != VMM_BACKEND_LOG || self->settings.running->logs_by_thread)
        return begin_events(self, error);
    return start_thread(self, QEMU_FINDS_LOG, error);
}

/* Records the log that was found; without one, a pipe or a terminal as the command line says. */
static int take_log(struct qemu_recorder *self, struct error *error)
{
    char own[64], name[PATH_MAX];
    int found = self->found_log;
    ssize_t n;

    self->found_log = -1;
    if (found >= 0)
        return qemu_use_log(self, found, error);
    if (!self->no_log && (!self->log.is_file || !self->has_logged))
        return 0;
    snprintf(own, sizeof own, "/proc/self/fd/%d", self->log.in);
    n = self->no_log ? 0 : readlink(own, name, sizeof name - 1);
    name[MAX(n, 0)] = '\0';
    recorder_problem(&self->recorder, "QEMU's events are not recorded: %s%s",
                     self->no_log ? self->no_log
                                  : "they do not come in its log, as the monitor's command logfile "
                                    "or log has changed that: ",
                     name);
    self->is_refused = true;
    qemu_log_input_done(&self->log);
    return 0;
}

int qemu_attach(struct qemu_recorder *self, struct error *error)
{
    pid_t pid = self->settings.running->pid;
    int r = child_adopt(pid, &self->child);

    if (r < 0)
        return error_set(error, r, NULL, "cannot watch process %ld; it may have ended", (long)pid);
    self->changes.pid = pid;
    self->changes.entry = recording_registry_entry(self->recorder.recording);
    self->changes.fifo = self->fifo_left;
    r = qemu_leftover_find(recording_settings(self->recorder.recording)->runtime, pid, &self->left);
    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    self->looks_for_left = true;
    qemu_monitor_watch(pid, &self->monitor);
    self->monitor.on_pause = qemu_on_pause;
    self->monitor.userdata = self;
    /* Without its events, why the domain ends and when it is paused is not known: no more than that. */
    if (self->settings.domain)
        (void)libvirt_domain_watch(self->settings.domain, NULL);
    r = give_files(self, error);
    if (r >= 0 && self->added)
        return start_thread(self, QEMU_ADDS_PORT, error);
    if (r >= 0)
        r = qemu_join_guest(self, error);
    return r < 0 ? r : begin_log(self, error);
}

static void note_restored(struct qemu_recorder *self, int r, const struct error *error)
{
    const struct qemu_restore *changes = &self->changes;

    if (r < 0 && !child_has_ended(&self->child)) {
        self->is_left_changed = true;
        recording_keep_registry_entry(self->recorder.recording);
        recorder_problem(
            &self->recorder,
            "cannot restore QEMU's settings: %s; events, log and the guest's port may be as they "
            "were while it was recorded; restore them: strata ctl %ld restore",
            error->what, (long)self->changes.pid);
    }
    if (changes->kept)
        recorder_problem(&self->recorder,
                         "QEMU has started its own trace file again; what it had written before "
                         "is in %s",
                         changes->kept);
}

static void note_left(struct qemu_recorder *self)
{
    if (!self->had_left)
        return;
    self->had_left = false;
    if (self->left_error.code < 0)
        recorder_problem(&self->recorder,
                         "cannot restore what a killed recorder had changed in QEMU: %s",
                         self->left_error.what);
    else
        recorder_report(&self->recorder, "restored what a killed recorder had changed in QEMU");
}

static int finish_thread(struct qemu_recorder *self, struct error *error)
{
    struct qmp_thread *thread = &self->qmp_thread;
    int r = qmp_thread_finish(thread, error);

    self->is_refused |= thread->refused.code != 0;
    note_left(self);
    if (thread->refused.code && self->phase == QEMU_ADDS_PORT)
        recorder_problem(
            &self->recorder,
            "the guest's kernel is not recorded: QEMU cannot add a port for its agent while it "
            "runs: %s; %s",
            thread->refused.what,
            self->settings.domain
                ? "give the domain the channel that 'strata collect --print-libvirt' shows"
                : "start it with the options that 'strata collect --print-qemu' shows");
    else if (thread->refused.code)
        recorder_problem(&self->recorder, "QEMU's events are not recorded: %s",
                         thread->refused.what);
    if (thread->cpus)
        qemu_monitor_note(&self->monitor, thread->version, thread->cpus);
    if (thread->status && self->phase == QEMU_RESTORES)
        qemu_monitor_note_status(&self->monitor, thread->status);
    json_decref(thread->cpus);
    json_decref(thread->status);
    thread->cpus = thread->status = NULL;
    return r;
}

void qemu_restore(struct qemu_recorder *self)
{
    struct error error = {0};

    int r;

    if (qmp_thread_is_on(&self->qmp_thread))
        (void)finish_thread(self, &error); /* it asked about the port */
    error_clear(&error);
    if (!is_changed(self) || child_has_ended(&self->child)) {
        self->phase = QEMU_IS_OVER;
        return;
    }
    r = start_thread(self, QEMU_RESTORES, &error);
    if (r >= 0)
        return;
    note_restored(self, r, &error);
    self->phase = QEMU_IS_OVER;
}

/* Asks QEMU whether an agent that does not answer has closed its port. The socket does not show it. */
static void watch_port(struct qemu_recorder *self, uint64_t now)
{
    struct recorder *guest = self->settings.guest;
    struct error error = {0};

    if (self->phase != QEMU_RUNS || !guest || !self->port_chardev ||
        !kernel_recorder_is_silent(guest))
        return;
    if (now < self->ask_at) {
        self->step_at = MIN(self->step_at, self->ask_at);
        return;
    }
    self->ask_at = now + ASK_INTERVAL_NS;
    self->is_port_closed = false;
    /* Without an answer, the agent is missed when it has been silent for longer. */
    (void)start_thread(self, QEMU_RUNS, &error);
}

/* A paused machine may have the port closed by a snapshot that was loaded: its agent is not asked. */
static void take_answer(struct qemu_recorder *self)
{
    bool is_running = json_is_true(json_object_get(self->qmp_thread.status, "running"));
    struct error error = {0};

    if (finish_thread(self, &error) >= 0 && self->is_port_closed && is_running &&
        kernel_recorder_is_silent(self->settings.guest))
        kernel_recorder_agent_closed(self->settings.guest);
}

int qemu_attach_step(struct qemu_recorder *self, uint64_t now, struct error *error)
{
    const struct qmp_endpoint *monitor = self->settings.monitor;
    struct error why = {0};
    char text[128];
    uint64_t at;
    int r;

    if (!qmp_thread_is_on(&self->qmp_thread)) {
        watch_port(self, now);
        return 0;
    }
    if (self->phase == QEMU_RUNS || self->phase == QEMU_SENDS_REST) {
        if (qmp_thread_has_ended(&self->qmp_thread))
            take_answer(self);
        return 0;
    }
    if (qmp_thread_waits(&self->qmp_thread, now, &at))
        recorder_report(&self->recorder,
                        "%s: QEMU's monitor does not answer: %s; waiting up to %d seconds",
                        monitor->name, monitor->silence(monitor, text, sizeof text), QMP_TIMEOUT_S);
    self->step_at = MIN(self->step_at, at);
    /* The rest comes surely. */
    if (qmp_thread_is_greeted(&self->qmp_thread))
        self->recorder.waits = false;
    if (!qmp_thread_has_ended(&self->qmp_thread))
        return 0;
    r = finish_thread(self, &why);
    if (self->phase == QEMU_RESTORES) {
        note_restored(self, r, &why);
        self->phase = QEMU_IS_OVER;
        return 0;
    }
    if (r >= 0 && self->phase == QEMU_ADDS_PORT) {
        r = qemu_join_guest(self, &why);
        if (r >= 0)
            r = begin_log(self, &why);
    } else if (r >= 0 && self->phase == QEMU_FINDS_LOG) {
        r = take_log(self, &why);
        /* Last: from then on the log has to be read in time. */
        if (r >= 0)
            r = begin_events(self, &why);
    } else if (r >= 0) {
        self->phase = QEMU_RUNS;
    }
    if (r < 0)
        *error = why;
    return r;
}

bool qemu_is_attached(const struct qemu_recorder *self)
{
    return !self->settings.running || self->phase >= QEMU_RUNS;
}

/* Waits for the thread's end, and reads QEMU's log meanwhile, because QEMU may block on it. */
static void wait_for_thread(struct qemu_recorder *self)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), until = now + QMP_THREAD_TIMEOUT_NS;

    while (!qmp_thread_has_ended(&self->qmp_thread) && now < until) {
        struct pollfd fds[] = {{self->qmp_thread.event_fd, POLLIN, 0}, {self->log.wake, POLLIN, 0}};
        uint64_t next, ms;

        (void)qemu_read(self, now, &next, NULL); /* its monitor is the thread's */
        next = MIN(next, until);
        ms = next > now ? (next - now) / 1000000 + 1 : 0;
        (void)poll(fds, ARRAY_SIZE(fds), (int)ms);
        now = clock_ns(CLOCK_MONOTONIC);
    }
}

void qemu_leave(struct qemu_recorder *self)
{
    struct error error = {0};
    bool restores = self->phase == QEMU_RESTORES;
    int r = 0;

    if (qmp_thread_is_on(&self->qmp_thread)) {
        if (restores)
            wait_for_thread(self);
        r = finish_thread(self, &error);
    }
    if (!restores && is_changed(self) && !child_has_ended(&self->child)) {
        error_clear(&error);
        r = start_thread(self, QEMU_RESTORES, &error);
        if (r >= 0) {
            wait_for_thread(self);
            r = finish_thread(self, &error);
        }
        restores = true;
    }
    if (restores)
        note_restored(self, r, &error);
    self->phase = QEMU_IS_OVER;
}

/* ---- Files ---- */

int qemu_attach_log(const struct qemu_process *running)
{
    const char *log = qemu_process_log(running);
    char path[64];

    if (log)
        return qemu_process_file(running, log, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK);
    snprintf(path, sizeof path, "/proc/%ld/fd/2", (long)running->pid);
    return open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}
