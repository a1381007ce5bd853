/* SPDX-License-Identifier: MIT */
#include "record/qemu/recorder.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/copy.h"
#include "record/kernel/kernel_recorder.h"
#include "record/qemu/attach.h"
#include "record/rings/program_recorder.h"
#include "tracedir/host.h"

/* On a kernel without pidfds nothing wakes us when a child ends, nor, on any, when a process does that it has left. */
#define CHILD_INTERVAL_NS (NSEC_PER_SEC / 100)
#define ORPHANS_INTERVAL_NS (NSEC_PER_SEC / 10)
/* How often the recorder checks the size of simpletrace's file while it grows. */
#define SIMPLE_INTERVAL_NS (NSEC_PER_SEC / 4)
/* How long the recorder waits, after QEMU has ended, for what the guest has sent. */
#define REST_TIMEOUT_NS (2 * NSEC_PER_SEC)
/* Where the recording could not go on: how long QEMU has to end in order, and to be killed. */
#define TERM_TIMEOUT_NS (10 * NSEC_PER_SEC)
#define KILL_TIMEOUT_NS (2 * NSEC_PER_SEC)

/* From the end of a domain's QEMU until libvirt reports why. */
#define STOP_REASON_TIMEOUT_MS 5000

/* ---- What it writes ---- */

/* QEMU itself writes simpletrace: that it has written enough is seen from outside. */
static uint64_t watch_simple(struct qemu_recorder *self, uint64_t now)
{
    uint64_t max_size = recording_settings(self->recorder.recording)->max_size;
    uint64_t size;
    struct stat st;

    if (self->settings.probe->backend != VMM_BACKEND_SIMPLE || max_size == 0 ||
        self->simple_is_full)
        return UINT64_MAX;
    if (now < self->simple_at)
        return self->simple_at;
    size = self->simple_size;
    if (fstatat(recording_dir(self->recorder.recording), VMM_SIMPLE, &st, AT_SYMLINK_NOFOLLOW) == 0)
        self->simple_size = (uint64_t)st.st_size;
    self->simple_at = now + (size == self->simple_size ? NSEC_PER_SEC : SIMPLE_INTERVAL_NS);
    if (self->simple_size < max_size)
        return self->simple_at;
    self->simple_is_full = true;
    self->monitor.wants_silence = true;
    recorder_lost(&self->recorder,
                  "--max-size ended QEMU's trace; later events are missing and not counted");
    return UINT64_MAX;
}

/* What libvirt reports of the machine. */
static void read_domain_events(struct qemu_recorder *self)
{
    struct libvirt_monitor_event event;

    while (self->settings.domain && libvirt_domain_next_event(self->settings.domain, &event)) {
        json_t *data = *event.data ? json_loads(event.data, 0, NULL) : NULL;

        qemu_on_event(self, event.name, data);
        qemu_monitor_event(&self->monitor, event.name, data, event.realtime_us);
        json_decref(data);
    }
}

void qemu_read_machine(struct recorder *recorder)
{
    struct qemu_recorder *self = qemu_self(recorder);

    read_domain_events(self);
    qemu_monitor_read(&self->monitor);
}

int qemu_read(struct qemu_recorder *self, uint64_t now, uint64_t *ret_next, struct error *error)
{
    uint64_t next = watch_simple(self, now), sleep;
    int r;

    if (self->log.in >= 0) {
        self->log.woken_at = recording_woken_at(self->recorder.recording);
        qemu_log_input_take(&self->log, &sleep);
        if (sleep != UINT64_MAX)
            next = MIN(next, now + sleep);
        qemu_clock_step(&self->clock, now, &sleep);
        next = MIN(next, now + sleep);
    }
    if (self->reads_rings) {
        (void)programs_step(&self->programs, &sleep);
        next = MIN(next, now + sleep);
    }
    read_domain_events(self);
    r = qemu_monitor_step(&self->monitor, now, &sleep, error);
    *ret_next = MIN(next, now + sleep);
    qemu_note_reset(self);
    qemu_note_migration(self);
    qemu_report_halt(self);
    qemu_report_loss(self, now, ret_next);
    qemu_connected(self);
    if (self->monitor.changed || self->programs.changed)
        recorder_changed(&self->recorder);
    self->monitor.changed = self->programs.changed = false;
    return r;
}

