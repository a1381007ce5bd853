/* SPDX-License-Identifier: MIT */

/* The directories of processes, and what is left of those that were killed half-made. */

#include "record/rings/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"
#include "record/rings/rings_dir.h"

/* Before the hidden name of a directory that is being removed. */
#define GONE_PREFIX ".gone-"

/* "PID-START" or "PID-START-N", with RINGS_PREFIX in front where the user named the parent. */
static bool parse_name(const char *name, uint32_t *ret_pid, uint64_t *ret_start)
{
    unsigned long long pid, start;
    char *end;

    if (strncmp(name, RINGS_PREFIX, strlen(RINGS_PREFIX)) == 0)
        name += strlen(RINGS_PREFIX);
    if (*name < '1' || *name > '9')
        return false;
    pid = strtoull(name, &end, 10);
    if (*end != '-' || end[1] < '0' || end[1] > '9' || pid > INT32_MAX)
        return false;
    start = strtoull(end + 1, &end, 10);
    if (*end == '-')
        (void)strtoull(end + 1, &end, 10);
    if (*end)
        return false;
    *ret_pid = (uint32_t)pid;
    *ret_start = start;
    return true;
}

/* One that cannot be opened for another reason than that it is not there counts: process_open() names the reason. */
static bool has_process_file(const char *path)
{
    char magic[8] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n;

    if (fd < 0)
        return errno != ENOENT && errno != ENOTDIR;
    n = read(fd, magic, sizeof(magic));
    close(fd);
    return n < 0 ||
           (n == (ssize_t)sizeof(magic) && memcmp(magic, PROCESS_FILE_MAGIC, sizeof(magic)) == 0);
}

/* Whether the process is gone, as far as can be seen in this pid namespace. */
static bool is_gone(uint32_t pid, uint64_t start)
{
    uint64_t start_now;
    char state;
    int r = proc_stat((pid_t)pid, &start_now, &state);

    return r < 0 ? proc_is_gone(r) : start_now != start;
}

static void remove_files(const char *directory)
{
    _cleanup_(closedirp) DIR *dir = opendir(directory);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        if (strncmp(entry->d_name, RING_FILE_PREFIX, strlen(RING_FILE_PREFIX)) == 0 ||
            strcmp(entry->d_name, PROCESS_FILE_NAME) == 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)rmdir(directory);
}

/* Removes the directory of a process that was killed while it removed it: without a process file nothing can decode a
 * ring. False: the process file is there by now. */
static bool remove_unfinished(const char *directory, const char *file, uint32_t pid, uint64_t start)
{
    /* A running process is at it. */
    if (!is_gone(pid, start))
        return true;
    /* It may have made the file, and ended, since the caller looked. From now on nothing changes. */
    if (has_process_file(file))
        return false;
    remove_files(directory);
    return true;
}

/* Removes NAME in PARENT, the directory of a process that was killed while it made it. One that is running in a pid
 * namespace that is not seen from here makes another: it finds out, as the name is gone first. */
static int remove_hidden(const char *parent, const char *name)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *gone = NULL;

    if (asprintf(&path, "%s/%s", parent, name) < 0 ||
        asprintf(&gone, "%s/" GONE_PREFIX "%s", parent, name) < 0)
        return -ENOMEM;
    if (rename(path, gone) == 0)
        remove_files(gone);
    return 0;
}

/* Those that have nothing but slots in the pool of PARENT. */
static int foreach_in_pool(const char *parent, int (*function)(const char *path, void *userdata),
                           void *userdata)
{
    struct pool *pool;
    int r;

    r = pool_open(parent, &pool);
    if (r < 0)
        return error_is_shortage(r) ? r : 0;
    for (unsigned i = 0; i < POOL_SLOTS && r == 0; i++) {
        _cleanup_free_ char *path = NULL;
        struct pool_slot slot;

        if (!pool_get(pool, i, &slot) || slot.number != POOL_PROCESS)
            continue;
        if (asprintf(&path, "%s/" POOL_DIR_NAME "/" SLOT_PREFIX "%u-%" PRIu32 "-%" PRIu64, parent,
                     i, slot.pid, slot.start) < 0)
            r = -ENOMEM;
        else
            r = function(path, userdata);
    }
    pool_close(pool);
    return r;
}

/* RECORDINGS: in the directories of recordings, too (record/rings/rings_dir.h). */
static int foreach_in(const char *parent, bool recordings,
                      int (*function)(const char *path, void *userdata), void *userdata)
{
    struct dirent **entries = NULL;
    int n, r = 0;

    n = scandir(parent, &entries, NULL, versionsort);
    if (n < 0)
        return errno == ENOENT ? 0 : -errno;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        _cleanup_free_ char *path = NULL;
        _cleanup_free_ char *file = NULL;
        uint64_t start;
        uint32_t pid;

        if (r == 0 && parse_name(name, &pid, &start)) {
            if (asprintf(&path, "%s/%s", parent, name) < 0 ||
                asprintf(&file, "%s/" PROCESS_FILE_NAME, path) < 0)
                r = -ENOMEM;
            else if (has_process_file(file) || !remove_unfinished(path, file, pid, start))
                r = function(path, userdata);
        } else if (r == 0 && name[0] == *RINGS_HIDDEN && parse_name(name + 1, &pid, &start)) {
            if (is_gone(pid, start))
                r = remove_hidden(parent, name);
        } else if (r == 0 && strncmp(name, GONE_PREFIX, strlen(GONE_PREFIX)) == 0) {
            if (asprintf(&path, "%s/%s", parent, name) < 0)
                r = -ENOMEM;
            else
                remove_files(path);
        } else if (r == 0 && recordings &&
                   strncmp(name, RINGS_DIR_PREFIX, strlen(RINGS_DIR_PREFIX)) == 0) {
            if (asprintf(&path, "%s/%s", parent, name) < 0)
                r = -ENOMEM;
            else
                r = foreach_in(path, false, function, userdata);
            if (r == -ENOTDIR) /* a file of that name */
                r = 0;
        }
        free(entries[i]);
    }
    free(entries);
    return r == 0 ? foreach_in_pool(parent, function, userdata) : r;
}

/* Another user's directory of that name holds nothing of this one: the processes make none there either. In a user namespace
 * it may be root's outside. */
static bool is_own(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 || st.st_uid == geteuid();
}

int process_foreach(const char *parent, int (*function)(const char *path, void *userdata),
                    void *userdata)
{
    char fallback[64];

    snprintf(fallback, sizeof(fallback), RINGS_PARENT "%u", (unsigned)geteuid());
    if (parent)
        return foreach_in(parent, false, function, userdata);
    return is_own(fallback) ? foreach_in(fallback, true, function, userdata) : 0;
}
