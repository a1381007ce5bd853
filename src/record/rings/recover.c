/* SPDX-License-Identifier: MIT */
#include "record/rings/recover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracedir/manifest.h"

static int check_dead(const struct process *process, struct error *error)
{
    int alive = process_is_alive(process, error);

    if (alive < 0)
        return alive;
    if (alive > 0)
        return error_set(error, -EBUSY, process->path,
                         "process %u (%s) is running, so there is nothing to recover; use 'strata "
                         "record --attach' for a program without a writer",
                         process->pid, process->program);
    return 0;
}

int native_of_process(struct process *process, const char *path, struct native **ret,
                      struct error *error)
{
    struct ctf_metadata metadata = {
        .clock_kind = process->clock_kind,
        .start = process->clock_pair,
        .program = process->program,
        .pid = (pid_t)process->pid,
    };
    uint64_t hint = 0;
    struct ring_drain *taker;

    if (ring_drain_new(process, NULL, false, true, &taker, NULL) >= 0) {
        hint = ring_drain_clock_hz(taker);
        ring_drain_free(taker);
    }
    metadata.clock_hz = process_clock_hz(process, hint);
    return native_create(path, &metadata, ret, error);
}

bool native_is_of_process(const struct native *native, struct process *process)
{
    static const uint8_t none[16];
    const struct process_trace *trace = process_trace(process);
    char pid[32], ticks[48];

    if (trace && memcmp(trace->uuid, none, sizeof(none)) != 0)
        return memcmp(trace->uuid, native->uuid, sizeof(native->uuid)) == 0;
    /* Nothing was drained yet: the process file does not name the trace, whose metadata is still that of
     * native_of_process(). */
    snprintf(pid, sizeof(pid), "\n    vpid = %" PRIu32 ";\n", process->pid);
    snprintf(ticks, sizeof(ticks), "\n    clock_ticks = %" PRIu64 ";\n", process->clock_pair.ticks);
    return strstr(native->text, pid) && strstr(native->text, ticks);
}

static int complete(const struct process_trace *trace, struct native **ret, struct error *error)
{
    struct error why = {0};
    int r = native_complete(trace->path, trace->uuid, ret, &why);
    char text[sizeof(why.path) + sizeof(why.what) + 64];

    if (r >= 0)
        return r;
    error_print(&why, text, sizeof(text));
    return error_set(error, r, NULL,
                     "the trace that the program was writing cannot be completed: %s; with -o "
                     "DIR a new one is made",
                     text);
}

/* Opens or creates the trace where the program was to write. An existing trace is the program's own if it has the
 * planned UUID; otherwise it is of another run. */
static int make_planned(struct process *process, const char *path, struct native **ret,
                        bool *ret_completed, struct error *error)
{
    static const uint8_t none[16];
    _cleanup_free_ char *other = NULL;
    uint8_t uuid[16];
    int r = native_of_process(process, path, ret, NULL);

    if (r != -ENOTEMPTY)
        return r < 0 ? native_of_process(process, path, ret, error) : r;
    memcpy(uuid, process->file->planned_uuid, sizeof(uuid));
    if (memcmp(uuid, none, sizeof(none)) != 0 && native_complete(path, uuid, ret, NULL) >= 0) {
        *ret_completed = true;
        return 0;
    }
    if (asprintf(&other, "%s.%u", path, process->pid) < 0)
        return error_set(error, -ENOMEM, process->path, "out of memory");
    return native_of_process(process, other, ret, error);
}

int recover(struct process *process, const char *path, const char *fallback, struct recovered *ret,
            struct error *error)
{
    static const uint8_t none[16];
    const struct process_trace *trace = process_trace(process);
    bool begun = trace && memcmp(trace->uuid, none, sizeof(none)) != 0;
    struct recovered recovered = {.completed = !path && begun};
    struct native *native = NULL;
    struct ring_drain *taker = NULL;
    int r = process_lock(process, error);

    if (r >= 0)
        r = check_dead(process, error);
    if (r >= 0 && !path && !process->is_ours)
        r = error_set(error, -EPERM, process->path,
                      "belongs to another user, who may have chosen any directory for the trace; "
                      "name one with -o");
    if (r >= 0 && !recovered.completed && !path) {
        r = ring_drain_count(process, &recovered.taken, error);
        if (r >= 0 && recovered.taken.events == 0 && recovered.taken.undecoded == 0) {
            *ret = recovered;
            return 0;
        }
    }
    if (r >= 0)
        r = recovered.completed ? complete(trace, &native, error)
            : path              ? native_of_process(process, path, &native, error)
                                : make_planned(process, trace ? trace->path : fallback, &native,
                                               &recovered.completed, error);
    if (r >= 0)
        r = ring_drain_new(process, native, false, recovered.completed, &taker, error);
    if (r >= 0)
        r = ring_drain_take(taker, DRAIN_DEAD, error);
    if (r >= 0) {
        recovered.taken = ring_drain_taken(taker, NULL);
        recovered.path = strdup(native->path);
        if (!recovered.path)
            r = error_set(error, -ENOMEM, process->path, "out of memory");
    }
    ring_drain_free(taker);
    native_free(native);
    if (r >= 0)
        *ret = recovered;
    return r;
}

int recover_discard(struct process *process, uint64_t *ret_events, struct error *error)
{
    struct drain_stats taken = {0};
    int r = process_lock(process, error);

    if (r >= 0)
        r = check_dead(process, error);
    if (r >= 0)
        r = ring_drain_count(process, &taken, error);
    *ret_events = taken.events;
    return r;
}

void recovered_done(struct recovered *recovered)
{
    free(recovered->path);
    recovered->path = NULL;
}

/* ---- Whether there is something to recover ---- */

struct rings_search {
    const struct native *native;
    bool is_found;
};

static int find_rings(const char *path, void *userdata)
{
    struct rings_search *search = userdata;
    struct process *process;

    if (process_open(path, false, &process, NULL) < 0)
        return 0;
    search->is_found = native_is_of_process(search->native, process);
    process_free(process);
    return search->is_found;
}

bool recover_has_rings(const char *directory, const struct manifest_source *source)
{
    _cleanup_free_ char *path = NULL;
    struct rings_search search = {0};
    struct native *native;
    int r;

    if (manifest_resolve(directory, source->path, &path, NULL) < 0 ||
        native_open(path, &native, NULL) < 0)
        return true;
    search.native = native;
    r = process_foreach(NULL, find_rings, &search);
    native_free(native);
    return r < 0 || search.is_found;
}
