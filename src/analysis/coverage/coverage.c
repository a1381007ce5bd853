/* SPDX-License-Identifier: MIT */
#include "analysis/coverage/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/ticks.h"

/* Limit of CPUs of a source, because a file may claim any number. */
#define CPUS_MAX 65536
/* Limit of kept losses of a source; beyond, neighbours are combined. */
#define GAPS_MAX 4096
/* A larger share of a CPU's time is most of it. */
#define LACKS_SHARE 0.5

struct gap {
    int64_t since, until;
    int64_t least_since; /* smallest `since` of this gap and later ones; for source_totals */
};

struct cpu_coverage {
    int64_t first, last; /* of an item; TIME_UNKNOWN if there is none */
    int64_t gap_end;
    uint64_t in_losses; /* in ticks, even if it has events there */
    uint64_t lost;      /* in ticks */
    /* Part of `lost` after the last event of the trace, if that is still `late`. */
    uint64_t lost_late;
    int64_t late;
    int64_t open_since; /* it has no data from here on; INT64_MAX: it has */
    bool begins_lost;   /* `lost` includes the time before its first event */
    bool is_seen;       /* it is in source_coverage.seen */
};

/* The inputs of totals, so that totals are computed once for all rows. */
struct totals_of {
    uint64_t n_events, n_losses;
    int64_t known_from, known_until, complete_from;
    unsigned n_cpus;
};

struct source_totals {
    bool is_made;
    struct totals_of of;
    int64_t begin, end, recorded, lost;
    int64_t open_since; /* earliest of its CPUs */
};

struct source_coverage {
    const struct origin *origin;
    struct cpu_coverage *cpus; /* [0] is the unknown CPU; CPU N is [N + 1] */
    unsigned n_cpus;           /* number of entries */
    unsigned *seen;            /* entries of CPUs with an item, without [0]; has room for all */
    unsigned n_seen;
    int64_t first;    /* time of an event; TIME_UNKNOWN if there is none */
    struct gap *gaps; /* sorted by `until` */
    unsigned n_gaps, gaps_room;
    struct source_totals totals;
};

void coverage_init(struct coverage *coverage)
{
    *coverage = (struct coverage){.first = TIME_UNKNOWN, .last = TIME_UNKNOWN, .from = INT64_MIN};
}

void coverage_done(struct coverage *coverage)
{
    for (unsigned i = 0; i < coverage->n_sources; i++) {
        free(coverage->sources[i]->cpus);
        free(coverage->sources[i]->seen);
        free(coverage->sources[i]->gaps);
        free(coverage->sources[i]);
    }
    free(coverage->sources);
    coverage_init(coverage);
}

static _cold_ struct source_coverage *find_source(struct coverage *coverage,
                                                  const struct origin *origin)
{
    struct source_coverage **more;
    struct source_coverage *source;

    for (unsigned i = 0; i < coverage->n_sources; i++)
        if (coverage->sources[i]->origin == origin)
            return coverage->sources[i];
    more = realloc(coverage->sources, (coverage->n_sources + 1) * sizeof(struct source_coverage *));
    if (!more)
        return NULL;
    coverage->sources = more;
    source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->origin = origin;
    source->first = TIME_UNKNOWN;
    more[coverage->n_sources++] = source;
    return source;
}

static _cold_ int add_cpu(struct source_coverage *source, unsigned place)
{
    unsigned n = MAX(place + 1, source->n_cpus * 2);
    struct cpu_coverage *cpus = realloc(source->cpus, n * sizeof *cpus);
    unsigned *seen;

    if (!cpus)
        return -ENOMEM;
    source->cpus = cpus;
    seen = realloc(source->seen, n * sizeof *seen);
    if (!seen)
        return -ENOMEM;
    source->seen = seen;
    for (unsigned i = source->n_cpus; i < n; i++)
        cpus[i] = (struct cpu_coverage){.first = TIME_UNKNOWN,
                                        .last = TIME_UNKNOWN,
                                        .gap_end = TIME_UNKNOWN,
                                        .late = TIME_UNKNOWN,
                                        .open_since = INT64_MAX};
    source->n_cpus = n;
    return 0;
}

