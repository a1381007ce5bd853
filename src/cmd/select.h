/* SPDX-License-Identifier: MIT */
#pragma once

/* Which items of a trace a verb is to show: -e, --from, --to, --cpu, --pid, --vcpu, --layer, --limit. */

#include "cmd/options.h"
#include "event/item.h"

/* A time as the user gave it: seconds of the trace's clock, as they are printed, or from the first
 * item on; ticks where the clock's rate is not known. */
struct time_limit {
    bool given;
    bool relative; /* "+…" */
    bool fraction; /* a decimal point was there: no ticks */
    int64_t whole;
    uint32_t ns;
};

/* Numbers and spans of them, "0,2-5". */
struct ranges {
    struct range {
        uint32_t low, high; /* both belong to it */
    } * items;              /* ascending, apart from each other */
    unsigned n;
};

struct select_options {
    struct strings events; /* patterns in order; the last that matches decides */
    struct time_limit from, to;
    struct ranges cpus, pids, vcpus;
    unsigned layers; /* a bit for each, 1 << enum layer; 0: all */
    uint64_t limit;
    bool limited;
};

/* As a group of options (cmd/options.h). */
extern const struct option select_option_table[];
/* The same with --until for --to, where that means something else. */
extern const struct option select_until_option_table[];
void select_options_done(struct select_options *options);

struct selection {
    const struct select_options *options;
    uint8_t *classes; /* by class->index: SELECT_… */
    unsigned n_classes;
    bool *matched; /* by pattern: a class matched it */
    uint64_t left; /* of the limit */
    bool started;  /* the first item was seen */
    int64_t first;
    uint64_t hz; /* of the clock that the limits are in */
    int64_t from, to;
    unsigned behind; /* items in a row that lie behind --to */
    bool all;        /* nothing is filtered */
};

int selection_init(struct selection *selection, const struct select_options *options);
void selection_done(struct selection *selection);

/* Finds the first run of items that are selected at or behind *START and below N, and puts its start
 * there. Returns its length, 0: there is none; -EINVAL with FAULT: a time limit has no meaning for
 * this trace's clock; -ENOMEM. Items of one trace, in order, each once. */
int selection_next_run(struct selection *selection, const struct item *items, unsigned n,
                       unsigned *start, struct fault *fault);

/* Whether nothing that comes can be selected any more. */
bool selection_is_over(const struct selection *selection);

/* Patterns that chose no class of CLASSES: calls PUT for each. */
void selection_unmatched(struct selection *selection, struct event_class *const *classes,
                         unsigned n, void (*put)(const char *pattern));

/* Whether CLASS is one that the patterns choose. -ENOMEM. */
int selection_has_class(struct selection *selection, const struct event_class *class);
