/* SPDX-License-Identifier: MIT */
#pragma once

/* Analyses how threads, vCPUs, CPUs and domains spent their time, and how long they waited for a CPU. Rows are over the
 * engine of states (analysis/states/states.h). The verb sched shows the analysis.
 *
 * With a selection (settings->select), times in states and inside of a guest are within its times. Counts, such as
 * waits and runs, belong to the time in which the interval began. The selection's CPUs select intervals, its threads
 * and vCPUs select rows. */

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
    SCHED_WHO,     /* who ran on the CPUs for which others waited */
    SCHED_WAKERS,
    SCHED_STATES, /* a row for each state of a subject */
};

struct sched_options {
    enum sched_by by;
    enum sched_view view;
    bool finds_recorder; /* SCHED_TIMES: find how long threads waited behind Strata's own threads */
    bool no_pids;        /* SCHED_STATES by task: tasks with the same name are one */
    bool xenalyze_names; /* by domain: times of the states in xenalyze */
};

struct sched_row;

struct sched_waker;

struct sched {
    struct analysis analysis; /* first */
    struct sched_options options;
    const struct sched *counted; /* has the rows: itself, or another one with the same intervals */
    /* For its intervals, which another one's rows may use, too. */
    unsigned rows_of; /* STATE_SUBJECTS() */
    bool finds_who, finds_steal;
    struct states *states; /* `own_states`, or the states of `counted` */
    struct states own_states;
    /* With SCHED_STATES: rows of states. In any view it keeps times of all items, and the longest; in other views the
     * longest waits, whose kind is their row. */
    struct rows states_rows;
    struct duration_columns states_columns;
    struct arena arena;
    struct map rows_by_key; /* by origin and id */
    struct sched_row **rows;
    unsigned n_rows, rows_room;
    struct sched_row *recent[SCHED_RECENT]; /* by id */
    struct sched_row *others;               /* row of those beyond SCHED_ROWS_MAX, or NULL */
    struct map wakers;                      /* by row and waker */
    struct sched_waker *first_waker;
    unsigned n_wakers;
    struct sched_who who;
    struct steal steal;
};

/* 0, -ENOMEM. */
int sched_init(struct sched *sched, const struct analysis_settings *settings,
               const struct sched_options *options);
/* The same, over the items of FIRST; SCHED's own sink ignores items. It shows rows of FIRST, which was initialised with
 * the same SETTINGS, has had no items yet, and outlives SCHED. Both are SCHED_TIMES. */
int sched_init_shared(struct sched *sched, const struct analysis_settings *settings,
                      const struct sched_options *options, struct sched *first);
void sched_done(struct sched *sched);