static void note_seen(struct source_coverage *source, struct cpu_coverage *cpu)
{
    unsigned place = (unsigned)(cpu - source->cpus);

    if (place == 0 || cpu->is_seen)
        return;
    cpu->is_seen = true;
    source->seen[source->n_seen++] = place;
}

static int add_gap(struct source_coverage *source, int64_t since, int64_t until)
{
    unsigned at;

    if (source->n_gaps == GAPS_MAX) {
        for (unsigned i = 0; i < GAPS_MAX / 2; i++)
            source->gaps[i] =
                (struct gap){MIN(source->gaps[2 * i].since, source->gaps[2 * i + 1].since),
                             source->gaps[2 * i + 1].until, 0};
        source->n_gaps = GAPS_MAX / 2;
    }
    if (source->n_gaps == source->gaps_room) {
        unsigned room = MAX(source->gaps_room * 2, 16u);
        struct gap *gaps = realloc(source->gaps, room * sizeof *gaps);

        if (!gaps)
            return -ENOMEM;
        source->gaps = gaps;
        source->gaps_room = room;
    }
    for (at = source->n_gaps++; unlikely(at > 0 && source->gaps[at - 1].until > until); at--)
        source->gaps[at] = source->gaps[at - 1];
    source->gaps[at] = (struct gap){since, until, 0};
    return 0;
}

/* When the recording began, as far as is known; TIME_UNKNOWN before the first event. */
static int64_t source_begin(const struct coverage *coverage, const struct source_coverage *source)
{
    int64_t known = source->origin->known_from;

    return known == 0                      ? source->first
           : source->first == TIME_UNKNOWN ? MAX(known, coverage->first)
                                           : MIN(source->first, MAX(known, coverage->first));
}

/* The last item of CPU. If the CPU of the lost events is unknown: the oldest of all CPUs' last items. */
static int64_t last_before_loss(const struct source_coverage *source,
                                const struct cpu_coverage *cpu)
{
    int64_t last = cpu->last;

    for (unsigned i = 0; cpu == &source->cpus[0] && i < source->n_seen; i++) {
        int64_t other = source->cpus[source->seen[i]].last;

        if (other != TIME_UNKNOWN && (last == TIME_UNKNOWN || other < last))
            last = other;
    }
    return last;
}

/* Adds a loss, which counts up to the last event of the trace. That event may still follow. */
static void add_lost(const struct coverage *coverage, struct cpu_coverage *cpu, int64_t begin,
                     int64_t end)
{
    int64_t late_begin = MAX(begin, coverage->last);

    cpu->lost += (uint64_t)end - (uint64_t)begin;
    if (cpu->late != coverage->last)
        cpu->lost_late = 0;
    cpu->late = coverage->last;
    if (late_begin < end)
        cpu->lost_late += (uint64_t)end - (uint64_t)late_begin;
}

/* A loss that ended before the first event: the source was recorded since the loss began. */
static void begin_with_loss(struct coverage *coverage, struct source_coverage *source,
                            const struct item *loss)
{
    int64_t begin = loss_begin(loss);

    if (begin == TIME_UNKNOWN || loss->time < coverage->from)
        return;
    begin = MAX(begin, coverage->from);
    if (source->first == TIME_UNKNOWN || loss->time < source->first)
        source->first = begin;
    if (coverage->first == TIME_UNKNOWN || loss->time < coverage->first)
        coverage->first = begin;
}

static _cold_ int put_loss(struct coverage *coverage, struct source_coverage *source,
                           struct cpu_coverage *cpu, const struct item *item)
{
    int64_t since = item->since != TIME_UNKNOWN ? item->since : last_before_loss(source, cpu);
    int64_t begin;

