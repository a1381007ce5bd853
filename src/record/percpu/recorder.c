/* SPDX-License-Identifier: MIT */
#include "record/percpu/recorder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/copy.h"
#include "base/lost_cpus.h"
#include "base/text.h"
#include "record/recording.h"
#include "tracedir/host.h"

/* Between looks into buffers that get no records. */
#define IDLE_LOOK_NS NSEC_PER_SEC
/* Between looks at the event mask, the clocks, and whether events were lost. */
#define WATCH_INTERVAL_NS NSEC_PER_SEC
#define CPUS_TEXT_SIZE 400

struct buffers_recorder {
    struct recorder recorder;
    struct trace_buffers *buffers;
    struct buffers_recorder_settings settings;
    struct arena arena;
    struct stream output;
    struct buffer_drain *drain; /* NULL: it has not started */
    int fd;                     /* of the records, in the directory; -1: they go elsewhere */
    const char *path;           /* of the records, in the directory … */
    const char *pairs;          /* … and of the pairs of clocks */
    int pairs_fd;               /* -1: there are none any more */
    bool has_pairs;
    const char **events; /* the copied files, in the directory */
    unsigned n_events;
    uint64_t look_ns, look_at, watch_at;
    uint64_t n_seen; /* records, when the buffers were last looked into */
    uint64_t n_losses_reported;
    bool is_stopping;
    int progress; /* a buffer_drain_progress, or the error that ended it */
    struct manifest_moment began, ended;
    struct buffer_drain_totals totals; /* when it has finished */
};

static struct buffers_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct buffers_recorder, recorder);
}

static const struct buffers_recorder *const_self_of(const struct recorder *recorder)
{
    return const_container_of(recorder, struct buffers_recorder, recorder);
}

/* ---- Clocks ---- */

/* A line of timeline/clock_map.h. Without the rest of them the trace is still worth having. */
static void put_pair(struct buffers_recorder *self, const struct manifest_moment *moment)
{
    char line[80];
    int n = snprintf(line, sizeof line, "%" PRId64 " %" PRIu64 " %" PRId64 "\n",
                     moment->monotonic_ns, moment->tsc, moment->error_ns);

    if (self->pairs_fd < 0 || moment->tsc == 0)
        return;
    if (write(self->pairs_fd, line, (size_t)n) == n) {
        self->has_pairs = true;
        return;
    }
    recorder_problem(&self->recorder, "cannot write all samples of the clocks: %s",
                     strerror(errno));
    close(self->pairs_fd);
    self->pairs_fd = -1;
}

/* ---- The start ---- */

/* NAME/FILE, in the recorder's arena. */
static const char *path_of(struct buffers_recorder *self, const char *file)
{
    size_t size = strlen(self->settings.name) + strlen(file) + 2;
    char *path = arena_alloc(&self->arena, size);

    if (path)
        snprintf(path, size, "%s/%s", self->settings.name, file);
    return path;
}

/* Copies a table into the directory as NAME/events, NAME/events-2, … */
static int copy_table(struct buffers_recorder *self, const char *table, struct error *error)
{
    const char *dir = recording_path(self->recorder.recording);
    _cleanup_free_ char *to = NULL;
    char file[32] = "events";
    const char *name;

    if (self->n_events > 0)
        snprintf(file, sizeof file, "events-%u", self->n_events + 1);
    name = path_of(self, file);
    if (!name || asprintf(&to, "%s/%s", dir, name) < 0) {
        to = NULL;
        return error_set(error, -ENOMEM, "", "out of memory");
    }
    self->events[self->n_events++] = name;
    return copy_file(table, to, &(struct copy_options){.follow = true}, error);
}

static int make_file(struct buffers_recorder *self, const char *path, int *ret, struct error *error)
{
    int dir = recording_dir(self->recorder.recording);
    int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return error_set(error, -errno, path, "cannot be made: %s", strerror(errno));
    *ret = fd;
    return 0;
}

static int make_files(struct buffers_recorder *self, struct error *error)
{
    int dir = recording_dir(self->recorder.recording);
    int r = 0;

    self->path = path_of(self, "trace.raw");
    self->pairs = path_of(self, "clock-pairs");
    self->events = arena_alloc(&self->arena, (self->settings.n_tables + 1) * sizeof *self->events);
    if (!self->path || !self->pairs || !self->events)
        return error_set(error, -ENOMEM, "", "out of memory");
    if (mkdirat(dir, self->settings.name, 0777) < 0)
        return error_set(error, -errno, self->settings.name, "cannot be made: %s", strerror(errno));
    for (unsigned i = 0; r >= 0 && i < self->settings.n_tables; i++)
        r = copy_table(self, self->settings.tables[i], error);
    if (r >= 0)
        r = make_file(self, self->path, &self->fd, error);
    if (r >= 0)
        r = make_file(self, self->pairs, &self->pairs_fd, error);
    return r;
}

