/* SPDX-License-Identifier: MIT */
#include "analysis/requests/io_slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticks.h"

/* How long after the completion of a request the VMM may notify the guest. */
#define NOTIFY_MAX_MS 10
#define PLACES_MAX 4096u

/* ---- Slots ---- */

uint32_t *io_bucket(const struct io_tracker *tracker, enum io_index index, uint32_t hash)
{
    return &tracker->buckets[index * IO_BUCKETS + hash % IO_BUCKETS];
}

void io_index_add(struct io_tracker *tracker, enum io_index index, uint32_t hash, uint32_t n)
{
    struct io_slot *slot = &tracker->slots[n];
    uint32_t *bucket = io_bucket(tracker, index, hash);

    slot->bucket[index] = hash % IO_BUCKETS;
    slot->next[index] = *bucket;
    slot->before[index] = 0;
    if (*bucket)
        tracker->slots[*bucket].before[index] = n;
    *bucket = n;
    slot->in_index |= (uint8_t)(1u << index);
}

void io_index_remove(struct io_tracker *tracker, enum io_index index, uint32_t n)
{
    struct io_slot *slot = &tracker->slots[n];

    if (!(slot->in_index >> index & 1))
        return;
    if (slot->before[index])
        tracker->slots[slot->before[index]].next[index] = slot->next[index];
    else
        tracker->buckets[index * IO_BUCKETS + slot->bucket[index]] = slot->next[index];
    if (slot->next[index])
        tracker->slots[slot->next[index]].before[index] = slot->before[index];
    slot->in_index &= (uint8_t) ~(1u << index);
}

uint32_t io_slot_new(struct io_tracker *tracker)
{
    uint32_t n = tracker->free;

    if (!n && tracker->n_slots > IO_OPEN_MAX)
        return 0;
    if (n) {
        tracker->free = tracker->slots[n].list_next;
    } else {
        if (tracker->n_slots >= tracker->room) {
            uint32_t room = MAX(tracker->room * 2, 64u);
            struct io_slot *more;

            more = realloc(tracker->slots, room * sizeof *more);
            if (!more)
                return 0;
            tracker->slots = more;
            tracker->room = room;
        }
        n = tracker->n_slots++;
    }
    tracker->slots[n] = (struct io_slot){.is_used = true, .ended = TIME_UNKNOWN};
    for (unsigned i = 0; i < IO_POINTS; i++)
        tracker->slots[n].request.at[i] = TIME_UNKNOWN;
    tracker->slots[n].request.vmm_pid = PID_UNKNOWN;
    tracker->slots[n].request.kick_pid = PID_UNKNOWN;
    tracker->slots[n].request.end_vcpu = VCPU_UNKNOWN;
    return n;
}

void io_list_remove(struct io_tracker *tracker, uint32_t n)
{
    struct io_slot *slot = &tracker->slots[n];

    if (slot->list == LIST_NONE)
        return;
    if (slot->list_before)
        tracker->slots[slot->list_before].list_next = slot->list_next;
    else
        tracker->first[slot->list] = slot->list_next;
    if (slot->list_next)
        tracker->slots[slot->list_next].list_before = slot->list_before;
    else
        tracker->last[slot->list] = slot->list_before;
    slot->list = LIST_NONE;
}

void io_list_add(struct io_tracker *tracker, enum io_list list, uint32_t n)
{
    struct io_slot *slot = &tracker->slots[n];

    io_list_remove(tracker, n);
    slot->list = (uint8_t)list;
    slot->list_next = 0;
    slot->list_before = tracker->last[list];
    if (tracker->last[list])
        tracker->slots[tracker->last[list]].list_next = n;
    else
        tracker->first[list] = n;
    tracker->last[list] = n;
}

static void free_slot(struct io_tracker *tracker, uint32_t n)
{
    struct io_slot *slot = &tracker->slots[n];

    io_list_remove(tracker, n);
    for (unsigned i = 0; i < INDEXES; i++)
        io_index_remove(tracker, (enum io_index)i, n);
    if (slot->partner)
        tracker->slots[slot->partner].partner = 0;
    joins_forget(&tracker->joins, slot->join, n);
    slot->is_used = false;
    slot->list_next = tracker->free;
    tracker->free = n;
}

/* ---- Places ---- */

struct io_thread *io_place(struct io_thread **places, unsigned *n, const struct origin *origin,
                           uint64_t number)
{
    struct io_thread *more;

    for (unsigned i = 0; i < *n; i++)
        if ((*places)[i].number == number && (*places)[i].origin == origin)
            return &(*places)[i];
    if (*n == PLACES_MAX)
        return NULL;
    if ((*n & (*n - 1)) == 0) {
        more = realloc(*places, MAX(*n * 2, 1u) * sizeof *more);
        if (!more)
            return NULL;
        *places = more;
    }
    (*places)[*n] = (struct io_thread){
        .origin = origin, .number = number, .time = TIME_UNKNOWN, .pid = PID_UNKNOWN};
    return &(*places)[(*n)++];
}

