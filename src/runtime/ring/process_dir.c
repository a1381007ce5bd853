/* SPDX-License-Identifier: MIT */

/* The directory is made by a thread's first event, which may be in a signal handler that interrupts
 * anything, this code too. So nothing here allocates or waits, but for mmap() and the file system; who
 * finds out that another was faster takes his own work away again. What is in the process file is
 * copied from memory (runtime/ring/class_dump.h), as often as anybody likes: the bytes are the same. */

#include "runtime/ring/process_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/format.h"
#include "runtime/macro.h"
#include "runtime/message.h"
#include "runtime/process/proc_file.h"
#include "runtime/process/program.h"
#include "runtime/process/thread_number.h"
#include "runtime/ring/class_dump.h"
#include "runtime/ring/process_file.h"
#include "runtime/ring/reserve_memory.h"
#include "runtime/ring/ring_drops.h"
#include "runtime/ring/ring_pool.h"
#include "runtime/ring/rings_parent.h"
#include "runtime/scratch_buffer.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define PAGE 4096U

#define PARENT_SIZE 512
#define PATH_SIZE (PARENT_SIZE + RINGS_NAME_SIZE + 32)

/* The file has more space than is used, so that it seldom must be opened again: by then the program may
 * be another user, or have another root. */
#define SLACK (64U << 10)

/* How often a directory is made that a recorder takes away as abandoned: one in another pid namespace does not see that
 * this process runs. */
#define MAKE_DIR_MAX 100

/* How long a thread waits for the thread that creates the directory, which may be stopped in between. */
#define MAKER_PAUSE_NS 100000L
#define MAKER_PAUSES_MAX 10000

/* Wiped in a child, also in one whose fork ran none of our handlers. */
struct place {
    uint32_t alive;
    bool pooled; /* no directory: the process file is in the recorder's ring pool */
    char path[PARENT_SIZE + RINGS_NAME_SIZE];
    char hidden[RINGS_NAME_SIZE]; /* the directory's name until it has its process file */
    struct process_file *file;
    atomic_ullong allocated; /* bytes of descriptions that there is space for */
};

static struct place *_Atomic place;
static struct process_file *mapped; /* not wiped */

static struct {
    char parent[PARENT_SIZE]; /* empty: the default */
    bool unnamed;
    bool ended;
    atomic_bool writes;
    atomic_int error; /* why a ring has no name; not reported yet */
    bool is_reported;
} setup = {.writes = true};

/* What process_dir_plan_trace() said, for the process file that is not there yet; 0: nothing, else the one of the
 * two that holds, from 1 on. */
static struct {
    struct process_trace traces[2];
    uint32_t trace;
    uint8_t uuid[16];
} planned;

static _Atomic uint32_t maker; /* the number of the thread that makes the place; 0: none does */

static struct place *get_place(void)
{
    struct place *at = atomic_load_explicit(&place, memory_order_acquire);

    return at && at->alive ? at : NULL;
}

int process_dir_setup(const char *parent, bool names)
{
    size_t len = strlen(parent);

    if (len >= sizeof(setup.parent))
        return -ENAMETOOLONG;
    if (strcmp(setup.parent, parent) != 0) {
        memset(setup.parent, 0, sizeof(setup.parent));
        memcpy(setup.parent, parent, len);
    }
    setup.unnamed = !names;
    if (names && setup.parent[0])
        ring_pool_map(setup.parent);
    return 0;
}

/* ---- What is known of the process, without a library that could take locks ---- */

static void read_boot_id(uint8_t ret[16])
{
    char text[64];
    unsigned n = 0;

    proc_read("/proc/sys/kernel/random/boot_id", text, sizeof(text));
    for (const char *p = text; *p && n < 32; p++) {
        int digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;

        if (digit < 0)
            continue;
        ret[n / 2] = (uint8_t)(ret[n / 2] << 4 | digit);
        n++;
    }
}

static uint32_t process_flags(void)
{
    return (atomic_load(&setup.writes) ? PROCESS_WRITES : 0) |
           (ring_pool_is_mapped() ? PROCESS_WAKES : 0);
}

