/* SPDX-License-Identifier: MIT */
#pragma once

/* What the threads of the agent report to its main thread, which polls BELL. */

#include "agent/reader.h"

struct notify {
    struct wakeup wakeup;
    _Atomic bool tracing;        /* a host has switched tracing on, at least once */
    _Atomic bool host_gone;      /* no host can come any more, or the agent cannot go on */
    _Atomic unsigned n_finished; /* protocols that have sent all they will send */
};

static inline void notify_tracing(struct notify *notify)
{
    if (!atomic_exchange(&notify->tracing, true))
        wakeup_signal_always(&notify->wakeup);
}

static inline void notify_host_gone(struct notify *notify)
{
    if (!atomic_exchange(&notify->host_gone, true))
        wakeup_signal_always(&notify->wakeup);
}

static inline void notify_finished(struct notify *notify)
{
    atomic_fetch_add(&notify->n_finished, 1);
    wakeup_signal_always(&notify->wakeup);
}
