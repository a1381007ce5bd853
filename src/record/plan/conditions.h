/* SPDX-License-Identifier: MIT */
#pragma once

/* The conditions of `strata record --flight --on`. They are parsed once: for the checks here, for the recorder of
 * triggers, and for the process that reads recorded events. */

#include "record/plan/plan.h"
#include "record/triggers.h"
#include "watch/condition.h"

/* Parses the conditions and checks the options that belong to them. */
int plan_conditions_make(struct record_plan *plan, struct error *error);
/* Checks that the recorded events can meet the conditions. KIND must not be RECORD_COMMAND. */
int plan_conditions_check(const struct record_plan *plan, enum record_kind kind,
                          struct error *error);
/* Returns the event of QEMU's monitor that the condition names if no known QEMU has it, or NULL. *RET_SIMILAR: an
 * existing event with a similar name, or NULL. */
const char *plan_condition_unknown_event(const struct watch_condition *condition,
                                         const char **ret_similar);
/* Adds the QEMU events that conditions name to PATTERNS, the events to be recorded: with "vmm:", also by a pattern; by an
 * exact name or a rule of spans if this QEMU has the events. EVENTS: names of the events of this QEMU, ended by NULL. The added
 * strings are borrowed from PLAN and EVENTS. DECLARATIONS: the file that declares their fields; NULL: unknown. Fails if this QEMU
 * lacks an event with "vmm:", or if no event that a condition names has a field of the condition. */
int plan_conditions_add_vmm(const struct record_plan *plan, const char *const *events,
                            const char *declarations, struct strings *patterns,
                            struct error *error);
/* The settings of the recorder of triggers, as far as the plan determines them. plan->triggers.conditions.n must not be
 * 0. */
struct trigger_recorder_settings plan_conditions_settings(const struct record_plan *plan);