static void describe_process(struct process_file *file)
{
    file->version = PROCESS_FILE_VERSION;
    file->flags = process_flags();
    file->pid = (uint32_t)getpid();
    file->uid = (uint32_t)geteuid();
    file->start = proc_start_time();
    file->pid_namespace = proc_pid_namespace();
    read_boot_id(file->boot_id);
    file->clock_kind = trace_clock_kind();
    file->clock_pair = trace_clock_pair(NULL);
    file->no_ring = ring_drops_without_ring() - ring_pool_no_ring();
    if (planned.trace) {
        file->traces[0] = planned.traces[planned.trace - 1];
        file->trace = 1;
        memcpy(file->planned_uuid, planned.uuid, sizeof(file->planned_uuid));
    }
    strncpy(file->name, program_name(), sizeof(file->name) - 1);
    /* Last: the magic states that the rest of the file is complete. */
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(file->magic, PROCESS_FILE_MAGIC, sizeof(file->magic));
}

/* ---- Making the directory ---- */

static int map_process_file(int dir, struct place *at)
{
    size_t described;
    uint64_t length;
    void *file;
    int fd, r;

    (void)class_dump_all(&described);
    fd = openat(dir, PROCESS_FILE_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    length = sizeof(struct process_file) + described + SLACK;
    r = reserve_file_space(fd, length, length);
    if (r >= 0) {
        /* All that it may ever have is mapped now, and space taken for it when it is needed. */
        file = mmap(NULL, sizeof(struct process_file) + DESCRIPTIONS_MAX, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (file == MAP_FAILED)
            r = -errno;
        else
            at->file = file;
        atomic_store(&at->allocated, described + SLACK);
    }
    close(fd);
    return r;
}

static void sync_to(struct place *at);

static struct place *new_place(void)
{
    struct place *at =
        mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    (void)madvise(at, sizeof(*at), MADV_WIPEONFORK);
    return at;
}

/* AT is the process's from now on, unless another thread, or a handler, was faster: then *BEFORE is. */
static bool install_place(struct place *at, struct place **before)
{
    at->alive = 1;
    return !(*before && (*before)->alive) && atomic_compare_exchange_strong(&place, before, at);
}

/* In the recorder's ring pool, where no directory can be made. */
static int make_pooled_place(struct place **ret)
{
    struct place *at = new_place(), *before = atomic_load(&place);
    unsigned slot;
    size_t described, size;

    if (!at)
        return -ENOMEM;
    at->file = ring_pool_take(POOL_PROCESS, &slot);
    if (!at->file) {
        munmap(at, sizeof(*at));
        return -ENOSPC;
    }
    at->pooled = true;
    (void)class_dump_all(&described);
    size =
        MIN(sizeof(struct process_file) + described + SLACK, POOL_SLOT_SIZE) & ~(size_t)(PAGE - 1);
    if (!reserve_pages_by_touch(at->file, size)) {
        ring_pool_give_back(slot);
        munmap(at, sizeof(*at));
        return -ENOSPC;
    }
    atomic_store(&at->allocated, size - sizeof(struct process_file));
    describe_process(at->file);
    if (!install_place(at, &before)) {
        ring_pool_give_back(slot);
        munmap(at, sizeof(*at));
        at = before;
    } else {
        sync_to(at);
        ring_pool_publish(slot, POOL_SLOT_SIZE);
    }
    *ret = at;
    return 0;
}

/* Makes the directory in PARENT, with the process file. Returns it open; LINE is at its path, behind the '/'. */
static int make_dir(int parent, struct line *line, struct place *at)
{
    int dir = rings_parent_make_hidden(setup.parent, parent, at->hidden), r;

    if (dir < 0)
        return dir;
    r = map_process_file(dir, at);
    if (r >= 0) {
        describe_process(at->file);
        r = rings_parent_show(setup.parent, parent, at->hidden, line);
    }
    if (r >= 0)
        return dir;
    if (at->file)
        munmap(at->file, sizeof(struct process_file) + DESCRIPTIONS_MAX);
    at->file = NULL;
    unlinkat(dir, PROCESS_FILE_NAME, 0);
    unlinkat(parent, at->hidden, AT_REMOVEDIR);
    close(dir);
    return r;
}

/* The threads of a process create one place, because two directories could both be recorded even if one is removed
 * again. Returns true if this thread creates it and is `maker`. False: it exists now, or another thread is creating it,
 * which this handler has interrupted or which is stopped; then this thread creates its place beside it. */
static bool become_maker(void)
{
    const struct timespec pause = {.tv_nsec = MAKER_PAUSE_NS};

    for (unsigned i = 0; i < MAKER_PAUSES_MAX; i++) {
        uint32_t none = 0;

        if (atomic_compare_exchange_strong(&maker, &none, thread_number()))
            return true;
        if (none == thread_number())
            return false;
        nanosleep(&pause, NULL);
        if (get_place())
            return false;
    }
    return false;
}

static int make_named_place(struct place **ret)
{
    struct place *at = new_place(), *before = atomic_load(&place);
    struct line line;
    int dir = -1, parent, r;

    if (!at)
        return -ENOMEM;
    line = (struct line){at->path, at->path + sizeof(at->path) - 1, false};
    parent = rings_parent_open(setup.parent, &line);
    r = parent < 0 ? parent
        : rings_parent_is_full(setup.parent, parent)
            ? -EMLINK
            : rings_parent_leaves_space(setup.parent, parent, SLACK);
    if (r >= 0)
        for (unsigned i = 0; i == 0 || (dir == -ENOENT && i < MAKE_DIR_MAX); i++)
            r = dir = make_dir(parent, &line, at);
    if (r < 0) {
        munmap(at, sizeof(*at));
    } else if (install_place(at, &before)) {
        mapped = at->file;
        sync_to(at);
        *ret = at;
    } else {
        munmap(at->file, sizeof(struct process_file) + DESCRIPTIONS_MAX);
        unlinkat(dir, PROCESS_FILE_NAME, 0);
        unlinkat(parent, strrchr(at->path, '/') + 1, AT_REMOVEDIR);
        munmap(at, sizeof(*at));
        *ret = before; /* which was faster */
    }
    if (dir >= 0)
        close(dir);
    if (parent >= 0)
        close(parent);
    return MIN(r, 0);
}

static int make_place(struct place **ret)
{
    bool is_maker = become_maker();
    int r = 0;

    *ret = get_place();
    if (!*ret)
        r = make_named_place(ret);
    if (is_maker)
        atomic_store(&maker, 0);
    return r;
}

/* ---- What is in it ---- */

_Static_assert(PATH_SIZE <= SCRATCH_SIZE, "a path is made in scratch memory");

/* The path of a file in the directory, in scratch memory: the stack may be small. NULL: no memory. */
static char *take_path(const struct place *at, const char *name, int number)
{
    char *path = scratch_buffer_get();
    struct line line = {path, path + PATH_SIZE - 1, false};

    if (!path)
        return NULL;

    line_put(&line, at->path, strlen(at->path));
    line_put(&line, "/", 1);
    line_put(&line, name, strlen(name));
    if (number >= 0)
        line_put_decimal(&line, (uint64_t)number);
    *line.at = '\0';
    return path;
}

static void remove_file(const struct place *at, const char *name, int number)
{
    char *path = take_path(at, name, number);

    if (path)
        (void)unlink(path);
    scratch_buffer_put(path);
}

static int grow_pooled(struct place *at, uint64_t described)
{
    uint64_t size = (sizeof(struct process_file) + described + PAGE - 1) & ~(uint64_t)(PAGE - 1);

    if (size > POOL_SLOT_SIZE || !reserve_pages_by_touch(at->file, (size_t)size))
        return -ENOSPC;
    atomic_store(&at->allocated, size - sizeof(struct process_file));
    return 0;
}

static int grow(struct place *at, uint64_t described)
{
    char *path = at->pooled ? NULL : take_path(at, PROCESS_FILE_NAME, -1);
    int fd, r;

    if (at->pooled)
        return grow_pooled(at, described);
    if (!path)
        return -ENOMEM;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    r = fd < 0 ? -errno : 0;
    scratch_buffer_put(path);
    if (r < 0)
        return r;
    r = reserve_file_space(fd, sizeof(struct process_file) + described + SLACK,
                           sizeof(struct process_file) + described + SLACK);
    close(fd);
    if (r >= 0)
        atomic_store(&at->allocated, described + SLACK);
    return r;
}

static void note_error(int error)
{
    int none = 0;

    atomic_compare_exchange_strong(&setup.error, &none, error);
}

_Static_assert(sizeof(struct process_file) % 8 == 0, "descriptions are of whole words");

/* Others may write the same at the same time. */
static void copy_words(uint64_t *to, const uint64_t *from, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

/* Writes missing descriptions. Each thread does this before it creates a ring, because the thread that created the
 * place may be stopped and killed before it has done so. process_dir_describe() writes later descriptions. */
static void sync_to(struct place *at)
{
    struct process_file *file = at->file;
    uint64_t done = __atomic_load_n(&file->described, __ATOMIC_RELAXED);
    size_t size;
    const uint8_t *bytes = class_dump_all(&size);

    if (done >= size)
        return;
    if (size > atomic_load(&at->allocated)) {
        int r = grow(at, size);

        if (r < 0) {
            note_error(r);
            return;
        }
    }
    copy_words((uint64_t *)(file + 1), (const uint64_t *)(const void *)bytes, (size_t)done / 8,
               size / 8);
    /* Another may have been faster, and know more. */
    while (done < size && !__atomic_compare_exchange_n(&file->described, &done, size, false,
                                                       __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void process_dir_show(void)
{
    struct place *at = get_place();
    int r;

    if (at || setup.unnamed || setup.ended || atomic_load(&setup.writes) || ring_pool_is_mapped())
        return;
    r = make_place(&at);
    if (r < 0)
        note_error(r);
}

bool process_dir_describe(struct trace_class *class)
{
    struct place *at;

    if (class->described)
        return true;
    if (!class_dump_class(class))
        return false;
    /* Either the place is seen here, or the description by those who see the place. */
    atomic_thread_fence(memory_order_seq_cst);
    at = get_place();
    if (at)
        sync_to(at);
    return true;
}

void process_dir_count_no_ring(void)
{
    struct place *at = get_place();

    if (at)
        __atomic_fetch_add(&at->file->no_ring, 1, __ATOMIC_RELAXED);
    else
        (void)ring_pool_count_no_ring();
}

void process_dir_set_writes(bool writes)
{
    struct place *at;

    atomic_store(&setup.writes, writes);
    at = get_place();
    if (at)
        __atomic_store_n(&at->file->flags, process_flags(), __ATOMIC_RELEASE);
}

/* Into the one of the two that does not hold. */
static void put_trace(struct process_trace traces[2], uint32_t *trace, const char *path,
                      const uint8_t uuid[16])
{
    uint32_t now = *(volatile uint32_t *)trace; /* once: others can write to the pool */

    if (now < 1 || now > 2 ||
        strncmp(traces[now - 1].path, path, sizeof(traces[now - 1].path)) != 0 ||
        memcmp(traces[now - 1].uuid, uuid, 16) != 0)
        process_file_put_trace(traces, trace, path, uuid);
}

void process_dir_plan_trace(const char *path, const uint8_t uuid[16])
{
    static const uint8_t none[16];

    put_trace(planned.traces, &planned.trace, path, none);
    memcpy(planned.uuid, uuid, sizeof(planned.uuid));
}

void process_dir_note_trace(const char *path, const uint8_t uuid[16])
{
    struct place *at = get_place();

    if (at)
        put_trace(at->file->traces, &at->file->trace, path, uuid);
}

/* ---- Rings ---- */

/* FIRST: of so many bytes the space is taken now. */
static int make_named(uint64_t length, uint64_t first, uint32_t number)
{
    struct place *at = get_place();
    char *path;
    int fd, r;

    if (!at) {
        r = make_place(&at);
        if (r < 0)
            return r;
    }
    if (at->pooled)
        return -EACCES;
    sync_to(at);
    path = take_path(at, RING_FILE_PREFIX, (int)number);
    if (!path)
        return -ENOMEM;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    r = fd < 0 ? -errno : 0;
    scratch_buffer_put(path);
    if (r < 0)
        return r;
    r = rings_parent_leaves_space(setup.parent, fd, length);
    if (r >= 0)
        r = reserve_file_space(fd, length, first);
    if (r < 0) {
        remove_file(at, RING_FILE_PREFIX, (int)number);
        close(fd);
        return r;
    }
    return fd;
}

/* Maps a ring file in the process's directory. NULL, with *RET_ERROR. */
static void *map_named(size_t length, size_t first, uint32_t number, int *ret_error)
{
    int fd = make_named(length, first, number);
    void *bytes;

    if (fd < 0) {
        *ret_error = fd;
        return NULL;
    }
    bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (bytes != MAP_FAILED && reserve_pages_by_touch(bytes, first))
        return bytes;
    *ret_error = -ENOMEM;
    if (bytes != MAP_FAILED)
        munmap(bytes, length);
    process_dir_unmake_ring(number);
    return NULL;
}

/* A slot of the recorder's pool. */
static void *map_pooled(size_t length, size_t first, uint32_t number)
{
    struct place *at = get_place();
    unsigned slot;
    void *bytes;

    /* A process that writes its rings out by itself would have to check each record of them: others can write to the
     * pool. */
    if (length > POOL_SLOT_SIZE || atomic_load(&setup.writes) ||
        (!at && make_pooled_place(&at) < 0))
        return NULL;
    sync_to(at);
    bytes = ring_pool_take(number, &slot);
    if (!bytes)
        return NULL;
    if (!reserve_pages_by_touch(bytes, first)) {
        ring_pool_give_back(slot);
        return NULL;
    }
    ring_pool_publish(slot, length);
    return bytes;
}

/* It needs no descriptor, and RLIMIT_FSIZE does not hold for it. */
static void *map_anonymous(size_t length, size_t first)
{
    void *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED)
        return NULL;
    if (!reserve_pages_by_touch(bytes, first)) {
        munmap(bytes, length);
        return NULL;
    }
    return bytes;
}

void *dir_map_ring(size_t length, size_t first, uint32_t number, bool is_read_here,
                   bool smaller_will_do, bool *ret_has_file, bool *ret_all)
{
    void *bytes = NULL;

    *ret_all = !reserve_is_supported();
    if (*ret_all)
        first = length;
    if (!setup.unnamed && !setup.ended) {
        int error = 0;

        bytes = map_named(length, first, number, &error);
        if (!bytes)
            bytes = map_pooled(length, first, number);
        if (!bytes && smaller_will_do)
            return NULL;
        if (!bytes)
            note_error(error);
    }
    *ret_has_file = bytes != NULL;
    /* What is in memory that only this process has is lost, uncounted, if this process does not read it. */
    if (!bytes && (setup.unnamed || is_read_here || atomic_load(&setup.writes)))
        bytes = map_anonymous(length, first);
    return bytes;
}

const char *dir_path(void)
{
    const struct place *at = get_place();

    return at ? at->path : NULL;
}

void process_dir_unmake_ring(uint32_t number)
{
    struct place *at = get_place();

    if (at && !at->pooled)
        remove_file(at, RING_FILE_PREFIX, (int)number);
}

void process_dir_complain(void)
{
    int error = atomic_load(&setup.error);

    if (!error || setup.is_reported)
        return;
    setup.is_reported = true;
    trace_message(
        "cannot create rings in %s: %s; %s (use rings=DIR for another directory)",
        setup.parent[0] ? setup.parent : "/dev/shm",
        error == -EMLINK ? "it holds the rings of too many ended processes; see 'strata recover'"
                         : strerror(-error),
        atomic_load(&setup.writes) ? "what is in them will be lost if the program is killed"
                                   : "events are lost");
}

/* ---- The end, and children ---- */

void process_dir_end(unsigned n_rings, bool remove)
{
    struct place *at = get_place();

    setup.ended = true;
    if (!at || !remove || at->pooled) /* slots of the pool are the recorder's to free */
        return;
    for (unsigned i = 0; i < n_rings; i++)
        process_dir_unmake_ring(i);
    /* Last: without it no reader can decode the rings. */
    remove_file(at, PROCESS_FILE_NAME, -1);
    (void)rmdir(at->path);
}

void process_dir_forget(void)
{
    struct place *at = atomic_load(&place);

    /* A handler may have emitted since, and made a directory for the child. */
    if (at && at->alive && at->file->pid == (uint32_t)getpid())
        return;
    ring_pool_forget();
    atomic_store(&maker, 0);
    atomic_store(&place, NULL);
    if (mapped)
        munmap(mapped, sizeof(struct process_file) + DESCRIPTIONS_MAX);
    mapped = NULL;
    if (at)
        munmap(at, sizeof(*at));
    setup.error = 0;
    setup.ended = false;
    planned.trace = 0;
}