    note_seen(source, cpu);
    losses_add(&coverage->losses, item);
    losses_add(&coverage->layers.losses[item->origin->layer], item);
    cpu->begins_lost |= cpu->first == TIME_UNKNOWN && cpu != &source->cpus[0];
    if (item->is_open)
        cpu->open_since = MAX(item->time, cpu->last);
    begin_with_loss(coverage, source, item);
    if (item->time == TIME_UNKNOWN || coverage->first == TIME_UNKNOWN)
        return 0;
    if (since == TIME_UNKNOWN || since < coverage->first)
        since = coverage->first;
    if (since < cpu->gap_end)
        since = cpu->gap_end;
    if (since >= item->time)
        return 0;
    /* Nor is that before the source's, nor what has events: those of the CPU count. */
    begin = source_begin(coverage, source);
    begin = begin == TIME_UNKNOWN ? item->time : MAX(since, begin);
    cpu->in_losses += begin < item->time ? (uint64_t)item->time - (uint64_t)begin : 0;
    begin = MAX(begin, last_before_loss(source, cpu));
    if (begin < item->time)
        add_lost(coverage, cpu, begin, item->time);
    cpu->gap_end = item->time;
    /* Before its first event, all of it is counted already. */
    if (cpu->first == TIME_UNKNOWN)
        cpu->first = since;
    return add_gap(source, since, item->time);
}

/* Counts events on the same CPU of SOURCE, up to the first item that needs more work. Returns their number. */
static inline unsigned put_following(struct coverage *coverage, struct cpu_coverage *cpu,
                                     const struct item *items, unsigned n)
{
    const struct origin *origin = coverage->recent_origin;
    int64_t last = cpu->last;
    unsigned i = 0;

    for (; i < n && items[i].cpu == items[-1].cpu && items[i].origin == origin &&
           items[i].kind == ITEM_EVENT && items[i].time >= last;
         i++)
        last = items[i].time;
    coverage->n_events += i;
    cpu->last = last;
    coverage->last = MAX(coverage->last, last);
    return i;
}

int coverage_put(struct coverage *coverage, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        unsigned place = (unsigned)item->cpu < CPUS_MAX ? (unsigned)item->cpu + 1 : 0;
        struct source_coverage *source = coverage->recent;
        struct cpu_coverage *cpu;

        if (unlikely(item->origin != coverage->recent_origin)) {
            source = find_source(coverage, item->origin);
            if (!source)
                return -ENOMEM;
            coverage->recent_origin = item->origin;
            coverage->recent = source;
        }
        if (unlikely(place >= source->n_cpus) && add_cpu(source, place) < 0)
            return -ENOMEM;
        cpu = &source->cpus[place];
        if (unlikely(item->kind != ITEM_EVENT)) {
            if (put_loss(coverage, source, cpu, item) < 0)
                return -ENOMEM;
            continue;
        }
        coverage->n_events++;
        if (unlikely(item->time == TIME_UNKNOWN))
            continue;
        if (unlikely(item->time < cpu->last)) {
            coverage->n_late++;
            coverage->first = MIN(coverage->first, item->time);
            source->first = MIN(source->first, item->time);
            continue;
        }
        if (unlikely(cpu->last == TIME_UNKNOWN)) {
            note_seen(source, cpu);
            if (cpu->first == TIME_UNKNOWN)
                cpu->first = item->time;
            if (source->first == TIME_UNKNOWN)
                source->first = item->time;
            if (coverage->first == TIME_UNKNOWN)
                coverage->first = item->time;
        }
        cpu->last = item->time;
        i += put_following(coverage, cpu, item + 1, n - i - 1);
    }
    return 0;
}

int coverage_put_selected(struct coverage *coverage, const struct selection *select,
                          const struct item *items, unsigned n)
{
    unsigned i = 0, run;

    if (likely(!select))
        return coverage_put(coverage, items, n);
    if (select->started)
        coverage->from = select->rows_from;
    if (select->options->cpus.n > 0)
        coverage->cpus = &select->options->cpus;
    for (; (run = selection_next_in_time(select, items, n, &i)) > 0; i += run)
        if (coverage_put(coverage, items + i, run) < 0)
            return -ENOMEM;
    for (i = 0; i < n; i++) {
        struct item loss = items[i];

        if (likely(loss.kind == ITEM_EVENT) || !select->started)
            continue;
        if (loss.is_open && loss.time < select->rows_from)
            loss.time = loss.since = select->rows_from; /* and goes on */
        else if (loss.since != TIME_UNKNOWN && loss.since < select->rows_to &&
                 loss.time >= select->rows_to)
            loss.time = select->rows_to - 1;
        else
            continue;
        if (coverage_put(coverage, &loss, 1) < 0)
            return -ENOMEM;
    }
    return 0;
}

