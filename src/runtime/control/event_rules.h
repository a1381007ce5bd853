/* SPDX-License-Identifier: MIT */
#pragma once

/* Remembers which events were switched on, and with which conditions, for events that are registered
 * later. Under registry_lock(). */

#include <stdbool.h>

#include "runtime/events.h"
#include "strata/trace.h"

/* Applies the remembered state and condition to a new class. */
void event_rules_of_new(struct trace_class *class);

/* Reports conditions that events have rejected since the last call. */
void event_rules_report(void);
/* Reports conditions for which no event was ever registered. */
void event_rules_report_unused(void);

/* Sets an event's state as its class has it, unless it is compiled out. */
void event_switch(struct strata_event *event, const struct trace_class *class);
/* Stops counting it. */
void event_switch_off(struct strata_event *event);

/* Switches all events off at the end of the process, but for those with `own_state`; what is remembered stays. */
void event_rules_end(void);

/* Whether any event is on, as far as the library knows: events with `own_state` do not count. Needs no lock. */
bool event_rules_any_on(void);

/* As strata_event_set_filter(), but -EBADMSG: TEXT is not a condition. WHERE, "FILE:LINE: " or "",
 * precedes messages. EARLY: do not report yet that there is no such event. Without the lock. */
int event_rules_set_filter(const char *pattern, const char *text, const char *where, bool early);