/* ---- While it runs ---- */

static void flush(struct recorder *recorder, uint64_t now)
{
    struct qemu_recorder *self = qemu_self(recorder);
    uint64_t sleep;

    (void)now;
    if (self->log.in >= 0) {
        self->log.woken_at = recording_woken_at(self->recorder.recording);
        qemu_log_input_take(&self->log, &sleep);
    }
    if (self->reads_rings)
        programs_flush(&self->programs);
}

static bool is_ready(const struct recorder *recorder)
{
    return qemu_is_attached(qemu_const_self(recorder));
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct qemu_recorder *self = qemu_self(recorder);
    bool has_ended = self->child.ended;

    recorder_wait_fd(wait, has_ended ? -1 : self->child.end, POLLIN);
    recorder_wait_fd(wait, self->qemu.ended ? -1 : self->qemu.end, POLLIN);
    if (self->reads_rings)
        programs_poll(&self->programs, wait);
    recorder_wait_fd(wait, qemu_monitor_fd(&self->monitor), POLLIN);
    recorder_wait_fd(wait, self->log.is_idle ? self->log.wake : -1, POLLIN);
    recorder_wait_fd(wait, self->qmp_thread.event_fd, POLLIN);
    if (self->settings.domain)
        recorder_wait_fd(wait, libvirt_domain_event_fd(self->settings.domain), POLLIN);
    recorder_wait_until(wait, self->step_at);
}

/* The next phase, where this one is over. */
static int advance(struct qemu_recorder *self, bool child_has_ended, uint64_t now,
                   struct error *error)
{
    int r = qemu_attach_step(self, now, error);

    if (self->phase == QEMU_RUNS &&
        ((child_has_ended && qemu_has_ended(self)) || qemu_stop_step(self, now))) {
        self->ended_at = self->child.ended ? now : 0;
        self->phase = QEMU_SENDS_REST;
        self->rest_by = now + REST_TIMEOUT_NS;
        if (self->settings.guest)
            kernel_recorder_stop(self->settings.guest);
    }
    if (self->phase == QEMU_SENDS_REST && (!self->settings.guest || now >= self->rest_by ||
                                           kernel_recorder_is_away(self->settings.guest))) {
        if (self->settings.running)
            qemu_restore(self); /* when the guest's port is no longer needed */
        else
            self->phase = QEMU_IS_OVER;
    }
    return r;
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct qemu_recorder *self = qemu_self(recorder);
    /* Asked before what is there is read: what came until then is seen. */
    bool ended = child_has_ended(&self->child);
    int r;

    (void)fds;
    (void)n;
    (void)child_has_ended(&self->qemu);
    r = qemu_read(self, now, &self->step_at, error);
    if (r >= 0)
        r = advance(self, ended, now, error);
    if (r < 0)
        return r;
    if (self->phase == QEMU_RUNS)
        self->step_at = MIN(self->step_at, qemu_next_pursuit(self, now));
    if (self->phase == QEMU_RUNS && ended)
        self->step_at = MIN(self->step_at, now + ORPHANS_INTERVAL_NS);
    else if (self->child.end < 0)
        self->step_at = MIN(self->step_at, now + CHILD_INTERVAL_NS);
    if (self->phase == QEMU_SENDS_REST)
        self->step_at = MIN(self->step_at, self->rest_by);
    return self->phase != QEMU_IS_OVER;
}

/* ---- Its end ---- */

/* The file that QEMU's user asked for. */
static void copy_simple(struct qemu_recorder *self)
{
    _cleanup_free_ char *from = NULL;
    struct error error = {0};
    struct stat st;

    /* Anything but a regular file (/dev/null) takes QEMU's output and keeps nothing. */
    if (!self->simple_copy || (stat(self->simple_copy, &st) == 0 && !S_ISREG(st.st_mode)))
        return;
    if (asprintf(&from, "%s/%s", recording_path(self->recorder.recording), VMM_SIMPLE) < 0) {
        from = NULL;
        return;
    }
    if ((unlink(self->simple_copy) < 0 && errno != ENOENT) ||
        copy_file(from, self->simple_copy, &(struct copy_options){0}, &error) < 0)
        recorder_problem(&self->recorder, "%s, as -trace names it, was not written: %s",
                         self->simple_copy, error.what[0] ? error.what : strerror(errno));
}

