/* SPDX-License-Identifier: MIT */
#include "record/rings/rings_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "record/rings/pool.h"
#include "record/rings/recover.h"
#include "runtime/ring/process_file.h"

/* The directory of this user's rings, made if it is missing: 0; -EPERM, it is somebody else's, or others may write
 * to it. */
static int take_parent(char *path, size_t size)
{
    struct stat st;

    snprintf(path, size, RINGS_PARENT "%u", (unsigned)geteuid());
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    if (lstat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0 ? 0 : -EPERM;
}

/* Whether DIR, in which a process has its rings, is of a recorder that is dead. */
static bool is_abandoned(const char *dir)
{
    _cleanup_free_ char *parent = strdup(dir);
    char *name = parent ? strrchr(parent, '/') : NULL;
    bool is_free;
    int fd;

    if (!name)
        return false;
    *name = '\0';
    name = strrchr(parent, '/');
    if (name && strcmp(name + 1, POOL_DIR_NAME) == 0) {
        *name = '\0';
        name = strrchr(parent, '/');
    }
    if (!name || strncmp(name + 1, RINGS_DIR_PREFIX, strlen(RINGS_DIR_PREFIX)) != 0)
        return false;
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    is_free = flock(fd, LOCK_SH | LOCK_NB) == 0;
    close(fd);
    return is_free;
}

/* True if the rings have nothing that TAKEN does not count as an event. Another attempt may recover more from damaged
 * rings and undecodable records, because memory may have been short. */
static bool is_all_taken(const struct drain_stats *taken)
{
    return taken->undecoded == 0 && taken->damaged == 0;
}

/* What is not begun to be written, or cannot be written now, or not in full, stays for `strata recover`. */
static bool is_of_no_more_use(struct process *process)
{
    static const uint8_t none[16];
    const struct process_trace *trace = process_trace(process);
    struct recovered recovered = {0};
    struct drain_stats taken;
    int r;

    if (process_is_alive(process, NULL) != 0)
        return false;
    if (!trace || memcmp(trace->uuid, none, sizeof none) == 0)
        return ring_drain_count(process, &taken, NULL) >= 0 && taken.events == 0 &&
               is_all_taken(&taken);
    r = recover(process, NULL, NULL, &recovered, NULL);
    recovered_done(&recovered);
    return r >= 0 ? is_all_taken(&recovered.taken) : r == -ENOENT || r == -ENOTDIR || r == -ESTALE;
}

static int rescue(const char *path, void *userdata)
{
    struct process *process;

    (void)userdata;
    if (!is_abandoned(path) || process_open(path, true, &process, NULL) < 0)
        return 0;
    if (is_of_no_more_use(process))
        (void)process_remove(process, NULL);
    process_free(process);
    return 0;
}

/* The pools of recorders that are dead, whose processes have nothing in them; else they stay, and their directories with
 * them. */
static void sweep_pools(const char *parent)
{
    _cleanup_(closedirp) DIR *dir = opendir(parent);
    const struct dirent *entry;
    char path[sizeof((struct locked_dir *)NULL)->path + sizeof POOL_DIR_NAME];

    while (dir && (entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        if (strncmp(entry->d_name, RINGS_DIR_PREFIX, strlen(RINGS_DIR_PREFIX)) != 0 ||
            (size_t)snprintf(path, sizeof path, "%s/%s/" POOL_DIR_NAME, parent, entry->d_name) >=
                sizeof path ||
            !is_abandoned(path))
            continue;
        *strrchr(path, '/') = '\0';
        pool_remove(path);
    }
}

static int remove_if_empty(const char *path, void *userdata)
{
    struct drain_stats left;
    struct process *process;

    (void)userdata;
    if (process_open(path, true, &process, NULL) < 0)
        return 0;
    if (process_is_alive(process, NULL) == 0 && process_lock(process, NULL) >= 0 &&
        ring_drain_count(process, &left, NULL) >= 0 && left.events == 0 && is_all_taken(&left) &&
        left.discarded == 0 && left.no_ring == 0)
        (void)process_remove(process, NULL);
    process_free(process);
    return 0;
}

void rings_dir_sweep_processes(void)
{
    char path[48];

    /* Named, so that those of recordings are left to their recorders. */
    if (take_parent(path, sizeof path) >= 0)
        (void)process_foreach(path, remove_if_empty, NULL);
}

void rings_dir_sweep(void)
{
    char path[48];

    if (take_parent(path, sizeof path) < 0)
        return;
    sweep_pools(path);
    locked_dir_sweep(path, RINGS_DIR_PREFIX, true, NULL, NULL);
}

void rings_dir_rescue(void)
{
    (void)process_foreach(NULL, rescue, NULL);
}

int rings_dir_make(struct locked_dir *ret, struct error *error)
{
    char path[48];
    int r = take_parent(path, sizeof path);

    if (r >= 0) {
        rings_dir_rescue();
        rings_dir_sweep();
        rings_dir_sweep_processes();
        r = locked_dir_make(path, RINGS_DIR_PREFIX, ret);
    }
    if (r < 0)
        r = locked_dir_make("/tmp", "strata-" RINGS_DIR_PREFIX, ret);
    return r < 0 ? error_set(error, r, "/tmp", "cannot make a directory for rings there: %s",
                             strerror(-r))
                 : 0;
}
