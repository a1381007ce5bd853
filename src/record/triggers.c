/* SPDX-License-Identifier: MIT */
#include "record/triggers.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macro.h"
#include "record/control_server.h"
#include "record/recording.h"
#include "record/snapshot_quota.h"
#include "record/trigger_command.h"
#include "record/trigger_limits.h"
#include "tracedir/host.h"

#define WHAT_MAX 300u
/* At the end of the recording: how long the process that watches events has for the last of them, … */
#define WATCH_END_NS (30 * NSEC_PER_SEC)
/* … and commands, which are killed then. */
#define COMMANDS_END_NS (60 * NSEC_PER_SEC)
/* Without pidfds, nothing says that a process has ended. */
#define CHILD_INTERVAL_NS (NSEC_PER_SEC / 10)

/* A snapshot to be taken, or that is taken. */
struct pending_snapshot {
    bool is_on;
    unsigned trigger;
    char what[WHAT_MAX];
    struct manifest_moment time;
    uint64_t due; /* CLOCK_MONOTONIC, ns */
    uint64_t repeats;
    uint64_t also; /* triggers, 1 << number */
};

struct trigger_recorder {
    struct recorder recorder;
    struct trigger_recorder_settings settings;
    struct trigger_limits *limits;
    struct snapshot_quota *store;
    struct trigger_command *command; /* NULL: none */
    struct watch_process *watch;     /* NULL: none */
    int signals;                     /* signalfd; -1: none */
    sigset_t signals_before;
    int timers[TRIGGERS_MAX];       /* timerfd; -1: none */
    struct pending_snapshot next;   /* that waits for its time */
    struct pending_snapshot saving; /* that the control server has */
    struct snapshot_request request;
    struct manifest_snapshot about;
    const char *also[TRIGGERS_MAX];
    struct trigger_stats stats;
    uint64_t suppressed_before;                            /* the last snapshot that was saved */
    uint64_t is_suppression_reported, is_problem_reported; /* triggers, 1 << number */
    char failure[400];                                     /* the last one, as it was reported */
    uint64_t ended_at; /* when nothing else was recorded any more; 0: it is */
    bool is_held, is_hurried, is_killed;
};

static struct trigger_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct trigger_recorder, recorder);
}

/* ---- A condition is met ---- */

static void suppress(struct trigger_recorder *self, unsigned i)
{
    uint64_t bit = UINT64_C(1) << i;

    self->stats.suppressed++;
    if (self->is_suppression_reported & bit)
        return;
    self->is_suppression_reported |= bit;
    recorder_report(
        &self->recorder,
        "trigger '%s' is met more often than --snapshots-per-hour=%u saves (each condition at "
        "most once in %u seconds); further ones are counted",
        self->settings.triggers[i].text, self->settings.per_hour, 3600 / self->settings.per_hour);
}

/* The clocks at TIME, CLOCK_MONOTONIC. */
static struct manifest_moment moment_at(uint64_t time)
{
    struct manifest_moment now = host_moment();
    int64_t ago = now.monotonic_ns - (int64_t)time;

    return (struct manifest_moment){.realtime_ns = now.realtime_ns - ago,
                                    .monotonic_ns = (int64_t)time};
}

static bool may_save(const struct trigger_recorder *self, unsigned i)
{
    return self->settings.triggers[i].kind == TRIGGER_EXIT || /* there is one at most */
           trigger_limits_allow(self->limits, i, clock_ns(CLOCK_BOOTTIME));
}

static void meet(struct trigger_recorder *self, unsigned i, uint64_t time, const char *what)
{
    uint64_t bit = UINT64_C(1) << i, now = clock_ns(CLOCK_MONOTONIC);
    struct pending_snapshot *next = &self->next;

    if (self->recorder.state != RECORDER_RUNNING || self->is_killed)
        return;
    self->stats.met++;
    time = MIN(time, now); /* what a watching process says is not to be relied on */
    if (next->is_on && next->trigger == i) {
        next->repeats++;
    } else if (next->is_on) {
        next->also |= bit;
    } else if ((self->saving.is_on && (self->saving.trigger == i || (self->saving.also & bit))) ||
               !may_save(self, i)) {
        suppress(self, i);
    } else {
        *next = (struct pending_snapshot){.is_on = true,
                                          .trigger = i,
                                          .time = moment_at(time),
                                          .due = MAX(now, time + self->settings.after_ns)};
        snprintf(next->what, sizeof next->what, "%s", what);
    }
}

