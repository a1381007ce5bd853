/* SPDX-License-Identifier: MIT */
#include "record/recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/remove_dir.h"
#include "base/text.h"
#include "record/directory.h"
#include "record/recorder_internal.h"
#include "record/restart.h"
#include "tracedir/reserve.h"
#include "tracedir/source_files.h"

/* The manifest is not written more often, whatever changes. */
#define NOTE_INTERVAL_NS (NSEC_PER_SEC / 10)
/* … and where it could not be, tried again. */
#define NOTE_RETRY_NS NSEC_PER_SEC
/* So long the next start waits for a recorder that is not ready. */
#define READY_TIMEOUT_NS (10 * NSEC_PER_SEC)
/* The room on the disk is looked at no more often. */
#define FREE_INTERVAL_NS (NSEC_PER_SEC / 4)
/* What ppoll() itself takes, at most, and interrupts during it. */
#define SLEEP_MARGIN_NS UINT64_C(100000)

struct recording {
    struct recording_settings settings;
    struct arena arena;
    struct record_dir dir;
    struct registry_entry registry_entry;
    int spare; /* room on the disk for the last manifest */
    struct recorder **recorders;
    unsigned n;
    struct recorder_wait wait;
    bool has_changed;
    uint64_t note_at;     /* the manifest is not written before that */
    uint64_t time_up;     /* when --time is */
    uint64_t free_at;     /* when the room on the disk is looked at again */
    uint64_t progress_at; /* when progress() is due */
    bool is_early;        /* a signal may have come before all had started */
    bool has_begun;
    bool keeps_registry_entry;
    struct recorder *starting; /* that is waited for */
    bool is_full;              /* the disk, as min_free has it */
    void (*handle_event)(void *userdata, const struct recorder_event *event);
    void *event_userdata;
    uint64_t wakeups;
    int schedstat;     /* of this thread, where wake-ups are measured; -1 */
    uint64_t woken_at; /* when it was woken up at the earliest; 0: not known */
};

/* ---- The directory ---- */

static int open_directory(struct recording *recording, struct error *error)
{
    const struct recording_settings *settings = &recording->settings;
    _cleanup_free_ char *kept = NULL;
    _cleanup_free_ char *text = NULL;
    int r;

    if (!settings->restarts)
        return record_dir_open(settings->dir, &recording->dir, error);
    r = record_dir_open_again(settings->dir, &recording->dir, error);
    if (r >= 0)
        r = restart_keep_trace(recording->dir.fd, recording->dir.path, settings->rescue, &kept,
                               error);
    if (r < 0) {
        record_dir_close(&recording->dir, true);
        return r;
    }
    if (kept && settings->report &&
        asprintf(&text, "the trace that was there is kept as %s", kept) >= 0)
        settings->report(settings->userdata, text);
    return 0;
}

int recording_new(const struct recording_settings *settings, struct recording **ret,
                  struct error *error)
{
    struct recording *recording = calloc(1, sizeof *recording);
    int r = 0;

    if (!recording)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    recording->settings = *settings;
    recording->dir = RECORD_DIR_NONE;
    recording->registry_entry = REGISTRY_NONE;
    recording->spare = recording->schedstat = -1;
    recording->time_up = UINT64_MAX;
    if (settings->dir)
        r = open_directory(recording, error);
    if (r < 0) {
        free(recording);
        return r;
    }
    /* For `strata list` and for sockets; what needs it for these reports that it is missing. */
    if (settings->dir && recording_register(recording, NULL) >= 0 && settings->limit)
        (void)registry_put_limit(&recording->registry_entry, settings->limit);
    *ret = recording;
    return 0;
}

int recording_register(struct recording *recording, struct error *error)
{
    return recording->registry_entry.dir.fd >= 0
               ? 0
               : registry_add(recording->settings.runtime, recording->dir.path,
                              &recording->registry_entry, error);
}

int recording_add(struct recording *recording, struct recorder *recorder)
{
    struct recorder **bigger =
        realloc(recording->recorders, (recording->n + 1) * sizeof *recording->recorders);

    if (!bigger)
        return -ENOMEM;
    recorder->recording = recording;
    recording->recorders = bigger;
    recording->recorders[recording->n++] = recorder;
    return 0;
}

