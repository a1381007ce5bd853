/* SPDX-License-Identifier: MIT */
/* The loop of all recorders, with recorders that do nothing but say what was asked of them. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/recording.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

static char calls[512]; /* what was asked of all, in its order */
static char reported[512];

struct fake {
    struct recorder recorder;
    const char *name;
    int pipe[2];     /* readable: it ends, or what the byte says */
    uint64_t due_ns; /* a deadline so long after each step; 0: none */
    uint64_t due_at;
    uint64_t stop_ns[4]; /* what stop() allows, by urgency; 0: it never ends by itself */
    bool ends_by[4];     /* whether it ends by a stop of that urgency */
    int start_error, step_error, finish_error;
    unsigned n_steps, n_late;
    bool is_ready, is_over;
    bool has_source;
    enum recorder_reason reason;
    struct recorder_stop stop;
    struct fake
        *starts; /* started by this one's start(), before that fails; and ended and woken by 'k' */
};

static struct fake *fake_of(const struct recorder *recorder)
{
    return container_of(recorder, struct fake, recorder);
}

static void note(const struct fake *fake, const char *what)
{
    size_t len = strlen(calls);

    snprintf(calls + len, sizeof calls - len, "%s%s.%s", len ? " " : "", fake->name, what);
}

static int fake_start(struct recorder *recorder, struct error *error)
{
    struct fake *fake = fake_of(recorder);

    note(fake, "start");
    if (fake->starts && recording_start(&fake->starts->recorder, error) < 0)
        return -EIO;
    if (fake->start_error)
        return error_set(error, fake->start_error, "", "%s does not start", fake->name);
    fake->due_at = fake->due_ns ? clock_ns(CLOCK_MONOTONIC) + fake->due_ns : UINT64_MAX;
    return 0;
}

static void fake_poll(struct recorder *recorder, struct recorder_wait *wait)
{
    struct fake *fake = fake_of(recorder);

    recorder_wait_fd(wait, -1, POLLIN);
    recorder_wait_fd(wait, fake->pipe[0], POLLIN);
    recorder_wait_until(wait, fake->due_at);
}

static int fake_step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                     struct error *error)
{
    struct fake *fake = fake_of(recorder);
    char byte;

    assert_int_equal(n, 2);
    assert_int_equal(fds[0].fd, -1);
    assert_int_equal(fds[1].fd, fake->pipe[0]);
    fake->n_steps++;
    if (fake->due_ns && now >= fake->due_at) {
        fake->n_late++;
        fake->due_at = now + fake->due_ns;
    }
    if (fds[1].revents && read(fake->pipe[0], &byte, 1) == 1) {
        if (byte == 'f')
            return error_set(error, fake->step_error, "", "%s fails", fake->name);
        if (byte == 'r')
            fake->is_ready = true;
        if (byte == 'w')
            recorder->waits = false;
        if (byte == 'c')
            recorder_changed(recorder);
        if (byte == 'e')
            fake->is_over = true;
        if (byte == 'k') {
            fake->starts->is_over = true;
            recorder_wake(&fake->starts->recorder);
        }
    }
    return !fake->is_over;
}

static uint64_t fake_stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    static const char *const names[] = {"", "stop", "hurry", "kill"};
    struct fake *fake = fake_of(recorder);

    note(fake, names[stop->urgency]);
    fake->reason = stop->reason;
    fake->stop = *stop;
    if (fake->ends_by[stop->urgency])
        fake->is_over = true;
    return fake->stop_ns[stop->urgency] ? now + fake->stop_ns[stop->urgency] : UINT64_MAX;
}

static int fake_finish(struct recorder *recorder, struct error *error)
{
    struct fake *fake = fake_of(recorder);

    note(fake, "finish");
    return fake->finish_error ? error_set(error, fake->finish_error, "", "its end failed") : 0;
}

static bool fake_is_ready(const struct recorder *recorder)
{
    return fake_of(recorder)->is_ready;
}

static int fake_sources(const struct recorder *recorder, struct arena *arena,
                        struct recorder_sources *ret)
{
    struct fake *fake = fake_of(recorder);
    struct manifest_source *source = arena_alloc(arena, sizeof *source);

