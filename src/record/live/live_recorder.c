/* SPDX-License-Identifier: MIT */
#include "record/live/live_recorder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "record/kernel/live_stream.h"
#include "record/live/live_child.h"
#include "record/recording.h"

struct live_recorder {
    struct recorder recorder;
    struct live_recorder_settings settings;
    int *streams; /* to send on, by kernel; -1: taken over */
    pid_t pid;    /* 0: it is not running */
    int end;      /* readable when the process has ended; -1 */
    enum live_recorder_end how;
};

static struct live_recorder *self_of(struct recorder *recorder)
{
    return container_of(recorder, struct live_recorder, recorder);
}

static const struct live_recorder *const_self_of(const struct recorder *recorder)
{
    return const_container_of(recorder, struct live_recorder, recorder);
}

static void close_all(int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

/* In the child. */
static _Noreturn void become_view(const struct live_recorder *self, const int *streams, int kept)
{
    const struct recording_settings *recording = recording_settings(self->recorder.recording);

    /* It ends when its streams have ended, and not by a signal. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    live_child_run(&self->settings, streams, kept, recording->report, recording->userdata);
}

static int start(struct recorder *recorder, struct error *error)
{
    struct live_recorder *self = self_of(recorder);
    unsigned n = self->settings.n;
    _cleanup_free_ int *theirs = malloc(n * sizeof *theirs);
    int pipe[2] = {-1, -1};
    pid_t pid = -1;
    int r = theirs ? 0 : -ENOMEM;

    for (unsigned i = 0; theirs && i < n; i++)
        theirs[i] = -1;
    for (unsigned i = 0; r >= 0 && i < n; i++) {
        int ends[2];

        r = live_pair(ends);
        if (r >= 0) {
            self->streams[i] = ends[0];
            theirs[i] = ends[1];
        }
    }
    if (r >= 0 && pipe2(pipe, O_CLOEXEC) < 0)
        r = -errno;
    if (r >= 0) {
        fflush(NULL); /* else the child would print it, too */
        pid = fork();
        r = pid < 0 ? -errno : 0;
    }
    if (pid == 0)
        become_view(self, theirs, pipe[1]);
    if (theirs)
        close_all(theirs, n);
    close_all(pipe + 1, 1);
    if (r < 0) {
        close_all(pipe, 1);
        close_all(self->streams, n);
        return error_set(error, r, NULL, "cannot start the process that prints events: %s",
                         strerror(-r));
    }
    self->pid = pid;
    self->end = pipe[0];
    self->how = LIVE_GOES_ON;
    return 0;
}

static void poll_fds(struct recorder *recorder, struct recorder_wait *wait)
{
    recorder_wait_fd(wait, self_of(recorder)->end, POLLIN);
}

/* The process is exiting, or was killed. */
static void reap(struct live_recorder *self)
{
    int status = 0;
    pid_t r;

    do
        r = waitpid(self->pid, &status, 0);
    while (r < 0 && errno == EINTR);
    self->pid = 0;
    close_all(&self->end, 1);
    if (self->how != LIVE_GOES_ON)
        return;
    self->how = LIVE_FAILED;
    if (r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        self->how = LIVE_IS_DONE;
    else if (r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == LIVE_STATUS_UNREAD)
        self->how = LIVE_IS_UNREAD;
    else if (r > 0 && WIFSIGNALED(status))
        recorder_report(&self->recorder,
                        "the live viewer was killed by signal %d (%s), probably by malformed data "
                        "from a guest",
                        WTERMSIG(status), strsignal(WTERMSIG(status)));
}

static int step(struct recorder *recorder, const struct pollfd *fds, unsigned n, uint64_t now,
                struct error *error)
{
    struct live_recorder *self = self_of(recorder);

    (void)now;
    (void)error;
    if (self->pid > 0 && n > 0 && fds[0].revents)
        reap(self);
    if (self->pid > 0)
        return 1;
    if (self->how == LIVE_IS_UNREAD || self->settings.alone)
        recorder_stop_all(recorder);
    return 0;
}

/* Prints the rest, unless the user wants the end at once. */
static uint64_t stop(struct recorder *recorder, const struct recorder_stop *stop, uint64_t now)
{
    struct live_recorder *self = self_of(recorder);

    (void)now;
    close_all(self->streams, self->settings.n); /* of recorders that were never started */
    if (stop->urgency >= RECORDER_STOP_NOW && self->pid > 0) {
        self->how = LIVE_IS_DONE;
        kill(self->pid, SIGKILL);
    }
    return UINT64_MAX;
}

static int finish(struct recorder *recorder, struct error *error)
{
    struct live_recorder *self = self_of(recorder);

    (void)error;
    close_all(self->streams, self->settings.n);
    if (self->pid > 0) {
        self->how = LIVE_IS_DONE;
        kill(self->pid, SIGKILL);
        reap(self);
    }
    return 0;
}

static void free_recorder(struct recorder *recorder)
{
    struct live_recorder *self = self_of(recorder);

    free(self->streams);
    free(self);
}

static const struct recorder_ops ops = {
    .start = start,
    .poll = poll_fds,
    .step = step,
    .stop = stop,
    .finish = finish,
    .free = free_recorder,
};

int live_recorder_new(const struct live_recorder_settings *settings, struct recorder **ret)
{
    struct live_recorder *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    self->streams = malloc(settings->n * sizeof *self->streams);
    if (!self->streams) {
        free(self);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < settings->n; i++)
        self->streams[i] = -1;
    self->recorder.ops = &ops;
    self->recorder.name = "the live viewer";
    self->settings = *settings;
    self->end = -1;
    *ret = &self->recorder;
    return 0;
}

int *live_recorder_stream(struct recorder *recorder, unsigned i)
{
    return &self_of(recorder)->streams[i];
}

enum live_recorder_end live_recorder_end(const struct recorder *recorder)
{
    return const_self_of(recorder)->how;
}
