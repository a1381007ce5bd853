/* SPDX-License-Identifier: MIT */
#include "record/qemu/recording.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/copy.h"
#include "record/agent/guests_manifest.h"
#include "record/qemu/attach.h"
#include "record/qemu/running.h"
#include "record/qemu/sources.h"
#include "tracedir/host.h"
#include "tracedir/reserve.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)
/* With guests, nothing but time tells of the rest; and of signals and times of the caller's, never. */
#define SLEEP_WITH_GUESTS (20 * MILLISECOND)
#define POLL_INTERVAL (100 * MILLISECOND)
/* When all is to end, the guest has so long to send the rest, on a machine that does much else; who has not that time
 * says it once more. And so long is waited for what is on its way when QEMU has ended. */
#define STOP_TIMEOUT (15 * SECOND)
/* Before QEMU has caught SIGTERM that kills it: it is let come so far that it ends in order. */
#define START_TIMEOUT (20 * SECOND)
/* A QEMU (7.2) that is asked something by its monitor just when it ends may stand still, until the next signal: we do not
 * ask it then, but others may. So it is told again. */
#define AGAIN SECOND
#define END_TIMEOUT (2 * SECOND)
#define END_LONGEST (10 * SECOND)
/* So long after the end of what was started to start it, QEMU may come. */
#define COME_TIMEOUT (60 * SECOND)

void qemu_recording_problem(struct qemu_recording *recording, const char *format, ...)
{
    char what[400];
    const char *copy;
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    copy = arena_strdup(&recording->arena, what);
    if (copy && recording->n_problems < VMM_PROBLEMS_MAX)
        recording->problems[recording->n_problems++] = copy;
}

/* ---- While it runs ---- */

static void sleep_for(struct qemu_recording *recording, uint64_t ns, const sigset_t *mask)
{
    struct pollfd fds[] = {
        {recording->child.ended ? recording->qemu.end : recording->child.end, POLLIN, 0},
        {qemu_monitor_fd(&recording->monitor), POLLIN, 0},
        {recording->takes_rings ? recording->programs.watch : -1, POLLIN, 0},
    };
    struct timespec time = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};

    (void)ppoll(fds, ARRAY_SIZE(fds), &time, mask);
}

static void read_agent_stderr(struct qemu_recording *recording)
{
    char line[256];

    while (recording->agent.said >= 0 && host_agent_hear(&recording->agent, line, sizeof line) > 0)
        qemu_recording_problem(recording, "the agent on the host said: %s", line);
}

static bool has_changed(const struct qemu_recording *recording)
{
    return recording->monitor.changed || recording->programs.changed ||
           (recording->guests.n > 0 && !recording->guests.written);
}

/* ---- QEMU, where something else was started that starts it ---- */

/* Both have ended. */
static bool has_ended(struct qemu_recording *recording)
{
    struct pollfd line = {recording->line, POLLIN, 0};

    if (!child_has_ended(&recording->child))
        return false;
    if (!recording->settings.wrapped || recording->has_come || recording->stopping ||
        recording->child.status != 0)
        return recording->qemu.pid == 0 || child_has_ended(&recording->qemu);
    /* If it has left something in the background, that may be QEMU, about to come. */
    if (recording->come_by == 0)
        recording->come_by = clock_ns(CLOCK_MONOTONIC) + COME_TIMEOUT;
    return (poll(&line, 1, 0) != 0 &&
            children_count_orphans(&recording->others, &recording->child) == 0) ||
           clock_ns(CLOCK_MONOTONIC) >= recording->come_by;
}

/* To QEMU; to what was started as long as it has not come, or where it is out of reach. */
static void signal_qemu(const struct qemu_recording *recording, int signal)
{
    bool has_it = child_signal_adopted(&recording->qemu, signal);

    if (!has_it || signal == SIGKILL)
        child_signal(&recording->child, signal);
}

/* Whose options are behind those that it was to be given. */
static void check_log(struct qemu_recording *recording, pid_t pid)
{
    char fifo[REGISTRY_NAME_MAX];
    struct qemu_running running;
    const char *own;

    if (recording->log.fifo < 0 || qemu_running_open(pid, &running, NULL) < 0)
        return;
    registry_name(&recording->registry_entry, "log", fifo);
    own = qemu_running_log(&running);
    if (own && strcmp(own, fifo) != 0) {
        _cleanup_free_ char *log = realpath(own, NULL);

        qemu_recording_problem(recording,
                               "QEMU's events are in %s, and not recorded: %s has an option -D or "
                               "-trace of its own after those that it hands on",
                               log ? log : own, recording->settings.command[0]);
    }
    qemu_running_done(&running);
}

