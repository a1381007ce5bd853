/* SPDX-License-Identifier: MIT */
#include "tracedir/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/input.h"
#include "base/proc.h"
#include "tracedir/manifest.h"

#define PREFIX "strata-record-"
#define FILE_NAME "recording"
#define RESTORE_NAME "restore"
#define LIMIT_NAME "limit"
#define AGENT_NAME "agent"
#define TEMPORARY_NAME "new"
/* of the path of the parent, so that paths of sockets have less than 108 bytes */
#define PARENT_MAX 40

/* QEMU's configuration files cannot contain a quotation mark. */
static const char *choose_parent(const char *parent)
{
    return !parent || parent[0] != '/' || strlen(parent) > PARENT_MAX || strpbrk(parent, "\"\n") ||
                   access(parent, W_OK) < 0
               ? "/tmp"
               : parent;
}

/* Writes the file NAME completely, or not at all. */
static int put_file(const struct registry_entry *registry_entry, const char *name, const char *text,
                    size_t len)
{
    _cleanup_(closep) int fd = -1;
    int dir = registry_entry->dir.fd;
    int r;

    (void)unlinkat(dir, TEMPORARY_NAME, 0);
    fd = openat(dir, TEMPORARY_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = write_all(fd, text, len);
    if (r >= 0 && renameat(dir, TEMPORARY_NAME, dir, name) < 0)
        r = -errno;
    return r;
}

/* Written last, so that everything in the directory is complete. */
static int put_recording(const struct registry_entry *registry_entry, const char *trace)
{
    _cleanup_free_ char *full = realpath(trace, NULL);
    _cleanup_free_ char *text = NULL;
    int len;

    if (!full)
        return -errno;
    len = asprintf(&text, "%ld\n%s", (long)getpid(), full);
    return len < 0 ? -ENOMEM : put_file(registry_entry, FILE_NAME, text, (size_t)len);
}

int registry_put_limit(const struct registry_entry *registry_entry, const char *limit)
{
    return *limit ? put_file(registry_entry, LIMIT_NAME, limit, strlen(limit)) : 0;
}

/* ---- The agent of a recorder that was killed ---- */

struct agent_search {
    const char *trace;
    pid_t agent;
};

/* Opens the file NAME of the directory if this user made it, or if ANY_USER. Another user may own the directory by now.
 * A negative errno. */
static int open_file(int dir, const char *name, bool any_user)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (!any_user && st.st_uid != geteuid())) {
        close(fd);
        return -EPERM;
    }
    return fd;
}

static int open_ours(int dir, const char *name)
{
    return open_file(dir, name, false);
}

/* Reads that file and appends a NUL. False if there is none. */
static bool read_file(int dir, const char *name, char *text, size_t size)
{
    _cleanup_(closep) int fd = open_ours(dir, name);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    text[MAX(n, 0)] = '\0';
    return n > 0;
}

static bool search_agent(int dir, void *userdata)
{
    struct agent_search *search = userdata;
    char text[PATH_MAX + 32], agent[32];
    const char *trace;

    if (!read_file(dir, FILE_NAME, text, sizeof text) ||
        !read_file(dir, AGENT_NAME, agent, sizeof agent))
        return true;
    trace = strchr(text, '\n');
    if (trace && strcmp(trace + 1, search->trace) == 0)
        search->agent = (pid_t)strtol(agent, NULL, 10);
    return true;
}

int registry_put_agent(const struct registry_entry *registry_entry, pid_t agent)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%ld", (long)agent);

    return registry_entry->dir.fd < 0 ? -ENOENT
                                      : put_file(registry_entry, AGENT_NAME, text, (size_t)n);
}

pid_t registry_find_agent(const char *parent, const char *trace)
{
    struct agent_search search = {.trace = trace};

    locked_dir_sweep(choose_parent(parent), PREFIX, true, search_agent, &search);
    return search.agent;
}

/* ---- What must be restored ---- */

