/* SPDX-License-Identifier: MIT */
#pragma once

/* When threads of a host were inside of a guest, from an entry to an exit of KVM, and why they left it. Bounded by its user, who drops
 * the oldest. Times are ticks of the trace's clock. Not thread-safe. */

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include "event/item.h"

/* Inside from BEGIN to END. */
struct guest_time {
    int64_t begin, end;
    const char *reason;    /* why it left; NULL: not known */
    bool begin_is_missing; /* it left the guest at `end`; its entry is not in the trace */
    bool end_is_missing;   /* it entered at `begin`; its exit is not in the trace up to `end` */
};

/* Of a thread; in the order of time. */
struct guest_log {
    struct guest_time *times;
    unsigned n, room;
    int64_t entered; /* it is inside since then; TIME_UNKNOWN: it is not */
    bool has_entered;
};

struct guest_class;

/* With `text` in memory, the rest zeroed: empty. */
struct guest_times {
    struct map logs;
    struct map reasons;
    struct arena arena;
    struct text text;
    struct guest_class *classes;
    unsigned n_classes;
    unsigned n; /* times of all logs */
};

/* Items in the order of time. 0, -ENOMEM. */
int guest_times_put(struct guest_times *times, const struct item *item);
/* Forgets what ended until TIME. */
void guest_times_drop(struct guest_times *times, int64_t until);
/* NULL: the thread has no entry and no exit. */
const struct guest_log *guest_times_find(const struct guest_times *times,
                                         const struct origin *origin, int32_t pid);
/* The first time of LOG that ends after TIME; log->n: none does. */
unsigned guest_log_first(const struct guest_log *log, int64_t time);
void guest_times_done(struct guest_times *times);