/* Its monitor says which process it is. */
static void meet_qemu(struct qemu_recording *recording)
{
    pid_t before = recording->qemu.pid ? recording->qemu.pid : recording->child.pid;
    pid_t pid = recording->monitor.pid;
    int claim;

    if (recording->settings.running || !recording->monitor.qmp)
        return;
    if (!recording->has_come && recording->settings.wrapped)
        check_log(recording, pid);
    recording->has_come = true;
    if (pid == before)
        return;
    child_done(&recording->qemu);
    (void)child_adopt(pid, &recording->qemu);
    if (qemu_running_claim(pid, &claim, NULL) < 0)
        return;
    if (recording->claim >= 0)
        close(recording->claim);
    recording->claim = claim;
}

/* QEMU itself writes simpletrace: that it has written enough is seen from outside. */
static void watch_simple(struct qemu_recording *recording, uint64_t now)
{
    struct stat st;

    if (recording->settings.probe->backend != VMM_BACKEND_SIMPLE ||
        recording->settings.max_size == 0 || recording->simple_is_full ||
        now < recording->simple_next)
        return;
    recording->simple_next = now + SECOND / 4;
    if (fstatat(recording->dir, VMM_SIMPLE, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        (uint64_t)st.st_size < recording->settings.max_size)
        return;
    recording->simple_is_full = true;
    recording->monitor.wants_silence = true;
    qemu_recording_problem(recording,
                           "QEMU's trace was ended by --max-size: what came behind it is missing, "
                           "and not counted");
}

/* All but the sleeping. *RET_SLEEP: for how long there need not be another call, ns. */
static void work(struct qemu_recording *recording, uint64_t *ret_sleep)
{
    uint64_t sleep = POLL_INTERVAL, wish;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    if (recording->log.fifo >= 0) {
        (void)qemu_log_pipe_take(&recording->log, &wish);
        sleep = MIN(sleep, wish);
        qemu_clock_step(&recording->clock, now, &wish);
        sleep = MIN(sleep, wish);
    }
    if (recording->takes_rings) {
        (void)programs_step(&recording->programs, &wish);
        sleep = MIN(sleep, wish);
    }
    watch_simple(recording, now);
    qemu_monitor_step(&recording->monitor, now, &wish);
    meet_qemu(recording);
    read_agent_stderr(recording);
    if (has_changed(recording)) {
        /* Whatever is in its way, a full disk or a directory that was removed, ends no machine: the end will tell. */
        (void)qemu_sources_write(recording, false, NULL);
        recording->monitor.changed = false;
        recording->programs.changed = false;
        recording->guests.written = true;
    }
    *ret_sleep = MIN(sleep, wish);
}

/* Whether it is to be told to end now: once. */
static bool is_to_end(const struct qemu_recording *recording, bool guests_have_ended)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    bool starts = !recording->settings.running &&
                  (!recording->monitor.answers || qemu_monitor_is_asked(&recording->monitor)) &&
                  (recording->has_come || !recording->settings.wrapped);

    if (!recording->stopping || recording->stop_by == UINT64_MAX)
        return false;
    return (guests_have_ended || now >= recording->stop_by) &&
           (!starts || now >= recording->start_by);
}

/* QEMU itself, and nothing that was started to start it. */
static void tell_again(struct qemu_recording *recording)
{
    const struct qemu_settings *settings = &recording->settings;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    if (recording->again_at == 0 || now < recording->again_at)
        return;
    recording->again_at = now + AGAIN;
    if (!child_signal_adopted(&recording->qemu, SIGTERM) && !settings->wrapped &&
        settings->n_before == 0)
        child_signal(&recording->child, SIGTERM);
}

int qemu_recording_step(struct qemu_recording *recording, const sigset_t *mask, struct error *error)
{
    bool ended = child_has_ended(&recording->child);
    uint64_t sleep;
    int r = 1;

    work(recording, &sleep);
    if (ended && has_ended(recording))
        return 0;
    if (recording->guests.n > 0) {
        r = guests_step(&recording->guests, MIN(sleep, SLEEP_WITH_GUESTS), mask, error);
        if (r < 0)
            return r;
        if (r == 0) /* they have ended: QEMU has not */
            sleep_for(recording, sleep, mask);
    } else {
        sleep_for(recording, sleep, mask);
    }
    if (is_to_end(recording, r == 0)) {
        if (recording->settings.running)
            return 0;
        signal_qemu(recording, SIGTERM);
        recording->stop_by = UINT64_MAX;
        recording->told_at = clock_ns(CLOCK_MONOTONIC);
        recording->again_at = recording->told_at + AGAIN;
    }
    tell_again(recording);
    return 1;
}