/* ---- The end of a request ---- */

static bool is_vmm_point(unsigned point)
{
    return point >= IO_KICKED && point <= IO_NOTIFIED;
}

const struct origin *io_point_clock(const struct io_request *request, unsigned point,
                                    uint8_t *ret_part, uint32_t *ret_error_ns)
{
    bool is_vmm = is_vmm_point(point);

    *ret_part = is_vmm ? request->vmm_part : request->own_part;
    *ret_error_ns = (is_vmm ? request->vmm_error_ns : request->own_error_ns) / 2;
    return is_vmm && request->vmm ? request->vmm : request->origin;
}

uint32_t io_request_error(const struct io_request *request, unsigned from, unsigned until)
{
    int64_t ticks = ticks_between(request->at[from], request->at[until]);

    if (is_vmm_point(from) != is_vmm_point(until))
        return request->error_ns;
    if (!is_vmm_point(from))
        return clock_duration_error(request->origin, ticks, request->own_part,
                                    request->own_error_ns);
    return clock_duration_error(request->vmm ? request->vmm : request->origin, ticks,
                                request->vmm_part, request->vmm_error_ns);
}

static void set_own_error(struct io_request *request, const struct io_slot *slot)
{
    uint32_t error_ns = clock_errors_sum(slot->error_ns, slot->error_ns);

    if (slot->is_vmm) {
        request->vmm_error_ns = error_ns;
        request->vmm_part = slot->clock_part;
    } else {
        request->own_error_ns = error_ns;
        request->own_part = slot->clock_part;
    }
}

/* Adds to a guest's request what its partner knows of it. */
static void add_partner(struct io_request *request, const struct io_slot *slot,
                        const struct io_slot *partner)
{
    request->vmm = partner->request.origin;
    request->vmm_pid = partner->request.vmm_pid;
    request->kick_pid = partner->request.kick_pid;
    request->error_ns = clock_errors_sum(slot->error_ns, partner->error_ns);
    set_own_error(request, partner);
    for (unsigned i = IO_KICKED; i <= IO_NOTIFIED; i++)
        request->at[i] = partner->request.at[i];
    /* One that came before the request was issued is of another one. */
    if (request->at[IO_KICKED] != TIME_UNKNOWN &&
        request->at[IO_KICKED] + (int64_t)request->error_ns < request->at[IO_ISSUED])
        request->at[IO_KICKED] = TIME_UNKNOWN;
}

/* True if SLOT, a VMM's part of a request that was over at END, may have further points, which are missing. Otherwise
 * the VMM has no events of them. */
static bool may_have_more(const struct io_tracker *tracker, const struct io_slot *slot, int64_t end)
{
    const struct origin *vmm = slot->request.origin;

    if (slot->ended != TIME_UNKNOWN)
        return slot->request.at[IO_NOTIFIED] == TIME_UNKNOWN &&
               tracker->counts.points >> IO_NOTIFIED & 1 &&
               io_begins_in_loss(&tracker->begins, vmm);
    return tracker->counts.points >> IO_RETURNED & 1 || (vmm->ended != 0 && vmm->ended < end) ||
           io_begins_in_loss(&tracker->begins, vmm);
}

/* The begin of request N is unknown. A VMM's part of it becomes a request of its own. */
static int drop_without_begin(struct io_tracker *tracker, uint32_t n)
{
    uint32_t partner = tracker->slots[n].partner;

    io_drop(tracker, n, SPAN_NO_BEGIN);
    return partner && tracker->slots[partner].ended != TIME_UNKNOWN &&
                   tracker->slots[partner].list == LIST_NONE
               ? io_give(tracker, partner)
               : 0;
}

int io_give_unsure(struct io_tracker *tracker, const struct origin *origin, uint64_t device,
                   enum io_kind kind)
{
    uint32_t next;
    int r = 0;

    for (uint32_t n = tracker->first[LIST_UNSURE]; n && r >= 0; n = next) {
        const struct io_request *request = &tracker->slots[n].request;

        next = tracker->slots[n].list_next;
        if (request->origin == origin && request->device == device &&
            io_begin_kind(request->kind) == io_begin_kind(kind))
            r = io_give(tracker, n);
    }
    return r;
}