void recording_free(struct recording *recording)
{
    if (!recording)
        return;
    for (unsigned i = recording->n; i-- > 0;)
        recording->recorders[i]->ops->free(recording->recorders[i]);
    free(recording->recorders);
    free(recording->wait.fds);
    reserve_give(&recording->spare);
    if (recording->keeps_registry_entry)
        registry_leave(&recording->registry_entry);
    else
        registry_remove(&recording->registry_entry);
    record_dir_close(&recording->dir, true); /* where anything was recorded, it is not empty */
    if (recording->schedstat >= 0)
        close(recording->schedstat);
    arena_done(&recording->arena);
    free(recording);
}

/* ---- The manifest ---- */

/* IS_LAST: nothing writes to the files any more. */
static int write_manifest(struct recording *recording, bool is_last, struct error *error)
{
    struct manifest manifest = {0};
    struct manifest_source *sources;
    char path[32]; /* also where the directory was renamed meanwhile */
    int r = recorders_put_sources(recording->recorders, recording->n, 0, &manifest.arena, &sources,
                                  &manifest.n_sources);

    manifest.sources = sources;
    if (r >= 0 && is_last)
        r = source_files_find(recording->dir.fd, sources, manifest.n_sources, &manifest.arena);
    if (r < 0) {
        r = error_set(error, r, recording->dir.path, "cannot be described: %s", strerror(-r));
    } else if (manifest.n_sources > 0) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", recording->dir.fd);
        r = manifest_write(path, &manifest, error);
        if (r < 0 && error)
            snprintf(error->path, sizeof error->path, "%s", recording->dir.path);
    }
    if (r >= 0)
        recording->has_changed = false;
    arena_done(&manifest.arena);
    return r;
}

int recording_note(struct recording *recording, struct error *error)
{
    int r;

    if (!recording->dir.path)
        return 0;
    r = write_manifest(recording, false, error);
    if (r < 0 && recording->spare >= 0) { /* what is kept for the last one does for this, too */
        reserve_give(&recording->spare);
        if (error)
            error_clear(error);
        r = write_manifest(recording, false, error);
    }
    recording->note_at = clock_ns(CLOCK_MONOTONIC) + (r < 0 ? NOTE_RETRY_NS : NOTE_INTERVAL_NS);
    if (r >= 0)
        reserve_keep(recording->dir.path, &recording->spare);
    return r;
}

void recorder_changed(struct recorder *recorder)
{
    recorder->recording->has_changed = true;
}

void recorder_wake(struct recorder *recorder)
{
    recorder->is_asked = true;
}

void recorder_happened(struct recorder *recorder, const struct recorder_event *event)
{
    const struct recording *recording = recorder->recording;

    if (event->kind == RECORDER_EVENT_END && recorder->urgency > 0)
        return;
    if (recording->handle_event)
        recording->handle_event(recording->event_userdata, event);
}

/* ---- A recorder's end ---- */

static void fail(struct recorder *recorder, int err, const struct error *error)
{
    char text[sizeof error->path + sizeof error->what + 40];

    if (recorder->error.code)
        return;
    recorder->error = *error;
    recorder->error.code = err;
    if (!recorder->error.what[0])
        snprintf(recorder->error.what, sizeof recorder->error.what, "%s", strerror(-err));
    if (recorder == recorder->recording->starting) /* start() handles it */
        return;
    error_print(&recorder->error, text, sizeof text);
    recorder_report(recorder, "%s", text);
    snprintf(text, sizeof text, "recording failed: %s", recorder->error.what);
    recorder_problem(recorder, "%s", text);
    recorder_note_report(recorder, text);
}

static void finish(struct recorder *recorder)
{
    struct error error = {0};
    int r;

    recorder->state = RECORDER_FINISHED;
    r = recorder->ops->finish(recorder, &error);
    if (r < 0)
        fail(recorder, r, &error);
    recorder_changed(recorder);
}

static void stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    if (recorder->state != RECORDER_RUNNING)
        return;
    recorder->urgency = stop->urgency;
    recorder->urge_at = recorder->ops->stop(recorder, stop, now);
    recorder->is_asked = true;
}

/* All that are not stopped yet. */
static void stop_all(struct recording *recording, enum recorder_reason reason, uint64_t now)
{
    struct recorder_stop how = {.urgency = RECORDER_STOP, .reason = reason};

    for (unsigned i = 0; i < recording->n; i++)
        if (recording->recorders[i]->urgency == 0)
            stop(recording->recorders[i], &how, now);
}