static int open_output(struct buffers_recorder *self, struct error *error)
{
    struct recording *recording = self->recorder.recording;
    const struct recording_settings *settings = recording_settings(recording);
    _cleanup_free_ char *path = NULL;
    int r;

    if (recording_dir(recording) < 0) {
        r = stream_init(&self->output, self->settings.fd, self->settings.path, error);
    } else {
        r = make_files(self, error);
        if (r >= 0 && asprintf(&path, "%s/%s", settings->dir, self->path) < 0) {
            path = NULL;
            r = error_set(error, -ENOMEM, "", "out of memory");
        }
        if (r >= 0)
            r = stream_init(&self->output, self->fd, path, error);
    }
    if (r < 0)
        return r;
    self->output.max = settings->max_size;
    self->output.reserve = settings->min_free;
    self->output.signals = settings->signals;
    return 0;
}

static void close_files(struct buffers_recorder *self)
{
    if (self->fd >= 0)
        close(self->fd);
    if (self->pairs_fd >= 0)
        close(self->pairs_fd);
    self->fd = self->pairs_fd = -1;
}

static void discard(struct recorder *recorder)
{
    struct buffers_recorder *self = self_of(recorder);
    int dir = recording_dir(recorder->recording);

    close_files(self);
    if (dir < 0 || !self->events)
        return;
    for (unsigned i = 0; i < self->n_events; i++)
        (void)unlinkat(dir, self->events[i], 0);
    (void)unlinkat(dir, self->path, 0);
    (void)unlinkat(dir, self->pairs, 0);
    (void)unlinkat(dir, self->settings.name, AT_REMOVEDIR);
}

static void report_start(struct buffers_recorder *self)
{
    const struct trace_buffers *buffers = self->buffers;
    unsigned pages = self->settings.buffers.pages;

    if (pages && pages != buffers->pages)
        recorder_report(&self->recorder,
                        "the trace buffers have %u pages for each CPU, not %u: their size is "
                        "limited, and can be set once after each boot",
                        buffers->pages, pages);
    if (*buffers->notice) {
        recorder_report(&self->recorder, "%s", buffers->notice);
        recorder_problem(&self->recorder, "%s", buffers->notice);
    }
}

static int start(struct recorder *recorder, struct error *error)
{
    struct buffers_recorder *self = self_of(recorder);
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    int r = open_output(self, error);

    if (r >= 0)
        r = self->buffers->ops->begin(self->buffers, &self->settings.buffers, error);
    if (r >= 0)
        r = buffer_drain_new(self->buffers, &self->output, &self->settings.drain, &self->drain,
                             error);
    if (r < 0) {
        discard(recorder);
        return r;
    }
    report_start(self);
    self->began = host_moment();
    put_pair(self, &self->began);
    self->look_ns = self->settings.look_ns;
    self->look_at = now + self->look_ns;
    self->watch_at = now + WATCH_INTERVAL_NS;
    return 0;
}

/* ---- While it runs ---- */

static int end_fd(const struct buffers_recorder *self)
{
    return self->buffers->ops->end_fd ? self->buffers->ops->end_fd(self->buffers) : -1;
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    struct buffers_recorder *self = self_of(recorder);

    recorder_wait_fd(wait, self->buffers->ops->wakeup_fd(self->buffers), POLLIN);
    recorder_wait_fd(wait, end_fd(self), POLLIN);
    recorder_wait_until(wait, MIN(self->look_at, self->watch_at));
}

/* "CPU 0: 12, CPU 3: 5" */
static const char *lost_text(const struct buffers_recorder *self, char buf[CPUS_TEXT_SIZE])
{
    struct lost_cpus lost = {0};
    struct text text = TEXT_IN_MEMORY;

    for (unsigned cpu = 0; cpu < self->buffers->n_cpus; cpu++)
        lost_cpus_add(&lost, cpu, buffer_drain_lost(self->drain, cpu));
    lost_cpus_put(&lost, &text);
    snprintf(buf, CPUS_TEXT_SIZE, "%.*s", text.error ? 0 : (int)text_len(&text),
             text.start ? text.start : "");
    text_done(&text);
    return buf;
}

