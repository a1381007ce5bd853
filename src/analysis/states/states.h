/* SPDX-License-Identifier: MIT */
#pragma once

/* States: what threads, CPUs, Xen's vCPUs and domains did at which time, from the scheduler events of Linux kernels
 * (sched_switch, sched_waking or sched_wakeup, sched_wakeup_new, sched_migrate_task, sched_process_exit) and of Xen
 * (RUNSTATE_CHANGE).
 *
 * Invariants:
 *  T1  The intervals of a thread, a CPU, a vCPU or a domain follow one another and do not overlap.
 *  T2  A CPU runs the thread that its last sched_switch names next, and no other. A sched_switch of another thread, or
 *      an event stamped with one, contradicts that: one is missing from the trace, although no loss was counted. What
 *      the CPU did, and what the threads concerned did, is unknown since they were last proven. The same for a state
 *      of a Xen vCPU that is not the one the next change starts in, and for a thread that runs after it slept and was
 *      not woken, in a trace that has wake-ups; for one that waits for a CPU and is woken again, which the kernel does
 *      only to threads that do not want to run; and for one that runs and is moved to another CPU.
 *  T3  A loss makes unknown what its CPU did, from the last event before it on; and what all threads of its source did
 *      that were not on a CPU at that time. Losses are delivered at their end: intervals of threads are held back
 *      until at least STATES_HELD others of their source have followed, so that a loss still takes those that end in it. Of one
 *      that a reader has found at its begin (item->before_loss), these are taken before they are handed over, however long it is.
 *  T4  An interval is complete (begin_seen and end_seen) only where events in the trace begin and end it.
 *  T6  A source with `pid_filter` has the events of some threads, and the switches and wake-ups that concern them. What
 *      other threads did is unknown, as is what a CPU did while it ran none of them, idle or not. A thread is one of
 *      them once it has an event of its own, or switches with the idle thread. A switch that does not follow from what
 *      another thread ran contradicts nothing.
 *  T7  Where the CPUs of a source begin at different times (origin->complete_from), what threads that were not on a CPU
 *      did before all have begun is unknown, as with a loss. A vCPU of Xen has been in the state that its next change starts in
 *      since then, or since the last loss; one that runs, since its CPU began, or went on after a loss.
 *  T8  After the data of a CPU end early (item->is_open of a loss; the reader says by what it knows that), what the CPU did is
 *      unknown up to the end of the source, as is what threads did that were not on another CPU. The same for a CPU that has
 *      no data.
 *  T9  In a source that has switches, what is unknown is an interval, too: of CPUs, vCPUs and domains from the first event of
 *      the source to its last, of a thread from the first event that names it until it ends. Between two vCPUs, a CPU of Xen is
 *      in no state, and has no interval.
 *  T10 Of a source that is not known to be recorded to the end (origin_is_recorded_to_end()), what a CPU did after its last event
 *      is unknown, as is what threads did that were not on a CPU after the CPU whose events end first.
 *  T11 What a domain was follows from what its vCPUs were. It is given late, as vCPUs that were not met yet have been in some
 *      state all the time.
 *  T12 A thread or vCPU that begins or stops to run by an event does so outside of a guest. The first entry or exit of a run
 *      proves where it was before, since the run is known. A run without these is outside if the trace shows its begin or its
 *      end, and otherwise unknown.
 *  T13 In a source without sched_waking, a sched_wakeup begins a wait. It is known to have none once a thread that slept is woken
 *      without it. Before that, and in a source that has sched_waking, such a wait has begun unseen. Before the
 *      first event of an interrupt, the thread of a CPU wakes others; from then on, it does so where a switch or an entry to a guest
 *      since the CPU's first event, or its last loss, shows that no interrupt has begun before. Otherwise, who wakes is unknown.
 *  T14 Of a kernel without any switch, nothing is given: a thread may have slept between two events that name it. Up to its first
 *      switch, at most the last STATES_HELD intervals are kept.
 *  T15 In a source without wake-ups, a thread sleeps until it runs. If the first wake-up comes late, threads that had run after they
 *      slept had been woken unseen: how long they slept is unknown, in the last STATES_HELD intervals.
 *  T5  At most STATES_THREADS_MAX threads of a source are known at a time. Beyond, one that does not run is given up
 *      and counted. Threads that ended are forgotten.
 *
 * Before the first sched_switch of a CPU, events of several threads contradict nothing: switches may not be traced.
 * An event of a thread that the last sched_switch of the CPU took off it contradicts nothing for 100 us, until the thread is
 * woken or the next one has been seen to run: kernels emit events while they switch, such as tlb_flush. Events of interrupts,
 * the scheduler and guests are not among them: they contradict.
 * Where the format does not prove that events tell the kernel's own numbers of threads (origin->kernel), they are taken for
 * these until a switch is stamped with another thread than the one that it takes off.
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
    (-3) /* it ran on another CPU than the one that it is known to have waited for */
