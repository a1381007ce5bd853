/* SPDX-License-Identifier: MIT */
#pragma once

/* The conditions of `strata record --flight --on`, which are parsed once: for the checks here, the recorder of triggers, and
 * the process that reads what is recorded. */

#include "record/plan/plan.h"
#include "record/triggers.h"
#include "watch/condition.h"

/* Parses them, and checks what belongs to them. */
int plan_conditions_make(struct record_plan *plan, struct error *error);
/* That they can be met by what is recorded; KIND is not RECORD_COMMAND. */
int plan_conditions_check(const struct record_plan *plan, enum record_kind kind,
                          struct error *error);
/* The event of QEMU's monitor that the condition names, and no QEMU that is known has; NULL: there is none. *RET_SIMILAR: a similar
 * one that there is, or NULL. */
const char *plan_condition_unknown_event(const struct watch_condition *condition,
                                         const char **ret_similar);
/* Adds to PATTERNS, of events of QEMU to record, those that conditions name as QEMU's ("vmm:blk_*"). EVENTS: those that this QEMU
 * has, and NULL. They are borrowed from PLAN. DECLARATIONS: a file that declares what they log; NULL: not known. An error: it
 * lacks one, or none of those that a condition means has a field that the condition names. */
int plan_conditions_add_vmm(const struct record_plan *plan, const char *const *events,
                            const char *declarations, struct strings *patterns,
                            struct error *error);
/* What the recorder of triggers gets, as far as the plan says it; for plan->triggers.conditions.n > 0. */
struct trigger_recorder_settings plan_conditions_settings(const struct record_plan *plan);