/* The first time with what can be done. */
static void watch_losses(struct buffers_recorder *self)
{
    uint64_t lost = buffer_drain_totals(self->drain).lost;
    char cpus[CPUS_TEXT_SIZE];

    if (lost == self->n_losses_reported)
        return;
    lost_text(self, cpus);
    if (self->n_losses_reported == 0)
        recorder_report(&self->recorder,
                        "events are being lost (%s so far): the trace buffers, %u KB for each CPU, "
                        "were full. %s",
                        cpus, self->buffers->pages * 4, self->settings.more_room);
    else
        recorder_report(&self->recorder, "%" PRIu64 " more events were lost (%s so far)",
                        lost - self->n_losses_reported, cpus);
    self->n_losses_reported = lost;
}

/* Whether the mask is still ours. */
static int watch_mask(struct buffers_recorder *self, struct error *error)
{
    uint32_t mask;
    int r = self->buffers->ops->check(self->buffers, &mask, error);

    if (r <= 0)
        return r;
    recorder_report(&self->recorder,
                    "another program changed the event mask to 0x%08x: for up to a second, other "
                    "events than were asked for were recorded; the mask is set again",
                    (unsigned)mask);
    recorder_problem(&self->recorder,
                     "another program changed the event mask to 0x%08x for up to a second",
                     (unsigned)mask);
    return 0;
}

static int watch(struct buffers_recorder *self, uint64_t now, struct error *error)
{
    struct manifest_moment moment;

    if (self->n_losses_reported == 0) /* the first ones at once */
        watch_losses(self);
    if (now < self->watch_at)
        return 0;
    self->watch_at = now + WATCH_INTERVAL_NS;
    watch_losses(self);
    moment = host_moment();
    put_pair(self, &moment);
    if (self->buffers->ops->changed(self->buffers))
        recorder_changed(&self->recorder);
    return watch_mask(self, error);
}

/* Drains the buffers, and finds out when to look again: twice as late each time that there was nothing. */
static int look(struct buffers_recorder *self, uint64_t now, struct error *error)
{
    struct buffer_drain_totals totals;
    uint64_t n;
    int r = buffer_drain_take(self->drain, error);

    totals = buffer_drain_totals(self->drain);
    n = totals.records + totals.left_out + totals.lost + totals.dropped;
    if (n != self->n_seen)
        self->look_ns = self->settings.look_ns;
    else
        self->look_ns = MAX(self->settings.look_ns, MIN(2 * self->look_ns, IDLE_LOOK_NS));
    self->n_seen = n;
    self->look_at = now + self->look_ns;
    return r;
}

static void report_limit(struct buffers_recorder *self)
{
    if (self->progress == BUFFER_DRAIN_MAX_SIZE)
        recorder_report(&self->recorder, "stopped: %s has reached its size limit",
                        self->output.path);
    if (self->progress == BUFFER_DRAIN_MIN_FREE)
        recorder_disk_is_full(&self->recorder, self->output.path);
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct buffers_recorder *self = self_of(recorder);
    bool has_ended = n > 1 && fds[1].revents;
    int r = 0;

    self->output.until = recording_time_up(recorder->recording);
    if (self->is_stopping)
        return 0;
    if (n > 0 && fds[0].revents)
        r = self->buffers->ops->acknowledge(self->buffers, error);
    if (r >= 0)
        r = look(self, now, error);
    if (r == BUFFER_DRAIN_ONGOING) {
        r = watch(self, now, error);
        return r < 0 ? (self->progress = r) : !has_ended;
    }
    self->progress = r;
    report_limit(self);
    return MIN(r, 0);
}

/* What goes wrong is found again by the next step. */
static void flush(struct recorder *recorder, uint64_t now)
{
    struct buffers_recorder *self = self_of(recorder);

    (void)now;
    if (self->progress == BUFFER_DRAIN_ONGOING)
        (void)buffer_drain_flush(self->drain, NULL);
}

/* ---- The end ---- */

static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    (void)stop;
    (void)now;
    self_of(recorder)->is_stopping = true;
    return UINT64_MAX;
}

