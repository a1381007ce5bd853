/* SPDX-License-Identifier: MIT */
#include "analysis/path/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/clock_error.h"

static void walk_thread(struct path_walk *walk, const struct origin *origin, int32_t pid,
                        int64_t begin, int64_t end);
static void walk_request(struct path_walk *walk, const struct io_request *request, int64_t begin,
                         int64_t end);

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

/* The next segment, from BEGIN to END; nothing if it is empty. It may be a part of the one before. */
static void add(struct path_walk *walk, const struct path_segment *segment)
{
    struct path_segment *last = walk->n > 0 ? &walk->segments[walk->n - 1] : NULL;

    if (segment->begin >= segment->end)
        return;
    if (walk->n > walk->n_done && last->what == segment->what && last->origin == segment->origin &&
        last->pid == segment->pid && last->cpu == segment->cpu && last->reason == segment->reason &&
        last->name == segment->name && last->device == segment->device && last->n_behind == 0 &&
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

static void add_unknown(struct path_walk *walk, const struct origin *origin, int32_t pid,
                        enum path_reason reason, int64_t begin, int64_t end)
{
    add(walk, &(struct path_segment){.begin = begin,
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

static int32_t runner_of(const struct history_state *run)
{
    return run->state == STATE_IDLE        ? PATH_BEHIND_IDLE
           : run->state == STATE_INTERRUPT ? PATH_BEHIND_INTERRUPT
                                           : run->by;
}

/* Thread PID waits for CPU of ORIGIN. */
static void walk_wait(struct path_walk *walk, const struct origin *origin, int32_t pid, int32_t cpu,
                      int64_t begin, int64_t end)
{
    const struct history_log *log =
        cpu >= 0 ? history_find(walk->history, origin, STATE_SUBJECT_CPU, cpu) : NULL;
    unsigned first = walk->n_behind;
    int64_t rest = end - begin;

    if (begin >= end)
        return;
    for (unsigned i = log ? history_first(log, begin) : 0;
         log && i < log->n && log->states[i].begin < end; i++) {
        const struct history_state *run = &log->states[i];
        int64_t ticks = MIN(run->end, end) - MAX(run->begin, begin);

        add_behind(walk, first, runner_of(run), ticks);
        rest -= ticks;
    }
    add_behind(walk, first, PATH_BEHIND_UNKNOWN, rest);
    if (walk->error)
        return;
    qsort(walk->behind + first, walk->n_behind - first, sizeof *walk->behind, compare_behind);
    add(walk, &(struct path_segment){.begin = begin,
                                     .end = end,
                                     .origin = origin,
                                     .pid = pid,
                                     .cpu = cpu,
                                     .what = PATH_WAITS,
                                     .first_behind = first,
                                     .n_behind = walk->n_behind - first});
}

/* ---- what a thread waited for ---- */

/* The states of PID of ORIGIN, as the kernel that schedules it has them; NULL: it is not known which. A VMM and a program are
 * scheduled by the host. */
static const struct origin *kernel_of(const struct history *history, const struct origin *origin)
{
    if (origin && (origin->layer == LAYER_GUEST || origin->layer == LAYER_HOST))
        return origin;
    return history->has_hosts ? NULL : history->host;
}

/* It sleeps until the interrupt CAUSE, at END. */
static void walk_interrupt(struct path_walk *walk, const struct origin *origin, int32_t pid,
                           const struct wake_cause *cause, int64_t begin, int64_t end)
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
                                   .name = cause->name};

    if (request) {
        walk_request(walk, request, begin, end);
        return;
    }
    if (cause->completed_at != TIME_UNKNOWN) {
        segment.what = PATH_UNKNOWN;
        segment.reason = PATH_NO_REQUEST;
        segment.name = NULL;
    } else if (cause->interrupt == INTERRUPT_TIMER) {
        segment.what = PATH_TIMER;
        segment.name = NULL;
    }
    add(walk, &segment);
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
    const struct wake_cause *cause =
        sleep->end_seen && (is_woken || !woken)
            ? wakes_find(&walk->history->wakes, origin, log->id, sleep->end)
            : NULL;

    if (cause) {
        walk_interrupt(walk, origin, log->id, cause, begin, end);
    } else if (!sleep->end_seen || !is_woken) {
        add_unknown(walk, origin, log->id, PATH_NO_WAKER, begin, end);
    } else if (sleep->end <= walk->history->gone_until) {
        add_unknown(walk, origin, log->id, PATH_TOO_OLD, begin, end);
    } else if (woken->by == STATE_BY_INTERRUPT || woken->by == 0) {
        /* The idle thread wakes nobody. */
        walk_interrupt(walk, origin, log->id, &(struct wake_cause){.completed_at = TIME_UNKNOWN},
                       begin, end);
    } else if (woken->by > 0 && woken->by != log->id) {
        if (history_knows_interrupts(walk->history, origin))
            walk_thread(walk, origin, woken->by, begin, end);
        else
            add_unknown(walk, origin, log->id, PATH_MAYBE_IRQ, begin, end);
    } else {
        add_unknown(walk, origin, log->id, PATH_NO_WAKER, begin, end);
    }
}

static enum path_reason why_unknown(const struct path_walk *walk, const struct origin *origin,
                                    int64_t begin)
{
    if (!states_has_switches(&walk->history->states, origin))
        return PATH_NO_STATES;
    return begin < walk->history->gone_until ? PATH_TOO_OLD : PATH_NOT_SEEN;
}

/* Thread PID of a guest runs on its CPU: what the thread of the host did that runs this vCPU. */
static void walk_vcpu(struct path_walk *walk, const struct origin *guest, int32_t pid, int32_t cpu,
                      int64_t begin, int64_t end)
{
    const struct history *history = walk->history;
    const struct origin *host = history->has_hosts ? NULL : history->host;
    bool is_shared = false;
    int32_t runner = host ? history_vcpu_thread(history, guest, cpu, &is_shared) : PID_UNKNOWN;
    const struct path_segment runs = {
        .origin = guest, .pid = pid, .cpu = cpu, .what = PATH_RUNS, .begin = begin, .end = end};
    const struct history_clock clock = history_clock(history, guest);
    const struct path_bounds bounds = {
        .outer = walk->bounds, .times = {begin, end}, .clocks = {clock, clock}};
    unsigned before = walk->n, n_done = walk->n_done;

    if (runner == PID_UNKNOWN) {
        add(walk, &runs);
        return;
    }
    walk->n_done = before;
    walk->bounds = &bounds;
    walk_thread(walk, host, runner, begin, end);
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
        }
    }
}

/* Thread PID of a guest waits for its CPU: while the guest has nothing to run there, for what the vCPU's thread does. */
static void walk_guest_wait(struct path_walk *walk, const struct origin *guest, int32_t pid,
                            int32_t cpu, int64_t begin, int64_t end)
{
    const struct history_log *log =
        cpu >= 0 ? history_find(walk->history, guest, STATE_SUBJECT_CPU, cpu) : NULL;
    int64_t from = begin;

    for (unsigned i = log ? history_first(log, begin) : 0;
         log && i < log->n && log->states[i].begin < end; i++) {
        const struct history_state *run = &log->states[i];

        if (run->state != STATE_IDLE ||
            history_vcpu_thread(walk->history, guest, cpu, NULL) == PID_UNKNOWN ||
            !walk->history->host || walk->history->has_hosts)
            continue;
        walk_wait(walk, guest, pid, cpu, from, MAX(run->begin, begin));
        walk_vcpu(walk, guest, PID_UNKNOWN, cpu, MAX(run->begin, begin), MIN(run->end, end));
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
    add(walk, &(struct path_segment){.begin = begin,
                                     .end = end,
                                     .origin = log->origin,
                                     .pid = log->id,
                                     .cpu = cpu,
                                     .what = (uint8_t)what,
                                     .name = name});
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
    add_unknown(walk, log->origin, log->id, PATH_TOO_OLD, begin, from);
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
            add_unknown(walk, log->origin, log->id, PATH_NOT_SEEN, since, until);
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
    int32_t cpu = state->cpu;

    switch ((enum state)state->state) {
    case STATE_RUNNING:
        if (walk->is_own)
            add_run(walk, log, cpu, PATH_RUNS, NULL, begin, end);
        else if (log->origin->layer == LAYER_GUEST)
            walk_vcpu(walk, log->origin, log->id, cpu, begin, end);
        else
            walk_run(walk, log, i, begin, end);
        break;
    case STATE_RUNNABLE:
    case STATE_WOKEN:
    case STATE_PREEMPTED:
        if (state->moved_from == STATE_MOVED_UNSEEN || state->moved_from == STATE_MOVED_OFTEN) {
            walk_part_of_wait(walk, log, CPU_UNKNOWN, begin, end);
        } else if (state->moved_from != CPU_UNKNOWN && state->moved_at > begin) {
            walk_part_of_wait(walk, log, state->moved_from, begin, MIN(state->moved_at, end));
            walk_part_of_wait(walk, log, cpu, MIN(state->moved_at, end), end);
        } else {
            walk_part_of_wait(walk, log, cpu, begin, end);
        }
        break;
    case STATE_SLEEPING:
    case STATE_UNINTERRUPTIBLE:
        if (walk->is_own)
            add_run(walk, log, CPU_UNKNOWN, PATH_SLEEPS, NULL, begin, end);
        else if (state->end > end)
            add_unknown(walk, log->origin, log->id, PATH_NOT_WOKEN, begin, end);
        else
            walk_sleep(walk, log, state, next, begin, end);
        break;
    default: add_unknown(walk, log->origin, log->id, PATH_NOT_SEEN, begin, end); break;
    }
}

static void walk_thread(struct path_walk *walk, const struct origin *origin, int32_t pid,
                        int64_t begin, int64_t end)
{
    const struct origin *kernel = kernel_of(walk->history, origin);
    const struct history_log *log =
        kernel && pid > 0 ? history_find(walk->history, kernel, STATE_SUBJECT_THREAD, pid) : NULL;
    int64_t from = begin;

    if (begin >= end)
        return;
    if (walk->depth >= PATH_DEPTH_MAX) {
        add_unknown(walk, origin, pid, PATH_TOO_DEEP, begin, end);
        return;
    }
    walk->depth++;
    for (unsigned i = log ? history_first(log, begin) : 0;
         log && i < log->n && log->states[i].begin < end && !walk->error; i++) {
        int64_t state_begin = MAX(log->states[i].begin, begin);
        int64_t state_end = MIN(log->states[i].end, end);

        if (state_begin > from)
            add_unknown(walk, kernel, pid, why_unknown(walk, kernel, from), from, state_begin);
        walk_state(walk, log, i, state_begin, state_end);
        from = state_end;
    }
    if (from < end)
        add_unknown(walk, origin, pid,
                    pid <= 0  ? PATH_NO_THREAD
                    : !kernel ? PATH_NO_STATES
                              : why_unknown(walk, kernel, from),
                    from, end);
    walk->depth--;
}

/* ---- requests ---- */

/* Whether thread PID is one of a pool of QEMU. *RET_KNOWN: its name is known. */
static bool is_worker(const struct origin *origin, int32_t pid, bool *ret_known)
{
    const char *name = pid > 0 ? origin_task_name(origin, pid) : NULL;

    *ret_known = name || pid == 0 || pid == STATE_BY_INTERRUPT;
    return name && strcmp(name, PATH_WORKER) == 0;
}

/* Looks for the thread of a pool that woke the thread of LOG last from BEGIN to END; *RET_TIME is when. If that is not known, PID_UNKNOWN,
 * and *RET_TIME is from when on it is known that none did. PID_UNKNOWN and BEGIN: none did. */
static int32_t find_worker(const struct history_log *log, int64_t begin, int64_t end,
                           int64_t *ret_time)
{
    int64_t known_from = end;
    bool is_known;

    for (unsigned i = history_first(log, end - 1) + 1; i-- > 0 && known_from > begin;) {
        const struct history_state *state = i < log->n ? &log->states[i] : NULL;

        if (!state || state->begin >= end)
            continue;
        *ret_time = known_from;
        if (state->end < known_from || state->state == STATE_RUNNABLE ||
            (state_is_sleep((enum state)state->state) && state->end < end &&
             state[1].state != STATE_WOKEN))
            return PID_UNKNOWN;
        known_from = state->begin;
        if (state->state != STATE_WOKEN || state->begin <= begin)
            continue;
        *ret_time = state->begin;
        if (is_worker(log->origin, state->by, &is_known))
            return state->by;
        if (!is_known)
            return PID_UNKNOWN;
    }
    *ret_time = MIN(MAX(known_from, begin), end);
    return PID_UNKNOWN;
}

/* A stage in which thread PID of a VMM had to act. While a pool works on a request, it is the time of the thread of the pool that wakes
 * it at last. */
static void walk_vmm(struct path_walk *walk, const struct io_request *request, int32_t pid,
                     unsigned point, int64_t begin, int64_t end)
{
    const struct origin *host = kernel_of(walk->history, NULL);
    const struct history_log *log =
        host && pid > 0 ? history_find(walk->history, host, STATE_SUBJECT_THREAD, pid) : NULL;
    int64_t from = begin;
    int32_t worker;

    if (!log) {
        add(walk, &(struct path_segment){.begin = begin,
                                         .end = end,
                                         .origin = request->vmm,
                                         .pid = pid,
                                         .cpu = CPU_UNKNOWN,
                                         .what = PATH_STAGE,
                                         .name = io_stage_name((enum io_point)point)});
        return;
    }
    if (point == IO_WORKED) {
        worker = find_worker(log, begin, end, &from);
        if (worker != PID_UNKNOWN)
            walk_thread(walk, host, worker, begin, from);
        else
            add_unknown(walk, host, pid, PATH_NO_WAKER, begin, from);
    }
    walk_thread(walk, host, pid, from, end);
}

/* The stage of REQUEST that ends at POINT. */
static void walk_stage(struct path_walk *walk, const struct io_request *request, unsigned point,
                       int64_t begin, int64_t end)
{
    const struct path_segment of_layer = {.begin = begin,
                                          .end = end,
                                          .origin = request->origin,
                                          .pid = PID_UNKNOWN,
                                          .cpu = CPU_UNKNOWN,
                                          .device = request->device,
                                          .what = point == IO_ISSUED ? PATH_QUEUED : PATH_DISK};
    bool in_guest = request->origin->layer == LAYER_GUEST;

    if (begin >= end)
        return;
    if (point == IO_ISSUED ||
        (!request->vmm && (point == IO_INTERRUPT || request->at[IO_INTERRUPT] == TIME_UNKNOWN))) {
        add(walk, &of_layer);
    } else if (point == IO_KICKED) {
        walk_vmm(walk, request, request->kick_pid, point, begin, end);
    } else if (point <= IO_NOTIFIED) {
        walk_vmm(walk, request, request->vmm_pid, point, begin, end);
    } else if (in_guest && history_vcpu_thread(walk->history, request->origin, request->end_vcpu,
                                               NULL) != PID_UNKNOWN) {
        walk_vcpu(walk, request->origin, PID_UNKNOWN, request->end_vcpu, begin, end);
    } else if (in_guest) {
        add(walk, &(struct path_segment){.begin = begin,
                                         .end = end,
                                         .origin = request->origin,
                                         .pid = PID_UNKNOWN,
                                         .cpu = CPU_UNKNOWN,
                                         .what = PATH_STAGE,
                                         .name = io_stage_name((enum io_point)point)});
    } else {
        add(walk, &(struct path_segment){.begin = begin,
                                         .end = end,
                                         .origin = request->origin,
                                         .pid = PID_UNKNOWN,
                                         .cpu = CPU_UNKNOWN,
                                         .what = PATH_INTERRUPT});
    }
}

/* The clock of a time of REQUEST. */
static struct history_clock point_clock(const struct io_request *request, unsigned point)
{
    struct history_clock clock;

    clock.origin = io_point_clock(request, point, &clock.part, &clock.error_ns);
    return clock;
}

static void walk_request(struct path_walk *walk, const struct io_request *request, int64_t begin,
                         int64_t end)
{
    struct path_bounds bounds;
    unsigned first = 0, before;
    int64_t from = begin;

    if (walk->depth >= PATH_DEPTH_MAX) {
        add_unknown(walk, request->origin, PID_UNKNOWN, PATH_TOO_DEEP, begin, end);
        return;
    }
    walk->depth++;
    while (request->at[first] == TIME_UNKNOWN)
        first++;
    if (request->at[first] > from) {
        int64_t made = MIN(request->at[first], end);

        if (request->pid > 0)
            walk_thread(walk, request->origin, request->pid, from, made);
        else
            add_unknown(walk, request->origin, PID_UNKNOWN, PATH_NO_BEGIN, from, made);
        from = made;
    }
    before = first;
    for (unsigned point = first + 1; point < IO_POINTS; point++) {
        int64_t at = MIN(request->at[point], end);

        if (request->at[point] == TIME_UNKNOWN || at <= from)
            continue;
        bounds = (struct path_bounds){
            .outer = walk->bounds,
            .times = {request->at[before], request->at[point]},
            .clocks = {point_clock(request, before), point_clock(request, point)}};
        walk->bounds = &bounds;
        walk_stage(walk, request, point, from, at);
        walk->bounds = bounds.outer;
        from = at;
        before = point;
    }
    /* Its interrupt goes on. */
    if (from < end)
        walk_stage(walk, request, IO_COMPLETED, from, end);
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
    walk->bounds = NULL;
}

int path_walk_thread(struct path_walk *walk, const struct path_end *end, int64_t begin,
                     int64_t until)
{
    begin_walk(walk);
    if (end->in_interrupt)
        walk_interrupt(walk, end->origin, end->pid, &end->cause, begin, until);
    else
        walk_thread(walk, end->origin, end->pid, begin, until);
    set_errors(walk);
    return walk->error;
}

int path_walk_request(struct path_walk *walk, const struct io_request *request)
{
    begin_walk(walk);
    walk_request(walk, request, io_request_begin(request), io_request_end(request));
    set_errors(walk);
    return walk->error;
}

int path_walk_own(struct path_walk *walk, const struct origin *origin, int32_t pid, int64_t begin,
                  int64_t until)
{
    begin_walk(walk);
    walk->is_own = true;
    walk_thread(walk, origin, pid, begin, until);
    set_errors(walk);
    return walk->error;
}

void path_walk_done(struct path_walk *walk)
{
    free(walk->segments);
    free(walk->behind);
    *walk = (struct path_walk){0};
}
