/* SPDX-License-Identifier: MIT */
#pragma once

/* What the threads and CPUs of all kernels of a trace did lately, who woke which thread, and which requests to disks are over: what
 * a path (walk.h) is made of.
 *
 * Memory is bounded: some `max` states, wake-ups and requests are kept. Before there are more, the user takes what it needs
 * (history_is_crowded()) and then drops the oldest (history_drop_oldest()). What was dropped is unknown: `gone_until`.
 * States of a kernel come late if few others follow (states.h, T3). What other kernels did meanwhile is kept until then, up to
 * HISTORY_LATE times as much.
 *
 * Times are ticks of the trace's clock. Not thread-safe. */

#include "analysis/path/guest_times.h"
#include "analysis/path/wakes.h"
#include "analysis/requests/io_tracker.h"
#include "analysis/states/cpu_runs.h"
#include "base/map.h"

#define HISTORY_MAX (96u * 1024) /* states of 56 bytes, and wake-ups of 40 */
#define HISTORY_LATE 4u
#define HISTORY_REQUESTS_MAX 8192u

/* What a thread did. */
struct history_state {
    int64_t begin, end;
    int64_t moved_at; /* as in struct state_interval */
    int32_t by, cpu, moved_from;
    uint8_t state; /* enum state */
    bool begin_seen, end_seen;
};

/* The states of a thread, in the order of time; they do not overlap. */
struct history_log {
    const struct origin *origin;
    int32_t id;
    struct history_state *states;
    unsigned n, room;
};

struct history_request {
    struct io_request request;
    int64_t end;
    uint64_t number; /* from 1 on */
};

/* Which thread of a host runs a vCPU. */
struct history_vcpu {
    const void *vm; /* NULL: not known */
    int32_t vcpu;   /* VCPU_UNKNOWN: the thread runs all of its machine */
    int32_t pid;    /* PID_UNKNOWN: several do */
};
#define HISTORY_VCPUS_MAX 1024

/* A clock that times are of. */
struct history_clock {
    const struct origin *origin; /* NULL: not known */
    int64_t given_until; /* the end of the last state of a thread; INT64_MIN: there was none */
    uint32_t error_ns;   /* the largest of a time */
    uint8_t part;        /* that all of its times are in; else CLOCK_UNSTEADY */
};

struct history {
    struct states own_states; /* not used if STATES are of another analysis */
    struct states *states;
    struct map logs; /* by source and thread */
    struct cpu_runs cpus;
    struct guest_times guest_times;
    struct wakes wakes;
    struct history_request *requests; /* by their ends, once history_sort() was called */
    unsigned n_requests, requests_room;
    bool requests_are_sorted; /* without history_sort() */
    uint64_t last_request;
    struct history_vcpu *vcpus;
    unsigned n_vcpus;
    struct history_clock *clocks; /* by source */
    unsigned n_clocks;
    const struct origin *host; /* the only host's kernel */
    bool has_hosts;            /* there are several */
    unsigned n_states;         /* of threads */
    unsigned max;              /* of these and of runs of CPUs */
    unsigned limit;     /* is crowded from then on; `max` unless a kernel's states come late */
    int64_t gone_until; /* INT64_MIN: nothing was dropped */
    int64_t newest;     /* the end of the last state */
    /* The user still needs what ended after that: it is kept if there is room (HISTORY_LATE). INT64_MAX: nothing. */
    int64_t held_from;
    /* May be NULL. A thread was in a state; the same order as of states_ops. 0, or a negative errno. */
    int (*put_state)(void *arg, const struct state_interval *interval);
    void *arg;
};

void history_init(struct history *history);
/* Takes the intervals of STATES, which outlive HISTORY and are put and finished by their owner. Before the first item. */
void history_share_states(struct history *history, struct states *states);
/* Items in the order of time. 0, -ENOMEM, or what put_state() returned. */
int history_put(struct history *history, const struct item *item);
int history_put_states(struct history *history, const struct item *items, unsigned n);
/* A request that is over. Returns its number in *RET_NUMBER. 0, -ENOMEM. */
int history_put_request(struct history *history, const struct io_request *request,
                        uint64_t *ret_number);
/* states_begin_loss() */
void history_begin_loss(struct history *history, const struct item *item);
int history_finish(struct history *history);
void history_done(struct history *history);

bool history_is_crowded(const struct history *history);
/* Before requests are looked for, or the oldest are dropped. */
void history_sort(struct history *history);
/* Until when, with that time, what has ended is to be dropped next; INT64_MIN: nothing is. */
int64_t history_next_drop(const struct history *history);
/* UNTIL: history_next_drop(). */
void history_drop_oldest(struct history *history, int64_t until);

/* NULL: there is nothing of it. */
const struct history_log *history_find(const struct history *history, const struct origin *origin,
                                       int32_t pid);
/* What CPU did; NULL: there is nothing of it, or it is below 0. */
static inline struct cpu_log *history_cpu(const struct history *history,
                                          const struct origin *origin, int32_t cpu)
{
    /* It remembers where it was looked for last. */
    return cpu_runs_find((struct cpu_runs *)(uintptr_t)&history->cpus, origin, cpu);
}

/* The first state of LOG that ends after TIME; log->n: none does. */
unsigned history_first(const struct history_log *log, int64_t time);

/* Whether who wakes threads of ORIGIN is known to be the thread of the CPU where no interrupt was seen. */
bool history_knows_interrupts(const struct history *history, const struct origin *origin);

/* The only request of ORIGIN that completed at TIME; NULL: there is none, or there are several. */
const struct io_request *history_find_request(const struct history *history,
                                              const struct origin *origin, int64_t time);
const struct io_request *history_get_request(const struct history *history, uint64_t number,
                                             int64_t end);

/* The thread of the host that runs VCPU of the guest ORIGIN; PID_UNKNOWN: it is not known. RET_SHARED, which may be NULL: whether it
 * runs all vCPUs of the guest. */
int32_t history_vcpu_thread(const struct history *history, const struct origin *origin,
                            int32_t vcpu, bool *ret_shared);
/* The clock of ORIGIN, which may be NULL. */
struct history_clock history_clock(const struct history *history, const struct origin *origin);
