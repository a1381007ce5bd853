/* SPDX-License-Identifier: MIT */
#pragma once

/* Computes what threads, CPUs, Xen's vCPUs and domains did at which time, from the scheduler events of Linux kernels
 * (sched_switch, sched_waking or sched_wakeup, sched_wakeup_new, sched_migrate_task, sched_process_exit) and of Xen
 * (RUNSTATE_CHANGE).
 *
 * Invariants:
 *  T1  The intervals of a thread, CPU, vCPU or domain do not overlap, and come in order.
 *  T2  A CPU runs the thread that its last sched_switch names next, and no other. A sched_switch of another thread, or
 *      an event stamped with another thread, contradicts that: a switch is missing from the trace, although no loss was
 *      counted. Then the states of the CPU and of these threads are unknown since they were last proven. Further
 *      contradictions are: a change of a Xen vCPU that does not start in its present state; a thread that runs after it
 *      slept and was not woken, in a trace with wake-ups; a waiting thread that is woken again, which the kernel only
 *      does to threads that do not want to run; and a running thread that is moved to another CPU.
 *  T3  A loss makes unknown what its CPU did since the last event before it, and what all threads of its source did
 *      that were not on a CPU at that time. Losses are delivered at their end. Therefore intervals of threads are held
 *      back until at least STATES_HELD further ones of their source have followed, so that a loss still changes
 *      intervals that end in it. If a reader has found a loss at its begin (item->before_loss), such intervals are
 *      changed before they are handed over, however long the loss is.
 *  T4  An interval is complete (begin_seen and end_seen) only if events in the trace begin and end it.
 *  T5  At most STATES_THREADS_MAX threads of a source are known at a time. Beyond, a thread that does not run is given
 *      up and counted. Threads that have ended are forgotten.
 *  T6  A source with `pid_filter` has the events of some threads, with the switches and wake-ups that concern them. It
 *      is unknown what other threads did, and what a CPU did while it ran none of these threads, idle or not. A thread
 *      is one of them after it has an event of its own, or switches with the idle thread. A switch that does not follow
 *      from what another thread ran is not a contradiction.
 *  T7  If the CPUs of a source begin at different times (origin->complete_from), the states of threads that were not on
 *      a CPU before all have begun are unknown, as after a loss. A vCPU of Xen has been in the state from which it
 *      changes next since that time, or since the last loss. A running vCPU has run since its CPU began, or since the
 *      CPU's last loss.
 *  T8  If the data of a CPU end early (item->is_open of a loss; the reader states how it knows that), the state of the
 *      CPU is unknown up to the end of the source, and so are the states of threads that were not on another CPU. The
 *      same holds for a CPU without data.
 *  T9  In a source with switches, unknown time is an interval, too: for CPUs, vCPUs and domains from the first event of
 *      the source to its last, for a thread from the first event that names it until it ends. Between two vCPUs, a CPU
 *      of Xen has no state, and no interval.
 *  T10 If a source is not known to be recorded to the end (origin_is_recorded_to_end()), the state of a CPU after its
 *      last event is unknown, and so are the states of threads that were not on a CPU after the first CPU's events end.
 *  T11 The state of a domain follows from its vCPUs. It is given late, because vCPUs that were not met yet have been in
 *      some state all the time.
 *  T12 A thread or vCPU that begins or stops to run by an event does so outside of a guest. The first entry or exit of
 *      a run proves where it was before, back to the time from which the run is known. A run without entry and exit is
 *      outside if the trace shows its begin or its end; otherwise it is unknown where it was.
 *  T13 In a source without sched_waking, a sched_wakeup begins a wait. The source is known to have no sched_waking when
 *      a sleeping thread is woken without it. Before that, and in a source with sched_waking, such a wait has begun
 *      unseen. Before the first event of an interrupt, the CPU's thread wakes others. Later it does so only if a switch
 *      or guest entry since the CPU's first event or last loss shows that no interrupt has begun before. Otherwise it
 *      is unknown who wakes.
 *  T14 A kernel without any switch has no intervals, because a thread may have slept between two events that name it.
 *      Up to its first switch, at most the last STATES_HELD intervals are kept.
 *  T15 In a source without wake-ups, a thread sleeps until it runs. If the first wake-up comes late, threads that ran
 *      after a sleep were woken unseen. Then it is unknown how long they slept, in the last STATES_HELD intervals.
 *
 * Before the first sched_switch of a CPU, events of several threads are not a contradiction, because switches may not
 * be traced. Events of the thread that the CPU's last sched_switch took off are not a contradiction for 100 us, or
 * until the thread is woken or the next thread is seen to run, because kernels emit events while they switch, such as
 * tlb_flush. Events of interrupts, the scheduler and guests are not among these; they contradict. If the format does
 * not prove that events have the kernel's own thread numbers (origin->kernel), this is assumed until a switch is
 * stamped with another thread than the one it takes off.
 *
 * Not thread-safe. */

