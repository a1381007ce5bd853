/* SPDX-License-Identifier: MIT */
#ifndef STRATA_QEMU_COMPAT_H
#define STRATA_QEMU_COMPAT_H

/* The names that QEMU's code uses to ask for and to switch events, for programs whose code comes from
 * QEMU or is written like it. Headers that `strata gen` generates for programs include this one. Within
 * QEMU's own tree QEMU defines these names, and this header is not used. */

#include <strata/trace.h>

/* True if the event TRACE_NAME is on, constant false if it is compiled out. It costs a load of one byte and a branch. Any
 * thread and any signal handler may use it. */
#define trace_event_get_state(id) (id##_ENABLED && strata_unlikely(id##_STATE))

/* The same, and true if a backend with a state of its own (dtrace, ust) has switched the event on. */
#define trace_event_get_state_backends(id) (id##_ENABLED && id##_BACKEND_ON)

#ifdef __cplusplus
extern "C" {
#endif

/* As strata_event_set_state(). NAME is an event's name or a pattern. Returns false if it matches no event that can be
 * switched. Any thread may call it; signal handlers may not. */
static inline bool st_change_trace_event_state(const char *name, bool on)
{
    return strata_event_set_state(name, on) > 0;
}

#ifdef __cplusplus
}
#endif

#endif
