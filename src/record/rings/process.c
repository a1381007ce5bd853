/* SPDX-License-Identifier: MIT */
#include "record/rings/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/proc.h"
#include "record/rings/rings_dir.h"
#include "runtime/ring/class_dump.h"

#define LENGTH_MAX (sizeof(struct process_file) + DESCRIPTIONS_MAX + (1U << 20))
/* 36 years since boot: sums of some of these are no overflow. */
#define MONOTONIC_MAX (INT64_MAX / 8)
#define CLOCK_HZ_MAX UINT64_C(1000000000000)

/* ---- The file ---- */

static int check(struct process *process, const char *path, struct error *error)
{
    const struct process_file *file = process->file;

    if (process->map.length < sizeof(*file) ||
        memcmp(file->magic, PROCESS_FILE_MAGIC, sizeof(file->magic)) != 0)
        return error_set(error, -EBADMSG, path,
                         "not the directory of a traced process, or the process was killed before "
                         "its first event");
    if (file->version != PROCESS_FILE_VERSION)
        return error_set(error, -ENOTSUP, path,
                         "is of version %u of libstrata's rings; this strata knows version %u",
                         file->version, PROCESS_FILE_VERSION);
    /* In the pool its entry has been compared, and the file may have changed since. */
    if (process->slot < 0) {
        process->pid = file->pid;
        process->start = file->start;
    }
    process->uid = file->uid;
    process->pid_namespace = file->pid_namespace;
    process->clock_kind =
        (enum clock_kind)__atomic_load_n(&process->file->clock_kind, __ATOMIC_RELAXED);
    process->clock_pair = file->clock_pair;
    memcpy(process->program, file->name, sizeof(file->name));
    memcpy(process->boot_id, file->boot_id, sizeof(file->boot_id));
    if (process->clock_kind > CLOCK_KIND_CNTVCT)
        return error_set(error, -EBADMSG, path, "names an unknown clock");
    if (process->clock_pair.monotonic < 0 || process->clock_pair.monotonic > MONOTONIC_MAX)
        return error_set(error, -EBADMSG, path, "invalid readings of its clocks");
    return 0;
}

/* Cuts "/slot-N-PID-START" off PATH, which then names the pool. False: that is not what is there. */
static bool cut_slot(char *path, unsigned *ret_slot, uint32_t *ret_pid, uint64_t *ret_start)
{
    char *name = strrchr(path, '/');
    unsigned long slot, pid;
    char *end;

    if (!name || strncmp(name + 1, SLOT_PREFIX, strlen(SLOT_PREFIX)) != 0)
        return false;
    slot = strtoul(name + 1 + strlen(SLOT_PREFIX), &end, 10);
    if (*end != '-' || slot >= POOL_SLOTS)
        return false;
    pid = strtoul(end + 1, &end, 10);
    if (*end != '-' || pid > INT32_MAX)
        return false;
    *ret_start = strtoull(end + 1, &end, 10);
    if (*end)
        return false;
    *ret_slot = (unsigned)slot;
    *ret_pid = (uint32_t)pid;
    *name = '\0';
    return true;
}

bool process_is_slot(const char *path)
{
    _cleanup_free_ char *copy = strdup(path);
    unsigned slot;
    uint32_t pid;
    uint64_t start;

    return copy && cut_slot(copy, &slot, &pid, &start);
}

/* Cuts the last part off PATH. */
static bool cut_name(char *path)
{
    char *name = strrchr(path, '/');

    if (!name || name == path)
        return false;
    *name = '\0';
    return true;
}

