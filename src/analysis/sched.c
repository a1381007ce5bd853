/* SPDX-License-Identifier: MIT */
#include "analysis/sched.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sched_row.h"
#include "base/glob.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "event/own_threads.h"

#define PREFETCHED 8 /* intervals ahead */

static struct sched *get_sched(struct analysis *analysis)
{
    return container_of(analysis, struct sched, analysis);
}

/* ---- rows ---- */

static uint64_t row_key(enum state_subject of, const struct origin *origin, int32_t id)
{
    return ((uint64_t)(uintptr_t)origin << 3 | of) * UINT64_C(0x9e3779b97f4a7c15) +
           ((uint64_t)(uint32_t)id << 20 | 1);
}

static struct sched_row *make_row(struct sched *sched, enum state_subject of,
                                  const struct origin *origin, int32_t id)
{
    struct sched_row *row;

    if (sched->n_rows == sched->rows_room) {
        unsigned room = sched->rows_room ? 2 * sched->rows_room : 64;
        struct sched_row **rows = realloc(sched->rows, room * sizeof *rows);

        if (!rows)
            return NULL;
        sched->rows = rows;
        sched->rows_room = room;
    }
    row = arena_alloc(&sched->arena, sizeof *row);
    if (!row)
        return NULL;
    *row = (struct sched_row){.of = of,
                              .origin = origin,
                              .id = id,
                              .last_cpu = CPU_UNKNOWN,
                              .last_by = INT32_MIN,
                              .vcpu = VCPU_UNKNOWN,
                              .is_wanted = true};
    return sched->rows[sched->n_rows++] = row;
}

static _cold_ struct sched_row *add_row(struct sched *sched, enum state_subject of,
                                        const struct origin *origin, int32_t id)
{
    struct sched_row *row;

    if (sched->n_rows >= SCHED_ROWS_MAX) {
        if (!sched->others) {
            sched->others = make_row(sched, of, origin, id);
            if (sched->others)
                sched->others->is_others = true;
        }
        return sched->others;
    }
    row = make_row(sched, of, origin, id);
    if (!row || map_put(&sched->rows_by_key, row_key(of, origin, id), row) < 0)
        return NULL;
    return row;
}

/* ROW may be NULL. */
static inline bool is_row_of(const struct sched_row *row, enum state_subject of,
                             const struct origin *origin, int32_t id)
{
    return likely(row && row->id == id && row->of == of && row->origin == origin);
}

static inline struct sched_row *get_row(struct sched *sched, enum state_subject of,
                                        const struct origin *origin, int32_t id)
{
    struct sched_row **recent = &sched->recent[(unsigned)id % SCHED_RECENT];
    struct sched_row *row = *recent;

    if (is_row_of(row, of, origin, id))
        return row;
    row = map_get(&sched->rows_by_key, row_key(of, origin, id));
    if (!row)
        row = add_row(sched, of, origin, id);
    return *recent = row;
}

struct sched_row *sched_find_row(const struct sched *sched, enum state_subject of,
                                 const struct origin *origin, int32_t id)
{
    const struct sched *counted = sched->counted;
    struct sched_row *recent = counted->recent[(unsigned)id % SCHED_RECENT];

    return is_row_of(recent, of, origin, id)
               ? recent
               : map_get(&counted->rows_by_key, row_key(of, origin, id));
}

const char *sched_row_vm(const struct sched_row *row)
{
    const char *vm = row->of == STATE_SUBJECT_THREAD && row->origin->vm_name
                         ? row->origin->vm_name(row->origin, row->id)
                         : NULL;

    return vm && *vm ? vm : "-";
}

const char *sched_row_name(const struct sched_row *row)
{
    const char *name = NULL;

    if (row->name && *row->name)
        return row->name;
    if (row->of == STATE_SUBJECT_THREAD)
        name = origin_task_name(row->origin, row->id);
    return name && *name ? name : "-";
}

/* Sets the name, which may change, and with it whether the row is examined. */
static void set_name(const struct sched *sched, struct sched_row *row, const char *name)
{
    row->name = name;
    row->is_wanted = !sched->analysis.settings.task ||
                     glob_match(sched->analysis.settings.task, sched_row_name(row));
}

