/* SPDX-License-Identifier: MIT */
/* The longest requests to disks: their stages, and what threads did in each. */

#include <errno.h>
#include <string.h>

#include "analysis/requests/io_internal.h"
#include "base/macro.h"

/* NULL: there is none. */
static const struct io_group *find_group(const struct io *io, const struct slow_span *slow)
{
    for (unsigned i = 0; i < io->n_groups; i++)
        if (io->groups[i].rows[IO_TOTAL] == slow->row)
            return &io->groups[i];
    return NULL;
}

/* The thread of the VMM that handles other requests of the device of SLOW, of which it is not known. */
static int32_t find_handler(const struct io *io, const struct slow_span *slow)
{
    const struct io_group *group = find_group(io, slow);

    for (unsigned i = 0; group && i < io->n_handlers; i++)
        if (io->handlers[i].origin == slow->origin && io->handlers[i].device == group->numbers[1])
            return io->handlers[i].pid;
    return PID_UNKNOWN;
}

/* Puts what thread PID did, unless it is unknown. */
static void put_thread(const struct io *io, int32_t pid, int64_t begin, int64_t end,
                       const struct clock *clock, struct text *text)
{
    if (pid != PID_UNKNOWN)
        io_why_put_thread(&io->why, pid, begin, end, clock, text);
}

/* What those did that had to act in the stage that ends at POINT: the thread of the vCPU that queues the request and
 * notifies the VMM, and the VMM's that is notified; the VMM's that handles the request; the thread of the vCPU that is
 * interrupted. Of a request of the host's kernel, the thread that queues it. */
static void put_why(const struct io *io, const struct slow_span *slow, unsigned point,
                    int64_t begin, int64_t end, const struct clock *clock, struct text *text)
{
    bool is_host = slow->origin->layer == LAYER_HOST;
    int32_t at_begin = is_host ? slow->pid : io_why_vcpu_thread(&io->why, slow->vcpu);
    int32_t at_end = is_host ? PID_UNKNOWN : io_why_vcpu_thread(&io->why, slow->end_vcpu);
    bool is_first =
        point == IO_INTERRUPT || (point == IO_COMPLETED && slow->at[IO_INTERRUPT] == TIME_UNKNOWN);
    int32_t handler;

    if (slowest_n(&io->rows.slowest) > IO_WHY_SPANS_MAX)
        return;
    if (is_first && !slow->kind) { /* device */
        handler = is_host ? PID_UNKNOWN : find_handler(io, slow);
        if (handler != PID_UNKNOWN)
            io_why_put_text(&io->why, handler, begin, end, clock, text);
        if (at_begin != at_end && !is_host)
            put_thread(io, at_begin, begin, end, clock, text);
        put_thread(io, at_end, begin, end, clock, text);
        return;
    }
    if (point <= IO_KICKED || (point == IO_HANDLED && slow->at[IO_KICKED] == TIME_UNKNOWN))
        put_thread(io, at_begin, begin, end, clock, text);
    else if (is_first || point == IO_COMPLETED)
        put_thread(io, at_end, begin, end, clock, text);
    if (point == IO_KICKED && slow->first_pid != at_begin)
        put_thread(io, slow->first_pid, begin, end, clock, text);
    if (point == IO_SUBMITTED && slow->other_pid != PID_UNKNOWN &&
        io_why_slept(&io->why, slow->other_pid, begin, end) > (end - begin) / 2)
        /* as while QEMU throttles the request: what it waited for between is not the reason */
        put_thread(io, slow->other_pid, begin, end, clock, text);
    else if (point >= IO_HANDLED && point <= IO_NOTIFIED && slow->other_pid != PID_UNKNOWN)
        io_why_put_text(&io->why, slow->other_pid, begin, end, clock, text);
}

