/* SPDX-License-Identifier: MIT */
#pragma once

/* The rows of the analysis of scheduling (analysis/sched.h). */

#include "analysis/sched.h"

struct sched_row {
    /* First the members that each interval needs, because rows do not fit into a CPU's caches. */
    enum state_subject of;
    int32_t id;
    const struct origin *origin;
    const char *name; /* NULL if unknown */
    bool is_wanted, is_others;
    bool enters; /* it enters guests; otherwise `inside`, `outside` and `undivided` mean nothing */
    int32_t vcpu;
    struct histogram *wakes; /* NULL if there are none */
    int64_t wake_sum;
    uint64_t preempt_n;
    int64_t preempt_sum, preempt_max;
    int32_t last_cpu, last_by;
    uint64_t runs, migrations;
    /* While it ran: inside of a guest, outside, and unknown. */
    int64_t inside, outside, undivided;
    struct who_victim who; /* who ran while it waited, if that is looked for */
    struct sched_total {
        int64_t time; /* in the state, as far as it is known */
        uint64_t n;   /* number of complete intervals, and their sum */
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

/* NULL if there is none. */
struct sched_row *sched_find_row(const struct sched *sched, enum state_subject of,
                                 const struct origin *origin, int32_t id);
const char *sched_row_name(const struct sched_row *row);
/* The virtual machine whose vCPU the thread ROW runs; "-" if unknown. */
const char *sched_row_vm(const struct sched_row *row);
/* Puts the name of the row for --by, without the pid. */
void sched_row_put_name(const struct sched *sched, const struct sched_row *row, struct text *text);
bool sched_row_is_shown(const struct sched *sched, const struct sched_row *row);

/* A row, with the totals for its shares. */
struct sched_measured {
    const struct sched *sched;
    const struct sched_row *row;
    double duration; /* of the source in ticks, without offline time, times the number of vCPUs */
    double cpu_time; /* of all CPUs */
    /* All parts of a vCPU's time, if both the guest and the host are in the trace; otherwise NULL. */
    const int64_t *parts;
    bool has_all_parts;
    bool has_interrupts; /* its source has events that tell when a CPU handles an interrupt */
};

/* ---- sched_columns.c ---- */
/* For struct analysis_ops. */
void sched_add_columns(struct analysis *analysis, struct result *result);
void sched_set_values(struct result_row *to, const struct sched_measured *m);

/* ---- sched_states.c ---- */
/* 0, -ENOMEM. */
int sched_states_init(struct sched *sched);
/* Counts an interval of ROW. 0; -ERANGE if its period is too late; another negative errno. */
int sched_states_put(struct sched *sched, const struct sched_row *row,
                     const struct state_interval *interval);
/* 0, -ENOMEM. */
int sched_states_add_rows(struct sched *sched, struct result *result);

/* ---- sched_notes.c ---- */
/* 0, -ENOMEM. */
int sched_add_contradictions(const struct sched *sched, struct result *result);
int sched_add_notes(const struct sched *sched, struct result *result);

/* ---- sched_result.c: for struct analysis_ops ---- */
int sched_add_rows(struct analysis *analysis, struct result *result);
