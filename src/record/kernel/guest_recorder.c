/* SPDX-License-Identifier: MIT */
#include "record/kernel/guest_recorder.h"

#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/kernel/guest_boot.h"
#include "record/kernel/guests_manifest.h"
#include "record/kernel/host_agent.h"
#include "record/recording.h"

/* For this machine's agent to send the rest after it was stopped. Guests have limits of their own (record/kernel/agent_connection.c). */
#define HOST_STOP_TIMEOUT_NS (10 * NSEC_PER_SEC)

struct guest_recorder {
    struct recorder recorder;
    struct guest_recorder_settings settings;
    struct guest_config config;
    struct guests guests; /* n 0: it is not recorded */
    struct host_agent agent;
    uint64_t stop_by; /* of this machine's; 0: it is not stopped */
    bool is_hurried;
    struct recorder *machine;  /* of a guest that is led; NULL: it has not joined */
    bool was_away, was_silent; /* as the machine was last woken for */
    bool has_machine_ended;
    struct pollfd *fds; /* room for what poll() asks for */
    unsigned n_fds;
};

static struct guest_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct guest_recorder, recorder);
}

static const struct guest_recorder *const_self_of(const struct recorder *recorder)
{
    return const_container_of(recorder, struct guest_recorder, recorder);
}

static void read_stderr(struct guest_recorder *self)
{
    const struct guest *guest = guest_recorder_guest(&self->recorder);
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
static int fail(struct guest_recorder *self, struct error *why, struct error *error)
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

static uint64_t max_size(const struct guest_recorder *self)
{
    uint64_t given = recording_settings(self->recorder.recording)->max_size;

    return given || self->settings.agent || self->settings.is_led ||
                   recording_dir(self->recorder.recording) < 0
               ? given
               : GUEST_MAX_SIZE_DEFAULT;
}

static int start(struct recorder *recorder, struct error *error)
{
    struct guest_recorder *self = self_of(recorder);
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
    r = guests_join(recording_dir(recording), max_size(self), &self->config, 1, &self->guests,
                    error);
    /* Messages of this machine's agent come by its standard error instead. */
    if (r >= 0 && !self->settings.agent) {
        self->guests.report = self->settings.is_led ? NULL : report;
        self->guests.hint = report;
        self->guests.userdata = recorder;
    }
    return r;
}

/* The agent of a guest may be started at any time later. */
static bool is_ready(const struct recorder *recorder)
{
    const struct guest_recorder *self = const_self_of(recorder);

    return !self->settings.agent || self->guests.n == 0 || self->guests.guests[0].was_running ||
           self->guests.guests[0].ended;
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct guest_recorder *self = self_of(recorder);
    unsigned n = guests_poll_size(&self->guests);
    uint64_t until;

    if (self->guests.n == 0) {
        recorder_wait_until(wait, 0);
        return;
    }
    if (n > self->n_fds) {
        struct pollfd *bigger = realloc(self->fds, n * sizeof *bigger);

        if (!bigger) {
            wait->failed = true;
            return;
        }
        self->fds = bigger;
        self->n_fds = n;
    }
    n = guests_poll(&self->guests, self->fds, clock_ns(CLOCK_MONOTONIC), &until);
    for (unsigned i = 0; i < n; i++)
        recorder_wait_fd(wait, self->fds[i].fd, self->fds[i].events);
    /* Until it is ready, what it prints is kept for fail(). */
    recorder_wait_fd(wait, is_ready(recorder) ? self->agent.log_fd : -1, POLLIN);
    recorder_wait_until(wait, until);
}

static void note_change(struct guest_recorder *self)
{
    if (self->guests.written)
        return;
    self->guests.written = true;
    recorder_changed(&self->recorder);
}

/* The machine may have waited for it. */
static void wake_machine(struct guest_recorder *self)
{
    bool is_away = guest_recorder_is_away(&self->recorder);
    bool is_silent = guest_recorder_is_silent(&self->recorder);

    if (self->machine && ((is_away && !self->was_away) || (is_silent && !self->was_silent) ||
                          guest_recorder_has_ended(&self->recorder)))
        recorder_wake(self->machine);
    self->was_away = is_away;
    self->was_silent = is_silent;
}

/* Reports at once why a guest has ended that others are recorded beside, such as that its agent refuses an event. This machine's
 * agent prints that itself. */
static void report_end(struct guest_recorder *self, const struct guest *guest)
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
    struct guest_recorder *self = self_of(recorder);
    const struct guest *guest = guest_recorder_guest(recorder);
    int r;

    if (!guest)
        return 0;
    /* The machine's recorder may have ended it after the poll, or joined it. */
    r = n == 0 || guest->ended ? !guest->ended : guests_serve(&self->guests, fds, now);
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
    struct guest_recorder *self = self_of(recorder);

    if (self->settings.is_led) /* the machine's recorder is asked, too */
        return UINT64_MAX;
    guests_stop(&self->guests);
    if (!self->settings.agent) {
        self->is_hurried = stop->urgency >= RECORDER_STOP_NOW;
        return UINT64_MAX;
    }
    /* This machine's kernel may need long to disable what the agent had enabled. */
    if (self->stop_by == 0)
        self->stop_by = now + HOST_STOP_TIMEOUT_NS;
    return stop->urgency == RECORDER_KILL ? now : self->stop_by;
}

