/* SPDX-License-Identifier: MIT */
#include "analysis/path/walk_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/clock_error.h"

/* ---- segments ---- */

/* The clock of TIME, which SIDE of SEGMENT has. */
static struct path_limit limit_of(const struct path_walk *walk, const struct path_segment *segment,
                                  unsigned side, int64_t time)
{
    struct path_limit limit = {.clock = history_clock(walk->history, segment->origin)};

    /* The outermost was there first: what is inside was cut to it. */
    for (const struct path_bounds *bounds = walk->bounds; bounds; bounds = bounds->outer)
        if (bounds->times[side] == time)
            limit = (struct path_limit){.clock = bounds->clocks[side], .is_known = true};
    return limit;
}

void path_walk_add(struct path_walk *walk, const struct path_segment *segment)
{
    struct path_segment *last = walk->n > 0 ? &walk->segments[walk->n - 1] : NULL;

    if (segment->begin >= segment->end)
        return;
    if (walk->n > walk->n_done && last->what == segment->what && last->origin == segment->origin &&
        last->pid == segment->pid && last->cpu == segment->cpu && last->reason == segment->reason &&
        last->name == segment->name && last->call == segment->call &&
        last->wakes == segment->wakes && last->device == segment->device && last->n_behind == 0 &&
        segment->n_behind == 0) {
        last->end = segment->end;
        last->limits[1] = limit_of(walk, segment, 1, segment->end);
        return;
    }
    if (last && walk->n >= PATH_SEGMENTS_MAX) {
        *last = (struct path_segment){
            .begin = last->begin,
            .end = segment->end,
            .limits = {last->limits[0], limit_of(walk, segment, 1, segment->end)},
            .pid = PID_UNKNOWN,
            .cpu = CPU_UNKNOWN,
            .what = PATH_UNKNOWN,
            .reason = PATH_TOO_DEEP};
        return;
    }
    if (!walk->segments || walk->n >= walk->room) {
        unsigned room = MAX(walk->room * 2, 16u);
        struct path_segment *more = realloc(walk->segments, room * sizeof *more);

        if (!more) {
            walk->error = -ENOMEM;
            return;
        }
        walk->segments = more;
        walk->room = room;
    }
    walk->segments[walk->n] = *segment;
    walk->segments[walk->n].limits[0] = limit_of(walk, segment, 0, segment->begin);
    walk->segments[walk->n].limits[1] = limit_of(walk, segment, 1, segment->end);
    walk->n++;
}

void path_walk_add_unknown(struct path_walk *walk, const struct origin *origin, int32_t pid,
                           enum path_reason reason, int64_t begin, int64_t end)
{
    path_walk_add(walk, &(struct path_segment){.begin = begin,
                                               .end = end,
                                               .origin = origin,
                                               .pid = pid,
                                               .cpu = CPU_UNKNOWN,
                                               .what = PATH_UNKNOWN,
                                               .reason = (uint8_t)reason});
}

/* ---- who ran on a CPU ---- */

static void add_behind(struct path_walk *walk, unsigned first, int32_t by, int64_t ticks)
{
    unsigned i = first;

    if (ticks <= 0)
        return;
    while (i < walk->n_behind && walk->behind[i].by != by)
        i++;
    if (i == walk->n_behind) {
        if (i == walk->behind_room) {
            unsigned room = MAX(walk->behind_room * 2, 16u);
            struct path_behind *more = realloc(walk->behind, room * sizeof *more);

            if (!more) {
                walk->error = -ENOMEM;
                return;
            }
            walk->behind = more;
            walk->behind_room = room;
        }
        walk->behind[walk->n_behind++] = (struct path_behind){.by = by};
    }
    walk->behind[i].ticks += ticks;
}

static int compare_behind(const void *a, const void *b)
{
    const struct path_behind *x = a, *y = b;

    return x->ticks != y->ticks ? (x->ticks < y->ticks) - (x->ticks > y->ticks)
                                : (x->by > y->by) - (x->by < y->by);
}

struct adding {
    struct path_walk *walk;
    unsigned first;
};

static int add_runner(void *arg, int32_t by, int64_t begin, int64_t end)
{
    const struct adding *adding = arg;

    add_behind(adding->walk, adding->first, by, end - begin);
    return adding->walk->error;
}

