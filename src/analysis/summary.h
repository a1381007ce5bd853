/* SPDX-License-Identifier: MIT */
#pragma once

/* Runs all analyses of a trace in one pass; each makes the result that its verb prints. Also finds the trace's sources
 * with their events, losses and clock errors, and how often things occur over time. */

#include "analysis/exits.h"
#include "analysis/io.h"
#include "analysis/irq.h"
#include "analysis/latency.h"
#include "analysis/path/path.h"
#include "analysis/rates.h"
#include "analysis/sched.h"

enum summary_part {
    SUMMARY_CPUS, /* first, because the other three of sched share its states */
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
    uint32_t error_ns; /* largest error of a time */
    /* The error is unknown: causes and effects contradict it, or it is too large. */
    bool is_error_refuted;
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
    struct rates rates[SUMMARY_PARTS]; /* of exits, requests and interrupts, by their begins */
    struct arena arena;
    struct summary_source **sources; /* in the order of their first items */
    unsigned n_sources, sources_room;
    struct map by_origin;
    struct summary_source *recent;
    bool has_begun; /* the rates have a begin */
    struct result results[SUMMARY_PARTS];
    unsigned n_results;
};

/* RULES are the rules of latencies. RULES, CATALOGUE and the strings of SETTINGS outlive SUMMARY. 0, -ENOMEM. */
int summary_init(struct summary *summary, const struct analysis_settings *settings,
                 const struct span_rule *rules, unsigned n_rules,
                 const struct catalogue *catalogue);
void summary_done(struct summary *summary);

/* Call after sink_finish(): makes the results, each in the default order of its verb, and gives all rates equal
 * periods. 0, -ENOMEM. */
int summary_make_results(struct summary *summary);

/* True if the trace has events that PART is about. */
bool summary_has(const struct summary *summary, enum summary_part part);
/* The rates of PART, or NULL. */
const struct rates *summary_rates(const struct summary *summary, enum summary_part part);