void qemu_recording_stop(struct qemu_recording *recording)
{
    bool waits = recording->stopping && recording->stop_by != UINT64_MAX;

    if (recording->stopping) {
        signal_qemu(recording, waits ? SIGTERM : SIGKILL);
        recording->stop_by = recording->settings.running ? 0 : UINT64_MAX;
        recording->again_at = recording->settings.running ? 0 : clock_ns(CLOCK_MONOTONIC) + AGAIN;
        return;
    }
    recording->stopping = true;
    recording->monitor.ends = true;
    recording->stop_by = clock_ns(CLOCK_MONOTONIC);
    recording->start_by = recording->stop_by + START_TIMEOUT;
    for (unsigned i = 0; i < recording->guests.n; i++)
        if (recording->guests.guests[i].was_running)
            recording->stop_by = clock_ns(CLOCK_MONOTONIC) + STOP_TIMEOUT;
    if (recording->guests.n > 0)
        guests_stop(&recording->guests);
}

/* ---- Its end ---- */

/* What was on its way when QEMU ended. */
static void end_kernels(struct qemu_recording *recording)
{
    /* The host's goes on sending, and its kernel may take long to remove what it had switched on. */
    uint64_t until =
        clock_ns(CLOCK_MONOTONIC) + (recording->settings.host ? END_LONGEST : END_TIMEOUT);
    struct error error = {0};

    if (recording->guests.n == 0)
        return;
    guests_stop(&recording->guests);
    while (guests_are_connected(&recording->guests) && clock_ns(CLOCK_MONOTONIC) < until &&
           guests_step(&recording->guests, SLEEP_WITH_GUESTS, NULL, &error) > 0)
        ;
    guests_end_because(&recording->guests,
                       recording->child.ended
                           ? "the virtual machine ended before the guest's agent had sent the rest"
                           : "the guest's agent did not send the rest in time",
                       GUEST_NO_AGENT);
}

/* Of what nothing came, the trace has no source that could tell. */
static void tell_silence(struct qemu_recording *recording)
{
    for (unsigned i = 0; i < recording->guests.n; i++) {
        const struct guest *guest = &recording->guests.guests[i];

        if (guest_is_silent(guest))
            qemu_recording_problem(recording, "there is nothing of the %s: %s", guest->plan.name,
                                   guest->what);
    }
}

static void tell_problems(struct qemu_recording *recording)
{
    const struct qemu_log_pipe *log = &recording->log;
    double seconds =
        (double)(recording->ended.monotonic_ns - recording->began.monotonic_ns) / (double)SECOND;
    const char *name = recording->settings.wrapped ? recording->settings.command[0] : "QEMU";
    char end[64];

    if (!recording->child.ended && !recording->child.foreign)
        qemu_recording_problem(recording, "%s was killed, as it did not end", name);
    else if (recording->child.status != 0)
        qemu_recording_problem(recording, "%s %s %s, %.1f seconds after it was started", name,
                               WIFSIGNALED(recording->child.status) ? "was" : "ended with",
                               child_end_text(&recording->child, end, sizeof end), seconds);
    if (recording->settings.wrapped && !recording->has_come)
        qemu_recording_problem(recording,
                               "no QEMU with the options that recording needs was started by %s: "
                               "does it hand what it is given on to QEMU (\"$@\")?",
                               name);
    if (recording->settings.probe->backend == VMM_BACKEND_NONE)
        qemu_recording_problem(recording, "this QEMU was built without a trace backend that can be "
                                          "recorded (log, simple)");
    if (!recording->settings.probe->declarations && !recording->takes_rings &&
        recording->settings.n_events > 0)
        qemu_recording_problem(recording, "QEMU's declarations of its events (trace-events-all) "
                                          "were not found beside it: give them by --trace-events");
    if (log->error < 0)
        qemu_recording_problem(recording,
                               "the log of QEMU was cut off after %llu bytes: %s; the %llu lines "
                               "behind that are lost",
                               (unsigned long long)log->bytes,
                               log->error == -EFBIG
                                   ? "--max-size, or a limit for files, allows no more"
                                   : strerror(-log->error),
                               (unsigned long long)log->lost_lines);
    for (unsigned i = 0; recording->takes_rings && i < recording->programs.n; i++)
        if (recording->programs.items[i]->taken.full)
            qemu_recording_problem(
                recording,
                "the trace of process %lu was cut off: --max-size allows no more; "
                "the %llu events after that are lost",
                (unsigned long)recording->programs.items[i]->pid,
                (unsigned long long)recording->programs.items[i]->taken.unwritten);
    if (log->stamps)
        qemu_recording_problem(
            recording,
            "QEMU's log has no times, as it was started without -msg timestamp=on: its lines "
            "have those at which they were taken%s, and no threads",
            log->stamp_worst > VMM_LOG_STAMP_ERROR ? "" : ", within 2 ms");
    if (log->stamps && log->stamp_worst > VMM_LOG_STAMP_ERROR)
        qemu_recording_problem(
            recording,
            "%llu of these times may be wrong by more than is said, by %.1f ms at "
            "most: the recorder came late",
            (unsigned long long)log->stamps_late, (double)log->stamp_worst / 1e6);
    if (recording->clock.stepped)
        qemu_recording_problem(
            recording,
            "the real time, by which QEMU stamps its log, was set by %.3f seconds "
            "meanwhile: times within a second of that may be wrong by as much",
            (double)recording->clock.stepped / (double)SECOND);
    if (recording->clock.error < 0)
        qemu_recording_problem(recording, "the clock's pairs could not all be written: %s",
                               strerror(-recording->clock.error));
}