static void report_losses(struct buffers_recorder *self)
{
    const struct buffer_drain_totals *totals = &self->totals;
    char cpus[CPUS_TEXT_SIZE];

    if (totals->lost)
        recorder_report(&self->recorder, "%" PRIu64 " events were lost (%s) in %" PRIu64 " place%s",
                        totals->lost, lost_text(self, cpus), totals->losses,
                        totals->losses == 1 ? "" : "s");
    if (totals->unwritten) {
        recorder_report(&self->recorder,
                        "%" PRIu64
                        " events that were in the trace buffers when it stopped were not written",
                        totals->unwritten);
        recorder_lost(&self->recorder,
                      "%" PRIu64
                      " events that were in the trace buffers when it stopped were not written",
                      totals->unwritten);
    }
    if (totals->damaged == 0)
        return;
    recorder_report(&self->recorder, "%" PRIu64 " windows did not end with a record's end",
                    totals->damaged);
    recorder_lost(&self->recorder, "%" PRIu64 " windows did not end with a record's end",
                  totals->damaged);
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct buffers_recorder *self = self_of(recorder);
    struct error unused = {0};
    bool had_ended = self->progress != BUFFER_DRAIN_ONGOING;
    int q;
    /* Where there is no room for more, there is none for the rest. */
    int r = buffer_drain_finish(self->drain, self->settings.leave_on, had_ended ? &unused : error);

    if (!had_ended) {
        self->progress = r;
        report_limit(self);
    }
    self->totals = buffer_drain_totals(self->drain);
    q = self->buffers->ops->restore(self->buffers, self->settings.leave_on, error);
    report_losses(self);
    self->ended = host_moment();
    put_pair(self, &self->ended);
    close_files(self);
    return self->progress < 0 ? self->progress : MIN(q, 0);
}

static int sources(const struct recorder *recorder, struct arena *arena,
                   struct recorder_sources *ret)
{
    const struct buffers_recorder *self = const_self_of(recorder);
    struct manifest_source *source = arena_alloc(arena, sizeof *source);
    bool has_finished = recorder->state == RECORDER_FINISHED;
    int r;

    if (!source)
        return -ENOMEM;
    *source = (struct manifest_source){
        .name = self->settings.name,
        .path = self->path,
        .events = self->events,
        .n_events = self->n_events,
        .host = host_here(),
        .began = self->began,
        .ended = self->ended,
        .lost_known = has_finished,
        .lost = self->totals.lost,
        .lost_at_end = self->totals.pending,
        .complete = has_finished && self->progress >= 0,
    };
    r = self->buffers->ops->describe(self->buffers, arena, source);
    if (r < 0)
        return r;
    if (self->has_pairs)
        source->clock.pairs = self->pairs;
    *ret = (struct recorder_sources){source, 1, 0};
    return 0;
}

static void stats(const struct recorder *recorder, struct recorder_stats *ret)
{
    struct buffer_drain_totals totals = buffers_recorder_totals(recorder);

    *ret = (struct recorder_stats){
        .bytes = totals.bytes, .events = totals.records, .lost = totals.lost};
}

static void summarize(const struct recorder *recorder, struct recorder_summary *summary)
{
    struct buffer_drain_totals totals = buffers_recorder_totals(recorder);
    char size[16];

    text_printf(&summary->result, "%" PRIu64 " events written to %s%s%s (%s)\n", totals.records,
                summary->dir, summary->is_only ? "" : "/", summary->is_only ? "" : recorder->name,
                bytes_text(size, sizeof size, totals.bytes));
    if (totals.left_out)
        text_printf(&summary->notes,
                    "  %" PRIu64 " events that were not asked for were discarded (the event mask "
                    "is coarser)\n",
                    totals.left_out);
    if (totals.dropped)
        text_printf(&summary->notes,
                    "  older ones, %" PRIu64 " windows, are not in it: --keep-in-memory has no "
                    "room for them\n",
                    totals.dropped);
    summary->has_losses = totals.lost > 0 || recorder->has_lost_uncounted;
}

static void free_recorder(struct recorder *recorder)
{
    struct buffers_recorder *self = self_of(recorder);

    close_files(self);
    buffer_drain_free(self->drain);
    buffers_free(self->buffers);
    arena_done(&self->arena);
    if (self->settings.free_userdata)
        self->settings.free_userdata(self->settings.userdata);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .flush = flush,
    .finish = finish,
    .sources = sources,
    .stats = stats,
    .summarize = summarize,
    .discard = discard,
    .free = free_recorder,
};

int buffers_recorder_new(struct trace_buffers *buffers,
                         const struct buffers_recorder_settings *settings, struct recorder **ret)
{
    struct buffers_recorder *self = calloc(1, sizeof *self);

    if (!self) {
        buffers_free(buffers);
        return -ENOMEM;
    }
    self->recorder.reports_at_once = true;
    self->recorder.ops = &ops;
    self->recorder.name = settings->name;
    self->buffers = buffers;
    self->settings = *settings;
    self->fd = self->pairs_fd = -1;
    *ret = &self->recorder;
    return 0;
}

struct buffer_drain_totals buffers_recorder_totals(const struct recorder *recorder)
{
    const struct buffers_recorder *self = const_self_of(recorder);

    return recorder->state == RECORDER_FINISHED || !self->drain ? self->totals
                                                                : buffer_drain_totals(self->drain);
}