/* Why a stage that ends at POINT took so long from BEGIN to END. *RET_WHY is in the result; NULL: nothing is known. */
static int add_why(const struct io *io, struct result *result, const struct slow_span *slow,
                   unsigned point, int64_t begin, int64_t end, const char *const **ret_why)
{
    struct text text = TEXT_IN_MEMORY;
    const char **why = NULL;
    int r = 0;

    put_why(io, slow, point, begin, end, &result->clock, &text);
    if (text_len(&text) > 0 || text.error) {
        why = arena_alloc(&result->arena, 2 * sizeof *why);
        if (why)
            why[0] = text.error ? NULL : arena_strndup(&result->arena, text.start, text_len(&text));
        r = why && why[0] ? 0 : -ENOMEM;
        if (why)
            why[1] = NULL;
    }
    text_done(&text);
    *ret_why = why;
    return r;
}

/* The point that an open request waits for: the next one that requests of the trace have passed; within the VMM, where none
 * has passed any of these, the next one. */
static unsigned next_point(const struct io *io, const struct slow_span *slow)
{
    unsigned last = IO_COMPLETED, until;

    while (slow->at[last] == TIME_UNKNOWN)
        last--;
    /* With its device. */
    if (!slow->kind)
        return IO_COMPLETED;
    until = last < IO_RETURNED ? IO_RETURNED : IO_COMPLETED;
    for (unsigned next = last + 1; next <= until; next++)
        if (io->tracker.counts.points >> next & 1)
            return next;
    return last + 1;
}

/* Adds a stage from COPY's last one, or its begin, to END; COPY->stages is STAGES. */
static int add_stage(const struct io *io, struct result *result, const struct slow_span *slow,
                     unsigned point, int64_t end, uint32_t error_ns, struct result_slow *copy,
                     struct result_stage *stages)
{
    int64_t begin = copy->n_stages > 0 ? stages[copy->n_stages - 1].end : slow->begin;
    struct io_request request = {.vmm = slow->kind};
    struct result_stage *stage = &stages[copy->n_stages++];

    memcpy(request.at, slow->at, sizeof request.at);
    *stage = (struct result_stage){.name = io_request_stage(&request, point),
                                   .begin = begin,
                                   .end = end,
                                   .error_ns = error_ns};
    return add_why(io, result, slow, point, begin, end, &stage->why);
}

int io_add_slowest(const struct io *io, struct result *result)
{
    for (unsigned i = 0; i < slowest_n(&io->rows.slowest); i++) {
        const struct slow_span *slow = slowest_get(&io->rows.slowest, i);
        struct result_stage stages[IO_POINTS];
        struct result_slow copy = result_slow_of(result, slow, stages);
        int r = 0;

        for (unsigned j = 1; j < IO_POINTS && r == 0; j++)
            if (slow->at[j] != TIME_UNKNOWN && (copy.n_stages > 0 || slow->at[j] != slow->begin))
                r = add_stage(io, result, slow, j, slow->at[j], slow->errors[j], &copy, stages);
        if (r == 0 && slow->is_open)
            r = add_stage(io, result, slow, next_point(io, slow), slow->end, slow->error_ns, &copy,
                          stages);
        if (r < 0 || result_add_slow(result, &copy) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Whether states may be missing of one of the slowest. */
static bool lacks_states(const struct io *io)
{
    const struct slowest *slowest = &io->rows.slowest;

    for (unsigned i = 0; i < slowest_n(slowest) && slowest_n(slowest) <= IO_WHY_SPANS_MAX; i++) {
        const struct slow_span *slow = slowest_get(slowest, i);

        if (slow->is_partial || slow->begin < io->why.all_gone_until)
            return true;
    }
    return false;
}

int io_note_missing_states(const struct io *io, struct result *result)
{
    struct text until = TEXT_IN_MEMORY;
    int r = 0;

    if (!lacks_states(io))
        return 0;
    clock_put_time(&result->clock, MAX(io->why.gone_until, io->why.all_gone_until), &until);
    if (!until.error)
        r = result_add_note(result,
                            "what threads of the host did before %.*s is not all kept (at most %u "
                            "states are): stages before may lack the reason; give --from and "
                            "--until",
                            (int)text_len(&until), until.start, io->why.max);
    text_done(&until);
    return r;
}

const char *io_request_stage(const struct io_request *request, unsigned point)
{
    bool is_first = point == IO_INTERRUPT ||
                    (point == IO_COMPLETED && request->at[IO_INTERRUPT] == TIME_UNKNOWN);

    return is_first && !request->vmm ? "device" : io_stage_name((enum io_point)point);
}
