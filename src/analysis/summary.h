/* SPDX-License-Identifier: MIT */
#pragma once

/* All analyses of a trace in one pass: each makes the result that its verb prints. Besides them, what the trace is: its
 * sources with their events, losses and clock errors, and how often things occur over time. */

#include "analysis/exits.h"
#include "analysis/io.h"
#include "analysis/irq.h"
#include "analysis/latency.h"
#include "analysis/path/path.h"
#include "analysis/rates.h"
#include "analysis/sched.h"

enum summary_part {
    SUMMARY_CPUS, /* first: the other three of sched share its states */
    SUMMARY_VCPUS,
    SUMMARY_DOMAINS,
    SUMMARY_TASKS,
    SUMMARY_EXITS,
    SUMMARY_PATH,
    SUMMARY_IO,
    SUMMARY_IRQ,
    SUMMARY_LATENCY,
};
#define SUMMARY_PARTS (SUMMARY_LATENCY + 1)

struct summary_source {
    const struct origin *origin;
    uint64_t n_events;
    uint32_t error_ns; /* the largest of a time */
    bool
        is_error_refuted; /* it is not known: causes and effects contradict it, or it is too large */
    struct losses losses; /* of this source */
    struct rates rates;   /* of events */
};

struct summary {
    struct sink sink;
    const struct selection *select; /* of rows; NULL: all */
    struct coverage coverage;
    struct sched sched[SUMMARY_TASKS + 1];
    struct exits exits;
    struct path path; /* of requests */
    struct io io;
    struct irq irq;
    struct latency latency;
    struct analysis *parts[SUMMARY_PARTS];
    struct rates rates[SUMMARY_PARTS]; /* of exits, requests and interrupts, by their begin */
    struct arena arena;
    struct summary_source **sources; /* in the order of their first items */
    unsigned n_sources, sources_room;
    struct map by_origin;
    struct summary_source *recent;
    bool has_begun; /* the rates have a begin */
    struct result results[SUMMARY_PARTS];
    unsigned n_results;
};

/* RULES: of the latencies. They, CATALOGUE and the strings of SETTINGS outlive SUMMARY. 0, -ENOMEM. */
int summary_init(struct summary *summary, const struct analysis_settings *settings,
                 const struct span_rule *rules, unsigned n_rules,
                 const struct catalogue *catalogue);
void summary_done(struct summary *summary);

/* After sink_finish(): makes the results, each in the order of its verb, and brings all rates to periods of the same
 * length. 0, -ENOMEM. */
int summary_make_results(struct summary *summary);

/* Whether the trace has events that PART is about. */
bool summary_has(const struct summary *summary, enum summary_part part);
/* The rates of PART; NULL: it has none. */
const struct rates *summary_rates(const struct summary *summary, enum summary_part part);