int64_t coverage_duration(const struct coverage *coverage)
{
    if (coverage->first == TIME_UNKNOWN || coverage->last < coverage->first)
        return 0;
    return (int64_t)MIN((uint64_t)coverage->last - (uint64_t)coverage->first, (uint64_t)INT64_MAX);
}

/* The ticks that CPU of SOURCE, recorded from BEGIN to END, lost, even if none of its data follow. If CPUs begin at
 * different times, each is recorded from its first event on, at the latest since all are. */
static double cpu_lost(const struct coverage *coverage, const struct source_coverage *source,
                       const struct cpu_coverage *cpu, int64_t begin, int64_t end)
{
    bool has_cpu = cpu != &source->cpus[0];
    int64_t since = MAX(cpu->open_since, begin);
    uint64_t late = cpu->late == coverage->last ? cpu->lost_late : 0;
    int64_t from = source->origin->complete_from;
    double lost = (double)(cpu->lost - late);

    /* Without CPUs, other streams may go on: their events count. */
    if (!has_cpu)
        since = MAX(since, cpu->last);
    else if (cpu->last != TIME_UNKNOWN && !origin_is_recorded_to_end(source->origin))
        since = MIN(since, MAX(MAX(cpu->last, cpu->gap_end), begin));
    lost += since < end ? (double)end - (double)since : 0;
    if (from == 0 || !has_cpu || cpu->first == TIME_UNKNOWN || cpu->begins_lost)
        return lost;
    from = MIN(MIN(from, cpu->first), end);
    return lost + (from > begin ? (double)from - (double)begin : 0);
}

/* When the recording ended, at the latest at the last event of the trace. A source that was cut ends with the
 * others. */
static int64_t source_end(const struct coverage *coverage, const struct source_coverage *source)
{
    int64_t known = source->origin->known_until;
    int64_t end = TIME_UNKNOWN;

    for (unsigned i = 0; i < source->n_cpus; i++) {
        if (source->cpus[i].open_since != INT64_MAX)
            return coverage->last;
        end = MAX(end, MAX(source->cpus[i].last, source->cpus[i].gap_end));
    }
    return MIN(MAX(end, known != 0 ? known : TIME_UNKNOWN), coverage->last);
}

static struct source_coverage *get_source(const struct coverage *coverage,
                                          const struct origin *origin)
{
    for (unsigned i = 0; i < coverage->n_sources; i++)
        if (coverage->sources[i]->origin == origin)
            return coverage->sources[i];
    return NULL;
}

/* The number of CPUs of SOURCE that count, at least 1. */
static unsigned count_cpus(const struct coverage *coverage, const struct source_coverage *source)
{
    unsigned n_cpus = source->origin->n_cpus;
    unsigned n = 0;

    if (!coverage->cpus)
        return MAX(MAX(source->n_seen, n_cpus), 1u);
    for (unsigned i = 0; i < MIN(n_cpus, (unsigned)CPUS_MAX); i++)
        n += ranges_include(coverage->cpus, (int32_t)i);
    for (unsigned i = 0; i < source->n_seen; i++)
        n += source->seen[i] > n_cpus &&
             ranges_include(coverage->cpus, (int32_t)source->seen[i] - 1);
    return MAX(n, 1u);
}

