/* SPDX-License-Identifier: MIT */
#include "record/rings/attached_recorder.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "record/recording.h"
#include "record/rings/programs.h"
#include "tracedir/host.h"

struct attached_recorder {
    struct recorder recorder;
    struct attached_recorder_settings settings;
    struct process *process;
    struct collector collector;
    struct attached_program program;
    struct program source; /* as the manifest has it */
    struct clock_samples samples;
    char *trace;
    uint64_t step_at;
    bool is_stopping, has_ended, has_failed;
};

static struct attached_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct attached_recorder, recorder);
}

/* What the manifest says of the program, as it is now. */
static void note_source(struct attached_recorder *self)
{
    program_note_clock(&self->source, self->collector.native);
    recorder_changed(&self->recorder);
}

/* The path of the native trace, into *RET where it is allocated. NULL: out of memory. */
static const char *choose_path(const struct attached_recorder *self, char **ret)
{
    const char *dir = recording_path(self->recorder.recording);

    if (!dir)
        return self->settings.output;
    if (asprintf(ret, "%s/%s", dir, self->source.name) < 0)
        *ret = NULL;
    return *ret;
}

static int start(struct recorder *recorder, struct error *error)
{
    struct attached_recorder *self = self_of(recorder);
    _cleanup_free_ char *allocated = NULL;
    const char *path = choose_path(self, &allocated);
    int r = path && clock_samples_init(&self->samples) >= 0 ? 0 : -ENOMEM;

    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    r = process_open(self->settings.rings, true, &self->process, error);
    if (r >= 0)
        r = collector_init(&self->collector, self->process, path, false, error);
    if (r < 0)
        return r;
    self->collector.native->max_size = recording_settings(recorder->recording)->max_size;
    self->program.pid = self->process->pid;
    memcpy(self->program.program, self->process->program, sizeof self->program.program);
    self->program.trace = self->trace = strdup(self->collector.native->path);
    self->source.pid = self->program.pid;
    memcpy(self->source.program, self->program.program, sizeof self->source.program);
    self->source.began = host_moment();
    clock_samples_take(&self->samples, 0);
    note_source(self);
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
    clock_samples_take(&self->samples, now);
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

static void flush(struct recorder *recorder, uint64_t now)
{
    struct attached_recorder *self = self_of(recorder);

    (void)now;
    if (!self->has_ended && !self->has_failed)
        collector_flush(&self->collector);
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct attached_recorder *self = self_of(recorder);
    const struct drain_stats *stats = &self->program.stats;
    int r = 0;

    if (!self->has_ended && !self->has_failed)
        r = collector_finish(&self->collector, error);
    self->program.stats = self->source.taken = ring_drain_taken(self->collector.taker, NULL);
    clock_samples_take(&self->samples, UINT64_MAX);
    self->source.ended = true;
    self->source.finished = host_moment();
    note_source(self);
    if (self->has_ended && !self->settings.keep_rings && !stats->undecoded && !stats->damaged)
        r = process_remove(self->process, error);
    collector_done(&self->collector);
    return r;
}

static int sources(const struct recorder *recorder, struct arena *arena,
                   struct recorder_sources *ret)
{
    const struct attached_recorder *self =
        const_container_of(recorder, struct attached_recorder, recorder);
    struct program *source = arena_alloc(arena, sizeof *source);
    const struct programs programs = {.items = &source, .n = 1, .samples = self->samples};
    bool is_whole = recorder->state == RECORDER_FINISHED && recorder->error.code == 0;

    if (!source)
        return -ENOMEM;
    *source = self->source;
    if (self->collector.taker)
        source->taken = ring_drain_taken(self->collector.taker, NULL);
    return programs_put_sources(&programs, is_whole, arena, &ret->items, &ret->n);
}

static void stats(const struct recorder *recorder, struct recorder_stats *ret)
{
    const struct attached_recorder *self =
        const_container_of(recorder, struct attached_recorder, recorder);
    struct drain_stats stats =
        self->collector.taker ? ring_drain_taken(self->collector.taker, NULL) : self->program.stats;

    *ret = (struct recorder_stats){
        .events = stats.events,
        .lost = drain_stats_lost(&stats),
    };
}

static void free_recorder(struct recorder *recorder)
{
    struct attached_recorder *self = self_of(recorder);

    collector_done(&self->collector);
    if (self->process)
        process_free(self->process);
    free(self->samples.items);
    free(self->trace);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .flush = flush,
    .finish = finish,
    .sources = sources,
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
    self->recorder.is_primary = true;
    self->settings = *settings;
    self->collector.pidfd = -1;
    snprintf(self->source.name, sizeof self->source.name, "program");
    *ret = &self->recorder;
    return 0;
}

const struct attached_program *attached_recorder_program(const struct recorder *recorder)
{
    return &const_container_of(recorder, struct attached_recorder, recorder)->program;
}
