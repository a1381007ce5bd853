/* SPDX-License-Identifier: MIT */
#include "record/rings/program_recorder.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "base/saturate.h"
#include "record/recording.h"

/* Between SIGTERM and SIGKILL, and between SIGKILL and giving up. */
#define TERM_TIMEOUT_NS (5 * NSEC_PER_SEC)
/* Nothing wakes us when a process ends that the program has left. */
#define ORPHANS_INTERVAL_NS (NSEC_PER_SEC / 10)
/* … and when the program does, on a kernel without pidfds. */
#define CHILD_INTERVAL_NS (NSEC_PER_SEC / 100)

struct program_recorder {
    struct recorder recorder;
    struct program_recorder_settings settings;
    struct programs programs; /* dir NULL: they are not open */
    struct child child;
    struct children others; /* that are not the program's */
    char *variable;         /* STRATA_TRACE=… */
    int child_error;        /* why it could not be started; 0 */
    uint64_t step_at;
    bool is_termed;        /* it got SIGTERM */
    bool is_hurried;       /* what the program has left is waited for no longer */
    bool is_rest_reported; /* that something of it goes on */
    uint64_t ended_at;     /* when the end of the program itself was seen; 0: it was not */
    char exit[CHILD_END_SIZE];
};

static struct program_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct program_recorder, recorder);
}

static const struct program_recorder *const_self_of(const struct recorder *recorder)
{
    return const_container_of(recorder, struct program_recorder, recorder);
}

/* ---- The start ---- */

static int start_child(struct program_recorder *self, struct error *error)
{
    const struct program_recorder_settings *settings = &self->settings;
    const struct stop_signals *signals = recording_settings(self->recorder.recording)->signals;
    _cleanup_free_ char *value = programs_environment(&self->programs, settings->trace,
                                                      settings->patterns, settings->n_patterns);
    struct child_how how = {.argv = settings->command,
                            .in = -1,
                            .out = -1,
                            .err = -1,
                            .mask = signals ? &signals->before : NULL};
    int r;

    if (!value || asprintf(&self->variable, "STRATA_TRACE=%s", value) < 0) {
        self->variable = NULL;
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    how.variable = self->variable;
    r = children_list(&self->others, error);
    if (r < 0)
        return r;
    child_adopt_orphans();
    return child_start(&how, &self->child, error);
}

static int start(struct recorder *recorder, struct error *error)
{
    struct program_recorder *self = self_of(recorder);
    int r = programs_open(recording_path(recorder->recording), &self->programs, error);

    if (r < 0)
        return r;
    self->programs.main_command = self->settings.command;
    self->programs.filters = self->settings.filters;
    self->programs.n_filters = self->settings.n_filters;
    self->programs.may_sleep = true;
    self->programs.recording = recorder->recording;
    self->programs.max_size = recording_settings(recorder->recording)->max_size;
    /* The trace of a recorder that is killed from now on opens. */
    r = recording_note(recorder->recording, error);
    if (r >= 0)
        r = self->child_error = start_child(self, error);
    if (r < 0) {
        programs_close(&self->programs);
        return r;
    }
    self->programs.main_pid = (uint32_t)self->child.pid;
    return 0;
}

/* ---- While it runs ---- */

void programs_poll(const struct programs *programs, struct recorder_wait *wait)
{
    recorder_wait_fd(wait, programs->watch, POLLIN);
    recorder_wait_fd(wait, programs_wakeup_fd(programs), POLLIN);
    /* While we sleep for long. */
    for (unsigned i = 0; programs->is_armed && i < programs->n; i++)
        if (!programs->items[i]->ended)
            recorder_wait_fd(wait, programs->items[i]->collector.pidfd, POLLIN);
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct program_recorder *self = self_of(recorder);

    recorder_wait_fd(wait, self->child.ended ? -1 : self->child.end, POLLIN);
    programs_poll(&self->programs, wait);
    recorder_wait_until(wait, self->step_at);
}

static void report_rest(struct program_recorder *self, unsigned n)
{
    if (self->is_rest_reported || n == 0)
        return;
    self->is_rest_reported = true;
    recorder_report(&self->recorder,
                    "the program has ended; %u process%s that it started %s on and %s recorded "
                    "until Ctrl-C",
                    n, n == 1 ? "" : "es", n == 1 ? "goes" : "go", n == 1 ? "is" : "are");
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct program_recorder *self = self_of(recorder);
    /* Asked before the rings are looked at: what was made until then is seen. */
    bool ended = child_has_ended(&self->child);
    unsigned orphans = ended ? children_count_orphans(&self->others, &self->child) : 0;
    unsigned running;
    uint64_t sleep;

    (void)fds;
    (void)n;
    (void)error;
    if (ended && self->ended_at == 0)
        self->ended_at = now;
    (void)programs_step(&self->programs, &sleep);
    if (self->programs.changed)
        recorder_changed(recorder);
    self->programs.changed = false;
    /* One that made its rings just now may not have been seen: they are looked for now and then. */
    if (ended && programs_running(&self->programs) == 0)
        programs_look(&self->programs);
    running = programs_running(&self->programs);
    if (ended && (running + orphans == 0 || self->is_hurried))
        return 0;
    if (ended)
        report_rest(self, MAX(running, orphans));
    if (orphans > 0)
        sleep = MIN(sleep, ORPHANS_INTERVAL_NS);
    if (self->child.end < 0)
        sleep = MIN(sleep, CHILD_INTERVAL_NS);
    self->step_at = now + sleep;
    return 1;
}

static void flush(struct recorder *recorder, uint64_t now)
{
    (void)now;
    programs_flush(&self_of(recorder)->programs);
}

/* ---- The end ---- */

static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    struct program_recorder *self = self_of(recorder);

    if (stop->reason == RECORDER_BY_SIGNAL && stop->urgency == RECORDER_STOP) {
        if (child_has_ended(&self->child))
            self->is_hurried = true;
        else if (stop->is_alone || stop->is_early)
            child_signal(&self->child, stop->signal);
        return UINT64_MAX;
    }
    self->is_hurried = true;
    child_signal(&self->child,
                 self->is_termed || stop->urgency == RECORDER_KILL ? SIGKILL : SIGTERM);
    self->is_termed = true;
    return now + TERM_TIMEOUT_NS;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct program_recorder *self = self_of(recorder);

    (void)error;
    programs_finish(&self->programs);
    self->programs.main_exit = child_end_text(&self->child, self->exit, sizeof self->exit);
    if (self->ended_at > 0)
        recorder_happened(recorder, &(struct recorder_event){.kind = RECORDER_EVENT_END,
                                                             .text = self->programs.main_exit,
                                                             .status = self->child.status,
                                                             .time = self->ended_at});
    return 0;
}