/* Thread PID waits for CPU of ORIGIN. */
static void walk_wait(struct path_walk *walk, const struct origin *origin, int32_t pid, int32_t cpu,
                      int64_t begin, int64_t end)
{
    unsigned first = walk->n_behind;

    if (begin >= end || cpu_log_foreach(history_cpu(walk->history, origin, cpu), begin, end,
                                        add_runner, &(struct adding){walk, first}) < 0)
        return;
    qsort(walk->behind + first, walk->n_behind - first, sizeof *walk->behind, compare_behind);
    path_walk_add(walk, &(struct path_segment){.begin = begin,
                                               .end = end,
                                               .origin = origin,
                                               .pid = pid,
                                               .cpu = MAX(cpu, CPU_UNKNOWN),
                                               .what = PATH_WAITS,
                                               .first_behind = first,
                                               .n_behind = walk->n_behind - first});
}

/* ---- what a thread waited for ---- */

const struct origin *path_walk_kernel(const struct history *history, const struct origin *origin)
{
    if (origin && (origin->layer == LAYER_GUEST || origin->layer == LAYER_HOST))
        return origin;
    return history->has_hosts ? NULL : history->host;
}

/* It sleeps in CALL, which may be NULL, until the interrupt CAUSE, at END. */
static void walk_interrupt(struct path_walk *walk, const struct origin *origin, int32_t pid,
                           const struct wake_cause *cause, const char *call, int64_t begin,
                           int64_t end)
{
    const struct io_request *request =
        cause->completed_at != TIME_UNKNOWN
            ? history_find_request(walk->history, origin, cause->completed_at)
            : NULL;
    struct path_segment segment = {.begin = begin,
                                   .end = end,
                                   .origin = origin,
                                   .pid = pid,
                                   .cpu = CPU_UNKNOWN,
                                   .what = PATH_INTERRUPT,
                                   .name = cause->name,
                                   .call = call};

    if (request) {
        path_walk_follow_request(walk, request, begin, end);
        return;
    }
    if (cause->completed_at != TIME_UNKNOWN) {
        segment.what = PATH_UNKNOWN;
        segment.reason = PATH_NO_REQUEST;
        segment.name = segment.call = NULL;
    } else if (cause->interrupt == INTERRUPT_TIMER) {
        segment.what = PATH_TIMER;
        segment.name = NULL;
    }
    path_walk_add(walk, &segment);
}

/* Thread PID of ORIGIN was woken in CALL, which may be NULL, by WAKER: what that did. */
static void walk_waker(struct path_walk *walk, const struct origin *origin, int32_t pid,
                       const char *call, int32_t waker, int64_t begin, int64_t end)
{
    const char *outer_call = walk->call;
    int32_t outer_wakes = walk->wakes;

    walk->call = call;
    walk->wakes = call ? pid : 0;
    path_walk_follow(walk, origin, waker, begin, end);
    walk->call = outer_call;
    walk->wakes = outer_wakes;
}

/* It slept until END, when it was woken as WOKEN says; NULL: that is not known. */
static void walk_sleep(struct path_walk *walk, const struct history_log *log,
                       const struct history_state *sleep, const struct history_state *woken,
                       int64_t begin, int64_t end)
{
    const struct origin *origin = log->origin;
    bool is_woken =
        woken && woken->state == STATE_WOKEN && woken->begin == sleep->end && woken->begin_seen;
    /* The wait that follows may not be over, or not be given yet; who woke the thread in an interrupt is known by now. */
    const struct wake *wake = sleep->end_seen && (is_woken || !woken)
                                  ? wakes_find(&walk->history->wakes, origin, log->id, sleep->end)
                                  : NULL;
    const char *call = wake ? call_phrase(wake->call) : NULL;

    if (wake && wake->in_interrupt) {
        walk_interrupt(walk, origin, log->id, &wake->cause, call, begin, end);
    } else if (!sleep->end_seen || !is_woken) {
        path_walk_add_unknown(walk, origin, log->id, PATH_NO_WAKER, begin, end);
    } else if (sleep->end <= walk->history->gone_until) {
        path_walk_add_unknown(walk, origin, log->id, PATH_TOO_OLD, begin, end);
    } else if (woken->by == STATE_BY_INTERRUPT || woken->by == 0) {
        /* The idle thread wakes nobody. */
        walk_interrupt(walk, origin, log->id, &(struct wake_cause){.completed_at = TIME_UNKNOWN},
                       call, begin, end);
    } else if (woken->by > 0 && woken->by != log->id) {
        if (history_knows_interrupts(walk->history, origin))
            walk_waker(walk, origin, log->id, call, woken->by, begin, end);
        else
            path_walk_add_unknown(walk, origin, log->id, PATH_MAYBE_IRQ, begin, end);
    } else {
        path_walk_add_unknown(walk, origin, log->id, PATH_NO_WAKER, begin, end);
    }
}

