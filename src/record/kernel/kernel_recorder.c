/* SPDX-License-Identifier: MIT */
#include "record/kernel/kernel_recorder.h"

#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/kernel/guest_boot.h"
#include "record/kernel/guest_manifest.h"
#include "record/kernel/host_agent.h"
#include "record/recording.h"

/* For this machine's agent to send the rest after it was stopped. Guests have limits of their own (record/kernel/agent_connection.c). */
#define HOST_STOP_TIMEOUT_NS (10 * NSEC_PER_SEC)

struct kernel_recorder {
    struct recorder recorder;
    struct kernel_recorder_settings settings;
    struct guest_config config;
    struct guest guest; /* it has ended, without a boot, where it is not recorded */
    struct host_agent agent;
    uint64_t stop_by; /* of this machine's; 0: it is not stopped */
    bool is_hurried;
    struct recorder *machine; /* of a guest that is led; NULL: it has not joined */
    void (*read_machine)(struct recorder *machine);
    bool was_away, was_silent; /* as the machine was last woken for */
    bool has_machine_ended;
};

static struct kernel_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct kernel_recorder, recorder);
}

static const struct kernel_recorder *const_self_of(const struct recorder *recorder)
{
    return const_container_of(recorder, struct kernel_recorder, recorder);
}

/* Whether the guest was started. */
static bool is_open(const struct kernel_recorder *self)
{
    return self->guest.n_boots > 0;
}

static void read_stderr(struct kernel_recorder *self)
{
    const struct guest *guest = kernel_recorder_guest(&self->recorder);
    char line[256];

    while (self->agent.log_fd >= 0 && host_agent_read_line(&self->agent, line, sizeof line) > 0) {
        /* Why it refused, which it sent as well. */
        if (guest && guest->error == -EREMOTEIO && strstr(guest->what, line))
            continue;
        recorder_report(&self->recorder, "the host's kernel: %s", line);
        recorder_problem(&self->recorder, "the host's kernel: %s", line);
    }
}

/* This machine's kernel cannot be traced. WHY is used if its agent printed nothing. */
static int fail(struct kernel_recorder *self, struct error *why, struct error *error)
{
    host_agent_explain(&self->agent, why);
    /* The agent runs, and refuses what it was asked for, such as a misspelt event. */
    if (why->code == -EREMOTEIO)
        self->recorder.is_optional = false;
    return error_set(error, why->code, NULL, "the host's kernel cannot be recorded: %s", why->what);
}

static void report(void *userdata, const char *guest, const char *what)
{
    recorder_report(userdata, "%s: %s", guest, what);
}

static uint64_t max_size(const struct kernel_recorder *self)
{
    uint64_t given = recording_settings(self->recorder.recording)->max_size;

    return given || self->settings.agent || self->settings.is_led ||
                   recording_dir(self->recorder.recording) < 0
               ? given
               : GUEST_MAX_SIZE_DEFAULT;
}

static int start(struct recorder *recorder, struct error *error)
{
    struct kernel_recorder *self = self_of(recorder);
    struct recording *recording = recorder->recording;
    struct error why = {0};
    int r;

    if (self->settings.is_led && !self->machine)
        return 0;
    self->config = self->settings.config;
    if (self->settings.agent) {
        self->config.name = "host";
        self->config.is_host = true;
        self->config.pid_filter = self->settings.pid_filter != 0;
        self->config.endpoint =
            (struct guest_endpoint){.kind = ENDPOINT_FD, .text = recorder->name};
        if (host_agent_start(self->settings.agent, self->settings.pid_filter, &self->agent,
                             &self->config.endpoint.fd, &why) < 0)
            return fail(self, &why, error);
        self->config.agent = self->agent.pid;
        (void)registry_put_agent(recording_registry_entry(recording), self->agent.pid);
    }
    r = guest_open(recording_dir(recording), max_size(self), &self->config, &self->guest, error);
    /* Messages of this machine's agent come by its standard error instead. */
    if (r >= 0 && !self->settings.agent) {
        self->guest.report = self->settings.is_led ? NULL : report;
        self->guest.hint = report;
        self->guest.userdata = recorder;
        self->guest.read_machine = self->read_machine;
        self->guest.machine = self->machine;
    }
    return r;
}

