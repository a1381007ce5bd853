/* SPDX-License-Identifier: MIT */
#include "record/stop_signals.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"

static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int stop_signals_open(bool keep_ignored, struct stop_signals *ret)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGALRM};
    struct stop_signals signals = {.leads_session = getsid(0) == getpid()};
    sigset_t set;

    sigemptyset(&set);
    sigemptyset(&signals.ignored);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        bool ignored = is_ignored(numbers[i]);

        if (ignored && numbers[i] == SIGHUP)
            continue;
        /* The kernel drops no signal that is blocked, though it is ignored. */
        sigaddset(&set, numbers[i]);
        if (ignored && keep_ignored)
            sigaddset(&signals.ignored, numbers[i]);
    }
    signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals.fd < 0)
        return -errno;
    sigprocmask(SIG_BLOCK, &set, &signals.before);
    signal(SIGPIPE, SIG_IGN);
    *ret = signals;
    return 0;
}

void stop_signals_close(struct stop_signals *signals)
{
    struct stop_signal unused;

    if (signals->fd < 0)
        return;
    while (stop_signals_read(signals, &unused) > 0)
        ;
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
    close(signals->fd);
    signals->fd = -1;
}

/* Reads the next signal that counts from the descriptor. Returns false if there is none. */
static bool take_next(struct stop_signals *signals)
{
    struct signalfd_siginfo info;

    while (signals->next.number == 0 && signals->fd >= 0 &&
           read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        bool is_sent =
            info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE || info.ssi_code == SI_TKILL;
        bool is_ignored_by_children = sigismember(&signals->ignored, number) == 1;

        if (is_ignored_by_children && !is_sent)
            continue;
        signals->next = (struct stop_signal){
            .number = is_ignored_by_children ? SIGTERM : number,
            /* When a terminal is closed, the kernel sends SIGHUP to the leader of its session only. */
            .is_alone = is_sent || (number == SIGHUP && signals->leads_session),
        };
    }
    return signals->next.number != 0;
}

bool stop_signals_pending(struct stop_signals *signals)
{
    return take_next(signals);
}

int stop_signals_read(struct stop_signals *signals, struct stop_signal *ret)
{
    if (!take_next(signals))
        return 0;
    *ret = signals->next;
    signals->next.number = 0;
    return 1;
}

bool stop_signals_wait(struct stop_signals *signals, int fd, uint64_t until)
{
    struct pollfd fds[] = {{signals->fd, POLLIN, 0}, {fd, POLLIN, 0}};
    uint64_t now;

    while (!take_next(signals) && (now = clock_ns(CLOCK_MONOTONIC)) < until) {
        struct timespec time = {(time_t)((until - now) / NSEC_PER_SEC),
                                (long)((until - now) % NSEC_PER_SEC)};

        if (ppoll(fds, 2, &time, NULL) > 0 && fds[1].revents != 0)
            break;
    }
    return take_next(signals);
}

bool stop_signals_sleep(struct stop_signals *signals, uint64_t ns)
{
    return stop_signals_wait(signals, -1, clock_ns(CLOCK_MONOTONIC) + ns);
}
