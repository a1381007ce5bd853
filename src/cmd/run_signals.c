/* SPDX-License-Identifier: MIT */
#include "cmd/run_signals.h"

#include <unistd.h>

#include "base/macro.h"

static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

static volatile sig_atomic_t count, last, alone;
static bool leads_session;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    count++;
    last = number;
    /* When a terminal is closed, the kernel sends SIGHUP to the leader of its session only. */
    alone = info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL ||
            (number == SIGHUP && leads_session);
}

void run_signals_catch(sigset_t *ret_waiting)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigset_t blocked;

    leads_session = getsid(0) == getpid();
    sigemptyset(&blocked);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct sigaction before;

        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
            continue;
        sigaddset(&blocked, signals[i]);
        sigaction(signals[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &blocked, ret_waiting);
    /* What they tell of is told by write() as well. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

bool run_signals_waiting(void)
{
    sigset_t waiting;
    bool any = false;

    sigpending(&waiting);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        any = any || sigismember(&waiting, signals[i]) == 1;
    return any;
}

unsigned run_signals_count(int *ret_signal, bool *ret_alone)
{
    *ret_signal = last;
    *ret_alone = alone;
    return (unsigned)count;
}
