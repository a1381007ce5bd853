/* SPDX-License-Identifier: MIT */
#pragma once

/* Whose the events are that --event names: each with its layer, or without one those of what the recording is about. */

#include "record/plan/plan.h"

/* Sorts plan->events into plan->chosen. A layer that is named is recorded: --event=host:… means --host, too. Before the
 * requirements of options are checked, and once plan->kind is known. */
int plan_events_sort(struct record_plan *plan, struct error *error);
void plan_events_done(struct plan_events *events);
/* Adds the event PATTERN without a condition. -ENOMEM. */
int plan_events_add(struct plan_event_list *list, const char *pattern);
/* That LIST has no conditions, since WHO, "a QEMU", knows none. */
int plan_events_refuse_conditions(const struct plan_event_list *list, const char *who,
                                  struct error *error);
/* That the layers which were named for the process are its own, and that a QEMU's events have no conditions. */
int plan_events_check_layers(const struct plan_events *events, bool is_program,
                             struct error *error);
