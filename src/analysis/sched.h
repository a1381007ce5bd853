/* SPDX-License-Identifier: MIT */
#pragma once

/* Where the time of threads, vCPUs, CPUs and domains went, and how long they waited for a CPU: rows over the states
 * engine (analysis/states/states.h). An analysis; the verb sched shows it.
 *
 * Of a selection (settings->select), times in states, and inside of a guest, are those within its times. What is counted, as
 * waits and runs, is in the times in which it began. CPUs are those of intervals; threads and
 * vCPUs are rows. */

#include "analysis/analysis.h"
#include "analysis/result/result_rows.h"
#include "analysis/sched_who.h"
#include "analysis/states/states.h"
#include "analysis/states/steal.h"

#define SCHED_ROWS_MAX 65536
#define SCHED_RECENT 1024

enum sched_by {
    SCHED_BY_TASK,
    SCHED_BY_VCPU,
    SCHED_BY_VM, /* of virtual machines whose threads the host's kernel ran */
    SCHED_BY_CPU,
    SCHED_BY_DOMAIN,
};

enum sched_view {
    SCHED_TIMES,
    SCHED_WAKEUPS, /* from being woken to running */
    SCHED_WHO,     /* who ran on the CPUs that were waited for */
    SCHED_WAKERS,
    SCHED_STATES, /* a row for each state that it was in */
};

struct sched_options {
    enum sched_by by;
    enum sched_view view;
    bool
        finds_recorder; /* SCHED_TIMES: how much of their waits threads waited behind Strata's own */
    bool no_pids;       /* SCHED_STATES by task: tasks of one name are one */
    bool xenalyze_names; /* by domain: times of the states that xenalyze has */
};

struct sched_row;

struct sched_waker;

struct sched {
    struct analysis analysis; /* first */
    struct sched_options options;
    const struct sched
        *counted; /* has the rows: itself, or another one whose intervals these are, too */
    /* What is made of intervals, also for those whose rows it has. */
    unsigned rows_of; /* STATE_SUBJECTS() */
    bool finds_who, finds_steal;
    struct states *states; /* `own_states`, or those of `counted` */
    struct states own_states;
    /* SCHED_STATES; for any view, the times of all items, and the longest: of others, waits, whose kind is their row. */
    struct rows states_rows;
    struct duration_columns states_columns;
    struct arena arena;
    struct map rows_by_key; /* by origin and id */
    struct sched_row **rows;
    unsigned n_rows, rows_room;
    struct sched_row *recent[SCHED_RECENT]; /* by id */
    struct sched_row *others;               /* beyond SCHED_ROWS_MAX; NULL: none */
    struct map wakers;                      /* by row and waker */
    struct sched_waker *first_waker;
    unsigned n_wakers;
    struct sched_who who;
    struct steal steal;
};

/* 0, -ENOMEM. */
int sched_init(struct sched *sched, const struct analysis_settings *settings,
               const struct sched_options *options);
/* The same, of the items of FIRST: SCHED's own sink ignores them. It shows rows of FIRST, which was initialised with the same
 * SETTINGS, has had no items yet, and outlives SCHED. Both are SCHED_TIMES. */
int sched_init_shared(struct sched *sched, const struct analysis_settings *settings,
                      const struct sched_options *options, struct sched *first);
void sched_done(struct sched *sched);
