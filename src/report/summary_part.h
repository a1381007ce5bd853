/* SPDX-License-Identifier: MIT */
#pragma once

/* What the text and the page of a summary share: the parts, which of them are shown, and the lines below them. */

#include "analysis/summary.h"
#include "base/text.h"
#include "report/findings.h"

/* The title of a part, the verb that shows all of it, and the columns shown in a summary. */
struct summary_part_info {
    const char *title, *command;
    const char *analysis; /* in event_sets; NULL: reported with another part */
    /* It gets so many times as many rows as other parts: a device has a row for each stage. */
    unsigned rows_scale;
    const char *const *columns;
};
extern const struct summary_part_info summary_parts[SUMMARY_PARTS];

/* True if events were lost in the N periods of RATES from number FROM on. LOSSES are the losses of the sources that
 * RATES count. If these have no events, losses of other sources do not matter. */
bool summary_has_loss(const struct summary *summary, const struct rates *rates,
                      const struct losses *losses, unsigned from, unsigned n);

/* True if PART has a table. A table of tasks that are all vCPUs of Xen would be the table of vCPUs again. */
bool summary_is_shown(const struct summary *summary, unsigned part);
/* True if PART is reported as an analysis whose events are missing. */
bool summary_is_missing(const struct summary *summary, unsigned part);
/* True if what was not counted is shown below the table of PART. The results of sched have the same states, so it is
 * shown below the first of them. */
bool summary_has_footer(const struct summary *summary, unsigned part);

/* Stores in NOTES the notes of PART that neither FINDINGS nor an earlier part shows. NOTES has room for all notes of
 * PART. Returns their number. */
unsigned summary_find_notes(const struct summary *summary, const struct findings *findings,
                            unsigned part, const char **notes);

/* Calls PUT for each analysis without a table in SUMMARY: why, and how to record its events. 0, -ENOMEM. */
int summary_foreach_missing(const struct summary *summary, const struct catalogue *classes,
                            void (*put)(void *arg, const char *command, const char *text),
                            void *arg);

/* Puts to the struct text ARG the facts that tell which system a source is (trace_input_facts()). */
void summary_put_system(void *arg, const char *key, const char *value);