static int sources(const struct recorder *recorder, struct arena *arena,
                   struct recorder_sources *ret)
{
    const struct program_recorder *self = const_self_of(recorder);

    return programs_put_sources(&self->programs, recorder->state == RECORDER_FINISHED, arena,
                                &ret->items, &ret->n);
}

static void stats(const struct recorder *recorder, struct recorder_stats *ret)
{
    const struct programs *programs = program_recorder_programs(recorder);

    *ret = (struct recorder_stats){0};
    for (unsigned i = 0; i < programs->n; i++) {
        struct drain_stats taken = program_taken(programs->items[i]);

        ret->events += taken.events;
        ret->lost = add_saturated(ret->lost, drain_stats_lost(&taken));
    }
}

static void free_recorder(struct recorder *recorder)
{
    struct program_recorder *self = self_of(recorder);

    child_done(&self->child);
    if (self->programs.dir)
        programs_close(&self->programs);
    free(self->variable);
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

int program_recorder_new(const struct program_recorder_settings *settings, struct recorder **ret)
{
    struct program_recorder *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->recorder.ops = &ops;
    self->recorder.name = settings->command[0];
    self->recorder.is_primary = true;
    self->settings = *settings;
    self->child.end = -1;
    *ret = &self->recorder;
    return 0;
}

const struct programs *program_recorder_programs(const struct recorder *recorder)
{
    return &const_self_of(recorder)->programs;
}

const struct child *program_recorder_child(const struct recorder *recorder)
{
    return &const_self_of(recorder)->child;
}

int program_recorder_child_error(const struct recorder *recorder)
{
    return const_self_of(recorder)->child_error;
}