#include "base/map.h"
#include "event/catalogue.h"
#include "event/item.h"
#include "event/select.h"

#define STATES_THREADS_MAX (1u << 16)
#define STATES_HELD 8192
#define STATE_MOVED_OFTEN (-2)
#define STATE_MOVED_UNSEEN \
    (-3) /* it ran on another CPU than the CPU on which it was known to wait */
#define STATE_BY_INTERRUPT (-2)
#define STATE_NAME_SIZE 16     /* of a task, as in the kernel */
#define STATE_NAMES_MAX 65536u /* of a source; tasks with further names have none */

enum state {
    STATE_UNKNOWN,
    STATE_RUNNING,
    STATE_RUNNABLE,  /* since when and why is unknown */
    STATE_WOKEN,     /* runnable since it was woken */
    STATE_PREEMPTED, /* runnable since it left a CPU */
    STATE_SLEEPING,
    STATE_UNINTERRUPTIBLE, /* the kernel's D */
    STATE_OFFLINE,         /* Xen: paused, taken away, not there yet, or destroyed */
    /* for CPUs, which can also be unknown and running */
    STATE_IDLE,
    STATE_INTERRUPT,
    /* for domains, by their vCPUs that are not offline; without any, STATE_OFFLINE */
    STATE_BLOCKED,            /* none runs or could run */
    STATE_PARTIAL_RUN,        /* some run, the others are blocked */
    STATE_FULL_RUN,           /* all run */
    STATE_PARTIAL_CONTENTION, /* none runs, some could run, the others are blocked */
    STATE_CONCURRENCY_HAZARD, /* some run, and some could run */
    STATE_FULL_CONTENTION,    /* none runs, all could run */
};
#define STATES (STATE_FULL_CONTENTION + 1)

/* True if a thread waits to be woken. */
static inline bool state_is_sleep(enum state state)
{
    return state == STATE_SLEEPING || state == STATE_UNINTERRUPTIBLE;
}

/* "running". */
const char *state_name(enum state state);

/* True if CLASS is a change of a Xen vCPU's state ("running_to_blocked"). Returns both states: runnable is
 * STATE_RUNNABLE, blocked is STATE_SLEEPING. */
bool states_parse_change(const struct event_class *class, enum state *ret_from, enum state *ret_to);

static inline bool state_waits(enum state state)
{
    return state == STATE_RUNNABLE || state == STATE_WOKEN || state == STATE_PREEMPTED;
}

enum state_subject {
    STATE_SUBJECT_THREAD, /* except idle threads */
    STATE_SUBJECT_CPU,
    STATE_SUBJECT_VCPU, /* Xen's, except idle vCPUs */
    STATE_SUBJECT_DOMAIN,
};
/* Sets of subjects. */
#define STATE_SUBJECTS(of) (1u << (of))
#define STATE_SUBJECTS_ALL (STATE_SUBJECTS(STATE_SUBJECT_DOMAIN + 1) - 1)

/* Lent to states_ops. It fits into one cache line. Times are ticks of the trace's clock. */
struct state_interval {
    int64_t begin, end;
    const struct origin *origin;
    const char
        *name; /* of a thread, as in its switches, valid until states_done(); "" if unknown */
    union {
        /* For a thread or vCPU that ran: ticks inside of a guest; -1 if unknown. */
        int64_t inside;
        /* For a wait, if `moved_from` is a CPU. */
        int64_t moved_at;
    };
    int32_t id; /* number of the thread, CPU, vCPU (as in items) or domain */
    /* For a thread or vCPU: the CPU on which it runs, for which it waits, or which it left; or CPU_UNKNOWN. */
    int32_t cpu;
    /* For a wait: the CPU for which it waited up to `moved_at`; CPU_UNKNOWN if it did not move, STATE_MOVED_OFTEN,
     * STATE_MOVED_UNSEEN. */
    int32_t moved_from;
    /* For a woken thread: the thread that woke it, STATE_BY_INTERRUPT or PID_UNKNOWN; for a running CPU: what runs on
     * it. */
    int32_t by;
    int32_t vcpu;      /* vCPU that a thread runs, or VCPU_UNKNOWN */
    uint8_t of, state; /* enum state_subject, enum state */
    bool begin_seen : 1, end_seen : 1;
    bool enters : 1; /* thread or vCPU: it was seen to enter a guest and to leave it */
    /* For the engine, for a woken thread: if the source turns out to have other events (T13), the begin, or who woke
     * it, is wrong. */
    bool begin_unsure : 1, by_unsure : 1;
};

_Static_assert(sizeof(struct state_interval) <= 64, "an interval is one cache line");