/* The next rung of the ladder, where the time of the last one has passed. */
static void urge(struct recorder *recorder, uint64_t now)
{
    struct recorder_stop how = {.urgency = recorder->urgency + 1, .reason = RECORDER_BY_TIME};

    if (recorder->state != RECORDER_RUNNING || recorder->urgency == 0 || now < recorder->urge_at)
        return;
    if (recorder->urgency < RECORDER_KILL)
        stop(recorder, &how, now);
    else
        finish(recorder);
}

/* Each signal is more urgent than the one before, and than what --time has asked for. */
static void handle_signals(struct recording *recording, uint64_t now)
{
    struct stop_signal signal;

    while (recording->settings.signals &&
           stop_signals_read(recording->settings.signals, &signal) > 0) {
        struct recorder_stop how = {.reason = RECORDER_BY_SIGNAL,
                                    .signal = signal.number,
                                    .is_alone = signal.is_alone,
                                    .is_early = recording->is_early};

        recording->is_early = false;
        for (unsigned i = 0; i < recording->n; i++) {
            struct recorder *recorder = recording->recorders[i];

            how.urgency = MIN(MAX(recorder->urgency + 1, 1u), (unsigned)RECORDER_KILL);
            stop(recorder, &how, now);
        }
    }
}

static bool all_finished(const struct recording *recording)
{
    for (unsigned i = 0; i < recording->n; i++)
        if (recording->recorders[i]->state == RECORDER_RUNNING)
            return false;
    return true;
}

/* Whether what the recording is about has ended. */
static bool leaders_finished(const struct recording *recording)
{
    bool any = false;

    for (unsigned i = 0; i < recording->n; i++) {
        if (!recording->recorders[i]->is_primary)
            continue;
        any = true;
        if (recording->recorders[i]->state != RECORDER_FINISHED)
            return false;
    }
    return any;
}

/* Whether all have ended that record anything, which need not lead: Xen's buffers. */
static bool all_but_attending_finished(const struct recording *recording)
{
    for (unsigned i = 0; i < recording->n; i++)
        if (recording->recorders[i]->state == RECORDER_RUNNING &&
            !recording->recorders[i]->is_service)
            return false;
    return true;
}

static void stop_for_disk(struct recording *recording, const char *path)
{
    const struct recording_settings *settings = &recording->settings;
    char text[400], size[16];

    if (recording->is_full)
        return;
    recording->is_full = true;
    snprintf(text, sizeof text, "stopped: less than %s would be free on the disk of %s",
             bytes_text(size, sizeof size, settings->min_free), path);
    if (settings->report)
        settings->report(settings->userdata, text);
    for (unsigned i = 0; i < recording->n; i++)
        if (recording->recorders[i]->state == RECORDER_RUNNING)
            recorder_problem(recording->recorders[i],
                             "recording stopped as the disk was nearly full");
    stop_all(recording, RECORDER_BY_LIMIT, clock_ns(CLOCK_MONOTONIC));
}

void recorder_stop_all(struct recorder *recorder)
{
    stop_all(recorder->recording, RECORDER_BY_END, clock_ns(CLOCK_MONOTONIC));
}

void recorder_disk_is_full(struct recorder *recorder, const char *path)
{
    stop_for_disk(recorder->recording, path);
}

static void check_free(struct recording *recording, uint64_t now)
{
    struct statvfs st;

    if (recording->settings.min_free == 0 || recording->dir.fd < 0 || now < recording->free_at)
        return;
    recording->free_at = now + FREE_INTERVAL_NS;
    if (fstatvfs(recording->dir.fd, &st) == 0 &&
        (uint64_t)st.f_bavail * st.f_frsize < recording->settings.min_free)
        stop_for_disk(recording, recording->dir.path);
}

/* ---- The loop ---- */

