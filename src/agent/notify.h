/* SPDX-License-Identifier: MIT */
#pragma once

/* Reports of the agent's threads to its main thread, which polls `wakeup`. */

#include "agent/reader.h"

struct notify {
    struct wakeup wakeup;
    _Atomic bool tracing;        /* a host has started tracing at least once */
    _Atomic bool host_gone;      /* no host can connect any more, or the agent cannot continue */
    _Atomic unsigned n_finished; /* protocols that have sent everything */
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