/* The file that QEMU's user asked for. */
static void copy_simple(struct qemu_recording *recording)
{
    _cleanup_free_ char *from = NULL;
    struct error error = {0};
    struct stat st;

    /* What is no file takes what QEMU writes, and keeps nothing: /dev/null. */
    if (!recording->simple_copy || (stat(recording->simple_copy, &st) == 0 && !S_ISREG(st.st_mode)))
        return;
    if (asprintf(&from, "%s/%s", recording->path, VMM_SIMPLE) < 0) {
        from = NULL;
        return;
    }
    if ((unlink(recording->simple_copy) < 0 && errno != ENOENT) ||
        copy_file(from, recording->simple_copy, &(struct copy_options){0}, &error) < 0)
        qemu_recording_problem(recording, "%s, as -trace names it, was not written: %s",
                               recording->simple_copy,
                               error.what[0] ? error.what : strerror(errno));
}

/* Where the recording could not go on: in order, while its log is emptied, which it may wait for. */
static void end_qemu(struct qemu_recording *recording)
{
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + END_LONGEST;
    uint64_t sleep;

    if (!has_ended(recording))
        signal_qemu(recording, SIGTERM);
    while (!has_ended(recording) && clock_ns(CLOCK_MONOTONIC) < until) {
        work(recording, &sleep);
        sleep_for(recording, MIN(sleep, SLEEP_WITH_GUESTS), NULL);
    }
    if (!has_ended(recording))
        signal_qemu(recording, SIGKILL);
    (void)child_wait(&recording->child, END_TIMEOUT);
}

int qemu_recording_end(struct qemu_recording *recording, struct error *error)
{
    uint64_t unused;
    struct stat st;
    int r;

    if (recording->settings.running) {
        end_kernels(recording); /* before its port goes */
        vmm_detach(recording);
    } else {
        end_qemu(recording);
    }
    recording->ended = host_moment();
    qemu_monitor_step(&recording->monitor, (uint64_t)recording->ended.monotonic_ns, &unused);
    if (recording->log.fifo >= 0)
        qemu_log_pipe_finish(&recording->log);
    if (recording->clock.file >= 0)
        qemu_clock_done(&recording->clock);
    if (recording->takes_rings) {
        programs_finish(&recording->programs);
        if (recording->programs.n > 0)
            (void)unlinkat(recording->dir, VMM_LOG, 0);
    }
    end_kernels(recording);
    read_agent_stderr(recording);
    if (fstatat(recording->dir, VMM_SIMPLE, &st, AT_SYMLINK_NOFOLLOW) == 0)
        recording->simple_size = (uint64_t)st.st_size;
    copy_simple(recording);
    tell_problems(recording);
    tell_silence(recording);
    guests_remove_silent(&recording->guests);
    reserve_give(&recording->spare);
    r = qemu_sources_write(recording, true, error);
    registry_remove(&recording->registry_entry);
    return r;
}

void qemu_recording_done(struct qemu_recording *recording)
{
    struct error error = {0};

    child_done(&recording->child);
    child_done(&recording->qemu);
    if (recording->guests.n > 0)
        (void)guests_close(&recording->guests, &error);
    if (recording->agent.said >= 0)
        host_agent_wait(&recording->agent);
    host_agent_done(&recording->agent);
    if (recording->takes_rings)
        programs_close(&recording->programs);
    qemu_monitor_done(&recording->monitor);
    qemu_log_pipe_done(&recording->log);
    if (recording->clock.file >= 0)
        close(recording->clock.file);
    reserve_give(&recording->spare);
    registry_remove(&recording->registry_entry);
    if (recording->claim >= 0)
        close(recording->claim);
    if (recording->line >= 0)
        close(recording->line);
    if (recording->dir >= 0)
        close(recording->dir);
    free(recording->path);
    arena_done(&recording->arena);
}
