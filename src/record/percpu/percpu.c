/* SPDX-License-Identifier: MIT */
#include "record/percpu/percpu.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/futex_fd.h"
#include "base/shared_map.h"
#include "strata/percpu_area.h"

#define SHM "/dev/shm/"
/* What a CPU in the middle of an emission gets to end it, when tracing was switched off. */
#define EMISSION UINT64_C(2000000)

struct percpu_buffers {
    struct trace_buffers buffers;
    char *name; /* as given */
    char *path;
    int fd;
    int program; /* readable when it has ended; -1: that cannot be known */
    struct shared_map map;
    struct strata_percpu_area area;
    struct strata_percpu_view *all_views; /* of every CPU, online or not */
    uint64_t hz;
    struct futex_fd *notify; /* NULL: tracing is not on yet */
    uint32_t events_set;
    bool changed; /* masks, and not restored */
};

static struct percpu_buffers *percpu_of(struct trace_buffers *buffers)
{
    return container_of(buffers, struct percpu_buffers, buffers);
}

/* ---- Masks ---- */

static uint32_t get(const uint32_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void set(uint32_t *at, uint32_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static void copy_masks(struct strata_percpu_masks *to, const struct strata_percpu_masks *from)
{
    set(&to->events, get(&from->events));
    set(&to->singles, get(&from->singles));
    set(&to->high_water, get(&from->high_water));
    set(&to->enabled, get(&from->enabled));
}

static void copy_cpus(uint32_t *to, const uint32_t *from)
{
    for (unsigned i = 0; i < STRATA_PERCPU_CPUS_MAX / 32; i++)
        set(&to[i], get(&from[i]));
}

/* For who comes after us, should we be killed. */
static void note_found(struct strata_percpu_control *control)
{
    copy_masks(&control->found, &control->masks);
    copy_cpus(control->found_cpus, control->cpus);
    __atomic_store_n(&control->is_found, 1, __ATOMIC_RELEASE);
}

static void put_back(struct strata_percpu_control *control)
{
    copy_masks(&control->masks, &control->found);
    copy_cpus(control->cpus, control->found_cpus);
    __atomic_store_n(&control->is_found, 0, __ATOMIC_RELEASE);
}

static void set_cpus(struct strata_percpu_control *control, const struct cpu_set *cpus)
{
    uint32_t bits[STRATA_PERCPU_CPUS_MAX / 32] = {0};

    for (unsigned cpu = 0; cpu < STRATA_PERCPU_CPUS_MAX; cpu++)
        bits[cpu / 32] |= (uint32_t)cpu_set_has(cpus, cpu) << cpu % 32;
    copy_cpus(control->cpus, bits);
}

/* ---- The course ---- */

static int check_size(const struct percpu_buffers *percpu,
                      const struct trace_buffers_settings *settings, struct error *error)
{
    unsigned pages = percpu->area.pages;

    if (!settings->pages_exactly || settings->pages == 0 || settings->pages == pages)
        return 0;
    return error_set(error, -EBUSY, percpu->path,
                     "these buffers have %u pages (%u KB) for each CPU, not %u: the program that "
                     "made them chooses their size; leave the size out to use them as they are",
                     pages, pages * 4, settings->pages);
}

static int begin(struct trace_buffers *buffers, const struct trace_buffers_settings *settings,
                 struct error *error)
{
    struct percpu_buffers *percpu = percpu_of(buffers);
    struct strata_percpu_control *control = percpu->area.control;
    uint64_t first;
    int r = check_size(percpu, settings, error);

    if (r < 0)
        return r;
    note_found(control);
    percpu->changed = true;
    if (settings->set_events)
        set(&control->masks.events, settings->events);
    percpu->events_set = get(&control->masks.events);
    if (settings->cpus)
        set_cpus(control, settings->cpus);
    if (get(&control->masks.high_water) == 0)
        set(&control->masks.high_water, (percpu->area.pages * STRATA_PERCPU_PAGE - 8) / 2);
    for (unsigned cpu = 0; settings->discard && cpu < buffers->n_cpus; cpu++) {
        if (!buffers->views[cpu])
            continue;
        (void)strata_percpu_view_reset(buffers->views[cpu]);
        (void)strata_percpu_area_take_lost(&percpu->area, cpu, &first);
    }
    r = futex_fd_new(&control->notify, &percpu->notify);
    if (r >= 0)
        r = futex_fd_arm(percpu->notify, get(&control->notify));
    if (r < 0)
        return error_set(error, r, percpu->path, "cannot wait for the buffers: %s", strerror(-r));
    set(&control->masks.enabled, !settings->start_disabled);
    return 0;
}

static int wakeup_fd(struct trace_buffers *buffers)
{
    return futex_fd(percpu_of(buffers)->notify);
}

static int acknowledge(struct trace_buffers *buffers, struct error *error)
{
    struct percpu_buffers *percpu = percpu_of(buffers);

    (void)error;
    (void)futex_fd_arm(percpu->notify, get(&percpu->area.control->notify)); /* its thread runs */
    return 0;
}

static int check(struct trace_buffers *buffers, uint32_t *ret_mask, struct error *error)
{
    struct percpu_buffers *percpu = percpu_of(buffers);
    uint32_t *events = &percpu->area.control->masks.events;
    uint32_t mask = get(events);

    (void)error;
    if (mask == percpu->events_set)
        return 0;
    set(events, percpu->events_set);
    *ret_mask = mask;
    return 1;
}

static int end_fd(struct trace_buffers *buffers)
{
    return percpu_of(buffers)->program;
}

static int gone(struct trace_buffers *buffers, struct error *error)
{
    if (!shared_map_is_cut(&percpu_of(buffers)->map))
        return 0;
    return error_set(
        error, -EIO, percpu_of(buffers)->path,
        "the file was truncated: what was in the trace buffers and not read yet is lost");
}

static int stop(struct trace_buffers *buffers, struct error *error)
{
    struct timespec time = {.tv_nsec = EMISSION};

    (void)error;
    set(&percpu_of(buffers)->area.control->masks.enabled, 0);
    nanosleep(&time, NULL);
    return 0;
}

static int pending(struct trace_buffers *buffers, unsigned cpu, uint64_t *ret_lost)
{
    uint64_t first;

    *ret_lost = strata_percpu_area_take_lost(&percpu_of(buffers)->area, cpu, &first);
    return 0;
}

static bool changed(struct trace_buffers *buffers)
{
    (void)buffers;
    return false;
}

static int describe(struct trace_buffers *buffers, struct arena *arena, struct manifest_source *ret)
{
    struct percpu_buffers *percpu = percpu_of(buffers);
    struct manifest_percpu *about = arena_alloc(arena, sizeof *about);
    uint32_t *cpus = arena_alloc(arena, buffers->n_cpus * sizeof *cpus);

    if (!about || !cpus)
        return -ENOMEM;
    about->buffer = arena_strdup(arena, percpu->name);
    if (!about->buffer)
        return -ENOMEM;
    for (unsigned cpu = 0; cpu < buffers->n_cpus; cpu++)
        if (buffers->views[cpu])
            cpus[about->n_cpus++] = cpu;
    about->cpus = cpus;
    ret->kind = "xentrace";
    ret->layer = "hypervisor";
    ret->clock.name = "tsc";
    ret->clock.hz = percpu->hz;
    ret->percpu = about;
    return 0;
}

/* ---- The end ---- */

static int restore(struct trace_buffers *buffers, bool leave, struct error *error)
{
    struct percpu_buffers *percpu = percpu_of(buffers);

    (void)error;
    if (!percpu->changed)
        return 0;
    if (leave)
        __atomic_store_n(&percpu->area.control->is_found, 0, __ATOMIC_RELEASE);
    else
        put_back(percpu->area.control);
    percpu->changed = false;
    return 0;
}

static void percpu_free(struct trace_buffers *buffers)
{
    struct percpu_buffers *percpu = percpu_of(buffers);

    (void)restore(buffers, false, NULL);
    futex_fd_free(percpu->notify);
    shared_map_done(&percpu->map);
    if (percpu->fd >= 0)
        close(percpu->fd); /* and with it goes the lock */
    if (percpu->program >= 0)
        close(percpu->program);
    free(percpu->buffers.views);
    free(percpu->all_views);
    free(percpu->name);
    free(percpu->path);
    free(percpu);
}

static const struct trace_buffers_ops ops = {
    .begin = begin,
    .wakeup_fd = wakeup_fd,
    .acknowledge = acknowledge,
    .check = check,
    .end_fd = end_fd,
    .gone = gone,
    .stop = stop,
    .pending = pending,
    .changed = changed,
    .describe = describe,
    .restore = restore,
    .free = percpu_free,
};

/* ---- Opening ---- */

static int map_file(struct percpu_buffers *percpu, struct error *error)
{
    struct stat st;
    int r;

    percpu->fd = open(percpu->path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (percpu->fd < 0 && errno == ENOENT)
        return error_set(error, -ENOENT, percpu->path,
                         "no such file; start the program that traces into this file");
    if (percpu->fd < 0 || fstat(percpu->fd, &st) < 0)
        return error_set(error, -errno, percpu->path, "cannot be opened: %s", strerror(errno));
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > SIZE_MAX)
        return error_set(error, -EINVAL, percpu->path, "not a trace buffer file");
    if (flock(percpu->fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? error_set(error, -EBUSY, percpu->path,
                               "already being recorded; one recording at a time can read these "
                               "buffers")
                   : error_set(error, -errno, percpu->path, "cannot be locked: %s",
                               strerror(errno));
    if (st.st_size == 0)
        return error_set(error, -EAGAIN, percpu->path,
                         "is empty: its program has not created the buffers yet");
    if (st.st_size < STRATA_PERCPU_PAGE)
        return error_set(error, -EINVAL, percpu->path,
                         "not a trace buffer file, or not yet: it has %lld bytes",
                         (long long)st.st_size);
    r = shared_map_init(&percpu->map, percpu->fd, 0, (size_t)st.st_size, true, false);
    if (r < 0)
        return error_set(error, r, percpu->path, "cannot be mapped: %s", strerror(-r));
    return 0;
}

static int check_area(struct percpu_buffers *percpu, struct error *error)
{
    int r = strata_percpu_area_init(&percpu->area, percpu->map.bytes, percpu->map.length);

    if (r == -EINVAL && *(const volatile uint32_t *)percpu->map.bytes == 0)
        return error_set(error, -EAGAIN, percpu->path,
                         "its program has not created the buffers yet");
    if (r == -EINVAL)
        return error_set(error, r, percpu->path,
                         "not a trace buffer file, or its program has not initialised it yet");
    if (r == -ENOTSUP)
        return error_set(error, r, percpu->path,
                         "these buffers are of version %u, where %u is known: use the strata "
                         "that belongs to the program",
                         percpu->area.control ? percpu->area.control->version
                                              : ((const uint32_t *)percpu->map.bytes)[2],
                         STRATA_PERCPU_VERSION);
    if (r < 0)
        return error_set(error, r, percpu->path, "is damaged: its sizes are impossible");
    return 0;
}

static int make_views(struct percpu_buffers *percpu, struct error *error)
{
    unsigned n = percpu->area.n_cpus;

    percpu->buffers.n_cpus = n;
    percpu->buffers.pages = percpu->area.pages;
    percpu->buffers.views = calloc(n, sizeof *percpu->buffers.views);
    percpu->all_views = calloc(n, sizeof *percpu->all_views);
    if (!percpu->buffers.views || !percpu->all_views)
        return error_set(error, -ENOMEM, "", "out of memory");
    for (unsigned cpu = 0; cpu < n; cpu++) {
        int r = strata_percpu_area_view(&percpu->area, cpu, &percpu->all_views[cpu]);

        if (r == -ENODEV)
            continue;
        if (r < 0)
            return error_set(error, r, percpu->path, "is damaged: invalid pages of CPU %u", cpu);
        percpu->buffers.views[cpu] = &percpu->all_views[cpu];
    }
    return 0;
}

/* To see when the program ends that made the buffers. One that is not found may be in another pid
 * namespace: then it is as if it never did, and a message says so. */
static void watch_program(struct percpu_buffers *percpu)
{
#ifdef SYS_pidfd_open
    uint32_t pid = get(&percpu->area.control->pid);

    if (pid == 0 || pid > INT32_MAX)
        return;
    percpu->program = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (percpu->program < 0 && errno == ESRCH)
        snprintf(
            percpu->buffers.notice, sizeof percpu->buffers.notice,
            "process %u, which made these buffers, has ended, or runs in another container: its "
            "end cannot be waited for",
            (unsigned)pid);
#else
    (void)percpu;
#endif
}

static int open_all(struct percpu_buffers *percpu, const char *name, struct error *error)
{
    int r;

    percpu->name = strdup(name);
    if (!percpu->name || asprintf(&percpu->path, "%s%s", strchr(name, '/') ? "" : SHM, name) < 0) {
        percpu->path = NULL;
        return error_set(error, -ENOMEM, "", "out of memory");
    }
    r = map_file(percpu, error);
    if (r >= 0)
        r = check_area(percpu, error);
    if (r >= 0)
        r = make_views(percpu, error);
    if (r < 0)
        return r;
    /* Acquire: what was noted was stored before. */
    if (__atomic_load_n(&percpu->area.control->is_found, __ATOMIC_ACQUIRE))
        put_back(percpu->area.control);
    percpu->hz =
        MIN(__atomic_load_n(&percpu->area.control->tsc_hz, __ATOMIC_RELAXED), (uint64_t)INT64_MAX);
    watch_program(percpu);
    return 0;
}

int percpu_buffers_open(const char *name, struct trace_buffers **ret, struct error *error)
{
    struct percpu_buffers *percpu = calloc(1, sizeof *percpu);
    int r;

    if (!percpu)
        return error_set(error, -ENOMEM, "", "out of memory");
    percpu->buffers.ops = &ops;
    percpu->fd = -1;
    percpu->program = -1;
    r = open_all(percpu, name, error);
    if (r < 0) {
        percpu_free(&percpu->buffers);
        return r;
    }
    *ret = &percpu->buffers;
    return 0;
}
