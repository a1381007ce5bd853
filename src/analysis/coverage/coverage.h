/* SPDX-License-Identifier: MIT */
#pragma once

/* What a trace covers: how many events it has, from when to when, and how much of that time is unknown because events
 * were lost. Rates and shares divide by the covered time of a source: the time for which it was recorded, without its
 * losses. A source is recorded from its first event to its last event or loss. If more is known (origin->known_from,
 * known_until), it is recorded for all of the trace within these limits.
 *
 * A loss on one of N CPUs of a source takes 1/N of its duration from the source's covered time, because events of the
 * other CPUs are there. The N CPUs are the CPUs that the format states, otherwise the CPUs with an event or a loss. A
 * loss on an unknown CPU takes its time from all CPUs. What concerns one CPU is covered while that CPU is: losses on
 * other CPUs take nothing from it.
 *
 * A loss whose begin is unknown begins at the last item of its CPU. If its CPU is unknown, too, it begins at the
 * earliest of all CPUs' last items. A loss may be stated to begin earlier than it did: CTF counts lost events per
 * packet, which has events, too. So a loss takes no time before the last event of its CPU. If its CPU is unknown, as
 * for threads of a program, it takes no time before the earliest of all CPUs' last events, or the last event without a
 * CPU. These events count in rates, so their time must count as well. Otherwise rates have no limit, because all events
 * may be where no time is. If the loss was earlier in truth, the rate is the rate of the existing events, so it is too
 * small by the lost ones, and never too large.
 *
 * A loss without an end (item->is_open) lasts until the last event of the trace. In a source without CPUs, it begins at
 * the source's last event. The time of a loss after the last event of the trace does not count, because it is not in
 * the trace's duration. So 0 <= covered <= recorded <= duration. The trace and a source begin with their first event,
 * or a loss before it. The time before is not lost. If the CPUs of a source begin at different times
 * (origin->complete_from), the time of each CPU before its first event is lost. Unless the CPUs were recorded to the
 * end (origin_is_recorded_to_end()), the time of each CPU after its last event is lost.
 *
 * A source of selected threads (origin->threads_only) has lost all time, because other threads ran on its CPUs. If the
 * kernel chose the threads (origin->pid_filter), all spans of these threads are there, and all time is lost for other
 * spans.
 *
 * Not thread-safe. */

#include "analysis/coverage/losses.h"
#include "event/select.h"

struct source_coverage;

struct coverage {
    uint64_t n_events;
    /* Events out of order (timeline/late.h): earlier than a previous event on their CPU. */
    uint64_t n_late;
    /* Times of events, and of losses before the first event, in ticks of the trace's clock; TIME_UNKNOWN if there are
     * none. */
    int64_t first, last;
    int64_t from; /* earlier items do not count; INT64_MIN: all count */
    struct losses losses;
    struct layer_losses layers;
    struct source_coverage **sources;
    unsigned n_sources;
    const struct origin *recent_origin;
    struct source_coverage *recent;
    const struct ranges *cpus; /* only these CPUs are counted; NULL: all */
};

void coverage_init(struct coverage *coverage);
void coverage_done(struct coverage *coverage);
/* Adds items in the order of time. 0, -ENOMEM. */
int coverage_put(struct coverage *coverage, const struct item *items, unsigned n);

/* Adds items within the times of SELECT (NULL: all), and the parts of losses within them. If SELECT has CPUs, the
 * covered time is the mean of these CPUs. SELECT must live as long as COVERAGE. */
int coverage_put_selected(struct coverage *coverage, const struct selection *select,
                          const struct item *items, unsigned n);

/* The time from the first event, or a loss before it, to the last event, in ticks. */
int64_t coverage_duration(const struct coverage *coverage);
/* For the source ORIGIN, in ticks: the recorded time, the lost part of it, and the rest. 0 for a source without events.
 * With NULL, coverage_lost() is for the source that lost most, and coverage_covered() is the duration without that. */
int64_t coverage_recorded(const struct coverage *coverage, const struct origin *origin);
int64_t coverage_lost(const struct coverage *coverage, const struct origin *origin);
int64_t coverage_covered(const struct coverage *coverage, const struct origin *origin);
/* The sources in which spans begin and end. If they are two, both must be recorded. */
struct coverage_pair {
    const struct origin *begin, *end;
    int32_t cpu;     /* all spans begin on this CPU; CPU_UNKNOWN: on any */
    bool stays;      /* spans end on the CPU on which they begin */
    bool of_threads; /* each span is of one thread: all spans of a recorded thread are there */
    /* Without a CPU: spans of something that need not be on all CPUs alike, such as a thread. During a CPU's loss, all
     * of them may have been there, or none. So only a loss on all CPUs takes its time, and a rate over that time is a
     * lower bound. */
    bool moves;
};
static inline bool coverage_pair_is(const struct coverage_pair *a, const struct coverage_pair *b)
{
    return a->begin == b->begin && a->end == b->end && a->cpu == b->cpu && a->stays == b->stays &&
           a->of_threads == b->of_threads && a->moves == b->moves;
}
/* How long any of N pairs (at most COVERAGE_PAIRS_MAX) is covered, in ticks. If pairs are recorded at the same time,
 * the pair with the smallest loss counts. */
#define COVERAGE_PAIRS_MAX 8
int64_t coverage_covered_pairs(const struct coverage *coverage, const struct coverage_pair *pairs,
                               unsigned n);
/* What events of a source are counted: events of one CPU; of all CPUs alike, each of which counts for its share of the
 * time; or of something that need not be on all CPUs alike (struct coverage_pair). */
struct coverage_events {
    int32_t cpu; /* CPU_UNKNOWN: any */
    bool moves;  /* without a CPU: it need not be on all CPUs alike */
};
/* As coverage_covered_pairs(), for single events of any of N sources. The events of selected threads count as complete.
 * 0, -ENOMEM. */
int coverage_covered_events(const struct coverage *coverage, const struct origin *const *origins,
                            unsigned n, const struct coverage_events *events, int64_t *ret);
/* The lost share of ORIGIN's recorded time. NULL: the largest share of all sources. */
double coverage_lost_share(const struct coverage *coverage, const struct origin *origin);
/* The same for a pair: the share of the end that lost more. */
double coverage_lost_share_pair(const struct coverage *coverage, const struct coverage_pair *pair);
/* True if most of the time of a CPU of ORIGIN, or of all CPUs, is lost, or is within losses that contain other events.
 * Then it is unknown how often something occurs there, because other CPUs need not be like it. For a pair: if either
 * end lacks a CPU; for a pair with a CPU, only this CPU counts. */
bool coverage_lacks_cpu(const struct coverage *coverage, const struct origin *origin);
bool coverage_lacks_cpu_pair(const struct coverage *coverage, const struct coverage_pair *pair);
/* True if a source has only selected threads (origin->threads_only), and if the kernel chose them
 * (origin->pid_filter). */
struct coverage_threads {
    bool are_selected, are_filtered;
};
struct coverage_threads coverage_threads(const struct coverage *coverage);
/* True if a source may have lost events between FROM and UNTIL. */
bool coverage_has_loss(const struct coverage *coverage, int64_t from, int64_t until);