static int64_t sum_lost(const struct coverage *coverage, const struct source_coverage *source,
                        const struct source_totals *totals)
{
    unsigned n = count_cpus(coverage, source);
    double lost = 0;

    if (totals->recorded == 0)
        return 0;
    if (source->origin->threads_only)
        return totals->recorded;
    for (unsigned i = 0; i < source->n_cpus; i++) {
        if (i > 0 && coverage->cpus && !ranges_include(coverage->cpus, (int32_t)i - 1))
            continue;
        lost += cpu_lost(coverage, source, &source->cpus[i], totals->begin, totals->end) /
                (i == 0 ? 1 : n);
    }
    return lost >= (double)totals->recorded ? totals->recorded : (int64_t)lost;
}

static _cold_ void make_totals(const struct coverage *coverage, struct source_coverage *source)
{
    struct source_totals *totals = &source->totals;
    int64_t least = INT64_MAX;

    totals->begin = source_begin(coverage, source);
    totals->end = source_end(coverage, source);
    totals->recorded = totals->begin == TIME_UNKNOWN || totals->end <= totals->begin
                           ? 0
                           : ticks_between(totals->begin, totals->end);
    totals->lost = sum_lost(coverage, source, totals);
    totals->open_since = INT64_MAX;
    for (unsigned i = 0; i < source->n_cpus; i++) {
        const struct cpu_coverage *cpu = &source->cpus[i];

        totals->open_since = MIN(totals->open_since, cpu->open_since);
        if (i > 0 && cpu->last != TIME_UNKNOWN && cpu->last < totals->end &&
            !origin_is_recorded_to_end(source->origin))
            totals->open_since = MIN(totals->open_since, cpu->last + 1);
    }
    for (unsigned i = source->n_gaps; i-- > 0;) {
        least = MIN(least, source->gaps[i].since);
        source->gaps[i].least_since = least;
    }
}

static const struct source_totals *get_totals(const struct coverage *coverage,
                                              struct source_coverage *source)
{
    const struct origin *origin = source->origin;
    const struct totals_of *made = &source->totals.of;
    struct totals_of of = {.n_events = coverage->n_events,
                           .n_losses = coverage->losses.n,
                           .known_from = origin->known_from,
                           .known_until = origin->known_until,
                           .complete_from = origin->complete_from,
                           .n_cpus = origin->n_cpus};

    if (likely(source->totals.is_made && made->n_events == of.n_events &&
               made->n_losses == of.n_losses && made->known_from == of.known_from &&
               made->known_until == of.known_until && made->complete_from == of.complete_from &&
               made->n_cpus == of.n_cpus))
        return &source->totals;
    make_totals(coverage, source);
    source->totals.of = of;
    source->totals.is_made = true;
    return &source->totals;
}

int64_t coverage_recorded(const struct coverage *coverage, const struct origin *origin)
{
    struct source_coverage *source = get_source(coverage, origin);

    return source ? get_totals(coverage, source)->recorded : 0;
}

int64_t coverage_lost(const struct coverage *coverage, const struct origin *origin)
{
    int64_t most = 0;

    for (unsigned i = 0; i < coverage->n_sources; i++)
        if (!origin || coverage->sources[i]->origin == origin)
            most = MAX(most, get_totals(coverage, coverage->sources[i])->lost);
    return most;
}

int64_t coverage_covered(const struct coverage *coverage, const struct origin *origin)
{
    int64_t recorded = origin ? coverage_recorded(coverage, origin) : coverage_duration(coverage);

    return recorded - coverage_lost(coverage, origin);
}

/* The time that CPU of ORIGIN lost; CPU_UNKNOWN: the average of its CPUs. OF_THREADS: as in struct coverage_pair. */
static int64_t place_lost(const struct coverage *coverage, struct source_coverage *source,
                          int32_t cpu, bool of_threads)
{
    const struct source_totals *totals = get_totals(coverage, source);
    double lost;

    if (source->origin->pid_filter && !of_threads)
        return totals->recorded;
    if (cpu < 0 || (unsigned)cpu + 1 >= source->n_cpus || totals->recorded == 0 ||
        source->origin->threads_only)
        return totals->lost;
    lost = cpu_lost(coverage, source, &source->cpus[0], totals->begin, totals->end) +
           cpu_lost(coverage, source, &source->cpus[cpu + 1], totals->begin, totals->end);
    return lost >= (double)totals->recorded ? totals->recorded : (int64_t)lost;
}

