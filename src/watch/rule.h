/* SPDX-License-Identifier: MIT */
#pragma once

/* The evaluation of one kind of condition, for watch/evaluate.c and the files on_KIND.c. */

#include "base/text.h"
#include "watch/evaluate.h"

struct watch_rule;

/* The matches of a condition in a window. */
struct watch_match {
    uint64_t n;       /* 0: none */
    int64_t ns;       /* time of the first match */
    struct text text; /* what matched */
};

struct watch_rule_ops {
    /* Begins a window. 0, -ENOMEM. */
    int (*begin)(struct watch_rule *rule);
    /* Gets its items, and items before it. 0, -ENOMEM. */
    int (*put)(struct watch_rule *rule, const struct item *items, unsigned n);
    /* As sink_begin_loss(). May be NULL. */
    int (*begin_loss)(struct watch_rule *rule, const struct item *item);
    /* Ends the window and fills MATCH. 0, -ENOMEM. */
    int (*end)(struct watch_rule *rule, struct watch_match *match);
    /* Frees what begin() made, also after begin(), put() or end() failed. May be NULL. */
    void (*clear)(struct watch_rule *rule);
    /* Passes a window without items. NULL: the window is ignored. */
    void (*idle)(struct watch_rule *rule, int64_t from, int64_t to);
    void (*free)(struct watch_rule *rule);
};

/* The head of an implementation's structure. The implementation sets `ops`, `condition` and `look_back`. */
struct watch_rule {
    const struct watch_rule_ops *ops;
    const struct watch_condition *condition;
    int64_t look_back;            /* ns */
    int64_t look_back_after_late; /* the same for a window without late sources; 0: `look_back` */
    unsigned index;
    const struct live_window *window; /* while it is open */
    char problem[256];                /* to be reported once; may be "" */
    bool is_problem_reported, is_known;
};

/* Each returns NULL if out of memory. */
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

/* Checks that the event lists of the window have the events that RULE is about. Returns 1 if so; 0 if not, and its
 * problem says so; -EAGAIN if it is not known yet; -ENOMEM. */
int watch_rule_check_names(struct watch_rule *rule);
