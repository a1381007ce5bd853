/* SPDX-License-Identifier: MIT */
#include "record/percpu/recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/copy.h"
#include "tracedir/host.h"
#include "tracedir/reserve.h"

#define PROBLEMS_MAX 16
#define PAIRS_EVERY INT64_C(1000000000) /* ns */

struct recording {
    struct arena arena; /* what lives as long as this */
    const char *directory;
    const char *name;
    const char *path; /* of the records, in the directory */
    char *full;       /* and as it is opened */
    int fd;
    const char *pairs; /* of clocks, in the directory … */
    char *pairs_full;
    int pairs_fd;      /* -1: there are none any more */
    int64_t last_pair; /* ns of CLOCK_MONOTONIC; 0: there is none */
    int spare;  /* a file without a name that keeps room on the disk for the last manifest, or -1 */
    bool taken; /* the directory is ours: what is in it was made by us … */
    bool made;  /* … and so was it */
    const char **events;
    unsigned n_events;
    const char *problems[PROBLEMS_MAX];
    unsigned n_problems;
    struct manifest_moment began;
};

/* ---- The directory ---- */

int recording_make_dir(const char *directory, bool *ret_made, struct fault *fault)
{
    DIR *dir;
    struct dirent *entry;
    bool empty = true;

    if (mkdir(directory, 0777) == 0) {
        *ret_made = true;
        return 0;
    }
    if (errno != EEXIST)
        return fault_plain(fault, -errno, directory, "cannot be made: %s", strerror(errno));
    dir = opendir(directory);
    if (!dir)
        return fault_plain(fault, -errno, directory, "cannot be opened: %s", strerror(errno));
    while (empty && (entry = readdir(dir)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(dir);
    return empty ? 0
                 : fault_plain(
                       fault, -EEXIST, directory,
                       "there is something in this directory already: name another, or a new one");
}

static char *join(const char *a, const char *b)
{
    char *path;

    return asprintf(&path, "%s/%s", a, b) < 0 ? NULL : path;
}

/* Copies a table into the directory as NAME/events, NAME/events-2, … */
static int copy_table(struct recording *recording, const char *table, struct fault *fault)
{
    char name[128];
    _cleanup_free_ char *to = NULL;

    if (recording->n_events == 0)
        snprintf(name, sizeof name, "%s/events", recording->name);
    else
        snprintf(name, sizeof name, "%s/events-%u", recording->name, recording->n_events + 1);
    recording->events[recording->n_events] = arena_strdup(&recording->arena, name);
    to = join(recording->directory, name);
    if (!to || !recording->events[recording->n_events])
        return fault_plain(fault, -ENOMEM, "", "out of memory");
    recording->n_events++;
    return copy_file(table, to, &(struct copy_options){.follow = true}, fault);
}

static int make_all(struct recording *recording, const char *const *tables, unsigned n,
                    struct fault *fault)
{
    _cleanup_free_ char *sub = NULL;
    char path[128];
    int r = recording_make_dir(recording->directory, &recording->made, fault);

    if (r < 0)
        return r;
    recording->taken = true;
    snprintf(path, sizeof path, "%s/trace.raw", recording->name);
    sub = join(recording->directory, recording->name);
    recording->path = arena_strdup(&recording->arena, path);
    recording->full = join(recording->directory, path);
    snprintf(path, sizeof path, "%s/clock-pairs", recording->name);
    recording->pairs = arena_strdup(&recording->arena, path);
    recording->pairs_full = join(recording->directory, path);
    recording->events = arena_alloc(&recording->arena, (n + 1) * sizeof *recording->events);
    if (!sub || !recording->path || !recording->full || !recording->pairs ||
        !recording->pairs_full || !recording->events)
        return fault_plain(fault, -ENOMEM, "", "out of memory");
    if (mkdir(sub, 0777) < 0)
        return fault_plain(fault, -errno, sub, "cannot be made: %s", strerror(errno));
    for (unsigned i = 0; i < n; i++) {
        r = copy_table(recording, tables[i], fault);
        if (r < 0)
            return r;
    }
    recording->fd = open(recording->full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (recording->fd < 0)
        return fault_plain(fault, -errno, recording->full, "cannot be made: %s", strerror(errno));
    recording->pairs_fd =
        open(recording->pairs_full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (recording->pairs_fd < 0)
        return fault_plain(fault, -errno, recording->pairs_full, "cannot be made: %s",
                           strerror(errno));
    return 0;
}

int recording_new(const char *directory, const char *name, const char *const *tables, unsigned n,
                  struct recording **ret, struct fault *fault)
{
    struct recording *recording = calloc(1, sizeof *recording);
    int r;

    if (!recording)
        return fault_plain(fault, -ENOMEM, "", "out of memory");
    recording->fd = -1;
    recording->pairs_fd = -1;
    recording->spare = -1;
    recording->directory = arena_strdup(&recording->arena, directory);
    recording->name = arena_strdup(&recording->arena, name);
    if (!recording->directory || !recording->name)
        r = fault_plain(fault, -ENOMEM, "", "out of memory");
    else
        r = make_all(recording, tables, n, fault);
    if (r < 0) {
        if (recording->taken && r != -EEXIST) /* which is of somebody else, who began just now */
            recording_remove(recording);
        recording_free(recording);
        return r;
    }
    *ret = recording;
    return 0;
}

void recording_free(struct recording *recording)
{
    if (!recording)
        return;
    if (recording->fd >= 0)
        close(recording->fd);
    reserve_give(&recording->spare);
    if (recording->pairs_fd >= 0)
        close(recording->pairs_fd);
    free(recording->full);
    free(recording->pairs_full);
    arena_done(&recording->arena);
    free(recording);
}

void recording_remove(struct recording *recording)
{
    _cleanup_free_ char *manifest = join(recording->directory, MANIFEST_NAME);
    _cleanup_free_ char *sub = join(recording->directory, recording->name);

    for (unsigned i = 0; i < recording->n_events; i++) {
        _cleanup_free_ char *path = join(recording->directory, recording->events[i]);

        if (path)
            unlink(path);
    }
    if (recording->full)
        unlink(recording->full);
    if (recording->pairs_full)
        unlink(recording->pairs_full);
    if (manifest)
        unlink(manifest);
    if (sub)
        rmdir(sub);
    if (recording->made)
        rmdir(recording->directory);
}

int recording_fd(const struct recording *recording)
{
    return recording->fd;
}

const char *recording_path(const struct recording *recording)
{
    return recording->full;
}

/* ---- Problems ---- */

int recording_problem(struct recording *recording, const char *format, ...)
{
    char what[400];
    va_list args;
    const char *copy;

    if (recording->n_problems == PROBLEMS_MAX)
        return -ENOSPC;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    copy = arena_strdup(&recording->arena, what);
    if (!copy)
        return -ENOMEM;
    recording->problems[recording->n_problems++] = copy;
    return 0;
}

/* ---- Clocks ---- */

/* A line of timeline/clock_map.h. Without the rest of them the trace is still worth having. */
static void put_pair(struct recording *recording, const struct manifest_moment *moment)
{
    char line[80];
    int n = snprintf(line, sizeof line, "%" PRId64 " %" PRIu64 " %" PRId64 "\n",
                     moment->monotonic_ns, moment->tsc, moment->error_ns);

    if (recording->pairs_fd < 0 || moment->tsc == 0)
        return;
    if (write(recording->pairs_fd, line, (size_t)n) == n) {
        recording->last_pair = moment->monotonic_ns;
        return;
    }
    recording_problem(recording, "how the clocks relate was not written to the end: %s",
                      strerror(errno));
    close(recording->pairs_fd);
    recording->pairs_fd = -1;
}

void recording_relate_clocks(struct recording *recording)
{
    struct manifest_moment moment;

    if ((int64_t)clock_ns(CLOCK_MONOTONIC) < recording->last_pair + PAIRS_EVERY)
        return;
    moment = host_moment();
    put_pair(recording, &moment);
}

/* ---- The manifest ---- */

static int write_manifest(struct recording *recording, struct trace_buffers *buffers,
                          struct manifest_source *source, struct fault *fault)
{
    struct manifest manifest = {.sources = source, .n_sources = 1};
    const char **problems;
    int r = buffers->ops->describe(buffers, &manifest.arena, source);

    if (r >= 0) {
        if (recording->last_pair)
            source->clock.pairs = recording->pairs;
        problems = arena_alloc(&manifest.arena,
                               (source->n_problems + recording->n_problems + 1) * sizeof *problems);
        if (problems) {
            for (unsigned i = 0; i < source->n_problems; i++)
                problems[i] = source->problems[i];
            for (unsigned i = 0; i < recording->n_problems; i++)
                problems[source->n_problems + i] = recording->problems[i];
            source->problems = problems;
            source->n_problems += recording->n_problems;
        } else {
            r = -ENOMEM;
        }
    }
    if (r < 0)
        r = fault_plain(fault, r, recording->directory, "cannot be described: %s", strerror(-r));
    else
        r = manifest_write(recording->directory, &manifest, fault);
    arena_done(&manifest.arena);
    return r;
}

static struct manifest_source source_of(struct recording *recording)
{
    return (struct manifest_source){
        .name = recording->name,
        .path = recording->path,
        .events = recording->events,
        .n_events = recording->n_events,
        .host = host_here(),
        .began = recording->began,
    };
}

int recording_note(struct recording *recording, struct trace_buffers *buffers, struct fault *fault)
{
    struct manifest_source source;
    int r;

    if (recording->began.realtime_ns == 0) {
        recording->began = host_moment();
        put_pair(recording, &recording->began);
    }
    source = source_of(recording);
    r = write_manifest(recording, buffers, &source, fault);
    if (r >= 0)
        reserve_keep(recording->directory, &recording->spare);
    return r;
}

int recording_end(struct recording *recording, struct trace_buffers *buffers,
                  const struct recorder_totals *totals, bool complete, struct fault *fault)
{
    struct manifest_source source = source_of(recording);

    reserve_give(&recording->spare);
    source.ended = host_moment();
    put_pair(recording, &source.ended);
    source.lost_known = true;
    source.lost = totals->lost;
    source.lost_at_end = totals->pending;
    source.complete = complete;
    return write_manifest(recording, buffers, &source, fault);
}
