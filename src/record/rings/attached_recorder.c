/* SPDX-License-Identifier: MIT */
#include "record/rings/attached_recorder.h"

#include <string.h>

#include "base/macro.h"
#include "record/recording.h"
#include "record/rings/collect.h"

struct attached_recorder {
    struct recorder recorder;
    struct attached_recorder_settings settings;
    struct process *process;
    struct collector collector;
    struct attached_program program;
    char *trace;
    uint64_t step_at;
    bool is_stopping, has_ended, has_failed;
};

static struct attached_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct attached_recorder, recorder);
}

static int start(struct recorder *recorder, struct error *error)
{
    struct attached_recorder *self = self_of(recorder);
    int r = process_open(self->settings.rings, true, &self->process, error);

    if (r >= 0)
        r = collector_init(&self->collector, self->process, self->settings.output, false, error);
    if (r < 0)
        return r;
    self->collector.native->max_size = recording_settings(recorder->recording)->max_size;
    self->program.pid = self->process->pid;
    memcpy(self->program.program, self->process->program, sizeof self->program.program);
    self->program.trace = self->trace = strdup(self->collector.native->path);
    return self->trace ? 0 : error_set(error, -ENOMEM, NULL, "out of memory");
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct attached_recorder *self = self_of(recorder);

    recorder_wait_fd(wait, self->collector.pidfd, POLLIN);
    recorder_wait_until(wait, self->step_at);
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct attached_recorder *self = self_of(recorder);
    uint64_t sleep = 0;
    int r;

    (void)fds;
    (void)n;
    if (self->is_stopping)
        return 0;
    r = collector_step(&self->collector, &sleep, error);
    self->has_ended = r == 0;
    self->has_failed = r < 0;
    self->step_at = now + sleep;
    return r;
}

static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    (void)stop;
    (void)now;
    self_of(recorder)->is_stopping = true;
    return UINT64_MAX;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct attached_recorder *self = self_of(recorder);
    const struct drain_stats *stats = &self->program.stats;
    int r = 0;

    if (!self->has_ended && !self->has_failed)
        r = collector_finish(&self->collector, error);
    self->program.stats = ring_drain_taken(self->collector.taker, NULL);
    if (self->has_ended && !self->settings.keep_rings && !stats->undecoded && !stats->damaged)
        r = process_remove(self->process, error);
    collector_done(&self->collector);
    return r;
}

static void stats(const struct recorder *recorder, struct recorder_stats *ret)
{
    const struct drain_stats *stats = &attached_recorder_program(recorder)->stats;

    *ret = (struct recorder_stats){
        .events = stats->events,
        .lost = drain_stats_lost(stats),
    };
}

static void free_recorder(struct recorder *recorder)
{
    struct attached_recorder *self = self_of(recorder);

    collector_done(&self->collector);
    if (self->process)
        process_free(self->process);
    free(self->trace);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .finish = finish,
    .stats = stats,
    .free = free_recorder,
};

int attached_recorder_new(const struct attached_recorder_settings *settings, struct recorder **ret)
{
    struct attached_recorder *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->recorder.ops = &ops;
    self->recorder.name = settings->rings;
    self->recorder.leads = true;
    self->settings = *settings;
    self->collector.pidfd = -1;
    *ret = &self->recorder;
    return 0;
}

const struct attached_program *attached_recorder_program(const struct recorder *recorder)
{
    return &const_container_of(recorder, struct attached_recorder, recorder)->program;
}