/* The time that all CPUs of SOURCE lost together, as far as losses state it. */
static int64_t lost_by_all(const struct coverage *coverage, struct source_coverage *source)
{
    const struct source_totals *totals = get_totals(coverage, source);
    double lost;

    if (count_cpus(coverage, source) == 1 || source->n_cpus == 0)
        return totals->lost;
    lost = cpu_lost(coverage, source, &source->cpus[0], totals->begin, totals->end);
    return MIN((int64_t)lost, totals->lost);
}

/* The CPU on which the spans of PAIR end, if it is only one. */
static int32_t end_cpu(const struct coverage_pair *pair)
{
    return pair->stays ? pair->cpu : CPU_UNKNOWN;
}

/* A time in which spans are covered. */
struct covered_part {
    int64_t begin, end, lost;
};

/* False if there is none. */
static bool make_part(const struct coverage *coverage, const struct coverage_pair *pair,
                      struct covered_part *ret)
{
    const struct origin *origins[] = {pair->begin, pair->end};
    const int32_t cpus[] = {pair->cpu, end_cpu(pair)};

    *ret = (struct covered_part){INT64_MIN, INT64_MAX, 0};
    for (unsigned i = 0; i < ARRAY_SIZE(origins); i++) {
        struct source_coverage *source = get_source(coverage, origins[i]);
        const struct source_totals *totals;
        int64_t lost;

        if (!source)
            return false;
        totals = get_totals(coverage, source);
        if (totals->recorded == 0)
            return false;
        ret->begin = MAX(ret->begin, totals->begin);
        ret->end = MIN(ret->end, totals->end);
        lost = place_lost(coverage, source, cpus[i], pair->of_threads);
        if (pair->moves && cpus[i] == CPU_UNKNOWN && lost < totals->recorded)
            lost = lost_by_all(coverage, source);
        ret->lost = MAX(ret->lost, lost);
    }
    return ret->begin < ret->end;
}

static int compare_parts(const void *a, const void *b)
{
    const struct covered_part *x = a, *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* How long any of N parts is covered. Where they overlap, the part with the smallest loss counts. */
static int64_t join_parts(struct covered_part *parts, unsigned n)
{
    int64_t covered = 0;

    qsort(parts, n, sizeof *parts, compare_parts);
    for (unsigned i = 0; i < n;) {
        struct covered_part whole = parts[i++];

        for (; i < n && parts[i].begin <= whole.end; i++) {
            whole.end = MAX(whole.end, parts[i].end);
            whole.lost = MIN(whole.lost, parts[i].lost);
        }
        covered = ticks_sum(covered, MAX(ticks_between(whole.begin, whole.end) - whole.lost, 0));
    }
    return covered;
}

int64_t coverage_covered_pairs(const struct coverage *coverage, const struct coverage_pair *pairs,
                               unsigned n)
{
    struct covered_part parts[COVERAGE_PAIRS_MAX];
    unsigned n_parts = 0;

    for (unsigned i = 0; i < MIN(n, (unsigned)COVERAGE_PAIRS_MAX); i++)
        n_parts += make_part(coverage, &pairs[i], &parts[n_parts]);
    return join_parts(parts, n_parts);
}

int coverage_covered_events(const struct coverage *coverage, const struct origin *const *origins,
                            unsigned n, const struct coverage_events *events, int64_t *ret)
{
    struct covered_part *parts = malloc(MAX(n, 1u) * sizeof *parts);
    unsigned n_parts = 0;

    if (!parts)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        const struct coverage_pair pair = {.begin = origins[i],
                                           .end = origins[i],
                                           .cpu = events->cpu,
                                           .stays = true,
                                           .of_threads = true,
                                           .moves = events->moves};

        if (!make_part(coverage, &pair, &parts[n_parts]))
            continue;
        /* Those of its threads are there. */
        if (origins[i]->threads_only)
            parts[n_parts].lost = 0;
        n_parts++;
    }
    *ret = join_parts(parts, n_parts);
    free(parts);
    return 0;
}