static enum path_reason why_unknown(const struct path_walk *walk, const struct origin *origin,
                                    int64_t begin)
{
    if (!states_has_switches(walk->history->states, origin))
        return PATH_NO_STATES;
    return begin < walk->history->gone_until ? PATH_TOO_OLD : PATH_NOT_SEEN;
}

void path_walk_vcpu(struct path_walk *walk, const struct origin *guest, int32_t pid, int32_t cpu,
                    int64_t begin, int64_t end)
{
    const struct history *history = walk->history;
    const struct origin *host = history->has_hosts ? NULL : history->host;
    bool is_shared = false;
    int32_t runner = host ? history_vcpu_thread(history, guest, cpu, &is_shared) : PID_UNKNOWN;
    const struct path_segment runs = {.origin = guest,
                                      .pid = pid,
                                      .cpu = cpu,
                                      .what = PATH_RUNS,
                                      .begin = begin,
                                      .end = end,
                                      .call = walk->call,
                                      .wakes = walk->wakes};
    const struct history_clock clock = history_clock(history, guest);
    const struct path_bounds bounds = {
        .outer = walk->bounds, .times = {begin, end}, .clocks = {clock, clock}};
    unsigned before = walk->n, n_done = walk->n_done;

    if (runner == PID_UNKNOWN) {
        path_walk_add(walk, &runs);
        return;
    }
    walk->n_done = before;
    walk->bounds = &bounds;
    walk->call = NULL; /* of the guest */
    walk->wakes = 0;
    path_walk_follow(walk, host, runner, begin, end);
    walk->call = runs.call;
    walk->wakes = runs.wakes;
    walk->bounds = bounds.outer;
    walk->n_done = n_done;
    /* While that runs, the guest's thread does; unless it may run another vCPU of the guest. */
    for (unsigned i = before; i < walk->n && !is_shared; i++) {
        struct path_segment *segment = &walk->segments[i];

        if (segment->what == PATH_RUNS && segment->origin == host && segment->pid == runner &&
            pid != PID_UNKNOWN) {
            segment->origin = guest;
            segment->pid = pid;
            segment->cpu = cpu;
            segment->call = runs.call;
            segment->wakes = runs.wakes;
        }
    }
}

/* Thread PID of a guest waits for its CPU: while the guest has nothing to run there, for what the vCPU's thread does. */
static void walk_guest_wait(struct path_walk *walk, const struct origin *guest, int32_t pid,
                            int32_t cpu, int64_t begin, int64_t end)
{
    struct cpu_log *log = history_cpu(walk->history, guest, cpu);
    int64_t from = begin;
    uint64_t first = 0, until = 0;

    if (log)
        cpu_log_range(log, begin, end, &first, &until);
    for (uint64_t i = first; i < until; i++) {
        const struct cpu_run *run = cpu_log_at(log, i);

        if (run->by != RUN_IDLE ||
            history_vcpu_thread(walk->history, guest, cpu, NULL) == PID_UNKNOWN ||
            !walk->history->host || walk->history->has_hosts)
            continue;
        walk_wait(walk, guest, pid, cpu, from, MAX(run->begin, begin));
        path_walk_vcpu(walk, guest, PID_UNKNOWN, cpu, MAX(run->begin, begin), MIN(run->end, end));
        from = MIN(run->end, end);
    }
    walk_wait(walk, guest, pid, cpu, from, end);
}

static void walk_part_of_wait(struct path_walk *walk, const struct history_log *log, int32_t cpu,
                              int64_t begin, int64_t end)
{
    if (log->origin->layer == LAYER_GUEST && !walk->is_own)
        walk_guest_wait(walk, log->origin, log->id, cpu, begin, end);
    else
        walk_wait(walk, log->origin, log->id, cpu, begin, end);
}