int io_give(struct io_tracker *tracker, uint32_t n)
{
    struct io_request request;
    uint32_t partner = tracker->slots[n].partner;

    if (tracker->slots[n].is_vmm && partner) {
        /* The guest's request is given, once it is over. */
        io_list_remove(tracker, n);
        return 0;
    }
    if (unlikely(tracker->slots[n].may_lack_begin)) {
        const struct io_request *whose = &tracker->slots[n].request;

        switch (io_begins_are(&tracker->begins, whose->origin, whose->device,
                              io_begin_kind(whose->kind))) {
        case IO_BEGINS_SEEN: return drop_without_begin(tracker, n);
        case IO_BEGINS_NONE: break;
        case IO_BEGINS_UNSEEN:
            if (tracker->is_finished)
                break;
            io_list_add(tracker, LIST_UNSURE, n);
            return 0;
        }
    }
    if (partner && may_have_more(tracker, &tracker->slots[partner], tracker->slots[n].ended)) {
        io_drop(tracker, partner, SPAN_LOST);
        partner = 0;
    }
    request = tracker->slots[n].request;
    set_own_error(&request, &tracker->slots[n]);
    if (partner) {
        add_partner(&request, &tracker->slots[n], &tracker->slots[partner]);
        free_slot(tracker, partner);
    }
    free_slot(tracker, n);
    tracker->counts.fates[SPAN_COMPLETE]++;
    tracker->counts.layers |= 1u << request.origin->layer;
    return tracker->ops->request(tracker->arg, &request);
}

static int64_t to_ticks(const struct io_tracker *tracker, int64_t ns)
{
    return tracker->ticks_per_ms * ns / 1000000;
}

/* How long after its end a request may still get a partner. */
static int64_t join_margin(const struct io_tracker *tracker)
{
    return to_ticks(tracker, (int64_t)tracker->guest_error + tracker->vmm_error);
}

int io_give_due(struct io_tracker *tracker, int64_t now)
{
    int64_t margin = join_margin(tracker) + NOTIFY_MAX_MS * tracker->ticks_per_ms;

    while (tracker->first[LIST_OVER]) {
        uint32_t n = tracker->first[LIST_OVER];
        int r;

        if (now - tracker->slots[n].ended <= margin)
            break;
        r = io_give(tracker, n);
        if (r < 0)
            return r;
    }
    return 0;
}

void io_count_fate(struct io_tracker *tracker, const struct io_request *request,
                   enum span_fate fate)
{
    if (!tracker->ops->selects || tracker->ops->selects(tracker->arg, request))
        tracker->counts.fates[fate]++;
}

void io_drop(struct io_tracker *tracker, uint32_t n, enum span_fate fate)
{
    io_count_fate(tracker, &tracker->slots[n].request, fate);
    free_slot(tracker, n);
}

int io_end(struct io_tracker *tracker, uint32_t n, int64_t time)
{
    struct io_slot *slot = &tracker->slots[n];

    slot->ended = time;
    joins_end(&tracker->joins, slot->join, time);
    io_index_remove(tracker, BY_BLOCK, n);
    io_index_remove(tracker, BY_POOL, n);
    if (slot->request.origin->layer != LAYER_GUEST && !slot->is_vmm)
        return io_give(tracker, n);
    io_list_add(tracker, LIST_OVER, n);
    return 0;
}

/* ---- Joins ---- */

int io_join(struct io_tracker *tracker, uint32_t n)
{
    struct io_slot *slot = &tracker->slots[n];
    const struct io_request *request = &slot->request;
    int64_t begin = request->at[slot->is_vmm ? IO_HANDLED : IO_ISSUED];
    struct join_request key = {
        .layer = request->origin->layer,
        .vm = request->origin->vm,
        .words = {request->sector, request->sectors, request->kind == IO_WRITE},
        .tag = n,
    };
    struct join join;
    int r;

    if (request->kind != IO_READ && request->kind != IO_WRITE)
        return 0;
    r = joins_begin(&tracker->joins, &key, begin - join_margin(tracker), &join);
    if (r < 0)
        return r;
    slot->join = join.number;
    tracker->counts.ambiguous += join.is_ambiguous;
    if (join.is_joined) {
        slot->partner = join.partner;
        tracker->slots[join.partner].partner = n;
    }
    return 0;
}

/* ---- Open requests ---- */

void io_tracker_foreach_open(const struct io_tracker *tracker,
                             void (*found)(void *arg, const struct io_request *request), void *arg)
{
    for (uint32_t n = 1; n < tracker->n_slots; n++) {
        const struct io_slot *slot = &tracker->slots[n];
        struct io_request request;

        if (!slot->is_used || slot->ended != TIME_UNKNOWN || (slot->is_vmm && slot->partner) ||
            !io_knows_open(tracker, slot))
            continue;
        request = slot->request;
        request.error_ns = slot->error_ns;
        set_own_error(&request, slot);
        if (slot->partner && io_knows_open(tracker, &tracker->slots[slot->partner]))
            add_partner(&request, slot, &tracker->slots[slot->partner]);
        found(arg, &request);
    }
}

int64_t io_tracker_first(const struct io_tracker *tracker, int64_t after)
{
    int64_t first = INT64_MAX;

    for (uint32_t n = 1; n < tracker->n_slots; n++) {
        int64_t begin = INT64_MAX;

        for (unsigned i = 0; tracker->slots[n].is_used && i < IO_POINTS; i++)
            if (tracker->slots[n].request.at[i] != TIME_UNKNOWN)
                begin = MIN(begin, tracker->slots[n].request.at[i]);
        if (begin > after)
            first = MIN(first, begin);
    }
    return first;
}
