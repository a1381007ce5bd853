/* SPDX-License-Identifier: MIT */
#pragma once

/* How spans are drawn: on which track, and by which name. What they are is said by rules (analysis/spans/span_rule.h), those
 * that strata latency has built in, and some that timelines alone have. */

#include "analysis/spans/span_rule.h"

/* Where a span is drawn. */
enum style_place {
    ON_THREAD, /* the event's thread */
    ON_CPU,    /* its CPU: what runs there */
    ON_INTERRUPTS, /* the interrupts of its CPU: they nest in each other, not in the thread that they interrupt */
    ON_VCPU,
    ON_EXITS, /* beside the event's thread: system calls of the monitor end and begin in an exit */
    ON_LANES, /* as many tracks as spans are open at a time, because they end in any order */
};

#define STYLE_FLOW_FIELDS 2
#define STYLE_EXIT_REASON "exit reason"
#define STYLE_MARKER "marker"

/* In texts, '*' is replaced by what the '*' of the rule matched. */
struct span_style {
    const char *builtin; /* of span_builtins: what its text begins with */
    const char *rule;    /* one that is not built in; NULL: it is */
    const char *title;   /* the name of the group of such spans */
    /* Of a slice; {FIELD} is replaced by the value of that field of the begin, STYLE_EXIT_REASON by why it left its guest,
     * STYLE_MARKER by the name that a line of trace_marker has (event/marker.h). */
    const char *name;
    enum style_place place;
    /* Fields of the begin that are the same of what another layer does for it (analysis/requests/joins.h); NULL: none. */
    const char *flow[STYLE_FLOW_FIELDS];
    /* A field of the begin whose text has a W for a write and an R for a read; "*": its '*' is write or read. */
    const char *flow_kind;
};

/* Of spans by names of events, "*" of "*_begin" (analysis/spans/span_names.h), and of those with addresses. */
extern const struct span_style span_style_by_name, span_style_by_address;

/* The rule of style NUMBER, from 0: 0, with strings in ARENA; -ENOENT: there are no more; -ENOMEM. */
int span_style_rule(unsigned number, struct arena *arena, struct span_rule *ret_rule,
                    const struct span_style **ret_style);