#define STATE_BY_INTERRUPT (-2)
#define STATE_NAME_SIZE 16     /* of a task, as in the kernel */
#define STATE_NAMES_MAX 65536u /* of a source; tasks with others have none */

enum state {
    STATE_UNKNOWN,
    STATE_RUNNING,
    STATE_RUNNABLE,  /* it is not known since when, and why */
    STATE_WOKEN,     /* runnable, since it was woken */
    STATE_PREEMPTED, /* runnable, since it left a CPU */
    STATE_SLEEPING,
    STATE_UNINTERRUPTIBLE, /* the kernel's D */
    STATE_OFFLINE,         /* Xen's: paused, taken away, not there yet, or destroyed */
    /* of CPUs, which can be unknown and running, too */
    STATE_IDLE,
    STATE_INTERRUPT,
    /* of domains, by their vCPUs that are not offline; of one without, STATE_OFFLINE */
    STATE_BLOCKED,            /* none runs or could */
    STATE_PARTIAL_RUN,        /* some run, the others are blocked */
    STATE_FULL_RUN,           /* all run */
    STATE_PARTIAL_CONTENTION, /* none runs, some could, the others are blocked */
    STATE_CONCURRENCY_HAZARD, /* some run, and some could */
    STATE_FULL_CONTENTION,    /* none runs, all could */
};
#define STATES (STATE_FULL_CONTENTION + 1)

/* Of a thread: it waits to be woken. */
static inline bool state_is_sleep(enum state state)
{
    return state == STATE_SLEEPING || state == STATE_UNINTERRUPTIBLE;
}

/* "running". */
const char *state_name(enum state state);

/* Whether CLASS is of Xen's changes of a vCPU's state, as `running_to_blocked`: from which to which. Runnable is STATE_RUNNABLE,
 * blocked is STATE_SLEEPING. */
bool states_parse_change(const struct event_class *class, enum state *ret_from, enum state *ret_to);

static inline bool state_waits(enum state state)
{
    return state == STATE_RUNNABLE || state == STATE_WOKEN || state == STATE_PREEMPTED;
}

enum state_subject {
    STATE_SUBJECT_THREAD, /* but the idle ones */
    STATE_SUBJECT_CPU,
    STATE_SUBJECT_VCPU, /* of Xen, but the idle ones */
    STATE_SUBJECT_DOMAIN,
};
/* Sets of them. */
#define STATE_SUBJECTS(of) (1u << (of))
#define STATE_SUBJECTS_ALL (STATE_SUBJECTS(STATE_SUBJECT_DOMAIN + 1) - 1)

/* Lent to states_ops: one cache line. Times are ticks of the trace's clock. */
struct state_interval {
    int64_t begin, end;
    const struct origin *origin;
    const char
        *name; /* of a thread, as its switches have it, until states_done(); "": they do not */
    union {
        /* Of a thread or vCPU that ran: ticks inside of a guest; -1: unknown. */
        int64_t inside;
        /* Of what waits, where `moved_from` is a CPU. */
        int64_t moved_at;
    };
    int32_t id; /* the thread's number, the CPU, the vCPU as in items, the domain */
    /* Of a thread and a vCPU: the CPU it runs on, or waits for, or left; CPU_UNKNOWN. */
    int32_t cpu;
    /* Of what waits: the CPU that it waited for up to `moved_at`; CPU_UNKNOWN: it did not move, STATE_MOVED_OFTEN,
     * STATE_MOVED_UNSEEN. */
    int32_t moved_from;
    /* Of one that was woken: by which thread, STATE_BY_INTERRUPT or PID_UNKNOWN; of a CPU that runs: what runs on
     * it. */
    int32_t by;
    int32_t vcpu;      /* of a thread: that it runs; VCPU_UNKNOWN */
    uint8_t of, state; /* enum state_subject, enum state */
    bool begin_seen : 1, end_seen : 1;
    bool enters : 1; /* of a thread or vCPU: it was seen to enter a guest, and to leave it */
    /* For the engine, of one that was woken: a source that turns out to have other events (T13) has its begin, or who woke it,
     * elsewhere. */
    bool begin_unsure : 1, by_unsure : 1;
};