/* A who_is_own_fn. Uses the name in switches; other names are known only at the end. */
static bool is_own(void *arg, const struct origin *origin, int32_t by)
{
    const struct sched_row *row = sched_find_row(arg, STATE_SUBJECT_THREAD, origin, by);

    return own_thread_is(origin, by, row ? row->name : NULL);
}

/* The requested selection, or NULL for all. */
static const struct select_options *get_asked(const struct sched *sched)
{
    return sched->analysis.settings.select ? sched->analysis.settings.select->options : NULL;
}

/* ---- the longest waits ---- */

/* END: the end of the wait, or, with IS_OPEN, of what is known of it. */
static void keep_slow(struct sched *sched, const struct sched_row *row,
                      const struct state_interval *interval, int64_t end, bool is_open)
{
    slowest_keep(
        &sched->states_rows.slowest,
        &(struct slow_span){.begin = interval->begin,
                            .end = end,
                            .is_open = is_open,
                            .cpu = interval->cpu,
                            .pid = row->of == STATE_SUBJECT_THREAD ? interval->id : PID_UNKNOWN,
                            .vcpu = row->of == STATE_SUBJECT_VCPU ? interval->id : interval->vcpu,
                            .origin = interval->origin,
                            .kind = row});
}

/* ---- intervals ---- */

static int add_waker(struct sched *sched, struct sched_row *row,
                     const struct state_interval *interval)
{
    uint64_t key = row_key(STATE_SUBJECT_THREAD, (const void *)row, interval->by);
    struct sched_waker *waker = map_get(&sched->wakers, key);

    if (!waker) {
        if (sched->n_wakers == WHO_PAIRS_MAX)
            return 0;
        waker = arena_alloc(&sched->arena, sizeof *waker);
        if (!waker || map_put(&sched->wakers, key, waker) < 0)
            return -ENOMEM;
        *waker = (struct sched_waker){.next = sched->first_waker, .row = row, .by = interval->by};
        sched->first_waker = waker;
        sched->n_wakers++;
    }
    waker->sum = ticks_sum(waker->sum, ticks_between(interval->begin, interval->end));
    return histogram_add(&waker->wakes, (uint64_t)interval->end - (uint64_t)interval->begin);
}

/* Xen's recorder is a vCPU's guest, so no thread of its own is known. */
static bool finds_who(const struct sched *sched, const struct origin *origin)
{
    return sched->finds_who &&
           (sched->options.view == SCHED_WHO || origin->layer != LAYER_HYPERVISOR);
}

/* True if ROW may be shown at the end. It may be found later which vCPU a thread runs. */
static bool may_be_shown(const struct sched *sched, const struct sched_row *row)
{
    const struct select_options *asked = get_asked(sched);

    if (row->of != STATE_SUBJECT_THREAD || row->vcpu != VCPU_UNKNOWN)
        return sched_row_is_shown(sched, row);
    return row->is_wanted && sched->options.by <= SCHED_BY_VM &&
           (!asked || ranges_include(&asked->pids, row->id));
}

/* Counts a wait that begins and ends in the trace, and is long enough. */
static int put_wait(struct sched *sched, struct sched_row *row,
                    const struct state_interval *interval, int64_t duration)
{
    enum sched_view view = sched->options.view;
    int r = 0;

    if (interval->state == STATE_WOKEN) {
        if (unlikely(!row->wakes)) {
            row->wakes = arena_alloc(&sched->arena, sizeof *row->wakes);
            if (!row->wakes)
                return -ENOMEM;
            *row->wakes = (struct histogram){0};
        }
        r = histogram_add(row->wakes, (uint64_t)duration);
        row->wake_sum = ticks_sum(row->wake_sum, duration);
        if (view == SCHED_WAKERS && r == 0 && may_be_shown(sched, row))
            r = add_waker(sched, row, interval);
    } else {
        row->preempt_n++;
        row->preempt_sum = ticks_sum(row->preempt_sum, duration);
        row->preempt_max = MAX(row->preempt_max, duration);
    }
    if (finds_who(sched, row->origin) && r == 0 && (view != SCHED_WHO || may_be_shown(sched, row)))
        r = sched_who_waited(&sched->who, &row->who, interval);
    if (sched->analysis.settings.slowest > 0 && r == 0 &&
        (interval->state == STATE_WOKEN || view != SCHED_WAKEUPS))
        keep_slow(sched, row, interval, interval->end, false);
    return r;
}

