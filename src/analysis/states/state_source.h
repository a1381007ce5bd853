/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the states engine (analysis/states/states.h) share. */

#include <string.h>

#include "analysis/states/states.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "event/value.h"

/* A numeric field, possibly at a fixed place. */
struct quick_field {
    int field; /* -1: none */
    bool quick, is_signed;
    uint32_t offset, size;
};

enum plan_role {
    PLAN_NOTHING,
    PLAN_STAMP, /* shows what its CPU runs */
    PLAN_SWITCH,
    PLAN_WAKING,
    PLAN_WAKEUP,
    PLAN_WAKEUP_NEW,
    PLAN_MIGRATE,
    PLAN_EXIT,
    PLAN_EXEC,
    PLAN_INTERRUPT_BEGINS,
    PLAN_INTERRUPT_ENDS,
    PLAN_GUEST_BEGINS,
    PLAN_GUEST_ENDS,
    PLAN_RUNSTATE, /* Xen's */
    PLAN_XEN_GUEST_BEGINS,
    PLAN_XEN_GUEST_ENDS,
    PLAN_XEN_DESTROY, /* of a domain */
    PLAN_XEN_OTHER,
};

/* The meaning of a class's events. */
struct class_plan {
    bool made;
    uint8_t role; /* enum plan_role */
    /* PLAN_RUNSTATE */
    uint8_t from, to; /* enum state */
    struct state_source *source;
    struct quick_field a, b, c; /* numbers, by role */
    /* Names of prev and next of PLAN_SWITCH, or of the thread that is woken: offset and size; with size 0, the number
     * of a string field, or -1. */
    uint32_t a_name, b_name, room[2];
    int string[2];
};

/* The time that a running thread or vCPU is inside of a guest (T12). */
struct guest_time {
    int64_t inside;     /* counted time */
    int64_t since;      /* TIME_UNKNOWN: it is not inside */
    bool crossed;       /* this run had an entry or an exit */
    bool entered, left; /* there ever was one */
};

#define GUEST_TIME_NONE ((struct guest_time){.since = TIME_UNKNOWN})

struct state_cpu {
    bool seen, known;
    int64_t begin;  /* its first event */
    bool switched;  /* there was a switch */
    bool switching; /* the thread that it switched to was not seen to run yet */
    bool since_seen;
    bool is_cut;           /* it has no more data */
    uint8_t state;         /* while known: STATE_IDLE, STATE_RUNNING or STATE_INTERRUPT */
    uint8_t base;          /* state that the interrupts interrupt */
    unsigned interrupts;   /* nested */
    bool interrupts_known; /* no interrupt that began before can be among them unseen */
    int32_t runs, left;    /* threads or vCPUs */
    int32_t runs_id;       /* as in intervals */
    int64_t since;         /* begin of `state`, or of the unknown time */
    int64_t proof;         /* when it was last seen to be in it */
    int64_t last;          /* time of its last event */
    int64_t lost_until;    /* end of its last loss */
    bool in_loss; /* it has lost events since `loss_begun`, until a time that is not reached yet */
    int64_t loss_begun;
    struct guest_time guest; /* for Xen, while it is unknown what runs */
    uint64_t contradictions;
    bool can_contradict; /* there was a switch, and no contradiction was counted since */
};

/* A thread of a kernel, or a vCPU of Xen. */
struct state_thread {
    /* Its present interval without the end; `by` and `inside` are added when it is handed over. */
    struct state_interval now;
    uint32_t next; /* in the bucket, or in the free list */
    bool used;
    bool exiting;     /* a thread that has exited, or a vCPU whose domain is destroyed */
    bool recorded;    /* in a filtered source: its own events are in the trace (T6) */
    bool woken_early; /* woken while it ran, or after it was preempted, maybe on its way to sleep */
    bool waker_unsure; /* T13 */
    int32_t waker;
    uint32_t loss; /* state_source.loss at the begin of its state */
    /* How its domain counts it. */
    bool counted;
    uint8_t counted_as;
    struct guest_time guest;
    char raw_name[STATE_NAME_SIZE]; /* as in the events */
};