/* Where the recording could not go on: in order, while its log is read, which it may wait for. */
static void end_qemu(struct qemu_recorder *self)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), until = now + TERM_TIMEOUT_NS;

    if (qemu_has_ended(self))
        return;
    self->is_ended = true;
    qemu_signal(self, SIGTERM);
    for (; !qemu_has_ended(self) && now < until; now = clock_ns(CLOCK_MONOTONIC)) {
        struct pollfd fds[] = {{self->child.ended ? self->qemu.end : self->child.end, POLLIN, 0},
                               {self->log.wake, POLLIN, 0}};
        uint64_t next;

        (void)qemu_read(self, now, &next, NULL); /* it is being ended already */
        next = MIN(next, now + ORPHANS_INTERVAL_NS);
        (void)poll(fds, ARRAY_SIZE(fds), (int)((next - MIN(now, next)) / 1000000 + 1));
    }
    if (!qemu_has_ended(self))
        qemu_signal(self, SIGKILL);
    (void)child_wait(&self->child, KILL_TIMEOUT_NS);
}

/* … of a QEMU that has ended by itself. */
static void report_end(struct qemu_recorder *self)
{
    const char *reason = self->stop_reason;
    char text[CHILD_END_SIZE];

    if (self->ended_at == 0 || self->is_ended)
        return;
    if (!self->stop_reason || !self->child.foreign)
        reason = child_end_text(&self->child, text, sizeof text);
    recorder_happened(&self->recorder, &(struct recorder_event){
                                           .kind = RECORDER_EVENT_END,
                                           .text = reason,
                                           .status = self->child.foreign ? -1 : self->child.status,
                                           .time = self->ended_at});
}

/* … of one that ran already; with another status than 0, qemu_note_problems() says so. */
static void report_attached_end(struct qemu_recorder *self)
{
    struct recorder *recorder = &self->recorder;
    char text[160];

    child_find_status(&self->child);
    if (self->stop_reason)
        recorder_report(recorder, "%s has ended: %s", recorder->name, self->stop_reason);
    else if (self->child.ended && self->child.status == 0)
        recorder_report(recorder, "QEMU (process %ld) has ended%s%s", (long)self->child.pid,
                        self->child.is_status_unknown ? "" : ": ",
                        self->child.is_status_unknown ? ""
                                                      : qemu_exit_text(self, text, sizeof text));
    else
        return;
    recorder->is_end_reported = true;
}

/* Why the guest's agent has not sent the rest. */
static const char *why_no_rest(const struct qemu_recorder *self, char *buf, size_t size)
{
    const struct guest *guest = kernel_recorder_guest(self->settings.guest);

    if (self->monitor.is_migrated)
        return "the virtual machine was migrated before the guest's agent had sent the rest";
    if (qemu_lost_agent(self))
        return "the virtual machine was reset before the guest's agent had sent the rest";
    if (self->is_loss_reported && guest &&
        guest_loss_text(guest, (uint64_t)self->ended.monotonic_ns, buf, size))
        return buf;
    return self->child.ended
               ? "the virtual machine ended before the guest's agent had sent the rest"
               : "the guest's agent did not send the rest in time";
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct qemu_recorder *self = qemu_self(recorder);
    int dir = recording_dir(recorder->recording);
    uint64_t unused;
    struct stat st;
    char why[300];

    (void)error;
    if (self->settings.running)
        qemu_leave(self);
    else
        end_qemu(self);
    self->ended = host_moment();
    if (self->settings.domain && child_has_ended(&self->child))
        self->stop_reason =
            libvirt_domain_stop_reason(self->settings.domain, STOP_REASON_TIMEOUT_MS);
    (void)qemu_monitor_step(&self->monitor, (uint64_t)self->ended.monotonic_ns, &unused, NULL);
    qemu_note_migration(self);
    if (self->settings.running)
        report_attached_end(self);
    if (self->log.in >= 0)
        qemu_log_input_finish(&self->log);
    if (self->clock.file >= 0)
        qemu_clock_done(&self->clock);
    if (self->reads_rings) {
        programs_finish(&self->programs);
        if (self->programs.n > 0)
            (void)unlinkat(dir, VMM_LOG, 0);
    }
    if (self->settings.guest)
        kernel_recorder_end(self->settings.guest, why_no_rest(self, why, sizeof why),
                            GUEST_NO_AGENT);
    if (fstatat(dir, VMM_SIMPLE, &st, AT_SYMLINK_NOFOLLOW) == 0)
        self->simple_size = (uint64_t)st.st_size;
    copy_simple(self);
    qemu_note_problems(self);
    report_end(self);
    return 0;
}

