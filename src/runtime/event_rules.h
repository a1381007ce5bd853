/* SPDX-License-Identifier: MIT */
#pragma once

/* What was said about which events are on, and with which condition, remembered for events that are
 * registered later. Under registry_lock(). */

#include <stdbool.h>

#include "runtime/events.h"
#include "strata/trace.h"

/* Gives a class, which is new, the state that was said for events of its name, and its condition. */
void event_rules_of_new(struct trace_class *class);

/* Tells of the conditions that events did not take since it was asked last. */
void event_rules_tell(void);
/* Tells of the conditions for which no event ever came. */
void event_rules_tell_unused(void);

/* Sets an event's state as its class has it, unless it is compiled out. */
void event_switch(struct strata_event *event, const struct trace_class *class);
/* It is to be counted no more. */
void event_switch_off(struct strata_event *event);

/* Switches all events off at the end of the process, but for those with `own_state`; what is remembered stays. */
void event_rules_end(void);

/* Whether any event is on, as far as the library knows: events with `own_state` do not count. Needs no lock. */
bool event_rules_any_on(void);

/* As strata_event_set_filter(), but -EBADMSG: TEXT is no condition. WHERE, "FILE:LINE: " or nothing,
 * stands in front of messages. EARLY: that there is no event is not told yet. Without the lock. */
int event_rules_set_filter(const char *pattern, const char *text, const char *where, bool early);
