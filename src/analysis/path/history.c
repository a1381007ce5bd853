/* SPDX-License-Identifier: MIT */
#include "analysis/path/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/origin_key.h"
#include "base/macro.h"
#include "base/text.h"
#include "event/clock_error.h"

#define ALL_VCPUS "ALL CPUs/TCG" /* as QEMU calls a thread that emulates all vCPUs */

/* ---- states ---- */

static struct history_log *get_log(struct history *history, const struct state_interval *interval)
{
    uint64_t key = origin_key(interval->origin, interval->id);
    struct history_log *log = map_get(&history->logs, key);

    if (likely(log != NULL))
        return log;
    log = calloc(1, sizeof *log);
    if (!log || map_put(&history->logs, key, log) < 0) {
        free(log);
        return NULL;
    }
    log->origin = interval->origin;
    log->id = interval->id;
    return log;
}

static int note_vcpu(struct history *history, const void *vm, int32_t vcpu, int32_t pid)
{
    struct history_vcpu *more;

    for (unsigned i = 0; i < history->n_vcpus; i++)
        if (history->vcpus[i].vcpu == vcpu && history->vcpus[i].vm == vm) {
            if (history->vcpus[i].pid != pid)
                history->vcpus[i].pid = PID_UNKNOWN;
            return 0;
        }
    if (history->n_vcpus == HISTORY_VCPUS_MAX)
        return 0;
    more = realloc(history->vcpus, (history->n_vcpus + 1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    history->vcpus = more;
    more[history->n_vcpus++] = (struct history_vcpu){.vm = vm, .vcpu = vcpu, .pid = pid};
    return 0;
}

static int note_thread(struct history *history, const struct state_interval *interval)
{
    const struct origin *origin = interval->origin;
    const void *vm;

    if (interval->vcpu == VCPU_UNKNOWN && strcmp(interval->name, ALL_VCPUS) != 0)
        return 0;
    vm = origin->vm_of ? origin->vm_of(origin, interval->id) : NULL;
    return note_vcpu(history, vm, interval->vcpu, interval->id);
}

static int make_room(struct history_log *log)
{
    unsigned room = MAX(log->room + log->room / 2, 8u);
    struct history_state *states = realloc(log->states, room * sizeof *states);

    if (!states)
        return -ENOMEM;
    log->states = states;
    log->room = room;
    return 0;
}

static int keep_state(struct history *history, const struct state_interval *interval)
{
    const struct origin *origin = interval->origin;
    struct history_log *log;

    if (origin->layer == LAYER_HOST) {
        history->has_hosts |= history->host && history->host != origin;
        history->host = origin;
        if (interval->of == STATE_SUBJECT_THREAD && note_thread(history, interval) < 0)
            return -ENOMEM;
    }
    history->newest = MAX(history->newest, interval->end);
    if (interval->of == STATE_SUBJECT_THREAD && origin->number < history->n_clocks)
        history->clocks[origin->number].given_until =
            MAX(history->clocks[origin->number].given_until, interval->end);
    if (interval->of == STATE_SUBJECT_CPU)
        return cpu_runs_put(&history->cpus, interval);
    if (interval->state != STATE_UNKNOWN && interval->end > interval->begin) {
        log = get_log(history, interval);
        if (!log || (log->n == log->room && make_room(log) < 0))
            return -ENOMEM;
        log->states[log->n++] = (struct history_state){
            .begin = interval->begin,
            .end = interval->end,
            .moved_at = state_waits((enum state)interval->state) ? interval->moved_at : 0,
            .by = interval->by,
            .cpu = interval->cpu,
            .moved_from = interval->moved_from,
            .state = interval->state,
            .begin_seen = interval->begin_seen,
            .end_seen = interval->end_seen};
        history->n_states++;
    }
    return history->put_state ? history->put_state(history->arg, interval) : 0;
}

static int put_intervals(void *arg, const struct state_interval *intervals, unsigned n)
{
    int r = 0;

    for (unsigned i = 0; i < n && r >= 0; i++)
        if (intervals[i].of == STATE_SUBJECT_THREAD || intervals[i].of == STATE_SUBJECT_CPU)
            r = keep_state(arg, &intervals[i]);
    return r;
}

const struct history_log *history_find(const struct history *history, const struct origin *origin,
                                       int32_t pid)
{
    return map_get(&history->logs, origin_key(origin, pid));
}

unsigned history_first(const struct history_log *log, int64_t time)
{
    unsigned low = 0, high = log->n;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (log->states[middle].end > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool history_knows_interrupts(const struct history *history, const struct origin *origin)
{
    if (wakes_tell_interrupts(&history->wakes, origin))
        return true;
    for (unsigned i = 0; i < history->states->n_sources; i++) {
        const struct origin *other;

        states_counts(history->states, i, &other);
        if (other == origin)
            return states_events(history->states, i) & STATE_EVENT_INTERRUPT;
    }
    return false;
}

/* ---- items ---- */

static _cold_ int make_clocks(struct history *history, const struct origin *origin)
{
    unsigned n = MAX(origin->number + 1, history->n_clocks * 2);
    struct history_clock *more = realloc(history->clocks, n * sizeof *more);

    if (!more)
        return -ENOMEM;
    memset(more + history->n_clocks, 0, (n - history->n_clocks) * sizeof *more);
    history->clocks = more;
    history->n_clocks = n;
    return 0;
}

static void note_clock(struct history_clock *clock, const struct item *item)
{
    if (!clock->origin)
        *clock = (struct history_clock){
            .origin = item->origin, .given_until = INT64_MIN, .part = item->clock_part};
    clock->part = clock_parts_join(clock->part, item->clock_part);
    clock->error_ns = MAX(clock->error_ns, item->error_ns);
}

int history_put(struct history *history, const struct item *item)
{
    if (guest_times_put(&history->guest_times, item) < 0 || wakes_put(&history->wakes, item) < 0)
        return -ENOMEM;
    if (unlikely(item->kind != ITEM_EVENT))
        return 0;
    if (unlikely(item->origin->number >= history->n_clocks) &&
        make_clocks(history, item->origin) < 0)
        return -ENOMEM;
    note_clock(&history->clocks[item->origin->number], item);
    return 0;
}

/* ---- requests ---- */

int history_put_request(struct history *history, const struct io_request *request,
                        uint64_t *ret_number)
{
    int64_t end = io_request_end(request);

    if (history->n_requests == history->requests_room) {
        unsigned room = MAX(history->requests_room * 2, 64u);
        struct history_request *more = realloc(history->requests, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        history->requests = more;
        history->requests_room = room;
    }
    *ret_number = ++history->last_request;
    history->requests_are_sorted =
        history->n_requests == 0 ||
        (history->requests_are_sorted && history->requests[history->n_requests - 1].end <= end);
    history->requests[history->n_requests++] =
        (struct history_request){.request = *request, .end = end, .number = *ret_number};
    history->newest = MAX(history->newest, end);
    return 0;
}

static int compare_requests(const void *a, const void *b)
{
    const struct history_request *x = a, *y = b;

    return (x->end > y->end) - (x->end < y->end);
}

void history_sort(struct history *history)
{
    if (!history->requests_are_sorted && history->n_requests > 1)
        qsort(history->requests, history->n_requests, sizeof *history->requests, compare_requests);
    history->requests_are_sorted = true;
}

/* The first request that ends at TIME or later. */
static unsigned first_request(const struct history *history, int64_t time)
{
    unsigned low = 0, high = history->n_requests;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (history->requests[middle].end >= time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct io_request *history_find_request(const struct history *history,
                                              const struct origin *origin, int64_t time)
{
    const struct io_request *found = NULL;

    for (unsigned i = first_request(history, time);
         i < history->n_requests && history->requests[i].end == time; i++) {
        if (history->requests[i].request.origin != origin)
            continue;
        if (found)
            return NULL;
        found = &history->requests[i].request;
    }
    return found;
}

const struct io_request *history_get_request(const struct history *history, uint64_t number,
                                             int64_t end)
{
    uint64_t place = history->n_requests > 0 ? number - history->requests[0].number : 0;

    /* Most end in the order in which they were put. */
    if (likely(place < history->n_requests && history->requests[place].number == number))
        return &history->requests[place].request;
    for (unsigned i = first_request(history, end);
         i < history->n_requests && history->requests[i].end == end; i++)
        if (history->requests[i].number == number)
            return &history->requests[i].request;
    return NULL;
}

/* ---- all ---- */

/* Whether it is known of a thread of ORIGIN's own monitor that it runs vCPUs: then threads of monitors that the trace does not name are of
 * other machines. */
static bool has_own_vcpus(const struct history *history, const struct origin *origin)
{
    for (unsigned i = 0; i < history->n_vcpus && origin->vm; i++)
        if (history->vcpus[i].vm == origin->vm)
            return true;
    return false;
}

int32_t history_vcpu_thread(const struct history *history, const struct origin *origin,
                            int32_t vcpu, bool *ret_shared)
{
    bool is_exact = has_own_vcpus(history, origin);
    int32_t found = PID_UNKNOWN;

    for (unsigned i = 0; i < history->n_vcpus && vcpu != VCPU_UNKNOWN; i++) {
        const struct history_vcpu *one = &history->vcpus[i];

        if ((one->vcpu != vcpu && one->vcpu != VCPU_UNKNOWN) ||
            (one->vm != origin->vm && (is_exact || (one->vm && origin->vm))))
            continue;
        if (one->pid == PID_UNKNOWN || found != PID_UNKNOWN)
            return PID_UNKNOWN;
        found = one->pid;
        if (ret_shared)
            *ret_shared = one->vcpu == VCPU_UNKNOWN;
    }
    return found;
}

struct history_clock history_clock(const struct history *history, const struct origin *origin)
{
    return origin && origin->number < history->n_clocks && history->clocks[origin->number].origin
               ? history->clocks[origin->number]
               : (struct history_clock){.origin = origin};
}

static const struct states_ops states_ops = {.put = put_intervals};

#define WANTED (STATE_SUBJECTS(STATE_SUBJECT_THREAD) | STATE_SUBJECTS(STATE_SUBJECT_CPU))

void history_init(struct history *history)
{
    *history = (struct history){.guest_times.text = TEXT_IN_MEMORY,
                                .max = HISTORY_MAX,
                                .limit = HISTORY_MAX,
                                .gone_until = INT64_MIN,
                                .held_from = INT64_MAX,
                                .newest = INT64_MIN};
    states_init(&history->own_states, &states_ops, history);
    history->own_states.wanted = WANTED;
    history->states = &history->own_states;
}

void history_share_states(struct history *history, struct states *states)
{
    states_share(states, &states_ops, history);
    states->wanted |= WANTED;
    history->states = states;
}

int history_put_states(struct history *history, const struct item *items, unsigned n)
{
    return history->states == &history->own_states ? states_put(history->states, items, n) : 0;
}

void history_begin_loss(struct history *history, const struct item *item)
{
    if (history->states == &history->own_states)
        states_begin_loss(history->states, item);
}

int history_finish(struct history *history)
{
    return history->states == &history->own_states ? states_finish(history->states) : 0;
}

static unsigned get_most(const struct history *history)
{
    return MAX(MAX(history->n_states + history->cpus.n, history->wakes.n), history->guest_times.n);
}

bool history_is_crowded(const struct history *history)
{
    return get_most(history) >= history->limit || history->n_requests >= HISTORY_REQUESTS_MAX;
}

/* Until when all kernels have given the states of their threads. */
static int64_t all_given_until(const struct history *history)
{
    int64_t until = INT64_MAX;

    for (unsigned i = 0; i < history->states->n_sources; i++) {
        const struct origin *origin;

        states_counts(history->states, i, &origin);
        if ((states_events(history->states, i) & STATE_EVENT_SWITCH) &&
            origin->number < history->n_clocks)
            until = MIN(until, history->clocks[origin->number].given_until);
    }
    return until;
}

int64_t history_next_drop(const struct history *history)
{
    bool is_full = get_most(history) >= HISTORY_LATE * history->max ||
                   history->n_requests >= HISTORY_REQUESTS_MAX;
    int64_t oldest = cpu_runs_oldest(&history->cpus), newest = history->newest, until;
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&history->logs, &iter, &key, &value)) {
        const struct history_log *log = value;

        if (log->n > 0)
            oldest = MIN(oldest, log->states[0].end);
    }
    if (history->wakes.n > 0) {
        oldest = MIN(oldest, history->wakes.wakes[0].time);
        newest = MAX(newest, history->wakes.wakes[history->wakes.n - 1].time);
    }
    if (history->n_requests > 0)
        oldest = MIN(oldest, history->requests[0].end);
    until = oldest < newest ? oldest + (newest - oldest) / 2 : newest;
    if (is_full)
        return until;
    until = MIN(MIN(until, history->held_from), all_given_until(history));
    return until >= oldest ? until : INT64_MIN;
}

static void drop_states(struct history *history, struct history_log *log, int64_t until)
{
    unsigned gone = history_first(log, until);

    memmove(log->states, log->states + gone, (log->n - gone) * sizeof *log->states);
    log->n -= gone;
    history->n_states -= gone;
    if (log->n < log->room / 4) {
        struct history_state *less =
            log->n > 0 ? realloc(log->states, log->n * sizeof *less) : NULL;

        if (log->n == 0)
            free(log->states);
        if (log->n == 0 || less) {
            log->states = less;
            log->room = log->n;
        }
    }
}

void history_drop_oldest(struct history *history, int64_t until)
{
    unsigned n = 0;
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&history->logs, &iter, &key, &value))
        drop_states(history, value, until);
    cpu_runs_drop(&history->cpus, until);
    guest_times_drop(&history->guest_times, until);
    wakes_drop(&history->wakes, until);
    while (n < history->n_requests && history->requests[n].end <= until)
        n++;
    if (n > 0)
        memmove(history->requests, history->requests + n,
                (history->n_requests - n) * sizeof *history->requests);
    history->n_requests -= n;
    history->gone_until = MAX(history->gone_until, until);
    history->limit =
        MAX(history->max, MIN(get_most(history) + history->max / 4, HISTORY_LATE * history->max));
}

void history_done(struct history *history)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    states_done(&history->own_states);
    guest_times_done(&history->guest_times);
    while (map_next(&history->logs, &iter, &key, &value)) {
        free(((struct history_log *)value)->states);
        free(value);
    }
    cpu_runs_done(&history->cpus);
    wakes_done(&history->wakes);
    map_done(&history->logs);
    free(history->requests);
    free(history->vcpus);
    free(history->clocks);
    *history = (struct history){0};
}
