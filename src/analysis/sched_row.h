/* SPDX-License-Identifier: MIT */
#pragma once

/* The rows of the analysis of scheduling (analysis/sched.h). */

#include "analysis/sched.h"

struct sched_row {
    enum state_of of;
    int32_t id;
    const struct origin *origin;
    bool is_wanted, is_others;
    const char *name; /* NULL: not known */
    int32_t vcpu, last_cpu, last_by;
    uint64_t runs, migrations;
    int64_t inside, outside; /* of the guest while it ran, as far as that is known */
    struct histogram *wakes; /* NULL: none */
    int64_t wake_sum;
    uint64_t preempt_n;
    int64_t preempt_sum, preempt_max;
    struct sched_total {
        int64_t time; /* in the state, as far as it is known */
        uint64_t n;   /* complete intervals, and their sum */
        int64_t sum;
    } in[STATES];
};

/* Wake-ups of ROW by thread BY. */
struct sched_waker {
    struct sched_waker *next;
    struct sched_row *row;
    int32_t by;
    int64_t sum;
    struct histogram wakes;
};

/* NULL: there is none. */
struct sched_row *sched_find_row(const struct sched *sched, enum state_of of,
                                 const struct origin *origin, int32_t id);
const char *sched_row_name(const struct sched_row *row);
bool sched_row_is_shown(const struct sched *sched, const struct sched_row *row);

/* ---- sched_result.c: as of struct analysis_ops ---- */
void sched_add_columns(struct analysis *analysis, struct result *result);
int sched_add_rows(struct analysis *analysis, struct result *result);
