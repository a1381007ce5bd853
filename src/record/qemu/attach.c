/* SPDX-License-Identifier: MIT */
#include "record/qemu/attach.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "control/qmp.h"
#include "proto/message.h"
#include "record/qemu/sources.h"

#define TAKE_EVERY 1000000L /* ns */
/* A monitor that serves no other client greets at once. */
#define GREETING_NS UINT64_C(1000000000)

/* ---- Beside the taking ---- */

struct talk {
    struct qemu_recording *recording;
    int (*talk)(struct talk *talk, struct qmp *qmp);
    struct error error;
    struct qmp *qmp;
    atomic_bool greeted, done;
    bool told, stopped;
    int r;
    /* Of the beginning. */
    const char *log, *simple;
    const char **port;
    bool adds;
    struct error refused; /* what QEMU does not do */
    json_t *cpus;
    char version[128];
};

static void *talk_main(void *userdata)
{
    struct talk *talk = userdata;
    struct qmp *qmp = talk->qmp;

    talk->r = qmp_greet(qmp, &talk->error);
    atomic_store(&talk->greeted, true);
    if (talk->r >= 0)
        talk->r = talk->talk(talk, qmp);
    if (talk->r >= 0) {
        snprintf(talk->version, sizeof talk->version, "%s", qmp_version(qmp));
        (void)qmp_execute(qmp, "query-cpus-fast", NULL, &talk->cpus, NULL);
    }
    atomic_store(&talk->done, true);
    return NULL;
}

/* Whether one has come of the signals that are let through while the recording sleeps. */
static bool is_signaled(const sigset_t *mask)
{
    sigset_t pending;
    bool any = false;

    if (!mask || sigpending(&pending) < 0)
        return false;
    for (int i = 1; i < NSIG && !any; i++)
        any = sigismember(&pending, i) == 1 && sigismember(mask, i) == 0;
    return any;
}

/* QEMU serves one client of this socket: another one waits until that is gone, or the user has waited long enough. */
static void look_at_greeting(struct talk *talk, uint64_t since)
{
    const struct qemu_settings *settings = &talk->recording->settings;

    if (atomic_load(&talk->greeted))
        return;
    if (!talk->told && clock_ns(CLOCK_MONOTONIC) - since >= GREETING_NS) {
        talk->told = true;
        if (settings->report)
            settings->report("waits for QEMU's monitor, which serves another client",
                             settings->qmp);
    }
    if (!talk->stopped && is_signaled(settings->mask)) {
        talk->stopped = true;
        qmp_shutdown(talk->qmp);
    }
}

