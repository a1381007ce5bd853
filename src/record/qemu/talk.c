/* SPDX-License-Identifier: MIT */
#include "record/qemu/talk.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"

/* A monitor that serves no other client greets at once. */
#define GREETING_NS NSEC_PER_SEC

#define CONNECT_INTERVAL_NS (NSEC_PER_SEC / 10)

/* Connects, where there is no connection yet: as long as the monitor has other clients, again and again. */
static int connect_monitor(struct qemu_talk *talk)
{
    const struct timespec interval = {.tv_nsec = CONNECT_INTERVAL_NS};
    uint64_t until = talk->began_at + QMP_TIMEOUT_S * NSEC_PER_SEC;
    int r = talk->qmp ? 0 : qmp_connect(talk->socket, &talk->qmp, &talk->error);

    while (r == -EAGAIN && clock_ns(CLOCK_MONOTONIC) < until && !atomic_load(&talk->is_cancelled)) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &interval, NULL);
        error_clear(&talk->error);
        r = qmp_connect(talk->socket, &talk->qmp, &talk->error);
    }
    if (r < 0)
        return r;
    /* qemu_talk_finish() sees the connection, or we see that it came before. */
    atomic_store(&talk->is_connected, true);
    if (atomic_load(&talk->is_cancelled))
        qmp_shutdown(talk->qmp);
    return 0;
}

static void *talk_main(void *userdata)
{
    struct qemu_talk *talk = userdata;
    const uint64_t one = 1;

    talk->r = connect_monitor(talk);
    if (talk->r >= 0)
        talk->r = qmp_greet(talk->qmp, &talk->error);
    atomic_store(&talk->is_greeted, true);
    (void)!write(talk->news, &one, sizeof one);
    if (talk->r >= 0)
        talk->r = talk->talk(talk, talk->qmp, &talk->error);
    if (talk->r >= 0) {
        snprintf(talk->version, sizeof talk->version, "%s", qmp_version(talk->qmp));
        (void)qmp_execute(talk->qmp, "query-cpus-fast", NULL, &talk->cpus, NULL);
    }
    atomic_store(&talk->has_ended, true);
    (void)!write(talk->news, &one, sizeof one);
    return NULL;
}

int qemu_talk_start(struct qemu_talk *talk, struct error *error)
{
    sigset_t all, before;
    int r;

    *talk = (struct qemu_talk){
        .talk = talk->talk, .socket = talk->socket, .qmp = talk->qmp, .news = -1};
    talk->began_at = clock_ns(CLOCK_MONOTONIC);
    talk->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = talk->news < 0 ? -errno : 0;
    if (r >= 0) {
        /* Signals are the main thread's. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = -pthread_create(&talk->thread, NULL, talk_main, talk);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (r >= 0)
        return 0;
    qmp_free(talk->qmp);
    talk->qmp = NULL;
    if (talk->news >= 0)
        close(talk->news);
    talk->news = -1;
    return error_set(error, r, NULL, "cannot start a thread: %s", strerror(-r));
}

bool qemu_talk_has_ended(struct qemu_talk *talk)
{
    uint64_t unused;

    (void)!read(talk->news, &unused, sizeof unused); /* before what it says is looked at */
    return atomic_load(&talk->has_ended);
}

bool qemu_talk_waits(struct qemu_talk *talk, uint64_t now, uint64_t *ret_at)
{
    *ret_at = UINT64_MAX;
    if (talk->is_reported || atomic_load(&talk->is_greeted))
        return false;
    talk->is_reported = now - talk->began_at >= GREETING_NS;
    if (!talk->is_reported)
        *ret_at = talk->began_at + GREETING_NS;
    return talk->is_reported;
}

int qemu_talk_finish(struct qemu_talk *talk, struct error *error)
{
    bool is_stopped = !qemu_talk_has_ended(talk);
    char why[128];

    if (is_stopped) {
        atomic_store(&talk->is_cancelled, true);
        if (atomic_load(&talk->is_connected))
            qmp_shutdown(talk->qmp);
    }
    pthread_join(talk->thread, NULL);
    qmp_free(talk->qmp);
    talk->qmp = NULL;
    close(talk->news);
    talk->news = -1;
    if (talk->r >= 0)
        return 0;
    if (is_stopped)
        return error_set(error, -EINTR, talk->socket, "QEMU's monitor has not answered: %s",
                         qmp_silence_text(talk->socket, why, sizeof why));
    *error = talk->error;
    return talk->r;
}
