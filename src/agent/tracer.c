/* SPDX-License-Identifier: MIT */
#include "agent/tracer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "agent/pid_filter.h"
#include "base/glob.h"
#include "base/suggest.h"

/* How full the kernel's ring is when a reader is woken, in percent: leaves time to read it before it is
 * full. */
#define WATERMARK_PERCENT 25
#define WATERMARK_PERCENT_HOLD 75 /* for PROTO_WANT_HOLD */
/* How long the agent, when it ends, waits for the kernel to remove an instance. */
#define REMOVE_MS 300

void tracer_init(struct tracer *tracer, const struct tracefs *tracefs, const struct agent_log *log,
                 struct wakeup *sender, const _Atomic bool *cancel)
{
    *tracer = (struct tracer){.tracefs = tracefs,
                              .log = log,
                              .sender = sender,
                              .cancel = cancel,
                              .dir = -1,
                              .clock = {.dir = -1}};
}

void tracer_clear(struct tracer *tracer)
{
    if (tracer->dir >= 0)
        tracefs_write(tracer->dir, "tracing_on", "0");
    if (tracer->readers) {
        readers_done(tracer->readers);
        free(tracer->readers);
    }
    if (*tracer->instance) {
        int r = tracefs_instance_remove_by(tracer->tracefs, tracer->instance, tracer->dir,
                                           tracer->cancel, REMOVE_MS);

        if (r == -EINPROGRESS)
            agent_log(tracer->log, "the kernel is still removing %s/instances/%s",
                      tracer->tracefs->path, tracer->instance);
        else if (r < 0)
            agent_log(tracer->log, "cannot remove %s/instances/%s: %s", tracer->tracefs->path,
                      tracer->instance, strerror(-r));
    }
    if (tracer->dir >= 0)
        close(tracer->dir);
    for (uint32_t i = 0; i < tracer->n_events; i++) {
        free(tracer->events[i].name);
        free(tracer->events[i].filter);
    }
    free(tracer->events);
    *tracer = (struct tracer){.tracefs = tracer->tracefs,
                              .log = tracer->log,
                              .sender = tracer->sender,
                              .sink = tracer->sink,
                              .cancel = tracer->cancel,
                              .dir = -1,
                              .clock = {.dir = -1}};
}

/* Lists all events of this kernel. */
static int list_events(struct tracer *tracer)
{
    _cleanup_free_ char *text = NULL;
    uint32_t n = 0;
    size_t len;
    char *line, *next;
    int r = tracefs_read(tracer->tracefs->fd, "available_events", (size_t)16 << 20, &text, &len);

    if (r < 0)
        return r;
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        n++;
    tracer->events = calloc((size_t)n + 1, sizeof *tracer->events);
    if (!tracer->events)
        return -ENOMEM;
    for (line = text; (next = strchr(line, '\n')); line = next + 1) {
        struct tracer_event *event = &tracer->events[tracer->n_events];
        const char *colon;

        *next = '\0';
        colon = strchr(line, ':');
        /* Names become paths, so these are not allowed. */
        if (!colon || strchr(line, '/') || *line == '.' || colon[1] == '.')
            continue;
        event->name = strdup(line);
        if (!event->name)
            return -ENOMEM;
        event->system = event->name;
        event->system_len = (size_t)(colon - line);
        tracer->n_events++;
    }
    return 0;
}

/* PATTERN is "SYSTEM:EVENT"; without a colon, a system or an event of any system. */
static bool matches(const struct tracer_event *event, const char *pattern)
{
    char system[256];

    if (strchr(pattern, ':'))
        return glob_match(pattern, event->name);
    if (event->system_len >= sizeof system)
        return false;
    memcpy(system, event->system, event->system_len);
    system[event->system_len] = '\0';
    return glob_match(pattern, system) || glob_match(pattern, event->name + event->system_len + 1);
}

static char *text_dup(const struct proto_text *text)
{
    char *copy = malloc((size_t)text->len + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text->p, text->len);
    copy[text->len] = '\0';
    return copy;
}