/* A process file in the pool. -ENOENT: PATH is not of one. */
static int open_slot(struct process *process, const char *path, struct error *error)
{
    _cleanup_free_ char *parent = strdup(path);
    struct pool_slot entry;
    unsigned slot;
    uint32_t pid;
    uint64_t start;
    int r;

    if (!parent)
        return -ENOMEM;
    if (!cut_slot(parent, &slot, &pid, &start) || !cut_name(parent))
        return -ENOENT;
    process->path = strdup(path);
    if (!process->path)
        return -ENOMEM;
    r = pool_open(parent, &process->pool);
    if (r < 0)
        return error_set(error, r == -ENOENT ? -ESTALE : r, path, "%s", strerror(-r));
    if (!pool_get(process->pool, slot, &entry) || entry.pid != pid || entry.start != start ||
        entry.number != POOL_PROCESS)
        return error_set(error, -ESTALE, path, "the process has ended");
    process->slot = (int)slot;
    process->pid = pid;
    process->start = start;
    process->fd = fcntl(process->pool->fd, F_DUPFD_CLOEXEC, 0);
    r = process->fd < 0 ? -errno
                        : shared_map_init(&process->map, process->fd, pool_slot_offset(slot),
                                          POOL_SLOT_SIZE, true, false);
    if (r < 0)
        return error_set(error, r, path, "%s", strerror(-r));
    process->file = process->map.bytes;
    process->writes = true;
    /* It may be any user's. */
    process->is_ours = false;
    if (__atomic_load_n(&process->file->pid, __ATOMIC_RELAXED) != pid ||
        __atomic_load_n(&process->file->start, __ATOMIC_RELAXED) != start)
        return error_set(error, -EBADMSG, path, "its process file is damaged");
    return 0;
}

/* The pool beside its directory, if there is one. */
static void open_pool_beside(struct process *process)
{
    _cleanup_free_ char *parent = strdup(process->path);

    if (parent && cut_name(parent))
        (void)pool_open(parent, &process->pool);
}