int registry_put_restore(const struct registry_entry *registry_entry, pid_t pid, const char *text)
{
    _cleanup_free_ char *whole = NULL;
    uint64_t start;
    char state;
    int len, r = proc_stat(pid, &start, &state);

    if (r < 0)
        return r;
    len = asprintf(&whole, "%ld %" PRIu64 "\n%s", (long)pid, start, text);
    if (len < 0)
        return -ENOMEM;
    return (size_t)len > REGISTRY_RESTORE_MAX
               ? -EFBIG
               : put_file(registry_entry, RESTORE_NAME, whole, (size_t)len);
}

/* Opens `restore` in the directory DIR if its process runs. A negative errno. */
static int open_restore(int dir, pid_t *ret_pid)
{
    char text[64], *end, state;
    uint64_t start, now;
    ssize_t n;
    int fd = open_ours(dir, RESTORE_NAME);
    pid_t pid;

    if (fd < 0)
        return fd;
    n = pread(fd, text, sizeof text - 1, 0);
    text[MAX(n, 0)] = '\0';
    pid = (pid_t)strtol(text, &end, 10);
    start = strtoull(end, &end, 10);
    if (*end != '\n' || pid <= 0 || proc_stat(pid, &now, &state) < 0 || now != start ||
        state == 'Z' || state == 'X') {
        close(fd);
        return -ESRCH;
    }
    *ret_pid = pid;
    return fd;
}

/* True if the directory of a killed recorder is still needed. */
static bool is_needed(int dir, void *userdata)
{
    pid_t unused;
    _cleanup_(closep) int fd = open_restore(dir, &unused);

    (void)userdata;
    return fd >= 0;
}

struct restore_search {
    pid_t pid;
    bool drops;
    char *text;
    struct timespec written; /* when the text was written */
    int error;
};

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static bool search_restore(int dir, void *userdata)
{
    struct restore_search *search = userdata;
    _cleanup_free_ char *text = NULL;
    struct stat st;
    const char *body;
    size_t len = 0;
    pid_t pid = 0;
    _cleanup_(closep) int fd = open_restore(dir, &pid);
    int r;

    if (fd < 0)
        return false;
    if (pid != search->pid || search->drops)
        return pid != search->pid;
    r = fstat(fd, &st) < 0
            ? -errno
            : input_read_file(fd, REGISTRY_RESTORE_MAX, RESTORE_NAME, &text, &len, NULL);
    if (r < 0 || !text) {
        search->error = r == -ENOMEM ? r : search->error;
        return true;
    }
    text[len] = '\0';
    body = strchr(text, '\n');
    if (body && (!search->text || is_before(&st.st_mtim, &search->written))) {
        free(search->text);
        search->text = strdup(body + 1);
        search->error = search->text ? search->error : -ENOMEM;
        search->written = st.st_mtim;
    }
    return true;
}

int registry_find_restore(const char *parent, pid_t pid, char **ret)
{
    struct restore_search search = {.pid = pid};

    locked_dir_sweep(choose_parent(parent), PREFIX, true, search_restore, &search);
    if (search.error < 0) {
        free(search.text);
        return search.error;
    }
    *ret = search.text;
    return 0;
}

void registry_drop_restore(const char *parent, pid_t pid)
{
    struct restore_search search = {.pid = pid, .drops = true};

    locked_dir_sweep(choose_parent(parent), PREFIX, true, search_restore, &search);
}

/* ---- The directory ---- */

int registry_add(const char *parent, const char *trace, struct registry_entry *ret,
                 struct error *error)
{
    struct registry_entry registry_entry = REGISTRY_NONE;
    int r;

    parent = choose_parent(parent);
    locked_dir_sweep(parent, PREFIX, true, is_needed, NULL);
    /* What was there for a QEMU of another user. */
    if (strcmp(parent, "/tmp") != 0)
        locked_dir_sweep("/tmp", PREFIX, true, is_needed, NULL);
    r = locked_dir_make(parent, PREFIX, &registry_entry.dir);
    if (r >= 0)
        r = put_recording(&registry_entry, trace);
    if (r < 0) {
        registry_remove(&registry_entry);
        return error_set(error, r, parent, "cannot make a directory in it: %s", strerror(-r));
    }
    *ret = registry_entry;
    return 0;
}