/* What all wait for, in recording->wait: the signals first. */
static int collect_waits(struct recording *recording, uint64_t until)
{
    struct recorder_wait *wait = &recording->wait;
    const struct stop_signals *signals = recording->settings.signals;

    wait->n = 0;
    recorder_wait_fd(wait, signals ? signals->fd : -1, POLLIN);
    if (signals && signals->next.number != 0)
        until = 0;
    for (unsigned i = 0; i < recording->n; i++) {
        struct recorder *recorder = recording->recorders[i];

        if (recorder->state != RECORDER_RUNNING)
            continue;
        recorder->first_fd = wait->n;
        wait->until = UINT64_MAX;
        recorder->ops->poll(recorder, wait);
        recorder->n_fds = wait->n - recorder->first_fd;
        recorder->due_at = recorder->is_asked ? 0 : wait->until;
        until = MIN(until, recorder->due_at);
        if (recorder->urgency > 0)
            until = MIN(until, recorder->urge_at);
    }
    if (recording->has_changed && recording->dir.path)
        until = MIN(until, recording->note_at);
    if (recording->settings.progress_ns)
        until = MIN(until, recording->progress_at);
    wait->until = MIN(until, recording->time_up);
    return wait->failed ? -ENOMEM : 0;
}

/* How long this thread waited for a CPU, ns, since it was started. False: not known. */
static bool read_cpu_wait(const struct recording *recording, uint64_t *ret)
{
    char text[64], *end;
    ssize_t n = pread(recording->schedstat, text, sizeof text - 1, 0);

    if (n <= 0)
        return false;
    text[n] = '\0';
    (void)strtoull(text, &end, 10); /* time on a CPU */
    *ret = strtoull(end, NULL, 10);
    return true;
}

static void sleep_for(struct recorder_wait *wait)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t ns = wait->until > now ? wait->until - now : 0;
    struct timespec time = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};

    if (ppoll(wait->fds, wait->n, wait->until == UINT64_MAX ? NULL : &time, NULL) >= 0)
        return;
    for (unsigned i = 0; i < wait->n; i++)
        wait->fds[i].revents = 0;
}

static void step(struct recording *recording, struct recorder *recorder, uint64_t now)
{
    const struct pollfd *fds = recording->wait.fds + recorder->first_fd;
    bool is_due = recorder->is_asked || now >= recorder->due_at;
    struct error error = {0};
    int r;

    if (recorder->state != RECORDER_RUNNING)
        return;
    for (unsigned i = 0; i < recorder->n_fds; i++)
        is_due |= fds[i].revents != 0;
    if (!is_due)
        return;
    recorder->is_asked = false;
    r = recorder->ops->step(recorder, fds, recorder->n_fds, now, &error);
    if (r < 0)
        fail(recorder, r, &error);
    if (r <= 0)
        finish(recorder);
}