/* A time in which no vCPU of a domain changed, up to the next stretch. */
struct state_stretch {
    int64_t begin;
    uint32_t n_unknown; /* vCPUs in unknown states */
    uint8_t has;        /* states of the others */
    bool is_lost;       /* it stays unknown, whatever is found about its vCPUs */
    bool seen;          /* it began with an event */
};

struct state_domain {
    int32_t id;
    uint32_t n[STATES]; /* number of its vCPUs now, by state */
    struct state_stretch *stretches;
    uint32_t n_stretches, stretches_room;
    bool was_given; /* some stretches were already given */
    /* The next interval to be given, if there is one, from `since` on. */
    bool gave, begin_seen;
    uint8_t state;
    int64_t since;
};

struct state_source {
    struct states *states;
    const struct origin *origin;
    struct state_counts counts;
    unsigned events;
    bool stamped;      /* events tell which thread runs, by the same numbers as switches */
    bool has_waking;   /* sched_waking */
    bool lacks_waking; /* a sleeping thread was woken without sched_waking (T13) */
    bool is_xen;
    bool incomplete; /* before origin->complete_from */
    bool is_cut;     /* a CPU has no more data (T8) */
    int64_t first, last;
    struct state_cpu *cpus;
    unsigned n_cpus;
    uint16_t *seen_cpus; /* numbers of CPUs with events, in order; room for `n_cpus` */
    unsigned n_seen;
    uint32_t loss;                /* number of losses so far */
    int64_t lost_until;           /* TIME_UNKNOWN before the first loss */
    unsigned n_in_loss;           /* number of CPUs */
    uint32_t completed;           /* `loss` when all CPUs had begun, or 0 */
    struct state_thread *threads; /* number 0 is not used */
    uint32_t n_threads, threads_room, free, hand;
    uint32_t *buckets;
    uint32_t n_buckets; /* a power of two */
    struct map names;   /* all names that threads had */
    unsigned n_names;
    struct arena arena; /* owns the names */
    struct state_domain *domains;
    unsigned n_domains;
    /* Intervals of threads that losses may still change: number N is at N % HELD_ROOM. Several are handed over at a
     * time, because each needs other memory, and the CPU loads several pieces at once. */
    struct state_interval *held;
    uint64_t held_begin, held_end;
    uint32_t held_place;           /* place of number `held_end` */
    uint64_t lost_begin, lost_end; /* intervals that were already changed by a loss */
    /* Intervals of CPUs before the first switch (T14). */
    struct state_interval *early;
    unsigned n_early;
};

#define STATE_CPUS_MAX 65536
#define HANDED_OVER 256 /* intervals at a time */
#define HELD_ROOM (STATES_HELD + HANDED_OVER)
#define STATE_DOMAINS_MAX 1024

/* True if what began or happened at TIME is counted. */
static inline bool state_is_counted(const struct state_source *source, int64_t time)
{
    const struct selection *select = source->states->select;

    return likely(!select) || selection_has_time(select, time);
}

/* The counted part of the time from BEGIN to END, in ticks. */
static inline int64_t state_time_within(const struct state_source *source, int64_t begin,
                                        int64_t end)
{
    const struct selection *select = source->states->select;

    return likely(!select) ? ticks_between(begin, end) : selection_time_within(select, begin, end);
}

static inline int64_t quick_read(const struct quick_field *field, const struct item *item)
{
    if (likely(field->quick && item->size >= field->offset + field->size)) {
        const uint8_t *p = item->payload + field->offset;

        if (likely(field->size == 4)) {
            uint32_t v;

            memcpy(&v, p, sizeof v);
            return field->is_signed ? (int64_t)(int32_t)v : (int64_t)v;
        } else if (field->size == 2) {
            uint16_t v;

            memcpy(&v, p, sizeof v);
            return field->is_signed ? (int64_t)(int16_t)v : (int64_t)v;
        } else {
            int64_t v;

            memcpy(&v, p, sizeof v);
            return v;
        }
    }
    return field->field < 0 ? -1 : item_value(item, (unsigned)field->field).i;
}