static void add_run(struct path_walk *walk, const struct history_log *log, int32_t cpu,
                    enum path_what what, const char *name, int64_t begin, int64_t end)
{
    path_walk_add(walk, &(struct path_segment){.begin = begin,
                                               .end = end,
                                               .origin = log->origin,
                                               .pid = log->id,
                                               .cpu = cpu,
                                               .what = (uint8_t)what,
                                               .name = name,
                                               .call = what == PATH_RUNS ? walk->call : NULL,
                                               .wakes = what == PATH_RUNS ? walk->wakes : 0});
}

/* Whether all that the thread of LOG did from TIME to state number I is known. */
static bool is_known_since(const struct history_log *log, unsigned i, int64_t time)
{
    while (log->states[i].begin > time) {
        if (i == 0 || log->states[i - 1].end != log->states[i].begin)
            return false;
        i--;
    }
    return true;
}

/* A thread of the host runs in state NUMBER, from BEGIN to END: inside of its guest, or after an exit. */
static void walk_run(struct path_walk *walk, const struct history_log *log, unsigned number,
                     int64_t begin, int64_t end)
{
    const struct history_state *run = &log->states[number];
    const struct guest_log *inside =
        guest_times_find(&walk->history->guest_times, log->origin, log->id);
    const char *reason = NULL;
    int64_t from = MIN(MAX(begin, walk->history->gone_until), end);
    unsigned i;

    if (!inside) {
        add_run(walk, log, run->cpu, PATH_RUNS, NULL, begin, end);
        return;
    }
    path_walk_add_unknown(walk, log->origin, log->id, PATH_TOO_OLD, begin, from);
    i = guest_log_first(inside, from);
    if (i > 0 && is_known_since(log, number, inside->times[i - 1].end))
        reason = inside->times[i - 1].reason;
    for (; i < inside->n && inside->times[i].begin < end; i++) {
        const struct guest_time *time = &inside->times[i];
        int64_t since = MIN(MAX(time->begin, from), end), until = MIN(time->end, end);
        /* A run that has begun unseen was inside all the time. */
        bool is_whole = time->begin_is_missing && time->begin < run->begin && !run->begin_seen;

        add_run(walk, log, run->cpu, PATH_EXIT, reason, from, since);
        if (time->end_is_missing || (time->begin_is_missing && !is_whole))
            path_walk_add_unknown(walk, log->origin, log->id, PATH_NOT_SEEN, since, until);
        else
            add_run(walk, log, run->cpu, PATH_RUNS, NULL, since, until);
        from = MAX(from, until);
        reason = time->reason;
    }
    if (inside->has_entered && inside->entered < end) {
        int64_t since = MAX(inside->entered, from);

        add_run(walk, log, run->cpu, PATH_EXIT, reason, from, since);
        add_run(walk, log, run->cpu, PATH_RUNS, NULL, since, end);
    } else {
        add_run(walk, log, run->cpu, PATH_EXIT, reason, from, end);
    }
}

/* State number I of LOG, from BEGIN to END. */
static void walk_state(struct path_walk *walk, const struct history_log *log, unsigned i,
                       int64_t begin, int64_t end)
{
    const struct history_state *state = &log->states[i];
    const struct history_state *next = i + 1 < log->n ? state + 1 : NULL;
    struct cpu_wait waits[2];
    int32_t cpu = state->cpu;
    unsigned n;

    switch ((enum state)state->state) {
    case STATE_RUNNING:
        if (walk->is_own)
            add_run(walk, log, cpu, PATH_RUNS, NULL, begin, end);
        else if (log->origin->layer == LAYER_GUEST)
            path_walk_vcpu(walk, log->origin, log->id, cpu, begin, end);
        else
            walk_run(walk, log, i, begin, end);
        break;
    case STATE_RUNNABLE:
    case STATE_WOKEN:
    case STATE_PREEMPTED:
        n = cpu_waits(begin, end, state->moved_from, state->moved_at, state->cpu, waits);
        for (unsigned j = 0; j < n; j++)
            walk_part_of_wait(walk, log, waits[j].cpu, waits[j].begin, waits[j].end);
        break;
    case STATE_SLEEPING:
    case STATE_UNINTERRUPTIBLE:
        if (walk->is_own)
            add_run(walk, log, CPU_UNKNOWN, PATH_SLEEPS, NULL, begin, end);
        else if (state->end > end)
            path_walk_add_unknown(walk, log->origin, log->id, PATH_NOT_WOKEN, begin, end);
        else
            walk_sleep(walk, log, state, next, begin, end);
        break;
    default: path_walk_add_unknown(walk, log->origin, log->id, PATH_NOT_SEEN, begin, end); break;
    }
}

