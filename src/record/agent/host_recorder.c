/* SPDX-License-Identifier: MIT */
#include "record/agent/host_recorder.h"

#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/agent/guests_manifest.h"
#include "record/agent/host_agent.h"
#include "record/recording.h"

/* So long it has for what is left, when it is stopped. */
#define STOP_TIMEOUT_NS UINT64_C(10000000000)

struct host_recorder {
    struct recorder recorder;
    struct host_recorder_settings settings;
    struct guest_config config;
    struct guests guests; /* n 0: it is not recorded */
    struct host_agent agent;
    uint64_t stop_by; /* 0: it is not stopped */
};

static struct host_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct host_recorder, recorder);
}

static const struct host_recorder *const_self_of(const struct recorder *recorder)
{
    return const_container_of(recorder, struct host_recorder, recorder);
}

static void read_stderr(struct host_recorder *self)
{
    char line[256];

    while (self->agent.said >= 0 && host_agent_hear(&self->agent, line, sizeof line) > 0) {
        recorder_report(&self->recorder, "the host's kernel: %s", line);
        recorder_problem(&self->recorder, "the host's kernel: %s", line);
    }
}

/* It cannot be traced; WHY, where its agent has not said it better. */
static int fail(struct host_recorder *self, struct error *why, struct error *error)
{
    host_agent_explain(&self->agent, why);
    return error_set(error, why->code, NULL, "the host's kernel cannot be recorded: %s", why->what);
}

static int start(struct recorder *recorder, struct error *error)
{
    struct host_recorder *self = self_of(recorder);
    struct recording *recording = recorder->recording;
    struct error why = {0};

    self->config = (struct guest_config){
        .name = "host",
        .is_host = true,
        .wishes = self->settings.config,
        .place = {.kind = ENDPOINT_FD, .text = "the host's kernel"},
    };
    if (host_agent_start(self->settings.agent, self->settings.pid_filter, &self->agent,
                         &self->config.place.fd, &why) < 0)
        return fail(self, &why, error);
    return guests_join(recording_dir(recording), recording_path(recording), self->settings.config,
                       recording_settings(recording)->max_size, &self->config, 1, &self->guests,
                       error);
}

static bool is_ready(const struct recorder *recorder)
{
    const struct host_recorder *self = const_self_of(recorder);

    return self->guests.n == 0 || self->guests.guests[0].was_running ||
           self->guests.guests[0].ended;
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct host_recorder *self = self_of(recorder);
    struct pollfd fds[4];
    uint64_t until;
    unsigned n = guests_poll(&self->guests, fds, clock_ns(CLOCK_MONOTONIC), &until);

    for (unsigned i = 0; i < n; i++)
        recorder_wait_fd(wait, fds[i].fd, fds[i].events);
    /* What it says before explains why it is not ready. */
    recorder_wait_fd(wait, is_ready(recorder) ? self->agent.said : -1, POLLIN);
    recorder_wait_until(wait, until);
}

static void note_change(struct host_recorder *self)
{
    if (self->guests.written)
        return;
    self->guests.written = true;
    recorder_changed(&self->recorder);
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct host_recorder *self = self_of(recorder);
    const struct guest *guest = &self->guests.guests[0];
    int r = guests_serve(&self->guests, fds, now);

    (void)n;
    if (!guest->was_running && guest->ended && guest->error < 0) {
        struct error why = {.code = guest->error};

        snprintf(why.what, sizeof why.what, "%.*s", (int)sizeof why.what - 1, guest->what);
        return fail(self, &why, error);
    }
    if (guest->was_running)
        read_stderr(self);
    note_change(self);
    return r;
}

/* Its kernel may take long to remove what it had switched on. */
static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    struct host_recorder *self = self_of(recorder);

    guests_stop(&self->guests);
    if (self->stop_by == 0)
        self->stop_by = now + STOP_TIMEOUT_NS;
    return stop->urgency == RECORDER_KILL ? now : self->stop_by;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct host_recorder *self = self_of(recorder);

    (void)error;
    guests_end(&self->guests);
    read_stderr(self);
    guests_remove_silent(&self->guests);
    return 0;
}

static int sources(const struct recorder *recorder, struct arena *arena,
                   struct recorder_sources *ret)
{
    const struct host_recorder *self = const_self_of(recorder);

    return guests_put_sources(&self->guests, recorder->state == RECORDER_FINISHED, arena,
                              &ret->items, &ret->n);
}

static void stats(const struct recorder *recorder, struct recorder_stats *ret)
{
    const struct guest *guest = host_recorder_guest(recorder);

    *ret = (struct recorder_stats){0};
    if (guest)
        *ret = (struct recorder_stats){guest->progress.bytes, guest->progress.events,
                                       guest->progress.lost};
}

static void discard(struct recorder *recorder)
{
    struct host_recorder *self = self_of(recorder);

    for (unsigned i = 0; i < self->guests.n; i++)
        guest_store_remove(&self->guests.guests[i].store);
}

static void free_recorder(struct recorder *recorder)
{
    struct host_recorder *self = self_of(recorder);

    if (self->guests.n > 0)
        (void)guests_close(&self->guests, NULL);
    host_agent_done(&self->agent);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .is_ready = is_ready,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .finish = finish,
    .sources = sources,
    .stats = stats,
    .discard = discard,
    .free = free_recorder,
};

int host_recorder_new(const struct host_recorder_settings *settings, struct recorder **ret)
{
    struct host_recorder *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->recorder.ops = &ops;
    self->recorder.name = "the host's kernel";
    self->settings = *settings;
    self->agent.said = -1;
    *ret = &self->recorder;
    return 0;
}

const struct guest *host_recorder_guest(const struct recorder *recorder)
{
    const struct host_recorder *self = const_self_of(recorder);

    return self->guests.n > 0 ? &self->guests.guests[0] : NULL;
}