/* The event closest to PATTERN ("SYSTEM:EVENT"); NULL: none is similar. */
static const char *nearest_event(const struct tracer *tracer, const char *pattern)
{
    _cleanup_free_ const char **names = calloc((size_t)tracer->n_events + 1, sizeof *names);

    for (uint32_t i = 0; names && i < tracer->n_events; i++)
        names[i] = tracer->events[i].name;
    return names ? suggest_pattern(pattern, names) : NULL;
}

/* EVENT is wanted, FILTER empty: always. What any pattern wants is recorded. -ENOMEM. */
static int want(struct tracer_event *event, const struct proto_text *filter)
{
    _cleanup_free_ char *before = event->filter;
    bool is_always = filter->len == 0 || (event->wanted && !before);

    event->filter = NULL;
    event->wanted = true;
    if (is_always)
        return 0;
    if (!before)
        event->filter = text_dup(filter);
    else if (asprintf(&event->filter, "(%s)||(%.*s)", before, (int)filter->len, filter->p) < 0)
        event->filter = NULL;
    return event->filter ? 0 : -ENOMEM;
}

/* Marks the requested events. */
static int choose_events(struct tracer *tracer, struct proto_setup *setup, struct error *error,
                         const char **ret_hint)
{
    struct proto_setup_event wish;

    while (proto_setup_next(setup, &wish)) {
        _cleanup_free_ char *pattern = text_dup(&wish.event);
        bool found = false;

        if (!pattern)
            return error_set(error, -ENOMEM, "", "out of memory");
        for (uint32_t i = 0; i < tracer->n_events; i++) {
            struct tracer_event *event = &tracer->events[i];

            if (!matches(event, pattern))
                continue;
            found = true;
            if (want(event, &wish.filter) < 0)
                return error_set(error, -ENOMEM, "", "out of memory");
        }
        if (!found) {
            const char *near = nearest_event(tracer, pattern);
            size_t len = strcspn(pattern, "*?");
            const char *rest = pattern + len;

            *ret_hint = "that kernel's events are listed in /sys/kernel/tracing/available_events";
            return error_set(error, -ENOENT, "", "the kernel has no event '%s'%s%.*s%s%s", pattern,
                             near ? " (did you mean '" : "", *rest ? (int)len : INT_MAX,
                             near ? near : "", near ? rest : "", near ? "'?)" : "");
        }
    }
    return 0;
}