static void handle_event(void *userdata, const struct recorder_event *event)
{
    struct trigger_recorder *self = userdata;

    for (unsigned i = 0; i < self->settings.n; i++)
        if (trigger_is_met(&self->settings.triggers[i], event))
            meet(self, i, event->time, event->text);
}

/* TEXT without the condition before it. */
static const char *without_condition(const struct trigger_recorder *self, unsigned i,
                                     const char *text)
{
    const char *condition = self->settings.triggers[i].text;
    size_t len = strlen(condition);

    return strncmp(text, condition, len) == 0 && strncmp(text + len, ": ", 2) == 0 ? text + len + 2
                                                                                   : text;
}

static void handle_fired(void *userdata, unsigned index, uint64_t time, const char *text)
{
    struct trigger_recorder *self = userdata;

    if (self->settings.triggers[index].kind == TRIGGER_WATCHED)
        meet(self, index, time, without_condition(self, index, text));
}

static void handle_other(void *userdata, const char *line, size_t len)
{
    const struct trigger_recorder *self = userdata;

    if (self->settings.other_line)
        self->settings.other_line(self->settings.other_line_userdata, line, len);
}

/* Once for each condition. */
static void handle_problem(void *userdata, unsigned index, const char *text)
{
    struct trigger_recorder *self = userdata;
    uint64_t bit = index < TRIGGERS_MAX ? UINT64_C(1) << index : 0;

    if (self->is_problem_reported & bit)
        return;
    self->is_problem_reported |= bit;
    if (index < self->settings.n)
        recorder_report(&self->recorder, "trigger '%s': %s", self->settings.triggers[index].text,
                        without_condition(self, index, text));
    else
        recorder_report(&self->recorder, "--on: %s", text);
}

static void handle_signals(struct trigger_recorder *self)
{
    struct signalfd_siginfo info;

    while (self->signals >= 0 && read(self->signals, &info, sizeof info) == (ssize_t)sizeof info)
        for (unsigned i = 0; i < self->settings.n; i++) {
            const struct trigger *trigger = &self->settings.triggers[i];
            char what[64];

            snprintf(what, sizeof what, "from process %u", (unsigned)info.ssi_pid);
            if (trigger->kind == TRIGGER_SIGNAL && trigger->signal == (int)info.ssi_signo)
                meet(self, i, clock_ns(CLOCK_MONOTONIC), what);
        }
}

/* ---- The time of day ---- */

/* -errno. */
static int set_timer(struct trigger_recorder *self, unsigned i)
{
    struct itimerspec when = {
        .it_value.tv_sec = trigger_next_time(&self->settings.triggers[i],
                                             (time_t)(clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC))};

    if (when.it_value.tv_sec < 0)
        return -EOVERFLOW;
    /* Readable with -ECANCELED, too, when the clock was set. */
    return timerfd_settime(self->timers[i], TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when,
                           NULL) < 0
               ? -errno
               : 0;
}

static void handle_timers(struct trigger_recorder *self)
{
    for (unsigned i = 0; i < self->settings.n; i++) {
        uint64_t n = 0;
        bool was_set = false;

        if (self->timers[i] < 0)
            continue;
        if (read(self->timers[i], &n, sizeof n) < 0)
            was_set = errno == ECANCELED;
        if (n > 0)
            meet(self, i, clock_ns(CLOCK_MONOTONIC), "by the clock of this host");
        if (n > 0 || was_set)
            (void)set_timer(self, i);
    }
}

/* ---- A snapshot ---- */

