/* SPDX-License-Identifier: MIT */
#include "record/snapshot_quota.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/macro.h"
#include "base/remove_dir.h"
#include "record/snapshot.h"

/* Of the directories of a snapshot below each other. */
#define DEPTH_MAX 8u

struct snapshot {
    char *path;
    uint64_t bytes; /* on the disk */
};

struct snapshot_quota {
    uint64_t limit, bytes;
    struct recorder *recorder;
    struct snapshot *items; /* the oldest first */
    unsigned n, room;
    struct child remover; /* pid 0: none */
    bool is_size_reported, is_failure_reported;
};

int snapshot_quota_new(uint64_t limit, struct recorder *recorder, struct snapshot_quota **ret)
{
    struct snapshot_quota *store = calloc(1, sizeof *store);

    if (!store)
        return -ENOMEM;
    *store = (struct snapshot_quota){.limit = limit, .recorder = recorder, .remover.end = -1};
    *ret = store;
    return 0;
}

void snapshot_quota_free(struct snapshot_quota *store)
{
    if (!store)
        return;
    child_done(&store->remover);
    for (unsigned i = 0; i < store->n; i++)
        free(store->items[i].path);
    free(store->items);
    free(store);
}

/* What the directory NAME in DIR uses on the disk. */
static uint64_t measure(int dir, const char *name, unsigned depth)
{
    _cleanup_(closedirp) DIR *list = open_dir_at(dir, name);
    const struct dirent *entry;
    uint64_t bytes = 0;
    struct stat st;

    while (list && (entry = readdir(list))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(list), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        bytes += (uint64_t)st.st_blocks * 512;
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            bytes += measure(dirfd(list), entry->d_name, depth + 1);
    }
    return bytes;
}

/* So that no part of it is taken for a snapshot while it is removed. False: it is there no more by that name. */
static bool hide(struct snapshot *snapshot)
{
    const char *name = strrchr(snapshot->path, '/') + 1;
    char *hidden;

    if (asprintf(&hidden, "%.*s.%s", (int)(name - snapshot->path), snapshot->path, name) < 0)
        return true;
    if (rename(snapshot->path, hidden) < 0) {
        free(hidden);
        return errno != ENOENT;
    }
    free(snapshot->path);
    snapshot->path = hidden;
    return true;
}

static bool remove_all(const struct snapshot *snapshots, unsigned n)
{
    bool is_gone = true;

    for (unsigned i = 0; i < n; i++)
        is_gone &=
            remove_dir_at(AT_FDCWD, snapshots[i].path) || access(snapshots[i].path, F_OK) < 0;
    return is_gone;
}

/* Removes the N oldest, in a process of its own. */
static void remove_oldest(struct snapshot_quota *store, unsigned n)
{
    unsigned n_ours = 0;
    pid_t pid;

    for (unsigned i = 0; i < n; i++) {
        struct snapshot *snapshot = &store->items[i];

        const char *slash = strrchr(snapshot->path, '/');
        char name[SNAPSHOT_NAME_MAX];

        snprintf(name, sizeof name, "%s", slash ? slash + 1 : snapshot->path);
        store->bytes -= snapshot->bytes;
        if (hide(snapshot)) {
            recorder_report(store->recorder, "removed " SNAPSHOTS_DIR "/%s: --snapshots-size",
                            name);
            store->items[n_ours++] = *snapshot;
        } else {
            free(snapshot->path);
        }
    }
    pid = n_ours > 0 ? fork() : -1;
    if (pid == 0) {
        (void)prctl(PR_SET_NAME, "strata-remove");
        (void)setsid();
        _exit(remove_all(store->items, n_ours) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (pid > 0) {
        child_add_helper(pid);
        store->remover = (struct child){.pid = pid, .end = -1, .watch = oom_begin()};
#ifdef SYS_pidfd_open
        store->remover.end = (int)syscall(SYS_pidfd_open, pid, 0);
#endif
    } else if (n_ours > 0) { /* then this process does */
        (void)remove_all(store->items, n_ours);
    }
    for (unsigned i = 0; i < n_ours; i++)
        free(store->items[i].path);
    store->n -= n;
    memmove(store->items, store->items + n, store->n * sizeof *store->items);
}

static void limit_size(struct snapshot_quota *store)
{
    uint64_t bytes = store->bytes;
    unsigned n = 0;

    if (store->remover.pid > 0) /* when that has ended */
        return;
    while (bytes > store->limit && n + 1 < store->n)
        bytes -= store->items[n++].bytes;
    if (n > 0)
        remove_oldest(store, n);
}

void snapshot_quota_add(struct snapshot_quota *store, const char *path)
{
    struct snapshot snapshot = {strdup(path), measure(AT_FDCWD, path, 0)};

    if (store->n == store->room) {
        unsigned room = MAX(2 * store->room, 16u);
        struct snapshot *bigger = realloc(store->items, room * sizeof *bigger);

        if (bigger) {
            store->items = bigger;
            store->room = room;
        }
    }
    if (!snapshot.path || store->n == store->room) {
        free(snapshot.path);
        recorder_report(store->recorder, "%s is not counted in --snapshots-size: out of memory",
                        path);
        return;
    }
    store->items[store->n++] = snapshot;
    store->bytes += snapshot.bytes;
    if (snapshot.bytes > store->limit && !store->is_size_reported) {
        store->is_size_reported = true;
        recorder_report(
            store->recorder,
            "%s uses more of the disk than --snapshots-size allows; the newest snapshot "
            "is kept in any case",
            path);
    }
    limit_size(store);
}

int snapshot_quota_fd(const struct snapshot_quota *store)
{
    return store->remover.pid > 0 ? store->remover.end : -1;
}

void snapshot_quota_step(struct snapshot_quota *store)
{
    if (store->remover.pid == 0 || !child_has_ended(&store->remover))
        return;
    if (store->remover.status != 0 && !store->is_failure_reported) {
        store->is_failure_reported = true;
        recorder_report(store->recorder, "an old snapshot cannot be removed; more is kept than "
                                         "--snapshots-size allows");
    }
    child_remove_helper(store->remover.pid);
    child_done(&store->remover);
    limit_size(store);
}

bool trigger_store_is_idle(const struct snapshot_quota *store)
{
    return store->remover.pid == 0;
}