/* Counts a wait that is open at the end of the trace. Other waits without an end have an unknown state. On a CPU that
 * was cut, or whose events are not all recorded yet, the wait may have ended. */
static void put_open_wait(struct sched *sched, struct sched_row *row,
                          const struct state_interval *interval)
{
    const struct sched *reader = container_of(sched->states, const struct sched, own_states);
    int64_t end = source_ends_find(&reader->states_rows.ends, interval->origin).time;

    if (end <= interval->begin || interval->origin->is_cut || interval->origin->is_live ||
        ticks_between(interval->begin, end) < sched->analysis.settings.longer ||
        (interval->state != STATE_WOKEN && sched->options.view == SCHED_WAKEUPS))
        return;
    keep_slow(sched, row, interval, end, true);
}

/* WITHIN: the part in the requested times. IS_COUNTED: the run began there. A run at the begin of the trace, or after a
 * loss, is not known to have begun: it may be the same run as before. */
static void put_run(struct sched_row *row, const struct state_interval *interval, int64_t within,
                    bool is_counted)
{
    row->enters |= interval->enters;
    if (likely(within > 0)) {
        if (likely(interval->inside >= 0)) {
            row->inside = ticks_sum(row->inside, MIN(interval->inside, within));
            row->outside = ticks_sum(row->outside, within - MIN(interval->inside, within));
        } else {
            row->undivided = ticks_sum(row->undivided, within);
        }
    }
    if (likely(is_counted)) {
        row->runs += interval->begin_seen &&
                     (interval->of != STATE_SUBJECT_CPU || row->last_by != interval->by);
        row->migrations += row->last_cpu != CPU_UNKNOWN && row->last_cpu != interval->cpu;
    }
    row->last_cpu = interval->cpu;
}

static int put_steal(struct sched *sched, const struct state_interval *interval)
{
    const void *vm = steal_vm(interval);
    const struct selection *select = sched->analysis.settings.select;
    struct state_interval part = *interval;

    if (select && select->started && interval->of == STATE_SUBJECT_THREAD) {
        part.begin = MAX(part.begin, select->rows_from);
        part.end = MIN(part.end, select->rows_to);
        if (part.begin >= part.end)
            return 0;
    }
    return steal_put(&sched->steal, vm, &part);
}

/* Computes what else is made of intervals besides rows. */
static int put_beside(struct sched *sched, const struct state_interval *interval)
{
    int r = 0;

    if (interval->of == STATE_SUBJECT_CPU && finds_who(sched, interval->origin))
        r = sched_who_ran(&sched->who, interval);
    if (r == 0 && sched->finds_steal &&
        ((interval->of == STATE_SUBJECT_THREAD && interval->origin->layer == LAYER_HOST) ||
         (interval->of == STATE_SUBJECT_CPU && interval->origin->layer == LAYER_GUEST)))
        r = put_steal(sched, interval);
    return r;
}

/* The subjects that have rows, as STATE_SUBJECTS(). */
static unsigned rows_of(const struct sched_options *options)
{
    const unsigned ids = STATE_SUBJECTS(STATE_SUBJECT_THREAD) | STATE_SUBJECTS(STATE_SUBJECT_VCPU);

    return options->by == SCHED_BY_CPU      ? STATE_SUBJECTS(STATE_SUBJECT_CPU)
           : options->by == SCHED_BY_DOMAIN ? ids | STATE_SUBJECTS(STATE_SUBJECT_DOMAIN)
                                            : ids;
}

