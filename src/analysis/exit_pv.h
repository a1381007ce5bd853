/* SPDX-License-Identifier: MIT */
#pragma once

/* How often paravirtualised guests of Xen enter it, by kind: hypercalls, traps, page faults, emulated instructions, ...
 * Xen records that it is entered, and not when it returns to the guest: no durations are known. One entry may be of
 * several kinds, such as an instruction whose emulation ends with a trap. */

#include "analysis/analysis.h"
#include "analysis/exit_events.h"
#include "analysis/result/result_rows.h"

struct exit_pv {
    struct rows rows;
    bool detail; /* rows also by what the guest asked for */
    uint64_t n;  /* entries, also those that are in no row */
};

/* 0, -ENOMEM. */
int exit_pv_init(struct exit_pv *pv, const struct analysis_settings *settings, bool detail);
void exit_pv_done(struct exit_pv *pv);

/* Counts ITEM, whose CLASS has the role EXIT_PV. -ERANGE: in a period beyond ROW_PERIODS_MAX. 0, -ENOMEM. */
int exit_pv_put(struct exit_pv *pv, struct analysis *analysis, struct exit_class *class,
                const struct item *item);

/* Adds the rows: n and rate are known. 0, -ENOMEM. */
int exit_pv_add_rows(const struct exit_pv *pv, const struct duration_columns *columns,
                     struct result *result);