void registry_remove(struct registry_entry *registry_entry)
{
    locked_dir_done(&registry_entry->dir, true);
}

void registry_leave(struct registry_entry *registry_entry)
{
    locked_dir_leave(&registry_entry->dir);
}

const char *registry_name(const struct registry_entry *registry_entry, const char *name,
                          char buf[REGISTRY_NAME_MAX])
{
    snprintf(buf, REGISTRY_NAME_MAX, "%s/%s", registry_entry->dir.path, name);
    return buf;
}

/* ---- Finding recordings ---- */

bool registry_is_recorded_by_other(const char *trace)
{
    _cleanup_(closep) int fd = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && st.st_uid != geteuid() &&
           flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

struct search {
    bool any_user;
    int (*found)(const struct registry_recording *recording, void *userdata);
    void *userdata;
};

static void read_limit(int dir, bool any_user, char limit[static REGISTRY_LIMIT_MAX])
{
    _cleanup_(closep) int fd = open_file(dir, LIMIT_NAME, any_user);
    ssize_t n = fd < 0 ? -1 : read(fd, limit, REGISTRY_LIMIT_MAX - 1);

    limit[MAX(n, 0)] = '\0';
}

static int find(const char *path, void *userdata)
{
    char limit[REGISTRY_LIMIT_MAX];
    const struct search *search = userdata;
    struct registry_recording recording = {0};
    char text[PATH_MAX + 32];
    struct stat st;
    ssize_t n;
    char *end;
    _cleanup_(closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_(closep) int fd = dir < 0 ? -1 : open_file(dir, FILE_NAME, search->any_user);

    if (fd < 0)
        return 0; /* it begins, or ends */
    n = read(fd, text, sizeof text - 1);
    if (n > 0 && fstat(fd, &st) == 0) {
        text[n] = '\0';
        recording.pid = (pid_t)strtol(text, &end, 10);
        recording.since_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        recording.user = st.st_uid;
        read_limit(dir, search->any_user, limit);
        recording.limit = limit;
        if (end[0] == '\n' && end[1] == '/')
            recording.trace = end + 1;
    }
    return recording.trace ? search->found(&recording, search->userdata) : 0;
}

int registry_foreach(const char *parent,
                     int (*found)(const struct registry_recording *recording, void *userdata),
                     void *userdata)
{
    struct search search = {.found = found, .userdata = userdata};
    int r;

    parent = choose_parent(parent);
    r = locked_dir_foreach(parent, PREFIX, false, find, &search);
    if (r == 0 && strcmp(parent, "/tmp") != 0)
        r = locked_dir_foreach("/tmp", PREFIX, false, find, &search);
    search.any_user = true;
    if (r == 0 && strcmp(parent, REGISTRY_SERVICES) != 0)
        r = locked_dir_foreach(REGISTRY_SERVICES, PREFIX, true, find, &search);
    return r;
}

struct recorder_search {
    pid_t pid;
    char *trace;
    size_t size;
    pid_t recorder;
};

static int find_recorder(const struct registry_recording *recording, void *userdata)
{
    struct recorder_search *search = userdata;
    struct manifest manifest = {0};

    /* One that begins has none yet. */
    (void)manifest_read(recording->trace, &manifest, NULL);
    for (unsigned i = 0; i < manifest.n_sources && search->recorder == 0; i++) {
        const struct manifest_source *source = &manifest.sources[i];

        if (source->vmm && source->vmm->pid == search->pid && !manifest_source_has_ended(source)) {
            search->recorder = recording->pid;
            snprintf(search->trace, search->size, "%s", recording->trace);
        }
    }
    manifest_done(&manifest);
    return search->recorder != 0;
}

pid_t registry_find_recorder(const char *parent, pid_t pid, char *trace, size_t size)
{
    struct recorder_search search = {.pid = pid, .trace = trace, .size = size};

    (void)registry_foreach(parent, find_recorder, &search);
    return search.recorder;
}
