/* SPDX-License-Identifier: MIT */
#pragma once

/* Sorts the events that --event names by their owners. An event without a layer belongs to what the recording is
 * about. */

#include "record/plan/plan.h"

/* Sorts plan->events into plan->chosen. A layer that is named is recorded, so --event=host:… implies --host. Call it
 * before the requirements of options are checked, and when plan->kind is known. */
int plan_events_sort(struct record_plan *plan, struct error *error);
void plan_events_done(struct plan_events *events);
/* Adds the event PATTERN without a condition. -ENOMEM. */
int plan_events_add(struct plan_event_list *list, const char *pattern);
/* Refuses a LIST with conditions, which WHO ("a QEMU") does not support. */
int plan_events_refuse_conditions(const struct plan_event_list *list, const char *who,
                                  struct error *error);
/* Checks that the layers named for the process are its own, and that events of a QEMU have no conditions. */
int plan_events_check_layers(const struct plan_events *events, bool is_program,
                             struct error *error);