struct states_ops {
    /* N consecutive intervals: of threads or vCPUs of one source, or a single one of another subject. 0, or a negative
     * errno that states_put() returns. */
    int (*put)(void *arg, const struct state_interval *intervals, unsigned n);
};

/* What was found in a source. */
struct state_counts {
    uint64_t switches;       /* of CPUs; for Xen, state changes of vCPUs */
    uint64_t contradictions; /* of these, changes that do not follow from the previous state */
    uint64_t wakes;          /* of threads that slept */
    uint64_t early_wakes;    /* of threads that ran or were runnable: without effect */
    uint64_t missing_wakes;  /* of threads that ran after they slept */
    uint64_t given_up;       /* threads, because there were too many */
    /* Incomplete waits, by reason. */
    uint64_t lost, contradicted, open, no_begin, gone;
    uint64_t early;        /* before all CPUs had begun (T7) */
    uint64_t unseen_moves; /* waits whose CPU is unknown */
    /* VCPUs of which nothing was known when earlier states of their domain were given. */
    uint64_t late_vcpus;
};

struct state_source;
struct class_plan;

struct states {
    const struct states_ops *ops;
    void *arg;
    const struct states_ops *other_ops; /* of the second user (states_share()), or NULL */
    void *other_arg;
    struct class_plan *plans; /* by class->index */
    unsigned n_plans;
    struct state_source **sources;
    unsigned n_sources;
    struct map by_origin;
    const struct origin *recent_origin;
    struct state_source *recent;
    /* STATE_SUBJECTS(): the intervals that are made. Other results about waits require the intervals of threads and
     * vCPUs */
    unsigned wanted;
    int error;
    /* Counts, states_duration(), and the time that an interval has inside of a guest are limited to its times;
     * intervals are of all items. NULL: all. */
    const struct selection *select;
};

/* Makes all intervals wanted; see `wanted`. */
void states_init(struct states *states, const struct states_ops *ops, void *arg);
/* Gives the intervals to a second user, too, after the first one. It adds what it needs to `wanted`. */
void states_share(struct states *states, const struct states_ops *ops, void *arg);
/* Adds items in the order of time. 0, -ENOMEM, or the result of put(). */
int states_put(struct states *states, const struct item *items, unsigned n);
/* ITEM, which is not put, is the last item of its CPU before a loss (T3). */
void states_begin_loss(struct states *states, const struct item *item);
/* Gives the held intervals of threads (T3) now. Later losses cannot change them any more. */
int states_release(struct states *states);
/* At the end of the trace: gives the open intervals, up to the last event of their source. */
int states_finish(struct states *states);
void states_done(struct states *states);

/* For source number I (below states->n_sources): its origin, its counts, its contradictions by CPU, and its number of
 * CPUs. */
const struct state_counts *states_counts(const struct states *states, unsigned i,
                                         const struct origin **ret_origin);
uint64_t states_cpu_contradictions(const struct states *states, unsigned i, unsigned cpu);
unsigned states_cpus(const struct states *states, unsigned i);
/* The number of CPUs with events. */
unsigned states_cpus_seen(const struct states *states, unsigned i);

/* At the end of the trace, before states_finish(): until when the state of CPU of source number I is known (T8 to T10),
 * in ticks. Afterwards it is unknown, however much later the events of other sources are. TIME_UNKNOWN if it has no
 * states. */
int64_t states_cpu_known_until(const struct states *states, unsigned i, unsigned cpu);

/* The scheduler events of source number I, as bits. */
enum {
    STATE_EVENT_SWITCH = 1 << 0,
    STATE_EVENT_WAKE = 1 << 1,     /* sched_waking, sched_wakeup */
    STATE_EVENT_WAKE_NEW = 1 << 2, /* sched_wakeup_new */
    STATE_EVENT_MIGRATE = 1 << 3,
    STATE_EVENT_EXIT = 1 << 4, /* sched_process_exit */
    STATE_EVENT_INTERRUPT = 1 << 5,
    STATE_EVENT_GUEST = 1 << 6, /* kvm_entry and kvm_exit, vmentry and vmexit */
};
unsigned states_events(const struct states *states, unsigned i);
/* True if ORIGIN had a switch; NULL: any source (T14). */
bool states_has_switches(const struct states *states, const struct origin *origin);
/* Time of the first event of source ORIGIN that shows a state, or TIME_UNKNOWN. */
int64_t states_begin(const struct states *states, const struct origin *origin);
/* Time of its last such event. */
int64_t states_end(const struct states *states, const struct origin *origin);
/* Within the times of `select`: ticks from the first to the last event of source ORIGIN that shows a state; 0 if there
 * is none. */
int64_t states_duration(const struct states *states, const struct origin *origin);
