/* SPDX-License-Identifier: MIT */
#pragma once

/* What the text and the page of a summary have in common: its parts, which of them are shown, and what is said below
 * them. */

#include "analysis/summary.h"
#include "base/text.h"
#include "report/findings.h"

/* What a part is called, which verb has all of it, and what is shown of it. */
struct summary_part_info {
    const char *title, *command;
    const char *analysis; /* in required_events; NULL: it is reported with another part */
    unsigned rows_scale;  /* times as many rows as other parts: a device has one for each stage */
    const char *const *columns;
};
extern const struct summary_part_info summary_parts[SUMMARY_PARTS];

/* Whether events were lost in N periods of RATES from number FROM on. LOSSES: of those that RATES count; if there are
 * none, what other sources lost does not matter. */
bool summary_has_loss(const struct summary *summary, const struct rates *rates,
                      const struct losses *losses, unsigned from, unsigned n);

/* Whether PART has a table: one of tasks that are all vCPUs of Xen would be that of vCPUs. */
bool summary_is_shown(const struct summary *summary, unsigned part);
/* Whether PART is reported as an analysis whose events are missing. */
bool summary_is_missing(const struct summary *summary, unsigned part);
/* Whether what was not counted stands below the table of PART. The results of sched are of the same states: it is
 * below the first. */
bool summary_has_footer(const struct summary *summary, unsigned part);

/* The notes of PART that neither FINDINGS nor a part before it has, in NOTES, which has room for all. Returns how
 * many. */
unsigned summary_find_notes(const struct summary *summary, const struct findings *findings,
                            unsigned part, const char **notes);

/* Calls PUT for each analysis that SUMMARY has no table of: why, and how to record its events. 0, -ENOMEM. */
int summary_foreach_missing(const struct summary *summary, const struct catalogue *classes,
                            void (*put)(void *arg, const char *command, const char *text),
                            void *arg);

/* Puts to the struct text ARG what of the facts says which system a source is (trace_input_facts()). */
void summary_put_system(void *arg, const char *key, const char *value);
