/* SPDX-License-Identifier: MIT */
/* The longest disk requests: their stages, and what threads did in each. */

#include <errno.h>
#include <stdlib.h>

#include "analysis/io_internal.h"
#include "base/macro.h"
#include "base/ticks.h"

void io_note_handler(struct io *io, const struct io_request *request)
{
    struct io_handler *handler = io->handlers;

    while (handler < io->handlers + io->n_handlers &&
           (handler->origin != request->origin || handler->device != request->device))
        handler++;
    if (handler == io->handlers + IO_HANDLERS_MAX)
        return;
    if (handler == io->handlers + io->n_handlers) {
        io->n_handlers++;
        *handler = (struct io_handler){request->origin, request->device, request->vmm_pid};
    } else if (handler->pid != request->vmm_pid) {
        handler->pid = PID_UNKNOWN;
    }
}

/* The thread of the VMM that handles other requests of REQUEST's device, if it is unknown for REQUEST. */
static int32_t find_handler(const struct io *io, const struct io_request *request)
{
    for (unsigned i = 0; i < io->n_handlers; i++)
        if (io->handlers[i].origin == request->origin && io->handlers[i].device == request->device)
            return io->handlers[i].pid;
    return PID_UNKNOWN;
}

void io_slow_free(void *slow)
{
    if (slow)
        io_why_done(&((struct io_slow *)slow)->why);
    free(slow);
}

int io_keep_slow(struct io *io, const struct io_request *request, struct row *row, int64_t end,
                 uint32_t error_ns, bool is_open)
{
    struct path_pending pending = {.begin = io_request_begin(request),
                                   .until = end,
                                   .origin = request->origin,
                                   .cpu = request->cpu,
                                   .pid = request->pid,
                                   .vcpu = request->vcpu,
                                   .error_ns = error_ns};
    struct io_slow *slow;
    int r;

    if (!slowest_would_keep(&io->rows.slowest, ticks_between(pending.begin, end), is_open))
        return 0;
    slow = malloc(sizeof *slow);
    if (!slow)
        return -ENOMEM;
    *slow =
        (struct io_slow){.request = *request, .row = row, .error_ns = error_ns, .is_open = is_open};
    pending.own = slow;
    r = path_finder_add(&io->finder, &pending);
    if (r < 0)
        io_slow_free(slow);
    return r;
}

/* The point for which an open request waits: the next point that requests of the trace have passed; within the VMM, if
 * no request has passed any, the next point. */
static unsigned next_point(const struct io *io, const struct io_request *request)
{
    unsigned last = IO_COMPLETED, until;

    while (request->at[last] == TIME_UNKNOWN)
        last--;
    /* With its device. */
    if (!request->vmm)
        return IO_COMPLETED;
    until = last < IO_RETURNED ? IO_RETURNED : IO_COMPLETED;
    for (unsigned next = last + 1; next <= until; next++)
        if (io->tracker.counts.points >> next & 1)
            return next;
    return last + 1;
}

/* ---- the threads of a stage ---- */

/* The threads that had to act in the stages of a request, or PID_UNKNOWN. */
struct actors {
    int32_t begin, end; /* of its vCPUs; for a request of the host's kernel, `begin` queues it */
    int32_t handler;    /* in the VMM; from other requests of the device */
};

static struct actors find_actors(const struct io *io, const struct io_request *request)
{
    const struct history *history = &io->finder.history;
    bool is_host = request->origin->layer == LAYER_HOST;

    return (struct actors){
        .begin = is_host ? request->pid
                         : history_vcpu_thread(history, request->origin, request->vcpu, NULL),
        .end = is_host ? PID_UNKNOWN
                       : history_vcpu_thread(history, request->origin, request->end_vcpu, NULL),
        .handler = is_host ? PID_UNKNOWN : find_handler(io, request)};
}

/* What may be said of the stage that ends at POINT: which threads these are may be better known at the end (put_why()). */
static int add_accounts(struct io *io, struct io_slow *slow, unsigned point, int64_t begin,
                        int64_t end)
{
    const struct io_request *request = &slow->request;
    const struct actors actors = find_actors(io, request);
    const int32_t pids[] = {actors.handler, request->vmm_pid, actors.begin, actors.end,
                            request->kick_pid};
    int r = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(pids) && r == 0; i++)
        r = io_why_add(&slow->why, &io->finder.walk, point, pids[i], i < 2, begin, end);
    return r;
}

int io_find_why(void *arg, const struct path_pending *pending, const struct io_request *request)
{
    struct io *io = arg;
    struct io_slow *slow = pending->own;
    struct slow_span span = {.begin = pending->begin,
                             .end = pending->until,
                             .is_open = slow->is_open,
                             .error_ns = pending->error_ns,
                             .cpu = pending->cpu,
                             .pid = pending->pid,
                             .vcpu = pending->vcpu,
                             .origin = pending->origin,
                             .kind = slow,
                             .row = slow->row};
    bool is_kept =
        slowest_would_keep(&io->rows.slowest, ticks_between(span.begin, span.end), span.is_open);
    int64_t from = span.begin;
    int r = 0;

    (void)request;
    slow->lacks_states = span.begin < io->finder.history.gone_until;
    for (unsigned point = 1;
         point < IO_POINTS && r == 0 && is_kept && io->rows.slowest.max <= IO_WHY_SPANS_MAX;
         point++)
        if (slow->request.at[point] != TIME_UNKNOWN && slow->request.at[point] != span.begin) {
            r = add_accounts(io, slow, point, from, slow->request.at[point]);
            from = slow->request.at[point];
        }
    if (r == 0 && is_kept && span.is_open && io->rows.slowest.max <= IO_WHY_SPANS_MAX)
        r = add_accounts(io, slow, next_point(io, &slow->request), from, span.end);
    slowest_keep(&io->rows.slowest, &span);
    return r;
}

