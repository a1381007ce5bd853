/* SPDX-License-Identifier: MIT */
/* The path of a request to a disk, stage by stage. */

#include <string.h>

#include "analysis/path/walk_internal.h"
#include "base/macro.h"

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

/* Why it is not known what thread PID did on HOST. */
static uint8_t reason_of_stage(const struct origin *host, int32_t pid)
{
    return !host                               ? PATH_NO_HOST
           : host->recorder_pid == PID_UNKNOWN ? PATH_OTHER_NUMBERS
           : pid > 0                           ? PATH_NOT_SEEN
                                               : PATH_NO_THREAD;
}

/* A stage in which thread PID of a VMM had to act. While a pool works on a request, it is the time of the thread of the pool that wakes
 * it at last. */
static void walk_vmm(struct path_walk *walk, const struct io_request *request, int32_t pid,
                     unsigned point, int64_t begin, int64_t end)
{
    const struct origin *host = path_walk_kernel(walk->history, NULL);
    const struct history_log *log = host && pid > 0 ? history_find(walk->history, host, pid) : NULL;
    int64_t from = begin;
    int32_t worker;

    if (!log) {
        path_walk_add(walk, &(struct path_segment){.begin = begin,
                                                   .end = end,
                                                   .origin = request->vmm,
                                                   .pid = pid,
                                                   .cpu = CPU_UNKNOWN,
                                                   .what = PATH_STAGE,
                                                   .reason = !host     ? PATH_NO_HOST
                                                             : pid > 0 ? PATH_NOT_SEEN
                                                                       : PATH_NO_THREAD,
                                                   .name = io_stage_name((enum io_point)point)});
        return;
    }
    if (point == IO_WORKED) {
        worker = find_worker(log, begin, end, &from);
        if (worker != PID_UNKNOWN)
            path_walk_follow(walk, host, worker, begin, from);
        else
            path_walk_add_unknown(walk, host, pid, PATH_NO_WAKER, begin, from);
    }
    path_walk_follow(walk, host, pid, from, end);
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
        path_walk_add(walk, &of_layer);
    } else if (point == IO_KICKED) {
        walk_vmm(walk, request, request->kick_pid, point, begin, end);
    } else if (point <= IO_NOTIFIED) {
        walk_vmm(walk, request, request->vmm_pid, point, begin, end);
    } else if (in_guest && history_vcpu_thread(walk->history, request->origin, request->end_vcpu,
                                               NULL) != PID_UNKNOWN) {
        path_walk_vcpu(walk, request->origin, PID_UNKNOWN, request->end_vcpu, begin, end);
    } else if (in_guest) {
        path_walk_add(
            walk, &(struct path_segment){
                      .begin = begin,
                      .end = end,
                      .origin = request->origin,
                      .pid = PID_UNKNOWN,
                      .cpu = CPU_UNKNOWN,
                      .what = PATH_STAGE,
                      .reason = reason_of_stage(path_walk_kernel(walk->history, NULL), PID_UNKNOWN),
                      .name = io_stage_name((enum io_point)point)});
    } else {
        path_walk_add(walk, &(struct path_segment){.begin = begin,
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

void path_walk_follow_request(struct path_walk *walk, const struct io_request *request,
                              int64_t begin, int64_t end)
{
    struct path_bounds bounds;
    const char *outer_call = walk->call;
    int32_t outer_wakes = walk->wakes;
    unsigned first = 0, before;
    int64_t from = begin;

    if (walk->depth >= PATH_DEPTH_MAX) {
        path_walk_add_unknown(walk, request->origin, PID_UNKNOWN, PATH_TOO_DEEP, begin, end);
        return;
    }
    walk->depth++;
    walk->call = NULL; /* it is the request that ends */
    walk->wakes = 0;
    while (request->at[first] == TIME_UNKNOWN)
        first++;
    if (request->at[first] > from) {
        int64_t made = MIN(request->at[first], end);

        if (request->pid > 0)
            path_walk_follow(walk, request->origin, request->pid, from, made);
        else
            path_walk_add_unknown(walk, request->origin, PID_UNKNOWN, PATH_NO_BEGIN, from, made);
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
    walk->call = outer_call;
    walk->wakes = outer_wakes;
    walk->depth--;
}