static void report_failure(struct trigger_recorder *self, const char *text)
{
    char failure[sizeof self->failure];

    self->stats.failed++;
    snprintf(failure, sizeof failure, "%s", text);
    if (strcmp(failure, self->failure) == 0) /* a disk that stays full: once */
        return;
    memcpy(self->failure, failure, sizeof failure);
    recorder_report(&self->recorder, "trigger '%s' met (%s): no snapshot was saved: %s",
                    self->settings.triggers[self->saving.trigger].text, self->saving.what, text);
}

static void report_saved(struct trigger_recorder *self, const char *path)
{
    const struct pending_snapshot *snapshot = &self->saving;
    const char *trigger = self->settings.triggers[snapshot->trigger].text;
    char more[64] = "";

    self->stats.saved++;
    self->failure[0] = '\0';
    if (snapshot->repeats > 0)
        snprintf(more, sizeof more, ", %" PRIu64 " more time%s", snapshot->repeats,
                 snapshot->repeats == 1 ? "" : "s");
    recorder_report(&self->recorder, "trigger '%s' met (%s)%s: saved %s", trigger, snapshot->what,
                    more, path);
    snapshot_quota_add(self->store, path);
    if (self->command)
        trigger_command_run(self->command, path, trigger, snapshot->what);
}

static void handle_snapshot(void *userdata, bool is_saved, const char *text)
{
    struct trigger_recorder *self = userdata;
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    for (unsigned i = 0; i < self->settings.n; i++)
        if (i == self->saving.trigger || (self->saving.also & UINT64_C(1) << i))
            trigger_limits_note(self->limits, i, now, is_saved);
    if (is_saved) {
        trigger_limits_count(self->limits, now);
        self->suppressed_before = self->about.suppressed + self->suppressed_before;
        report_saved(self, text);
    } else {
        report_failure(self, text);
    }
    self->saving.is_on = false;
    recorder_wake(&self->recorder);
}

static void take_snapshot(struct trigger_recorder *self)
{
    const struct trigger *trigger = &self->settings.triggers[self->next.trigger];
    time_t seconds = (time_t)(self->next.time.realtime_ns / (int64_t)NSEC_PER_SEC);
    char slug[TRIGGER_SLUG_MAX], date[32] = "";
    struct tm tm;
    unsigned n = 0;

    self->saving = self->next;
    self->next.is_on = false;
    for (unsigned i = 0; i < self->settings.n; i++)
        if (self->saving.also & UINT64_C(1) << i)
            self->also[n++] = self->settings.triggers[i].text;
    self->about = (struct manifest_snapshot){
        .reason = "trigger",
        .trigger = trigger->text,
        .what = self->saving.what,
        .time = self->saving.time,
        .repeats = self->saving.repeats,
        .also = self->also,
        .n_also = n,
        .suppressed = self->stats.suppressed - self->suppressed_before,
    };
    trigger_slug(trigger, slug);
    if (localtime_r(&seconds, &tm))
        (void)strftime(date, sizeof date, "%Y%m%d-%H%M%S-", &tm);
    snprintf(self->request.name, sizeof self->request.name, "%s%s", date, slug);
    self->request.about = &self->about;
    self->request.done = handle_snapshot;
    self->request.userdata = self;
    control_server_ask(self->settings.server, &self->request);
}

/* Whether the next one is to be taken now. */
static bool is_due(const struct trigger_recorder *self, uint64_t now)
{
    return self->next.is_on && !self->saving.is_on &&
           (now >= self->next.due || (self->ended_at > 0 && watch_process_has_ended(self->watch)));
}

/* ---- The recorder ---- */