/* ---- states.c ---- */

/* Finds a numeric field. NAME is the kernel's name for it. */
struct quick_field state_number_field(const struct event_class *class, const char *name);
/* The slow half of state_cpu_get(). */
struct state_cpu *state_cpu_add(struct state_source *source, int32_t cpu);
/* NULL if out of memory. Also for CPUs that are not known yet. */
static inline struct state_cpu *state_cpu_get(struct state_source *source, int32_t cpu)
{
    return likely((uint32_t)cpu < source->n_cpus) ? &source->cpus[cpu] : state_cpu_add(source, cpu);
}
/* Hands over INTERVAL, of a CPU or a domain. */
void state_give(struct state_source *source, struct state_interval *interval);
/* The slow half of state_hold(): hands over the oldest intervals. 0, or -ENOMEM with the error set. */
int state_make_room(struct state_source *source);
/* T15: SOURCE has its first wake-up of a thread that slept. */
void state_first_wake(struct state_source *source);
/* T13: SOURCE has events of STATE_EVENT_WAKE or STATE_EVENT_INTERRUPT for the first time. */
void state_learn_events(struct state_source *source, unsigned events);
/* Returns room for an interval of a thread or vCPU. NULL with the error set if out of memory. */
static inline struct state_interval *state_hold(struct state_source *source)
{
    uint32_t place = source->held_place;

    if (unlikely(!source->held || source->held_end - source->held_begin == HELD_ROOM) &&
        state_make_room(source) < 0)
        return NULL;
    source->held_place = place + 1 < HELD_ROOM ? place + 1 : 0;
    source->held_end++;
    return &source->held[place];
}
static inline bool state_is_wanted(const struct state_source *source, enum state_subject of)
{
    return source->states->wanted & STATE_SUBJECTS(of);
}
/* The slow half of state_cpu_seen(). */
void state_cpu_first_seen(struct state_source *source, struct state_cpu *cpu, int64_t time);
/* CPU has an event at TIME. */
static inline void state_cpu_seen(struct state_source *source, struct state_cpu *cpu, int64_t time)
{
    if (unlikely(!cpu->seen))
        state_cpu_first_seen(source, cpu, time);
    cpu->last = time;
}

/* T14: no switch of a kernel was seen yet. */
static inline bool state_lacks_switches(const struct state_source *source)
{
    return !(source->events & STATE_EVENT_SWITCH) && !source->is_xen;
}
/* SOURCE has its first switch: gives the intervals that were kept. */
void state_first_switch(struct state_source *source);

/* T9: true if unknown time is an interval. Without any switch, only other events have intervals. */
static inline bool state_has_unknown(const struct state_source *source)
{
    return source->events & STATE_EVENT_SWITCH;
}

/* Ends the CPU's state at END. SEEN: an event ends it. */
void state_cpu_end(struct state_source *source, struct state_cpu *cpu, int64_t end, bool seen);
/* The CPU's state is unknown from FROM to UNTIL. */
void state_cpu_unknown(struct state_source *source, const struct state_cpu *cpu, int64_t from,
                       int64_t until);
/* The CPU's state is known again from TIME on. */
void state_cpu_found(struct state_source *source, const struct state_cpu *cpu, int64_t time);

/* ---- state_threads.c ---- */

