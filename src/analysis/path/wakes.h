/* SPDX-License-Identifier: MIT */
#pragma once

/* Which threads of a kernel were woken in an interrupt, and in which one: what a path (walk.h) follows when no thread woke another. And
 * in which system call they were then, or for which lock they waited (calls.h).
 *
 * Memory grows with the wake-ups that are kept; the user drops the oldest. Times are ticks of the trace's clock. Not thread-safe. */

#include "analysis/path/calls.h"
#include "base/arena.h"
#include "base/map.h"
#include "event/item.h"

#define WAKES_NESTED 4 /* interrupts in interrupts of a CPU */

enum wake_interrupt {
    INTERRUPT_UNKNOWN, /* an interrupt without an event of its own */
    INTERRUPT_TIMER,
    INTERRUPT_HANDLER, /* has a name */
};

/* An interrupt that a CPU handles, and what it has done so far. */
struct wake_cause {
    int64_t
        completed_at;  /* when a request to a disk last completed in it; TIME_UNKNOWN: none did */
    const char *name;  /* NULL: it has none */
    uint8_t interrupt; /* enum wake_interrupt */
};

/* A thread was woken in an interrupt, or in a call that is known. */
struct wake {
    int64_t time;
    const struct origin *origin;
    struct wake_cause cause;      /* if it is in_interrupt */
    const struct call_name *call; /* calls_find() */
    int32_t pid;
    bool in_interrupt;
};

struct wake_cpu;
struct wake_class;

/* Zeroed: empty. */
struct wakes {
    struct calls calls;
    struct arena arena; /* names */
    struct map names;   /* of interrupts, by source and number */
    struct map cpus;    /* struct wake_cpu */
    struct wake_class *classes;
    unsigned n_classes;
    struct wake *wakes; /* in the order of time */
    unsigned n, room;
};

/* Items in the order of time. 0, -ENOMEM. */
int wakes_put(struct wakes *wakes, const struct item *item);
/* Forgets wake-ups until TIME. */
void wakes_drop(struct wakes *wakes, int64_t until);
void wakes_done(struct wakes *wakes);

/* How thread PID of ORIGIN was woken at TIME; NULL: not in an interrupt that was seen, and in no call that is known. */
const struct wake *wakes_find(const struct wakes *wakes, const struct origin *origin, int32_t pid,
                              int64_t time);
/* After wakes_put(ITEM): the interrupt that its CPU handles, or that ITEM ends; false: it is not known to handle one. */
bool wakes_find_interrupt(const struct wakes *wakes, const struct item *item,
                          struct wake_cause *ret_cause);
/* Whether events of ORIGIN say whether they happened in an interrupt. */
bool wakes_tell_interrupts(const struct wakes *wakes, const struct origin *origin);