static inline int put_interval(struct sched *sched, const struct state_interval *interval)
{
    const struct sched_options *options = &sched->options;
    const struct selection *select = sched->analysis.settings.select;
    int64_t duration = ticks_between(interval->begin, interval->end);
    int64_t within = duration;
    bool is_complete = interval->begin_seen && interval->end_seen;
    bool is_counted = true;
    struct sched_total *total;
    struct sched_row *row;

    if (unlikely(sched->finds_who || sched->finds_steal)) {
        int r = put_beside(sched, interval);

        if (r < 0)
            return r;
    }
    if (unlikely(!(sched->rows_of & STATE_SUBJECTS(interval->of))))
        return 0;
    row = get_row(sched, (enum state_subject)interval->of, interval->origin, interval->id);
    if (unlikely(!row))
        return -ENOMEM;
    if (interval->of == STATE_SUBJECT_THREAD) {
        if (interval->vcpu != VCPU_UNKNOWN)
            row->vcpu = interval->vcpu;
        if (unlikely(row->name != interval->name))
            set_name(sched, row, interval->name);
    }
    if (!row->is_wanted)
        return 0;
    if (interval->state == STATE_UNKNOWN)
        row->last_cpu = CPU_UNKNOWN; /* when it moved, and how often, is unknown, too */
    if (unlikely(select != NULL)) {
        if (!ranges_include(&select->options->cpus, interval->cpu)) {
            if (interval->state == STATE_RUNNING)
                row->last_cpu = interval->cpu; /* it moves from there */
            sched->analysis.unplaced +=
                interval->cpu == CPU_UNKNOWN && interval->state != STATE_UNKNOWN &&
                select->options->cpus.n > 0 && may_be_shown(sched, row) &&
                selection_time_within(select, interval->begin, interval->end) > 0;
            return 0;
        }
        is_counted = selection_has_time(select, interval->begin);
        within = selection_time_within(select, interval->begin, interval->end);
    }
    if (unlikely(options->view == SCHED_STATES))
        return is_counted ? sched_states_put(sched, row, interval) : 0;
    total = &row->in[interval->state];
    total->time = ticks_sum(total->time, within);
    if (likely(is_complete && is_counted)) {
        total->n++;
        total->sum = ticks_sum(total->sum, duration);
    }
    if (interval->state == STATE_RUNNING)
        put_run(row, interval, within, is_counted);
    else if (unlikely(!is_counted))
        ;
    else if ((interval->state == STATE_WOKEN || interval->state == STATE_PREEMPTED) &&
             is_complete && duration >= sched->analysis.settings.longer)
        return put_wait(sched, row, interval, duration);
    else if ((interval->state == STATE_WOKEN || interval->state == STATE_PREEMPTED) &&
             unlikely(interval->begin_seen && !interval->end_seen))
        put_open_wait(sched, row, interval);
    if (unlikely(interval->of == STATE_SUBJECT_CPU) && interval->state != STATE_INTERRUPT)
        row->last_by = interval->state == STATE_RUNNING ? interval->by : INT32_MIN;
    return 0;
}

/* Rows and their histograms do not fit into a CPU's caches together with the items that are read. */
static inline void prefetch(const struct sched *sched, const struct state_interval *interval)
{
    const struct sched_row *row = sched->recent[(unsigned)interval->id % SCHED_RECENT];

    if (unlikely(!row))
        return;
    __builtin_prefetch(&row->in[interval->state], 1);
    if (interval->state == STATE_PREEMPTED)
        __builtin_prefetch(&row->preempt_n, 1);
    else if (interval->state == STATE_WOKEN && row->wakes)
        histogram_prefetch(row->wakes, (uint64_t)interval->end - (uint64_t)interval->begin);
}

static int put_intervals(void *arg, const struct state_interval *intervals, unsigned n)
{
    struct sched *sched = arg;

    for (unsigned i = 0; i < n; i++) {
        int r;

        if (i + PREFETCHED < n)
            prefetch(sched, &intervals[i + PREFETCHED]);
        r = put_interval(sched, &intervals[i]);
        if (unlikely(r < 0))
            return r;
    }
    return 0;
}

/* True if ROW is requested. */
bool sched_row_is_shown(const struct sched *sched, const struct sched_row *row)
{
    const struct sched_options *options = &sched->options;
    const struct select_options *asked = get_asked(sched);

    if (!row->is_wanted)
        return false;
    switch (row->of) {
    case STATE_SUBJECT_THREAD:
        return (options->by == SCHED_BY_TASK ||
                ((options->by == SCHED_BY_VCPU || options->by == SCHED_BY_VM) &&
                 row->vcpu != VCPU_UNKNOWN)) &&
               (!asked || (ranges_include(&asked->vcpus, row->vcpu) &&
                           ranges_include(&asked->pids, row->id)));
    case STATE_SUBJECT_VCPU: /* of any domain; not a thread */
        return options->by != SCHED_BY_CPU && options->by != SCHED_BY_VM &&
               (!asked || (asked->pids.n == 0 && ranges_include(&asked->vcpus, row->id & 0xffff)));
    case STATE_SUBJECT_CPU:
        return options->by == SCHED_BY_CPU && (!asked || ranges_include(&asked->cpus, row->id));
    case STATE_SUBJECT_DOMAIN: return options->by == SCHED_BY_DOMAIN;
    }
    return false;
}

