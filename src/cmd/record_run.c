/* SPDX-License-Identifier: MIT */
#include "cmd/record_run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "cli/progress.h"
#include "cmd/cmd.h"

#define SECOND UINT64_C(1000000000)
/* Between two looks for a FIFO's reader, ns. */
#define FIFO_PAUSE 20000000

static volatile sig_atomic_t stopped;
static sigset_t waiting; /* what is blocked while it waits */

static void on_signal(int signal)
{
    (void)signal;
    stopped = 1;
}

void record_catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t blocked;

    sigemptyset(&blocked);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct sigaction before;

        /* nohup(1). A shell lets what it starts with & ignore SIGINT, whose script may well end it so. */
        if (signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 &&
            before.sa_handler == SIG_IGN)
            continue;
        sigaddset(&blocked, signals[i]);
        sigaction(signals[i], &action, NULL);
    }
    /* What they tell of is told by write() as well, and then there is an end in order. */
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    sigprocmask(SIG_BLOCK, &blocked, &waiting);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        sigdelset(&waiting, signals[i]);
}

bool record_sleep(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};

    (void)ppoll(NULL, 0, &time, &waiting);
    return stopped;
}

/* open() would wait for a FIFO's reader, but a signal that comes just before would be missed. */
int record_open(const char *file)
{
    struct stat st;
    int fd, r;

    while ((fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644)) < 0) {
        r = -errno;
        if (r != -ENXIO || stat(file, &st) < 0 || !S_ISFIFO(st.st_mode))
            return r;
        if (record_sleep(FIFO_PAUSE))
            return -EINTR;
    }
    r = fcntl(fd, F_GETFL);
    if (r < 0 || fcntl(fd, F_SETFL, r & ~O_NONBLOCK) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    return fd;
}

/* "CPU 0: 12, CPU 3: 5" */
static const char *lost_text(const struct recorder *recorder, unsigned n_cpus, char *buf,
                             size_t size)
{
    size_t at = 0;

    buf[0] = 0;
    for (unsigned cpu = 0; cpu < n_cpus && at < size; cpu++) {
        uint64_t lost = recorder_lost(recorder, cpu);

        if (lost)
            at += (size_t)MAX(
                0, snprintf(buf + at, size - at, "%sCPU %u: %" PRIu64, at ? ", " : "", cpu, lost));
    }
    return buf;
}

/* At most once a second; the first time with what can be done. */
struct watch {
    uint64_t told;    /* how many had been lost */
    uint64_t next_at; /* ns */
};

static void watch_losses(struct watch *watch, const struct record_run *run,
                         const struct recorder *recorder)
{
    uint64_t lost = recorder_totals(recorder).lost;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    char cpus[400];

    if (lost == watch->told || now < watch->next_at)
        return;
    lost_text(recorder, run->buffers->n_cpus, cpus, sizeof cpus);
    if (watch->told == 0)
        cli_error(
            "events are being lost (%s so far): the trace buffers, %u KB for each CPU, were full. "
            "%s",
            cpus, run->buffers->pages * 4, run->more_room);
    else
        cli_error("%" PRIu64 " more events were lost (%s so far)", lost - watch->told, cpus);
    watch->told = lost;
    watch->next_at = now + SECOND;
}

/* Once a second: whether the mask is still ours. */
static int watch_mask(uint64_t *next_at, struct record_run *run, struct fault *fault)
{
    struct trace_buffers *buffers = run->buffers;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint32_t mask;
    int r;

    if (now < *next_at)
        return 0;
    *next_at = now + SECOND;
    r = buffers->ops->check(buffers, &mask, fault);
    if (r <= 0)
        return r;
    cli_error(
        "another program changed the event mask to 0x%08x: for up to a second, other events than "
        "were asked for were recorded; the mask is set again",
        (unsigned)mask);
    if (run->recording)
        recording_problem(run->recording,
                          "another program changed the event mask to 0x%08x for up to a second",
                          (unsigned)mask);
    return 0;
}

static int note(struct record_run *run, struct fault *fault)
{
    return run->recording ? recording_note(run->recording, run->buffers, fault) : 0;
}

/* Events are worth more than what is known of them so far: it is tried again at the end. */
static void note_again(struct record_run *run)
{
    struct fault fault = {0};

    if (note(run, &fault) < 0)
        cli_fault(&fault);
}