/* Puts what the threads did that had to act in the stage that ends at POINT: the vCPU thread that queues the request
 * and notifies the VMM, and the notified VMM thread; the VMM thread that handles the request; the vCPU thread that is
 * interrupted. For a request of the host's kernel: the thread that queues it. */
static void put_why(const struct io *io, const struct io_slow *slow, unsigned point, int64_t begin,
                    int64_t end, const struct clock *clock, struct text *text)
{
    const struct io_request *request = &slow->request;
    const struct origin *host = io->finder.history.host;
    const struct actors actors = find_actors(io, request);
    bool is_first = point == IO_INTERRUPT ||
                    (point == IO_COMPLETED && request->at[IO_INTERRUPT] == TIME_UNKNOWN);
    const struct io_account *handled = io_why_find(&slow->why, point, request->vmm_pid);

    if (!host || !states_has_switches(io->finder.history.states, host))
        return;
    if (is_first && !request->vmm) { /* device */
        io_why_put_text(&slow->why, host, point, actors.handler, clock, text);
        if (actors.begin != actors.end && request->origin->layer != LAYER_HOST)
            io_why_put_thread(&slow->why, host, point, actors.begin, clock, text);
        io_why_put_thread(&slow->why, host, point, actors.end, clock, text);
        return;
    }
    if (point <= IO_KICKED || (point == IO_HANDLED && request->at[IO_KICKED] == TIME_UNKNOWN))
        io_why_put_thread(&slow->why, host, point, actors.begin, clock, text);
    else if (is_first || point == IO_COMPLETED)
        io_why_put_thread(&slow->why, host, point, actors.end, clock, text);
    if (point == IO_KICKED && request->kick_pid != actors.begin)
        io_why_put_thread(&slow->why, host, point, request->kick_pid, clock, text);
    if (point == IO_SUBMITTED && handled && handled->slept > (end - begin) / 2)
        /* as while QEMU throttles the request: what it waited for between is not the reason */
        io_why_put_thread(&slow->why, host, point, request->vmm_pid, clock, text);
    else if (point >= IO_HANDLED && point <= IO_NOTIFIED)
        io_why_put_text(&slow->why, host, point, request->vmm_pid, clock, text);
}

/* Finds why a stage that ends at POINT took so long from BEGIN to END. *RET_WHY is in the result; NULL if nothing is
 * known. */
static int add_why(const struct io *io, struct result *result, const struct io_slow *slow,
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

/* ---- in the result ---- */

/* Adds a stage from COPY's last one, or its begin, to END. COPY->stages is STAGES. */
static int add_stage(const struct io *io, struct result *result, const struct io_slow *slow,
                     unsigned point, int64_t end, uint32_t error_ns, struct result_slow *copy,
                     struct result_stage *stages)
{
    int64_t begin = copy->n_stages > 0 ? stages[copy->n_stages - 1].end : copy->begin;
    struct result_stage *stage = &stages[copy->n_stages++];

    *stage = (struct result_stage){.name = io_request_stage(&slow->request, point),
                                   .begin = begin,
                                   .end = end,
                                   .error_ns = error_ns};
    return add_why(io, result, slow, point, begin, end, &stage->why);
}

int io_add_slowest(const struct io *io, struct result *result)
{
    for (unsigned i = 0; i < slowest_n(&io->rows.slowest); i++) {
        const struct slow_span *span = slowest_get(&io->rows.slowest, i);
        const struct io_slow *slow = span->kind;
        const struct io_request *request = &slow->request;
        struct result_stage stages[IO_POINTS];
        struct result_slow copy = result_slow_of(result, span, stages);
        unsigned before = 0;
        int r = 0;

        while (request->at[before] == TIME_UNKNOWN)
            before++;
        for (unsigned j = before + 1; j < IO_POINTS && r == 0; j++) {
            if (request->at[j] == TIME_UNKNOWN)
                continue;
            if (copy.n_stages > 0 || request->at[j] != span->begin)
                r = add_stage(io, result, slow, j, request->at[j],
                              io_request_error(request, before, j), &copy, stages);
            before = j;
        }
        if (r == 0 && slow->is_open)
            r = add_stage(io, result, slow, next_point(io, request), span->end, span->error_ns,
                          &copy, stages);
        if (r < 0 || result_add_slow(result, &copy) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* True if states may be missing for one of the slowest. */
static bool lacks_states(const struct io *io)
{
    for (unsigned i = 0; i < slowest_n(&io->rows.slowest); i++)
        if (((const struct io_slow *)slowest_get(&io->rows.slowest, i)->kind)->lacks_states)
            return true;
    return false;
}

int io_note_missing_states(const struct io *io, struct result *result)
{
    struct text until = TEXT_IN_MEMORY;
    int r = 0;

    if (!lacks_states(io))
        return 0;
    clock_put_time(&result->clock, io->finder.history.gone_until, &until);
    if (!until.error)
        r = result_add_note(result,
                            "what threads of the host did before %.*s is not all kept (at most %u "
                            "states are): stages before may lack the reason; give --from and "
                            "--until",
                            (int)text_len(&until), until.start,
                            HISTORY_LATE * io->finder.history.max);
    text_done(&until);
    return r;
}