/* The agent of a guest may be started at any time later. */
static bool is_ready(const struct recorder *recorder)
{
    const struct kernel_recorder *self = const_self_of(recorder);

    return !self->settings.agent || self->guest.was_running || self->guest.ended;
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct kernel_recorder *self = self_of(recorder);

    if (!is_open(self)) {
        recorder_wait_until(wait, 0);
        return;
    }
    guest_poll(&self->guest, wait, clock_ns(CLOCK_MONOTONIC));
    /* Until it is ready, what it prints is kept for fail(). */
    recorder_wait_fd(wait, is_ready(recorder) ? self->agent.log_fd : -1, POLLIN);
}

static void note_change(struct kernel_recorder *self)
{
    if (self->guest.written)
        return;
    self->guest.written = true;
    recorder_changed(&self->recorder);
}

/* The machine may have waited for it. */
static void wake_machine(struct kernel_recorder *self)
{
    bool is_away = kernel_recorder_is_away(&self->recorder);
    bool is_silent = kernel_recorder_is_silent(&self->recorder);

    if (self->machine && ((is_away && !self->was_away) || (is_silent && !self->was_silent) ||
                          kernel_recorder_has_ended(&self->recorder)))
        recorder_wake(self->machine);
    self->was_away = is_away;
    self->was_silent = is_silent;
}

/* Reports at once why a guest has ended that others are recorded beside, such as that its agent refuses an event. This machine's
 * agent prints that itself. */
static void report_end(struct kernel_recorder *self, const struct guest *guest)
{
    struct recorder *recorder = &self->recorder;

    if (!guest->ended || guest->error == 0 || self->settings.agent || self->has_machine_ended ||
        recorder->is_end_reported || recorder->urgency > 0 || !recorder_others_go_on(recorder))
        return;
    recorder->is_end_reported = true;
    recorder_report(recorder, "%s: %s", guest->config.name, guest->what);
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct kernel_recorder *self = self_of(recorder);
    const struct guest *guest = kernel_recorder_guest(recorder);
    int r;

    if (!guest)
        return 0;
    /* The machine's recorder may have ended it after the poll, or joined it. */
    r = n == 0 || guest->ended ? !guest->ended : guest_serve(&self->guest, fds, now);
    wake_machine(self);
    if (self->settings.agent && !guest->was_running && guest->ended && guest->error < 0) {
        struct error why = {.code = guest->error};

        snprintf(why.what, sizeof why.what, "%.*s", (int)sizeof why.what - 1, guest->what);
        return fail(self, &why, error);
    }
    if (guest->was_running)
        read_stderr(self);
    report_end(self, guest);
    note_change(self);
    return self->is_hurried ? 0 : r;
}

static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    struct kernel_recorder *self = self_of(recorder);

    if (self->settings.is_led) /* the machine's recorder is asked, too */
        return UINT64_MAX;
    guest_stop(&self->guest);
    if (!self->settings.agent) {
        self->is_hurried = stop->urgency >= RECORDER_STOP_NOW;
        return UINT64_MAX;
    }
    /* Its agent may need long to set up the tracing, of which nothing is kept. */
    if (!self->guest.was_traced) {
        self->is_hurried = true;
        return now;
    }
    /* This machine's kernel may need long to disable what the agent had enabled. */
    if (self->stop_by == 0)
        self->stop_by = now + HOST_STOP_TIMEOUT_NS;
    return stop->urgency == RECORDER_KILL ? now : self->stop_by;
}

static void flush(struct recorder *recorder, uint64_t now)
{
    (void)now;
    guest_flush(&self_of(recorder)->guest);
}

static bool is_flushed(const struct recorder *recorder)
{
    return guest_is_flushed(&const_self_of(recorder)->guest);
}

static const char *missing_reason(const struct recorder *recorder)
{
    return guest_is_paused(&const_self_of(recorder)->guest)
               ? "the latest events may be missing: its machine is paused, and its agent cannot "
                 "send them"
               : NULL;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct kernel_recorder *self = self_of(recorder);

    (void)error;
    guest_end_early(&self->guest);
    if (self->settings.agent && !self->guest.was_traced)
        host_agent_cancel(&self->agent);
    wake_machine(self);
    read_stderr(self);
    if (self->settings.is_optional && guest_is_silent(&self->guest))
        guest_store_remove(&self->guest.store);
    return 0;
}

static int sources(const struct recorder *recorder, struct arena *arena,
                   struct recorder_sources *ret)
{
    const struct kernel_recorder *self = const_self_of(recorder);
    bool complete = recorder->state == RECORDER_FINISHED;
    bool has_all_ended = complete && !recorder_has_ended_early(recorder);
    /* While this machine's agent starts, nothing else may be recorded yet. */
    enum guest_silent silent = !self->settings.is_optional ? GUEST_SILENT_AS_OTHERS
                               : self->settings.agent || has_all_ended
                                   ? GUEST_SILENT_LEFT_OUT
                                   : GUEST_SILENT_WITHOUT_EVENTS;