    if (!source)
        return -ENOMEM;
    *source = (struct manifest_source){
        .name = fake->name,
        .kind = "xentrace",
        .layer = "hypervisor",
        .path = fake->name,
        .complete = recorder->state == RECORDER_FINISHED && !recorder->error.code,
    };
    *ret = (struct recorder_sources){source, fake->has_source, 0};
    return 0;
}

static void fake_discard(struct recorder *recorder)
{
    note(fake_of(recorder), "discard");
}

static void fake_free(struct recorder *recorder)
{
    struct fake *fake = fake_of(recorder);

    note(fake, "free");
    close(fake->pipe[0]);
    close(fake->pipe[1]);
}

static const struct recorder_ops ops = {
    .start = fake_start,
    .poll = fake_poll,
    .step = fake_step,
    .stop = fake_stop,
    .finish = fake_finish,
    .sources = fake_sources,
    .discard = fake_discard,
    .free = fake_free,
};

static const struct recorder_ops ops_ready = {
    .start = fake_start,
    .is_ready = fake_is_ready,
    .poll = fake_poll,
    .step = fake_step,
    .stop = fake_stop,
    .finish = fake_finish,
    .free = fake_free,
};

/* One that ends by the first stop. */
static struct fake make(const char *name)
{
    struct fake fake = {.recorder = {.ops = &ops, .name = name},
                        .name = name,
                        .ends_by = {false, true, true, true},
                        .has_source = true};

    assert_int_equal(pipe2(fake.pipe, O_CLOEXEC | O_NONBLOCK), 0);
    return fake;
}

static void say(struct fake *fake, char byte)
{
    assert_int_equal(write(fake->pipe[1], &byte, 1), 1);
}

static void report(void *userdata, const char *text)
{
    size_t len = strlen(reported);

    snprintf(reported + len, sizeof reported - len, "%s%s", len ? "; " : "", text);
}

static struct recording *begin(const char *dir, const struct recording_settings *more,
                               struct fake *a, struct fake *b)
{
    struct recording_settings settings = more ? *more : (struct recording_settings){0};
    struct recording *recording;
    struct error error = {0};

    calls[0] = reported[0] = '\0';
    settings.dir = dir;
    settings.runtime = "/tmp";
    settings.report = report;
    if (recording_new(&settings, &recording, &error) < 0)
        fail_msg("%s: %s", error.path, error.what);
    assert_int_equal(recording_add(recording, &a->recorder), 0);
    if (b)
        assert_int_equal(recording_add(recording, &b->recorder), 0);
    return recording;
}

