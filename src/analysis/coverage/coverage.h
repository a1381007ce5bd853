/* SPDX-License-Identifier: MIT */
#pragma once

/* What a trace covers: how many events it has, from when to when, and how much of that time is unknown because events
 * were lost. The covered time of a source is the denominator of rates and shares of what it has: the time that it was
 * recorded, without its losses. It is recorded from its first event to its last event or loss, as if it were alone in the trace; where
 * more is known (origin->known_from, known_until), for all of the trace that lies within that.
 *
 * A loss on one CPU of a source with N CPUs takes 1/N of its time from the source's covered time: events of the other
 * CPUs are there. The N CPUs are those of the source's format, or else those that have an event or a loss. A loss whose CPU is
 * unknown takes its time of all CPUs. What is of one CPU alone is covered while that CPU is: another CPU's loss takes nothing from it.
 * A loss whose start is unknown starts at the last item of its CPU; if the CPU is unknown, too, at the earliest of all CPUs' last
 * items. A loss may be stated from earlier on than it was: CTF counts what was lost in a packet,
 * together with the packet's events. So it takes no time before the last event of its CPU; if that is unknown, as of the threads of a
 * program, before the earliest of all CPUs' last events, or the last event without a CPU. These events count in rates, and
 * their time does as well. Otherwise rates have no limit, as all events may be where no time is. Where the loss was earlier, in
 * truth, the rate is that of the events that are there, which is too small by the lost ones, and not too large.
 * A loss without an end (item->is_open) goes on to the last event of the trace; of a source without CPUs, from its last event on.
 * What a loss takes after the last event of the trace does not count: that time is not in the trace's duration. So 0 <= covered <=
 * recorded <= duration. The trace, and a source, begin with their first event, or with a loss that is before it. The time before that is
 * not lost. Where its CPUs begin at different times
 * (origin->complete_from), the time of each before its own first event is; and where nothing says that they were recorded to the end
 * (origin_is_recorded_to_end()), the time of each after its own last event.
 * Of a source of certain threads alone (origin->threads_only) all time is lost: other threads ran on its CPUs. Where the kernel chose
 * the threads (origin->pid_filter), the spans of these threads are all there, and all time is lost for other spans.
 * Not thread-safe. */

#include "analysis/coverage/losses.h"
#include "event/select.h"

struct source_coverage;

struct coverage {
    uint64_t n_events;
    /* Events that are out of order (timeline/late.h): earlier than one before them on their CPU. */
    uint64_t n_late;
    /* Of events, and of losses before the first of them, in ticks of the trace's clock; TIME_UNKNOWN: there were none. */
    int64_t first, last;
    int64_t from; /* what is before it does not count; INT64_MIN: all counts */
    struct losses losses;
    struct layer_losses layers;
    struct source_coverage **sources;
    unsigned n_sources;
    const struct origin *recent_origin;
    struct source_coverage *recent;
    const struct ranges *cpus; /* what is counted is of these alone; NULL: of all */
};

void coverage_init(struct coverage *coverage);
void coverage_done(struct coverage *coverage);
/* Items in the order of time. 0, -ENOMEM. */
int coverage_put(struct coverage *coverage, const struct item *items, unsigned n);

/* The same of those that are within the times of SELECT; NULL: all. Of a loss that goes beyond, what is within. If SELECT
 * has CPUs, the covered time is the mean of these CPUs'. SELECT must live as long as COVERAGE. */
int coverage_put_selected(struct coverage *coverage, const struct selection *select,
                          const struct item *items, unsigned n);

/* From the first event, or loss before it, to the last event, in ticks. */
int64_t coverage_duration(const struct coverage *coverage);
/* Of the source ORIGIN, in ticks: how long it was recorded, what of that it lost, and the rest. 0 of one without events.
 * coverage_lost() of NULL: of the source that lost most. coverage_covered() of NULL: the duration without that. */
int64_t coverage_recorded(const struct coverage *coverage, const struct origin *origin);
int64_t coverage_lost(const struct coverage *coverage, const struct origin *origin);
int64_t coverage_covered(const struct coverage *coverage, const struct origin *origin);
/* Where spans begin and end: in one source or in two, of which both must be recorded. */
struct coverage_pair {
    const struct origin *begin, *end;
    int32_t cpu;     /* all begin on this one; CPU_UNKNOWN: on any */
    bool stays;      /* they end on the CPU on which they begin */
    bool of_threads; /* each is of one thread: of a thread that is recorded, all are */
    /* Without a CPU: they are of something that need not be on all CPUs alike, such as a thread. In the time of a CPU's loss it may
     * have had all of them there, or none, so that only a loss of all CPUs takes its time. A rate over that time is the least that it
     * can be. */
    bool moves;
};
static inline bool coverage_pair_is(const struct coverage_pair *a, const struct coverage_pair *b)
{
    return a->begin == b->begin && a->end == b->end && a->cpu == b->cpu && a->stays == b->stays &&
           a->of_threads == b->of_threads && a->moves == b->moves;
}
/* How long one of N pairs, COVERAGE_PAIRS_MAX at most, is covered, in ticks: where pairs are recorded at the same time, by the one that lost
 * least. */
#define COVERAGE_PAIRS_MAX 8
int64_t coverage_covered_pairs(const struct coverage *coverage, const struct coverage_pair *pairs,
                               unsigned n);
/* Of which events of a source there may be: of a CPU; of all CPUs alike, each of which counts for its share of the time;
 * or of something that need not be on all CPUs alike (struct coverage_pair). */
struct coverage_events {
    int32_t cpu; /* CPU_UNKNOWN: any */
    bool moves;  /* without a CPU: it need not be on all alike */
};
/* The same of single events of any of N sources. Of certain threads, those are there. 0, -ENOMEM. */
int coverage_covered_events(const struct coverage *coverage, const struct origin *const *origins,
                            unsigned n, const struct coverage_events *events, int64_t *ret);
/* What ORIGIN lost, as a share of the time that it was recorded; NULL: the largest of all sources. */
double coverage_lost_share(const struct coverage *coverage, const struct origin *origin);
/* The same of a pair: of the end that lost more. */
double coverage_lost_share_pair(const struct coverage *coverage, const struct coverage_pair *pair);
/* Whether most of the time of a CPU of ORIGIN, or of all of it, is lost, or within losses in which other events are: how often something occurs there is not known, as other CPUs
 * need not be like it. Of a pair: of either end, and of a pair with a CPU, of that CPU. */
bool coverage_lacks_cpu(const struct coverage *coverage, const struct origin *origin);
bool coverage_lacks_cpu_pair(const struct coverage *coverage, const struct coverage_pair *pair);
/* Whether a source has certain threads alone (origin->threads_only); whether the kernel chose them (origin->pid_filter). */
struct coverage_threads {
    bool are_selected, are_filtered;
};
struct coverage_threads coverage_threads(const struct coverage *coverage);
/* True if a source lost events between FROM and UNTIL, maybe. */
bool coverage_has_loss(const struct coverage *coverage, int64_t from, int64_t until);