_Static_assert(sizeof(struct state_interval) <= 64, "an interval is one cache line");

struct states_ops {
    /* N intervals, one after the other: as many of threads or vCPUs of one source, or one of something else. 0, or a
     * negative errno that states_put() returns. */
    int (*put)(void *arg, const struct state_interval *intervals, unsigned n);
};

/* What was found of a source. */
struct state_counts {
    uint64_t switches;       /* of CPUs; of Xen, changes of vCPUs' states */
    uint64_t contradictions; /* of which so many do not follow from what was before */
    uint64_t wakes;          /* of threads that slept */
    uint64_t early_wakes;    /* of threads that ran or were runnable: no change */
    uint64_t missing_wakes;  /* of threads that ran after they slept */
    uint64_t given_up;       /* threads: too many */
    /* Waits that are not complete. */
    uint64_t lost, contradicted, open, no_begin, gone;
    uint64_t early;        /* where not all CPUs had begun (T7) */
    uint64_t unseen_moves; /* waits of which it is not known where they were */
    uint64_t
        late_vcpus; /* of which nothing was known when what their domain was before was given */
};

struct state_source;
struct class_plan;

struct states {
    const struct states_ops *ops;
    void *arg;
    struct class_plan *plans; /* by class->index */
    unsigned n_plans;
    struct state_source **sources;
    unsigned n_sources;
    struct map by_origin;
    const struct origin *recent_origin;
    struct state_source *recent;
    unsigned
        wanted; /* STATE_SUBJECTS(): the intervals that are made. What else is reported of waits requires those of
                      * threads and vCPUs */
    int error;
    /* Counts are of what is within its times, as are states_duration() and the time inside of a guest of an interval;
     * intervals are of all items. NULL: all. */
    const struct selection *select;
};

/* All intervals are wanted; see `wanted`. */
void states_init(struct states *states, const struct states_ops *ops, void *arg);
/* Items in the order of time. 0, -ENOMEM, or what interval() returned. */
int states_put(struct states *states, const struct item *items, unsigned n);
/* ITEM, which is not put, is the last of its CPU before a loss (T3). */
void states_begin_loss(struct states *states, const struct item *item);
/* Gives the intervals of threads that are held back (T3) now: a loss that comes later takes none of them any more. */
int states_release(struct states *states);
/* At the end of the trace: gives the intervals that are open, up to the last event of their source. */
int states_finish(struct states *states);
void states_done(struct states *states);

/* Source number I (below states->n_sources): its origin, what was found, and that by CPU: *RET_CONTRADICTIONS of
 * *RET_N CPUs. */
const struct state_counts *states_counts(const struct states *states, unsigned i,
                                         const struct origin **ret_origin);
uint64_t states_cpu_contradictions(const struct states *states, unsigned i, unsigned cpu);
unsigned states_cpus(const struct states *states, unsigned i);
/* How many CPUs have had events. */
unsigned states_cpus_seen(const struct states *states, unsigned i);

/* At the end of the trace, before states_finish(): until when it is known what CPU of source number I did (T8 to T10), in ticks.
 * After that, its state is unknown, however much later the events of other sources are. TIME_UNKNOWN: it has no states. */
int64_t states_cpu_known_until(const struct states *states, unsigned i, unsigned cpu);

/* What scheduler events source number I has had, a bit for each. */
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
/* Whether ORIGIN had a switch; NULL: any source (T14). */
bool states_has_switches(const struct states *states, const struct origin *origin);
/* When the first event of source ORIGIN that shows a state was; TIME_UNKNOWN: there is none. */
int64_t states_begin(const struct states *states, const struct origin *origin);
/* Within the times of `select`: from the first event of source ORIGIN that shows a state to the last one, in ticks; 0: there is none. */
int64_t states_duration(const struct states *states, const struct origin *origin);