/* A directory with nothing in it but what a recording may have left, removed. */
static void remove_dir(const char *dir)
{
    char path[128];

    snprintf(path, sizeof path, "%s/" MANIFEST_NAME, dir);
    (void)unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

static struct manifest read_back(const char *dir)
{
    struct manifest manifest = {0};
    struct error error = {0};

    if (manifest_read(dir, &manifest, &error) < 0)
        fail_msg("%s", error.what);
    return manifest;
}

/* ---- The order ---- */

static void calls_come_in_their_order(void **state)
{
    struct fake a = make("a"), b = make("b");
    struct recording *recording = begin(NULL, NULL, &a, &b);

    say(&b, 'e');
    say(&a, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_true(recording_has_begun(recording));
    recording_free(recording);
    assert_string_equal(calls, "a.start b.start a.finish b.finish b.free a.free");
}

static void a_recorder_starts_another_one_sooner(void **state)
{
    struct fake a = make("a"), b = make("b");
    struct recording_settings settings = {.time = 60 * SECOND};
    struct recording *recording = begin(NULL, &settings, &a, &b);

    a.starts = &b;
    say(&a, 'k'); /* it is woken, though nothing else is due */
    a.recorder.is_primary = false;
    b.recorder.is_primary = true;
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_int_equal(b.n_steps, 1);
    recording_free(recording);
    assert_string_equal(calls, "a.start b.start b.finish a.stop a.finish b.free a.free");
}

static void what_another_one_has_started_is_discarded_with_it(void **state)
{
    struct fake a = make("a"), b = make("b");
    struct recording *recording = begin(NULL, NULL, &a, &b);
    struct error error = {0};

    a.starts = &b;
    a.start_error = -EBUSY;
    assert_int_equal(recording_run(recording, &error), -EBUSY);
    assert_string_equal(error.what, "a does not start");
    recording_free(recording);
    assert_string_equal(calls, "a.start b.start b.finish b.discard b.free a.free");

    a = make("a"), b = make("b");
    recording = begin(NULL, NULL, &a, &b);
    a.starts = &b;
    b.start_error = -EBUSY;
    error = (struct error){0};
    assert_int_equal(recording_run(recording, &error), -EIO);
    assert_string_equal(error.what, "b does not start");
    recording_free(recording);
    assert_string_equal(calls, "a.start b.start b.free a.free");
}

static void the_end_of_those_that_lead_stops_the_others(void **state)
{
    struct fake a = make("a"), b = make("b");
    struct recording *recording = begin(NULL, NULL, &a, &b);

    b.recorder.is_primary = true;
    say(&b, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_int_equal(a.reason, RECORDER_BY_END);
    assert_string_equal(calls, "a.start b.start b.finish a.stop a.finish");
    recording_free(recording);
}

/* Also if no recorder is primary (Xen's buffers): a service keeps no recording alive, wherever it stands. */
static void what_attends_ends_with_the_others(void **state)
{
    struct fake a = make("a"), b = make("b");
    struct recording *recording = begin(NULL, NULL, &a, &b);

    b.recorder.is_service = true;
    say(&a, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_int_equal(b.reason, RECORDER_BY_END);
    assert_string_equal(calls, "a.start b.start a.finish b.stop b.finish");
    recording_free(recording);

    a = make("a");
    b = make("b");
    recording = begin(NULL, NULL, &a, &b);
    a.recorder.is_service = true;
    say(&b, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_string_equal(calls, "a.start b.start b.finish a.stop a.finish");
    recording_free(recording);
}

/* A QEMU that dies while the recorder attaches to it: nothing else would wake the recording. */
static void what_leads_may_end_while_it_is_started(void **state)
{
    struct fake a = make("a"), b = make("b");
    struct recording *recording = begin(NULL, NULL, &a, &b);

    a.recorder.ops = &ops_ready;
    a.recorder.is_primary = true;
    b.recorder.is_service = true;
    say(&a, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_int_equal(b.reason, RECORDER_BY_END);
    assert_string_equal(calls, "a.start a.finish b.start b.stop b.finish");
    recording_free(recording);
}

static void the_next_one_starts_when_the_one_before_is_ready(void **state)
{
    struct fake a = make("a"), b = make("b");
    struct recording *recording = begin(NULL, NULL, &a, &b);

    a.recorder.ops = &ops_ready;
    b.recorder.is_primary = true;
    say(&a, 'r');
    say(&b, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_int_equal(a.n_steps, 2); /* that it is ready, and its end */
    assert_string_equal(calls, "a.start b.start b.finish a.stop a.finish");
    recording_free(recording);

    /* One that ends instead is waited for no longer. */
    a = make("a");
    b = make("b");
    recording = begin(NULL, NULL, &a, &b);
    a.recorder.ops = &ops_ready;
    say(&a, 'e');
    say(&b, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_string_equal(calls, "a.start a.finish b.start b.finish");
    recording_free(recording);
}

static void nothing_is_left_where_one_does_not_start(void **state)
{
    char dir[] = "/tmp/strata-recording-XXXXXX";
    struct fake a = make("a"), b = make("b");
    struct recording *recording;
    struct error error = {0};

    assert_non_null(mkdtemp(dir));
    assert_int_equal(rmdir(dir), 0);
    recording = begin(dir, NULL, &a, &b);
    assert_int_equal(access(dir, F_OK), 0);
    b.start_error = -ENODEV;
    assert_int_equal(recording_run(recording, &error), -ENODEV);
    assert_string_equal(error.what, "b does not start");
    assert_false(recording_has_begun(recording));
    recording_free(recording);
    assert_string_equal(calls, "a.start b.start a.finish a.discard b.free a.free");
    assert_int_equal(access(dir, F_OK), -1);
}

static void one_that_fails_before_it_is_ready_has_not_started(void **state)
{
    struct fake a = make("a"), b = make("b");
    struct recording *recording = begin(NULL, NULL, &a, &b);
    struct error error = {0};

    a.recorder.ops = &ops_ready;
    a.step_error = -EPERM;
    say(&a, 'f');
    assert_int_equal(recording_run(recording, &error), -EPERM);
    assert_string_equal(error.what, "a fails");
    assert_string_equal(reported, "");
    assert_false(recording_has_begun(recording));
    assert_string_equal(calls, "a.start a.finish");
    recording_free(recording);
}

/* What may never be ready is given up by a signal, and nothing has begun; what will be surely is ended in order. */
static void a_signal_ends_waiting(void **state)
{
    struct stop_signals signals;
    struct recording_settings settings = {.signals = &signals};
    struct error error = {0};
    struct fake a;
    struct recording *recording;

    assert_int_equal(stop_signals_open(false, &signals), 0);
    a = make("a");
    recording = begin(NULL, &settings, &a, NULL);
    a.recorder.ops = &ops_ready;
    a.recorder.waits = true;
    kill(getpid(), SIGTERM);
    assert_int_equal(recording_run(recording, &error), -EINTR);
    assert_string_equal(error.what, "ended by a signal while waiting for a");
    assert_string_equal(calls, "a.start a.finish");
    assert_false(recording_has_begun(recording));
    recording_free(recording);
    stop_signals_close(&signals);

    assert_int_equal(stop_signals_open(false, &signals), 0);
    a = make("a");
    recording = begin(NULL, &settings, &a, NULL);
    a.recorder.ops = &ops_ready;
    a.recorder.waits = true;
    say(&a, 'w');
    kill(getpid(), SIGTERM);
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_string_equal(calls, "a.start a.stop a.finish");
    recording_free(recording);
    stop_signals_close(&signals);
}

/* ---- Failures ---- */

static void one_that_fails_does_not_end_the_others(void **state)
{
    char dir[] = "/tmp/strata-recording-XXXXXX";
    struct fake a = make("a"), b = make("b");
    struct recording *recording;
    struct manifest manifest;

    assert_non_null(mkdtemp(dir));
    recording = begin(dir, &(struct recording_settings){.time = 20 * MS}, &a, &b);
    a.step_error = -EIO;
    say(&a, 'f');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_string_equal(calls, "a.start b.start a.finish b.stop b.finish");
    assert_int_equal(b.reason, RECORDER_BY_TIME);
    assert_int_equal(a.recorder.error.code, -EIO);
    assert_int_equal(b.recorder.error.code, 0);
    assert_string_equal(reported, "a fails");
    recording_free(recording);
    manifest = read_back(dir);
    assert_int_equal(manifest.n_sources, 2);
    assert_false(manifest.sources[0].complete);
    assert_string_equal(manifest.sources[0].problems[0], "recording failed: a fails");
    assert_true(manifest.sources[1].complete);
    assert_int_equal(manifest.sources[1].n_problems, 0);
    manifest_done(&manifest);
    remove_dir(dir);
}

static void an_end_that_fails_is_reported(void **state)
{
    struct fake a = make("a");
    struct recording *recording = begin(NULL, NULL, &a, NULL);

    a.finish_error = -EPROTO;
    say(&a, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_int_equal(a.recorder.error.code, -EPROTO);
    assert_string_equal(reported, "its end failed");
    recording_free(recording);
}

/* What one without sources has to say stands with the first source that there is. */
static void problems_are_not_lost(void **state)
{
    char dir[] = "/tmp/strata-recording-XXXXXX";
    struct fake a = make("a"), b = make("b");
    struct recording *recording;
    struct manifest manifest;

    assert_non_null(mkdtemp(dir));
    recording = begin(dir, NULL, &a, &b);
    a.has_source = false;
    a.step_error = -EIO;
    say(&a, 'f');
    say(&b, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    recording_free(recording);
    manifest = read_back(dir);
    assert_int_equal(manifest.n_sources, 1);
    assert_string_equal(manifest.sources[0].name, "b");
    assert_string_equal(manifest.sources[0].problems[0], "recording failed: a fails");
    manifest_done(&manifest);
    remove_dir(dir);
}

/* ---- Deadlines ---- */

/* A recorder is called at the time that it named, and for nothing else: the other one, which named none, never. */
static void a_deadline_is_kept_and_an_idle_recorder_sleeps(void **state)
{
    struct fake a = make("a"), b = make("b");
    struct recording *recording =
        begin(NULL, &(struct recording_settings){.time = 300 * MS}, &a, &b);
    uint64_t start = clock_ns(CLOCK_MONOTONIC), ns;

    a.due_ns = 100 * MS;
    assert_int_equal(recording_run(recording, NULL), 0);
    ns = clock_ns(CLOCK_MONOTONIC) - start;
    assert_true(ns >= 300 * MS);
    assert_in_range(a.n_late, 1, ns / (100 * MS));
    assert_int_equal(b.n_steps, 1); /* its end */
    /* Each deadline that was kept, the end of the time, unless it came with one, and what that asked for. */
    assert_in_range(recording_wakeups(recording), a.n_late, a.n_late + 2);
    recording_free(recording);

    /* With none at all: once for the time. */
    a = make("a");
    recording = begin(NULL, &(struct recording_settings){.time = 200 * MS}, &a, NULL);
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_int_equal(recording_wakeups(recording), 1);
    recording_free(recording);
}

/* ---- The ladder ---- */

static void the_ladder_goes_on_when_time_has_passed(void **state)
{
    struct fake a = make("a");
    struct recording *recording = begin(NULL, &(struct recording_settings){.time = MS}, &a, NULL);

    memset(a.ends_by, 0, sizeof a.ends_by);
    a.stop_ns[RECORDER_STOP] = a.stop_ns[RECORDER_STOP_NOW] = a.stop_ns[RECORDER_KILL] = 5 * MS;
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_string_equal(calls, "a.start a.stop a.hurry a.kill a.finish");
    recording_free(recording);
}

static void signals_go_up_the_ladder(void **state)
{
    struct stop_signals signals;
    struct fake a = make("a"), b = make("b");
    struct recording *recording;

    assert_int_equal(stop_signals_open(false, &signals), 0);
    recording = begin(NULL, &(struct recording_settings){.signals = &signals}, &a, &b);
    a.ends_by[RECORDER_STOP] = a.ends_by[RECORDER_STOP_NOW] = false;
    kill(getpid(), SIGINT);
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGHUP);
    assert_int_equal(recording_run(recording, NULL), 0);
    /* All three are there at once: b has no time to end by the first. */
    assert_string_equal(
        calls, "a.start b.start a.stop b.stop a.hurry b.hurry a.kill b.kill a.finish b.finish");
    assert_int_equal(a.reason, RECORDER_BY_SIGNAL);
    assert_true(a.stop.is_alone);
    assert_false(a.stop.is_early);
    recording_free(recording);
    assert_false(stop_signals_pending(&signals));
    stop_signals_close(&signals);
}

/* One that came before all had started: a child may not have got it. */
static void an_early_signal_is_told_from_others(void **state)
{
    struct stop_signals signals;
    struct fake a = make("a");
    struct recording *recording;

    assert_int_equal(stop_signals_open(false, &signals), 0);
    recording = begin(NULL, &(struct recording_settings){.signals = &signals}, &a, NULL);
    kill(getpid(), SIGTERM);
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_int_equal(a.stop.signal, SIGTERM);
    assert_true(a.stop.is_early);
    recording_free(recording);
    stop_signals_close(&signals);
}

/* ---- Limits ---- */

static void a_full_disk_stops_all(void **state)
{
    char dir[] = "/tmp/strata-recording-XXXXXX";
    struct fake a = make("a"), b = make("b");
    struct recording *recording;
    struct manifest manifest;

    assert_non_null(mkdtemp(dir));
    recording = begin(dir, &(struct recording_settings){.min_free = UINT64_MAX}, &a, &b);
    say(&a, 'c');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_true(recording_is_full(recording));
    assert_int_equal(a.reason, RECORDER_BY_LIMIT);
    assert_non_null(strstr(reported, "would be free on the disk of"));
    recording_free(recording);
    manifest = read_back(dir);
    assert_string_equal(manifest.sources[1].problems[0],
                        "recording stopped as the disk was nearly full");
    manifest_done(&manifest);
    remove_dir(dir);
}

static void recorders_see_the_limits(void **state)
{
    struct fake a = make("a");
    struct recording *recording =
        begin(NULL, &(struct recording_settings){.max_size = 4096, .time = SECOND}, &a, NULL);

    assert_int_equal(recording_settings(a.recorder.recording)->max_size, 4096);
    assert_int_equal(recording_dir(recording), -1);
    assert_null(recording_path(recording));
    say(&a, 'e');
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_true(recording_time_up(recording) != UINT64_MAX);
    recording_free(recording);
}

/* ---- The directory ---- */

static void a_directory_is_one_recording_s(void **state)
{
    char dir[] = "/tmp/strata-recording-XXXXXX";
    struct recording_settings settings = {.dir = dir, .runtime = "/tmp"};
    struct recording *second;
    struct fake a = make("a");
    struct recording *recording;
    struct error error = {0};
    char path[128];
    int fd;

    assert_non_null(mkdtemp(dir));
    recording = begin(dir, NULL, &a, NULL);
    assert_int_equal(recording_new(&settings, &second, &error), -EEXIST);
    assert_non_null(strstr(error.what, "another recording is under way there"));
    recording_free(recording);

    snprintf(path, sizeof path, "%s/something", dir);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
    error = (struct error){0};
    assert_int_equal(recording_new(&settings, &second, &error), -EEXIST);
    assert_non_null(strstr(error.what, "directory is not empty"));
    assert_int_equal(unlink(path), 0);

    /* Of a directory of another user root makes no trace. */
    if (geteuid() == 0) {
        error = (struct error){0};
        assert_int_equal(chown(dir, 65534, 65534), 0);
        assert_int_equal(recording_new(&settings, &second, &error), -EPERM);
        assert_non_null(strstr(error.what, "belongs to user 65534"));
    }
    assert_int_equal(rmdir(dir), 0);
}

/* It is killed while it records: what it left opens, says that it is incomplete, and is left alone. */
static void a_recording_that_was_killed_opens(void **state)
{
    char dir[] = "/tmp/strata-recording-XXXXXX";
    struct recording_settings settings = {.dir = dir, .runtime = "/tmp"};
    struct recording *recording;
    struct manifest manifest = {0};
    struct error error = {0};
    int status;
    pid_t pid;

    assert_non_null(mkdtemp(dir));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct fake a = make("a");

        recording = begin(dir, NULL, &a, NULL);
        (void)recording_run(recording, NULL);
        _exit(1);
    }
    while (manifest_read(dir, &manifest, NULL) < 0)
        usleep(1000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(manifest.n_sources, 1);
    assert_false(manifest.sources[0].complete);
    manifest_done(&manifest);
    assert_int_equal(recording_new(&settings, &recording, &error), -EEXIST);
    manifest = read_back(dir);
    manifest_done(&manifest);
    remove_dir(dir);
}

/* The manifest follows what changes. */
static void progress(void *userdata, const struct recording *recording)
{
    struct manifest *manifest = userdata;

    if (manifest->n_sources == 0 && manifest_probe(recording_path(recording)))
        *manifest = read_back(recording_path(recording));
    if (manifest->n_sources == 2)
        assert_int_equal(kill(getpid(), SIGTERM), 0);
}

static void the_manifest_is_there_from_the_start(void **state)
{
    char dir[] = "/tmp/strata-recording-XXXXXX";
    struct stop_signals signals;
    struct fake a = make("a"), b = make("b");
    struct manifest manifest = {0};
    struct recording *recording;

    assert_int_equal(stop_signals_open(false, &signals), 0);
    assert_non_null(mkdtemp(dir));
    recording = begin(
        dir,
        &(struct recording_settings){
            .signals = &signals, .progress = progress, .progress_ns = MS, .userdata = &manifest},
        &a, &b);
    assert_int_equal(recording_run(recording, NULL), 0);
    assert_int_equal(manifest.n_sources, 2);
    assert_false(manifest.sources[0].complete);
    manifest_done(&manifest);
    recording_free(recording);
    manifest = read_back(dir);
    assert_true(manifest.sources[0].complete);
    assert_true(manifest.sources[1].complete);
    manifest_done(&manifest);
    remove_dir(dir);
    stop_signals_close(&signals);
}

/* SIGINT with CODE, the reason that siginfo_t has. */
static void send_interrupt(int code)
{
    siginfo_t info = {.si_signo = SIGINT, .si_code = code};

    assert_int_equal(syscall(SYS_rt_sigqueueinfo, getpid(), SIGINT, &info), 0);
}

static void an_ignored_signal_counts_only_if_a_process_sends_it(void **state)
{
    struct stop_signals signals;
    struct stop_signal got;

    (void)state;
    signal(SIGINT, SIG_IGN); /* as a script has it in what it starts with & */
    assert_int_equal(stop_signals_open(true, &signals), 0);
    send_interrupt(SI_KERNEL); /* as a terminal sends it */
    assert_false(stop_signals_pending(&signals));
    assert_int_equal(stop_signals_read(&signals, &got), 0);
    assert_int_equal(kill(getpid(), SIGINT), 0);
    assert_true(stop_signals_pending(&signals));
    assert_true(stop_signals_sleep(&signals, UINT64_MAX / 2));
    assert_int_equal(stop_signals_read(&signals, &got), 1);
    assert_int_equal(got.number, SIGTERM);
    assert_true(got.is_alone);
    assert_int_equal(stop_signals_read(&signals, &got), 0);
    stop_signals_close(&signals);
    signal(SIGINT, SIG_DFL);

    assert_int_equal(stop_signals_open(true, &signals), 0);
    send_interrupt(SI_KERNEL);
    assert_int_equal(stop_signals_read(&signals, &got), 1);
    assert_int_equal(got.number, SIGINT);
    assert_false(got.is_alone);
    stop_signals_close(&signals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_come_in_their_order),
        cmocka_unit_test(a_recorder_starts_another_one_sooner),
        cmocka_unit_test(what_another_one_has_started_is_discarded_with_it),
        cmocka_unit_test(the_end_of_those_that_lead_stops_the_others),
        cmocka_unit_test(what_attends_ends_with_the_others),
        cmocka_unit_test(what_leads_may_end_while_it_is_started),
        cmocka_unit_test(the_next_one_starts_when_the_one_before_is_ready),
        cmocka_unit_test(nothing_is_left_where_one_does_not_start),
        cmocka_unit_test(one_that_fails_before_it_is_ready_has_not_started),
        cmocka_unit_test(a_signal_ends_waiting),
        cmocka_unit_test(one_that_fails_does_not_end_the_others),
        cmocka_unit_test(an_end_that_fails_is_reported),
        cmocka_unit_test(problems_are_not_lost),
        cmocka_unit_test(a_deadline_is_kept_and_an_idle_recorder_sleeps),
        cmocka_unit_test(the_ladder_goes_on_when_time_has_passed),
        cmocka_unit_test(signals_go_up_the_ladder),
        cmocka_unit_test(an_early_signal_is_told_from_others),
        cmocka_unit_test(an_ignored_signal_counts_only_if_a_process_sends_it),
        cmocka_unit_test(a_full_disk_stops_all),
        cmocka_unit_test(recorders_see_the_limits),
        cmocka_unit_test(a_directory_is_one_recording_s),
        cmocka_unit_test(a_recording_that_was_killed_opens),
        cmocka_unit_test(the_manifest_is_there_from_the_start),
    };

    /* nohup has it ignored, and then nothing ends by it. */
    signal(SIGHUP, SIG_DFL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