static int map_file(struct process *process, bool write, struct error *error)
{
    struct stat st;
    int r;

    process->fd = openat(process->dir, PROCESS_FILE_NAME,
                         (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (process->fd < 0)
        return error_set(error, -errno, process->path,
                         errno == ENOENT ? "is not the directory of a traced process"
                                         : "its file 'process' cannot be opened: %s",
                         strerror(errno));
    if (fstat(process->fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct process_file) ||
        st.st_size > (off_t)LENGTH_MAX)
        return error_set(error, -EBADMSG, process->path, "its file 'process' is damaged");
    r = shared_map_init(&process->map, process->fd, 0, (size_t)st.st_size, write, false);
    if (r < 0)
        return error_set(error, r, process->path, "%s", strerror(-r));
    process->file = process->map.bytes;
    process->writes = write;
    process->is_ours = st.st_uid == geteuid();
    return 0;
}

int process_refresh(struct process *process, struct error *error)
{
    uint64_t described = __atomic_load_n(&process->file->described, __ATOMIC_ACQUIRE);
    struct stat st;

    if (described > process->map.length - sizeof(struct process_file)) {
        int r;

        if (process->slot >= 0)
            return error_set(error, -EBADMSG, process->path, "its process file is damaged");
        if (fstat(process->fd, &st) < 0)
            return error_set(error, -errno, process->path, "%s", strerror(errno));
        if (st.st_size > (off_t)LENGTH_MAX || st.st_size < (off_t)process->map.length ||
            described > (uint64_t)st.st_size - sizeof(struct process_file))
            return error_set(error, -EBADMSG, process->path, "its file 'process' is damaged");
        r = shared_map_grow(&process->map, process->fd, (size_t)st.st_size, process->writes);
        if (r < 0)
            return error_set(error, r, process->path, "%s", strerror(-r));
        process->file = process->map.bytes;
    }
    if (shared_map_is_cut(&process->map))
        return error_set(error, -EBADMSG, process->path, "its file 'process' was cut short");
    return classes_read(&process->classes, (const uint8_t *)(process->file + 1), described,
                        process->path, error);
}

int process_open(const char *path, bool write, struct process **ret, struct error *error)
{
    struct process *process = calloc(1, sizeof(*process));
    int r;

    if (!process)
        return error_set(error, -ENOMEM, path, "out of memory");
    process->dir = process->fd = process->slot = -1;
    r = open_slot(process, path, error);
    if (r == -ENOENT) {
        process->path = realpath(path, NULL);
        if (process->path)
            process->dir = open(process->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (process->dir < 0)
            r = error_set(error, -errno, path, "%s", strerror(errno));
        else
            r = map_file(process, write, error);
        if (r >= 0)
            open_pool_beside(process);
    }
    if (r >= 0)
        r = check(process, process->path, error);
    if (r >= 0)
        r = process_refresh(process, error);
    if (r < 0) {
        process_free(process);
        return error_set(error, r, path, "%s", error_text(r));
    }
    *ret = process;
    return 0;
}

void process_free(struct process *process)
{
    if (!process)
        return;
    classes_done(&process->classes);
    shared_map_done(&process->map);
    pool_close(process->pool);
    if (process->fd >= 0)
        close(process->fd);
    if (process->dir >= 0)
        close(process->dir);
    free(process->path);
    free(process);
}

int process_lock(struct process *process, struct error *error)
{
    /* The pool's file is that of many processes. */
    struct flock slot = {
        .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = process->slot < 0 ? 0 : (off_t)pool_slot_offset((unsigned)process->slot),
        .l_len = 1};

    if (process->slot < 0 ? flock(process->fd, LOCK_EX | LOCK_NB) == 0
                          : fcntl(process->fd, F_OFD_SETLK, &slot) == 0)
        return 0;
    if (errno == EAGAIN)
        errno = EWOULDBLOCK;
    return error_set(error, -EBUSY, process->path,
                     errno == EWOULDBLOCK ? "another strata is reading these rings"
                                          : "cannot be locked: %s",
                     strerror(errno));
}

const struct process_trace *process_trace(struct process *process)
{
    uint32_t trace = __atomic_load_n(&process->file->trace, __ATOMIC_ACQUIRE);
    struct process_trace *at = &process->trace;

    if (trace < 1 || trace > 2)
        return NULL;
    memcpy(at, &process->file->traces[trace - 1], sizeof(*at));
    return at->path[0] == '/' && memchr(at->path, 0, sizeof(at->path)) ? at : NULL;
}

void process_note_trace(struct process *process, const char *path, const uint8_t uuid[16])
{
    process_file_put_trace(process->file->traces, &process->file->trace, path, uuid);
}

uint64_t process_clock_hz(const struct process *process, uint64_t hint)
{
    enum clock_kind kind = process->clock_kind;
    struct clock_pair now;
    uint64_t hz = 0;

    if (kind == CLOCK_KIND_MONOTONIC)
        return 1000000000;
    if (kind == trace_clock_kind() && process_is_of_this_boot(process)) {
        now = trace_clock_pair(NULL);
        hz = clock_rate(&process->clock_pair, &now);
        /* Too short a time ago. Ours is the same clock. */
        if (!hz && !hint)
            hz = trace_clock_hz();
    }
    if (!hz || hz > CLOCK_HZ_MAX)
        hz = hint;
    return hz && hz <= CLOCK_HZ_MAX ? hz : 1000000000;
}

/* ---- Its rings ---- */

/* The N of "ring-N", -1: it is another name. */
static int ring_number(const char *name)
{
    char *end;
    unsigned long n;

    if (strncmp(name, RING_FILE_PREFIX, strlen(RING_FILE_PREFIX)) != 0)
        return -1;
    name += strlen(RING_FILE_PREFIX);
    if (*name < '0' || *name > '9' || (*name == '0' && name[1]))
        return -1;
    n = strtoul(name, &end, 10);
    return *end || n >= RINGS_MAX ? -1 : (int)n;
}

static int by_number(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return x < y ? -1 : x > y;
}

static int map_ring_file(const struct process *process, unsigned number, bool write, uint64_t max,
                         struct shared_map *map)
{
    _cleanup_(closep) int fd = -1;
    char name[32];
    struct stat st;

    if (process->dir < 0)
        return -ENOENT;
    snprintf(name, sizeof(name), RING_FILE_PREFIX "%u", number);
    fd = openat(process->dir, name,
                (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (S_ISREG(st.st_mode) && st.st_size == 0)
        return -EAGAIN;
    if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct ring_map) ||
        (uint64_t)st.st_size > max)
        return -EBADMSG;
    return shared_map_init(map, fd, 0, (size_t)st.st_size, write, !write);
}

static int map_ring_slot(const struct process *process, unsigned number, bool write, uint64_t max,
                         struct shared_map *map)
{
    int slot = process->pool ? pool_find(process->pool, process->pid, process->start, number) : -1;
    struct pool_slot entry;

    if (slot < 0 || !pool_get(process->pool, (unsigned)slot, &entry))
        return -ENOENT;
    if (entry.length < sizeof(struct ring_map) || entry.length > max)
        return -EBADMSG;
    return shared_map_init(map, process->pool->fd, pool_slot_offset((unsigned)slot),
                           (size_t)entry.length, write, !write);
}

int process_map_ring(const struct process *process, unsigned number, bool write, uint64_t max,
                     struct shared_map *map)
{
    int r = map_ring_file(process, number, write, max, map);

    return r == -ENOENT ? map_ring_slot(process, number, write, max, map) : r;
}

int process_rings_state(const struct process *process, struct process_rings_state *ret)
{
    struct process_rings_state state = {0};
    struct stat st;

    if (process->dir >= 0) {
        if (fstat(process->dir, &st) < 0)
            return -errno;
        state.mtime = st.st_mtim;
    }
    if (process->pool)
        state.pool_changes = __atomic_load_n(&process->pool->file->changes, __ATOMIC_ACQUIRE);
    *ret = state;
    return 0;
}

static int read_ring_files(const struct process *process, unsigned *numbers, unsigned *n)
{
    _cleanup_(closedirp) DIR *dir = NULL;
    struct dirent *entry;

    if (process->dir < 0)
        return 0;
    dir = open_dir_at(process->dir, ".");
    if (!dir)
        return -errno;
    while (*n < RINGS_MAX &&
           (entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        int number = ring_number(entry->d_name);

        if (number >= 0)
            numbers[(*n)++] = (unsigned)number;
    }
    return 0;
}

static void read_ring_slots(const struct process *process, unsigned *numbers, unsigned *n)
{
    struct pool_slot slot;

    for (unsigned i = 0; process->pool && i < POOL_SLOTS && *n < RINGS_MAX; i++)
        if (pool_get(process->pool, i, &slot) && slot.pid == process->pid &&
            slot.start == process->start && slot.number < RINGS_MAX)
            numbers[(*n)++] = slot.number;
}

int process_rings(const struct process *process, unsigned **ret, unsigned *ret_n)
{
    _cleanup_free_ unsigned *numbers = calloc(RINGS_MAX, sizeof(*numbers));
    unsigned n = 0;
    int r;

    if (!numbers)
        return -ENOMEM;
    r = read_ring_files(process, numbers, &n);
    if (r < 0)
        return r;
    read_ring_slots(process, numbers, &n);
    qsort(numbers, n, sizeof(*numbers), by_number);
    *ret = TAKE_PTR(numbers);
    *ret_n = n;
    return 0;
}

static int remove_dir(const struct process *process)
{
    _cleanup_free_ unsigned *rings = calloc(RINGS_MAX, sizeof(*rings));
    unsigned n = 0;
    int r = rings ? read_ring_files(process, rings, &n) : -ENOMEM;

    for (unsigned i = 0; r >= 0 && i < n; i++) {
        char name[32];

        snprintf(name, sizeof(name), RING_FILE_PREFIX "%u", rings[i]);
        if (unlinkat(process->dir, name, 0) < 0 && errno != ENOENT)
            r = -errno;
    }
    /* Last: without it, what the rings hold cannot be decoded. */
    if (r >= 0 && unlinkat(process->dir, PROCESS_FILE_NAME, 0) < 0 && errno != ENOENT)
        r = -errno;
    if (r >= 0 && rmdir(process->path) < 0 && errno != ENOENT)
        r = -errno;
    return r;
}

int process_remove(struct process *process, struct error *error)
{
    int r = process->dir >= 0 ? remove_dir(process) : 0;

    /* One that lives goes on writing there, whatever boot a process file in the pool says it is of. */
    if (process->pool && process_is_alive(process, NULL) == 0 &&
        process_has_its_number(process) == 0)
        pool_free(process->pool, process->pid, process->start);
    return r < 0 ? error_set(error, r, process->path, "cannot be removed: %s", strerror(-r)) : 0;
}