void path_walk_follow(struct path_walk *walk, const struct origin *origin, int32_t pid,
                      int64_t begin, int64_t end)
{
    const struct origin *kernel = path_walk_kernel(walk->history, origin);
    const struct history_log *log =
        kernel && pid > 0 ? history_find(walk->history, kernel, pid) : NULL;
    int64_t from = begin;

    if (begin >= end)
        return;
    if (walk->depth >= PATH_DEPTH_MAX) {
        path_walk_add_unknown(walk, origin, pid, PATH_TOO_DEEP, begin, end);
        return;
    }
    walk->depth++;
    for (unsigned i = log ? history_first(log, begin) : 0;
         log && i < log->n && log->states[i].begin < end && !walk->error; i++) {
        int64_t state_begin = MAX(log->states[i].begin, begin);
        int64_t state_end = MIN(log->states[i].end, end);

        if (state_begin > from)
            path_walk_add_unknown(walk, kernel, pid, why_unknown(walk, kernel, from), from,
                                  state_begin);
        walk_state(walk, log, i, state_begin, state_end);
        from = state_end;
    }
    if (from < end)
        path_walk_add_unknown(walk, origin, pid,
                              pid <= 0  ? PATH_NO_THREAD
                              : !kernel ? PATH_NO_STATES
                                        : why_unknown(walk, kernel, from),
                              from, end);
    walk->depth--;
}

/* ---- all ---- */

/* PATH-3 */
static void set_errors(struct path_walk *walk)
{
    for (unsigned i = 0; i < walk->n; i++) {
        struct path_segment *segment = &walk->segments[i];
        struct path_limit begin = segment->limits[0], end = segment->limits[1];
        uint32_t sum;

        if (!begin.is_known && i > 0 && segment[-1].limits[1].clock.origin)
            begin = segment[-1].limits[1];
        if (!end.is_known && i + 1 < walk->n && segment[1].limits[0].clock.origin)
            end = segment[1].limits[0];
        sum = clock_errors_sum(begin.clock.error_ns, end.clock.error_ns);
        segment->error_ns =
            begin.clock.origin != end.clock.origin || !begin.clock.origin
                ? sum
                : clock_duration_error(begin.clock.origin, segment->end - segment->begin,
                                       clock_parts_join(begin.clock.part, end.clock.part), sum);
    }
}

static void begin_walk(struct path_walk *walk)
{
    walk->n = walk->n_done = walk->n_behind = walk->depth = 0;
    walk->error = 0;
    walk->is_own = false;
    walk->call = NULL;
    walk->wakes = 0;
    walk->bounds = NULL;
}

int path_walk_thread(struct path_walk *walk, const struct path_end *end, int64_t begin,
                     int64_t until)
{
    begin_walk(walk);
    if (end->in_interrupt)
        walk_interrupt(walk, end->origin, end->pid, &end->cause, NULL, begin, until);
    else
        path_walk_follow(walk, end->origin, end->pid, begin, until);
    set_errors(walk);
    return walk->error;
}

int path_walk_request(struct path_walk *walk, const struct io_request *request)
{
    begin_walk(walk);
    path_walk_follow_request(walk, request, io_request_begin(request), io_request_end(request));
    set_errors(walk);
    return walk->error;
}

int path_walk_own(struct path_walk *walk, const struct origin *origin, int32_t pid, int64_t begin,
                  int64_t until)
{
    begin_walk(walk);
    walk->is_own = true;
    path_walk_follow(walk, origin, pid, begin, until);
    set_errors(walk);
    return walk->error;
}

void path_walk_done(struct path_walk *walk)
{
    free(walk->segments);
    free(walk->behind);
    *walk = (struct path_walk){0};
}
