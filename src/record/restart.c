/* SPDX-License-Identifier: MIT */
#include "record/restart.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"
#include "base/remove_dir.h"
#include "record/snapshot.h"
#include "tracedir/ask.h"
#include "tracedir/manifest.h"

#define NAME_MAX_BYTES 64u

static bool has_suffix(const char *name)
{
    size_t len = strlen(name);

    return len > strlen(RESTART_SUFFIX) &&
           strcmp(name + len - strlen(RESTART_SUFFIX), RESTART_SUFFIX) == 0;
}

static bool is_to_be_moved(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, SNAPSHOTS_DIR) != 0;
}

/* Whether there is anything to be moved, and whether a recording has made it. */
static int look(int dir, bool *ret_any, bool *ret_is_recording)
{
    _cleanup_(closedirp) DIR *entries = open_dir_at(dir, ".");
    const struct dirent *entry;

    if (!entries)
        return -errno;
    *ret_any = *ret_is_recording = false;
    while ((entry = readdir(entries))) {
        *ret_any |= is_to_be_moved(entry->d_name);
        *ret_is_recording |=
            strcmp(entry->d_name, SNAPSHOTS_DIR) == 0 || strcmp(entry->d_name, MANIFEST_NAME) == 0;
    }
    return 0;
}

/* The directory that a process which was killed had begun to fill, ".NAME". */
static bool find_unfinished(int snapshots, char name[static NAME_MAX_BYTES])
{
    _cleanup_(closedirp) DIR *entries = open_dir_at(snapshots, ".");
    const struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        if (entry->d_name[0] == '.' && has_suffix(entry->d_name) &&
            (size_t)snprintf(name, NAME_MAX_BYTES, "%s", entry->d_name) < NAME_MAX_BYTES)
            return true;
    return false;
}

