/* SPDX-License-Identifier: MIT */
#include "record/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/remove_dir.h"
#include "record/recorder_internal.h"
#include "tracedir/host.h"
#include "tracedir/source_files.h"

/* So many snapshots of one second, or of one trigger and second. */
#define SAME_NAME_MAX 1000u

/* ---- Its directory ---- */

bool snapshot_name_is_valid(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len < SNAPSHOT_NAME_MAX && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

static void put_unfinished(const char *name, char buf[static SNAPSHOT_NAME_MAX + 1])
{
    snprintf(buf, SNAPSHOT_NAME_MAX + 1, ".%s", name);
}

/* What a recorder that was killed has left there is removed. */
int snapshot_make(int snapshots, const char *name)
{
    char unfinished[SNAPSHOT_NAME_MAX + 1];

    if (faccessat(snapshots, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    put_unfinished(name, unfinished);
    if (mkdirat(snapshots, unfinished, 0777) == 0)
        return 0;
    if (errno == EEXIST &&
        (remove_dir_at(snapshots, unfinished) || unlinkat(snapshots, unfinished, 0) == 0))
        return mkdirat(snapshots, unfinished, 0777) < 0 ? -errno : 0;
    return -errno;
}

int snapshots_open(int dir)
{
    int fd;

    if (mkdirat(dir, SNAPSHOTS_DIR, 0777) < 0 && errno != EEXIST)
        return -errno;
    fd = openat(dir, SNAPSHOTS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int snapshot_make_numbered(int snapshots, const char *name, char buf[static SNAPSHOT_NAME_MAX])
{
    int r = -EEXIST;

    for (unsigned i = 1; r == -EEXIST && i <= SAME_NAME_MAX; i++) {
        if (i == 1)
            snprintf(buf, SNAPSHOT_NAME_MAX, "%s", name);
        else
            snprintf(buf, SNAPSHOT_NAME_MAX, "%.*s-%u", (int)SNAPSHOT_NAME_MAX - 8, name, i);
        r = snapshot_make(snapshots, buf);
    }
    return r;
}

void snapshot_remove_unfinished(int dir, const char *name)
{
    _cleanup_(closep) int snapshots = snapshots_open(dir);
    char unfinished[SNAPSHOT_NAME_MAX + 1];

    put_unfinished(name, unfinished);
    if (snapshots >= 0)
        (void)remove_dir_at(snapshots, unfinished);
}

/* ---- What is in it ---- */

/* -ENOMEM, also where TEXT is NULL. */
static int add_problem(struct manifest_source *source, struct arena *arena, const char *text)
{
    const char **problems = arena_alloc(arena, (source->n_problems + 1) * sizeof *problems);

    if (!problems || !text)
        return -ENOMEM;
    if (source->n_problems)
        memcpy(problems, source->problems, source->n_problems * sizeof *problems);
    problems[source->n_problems++] = text;
    source->problems = problems;
    return 0;
}

/* In ARENA; NULL: out of memory. */
static const char *ended_text(const struct manifest_moment *ended, struct arena *arena)
{
    time_t seconds = (time_t)(ended->realtime_ns / (int64_t)NSEC_PER_SEC);
    char date[64], text[128];
    struct tm tm;

    if (ended->realtime_ns == 0 || !gmtime_r(&seconds, &tm) ||
        strftime(date, sizeof date, "%F %T UTC", &tm) == 0)
        return "recording of it ended before the snapshot";
    snprintf(text, sizeof text, "recording of it ended at %s, before the snapshot", date);
    return arena_strdup(arena, text);
}

/* The manifest's sources, as what is copied now has them. */
static int put_sources(const struct recording *recording, const struct retention *retention,
                       const struct manifest_moment *flushed, struct arena *arena,
                       struct manifest_source **ret_sources, unsigned *ret_n)
{
    unsigned n_recorders, at = 0;
    struct recorder *const *recorders = recording_recorders(recording, &n_recorders);
    struct manifest_moment now = host_moment();
    int r = recorders_put_sources(recorders, n_recorders, (uint64_t)now.monotonic_ns, arena,
                                  ret_sources, ret_n);

    for (unsigned i = 0; r >= 0 && i < n_recorders; i++) {
        const struct recorder *recorder = recorders[i];
        struct recorder_sources of_recorder = {0};
        const char *missing =
            recorder_is_late(recorder)
                ? "the latest events are missing: it did not send them within a second"
            : recorder->ops->missing_reason ? recorder->ops->missing_reason(recorder)
                                            : NULL;
        bool ended_early = recorder_has_ended_early(recorder);

        if (recorder->state == RECORDER_NEW || !recorder->ops->sources)
            continue;
        r = recorder->ops->sources(recorder, arena, &of_recorder);
        for (unsigned j = 0; r >= 0 && j < of_recorder.n && at < *ret_n; j++, at++) {
            struct manifest_source *source = &(*ret_sources)[at];
            struct retention_losses losses;

            source->lost_known = retention_losses(retention, source, &losses) && !missing;
            source->lost = losses.lost;
            source->lost_at_end = losses.at_end;
            if (ended_early && j + 1 == of_recorder.n)
                r = add_problem(source, arena, ended_text(&source->ended, arena));
            /* What an agent held is there up to the flush, however long others were waited for. */
            if (!manifest_source_has_ended(source))
                source->ended = recorder->ops->is_flushed ? *flushed : now;
            source->complete |= !ended_early || j + 1 < of_recorder.n;
            source->lost_uncounted |= missing != NULL;
            if (r >= 0 && missing)
                r = add_problem(source, arena, missing);
        }
    }
    return r;
}

int snapshot_save(const struct recording *recording, const struct retention *retention,
                  const char *name, const struct manifest_snapshot *about,
                  const struct manifest_moment *flushed, struct error *error)
{
    int dir = recording_dir(recording);
    _cleanup_(closep) int snapshots = snapshots_open(dir);
    _cleanup_(closep) int to = -1;
    struct manifest manifest = {0};
    struct manifest_source *sources = NULL;
    char unfinished[SNAPSHOT_NAME_MAX + 1], path[64];
    int r =
        put_sources(recording, retention, flushed, &manifest.arena, &sources, &manifest.n_sources);

    put_unfinished(name, unfinished);
    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    to = openat(snapshots, unfinished, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return error_set(error, -errno, name, "cannot open the directory: %s", strerror(errno));
    manifest.sources = sources;
    manifest.snapshot = about;
    for (unsigned i = 0; r >= 0 && i < manifest.n_sources; i++)
        r = retention_copy(retention, &sources[i], to, 0, error);
    if (r >= 0 && source_files_find(to, sources, manifest.n_sources, &manifest.arena) < 0)
        r = error_set(error, -ENOMEM, NULL, "out of memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    if (r >= 0)
        r = manifest_write(path, &manifest, error);
    if (r >= 0 && renameat(snapshots, unfinished, snapshots, name) < 0)
        r = error_set(error, -errno, name, "cannot rename the directory: %s", strerror(errno));
    return r;
}