static inline uint32_t state_thread_bucket(const struct state_source *source, int32_t id)
{
    return (uint32_t)((uint32_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (source->n_buckets - 1);
}

/* NULL if it is not known. */
static inline struct state_thread *state_thread_find(const struct state_source *source, int32_t id)
{
    if (unlikely(source->n_buckets == 0))
        return NULL;
    for (uint32_t i = source->buckets[state_thread_bucket(source, id)]; i > 0;
         i = source->threads[i].next)
        if (likely(source->threads[i].now.id == id))
            return &source->threads[i];
    return NULL;
}

/* Handles most events of Xen: ITEM shows that its CPU is alive, and it is known what runs there. */
static inline bool state_xen_passes(struct state_source *source, const struct class_plan *plan,
                                    const struct item *item)
{
    if (plan->role != PLAN_XEN_OTHER || (uint32_t)item->cpu >= source->n_cpus ||
        !source->cpus[item->cpu].known)
        return false;
    state_cpu_seen(source, &source->cpus[item->cpu], item->time);
    return true;
}

/* T6: true if the events of thread ID of a filtered source are in the trace. */
static inline bool state_is_recorded(const struct state_source *source, int32_t id)
{
    const struct state_thread *thread = state_thread_find(source, id);

    return thread && thread->recorded;
}

/* Adds an unknown thread. NULL with the error set if out of memory. */
struct state_thread *state_thread_add(struct state_source *source, int32_t id, int64_t time);
/* Finds the thread, or adds it in STATE_UNKNOWN. NULL with the error set if out of memory. */
static inline struct state_thread *state_thread_get(struct state_source *source, int32_t id,
                                                    int64_t time)
{
    struct state_thread *thread = state_thread_find(source, id);

    return likely(thread != NULL) ? thread : state_thread_add(source, id, time);
}

void state_thread_forget(struct state_source *source, struct state_thread *thread);
/* Ends its state at TIME and begins STATE. Counts an incomplete wait by WHY. */
enum state_why { STATE_ENDS, STATE_IS_OPEN, STATE_IS_LOST, STATE_IS_CONTRADICTED, STATE_IS_GONE };
void state_thread_set(struct state_source *source, struct state_thread *thread, enum state state,
                      int64_t time, bool begin_seen, enum state_why why);
/* The running thread or vCPU enters a guest, or leaves it, at TIME. It has run since BEGIN; BEGIN_SEEN: an event shows
 * the begin. */
void state_guest_cross(const struct state_source *source, struct guest_time *guest, bool enters,
                       int64_t time, int64_t begin, bool begin_seen);
/* Its state, and its present state unless it runs, are lost. */
void state_thread_lost(struct state_source *source, struct state_thread *thread);
/* If something was lost since its state began, and it does not run, makes its state unknown. */
static inline void state_thread_check(struct state_source *source, struct state_thread *thread,
                                      int64_t time)
{
    if (likely(thread->loss == source->loss) || thread->now.state == STATE_RUNNING)
        return;
    state_thread_set(source, thread, STATE_UNKNOWN, time, false, STATE_IS_LOST);
    thread->loss = source->loss;
}

/* ---- state_kernel.c, state_xen.c ---- */

void state_kernel_put(struct state_source *source, const struct class_plan *plan,
                      const struct item *item);
/* It is known what CPU ran up to KNOWN_UNTIL, but not from then to TIME, by WHY. */
void state_cpu_forget(struct state_source *source, struct state_cpu *cpu, int64_t known_until,
                      int64_t time, enum state_why why);
/* CPU does not run what it was last known to run. */
void state_cpu_contradicted(struct state_source *source, struct state_cpu *cpu, int64_t time);
/* Counts a contradiction at TIME to its last switch, once until the next switch. */
void state_cpu_count_contradicted(struct state_source *source, struct state_cpu *cpu, int64_t time);

void state_xen_plan(const struct event_class *class, struct class_plan *plan);
void state_xen_put(struct state_source *source, const struct class_plan *plan,
                   const struct item *item);
/* After a loss, or before all CPUs had begun, up to TIME: the states of vCPUs that were not on a CPU are unknown since
 * SINCE. */
void state_xen_lost(struct state_source *source, int64_t since, int64_t time);

/* ---- state_domain.c ---- */

/* From TIME on, a vCPU is in STATE, as far as is known. TIME is in the past only if the state was or becomes
 * unknown. */
void state_domain_changed(struct state_source *source, struct state_thread *thread,
                          enum state state, int64_t time);
/* In this time the states of all domains, or of VCPU's domain, are unknown. */
void state_domain_lost(struct state_source *source, int32_t vcpu, int64_t since, int64_t until);
void state_domains_lost(struct state_source *source, int64_t since, int64_t until);
void state_domains_finish(struct state_source *source);
void state_domains_done(struct state_source *source);