static int event_path(const struct tracer_event *event, const char *file, char *path, size_t size)
{
    int n = snprintf(path, size, "events/%.*s/%s/%s", (int)event->system_len, event->system,
                     event->name + event->system_len + 1, file);

    return (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* Events [first, end) belong to one system. Returns true if all of it is to be enabled. */
static bool is_whole(const struct tracer *tracer, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (!tracer->events[i].wanted || tracer->events[i].filter)
            return false;
    /* The kernel does not promise that a system's events are listed together. */
    for (uint32_t i = 0; i < tracer->n_events; i++)
        if ((i < first || i >= end) && !tracer->events[i].wanted &&
            tracer->events[i].system_len == tracer->events[first].system_len &&
            memcmp(tracer->events[i].system, tracer->events[first].system,
                   tracer->events[first].system_len) == 0)
            return false;
    return true;
}

static int enable_event(struct tracer *tracer, struct tracer_event *event, struct error *error,
                        const char **ret_hint)
{
    char path[512];
    int r;

    if (event->filter) {
        r = event_path(event, "filter", path, sizeof path);
        if (r >= 0)
            r = tracefs_write(tracer->dir, path, event->filter);
        if (r < 0) {
            *ret_hint = "see Documentation/trace/events.rst of Linux for filters";
            return error_set(error, r, "", "%s: the kernel rejects the filter '%s': %s",
                             event->name, event->filter, strerror(-r));
        }
    }
    r = event_path(event, "enable", path, sizeof path);
    if (r >= 0)
        r = tracefs_write(tracer->dir, path, "1");
    if (r < 0) {
        /* Some events are for perf only; if a pattern matched them, that is not an error. */
        agent_log(tracer->log, "cannot enable %s: %s", event->name, strerror(-r));
        return 0;
    }
    event->enabled = true;
    tracer->n_enabled++;
    return 0;
}

static int enable_events(struct tracer *tracer, struct error *error, const char **ret_hint)
{
    uint32_t end;

    for (uint32_t first = 0; first < tracer->n_events; first = end) {
        const struct tracer_event *head = &tracer->events[first];
        char path[300];

        for (end = first + 1; end < tracer->n_events; end++)
            if (tracer->events[end].system_len != head->system_len ||
                memcmp(tracer->events[end].system, head->system, head->system_len) != 0)
                break;
        /* Enabling a whole system takes one write; single events each make the kernel patch its code. */
        if (is_whole(tracer, first, end)) {
            snprintf(path, sizeof path, "events/%.*s/enable", (int)head->system_len, head->system);
            if (head->system_len < 256 && tracefs_write(tracer->dir, path, "1") >= 0) {
                for (uint32_t i = first; i < end; i++)
                    tracer->events[i].enabled = true;
                tracer->n_enabled += end - first;
                continue;
            }
        }
        for (uint32_t i = first; i < end; i++) {
            int r;

            if (!tracer->events[i].wanted || tracer->events[i].enabled)
                continue;
            /* There may be thousands, at milliseconds each. */
            if (atomic_load(tracer->cancel))
                return error_set(error, -ECANCELED, "", "the agent ends");
            r = enable_event(tracer, &tracer->events[i], error, ret_hint);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* How many events are on in the instance. */
static int count_on(const struct tracer *tracer, uint32_t *ret)
{
    _cleanup_free_ char *text = NULL;
    size_t len;
    int r = tracefs_read(tracer->dir, "set_event", (size_t)16 << 20, &text, &len);

    *ret = 0;
    for (const char *p = text; r >= 0 && (p = strchr(p, '\n')); p++)
        (*ret)++;
    return r;
}

/* How many of the tracer's events are off. Events of a module that was unloaded do not count. */
static uint32_t count_off(const struct tracer *tracer)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < tracer->n_events; i++) {
        char path[512];
        uint64_t is_on;

        if (tracer->events[i].enabled &&
            event_path(&tracer->events[i], "enable", path, sizeof path) >= 0 &&
            tracefs_read_number(tracer->dir, path, &is_on) >= 0)
            n += !is_on;
    }
    return n;
}

/* While started: looks whether others have switched off the tracing, or events. */
static void check_disturbed(struct tracer *tracer)
{
    uint64_t is_on;
    uint32_t n_on;

    if (tracefs_read_number(tracer->dir, "tracing_on", &is_on) >= 0 && !is_on)
        tracer->is_disturbed = true;
    else if (count_on(tracer, &n_on) >= 0 && n_on < tracer->n_on)
        tracer->is_disturbed |= count_off(tracer) + tracer->n_on > tracer->n_enabled;
}

static int set_clock(struct tracer *tracer, const struct proto_setup *setup, struct error *error,
                     const char **ret_hint)
{
    _cleanup_free_ char *offered = NULL, *wanted = text_dup(&setup->clock);
    size_t len;
    int r;

    if (!wanted)
        return error_set(error, -ENOMEM, "", "out of memory");
    r = tracefs_read(tracer->dir, "trace_clock", 4096, &offered, &len);
    if (r >= 0)
        r = guest_clock_choose(offered, wanted, tracer->clock.name, sizeof tracer->clock.name);
    if (r == -ENOENT && *wanted) {
        *ret_hint = "HELLO lists the kernel's clocks";
        return error_set(error, r, "", "the kernel has no trace clock '%s'", wanted);
    }
    if (r >= 0)
        r = tracefs_write(tracer->dir, "trace_clock", tracer->clock.name);
    if (r < 0)
        return error_set(error, r, "", "cannot set the trace clock: %s", strerror(-r));
    tracer->clock.dir = tracer->dir;
    return 0;
}

/* A host may request at most a quarter of the guest's memory, for all CPUs together. */
static int set_buffers(struct tracer *tracer, uint32_t kib, struct error *error,
                       const char **ret_hint)
{
    struct cpu_set cpus;
    struct sysinfo info;
    uint64_t total;
    int r;

    if (kib == 0)
        return 0;
    if (cpus_online(&cpus) < 0 || sysinfo(&info) < 0)
        return error_set(error, -EIO, "", "cannot read the guest's memory size");
    total = (uint64_t)info.totalram * info.mem_unit;
    if ((uint64_t)kib * 1024 * cpu_set_count(&cpus) > total / 4) {
        *ret_hint = "request smaller buffers";
        return error_set(error, -ENOMEM, "",
                         "buffers of %" PRIu32 " KiB for each of %" PRIu32
                         " CPUs are more than a quarter of the guest's memory",
                         kib, cpu_set_count(&cpus));
    }
    r = tracefs_write_number(tracer->dir, "buffer_size_kb", kib);
    return r < 0 ? error_set(error, r, "", "cannot set the buffers' size to %" PRIu32 " KiB: %s",
                             kib, strerror(-r))
                 : 0;
}

static int make(struct tracer *tracer, struct proto_setup *setup, size_t queue_bytes, pid_t pid,
                struct error *error, const char **ret_hint)
{
    size_t asked = (size_t)setup->queue_kib * 1024;
    const unsigned percent =
        setup->wants & PROTO_WANT_HOLD ? WATERMARK_PERCENT_HOLD : WATERMARK_PERCENT;
    bool has_watermark;
    int r = tracefs_instance_make(tracer->tracefs, tracer->instance, sizeof tracer->instance,
                                  &tracer->dir);

    if (r < 0) {
        *ret_hint = "the agent needs to run as root, on Linux 3.17 or later";
        return error_set(error, r, "", "cannot make an instance of tracefs: %s", strerror(-r));
    }
    r = tracefs_write(tracer->dir, "tracing_on", "0");
    if (r < 0)
        return error_set(error, r, "", "cannot stop or start tracing: %s", strerror(-r));
    /* Linux 5.0 and later. */
    has_watermark = tracefs_write_number(tracer->dir, "buffer_percent", percent) >= 0;
    r = set_buffers(tracer, setup->buffer_kib, error, ret_hint);
    if (r >= 0)
        r = set_clock(tracer, setup, error, ret_hint);
    if (r >= 0 && pid)
        r = tracefs_set_event_pid(tracer->dir, pid, error);
    if (r < 0)
        return r;
    r = list_events(tracer);
    if (r < 0)
        return error_set(error, r, "", "cannot list the kernel's events: %s", strerror(-r));
    r = choose_events(tracer, setup, error, ret_hint);
    if (r >= 0)
        r = enable_events(tracer, error, ret_hint);
    if (r < 0)
        return r;
    r = count_on(tracer, &tracer->n_on);
    if (r < 0)
        return error_set(error, r, "", "cannot list the enabled events: %s", strerror(-r));

    tracer->readers = calloc(1, sizeof *tracer->readers);
    if (!tracer->readers)
        return error_set(error, -ENOMEM, "", "out of memory");
    r = readers_init(tracer->readers, tracer->dir, asked ? MIN(asked, queue_bytes) : queue_bytes,
                     tracer->log, tracer->sender, error);
    if (r < 0)
        return r;
    tracer->readers->buffer.is_still = true;
    if (has_watermark)
        tracer->readers->buffer.watermark_pages =
            tracer->readers->buffer.ring_pages * percent / 100;
    tracer->readers->buffer.sink = tracer->sink;
    tracer_update_cpus(tracer);
    if (atomic_load(&tracer->readers->n) == 0)
        return error_set(error, -ENOMEM, "", "cannot start a thread");
    return 0;
}

int tracer_set_up(struct tracer *tracer, struct proto_setup setup, size_t queue_bytes, pid_t pid,
                  struct error *error, const char **ret_hint)
{
    int r;

    tracer_clear(tracer);
    *ret_hint = "";
    r = make(tracer, &setup, queue_bytes, pid, error, ret_hint);
    if (r < 0)
        tracer_clear(tracer);
    return r;
}

int tracer_start(struct tracer *tracer)
{
    int r;

    if (tracer->started)
        return 0;
    r = tracefs_write(tracer->dir, "tracing_on", "1");
    if (r < 0)
        return r;
    tracer->started = true;
    tracer->is_disturbed = tracer->is_disturbed_told = false;
    readers_start(tracer->readers);
    return 0;
}

static uint64_t count_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static void add_reader(struct tracer *tracer, uint32_t cpu)
{
    int r;

    if (cpu_set_has(&tracer->readers->have, cpu))
        return;
    r = readers_add(tracer->readers, cpu);
    if (r < 0 && !cpu_set_has(&tracer->failed_cpus, cpu))
        agent_log(tracer->log, "CPU %" PRIu32 ": %s; the CPU is not traced", cpu, strerror(-r));
    if (r < 0)
        cpu_set_add(&tracer->failed_cpus, cpu);
}

void tracer_update_cpus(struct tracer *tracer)
{
    const struct cpu_set *online = &tracer->readers->online;

    readers_update_cpus(tracer->readers);
    for (uint32_t cpu = cpu_set_next(online, 0); cpu < CPU_SET_MAX;
         cpu = cpu_set_next(online, cpu + 1))
        add_reader(tracer, cpu);
}

/* Adds readers for the CPUs that have recorded but were not online at a check. */
static void add_missed_cpus(struct tracer *tracer)
{
    struct cpu_set possible;

    if (cpus_possible(&possible) < 0)
        return;
    for (uint32_t cpu = cpu_set_next(&possible, 0); cpu < CPU_SET_MAX;
         cpu = cpu_set_next(&possible, cpu + 1)) {
        _cleanup_free_ char *text = NULL;
        char path[64];
        size_t len;

        if (cpu_set_has(&tracer->readers->have, cpu))
            continue;
        snprintf(path, sizeof path, "per_cpu/cpu%" PRIu32 "/stats", cpu);
        if (tracefs_read(tracer->dir, path, 65536, &text, &len) >= 0 && count_of(text, "entries: "))
            add_reader(tracer, cpu);
    }
}

int tracer_stop(struct tracer *tracer)
{
    int r = 0;

    if (tracer->started) {
        check_disturbed(tracer);
        r = tracefs_write(tracer->dir, "tracing_on", "0");
        add_missed_cpus(tracer);
    }
    tracer->started = false;
    readers_stop(tracer->readers);
    return r;
}

void tracer_flush(struct tracer *tracer)
{
    tracer_update_cpus(tracer);
    if (tracer->started) {
        check_disturbed(tracer);
        add_missed_cpus(tracer);
    }
    readers_flush(tracer->readers);
}

void tracer_status(struct tracer *tracer, unsigned i, struct proto_status_cpu *ret_status)
{
    struct reader *reader = tracer->readers->list[i];
    _cleanup_free_ char *text = NULL;
    uint64_t held = queue_held(&reader->queue);
    char path[64];
    size_t len;

    *ret_status = (struct proto_status_cpu){
        .cpu = reader->cpu,
        .online = cpu_set_has(&tracer->readers->online, reader->cpu),
        .pages_sent = atomic_load(&reader->queue.tail),
        .pages_read = atomic_load(&reader->pages_read),
        .bytes_queued = held * reader->queue.page_size,
        .times_full = atomic_load(&reader->times_full),
    };
    snprintf(path, sizeof path, "per_cpu/cpu%" PRIu32 "/stats", reader->cpu);
    if (tracefs_read(tracer->dir, path, 65536, &text, &len) < 0)
        return;
    /* Lines are "NAME: NUMBER"; the newline keeps "overrun" from matching the end of a longer name. */
    ret_status->entries = count_of(text, "entries: ");
    ret_status->overrun = count_of(text, "\noverrun: ");
    ret_status->commit_overrun = count_of(text, "\ncommit overrun: ");
    ret_status->dropped = count_of(text, "\ndropped events: ");
    ret_status->read_events = count_of(text, "\nread events: ");
}