static int start(struct recorder *recorder, struct error *error)
{
    struct trigger_recorder *self = self_of(recorder);
    const struct watch_process_handler handler = {
        .fired = handle_fired, .problem = handle_problem, .other = handle_other, .userdata = self};
    const struct stop_signals *signals = recording_settings(recorder->recording)->signals;
    int r = 0;

    if (self->settings.command)
        r = trigger_command_new(self->settings.command, signals ? &signals->before : NULL, recorder,
                                &self->command);
    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    if (self->settings.watch)
        r = watch_process_start(self->settings.watch, self->settings.watch_userdata,
                                self->settings.n, &handler, recorder, &self->watch, error);
    if (r < 0)
        return r;
    recording_on_event(recorder->recording, handle_event, self);
    control_server_hold(self->settings.server);
    self->is_held = true;
    return 0;
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct trigger_recorder *self = self_of(recorder);
    bool has_child =
        trigger_command_fd(self->command) < 0 && !trigger_command_is_idle(self->command);

    recorder_wait_fd(wait, self->signals, POLLIN);
    for (unsigned i = 0; i < self->settings.n; i++)
        if (self->timers[i] >= 0)
            recorder_wait_fd(wait, self->timers[i], POLLIN);
    recorder_wait_fd(wait, trigger_command_fd(self->command), POLLIN);
    recorder_wait_fd(wait, snapshot_quota_fd(self->store), POLLIN);
    watch_process_poll(self->watch, wait);
    has_child |= snapshot_quota_fd(self->store) < 0 && !trigger_store_is_idle(self->store);
    if (has_child)
        recorder_wait_until(wait, clock_ns(CLOCK_MONOTONIC) + CHILD_INTERVAL_NS);
    if (self->next.is_on && !self->saving.is_on)
        recorder_wait_until(wait, self->next.due);
    if (self->ended_at == 0 && !recording_is_under_way(recorder->recording))
        recorder_wait_until(wait, 0);
    if (self->ended_at > 0 && !self->saving.is_on)
        recorder_wait_until(wait, watch_process_has_ended(self->watch)
                                      ? self->ended_at + COMMANDS_END_NS
                                      : self->ended_at + WATCH_END_NS);
}

/* Nothing else is recorded any more. Whether this recorder has to go on. */
static bool has_rest(struct trigger_recorder *self, uint64_t now)
{
    if (self->next.is_on || self->saving.is_on)
        return true;
    if (self->is_hurried)
        return false;
    if (!watch_process_has_ended(self->watch) || !trigger_store_is_idle(self->store))
        return true;
    if (trigger_command_is_idle(self->command))
        return false;
    if (now < self->ended_at + COMMANDS_END_NS)
        return true;
    recorder_report(
        &self->recorder,
        "--then '%s' has not ended within %u seconds of the end of the recording; it is "
        "killed",
        self->settings.command, (unsigned)(COMMANDS_END_NS / NSEC_PER_SEC));
    return false;
}

static void note_end(struct trigger_recorder *self, uint64_t now)
{
    if (self->ended_at == 0) {
        self->ended_at = now;
        if (self->watch)
            watch_process_stop(self->watch);
    }
    if (self->watch && !watch_process_has_ended(self->watch) &&
        (self->is_hurried || now >= self->ended_at + WATCH_END_NS)) {
        if (!self->is_hurried)
            recorder_report(&self->recorder,
                            "--on: what was recorded last was not evaluated in %u seconds",
                            (unsigned)(WATCH_END_NS / NSEC_PER_SEC));
        watch_process_free(self->watch);
        self->watch = NULL;
    }
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct trigger_recorder *self = self_of(recorder);

    (void)fds;
    (void)n;
    (void)error;
    if (self->is_killed)
        return 0;
    handle_signals(self);
    handle_timers(self);
    trigger_command_step(self->command);
    snapshot_quota_step(self->store);
    watch_process_step(self->watch, now);
    if (!recording_is_under_way(recorder->recording))
        note_end(self, now);
    if (is_due(self, now)) {
        /* What was saved meanwhile may leave no room for it. */
        if (may_save(self, self->next.trigger)) {
            take_snapshot(self);
        } else {
            self->next.is_on = false;
            suppress(self, self->next.trigger);
        }
    }
    return self->ended_at == 0 || has_rest(self, now);
}