/* ---- the sink ---- */

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct sched *sched = get_sched(container_of(sink, struct analysis, sink));
    int r;

    r = analysis_note_times(&sched->analysis, &sched->states_rows, items, n);
    if (r == 0)
        r = states_put(sched->states, items, n);
    return r == -ERANGE ? analysis_period_error(sink) : r;
}

static int begin_loss(struct sink *sink, const struct item *item)
{
    states_begin_loss(get_sched(container_of(sink, struct analysis, sink))->states, item);
    return 0;
}

static int finish(struct sink *sink)
{
    struct sched *sched = get_sched(container_of(sink, struct analysis, sink));
    int r = states_finish(sched->states);

    if (r >= 0)
        r = steal_finish(&sched->steal);
    return r == -ERANGE ? analysis_period_error(sink) : r;
}

static int ignore(struct sink *sink, const struct item *items, unsigned n)
{
    (void)sink;
    (void)items;
    (void)n;
    return 0;
}

static bool has_events(const struct analysis *analysis)
{
    return states_has_switches(container_of(analysis, const struct sched, analysis)->states, NULL);
}

static const struct sink_ops sink_ops = {.put = put, .begin_loss = begin_loss, .finish = finish};
static const struct sink_ops shared_sink_ops = {.put = ignore};

static int init(struct sched *sched, const struct analysis_settings *settings,
                const struct sched_options *options, const struct sink_ops *ops)
{
    static const struct analysis_ops analysis_ops = {.name = "sched",
                                                     .add_columns = sched_add_columns,
                                                     .add_rows = sched_add_rows,
                                                     .has_events = has_events,
                                                     .notes_filter = true};

    *sched = (struct sched){
        .analysis = {.sink.ops = ops,
                     .ops = &analysis_ops,
                     .settings = *settings,
                     .unplaced_name = "state"},
        .options = *options,
        .rows_of = rows_of(options),
        .finds_who = options->view == SCHED_WHO || options->finds_recorder,
        .finds_steal = options->by == SCHED_BY_VCPU || options->by == SCHED_BY_VM,
        .who = {.is_own = is_own, .arg = sched, .has_pairs = options->view == SCHED_WHO},
    };
    return sched_states_init(sched);
}

/* Waits of threads and vCPUs are always counted. */
static unsigned wanted_intervals(const struct sched *sched)
{
    return sched->rows_of | STATE_SUBJECTS(STATE_SUBJECT_THREAD) |
           STATE_SUBJECTS(STATE_SUBJECT_VCPU) |
           (sched->finds_who || sched->finds_steal ? STATE_SUBJECTS(STATE_SUBJECT_CPU) : 0);
}

int sched_init(struct sched *sched, const struct analysis_settings *settings,
               const struct sched_options *options)
{
    static const struct states_ops states_ops = {put_intervals};
    int r = init(sched, settings, options, &sink_ops);

    states_init(&sched->own_states, &states_ops, sched);
    sched->own_states.wanted = wanted_intervals(sched);
    sched->own_states.select = settings->select;
    sched->states = &sched->own_states;
    sched->counted = sched;
    return r;
}

int sched_init_shared(struct sched *sched, const struct analysis_settings *settings,
                      const struct sched_options *options, struct sched *first)
{
    int r = init(sched, settings, options, &shared_sink_ops);

    sched->states = &first->own_states;
    sched->counted = first;
    first->rows_of |= sched->rows_of;
    first->finds_who = first->finds_who || sched->finds_who;
    first->finds_steal = first->finds_steal || sched->finds_steal;
    first->own_states.wanted = wanted_intervals(first);
    return r;
}

void sched_done(struct sched *sched)
{
    for (unsigned i = 0; i < sched->n_rows; i++) {
        if (sched->rows[i]->wakes)
            histogram_done(sched->rows[i]->wakes);
        who_victim_done(&sched->rows[i]->who);
    }
    for (struct sched_waker *waker = sched->first_waker; waker; waker = waker->next)
        histogram_done(&waker->wakes);
    free(sched->rows);
    map_done(&sched->rows_by_key);
    map_done(&sched->wakers);
    rows_done(&sched->states_rows);
    arena_done(&sched->arena);
    states_done(&sched->own_states);
    sched_who_done(&sched->who);
    steal_done(&sched->steal);
}