double coverage_lost_share(const struct coverage *coverage, const struct origin *origin)
{
    double most = 0;

    for (unsigned i = 0; i < coverage->n_sources; i++) {
        struct source_coverage *source = coverage->sources[i];
        const struct source_totals *totals;

        if (origin && source->origin != origin)
            continue;
        totals = get_totals(coverage, source);
        if (totals->recorded > 0)
            most = MAX(most, (double)totals->lost / (double)totals->recorded);
    }
    return most;
}

static double place_lost_share(const struct coverage *coverage, const struct origin *origin,
                               int32_t cpu, bool of_threads)
{
    struct source_coverage *source = get_source(coverage, origin);
    int64_t recorded = source ? get_totals(coverage, source)->recorded : 0;

    return recorded > 0 ? (double)place_lost(coverage, source, cpu, of_threads) / (double)recorded
                        : 0;
}

double coverage_lost_share_pair(const struct coverage *coverage, const struct coverage_pair *pair)
{
    double begin = place_lost_share(coverage, pair->begin, pair->cpu, pair->of_threads);

    return MAX(begin, place_lost_share(coverage, pair->end, end_cpu(pair), pair->of_threads));
}

/* True if most of the time of CPU, or of all CPUs on average, is lost or within losses. */
static bool lacks_place(const struct coverage *coverage, struct source_coverage *source,
                        int32_t cpu, bool of_threads)
{
    double limit = LACKS_SHARE * (double)get_totals(coverage, source)->recorded;
    double in_losses = (double)source->cpus[0].in_losses;

    if (cpu >= 0 && (unsigned)cpu + 1 < source->n_cpus)
        in_losses += (double)source->cpus[cpu + 1].in_losses;
    return in_losses > limit || (double)place_lost(coverage, source, cpu, of_threads) > limit;
}

/* As coverage_lacks_cpu(); only for CPU if it is known. */
static bool lacks_cpu(const struct coverage *coverage, const struct origin *origin, int32_t cpu,
                      bool of_threads)
{
    struct source_coverage *source = get_source(coverage, origin);
    const struct source_totals *totals = source ? get_totals(coverage, source) : NULL;

    if (!totals || totals->recorded == 0)
        return false;
    if (lacks_place(coverage, source, cpu, of_threads))
        return true;
    for (unsigned i = 0; cpu == CPU_UNKNOWN && i < source->n_seen; i++) {
        int32_t other = (int32_t)source->seen[i] - 1;

        if ((!coverage->cpus || ranges_include(coverage->cpus, other)) &&
            lacks_place(coverage, source, other, of_threads))
            return true;
    }
    return false;
}

bool coverage_lacks_cpu(const struct coverage *coverage, const struct origin *origin)
{
    return lacks_cpu(coverage, origin, CPU_UNKNOWN, true);
}

bool coverage_lacks_cpu_pair(const struct coverage *coverage, const struct coverage_pair *pair)
{
    return lacks_cpu(coverage, pair->begin, pair->cpu, pair->of_threads) ||
           lacks_cpu(coverage, pair->end, end_cpu(pair), pair->of_threads);
}

bool coverage_has_loss(const struct coverage *coverage, int64_t from, int64_t until)
{
    for (unsigned i = 0; i < coverage->n_sources; i++) {
        struct source_coverage *source = coverage->sources[i];
        unsigned low = 0, high = source->n_gaps;

        if (get_totals(coverage, source)->open_since <= until)
            return true;
        while (low < high) {
            unsigned middle = (low + high) / 2;

            if (source->gaps[middle].until < from)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < source->n_gaps && source->gaps[low].least_since <= until)
            return true;
    }
    return false;
}

struct coverage_threads coverage_threads(const struct coverage *coverage)
{
    struct coverage_threads threads = {0};

    for (unsigned i = 0; i < coverage->n_sources; i++) {
        threads.are_selected |= coverage->sources[i]->origin->threads_only;
        threads.are_filtered |= coverage->sources[i]->origin->pid_filter;
    }
    return threads;
}