static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    struct trigger_recorder *self = self_of(recorder);

    (void)now;
    self->is_hurried |= stop->urgency >= RECORDER_STOP_NOW;
    self->is_killed |= stop->urgency == RECORDER_KILL;
    return UINT64_MAX;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct trigger_recorder *self = self_of(recorder);
    uint64_t n = self->stats.suppressed;

    (void)error;
    if (self->is_held)
        control_server_release(self->settings.server);
    self->is_held = false;
    watch_process_free(self->watch);
    self->watch = NULL;
    if (n > 0) {
        recorder_problem(recorder,
                         "triggers were met %" PRIu64 " time%s without a snapshot, as "
                         "--snapshots-per-hour=%u limits them",
                         n, n == 1 ? "" : "s", self->settings.per_hour);
        recorder_report(recorder,
                        "triggers were met %" PRIu64 " time%s; snapshots: %" PRIu64
                        " saved, %" PRIu64 " failed; %" PRIu64 " time%s there was none, as "
                        "--snapshots-per-hour=%u limits them",
                        self->stats.met, self->stats.met == 1 ? "" : "s", self->stats.saved,
                        self->stats.failed, n, n == 1 ? "" : "s", self->settings.per_hour);
    }
    return 0;
}

static void free_recorder(struct recorder *recorder)
{
    struct trigger_recorder *self = self_of(recorder);

    watch_process_free(self->watch);
    trigger_command_free(self->command);
    snapshot_quota_free(self->store);
    trigger_limits_free(self->limits);
    for (unsigned i = 0; i < TRIGGERS_MAX; i++)
        closep(&self->timers[i]);
    if (self->signals >= 0) {
        handle_signals(self); /* so that none is delivered now */
        close(self->signals);
        sigprocmask(SIG_SETMASK, &self->signals_before, NULL);
    }
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .finish = finish,
    .free = free_recorder,
};

static int open_signals(struct trigger_recorder *self, struct error *error)
{
    sigset_t set;
    bool any = false;

    sigemptyset(&set);
    for (unsigned i = 0; i < self->settings.n; i++)
        if (self->settings.triggers[i].kind == TRIGGER_SIGNAL) {
            sigaddset(&set, self->settings.triggers[i].signal);
            any = true;
        }
    if (!any)
        return 0;
    self->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self->signals < 0)
        return error_set(error, -errno, NULL, "cannot catch signals: %s", strerror(errno));
    sigprocmask(SIG_BLOCK, &set, &self->signals_before);
    return 0;
}

static int open_timers(struct trigger_recorder *self, struct error *error)
{
    int r = 0;

    for (unsigned i = 0; i < self->settings.n && r >= 0; i++) {
        if (self->settings.triggers[i].kind != TRIGGER_TIME)
            continue;
        self->timers[i] = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        r = self->timers[i] < 0 ? -errno : set_timer(self, i);
    }
    return r < 0 ? error_set(error, r, NULL, "cannot set a timer: %s", strerror(-r)) : 0;
}

int trigger_recorder_new(const struct trigger_recorder_settings *settings, struct recorder **ret,
                         struct error *error)
{
    struct trigger_recorder *self = calloc(1, sizeof *self);
    int r;

    if (!self)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    self->recorder.ops = &ops;
    self->recorder.name = "triggers";
    self->recorder.is_service = true;
    self->settings = *settings;
    self->signals = -1;
    for (unsigned i = 0; i < TRIGGERS_MAX; i++)
        self->timers[i] = -1;
    r = trigger_limits_new(settings->n, settings->per_hour, &self->limits);
    if (r >= 0)
        r = snapshot_quota_new(settings->size, &self->recorder, &self->store);
    if (r < 0)
        error_set(error, r, NULL, "out of memory");
    if (r >= 0)
        r = open_timers(self, error);
    if (r >= 0)
        r = open_signals(self, error);
    if (r < 0) {
        free_recorder(&self->recorder);
        return r;
    }
    *ret = &self->recorder;
    return 0;
}

bool trigger_recorder_stats(const struct recorder *recorder, struct trigger_stats *ret)
{
    if (recorder->ops != &ops)
        return false;
    *ret = const_container_of(recorder, struct trigger_recorder, recorder)->stats;
    return true;
}
