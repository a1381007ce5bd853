/* SPDX-License-Identifier: MIT */
#pragma once

/* Counts how often paravirtualised guests of Xen enter it, by kind: hypercalls, traps, page faults, emulated
 * instructions, ... Xen records the entry, but not the return to the guest, so durations are unknown. An entry may have
 * several kinds, for example an instruction whose emulation ends with a trap. */

#include "analysis/analysis.h"
#include "analysis/exit_events.h"
#include "analysis/result/result_rows.h"

struct exit_pv {
    struct rows rows;
    bool detail; /* rows are also by what the guest requested */
    uint64_t n;  /* entries, including those without a row */
};

/* 0, -ENOMEM. */
int exit_pv_init(struct exit_pv *pv, const struct analysis_settings *settings, bool detail);
void exit_pv_done(struct exit_pv *pv);

/* Counts ITEM, whose CLASS has the role EXIT_PV. -ERANGE if its period is beyond ROW_PERIODS_MAX. 0, -ENOMEM. */
int exit_pv_put(struct exit_pv *pv, struct analysis *analysis, struct exit_class *class,
                const struct item *item);

/* Adds the rows, with count and rate. 0, -ENOMEM. */
int exit_pv_add_rows(const struct exit_pv *pv, const struct duration_columns *columns,
                     struct result *result);