    return is_open(self)
               ? guest_put_sources(&self->guest, complete, silent, arena, &ret->items, &ret->n)
               : 0;
}

static void stats(const struct recorder *recorder, struct recorder_stats *ret)
{
    const struct guest *guest = kernel_recorder_guest(recorder);

    *ret = (struct recorder_stats){0};
    if (guest)
        *ret = (struct recorder_stats){guest->progress.bytes, guest->progress.events,
                                       guest_lost(guest)};
}

static void discard(struct recorder *recorder)
{
    struct kernel_recorder *self = self_of(recorder);

    if (is_open(self))
        guest_store_discard(&self->guest.store);
}

static void free_recorder(struct recorder *recorder)
{
    struct kernel_recorder *self = self_of(recorder);

    if (is_open(self))
        guest_close(&self->guest);
    host_agent_done(&self->agent);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .is_ready = is_ready,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .flush = flush,
    .is_flushed = is_flushed,
    .missing_reason = missing_reason,
    .finish = finish,
    .sources = sources,
    .stats = stats,
    .discard = discard,
    .free = free_recorder,
};

int kernel_recorder_new(const struct kernel_recorder_settings *settings, struct recorder **ret)
{
    struct kernel_recorder *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->recorder.ops = &ops;
    self->recorder.name = settings->agent ? "the host's kernel" : settings->config.name;
    self->recorder.is_primary = settings->is_primary;
    self->settings = *settings;
    self->agent.log_fd = -1;
    self->guest.ended = true;
    *ret = &self->recorder;
    return 0;
}

const struct guest *kernel_recorder_guest(const struct recorder *recorder)
{
    const struct kernel_recorder *self = const_self_of(recorder);

    return is_open(self) ? &self->guest : NULL;
}

int kernel_recorder_join(struct recorder *recorder, struct recorder *machine,
                         void (*read_machine)(struct recorder *machine), const char *port,
                         struct error *error)
{
    struct kernel_recorder *self = self_of(recorder);
    struct guest_endpoint *endpoint = &self->settings.config.endpoint;
    int r = guest_endpoint_parse(ENDPOINT_PORT, port, endpoint, error);

    if (r < 0)
        return r;
    endpoint->text = port;
    self->machine = machine;
    self->read_machine = read_machine;
    self->was_away = true; /* until it is connected */
    return recording_start(recorder, error);
}

void kernel_recorder_machine_stopped(struct recorder *recorder, uint64_t ns)
{
    guest_machine_stopped(&self_of(recorder)->guest, ns);
}

void kernel_recorder_machine_resumed(struct recorder *recorder, uint64_t ns)
{
    guest_machine_resumed(&self_of(recorder)->guest, ns);
}

void kernel_recorder_machine_came(struct recorder *recorder, uint64_t ns)
{
    struct kernel_recorder *self = self_of(recorder);

    if (is_open(self))
        guest_machine_came(&self->guest, ns);
}

void kernel_recorder_machine_left(struct recorder *recorder, uint64_t ns)
{
    struct kernel_recorder *self = self_of(recorder);

    if (is_open(self))
        guest_machine_left(&self->guest, ns);
}

void kernel_recorder_agent_closed(struct recorder *recorder)
{
    guest_agent_closed(&self_of(recorder)->guest);
}

void kernel_recorder_stop(struct recorder *recorder)
{
    guest_stop(&self_of(recorder)->guest);
}

void kernel_recorder_end(struct recorder *recorder, const char *traced, const char *silent)
{
    struct kernel_recorder *self = self_of(recorder);

    self->has_machine_ended = true;
    guest_end_because(&self->guest, traced, silent);
    recorder_wake(recorder);
}

bool kernel_recorder_is_away(const struct recorder *recorder)
{
    return !guest_is_connected(&const_self_of(recorder)->guest);
}

bool kernel_recorder_is_silent(const struct recorder *recorder)
{
    const struct guest *guest = kernel_recorder_guest(recorder);

    return guest && guest->was_running && !guest->closed_at && guest->progress.is_silent;
}

bool kernel_recorder_has_ended(const struct recorder *recorder)
{
    return const_self_of(recorder)->guest.ended;
}
