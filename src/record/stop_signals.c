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
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (!is_ignored(numbers[i]) || (numbers[i] != SIGHUP && !keep_ignored))
            sigaddset(&set, numbers[i]);
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

bool stop_signals_pending(const struct stop_signals *signals)
{
    struct pollfd p = {signals->fd, POLLIN, 0};

    return poll(&p, 1, 0) > 0;
}

int stop_signals_read(const struct stop_signals *signals, struct stop_signal *ret)
{
    struct signalfd_siginfo info;

    if (signals->fd < 0 || read(signals->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    *ret = (struct stop_signal){
        .number = (int)info.ssi_signo,
        /* When a terminal is closed, the kernel sends SIGHUP to the leader of its session only. */
        .is_alone = info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE ||
                    info.ssi_code == SI_TKILL ||
                    (info.ssi_signo == SIGHUP && signals->leads_session),
    };
    return 1;
}

bool stop_signals_sleep(const struct stop_signals *signals, uint64_t ns)
{
    struct pollfd p = {signals->fd, POLLIN, 0};
    struct timespec time = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};

    return ppoll(&p, 1, &time, NULL) > 0;
}
