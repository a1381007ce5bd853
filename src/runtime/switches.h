/* SPDX-License-Identifier: MIT */
#pragma once

/* What was said about which events are on, remembered for events that are registered later. Under
 * registry_lock(). */

#include <stdbool.h>

#include "strata/trace.h"

/* Whether an event of that name, which is new, is to be on. */
bool switches_of_new(const char *name);

/* Sets an event's state, unless it is compiled out. */
void event_switch(struct strata_event *event, bool on);

/* Whether any event is on. Needs no lock. */
bool switches_any_on(void);