/* How often this thread has given up the CPU by itself, to sleep or because a signal stopped it. */
static long times_off(void)
{
    struct rusage usage = {0};

    (void)getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* Sleeps, and notes when it was woken up: the thread then waited for a CPU before it ran. It was asleep if more time went by
 * than that; what was ready before would not have let it. A process that is stopped does not wait for a CPU: if it may have
 * been, nothing is noted. */
static void sleep_measured(struct recording *recording)
{
    uint64_t before, after, began, now;
    bool is_known = recording->schedstat >= 0 && read_cpu_wait(recording, &before);
    long off = is_known ? times_off() : 0;

    began = clock_ns(CLOCK_MONOTONIC);
    sleep_for(&recording->wait);
    now = clock_ns(CLOCK_MONOTONIC);
    if (is_known && times_off() - off <= 1 && read_cpu_wait(recording, &after) &&
        now - began > after - before + SLEEP_MARGIN_NS)
        recording->woken_at = now - (after - before) - SLEEP_MARGIN_NS;
}

static void stop_when_over(struct recording *recording, uint64_t now)
{
    if (leaders_finished(recording) || all_but_attending_finished(recording))
        stop_all(recording, RECORDER_BY_END, now);
}

/* Sleeps once, until UNTIL at most, and does what is due. -errno: it cannot go on. */
static int iterate(struct recording *recording, uint64_t until)
{
    uint64_t now;
    int r = collect_waits(recording, until);

    if (r < 0)
        return r;
    sleep_measured(recording);
    recording->wakeups++;
    now = clock_ns(CLOCK_MONOTONIC);
    if (recording->has_begun) /* a signal that comes before is for all, too */
        handle_signals(recording, now);
    if (now >= recording->time_up) {
        stop_all(recording, RECORDER_BY_TIME, now);
        recording->time_up = UINT64_MAX;
    }
    for (unsigned i = 0; i < recording->n; i++)
        step(recording, recording->recorders[i], now);
    for (unsigned i = 0; i < recording->n; i++)
        urge(recording->recorders[i], now);
    if (recording->has_begun)
        stop_when_over(recording, now);
    check_free(recording, now);
    if (recording->settings.progress_ns && now >= recording->progress_at) {
        recording->settings.progress(recording->settings.userdata, recording);
        recording->progress_at = now + recording->settings.progress_ns;
    }
    /* What is in its way need not last, and ends nothing: the end will report. */
    if (recording->has_changed && now >= recording->note_at)
        (void)recording_note(recording, NULL);
    return 0;
}

/* ---- The course ---- */

static bool has_signal(const struct recording *recording)
{
    return recording->settings.signals && stop_signals_pending(recording->settings.signals);
}

/* Until RECORDER is ready: for some time, for ever where it `waits`, or until a signal comes. -errno: out of memory. */
static int await(struct recording *recording, struct recorder *recorder)
{
    uint64_t until = 0;
    bool waits = true;
    int r = 0;

    while (r >= 0 && recorder->state == RECORDER_RUNNING && !recorder->ops->is_ready(recorder)) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC);

        if (has_signal(recording) && recorder->waits)
            r = iterate(recording, 0); /* what it waited for may have just come */
        if (has_signal(recording) || (!recorder->waits && !waits && now >= until))
            break;
        /* From when it has begun to wait for what comes surely. */
        if (waits)
            until = now + READY_TIMEOUT_NS;
        waits = recorder->waits;
        r = iterate(recording, waits ? UINT64_MAX : until);
    }
    if (r >= 0 && recorder->waits && recorder->state == RECORDER_RUNNING &&
        !recorder->ops->is_ready(recorder)) {
        struct error why = {0};

        error_set(&why, -EINTR, NULL, "ended by a signal while waiting for %s", recorder->name);
        fail(recorder, why.code, &why);
        finish(recorder);
    }
    return r;
}

int recording_start(struct recorder *recorder, struct error *error)
{
    int r;

    recorder->state = RECORDER_RUNNING; /* its sources may be asked for */
    recorder->due_at = UINT64_MAX;      /* until poll() was called */
    r = recorder->ops->start(recorder, error);
    if (r >= 0)
        return 0;
    recorder->state = RECORDER_NEW;
    return error_set(error, r, NULL, "%s cannot be recorded: %s", recorder->name, strerror(-r));
}

static int start_and_await(struct recording *recording, struct recorder *recorder,
                           struct error *error)
{
    int r = recording_start(recorder, error);

    if (r < 0)
        return r;
    recording->starting = recorder;
    if (recorder->ops->is_ready)
        r = await(recording, recorder);
    recording->starting = NULL;
    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    if (recorder->error.code)
        *error = recorder->error;
    return recorder->error.code;
}

static int start(struct recording *recording, struct recorder *recorder, struct error *error)
{
    struct error why = {0};
    char text[sizeof why.path + sizeof why.what + 40];
    int r;

    if (recorder->state != RECORDER_NEW) /* another recorder had it started */
        return 0;
    r = start_and_await(recording, recorder, &why);
    if (r >= 0)
        return 0;
    if (!recorder->is_optional || has_signal(recording)) {
        if (error)
            *error = why;
        return r;
    }
    recorder->error = why;
    error_print(&why, text, sizeof text);
    recorder_report(recorder, "%s; the rest is recorded", text);
    recorder_problem(recorder, "%s", text);
    recorder_note_report(recorder, text);
    return 0;
}

/* What the recording is about is not started any more after a signal. Once it is, the others are, too, and all end in order. */
static int check_signal(struct recording *recording, struct error *error)
{
    const struct recorder *primary = NULL;

    for (unsigned i = 0; i < recording->n && !primary; i++)
        if (recording->recorders[i]->is_primary)
            primary = recording->recorders[i];
    if (!primary || primary->state != RECORDER_NEW || !has_signal(recording))
        return 0;
    return error_set(error, -EINTR, NULL, "ended by a signal before the recording of %s began",
                     primary->name);
}

static void finish_all(struct recording *recording)
{
    for (unsigned i = 0; i < recording->n; i++)
        if (recording->recorders[i]->state == RECORDER_RUNNING)
            finish(recording->recorders[i]);
}

