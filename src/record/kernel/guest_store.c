/* SPDX-License-Identifier: MIT */
#include "record/kernel/guest_store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/fd.h"
#include "base/macro.h"
#include "base/remove_dir.h"
#include "tracedir/cpu_files.h"
#include "tracedir/manifest.h"
#include "tracedir/tracefs_copy.h"

#define FILES_MAX 65536u
/* Sources of a trace that are not guests. */
#define OTHER_SOURCES 16u
/* The name of a file until it ends. tracedir/tracefs_copy.h does not accept it from a guest. */
#define UNFINISHED ".unfinished"
/* Space that is reserved until the guest sends the tree, when the disk may be full; or half of it, and so on. */
#define TREE_ROOM ((off_t)2 << 20)
#define TREE_ROOM_MIN ((off_t)64 << 10)

bool guest_name_is_valid(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > 64 || name[0] == '.')
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

void guest_store_boot_name(const struct guest_store *store, unsigned boot, char *buf, size_t size)
{
    if (boot == 0)
        snprintf(buf, size, "%s", store->name);
    else
        snprintf(buf, size, "%s.%u", store->name, boot + 1);
}

static uint64_t size_of(int fd)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Of the files of pages of the present boot. */
static uint64_t pages_size(const struct guest_store *store)
{
    uint64_t size = 0;

    for (uint32_t i = 0; store->pages && i < PROTO_CPUS_MAX; i++) {
        struct stat st;
        char name[CPU_FILE_NAME_MAX];

        cpu_file_name(i, name);
        if (store->pages[i] >= 0)
            size += size_of(store->pages[i]);
        else if (store->pages[i] == GUEST_PAGES_CLOSED &&
                 fstatat(store->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            size += (uint64_t)st.st_size;
    }
    return size;
}

/* Drops the file that has begun. */
static void abandon_file(struct guest_store *store)
{
    if (store->file < 0)
        return;
    store->files_size -= MIN(store->file_size, store->files_size);
    close(store->file);
    store->file = -1;
    (void)unlinkat(store->dir, UNFINISHED, 0);
}

static void give_room(struct guest_store *store)
{
    if (store->room >= 0)
        close(store->room);
    store->room = -1;
}

static void close_boot(struct guest_store *store)
{
    abandon_file(store);
    give_room(store);
    store->earlier_size += pages_size(store);
    for (uint32_t i = 0; store->pages && i < PROTO_CPUS_MAX; i++) {
        if (store->pages[i] >= 0)
            close(store->pages[i]);
        store->pages[i] = GUEST_PAGES_NONE;
    }
    if (store->pairs >= 0)
        close(store->pairs);
    if (store->dir >= 0)
        close(store->dir);
    store->dir = store->pairs = -1;
}

static void keep_room(struct guest_store *store)
{
    store->room = openat(store->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    for (off_t size = TREE_ROOM; store->room >= 0 && size >= TREE_ROOM_MIN; size /= 2)
        if (fallocate(store->room, 0, 0, size) == 0)
            return;
    give_room(store);
}

unsigned guest_store_boots_max(unsigned n_guests)
{
    unsigned share = (MANIFEST_SOURCES_MAX - OTHER_SOURCES) / MAX(n_guests, 1u);

    return MAX(MIN(share, GUEST_BOOTS_MAX), 1u);
}

int guest_store_next_boot(struct guest_store *store, struct error *error)
{
    char name[128];

    if (store->n_boots >= store->boots_max)
        return error_set(error, -E2BIG, NULL,
                         "the guest has booted, or was set back, more than %u times",
                         store->boots_max);
    close_boot(store);
    store->is_pause_unwritten = false;
    if (store->parent < 0) {
        store->n_boots++;
        return 0;
    }
    guest_store_boot_name(store, store->n_boots, name, sizeof name);
    if (mkdirat(store->parent, name, 0755) < 0)
        return error_set(error, -errno, name, "cannot make the directory: %s", strerror(errno));
    store->dir = openat(store->parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store->dir < 0)
        return error_set(error, -errno, name, "cannot open the directory: %s", strerror(errno));
    store->n_boots++;
    keep_room(store);
    return 0;
}

int guest_store_next_rewound(struct guest_store *store, struct error *error)
{
    const struct copy_options options = {.link = true, .takes = tracefs_copy_has};
    int before = store->dir < 0 ? -1 : fcntl(store->dir, F_DUPFD_CLOEXEC, 3);
    char from[40], to[40];
    int r;

    if (store->dir >= 0 && before < 0)
        return error_set(error, -errno, NULL, "cannot copy a descriptor: %s", strerror(errno));
    r = guest_store_next_boot(store, error);
    give_room(store);
    if (r >= 0 && before >= 0) {
        snprintf(from, sizeof from, "/proc/self/fd/%d", before);
        snprintf(to, sizeof to, "/proc/self/fd/%d", store->dir);
        r = copy_dir(from, to, &options, error);
    }
    if (before >= 0)
        close(before);
    return r < 0 ? r : 0;
}

static struct guest_store *store_of(struct kernel_sink *sink)
{
    return container_of(sink, struct guest_store, sink);
}

static int sink_file_begin(struct kernel_sink *sink, const char *path, size_t len,
                           struct error *error)
{
    return guest_store_file_begin(store_of(sink), path, len, error);
}

static int sink_file_put(struct kernel_sink *sink, const void *p, size_t size, struct error *error)
{
    return guest_store_file_put(store_of(sink), p, size, error);
}

static int sink_file_end(struct kernel_sink *sink, struct error *error)
{
    return guest_store_file_end(store_of(sink), error);
}

static int sink_pages(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                      size_t size, struct error *error)
{
    (void)offset;
    return guest_store_put_pages(store_of(sink), cpu, p, size, error);
}

static const struct kernel_sink_ops sink_ops = {
    .file_begin = sink_file_begin,
    .file_put = sink_file_put,
    .file_end = sink_file_end,
    .pages = sink_pages,
};

int guest_store_open(int parent, const char *prefix, const char *name,
                     struct guest_store *ret_store, struct error *error)
{
    struct guest_store store = {.sink = {.ops = &sink_ops},
                                .parent = parent,
                                .dir = -1,
                                .file = -1,
                                .pairs = -1,
                                .room = -1,
                                .boots_max = GUEST_BOOTS_MAX};
    int r;

    snprintf(store.name, sizeof store.name, "%s%s", prefix, name);
    store.pages = malloc(PROTO_CPUS_MAX * sizeof *store.pages);
    if (!store.pages)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    for (uint32_t i = 0; i < PROTO_CPUS_MAX; i++)
        store.pages[i] = GUEST_PAGES_NONE;
    r = guest_store_next_boot(&store, error);
    if (r < 0) {
        guest_store_done(&store);
        return r;
    }
    *ret_store = store;
    return 0;
}

void guest_store_done(struct guest_store *store)
{
    close_boot(store);
    free(store->pages);
    store->pages = NULL;
}

void guest_store_remove(const struct guest_store *store)
{
    char name[128];

    guest_store_boot_name(store, 0, name, sizeof name);
    (void)unlinkat(store->dir, "cpu0.raw", 0);
    (void)unlinkat(store->dir, GUEST_PAIRS, 0);
    (void)unlinkat(store->parent, name, AT_REMOVEDIR);
}

void guest_store_discard(const struct guest_store *store)
{
    char name[128];

    for (unsigned i = 0; store->parent >= 0 && i < store->n_boots; i++) {
        guest_store_boot_name(store, i, name, sizeof name);
        (void)remove_dir_at(store->parent, name);
    }
}

/* Makes the directories above PATH, which was checked. */
static int make_dirs(struct guest_store *store, char *path)
{
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        int r;

        *slash = '\0';
        r = mkdirat(store->dir, path, 0755) < 0 && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (r < 0)
            return r;
    }
    return 0;
}

/* A file gets its name when it is complete: earlier pages need the one of that name, also if the disk is full now. */
static int open_file(struct guest_store *store)
{
    (void)unlinkat(store->dir, UNFINISHED, 0);
    store->file_size = 0;
    store->file =
        openat(store->dir, UNFINISHED, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    return store->file < 0 ? -errno : 0;
}

/* Replaces the earlier file of that name. */
static int name_file(struct guest_store *store)
{
    struct stat st;

    if (fstatat(store->dir, store->path, &st, AT_SYMLINK_NOFOLLOW) == 0)
        store->files_size -= MIN((uint64_t)MAX(st.st_size, (off_t)0), store->files_size);
    else if (++store->n_files > FILES_MAX)
        return -E2BIG;
    return renameat(store->dir, UNFINISHED, store->dir, store->path) < 0 ? -errno : 0;
}

/* R is the error of writing a file. 1: the earlier file of that name stays. */
static int on_unwritten(struct guest_store *store, int r, const char *what, struct error *error)
{
    bool is_there = faccessat(store->dir, store->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

    abandon_file(store);
    if (is_there && (r == -ENOSPC || r == -EDQUOT || r == -EFBIG))
        return 1;
    return error_set(error, r, store->path, "%s: %s", what, strerror(-r));
}

int guest_store_file_begin(struct guest_store *store, const char *path, size_t len,
                           struct error *error)
{
    int r;

    abandon_file(store);
    give_room(store);
    if (len >= sizeof store->path || !tracefs_copy_has(path, len))
        return error_set(error, -EPERM, NULL,
                         "the guest sends a file that tracefs does not have: \"%.*s\"",
                         (int)MIN(len, (size_t)100), path);
    memcpy(store->path, path, len);
    store->path[len] = '\0';
    store->is_open = true;
    if (store->parent < 0)
        return 0;
    r = make_dirs(store, store->path);
    if (r == 0)
        r = open_file(store);
    return r < 0 ? on_unwritten(store, r, "cannot make the file", error) : 0;
}

int guest_store_file_put(struct guest_store *store, const void *p, size_t size, struct error *error)
{
    int r;

    if (!store->is_open)
        return error_set(error, -EBADMSG, NULL,
                         "the guest sends data of a file that has not begun");
    if (store->file < 0)
        return 0;
    if (store->files_size + size > GUEST_FILES_SIZE_MAX)
        return error_set(error, -E2BIG, NULL, "the guest sends files of more than %u MiB",
                         (unsigned)(GUEST_FILES_SIZE_MAX >> 20));
    store->files_size += size;
    store->file_size += size;
    r = write_all(store->file, p, size);
    return r < 0 ? on_unwritten(store, r, "cannot write it", error) : 0;
}

int guest_store_file_end(struct guest_store *store, struct error *error)
{
    int r = 0;

    store->is_open = false;
    if (store->file < 0)
        return 0;
    r = name_file(store);
    close(store->file);
    store->file = -1;
    if (r == -E2BIG)
        return error_set(error, r, NULL, "the guest sends more than %u files", FILES_MAX);
    return r < 0 ? error_set(error, r, store->path, "cannot name the file: %s", strerror(-r)) : 0;
}

int guest_store_open_pages(struct guest_store *store, uint32_t cpu, struct error *error)
{
    const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    char name[CPU_FILE_NAME_MAX];
    int fd;

    if (cpu >= PROTO_CPUS_MAX)
        return error_set(error, -EBADMSG, NULL, "invalid CPU number %" PRIu32, cpu);
    if (store->parent < 0)
        return -ENODATA;
    cpu_file_name(cpu, name);
    if (store->pages[cpu] == GUEST_PAGES_NONE)
        fd = openat(store->dir, name, flags | O_CREAT | O_EXCL, 0644);
    else
        fd = openat(store->dir, name, flags);
    if (fd < 0)
        return error_set(error, -errno, name, "cannot open the file: %s", strerror(errno));
    if (store->pages[cpu] == GUEST_PAGES_NONE)
        store->pages[cpu] = GUEST_PAGES_CLOSED;
    return fd;
}

/* The same, but the store keeps it open until the boot ends. */
static int keep_pages(struct guest_store *store, uint32_t cpu, struct error *error)
{
    int fd;

    if (cpu < PROTO_CPUS_MAX && store->pages[cpu] >= 0)
        return store->pages[cpu];
    fd = guest_store_open_pages(store, cpu, error);
    if (fd >= 0)
        store->pages[cpu] = fd;
    return fd;
}

int guest_store_put_pages(struct guest_store *store, uint32_t cpu, const void *p, size_t size,
                          struct error *error)
{
    int fd = keep_pages(store, cpu, error);
    int r;

    if (fd < 0 && fd != -ENODATA)
        return fd;
    r = fd < 0 ? 0 : write_all(fd, p, size);
    return r < 0 ? error_set(error, r, NULL, "cannot write its pages: %s", strerror(-r)) : 0;
}

static int put_pair(struct guest_store *store, const struct guest_pair *pair, bool is_after_pause)
{
    char line[96];
    int n =
        snprintf(line, sizeof line, "%s%" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                 is_after_pause ? "# paused\n" : "", pair->host_ns, pair->guest, pair->error_ns);
    struct stat st;
    int r;

    if (store->parent < 0 || store->pairs_size + (uint64_t)n > GUEST_PAIRS_SIZE_MAX)
        return 0;
    if (store->pairs < 0)
        store->pairs =
            openat(store->dir, GUEST_PAIRS,
                   O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (store->pairs < 0)
        return -errno;
    if (fstat(store->pairs, &st) < 0)
        return -errno;
    r = write_all(store->pairs, line, (size_t)n);
    if (r >= 0)
        store->pairs_size += (uint64_t)n;
    else if (ftruncate(store->pairs, st.st_size) < 0) /* the next pair begins a line of its own */
        return -errno;
    return r;
}

int guest_store_pair(struct guest_store *store, const struct guest_pair *pair, bool is_after_pause)
{
    int r = put_pair(store, pair, is_after_pause || store->is_pause_unwritten);

    if (r >= 0 || !store->drops_when_full || (r != -ENOSPC && r != -EDQUOT)) {
        store->is_pause_unwritten = false;
        return r;
    }
    store->is_pause_unwritten |= is_after_pause;
    return 0;
}

uint64_t guest_store_size(const struct guest_store *store)
{
    return store->files_size + store->pairs_size + store->earlier_size + pages_size(store);
}
