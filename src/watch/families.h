/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes families of metrics from the events of a running recording: exits by reason, the time of vCPUs, wake-ups, disk
 * requests, interrupts, and what is unknown because events were lost. docs/man/strata-metrics.7 describes them.
 *
 * The engines of analysis/ count, and keep open spans and states from one opening of the trace directory to the next
 * (live/persistent_items.h). So the numbers equal those of strata exits, sched, io and irq for the whole trace,
 * whatever the windows are. The whole time of an exit, a request, an interrupt or a state counts when it ends.
 *
 *     families_new()
 *     for each window: families_open(), the items into families_sink(), families_close(), then metrics_put_updates() of the set
 *     families_finish() after the recording; families_free()
 *
 * Not thread-safe. */

#include "event/sink.h"
#include "metrics/metrics.h"
#include "trace/trace.h"

/* Distinct exit reasons of a vCPU; further reasons count as "other". */
#define FAMILIES_REASONS_MAX 24u
/* vCPUs in all machines whose exits and time are counted. Events of further vCPUs are left out, and counted as over the
 * limit. */
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

/* Adds the families to METRICS, both in the process that counts and in the process that serves. RET has FAMILIES
 * entries. -ENOMEM, -EEXIST. */
int families_add(struct metrics *metrics, struct metric_family **ret);

struct families;

/* Counts in FAMILY, which families_add() made and which is borrowed. -ENOMEM. */
int families_new(struct metric_family *const *family, struct families **ret);
void families_free(struct families *families);

/* Begins a window in TRACE, which stays open until families_close(). Items up to the time FROM are left out; INT64_MIN:
 * none. -EINVAL with ERROR if the rate of its clock is unknown; -ENOMEM. */
int families_open(struct families *families, const struct trace *trace, int64_t from,
                  struct error *error);
/* The sink for the trace's items in the order of time. It has no begin() and finish(). put() returns -ENOMEM. */
struct sink *families_sink(struct families *families);
/* Ends the window. Then the metrics contain everything that is known so far. -ENOMEM. */
int families_close(struct families *families);
/* Ends the recording. Spans and states that are open count as far as they have lasted. -ENOMEM. */
int families_finish(struct families *families);
