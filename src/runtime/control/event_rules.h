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

/* Sets an event's state to the state of its class, unless the event is compiled out. */
void event_switch(struct strata_event *event, const struct trace_class *class);
/* Switches an event off, and stops counting it. */
void event_switch_off(struct strata_event *event);

/* Switches all events off at the end of the process, except events with `own_state`. The remembered rules stay. */
void event_rules_end(void);

/* True if any event is on, as far as the library knows: events with `own_state` do not count. Needs no lock. */
bool event_rules_any_on(void);

/* As strata_event_set_filter(), but returns -EBADMSG if TEXT is not a condition. WHERE ("FILE:LINE: " or "") is put
 * before messages. EARLY: do not report yet that no such event exists. Call it without the lock. */
int event_rules_set_filter(const char *pattern, const char *text, const char *where, bool early);