static void flush(struct recorder *recorder, uint64_t now)
{
    (void)now;
    guests_flush(&self_of(recorder)->guests);
}

static bool is_flushed(const struct recorder *recorder)
{
    return guests_are_flushed(&const_self_of(recorder)->guests);
}

static const char *missing_reason(const struct recorder *recorder)
{
    return guests_are_paused(&const_self_of(recorder)->guests)
               ? "the latest events may be missing: its machine is paused, and its agent cannot "
                 "send them"
               : NULL;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct guest_recorder *self = self_of(recorder);

    (void)error;
    guests_end(&self->guests);
    wake_machine(self);
    read_stderr(self);
    if (self->settings.is_optional)
        guests_remove_silent(&self->guests);
    return 0;
}

static int sources(const struct recorder *recorder, struct arena *arena,
                   struct recorder_sources *ret)
{
    const struct guest_recorder *self = const_self_of(recorder);
    bool complete = recorder->state == RECORDER_FINISHED;
    bool has_all_ended = complete && !recorder_has_ended_early(recorder);
    /* While this machine's agent starts, nothing else may be recorded yet. */
    enum guests_silent silent = !self->settings.is_optional ? GUESTS_SILENT_AS_OTHERS
                                : self->settings.agent || has_all_ended
                                    ? GUESTS_SILENT_LEFT_OUT
                                    : GUESTS_SILENT_WITHOUT_EVENTS;

    return guests_put_sources(&self->guests, complete, silent, arena, &ret->items, &ret->n);
}

static void stats(const struct recorder *recorder, struct recorder_stats *ret)
{
    const struct guest *guest = guest_recorder_guest(recorder);

    *ret = (struct recorder_stats){0};
    if (guest)
        *ret = (struct recorder_stats){guest->progress.bytes, guest->progress.events,
                                       guest_lost(guest)};
}

static void discard(struct recorder *recorder)
{
    struct guest_recorder *self = self_of(recorder);

    for (unsigned i = 0; i < self->guests.n; i++)
        guest_store_discard(&self->guests.guests[i].store);
}

static void free_recorder(struct recorder *recorder)
{
    struct guest_recorder *self = self_of(recorder);

    if (self->guests.n > 0)
        guests_close(&self->guests);
    host_agent_done(&self->agent);
    free(self->fds);
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

int guest_recorder_new(const struct guest_recorder_settings *settings, struct recorder **ret)
{
    struct guest_recorder *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->recorder.ops = &ops;
    self->recorder.name = settings->agent ? "the host's kernel" : settings->config.name;
    self->recorder.is_primary = settings->is_primary;
    self->settings = *settings;
    self->agent.log_fd = -1;
    *ret = &self->recorder;
    return 0;
}

const struct guest *guest_recorder_guest(const struct recorder *recorder)
{
    const struct guest_recorder *self = const_self_of(recorder);

    return self->guests.n > 0 ? &self->guests.guests[0] : NULL;
}

int guest_recorder_join(struct recorder *recorder, struct recorder *machine, const char *port,
                        struct error *error)
{
    struct guest_recorder *self = self_of(recorder);
    struct guest_endpoint *endpoint = &self->settings.config.endpoint;
    int r = guest_endpoint_parse(ENDPOINT_PORT, port, endpoint, error);

    if (r < 0)
        return r;
    endpoint->text = port;
    self->machine = machine;
    self->was_away = true; /* until it is connected */
    return recording_start(recorder, error);
}

void guest_recorder_machine_stopped(struct recorder *recorder, uint64_t ns)
{
    guests_machine_stopped(&self_of(recorder)->guests, ns);
}

void guest_recorder_machine_resumed(struct recorder *recorder, uint64_t ns)
{
    guests_machine_resumed(&self_of(recorder)->guests, ns);
}

void guest_recorder_machine_came(struct recorder *recorder, uint64_t ns)
{
    guests_machine_came(&self_of(recorder)->guests, ns);
}

void guest_recorder_machine_left(struct recorder *recorder, uint64_t ns)
{
    guests_machine_left(&self_of(recorder)->guests, ns);
}

void guest_recorder_agent_closed(struct recorder *recorder)
{
    guests_agent_closed(&self_of(recorder)->guests);
}

void guest_recorder_stop(struct recorder *recorder)
{
    guests_stop(&self_of(recorder)->guests);
}

void guest_recorder_end(struct recorder *recorder, const char *traced, const char *silent)
{
    struct guest_recorder *self = self_of(recorder);

    self->has_machine_ended = true;
    guests_end_because(&self->guests, traced, silent);
    recorder_wake(recorder);
}

bool guest_recorder_is_away(const struct recorder *recorder)
{
    return !guests_are_connected(&const_self_of(recorder)->guests);
}

bool guest_recorder_is_silent(const struct recorder *recorder)
{
    const struct guest *guest = guest_recorder_guest(recorder);

    return guest && guest->was_running && !guest->closed_at && guest->progress.is_silent;
}

bool guest_recorder_has_ended(const struct recorder *recorder)
{
    const struct guest *guest = guest_recorder_guest(recorder);

    return !guest || guest->ended;
}
