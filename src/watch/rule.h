/* SPDX-License-Identifier: MIT */
#pragma once

/* How a condition of one kind is evaluated; for watch/evaluate.c and the files on_KIND.c. */

#include "base/text.h"
#include "watch/evaluate.h"

struct watch_rule;

/* What a condition matched in a window. */
struct watch_match {
    uint64_t n;       /* 0: nothing */
    int64_t ns;       /* the moment of the first */
    struct text text; /* what was seen */
};

struct watch_rule_ops {
    /* A window begins. 0, -ENOMEM. */
    int (*begin)(struct watch_rule *rule);
    /* Its items, and those before it. 0, -ENOMEM. */
    int (*put)(struct watch_rule *rule, const struct item *items, unsigned n);
    /* As sink_begin_loss(). NULL: it does not matter. */
    int (*begin_loss)(struct watch_rule *rule, const struct item *item);
    /* After the last one. Fills MATCH. 0, -ENOMEM. */
    int (*end)(struct watch_rule *rule, struct watch_match *match);
    /* Releases what begin() made; also where it, put() or end() failed. NULL: nothing. */
    void (*clear)(struct watch_rule *rule);
    /* A window without anything; NULL: it is as if it had not been. */
    void (*idle)(struct watch_rule *rule, int64_t from, int64_t to);
    void (*free)(struct watch_rule *rule);
};

/* The head of an implementation's structure, which sets `ops`, `condition` and `look_back`. */
struct watch_rule {
    const struct watch_rule_ops *ops;
    const struct watch_condition *condition;
    int64_t look_back; /* ns */
    int64_t
        look_back_after_late; /* the same, of a window of which no source is late; 0: as others */
    unsigned index;
    const struct live_window *window; /* while it is open */
    char problem[256];                /* to be reported once; "": none */
    bool is_problem_reported, is_known;
};

/* NULL: out of memory. */
struct watch_rule *watch_on_event(const struct watch_condition *condition);
struct watch_rule *watch_on_latency(const struct watch_condition *condition);
struct watch_rule *watch_on_exits(const struct watch_condition *condition);
struct watch_rule *watch_on_share(const struct watch_condition *condition);
struct watch_rule *watch_on_lost(const struct watch_condition *condition);

static inline bool watch_is_in_window(const struct watch_rule *rule, int64_t time)
{
    return time > rule->window->from && time <= rule->window->to;
}

/* "at 50849.342123 +-62us". */
void watch_put_time(struct text *text, int64_t ns, uint32_t error_ns);
/* " by dd (4711) [guest]": the thread, where it is known, and the source. */
void watch_put_where(struct text *text, const struct live_window *window,
                     const struct origin *origin, const char *task, int32_t pid);

/* Whether the event lists of the window have what RULE is about. 1; 0: they have not, and its problem says so; -EAGAIN: it cannot be
 * said yet; -ENOMEM. */
int watch_rule_check_names(struct watch_rule *rule);