/* What has its manifest, which is moved last, lacks only its name; also where nothing is left to be moved (ANY is false). */
static void finish_unfinished(int snapshots, bool any)
{
    char name[NAME_MAX_BYTES], manifest[NAME_MAX_BYTES + sizeof MANIFEST_NAME + 1];

    if (!find_unfinished(snapshots, name))
        return;
    snprintf(manifest, sizeof manifest, "%s/%s", name, MANIFEST_NAME);
    if (!any || faccessat(snapshots, manifest, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        (void)renameat(snapshots, name, snapshots, name + 1);
}

static int make_unfinished(int snapshots, char name[static NAME_MAX_BYTES])
{
    struct timespec now;
    struct tm tm;
    char date[32];

    if (find_unfinished(snapshots, name))
        return 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (!localtime_r(&now.tv_sec, &tm) || strftime(date, sizeof date, "%Y%m%d-%H%M%S", &tm) == 0)
        return -EOVERFLOW;
    for (long ms = now.tv_nsec / 1000000; ms < 1000; ms++) {
        snprintf(name, NAME_MAX_BYTES, ".%s.%03ld" RESTART_SUFFIX, date, ms);
        if (faccessat(snapshots, name + 1, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
            return mkdirat(snapshots, name, 0777) < 0 ? -errno : 0;
    }
    return -EEXIST;
}

/* Moves all entries of DIR to the directory TO: the manifest last, so that what is left is recognised. */
static int move_entries(int dir, int to)
{
    bool more = true;

    while (more) {
        /* Entries are not moved while they are listed. */
        char name[256] = "";
        _cleanup_(closedirp) DIR *entries = open_dir_at(dir, ".");
        const struct dirent *entry;

        if (!entries)
            return -errno;
        more = false;
        while (!more && (entry = readdir(entries))) {
            if (!is_to_be_moved(entry->d_name) || strcmp(entry->d_name, MANIFEST_NAME) == 0)
                continue;
            snprintf(name, sizeof name, "%s", entry->d_name);
            more = true;
        }
        if (more && renameat(dir, name, to, name) < 0)
            return -errno;
    }
    return renameat(dir, MANIFEST_NAME, to, MANIFEST_NAME) < 0 && errno != ENOENT ? -errno : 0;
}

/* Names are times, so that the least is the oldest. */
static void remove_oldest(int snapshots)
{
    for (;;) {
        _cleanup_(closedirp) DIR *entries = open_dir_at(snapshots, ".");
        const struct dirent *entry;
        char oldest[NAME_MAX_BYTES] = "";
        unsigned n = 0;

        while (entries && (entry = readdir(entries))) {
            if (entry->d_name[0] == '.' || !has_suffix(entry->d_name) ||
                strlen(entry->d_name) >= sizeof oldest)
                continue;
            n++;
            if (!*oldest || strcmp(entry->d_name, oldest) < 0)
                snprintf(oldest, sizeof oldest, "%s", entry->d_name);
        }
        if (n <= RESTART_KEPT_MAX || !remove_dir_at(snapshots, oldest))
            return;
    }
}

static int move_trace(int dir, int snapshots, char name[static NAME_MAX_BYTES])
{
    _cleanup_(closep) int to = -1;
    int r = make_unfinished(snapshots, name);

    if (r < 0)
        return r;
    to = openat(snapshots, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return -errno;
    (void)unlinkat(dir, TRACEDIR_SOCKET, 0);
    r = move_entries(dir, to);
    if (r >= 0 && renameat(snapshots, name, snapshots, name + 1) < 0)
        r = -errno;
    return r;
}

/* True if FILE describes events, and has none. */
static bool describes_events(const char *file)
{
    static const char *const names[] = {"clock-pairs", "trace-events", "metadata"};
    const char *slash = strrchr(file, '/');
    bool is_one = false;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        is_one |= strcmp(slash ? slash + 1 : file, names[i]) == 0;
    return is_one;
}

/* True if the trace at PATH is complete and has no event, such as that of a QEMU that failed at once. */
static bool is_without_events(const char *path)
{
    struct manifest manifest;
    bool is_empty = manifest_read(path, &manifest, NULL) >= 0;

    if (!is_empty)
        return false;
    for (unsigned i = 0; i < manifest.n_sources && is_empty; i++) {
        const struct manifest_source *source = &manifest.sources[i];

        is_empty =
            source->complete && source->n_files > 0 && source->lost == 0 && !source->lost_uncounted;
        for (unsigned j = 0; j < source->n_files && is_empty; j++)
            is_empty = source->files[j].bytes == 0 || describes_events(source->files[j].path);
    }
    manifest_done(&manifest);
    return is_empty;
}

int restart_keep_trace(int dir, const char *path, void (*rescue)(int dir, const char *path),
                       char **ret_kept, struct error *error)
{
    _cleanup_(closep) int snapshots = -1;
    char name[NAME_MAX_BYTES];
    bool any = false, is_recording = false, is_kept = false;
    char *kept = NULL;
    int r = look(dir, &any, &is_recording);

    if (r >= 0 && any && !is_recording)
        return error_set(error, -EEXIST, path,
                         "directory is not empty, and has no trace; name another or a new one");
    if (r >= 0)
        r = snapshots = snapshots_open(dir);
    if (r >= 0)
        finish_unfinished(snapshots, any);
    if (r >= 0 && any) {
        if (rescue)
            rescue(dir, path);
        is_kept = !is_without_events(path);
        r = move_trace(dir, snapshots, name);
    }
    if (r >= 0 && any && !is_kept)
        (void)remove_dir_at(snapshots, name + 1);
    if (r >= 0 && is_kept && asprintf(&kept, "%s/" SNAPSHOTS_DIR "/%s", path, name + 1) < 0) {
        kept = NULL;
        r = -ENOMEM;
    }
    if (r < 0)
        return error_set(error, r, path, "cannot keep the trace that is there as a snapshot: %s",
                         error_text(r));
    remove_oldest(snapshots);
    *ret_kept = kept;
    return 0;
}
