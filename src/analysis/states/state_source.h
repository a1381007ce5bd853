/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the states engine (analysis/states/states.h) have in common. */

#include <string.h>

#include "analysis/states/states.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "event/value.h"

/* A field that is a number, at a place that does not change. */
struct quick_field {
    int field; /* -1: none */
    bool quick, is_signed;
    uint32_t offset, size;
};

enum plan_role {
    PLAN_NOTHING,
    PLAN_STAMP, /* shows what runs on its CPU */
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

/* What the events of a class are. */
struct class_plan {
    bool made;
    uint8_t role; /* enum plan_role */
    /* PLAN_RUNSTATE */
    uint8_t from, to; /* enum state */
    struct state_source *source;
    struct quick_field a, b, c; /* by role: numbers */
    /* Names of prev and next of PLAN_SWITCH, or of who is woken: offset and size, or size 0 and the number of a field with a
     * string or -1 */
    uint32_t a_name, b_name, room[2];
    int string[2];
};

/* When what runs was inside of a guest (T12). */
struct guest_time {
    int64_t inside;     /* of what is counted */
    int64_t since;      /* TIME_UNKNOWN: it is not inside */
    bool crossed;       /* there was an entry or an exit in this run */
    bool entered, left; /* there ever was one */
};

#define GUEST_TIME_NONE ((struct guest_time){.since = TIME_UNKNOWN})

struct state_cpu {
    bool seen, known;
    int64_t begin;  /* its first event */
    bool switched;  /* there was a switch */
    bool switching; /* what was switched to was not seen to run yet */
    bool since_seen;
    bool is_cut;           /* nothing of it follows */
    uint8_t state;         /* STATE_IDLE, RUNNING, INTERRUPT; while known */
    uint8_t base;          /* what an interrupt interrupts */
    unsigned interrupts;   /* nested */
    bool interrupts_known; /* none that began before is among them, unseen */
    int32_t runs, left;    /* threads; vCPUs */
    int32_t runs_id;       /* as in intervals */
    int64_t since;         /* it is in STATE, or not known */
    int64_t proof;         /* it was last seen to be */
    int64_t last;          /* its last event */
    int64_t lost_until;    /* the end of its last loss */
    bool in_loss; /* it has lost events since `loss_begun`, up to a time that is not reached yet */
    int64_t loss_begun;
    struct guest_time guest; /* of Xen, while it is not known what runs */
    uint64_t contradictions;
    bool
        can_contradict; /* there was a switch, and nothing since is counted that does not follow from it */
};

/* A thread of a kernel, or a vCPU of Xen. */
struct state_thread {
    /* What it is in, as it is handed over but for the end; `by` and `inside` are added then. */
    struct state_interval now;
    uint32_t next; /* in the bucket, or of the free ones */
    bool used;
    bool exiting;      /* a thread that has exited, or a vCPU whose domain is destroyed */
    bool recorded;     /* of a filtered source: its own events are in the trace (T6) */
    bool woken_early;  /* while it ran, or after it was preempted, maybe on its way to sleep */
    bool waker_unsure; /* T13 */
    int32_t waker;
    uint32_t loss; /* state_source.loss when it came into its state */
    /* How its domain counts it. */
    bool counted;
    uint8_t counted_as;
    struct guest_time guest;
    char raw_name[STATE_NAME_SIZE]; /* as the events have it */
};

/* Of a domain, a time in which none of its vCPUs changed: up to the next one. */
struct state_stretch {
    int64_t begin;
    uint32_t n_unknown; /* vCPUs of which nothing is known */
    uint8_t has;        /* what the others are in */
    bool is_lost;       /* whatever is found of its vCPUs */
    bool seen;          /* an event made it begin */
};

struct state_domain {
    int32_t id;
    uint32_t n[STATES]; /* of its vCPUs, now */
    struct state_stretch *stretches;
    uint32_t n_stretches, stretches_room;
    bool was_given; /* not all of them are kept */
    /* The interval that is to be given next, if there is one, from `since` on. */
    bool gave, begin_seen;
    uint8_t state;
    int64_t since;
};

struct state_source {
    struct states *states;
    const struct origin *origin;
    struct state_counts counts;
    unsigned events;
    bool stamped;      /* events tell what thread runs, by the number that switches have of it */
    bool has_waking;   /* sched_waking */
    bool lacks_waking; /* a thread that slept was woken without one (T13) */
    bool is_xen;
    bool incomplete; /* before origin->complete_from */
    bool is_cut;     /* of a CPU, nothing follows (T8) */
    int64_t first, last;
    struct state_cpu *cpus;
    unsigned n_cpus;
    uint16_t *seen_cpus; /* numbers of those with events, in order; room for `n_cpus` */
    unsigned n_seen;
    uint32_t loss;                /* losses so far */
    int64_t lost_until;           /* TIME_UNKNOWN: there was none */
    unsigned n_in_loss;           /* CPUs */
    uint32_t completed;           /* that of when all CPUs had begun; 0 */
    struct state_thread *threads; /* number 0 is none */
    uint32_t n_threads, threads_room, free, hand;
    uint32_t *buckets;
    uint32_t n_buckets; /* a power of two */
    struct map names;   /* all that threads had */
    unsigned n_names;
    struct arena arena; /* of names */
    struct state_domain *domains;
    unsigned n_domains;
    /* Intervals of threads that losses may still take: number N at N % HELD_ROOM. Several at a time are handed over,
     * as each concerns other memory, which the CPU loads for some at once. */
    struct state_interval *held;
    uint64_t held_begin, held_end;
    uint32_t held_place;           /* of number `held_end` */
    uint64_t lost_begin, lost_end; /* of these, taken already */
    /* Intervals of CPUs, until the first switch (T14). */
    struct state_interval *early;
    unsigned n_early;
};

#define STATE_CPUS_MAX 65536
#define HANDED_OVER 256 /* intervals at a time */
#define HELD_ROOM (STATES_HELD + HANDED_OVER)
#define STATE_DOMAINS_MAX 1024

/* Whether what began, or happened, at TIME is counted. */
static inline bool state_is_counted(const struct state_source *source, int64_t time)
{
    const struct selection *select = source->states->select;

    return likely(!select) || selection_has_time(select, time);
}

/* What is counted of the time from BEGIN to END, in ticks. */
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

/* A field that is a number. NAME: as the kernel calls it. */
struct quick_field state_number_field(const struct event_class *class, const char *name);
/* The slow half of state_cpu_get(). */
struct state_cpu *state_cpu_add(struct state_source *source, int32_t cpu);
/* NULL when memory is out; for CPUs that are not known, too. */
static inline struct state_cpu *state_cpu_get(struct state_source *source, int32_t cpu)
{
    return likely((uint32_t)cpu < source->n_cpus) ? &source->cpus[cpu] : state_cpu_add(source, cpu);
}
/* Hands over INTERVAL, of a CPU or a domain. */
void state_give(struct state_source *source, struct state_interval *interval);
/* The slow half of state_hold(): hands over the oldest. 0, -ENOMEM: the error is set. */
int state_make_room(struct state_source *source);
/* T15: SOURCE has its first wake-up of a thread that slept. */
void state_first_wake(struct state_source *source);
/* T13: SOURCE has events that it was not known to have, of STATE_EVENT_WAKE or STATE_EVENT_INTERRUPT. */
void state_learn_events(struct state_source *source, unsigned events);
/* Room for an interval of a thread or a vCPU, to be filled in. NULL: memory is out, and the error is set. */
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

/* T14: a kernel of which no switch was seen yet. */
static inline bool state_lacks_switches(const struct state_source *source)
{
    return !(source->events & STATE_EVENT_SWITCH) && !source->is_xen;
}
/* SOURCE has its first switch: gives what was kept for it. */
void state_first_switch(struct state_source *source);

/* T9: whether a time of which nothing is known is an interval. Without any switch it is of nothing but other events. */
static inline bool state_has_unknown(const struct state_source *source)
{
    return source->events & STATE_EVENT_SWITCH;
}

/* The CPU's state ends at END, with or without an event that ends it. */
void state_cpu_end(struct state_source *source, struct state_cpu *cpu, int64_t end, bool seen);
/* It is unknown from FROM to UNTIL. */
void state_cpu_unknown(struct state_source *source, const struct state_cpu *cpu, int64_t from,
                       int64_t until);
/* What it did is known again at TIME. */
void state_cpu_found(struct state_source *source, const struct state_cpu *cpu, int64_t time);

/* ---- state_threads.c ---- */

static inline uint32_t state_thread_bucket(const struct state_source *source, int32_t id)
{
    return (uint32_t)((uint32_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (source->n_buckets - 1);
}

/* NULL: it is not known. */
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

/* Most events of Xen: ITEM shows that its CPU is alive, and what runs there is known. */
static inline bool state_xen_passes(struct state_source *source, const struct class_plan *plan,
                                    const struct item *item)
{
    if (plan->role != PLAN_XEN_OTHER || (uint32_t)item->cpu >= source->n_cpus ||
        !source->cpus[item->cpu].known)
        return false;
    state_cpu_seen(source, &source->cpus[item->cpu], item->time);
    return true;
}

/* T6: whether the events of thread ID of a filtered source are in the trace. */
static inline bool state_is_recorded(const struct state_source *source, int32_t id)
{
    const struct state_thread *thread = state_thread_find(source, id);

    return thread && thread->recorded;
}

/* Adds one that is not known. NULL: memory is out, and the error is set. */
struct state_thread *state_thread_add(struct state_source *source, int32_t id, int64_t time);
/* Finds or adds it, in STATE_UNKNOWN. NULL: memory is out, and the error is set. */
static inline struct state_thread *state_thread_get(struct state_source *source, int32_t id,
                                                    int64_t time)
{
    struct state_thread *thread = state_thread_find(source, id);

    return likely(thread != NULL) ? thread : state_thread_add(source, id, time);
}

void state_thread_forget(struct state_source *source, struct state_thread *thread);
/* Its state ends at END, and STATE begins; counts a wait that is not complete by why. */
enum state_why { STATE_ENDS, STATE_IS_OPEN, STATE_IS_LOST, STATE_IS_CONTRADICTED, STATE_IS_GONE };
void state_thread_set(struct state_source *source, struct state_thread *thread, enum state state,
                      int64_t time, bool begin_seen, enum state_why why);
/* What runs enters a guest, or leaves it, at TIME. It runs since BEGIN, which an event shows or not. */
void state_guest_cross(const struct state_source *source, struct guest_time *guest, bool enters,
                       int64_t time, int64_t begin, bool begin_seen);
/* What it was in, and is in from now on, is lost: but for what runs. */
void state_thread_lost(struct state_source *source, struct state_thread *thread);
/* If something was lost since, and it does not run, its state is unknown. */
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
/* What CPU ran is known up to KNOWN_UNTIL, and not from then to TIME, by WHY. */
void state_cpu_forget(struct state_source *source, struct state_cpu *cpu, int64_t known_until,
                      int64_t time, enum state_why why);
/* It does not run what it was last known to run. */
void state_cpu_contradicted(struct state_source *source, struct state_cpu *cpu, int64_t time);
/* Counts that what is seen at TIME does not follow from its last switch, once until the next one. */
void state_cpu_count_contradicted(struct state_source *source, struct state_cpu *cpu, int64_t time);

void state_xen_plan(const struct event_class *class, struct class_plan *plan);
void state_xen_put(struct state_source *source, const struct class_plan *plan,
                   const struct item *item);
/* After a loss, or where not all CPUs had begun, up to TIME: what vCPUs did since SINCE that were not on a CPU is not known. */
void state_xen_lost(struct state_source *source, int64_t since, int64_t time);

/* ---- state_domain.c ---- */

/* From TIME on a vCPU is in STATE, as far as is known. Only what was unknown, or becomes so, has a TIME that is past. */
void state_domain_changed(struct state_source *source, struct state_thread *thread,
                          enum state state, int64_t time);
/* What domains, and the one of VCPU, were in that time is not known. */
void state_domain_lost(struct state_source *source, int32_t vcpu, int64_t since, int64_t until);
void state_domains_lost(struct state_source *source, int64_t since, int64_t until);
void state_domains_finish(struct state_source *source);
void state_domains_done(struct state_source *source);
