/* SPDX-License-Identifier: MIT */
#pragma once

/* Families of metrics that analyses make of a recording under way: exits by reason, the time of vCPUs, wake-ups, requests
 * to disks, interrupts, and what is not known because events were lost. docs/man/strata-metrics.7 describes them.
 *
 * The engines of analysis/ count, and keep what is open from one opening of the trace directory to the next one
 * (live/persistent_items.h). So the numbers are those that strata exits, sched, io and irq print for the whole trace, whatever the
 * windows are. Of an exit, a request, an interrupt or a state all time counts when it ends.
 *
 *     families_new
 *     for each window: families_open, the items into families_sink, families_close, then metrics_put_updates() of the set
 *     families_finish, when the recording is over; families_free
 *
 * Not thread-safe. */

#include "event/sink.h"
#include "metrics/metrics.h"
#include "trace/trace.h"

/* Distinct reasons of exits that a vCPU has; what comes beyond is "other". */
#define FAMILIES_REASONS_MAX 24u
/* vCPUs whose exits and time are counted, in all machines; beyond, events are left out and counted as over the limit. */
#define FAMILIES_VCPUS_MAX 1024u

enum family {
    FAMILY_EXITS,
    FAMILY_EXIT_SECONDS,
    FAMILY_VCPU_SECONDS,
    FAMILY_WAKEUPS,
    FAMILY_REQUESTS,
    FAMILY_REQUEST_BYTES,
    FAMILY_INTERRUPTS,
    FAMILY_INTERRUPT_SECONDS,
    FAMILY_UNPAIRED,
    FAMILY_UNKNOWN_SECONDS,
    FAMILY_ANALYZED_EVENTS,
    FAMILIES,
};

/* Adds the families to METRICS, in the process that counts and in the one that serves. RET: FAMILIES of them. -ENOMEM,
 * -EEXIST. */
int families_add(struct metrics *metrics, struct metric_family **ret);

struct families;

/* Counts in FAMILY, which families_add() made; borrowed. -ENOMEM. */
int families_new(struct metric_family *const *family, struct families **ret);
void families_free(struct families *families);

/* A window begins in TRACE, which is open until families_close(). Items up to the time FROM are left out; INT64_MIN: none
 * is. -EINVAL with ERROR: the rate of its clock is not known;
 * -ENOMEM. */
int families_open(struct families *families, const struct trace *trace, int64_t from,
                  struct error *error);
/* The sink for the items of the trace: in the order of time. It has no begin() and no
 * finish(); put(): -ENOMEM. */
struct sink *families_sink(struct families *families);
/* The window ends: all that is known by now is in the metrics. -ENOMEM. */
int families_close(struct families *families);
/* Nothing more will come: what is open counts as far as it has come. -ENOMEM. */
int families_finish(struct families *families);