/* What the recorders have made that had started, where another one could not. */
static void discard(struct recording *recording)
{
    finish_all(recording);
    for (unsigned i = 0; i < recording->n; i++)
        if (recording->recorders[i]->state == RECORDER_FINISHED &&
            recording->recorders[i]->ops->discard)
            recording->recorders[i]->ops->discard(recording->recorders[i]);
    reserve_give(&recording->spare);
    if (recording->dir.fd >= 0)
        (void)unlinkat(recording->dir.fd, MANIFEST_NAME, 0);
}

int recording_run(struct recording *recording, struct error *error)
{
    const struct recording_settings *settings = &recording->settings;
    uint64_t now;
    int r = 0;

    /* A recorder may take what room there is. */
    if (recording->dir.path)
        reserve_keep(recording->dir.path, &recording->spare);
    for (unsigned i = 0; i < recording->n && r >= 0; i++) {
        r = check_signal(recording, error);
        if (r >= 0)
            r = start(recording, recording->recorders[i], error);
    }
    if (r >= 0)
        r = recording_note(recording, error);
    if (r < 0) {
        discard(recording);
        return r;
    }
    recording->has_begun = true;
    if (!settings->dir && settings->listed)
        (void)registry_add(settings->runtime, settings->listed, &recording->registry_entry, NULL);
    if (settings->begun)
        settings->begun(settings->userdata);
    recording->is_early = has_signal(recording);
    now = clock_ns(CLOCK_MONOTONIC);
    recording->progress_at = now + settings->progress_ns;
    if (settings->time && __builtin_add_overflow(now, settings->time, &recording->time_up))
        recording->time_up = UINT64_MAX;
    /* A primary recorder may have ended while it was started. Then nothing wakes the others. */
    stop_when_over(recording, now);
    while (r >= 0 && !all_finished(recording))
        r = iterate(recording, UINT64_MAX);
    finish_all(recording);
    reserve_give(&recording->spare);
    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    return recording->dir.path ? write_manifest(recording, true, error) : 0;
}

/* ---- What is known of it ---- */

bool recording_has_begun(const struct recording *recording)
{
    return recording && recording->has_begun;
}

void recording_remove(struct recording *recording)
{
    if (recording->dir.fd >= 0)
        remove_dir_entries(recording->dir.fd);
}

int recording_dir(const struct recording *recording)
{
    return recording->dir.fd;
}

const char *recording_path(const struct recording *recording)
{
    return recording->dir.path;
}

const struct recording_settings *recording_settings(const struct recording *recording)
{
    return &recording->settings;
}

const struct registry_entry *recording_registry_entry(const struct recording *recording)
{
    return &recording->registry_entry;
}

void recording_keep_registry_entry(struct recording *recording)
{
    recording->keeps_registry_entry = true;
}

struct arena *recording_arena(struct recording *recording)
{
    return &recording->arena;
}

void recording_on_event(struct recording *recording,
                        void (*handle)(void *userdata, const struct recorder_event *event),
                        void *userdata)
{
    recording->handle_event = handle;
    recording->event_userdata = userdata;
}

uint64_t recording_time_up(const struct recording *recording)
{
    return recording->time_up;
}

bool recording_is_full(const struct recording *recording)
{
    return recording->is_full;
}

struct recorder *const *recording_recorders(const struct recording *recording, unsigned *ret_n)
{
    *ret_n = recording->n;
    return recording->recorders;
}

bool recording_is_under_way(const struct recording *recording)
{
    for (unsigned i = 0; i < recording->n; i++) {
        const struct recorder *recorder = recording->recorders[i];

        if (!recorder->is_service && (recorder->state == RECORDER_RUNNING ||
                                      (recorder->state == RECORDER_NEW && !recording->has_begun)))
            return true;
    }
    return false;
}

bool recording_measure_wakeups(struct recording *recording)
{
    uint64_t unused;

    if (recording->schedstat < 0)
        recording->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    return recording->schedstat >= 0 && read_cpu_wait(recording, &unused);
}

uint64_t recording_woken_at(const struct recording *recording)
{
    return recording->woken_at;
}

uint64_t recording_wakeups(const struct recording *recording)
{
    return recording->wakeups;
}