static int run(struct talk *talk)
{
    struct qemu_recording *recording = talk->recording;
    uint64_t since = clock_ns(CLOCK_MONOTONIC);
    sigset_t all, before;
    pthread_t thread;
    int r = qmp_connect(recording->settings.qmp, &talk->qmp, &talk->error);

    if (r < 0)
        return r;
    /* Signals are ours. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = -pthread_create(&thread, NULL, talk_main, talk);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r < 0) {
        qmp_free(talk->qmp);
        return error_set(&talk->error, r, NULL, "cannot start a thread: %s", strerror(-r));
    }
    while (!atomic_load(&talk->done)) {
        uint64_t unused;

        if (recording->log.fifo >= 0)
            (void)qemu_log_pipe_take(&recording->log, &unused);
        look_at_greeting(talk, since);
        nanosleep(&(struct timespec){.tv_nsec = TAKE_EVERY}, NULL);
    }
    pthread_join(thread, NULL);
    qmp_free(talk->qmp);
    if (talk->r < 0 && talk->stopped) {
        error_clear(&talk->error);
        talk->r = error_set(&talk->error, -EINTR, recording->settings.qmp,
                            "ended by a signal while QEMU's monitor served another client");
    }
    if (talk->cpus)
        qemu_monitor_note(&recording->monitor, talk->version, talk->cpus);
    json_decref(talk->cpus);
    return talk->r;
}

/* ---- The beginning ---- */

static int add_port(struct talk *talk, struct qmp *qmp)
{
    if (talk->adds && qemu_restore_port(&talk->recording->changes, qmp, PROTO_PORT, *talk->port,
                                        &talk->refused) < 0)
        *talk->port = NULL;
    return 0;
}

int qemu_attach(struct qemu_recording *recording, const char **port, bool adds, struct error *error)
{
    struct talk talk = {.recording = recording, .talk = add_port, .port = port, .adds = adds};
    int r;

    recording->changes.pid = recording->child.pid;
    qemu_monitor_watch(recording->child.pid, &recording->monitor);
    r = run(&talk);
    if (talk.refused.code)
        qemu_recording_problem(
            recording,
            "the guest's kernel is not recorded: QEMU cannot add a port for its agent while it "
            "runs: "
            "%s; start it with the options that 'strata collect --print-qemu' shows",
            talk.refused.what);
    if (r < 0)
        *error = talk.error;
    return r;
}

static int switch_on(struct talk *talk, struct qmp *qmp)
{
    struct qemu_restore *changes = &talk->recording->changes;
    const struct qemu_settings *settings = &talk->recording->settings;
    int r = 0;

    if (talk->log)
        r = qemu_restore_log(changes, qmp, talk->log, qemu_running_log(settings->running),
                             &talk->refused);
    else if (talk->simple)
        r = qemu_restore_simple(changes, qmp, talk->simple, &talk->refused);
    if (r < 0 || (!talk->log && !talk->simple))
        return 0;
    return qemu_restore_events(changes, qmp, settings->events, settings->n_events, &talk->error);
}

int qemu_attach_events(struct qemu_recording *recording, const char *log, const char *simple,
                       struct error *error)
{
    struct talk talk = {
        .recording = recording,
        .talk = switch_on,
        .log = log,
        .simple = simple,
    };
    int r = run(&talk);

    if (talk.refused.code)
        qemu_recording_problem(recording, "QEMU's events are not recorded: %s", talk.refused.what);
    if (r < 0)
        *error = talk.error;
    return r;
}

/* ---- The end ---- */

static int undo(struct talk *talk, struct qmp *qmp)
{
    return qemu_restore_undo(&talk->recording->changes, qmp, &talk->error);
}

void vmm_detach(struct qemu_recording *recording)
{
    struct talk talk = {.recording = recording, .talk = undo};

    if (!child_has_ended(&recording->child) && run(&talk) < 0 &&
        !child_has_ended(&recording->child))
        qemu_recording_problem(
            recording, "QEMU is not as it was: %s%s%s", talk.error.what,
            recording->changes.log ? "; its log goes nowhere (HMP: logfile FILE)" : "",
            recording->changes.states ? "; events that were switched on are on" : "");
    if (recording->changes.kept)
        qemu_recording_problem(
            recording,
            "QEMU has started its own trace file again; what it had written before is in "
            "%s",
            recording->changes.kept);
    qemu_restore_done(&recording->changes);
}

/* ---- Files ---- */

int qemu_attach_give(struct qemu_recording *recording, struct error *error)
{
    char path[64], fifo[REGISTRY_NAME_MAX];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%ld", (long)recording->settings.running->pid);
    if (stat(path, &st) < 0 || st.st_uid == geteuid())
        return 0;
    registry_name(&recording->registry_entry, "log", fifo);
    if (chown(recording->registry_entry.dir.path, st.st_uid, st.st_gid) < 0 ||
        (recording->log.fifo >= 0 && chown(fifo, st.st_uid, st.st_gid) < 0) ||
        fchownat(recording->dir, VMM_FOLDER, st.st_uid, st.st_gid, 0) < 0)
        return error_set(error, -errno, recording->registry_entry.dir.path,
                         "cannot be given to QEMU's user %u: %s", (unsigned)st.st_uid,
                         strerror(errno));
    return 0;
}

int qemu_attach_log(const struct qemu_running *running)
{
    const char *log = qemu_running_log(running);
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/fd/2", (long)running->pid);
    return open(log ? log : path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}