/* A recorder_progress, or a negative errno. */
static int loop(struct record_run *run, struct recorder *recorder, struct fault *fault)
{
    uint64_t until = run->time ? clock_ns(CLOCK_MONOTONIC) + run->time : UINT64_MAX;
    struct watch watch = {0};
    uint64_t next_check = clock_ns(CLOCK_MONOTONIC) + SECOND;
    bool ended = false;
    int r = RECORDER_GOES_ON;

    run->output->until = until;
    run->output->mask = waiting;
    while (r == RECORDER_GOES_ON && !stopped && !ended) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC);

        if (now >= until)
            break;
        ended = run->buffers->ops->ended && run->buffers->ops->ended(run->buffers);
        r = recorder_step(recorder, ended ? 0 : until - now, &waiting, fault);
        watch_losses(&watch, run, recorder);
        if (run->recording)
            recording_relate_clocks(run->recording);
        if (r == RECORDER_GOES_ON)
            r = watch_mask(&next_check, run, fault);
        if (r == RECORDER_GOES_ON && run->recording && run->buffers->ops->changed(run->buffers))
            note_again(run);
    }
    return r;
}

static void tell_end(const struct record_run *run, int progress)
{
    char size[16];

    if (progress == RECORDER_FULL)
        cli_message("strata: stopped: %s would be larger than it may be", run->output->path);
    if (progress == RECORDER_RESERVE)
        cli_error("stopped: less than %s would be free on the disk of %s",
                  bytes_text(size, sizeof size, run->output->reserve), run->output->path);
}

static void tell_losses(const struct record_run *run, const struct recorder *recorder,
                        const struct recorder_totals *totals)
{
    char cpus[400];

    if (totals->lost)
        cli_error("%" PRIu64 " events were lost (%s) in %" PRIu64 " place%s", totals->lost,
                  lost_text(recorder, run->buffers->n_cpus, cpus, sizeof cpus), totals->losses,
                  totals->losses == 1 ? "" : "s");
    if (totals->damaged)
        cli_error("%" PRIu64 " windows did not end with a record's end", totals->damaged);
}

/* What is to be known of the end stands in the trace, too. */
static int end_recording(struct record_run *run, const struct recorder_totals *totals, int progress,
                         const struct fault *why, struct fault *fault)
{
    if (!run->recording)
        return 0;
    if (progress == RECORDER_RESERVE)
        recording_problem(run->recording, "recording stopped as the disk was nearly full");
    if (progress < 0)
        recording_problem(run->recording, "recording failed: %s", why->what);
    if (totals->damaged)
        recording_problem(run->recording, "%" PRIu64 " windows did not end with a record's end",
                          totals->damaged);
    return recording_end(run->recording, run->buffers, totals, progress >= 0, fault);
}

static int begun(struct record_run *run, struct recorder *recorder,
                 struct recorder_totals *ret_totals)
{
    struct fault fault = {0};
    struct fault last = {0};
    int progress = note(run, &fault);
    int r;

    if (progress >= 0)
        progress = loop(run, recorder, &fault);
    /* Where there is no room for more, there is none for the rest. */
    r = recorder_finish(recorder, run->leave, progress < 0 ? &last : &fault);
    if (progress == RECORDER_GOES_ON)
        progress = r;
    *ret_totals = recorder_totals(recorder);
    r = run->buffers->ops->restore(run->buffers, run->leave, &last);
    if (r < 0)
        cli_fault(&last);
    fault_clear(&last);
    tell_end(run, progress);
    tell_losses(run, recorder, ret_totals);
    if (progress < 0)
        cli_fault(&fault);
    if (end_recording(run, ret_totals, progress, &fault, &last) < 0) {
        cli_fault(&last);
        r = -EIO;
    }
    return r < 0 || progress < 0 || progress == RECORDER_RESERVE ? EXIT_FAILURE : EXIT_SUCCESS;
}

int record_run(struct record_run *run, struct recorder_totals *ret_totals, bool *ret_begun)
{
    struct recorder *recorder;
    struct fault fault = {0};
    int status;
    int r = run->buffers->ops->begin(run->buffers, &run->settings, &fault);

    if (r >= 0)
        r = recorder_new(run->buffers, run->output, &run->recorder, &recorder, &fault);
    if (r < 0) {
        cli_fault(&fault);
        return EXIT_FAILURE;
    }
    *ret_begun = true;
    if (run->settings.pages && run->settings.pages != run->buffers->pages)
        cli_error("the trace buffers have %u pages for each CPU, not %u: their size is limited, "
                  "and can be set once after each boot",
                  run->buffers->pages, run->settings.pages);
    if (*run->buffers->notice) {
        cli_error("%s", run->buffers->notice);
        if (run->recording)
            recording_problem(run->recording, "%s", run->buffers->notice);
    }
    status = begun(run, recorder, ret_totals);
    recorder_free(recorder);
    return status;
}
