/* SPDX-License-Identifier: MIT */
#include "record/recorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "record/recorder_internal.h"

/* ---- What it waits for ---- */

void recorder_wait_fd(struct recorder_wait *wait, int fd, short events)
{
    if (wait->n == wait->room) {
        unsigned room = MAX(2 * wait->room, 16u);
        struct pollfd *fds = realloc(wait->fds, room * sizeof *fds);

        if (!fds) {
            wait->failed = true;
            return;
        }
        wait->fds = fds;
        wait->room = room;
    }
    wait->fds[wait->n++] = (struct pollfd){fd, events, 0};
}

void recorder_wait_until(struct recorder_wait *wait, uint64_t ns)
{
    wait->until = MIN(wait->until, ns);
}

/* ---- Messages ---- */

_printf_(2, 0) static void put_problem(struct recorder *recorder, const char *format, va_list args)
{
    char what[400];
    const char *copy;

    vsnprintf(what, sizeof what, format, args);
    if (recorder->n_problems == RECORDER_PROBLEMS_MAX)
        return;
    copy = arena_strdup(recording_arena(recorder->recording), what);
    if (!copy)
        return;
    recorder->problems[recorder->n_problems++] = copy;
    recorder_changed(recorder);
}

void recorder_problem(struct recorder *recorder, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_problem(recorder, format, args);
    va_end(args);
}

void recorder_lost(struct recorder *recorder, const char *format, ...)
{
    va_list args;

    recorder->has_lost_uncounted = true;
    va_start(args, format);
    put_problem(recorder, format, args);
    va_end(args);
}

void recorder_report(struct recorder *recorder, const char *format, ...)
{
    const struct recording_settings *settings = recording_settings(recorder->recording);
    char what[700];
    va_list args;

    if (!settings->report)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    recorder_note_report(recorder, what);
    settings->report(settings->userdata, what);
}

void recorder_note_report(struct recorder *recorder, const char *text)
{
    recorder->reports[recorder->n_reports++ % RECORDER_REPORTS_MAX] =
        hash_bytes(text, strlen(text));
}

bool recorder_was_reported(const struct recorder *recorder, const char *text)
{
    uint64_t hash = hash_bytes(text, strlen(text));

    for (unsigned i = 0; i < MIN(recorder->n_reports, RECORDER_REPORTS_MAX); i++)
        if (recorder->reports[i] == hash)
            return true;
    return false;
}

/* ---- The manifest ---- */

/* The problems of RECORDER, and that it lost events, stand with one of its sources; where it has none, with TO. -ENOMEM. */
static int put_problems(const struct recorder *recorder, struct arena *arena,
                        struct manifest_source *to)
{
    const char **problems;

    to->lost_uncounted |= recorder->has_lost_uncounted;
    if (recorder->n_problems == 0)
        return 0;
    problems = arena_alloc(arena, (to->n_problems + recorder->n_problems) * sizeof *problems);
    if (!problems)
        return -ENOMEM;
    for (unsigned i = 0; i < to->n_problems; i++)
        problems[i] = to->problems[i];
    for (unsigned i = 0; i < recorder->n_problems; i++)
        problems[to->n_problems + i] = recorder->problems[i];
    to->problems = problems;
    to->n_problems += recorder->n_problems;
    return 0;
}

bool recorder_others_go_on(const struct recorder *recorder)
{
    unsigned n;
    struct recorder *const *recorders = recording_recorders(recorder->recording, &n);

    for (unsigned i = 0; i < n; i++)
        if (recorders[i] != recorder && !recorders[i]->is_service &&
            recorders[i]->state == RECORDER_RUNNING && recorders[i]->urgency == 0)
            return true;
    return false;
}

bool recorder_has_ended_early(const struct recorder *recorder)
{
    return !recorder->is_service && recorder->state == RECORDER_FINISHED &&
           recorder->urgency == 0 && recorder_others_go_on(recorder);
}

bool recorder_is_late(const struct recorder *recorder)
{
    return recorder->state == RECORDER_RUNNING && recorder->ops->is_flushed &&
           !recorder->ops->is_flushed(recorder);
}

int recorders_put_sources(struct recorder *const *recorders, unsigned n, uint64_t until,
                          struct arena *arena, struct manifest_source **ret, unsigned *ret_n)
{
    struct recorder_sources *all = arena_alloc(arena, (n + 1) * sizeof *all);
    struct manifest_source *sources;
    unsigned n_sources = 0;

    if (!all)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        int r = 0;

        all[i] = (struct recorder_sources){.until = until};
        if (recorders[i]->state != RECORDER_NEW && recorders[i]->ops->sources)
            r = recorders[i]->ops->sources(recorders[i], arena, &all[i]);
        if (r < 0)
            return r;
        n_sources += all[i].n;
    }
    sources = arena_alloc(arena, (n_sources + 1) * sizeof *sources);
    if (!sources)
        return -ENOMEM;
    *ret_n = n_sources;
    n_sources = 0;
    for (unsigned i = 0; i < n; i++) {
        if (all[i].n)
            memcpy(sources + n_sources, all[i].items, all[i].n * sizeof *sources);
        n_sources += all[i].n;
    }
    n_sources = 0;
    for (unsigned i = 0; i < n; i++) {
        int r = *ret_n == 0 ? 0
                            : put_problems(recorders[i], arena,
                                           &sources[all[i].n ? n_sources + all[i].about : 0]);

        if (r < 0)
            return r;
        n_sources += all[i].n;
    }
    *ret = sources;
    return 0;
}
