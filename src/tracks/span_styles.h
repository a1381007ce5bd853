/* SPDX-License-Identifier: MIT */
#pragma once

/* Defines how spans are drawn: on which track and by which name. Rules define the spans (analysis/spans/span_rule.h):
 * those built into strata latency, and some for timelines only. */

#include "analysis/spans/span_rule.h"

/* Where a span is drawn. */
enum style_place {
    ON_THREAD, /* the event's thread */
    ON_CPU,    /* its CPU: what runs there */
    /* Interrupts of its CPU; these nest in each other, not in the interrupted thread. */
    ON_INTERRUPTS,
    ON_VCPU,
    /* Beside the event's thread, because system calls of the monitor end and begin within an exit. */
    ON_EXITS,
    ON_LANES, /* as many tracks as spans are open at once, because they end in any order */
};

#define STYLE_FLOW_FIELDS 2
#define STYLE_EXIT_REASON "exit reason"
#define STYLE_MARKER "marker"

/* In texts, '*' is replaced by what the rule's '*' matched. */
struct span_style {
    const char *builtin; /* beginning of the text of a rule in span_builtins */
    const char *rule;    /* a rule that is not built in, or NULL */
    const char *title;   /* name of the group of such spans */
    /* Name of a slice. {FIELD} is replaced by the begin's value of the field, STYLE_EXIT_REASON by the exit's reason,
     * STYLE_MARKER by the name in a line of trace_marker (event/marker.h). */
    const char *name;
    enum style_place place;
    /* Fields of the begin that are equal in another layer's span for the same request (analysis/requests/joins.h), or
     * NULL. */
    const char *flow[STYLE_FLOW_FIELDS];
    /* A field of the begin whose text has a W for a write and an R for a read. "*": the matched '*' is write or
     * read. */
    const char *flow_kind;
};

/* Styles of spans by names of events, "*" of "*_begin" (analysis/spans/span_names.h), and of spans with addresses. */
extern const struct span_style span_style_by_name, span_style_by_address;

/* Gets the rule of style NUMBER (from 0), with strings in ARENA. -ENOENT if there are no more; -ENOMEM. */
int span_style_rule(unsigned number, struct arena *arena, struct span_rule *ret_rule,
                    const struct span_style **ret_style);