static void discard(struct recorder *recorder)
{
    qemu_remove_files(qemu_self(recorder));
}

static void free_recorder(struct recorder *recorder)
{
    struct qemu_recorder *self = qemu_self(recorder);

    child_done(&self->child);
    child_done(&self->qemu);
    if (self->reads_rings)
        programs_close(&self->programs);
    qemu_monitor_done(&self->monitor);
    qemu_log_input_done(&self->log);
    if (self->fifo_in_domain && !self->is_left_changed)
        (void)unlink(self->fifo_in_domain);
    free(self->fifo_in_domain);
    qemu_place_done(&self->place);
    qemu_restore_done(&self->changes);
    qemu_restore_done(&self->left);
    qmp_free(self->settings.connection);
    if (self->clock.file >= 0)
        close(self->clock.file);
    if (self->claim >= 0)
        close(self->claim);
    if (self->line >= 0)
        close(self->line);
    if (self->found_log >= 0)
        close(self->found_log);
    arena_done(&self->arena);
    free(self);
}

static void stats(const struct recorder *recorder, struct recorder_stats *ret)
{
    struct qemu_summary summary;

    qemu_recorder_sum_up(recorder, &summary);
    *ret = (struct recorder_stats){
        .bytes = summary.bytes, .events = summary.events, .lost = summary.lost};
}

static const struct recorder_ops ops = {
    .start = qemu_start,
    .is_ready = is_ready,
    .poll = poll_fds,
    .step = step,
    .stop = qemu_stop,
    .flush = flush,
    .finish = finish,
    .sources = qemu_sources,
    .stats = stats,
    .discard = discard,
    .free = free_recorder,
};

int qemu_recorder_new(const struct qemu_recorder_settings *settings, struct recorder **ret)
{
    struct qemu_recorder *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->recorder = (struct recorder){
        .ops = &ops,
        .name = settings->running ? settings->monitor->name : settings->command[0],
        .is_primary = true,
        .waits = settings->running != NULL,
    };
    self->settings = *settings;
    self->log = (struct qemu_log_input){
        .shown = TEXT_IN_MEMORY, .in = -1, .wake = -1, .file = -1, .copy = -1};
    self->clock.file = -1;
    self->child.end = self->qemu.end = -1;
    self->monitor.listener = -1;
    self->qmp_thread = QMP_THREAD_NONE;
    self->claim = self->line = self->found_log = -1;
    self->place = QEMU_PLACE_NONE;
    self->again_at = self->remind_at = UINT64_MAX;
    *ret = &self->recorder;
    return 0;
}

void qemu_recorder_sum_up(const struct recorder *recorder, struct qemu_summary *ret)
{
    const struct qemu_recorder *self = qemu_const_self(recorder);

    *ret = (struct qemu_summary){
        .seconds = (double)(self->ended.monotonic_ns - self->began.monotonic_ns) / 1e9,
        .events = self->log.lines,
        .lost = self->log.lost_lines,
        .bytes = self->log.bytes + self->simple_size,
        .simple_size = self->simple_size,
        .worst_ns = (uint64_t)(self->clock.worst + self->clock.extra),
        .is_cut_off = self->log.error < 0,
        .has_come = self->has_come,
        .is_running = self->monitor.answers,
        .is_ended = self->is_ended,
        .is_refused = self->is_refused,
        .is_left_changed = self->is_left_changed,
        .is_agent_lost = self->is_loss_reported && !qemu_lost_agent(self),
        .child = &self->child,
    };
    for (unsigned i = 0; i < self->programs.n; i++) {
        struct drain_stats stats = program_taken(self->programs.items[i]);

        ret->events += stats.events;
        ret->lost += stats.discarded + stats.no_ring + stats.unwritten + stats.undecoded;
        ret->is_cut_off |= stats.error < 0;
    }
}
